"""A Chromium that looks at the pages. What it complains of, or asks for elsewhere, fails the test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.support.web_site import CHROMIUM_ARGUMENTS, TestRuns, served, site

REQUIRE_BROWSER = "RUNNER_REQUIRE_BROWSER"
"""Set by `make test` and CI: a test that needs Chromium and can't have it fails instead of being skipped."""


_SURE_MS = 60_000.0  # a bound of a wait that a passing test never uses up


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The system's Chromium; its absence skips the test, or fails it where a browser is required."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        reason = "Chromium is not there (Debian: apt-get install chromium)"
        if os.environ.get(REQUIRE_BROWSER) == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    # Started and stopped with the module: its driver keeps an event loop in this thread, which others need.
    expect.set_options(timeout=_SURE_MS)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(CHROMIUM_ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Looking:
    """Opens windows on the pages, and remembers what Chromium complained of and asked for."""

    browser: Browser
    base: str
    runs: TestRuns
    complaints: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    @contextmanager
    def window(self, **keys: Any) -> Iterator[Page]:
        """A window of its own. Nothing may be complained of in it, and nothing asked for elsewhere."""
        context = self.browser.new_context(**keys)
        page = context.new_page()
        page.set_default_timeout(_SURE_MS)
        page.on("console", lambda message: self.complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: self.asked.append(request.url))
        if keys.get("java_script_enabled", True):
            page.add_init_script(
                "addEventListener('securitypolicyviolation', e => console.error('violated', e.violatedDirective))"
            )
        try:
            yield page
        finally:
            context.close()
        assert self.complaints == []
        elsewhere = [url for url in self.asked if not url.startswith((self.base, "data:,", "file:"))]
        assert elsewhere == []

    @contextmanager
    def at(self, place: str, **keys: Any) -> Iterator[Page]:
        """A window on one of the pages."""
        with self.window(**keys) as page:
            page.goto(f"{self.base}{place}")
            yield page


@pytest.fixture
def looking(chromium: Browser, tmp_path: Path) -> Iterator[Looking]:
    runs = TestRuns(tmp_path / "state")
    with served(site(runs)) as base:
        try:
            yield Looking(chromium, base, runs)
        finally:
            runs.stop()
