"""What all properties share: how many examples those get that do not say it themselves."""

from __future__ import annotations

from hypothesis import settings

from tests.support.examples import examples

# Over the profile that is loaded by now: hypothesis has one of its own for CI.
settings.register_profile("tier", max_examples=examples(100))
settings.load_profile("tier")
