"""Pages as HTML. Templates are sandboxed and escaped: none can reach behind an `Untrusted`."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import PackageLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from runner.audit.keys import PublicKey
from runner.pages.page import RunPage, run_page
from runner.pages.record import RecordFolder
from runner.pages.units import milliseconds, size
from runner.pages.untrusted import block, inline, prose

__all__ = ["PAGE_CSP", "draw_report", "render", "stylesheet"]

PAGE_CSP = (
    "default-src 'none'; style-src {style}; script-src {script}; img-src 'self' data:; connect-src {connect}; "
    "form-action {form}; base-uri 'none'"
)


@cache
def stylesheet() -> str:
    """The one style sheet of all pages."""
    return (files("runner.pages") / "assets" / "page.css").read_text(encoding="utf-8")


def render(template: str, /, **values: Any) -> str:
    """The template with these values.

    Raises:
        UntrustedPrinted: it prints a stranger's text without a filter.
    """
    return _environment().get_template(template).render(**values)


def draw_report(folder: RecordFolder, key: PublicKey | None) -> bytes:
    """The page of a run as one file that needs nothing else: no script, no other file, nothing from elsewhere."""
    style = stylesheet()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
    policy = PAGE_CSP.format(style=f"'sha256-{digest}'", script="'none'", connect="'none'", form="'none'")
    page: RunPage = run_page(folder, key)
    whole = render("report.html", page=page, style=Markup(style), policy=policy)  # noqa: S704 - a file of ours
    return whole.encode("utf-8", "backslashreplace")


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    made = ImmutableSandboxedEnvironment(
        loader=PackageLoader("runner.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(untrusted=inline, untrusted_block=block, prose=prose, ms=milliseconds, size=size)
    return made
