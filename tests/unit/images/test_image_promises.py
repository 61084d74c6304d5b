"""The promises as data. That each probe can fail is shown on real images in tests/integration/test_images.py."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from runner.engine.docker_images import DockerImages, ImageState
from runner.engine.image_promises import PROMISES, check_promises
from runner.engine.image_sources import IMAGES

LABELS = {
    "runner.base": "b",
    "runner.inputs": "i",
    "runner.npm-registry": "r",
    "runner.versions": "{}",
}


class ImagesThatPrint:
    """An engine whose probes print what a test says."""

    def __init__(self, output: str, state: ImageState) -> None:
        self._output = output
        self._state = state
        self.environments: list[Mapping[str, str]] = []

    def state(self) -> ImageState:
        return self._state

    def probe(self, script: str, *, user: str = "", environment: Mapping[str, str] | None = None) -> str:
        self.environments.append(environment or {})
        return self._output


def state(*, current: bool = True, recorded: bool = True, labels: Mapping[str, str] = LABELS) -> ImageState:
    return ImageState("x:y", "sha256:1", current=current, recorded=recorded, user="agent", labels=labels)


def broken(output: str) -> set[str]:
    images = ImagesThatPrint(output, state())
    return {result.promise.id for result in check_promises(cast(DockerImages, images)) if not result.kept}


def host_breaches(found: ImageState) -> str:
    images = ImagesThatPrint("", found)
    check_promises(cast(DockerImages, images))
    return images.environments[0]["STATE"]


def test_the_readme_lists_exactly_the_promises() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", (IMAGES / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(promise.id, promise.sentence) for promise in PROMISES]


def test_ids_are_unique() -> None:
    assert len({promise.id for promise in PROMISES}) == len(PROMISES)


def test_a_probe_that_did_not_run_to_its_end_is_a_breach() -> None:
    everything = {promise.id for promise in PROMISES}
    assert broken("") == everything
    started = "".join(f"== {promise}\n" for promise in everything)
    assert broken(started) == everything


def test_silent_probes_keep_their_promises_and_one_line_breaks_one() -> None:
    silent = [f"== {promise.id}\n-- {promise.id}\n" for promise in PROMISES]
    assert broken("".join(silent)) == set()
    silent[3] = silent[3].replace("\n--", "\nroot has a shell\n--")
    assert broken("".join(silent)) == {PROMISES[3].id}


def test_the_host_finds_nothing_against_a_recorded_image_from_these_sources() -> None:
    assert host_breaches(state()) == ""


def test_the_host_finds_each_thing_that_an_image_does_not_say() -> None:
    assert host_breaches(state(current=False))
    assert "runner image build" in str(host_breaches(state(recorded=False)))
    assert host_breaches(state(labels={**LABELS, "runner.versions": "{"}))
    for label in LABELS:
        assert label in host_breaches(state(labels={key: value for key, value in LABELS.items() if key != label}))
