"""Answers of the web pages, each with the headers that keep a page to itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fastapi.responses import HTMLResponse, Response, StreamingResponse

from runner.pages.html import PAGE_CSP, render
from runner.pages.untrusted import untrusted

__all__ = ["SECURITY_HEADERS", "download", "login_page", "message_page", "page_response"]

SECURITY_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": PAGE_CSP.format(style="'self'", script="'self'", connect="'self'", form="'self'")
        + "; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",  # for browsers that do not know frame-ancestors
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Embedder-Policy": "require-corp",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
)
"""Of every answer. Nothing of a page comes from elsewhere, nothing is inline, and nobody frames it."""

_FRESH = {"Cache-Control": "no-store"}  # a shared computer's next user must not find it with the back button
_PIECE_BYTES = 64 * 1024


def page_response(
    template: str, /, status: int = 200, *, sign_out: str = "", who: str = "", **values: Any
) -> HTMLResponse:
    """The template as an answer. `sign_out` is where its button posts to, `who` is signed in; empty: it has none."""
    html = render(template, sign_out=sign_out, who=untrusted(who), **values).encode("utf-8", "backslashreplace")
    return HTMLResponse(html, status, headers={**SECURITY_HEADERS, **_FRESH})


def login_page(action: str, after: str = "/runs", problem: str = "") -> HTMLResponse:
    """The form for a token, posted as `token` and `next` to `action`. Who takes the post checks where `next` leads."""
    return page_response("login.html", action=action, next=after, problem=problem)


def message_page(status: int, heading: str, message: str) -> HTMLResponse:
    """A page that says why there is nothing to see."""
    return page_response("message.html", status, heading=heading, message=message)


def download(path: Path) -> Response:
    """A file of a record, to be saved and never to be shown: it is a stranger's text.

    Raises:
        OSError: it cannot be read.
    """
    size = path.stat().st_size  # of a log that grows, what is there now

    def pieces() -> Iterator[bytes]:
        with path.open("rb") as file:
            left = size
            while left and (piece := file.read(min(left, _PIECE_BYTES))):
                left -= len(piece)
                yield piece

    headers = {
        **SECURITY_HEADERS,
        **_FRESH,
        "Content-Disposition": f'attachment; filename="{path.name}"',
        "Content-Length": str(size),
    }
    return StreamingResponse(pieces(), media_type="application/octet-stream", headers=headers)
