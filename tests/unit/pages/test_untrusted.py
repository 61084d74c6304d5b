"""A stranger's text gets onto a page through its filter, or not at all."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import PackageLoader
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from runner.model.hidden import is_hidden
from runner.pages import html
from runner.pages.html import draw_report, render
from runner.pages.page import run_page
from runner.pages.record import RecordFolder
from runner.pages.untrusted import Untrusted, UntrustedPrinted, block, inline, prose, untrusted
from tests.support.run_record import HOSTILE, rich_record

UNFILTERED = {
    "as it is": "{{ x }}",
    "escaped": "{{ x | e }}",
    "marked as safe": "{{ x | safe }}",
    "as a string": "{{ x | string }}",
    "in capitals": "{{ x | upper }}",
    "joined": "{{ [x, x] | join(', ') }}",
    "beside a text": "{{ 'a' ~ x }}",
    "formatted": "{{ '%s' | format(x) }}",
    "by its method": "{{ '{}'.format(x) }}",
}

OURS = re.compile(r"</?bdi>|</?code>|<span class=\"hidden\">|</span>|&(?:lt|gt|amp|#34|#39);")
"""What the filters themselves write of HTML."""


def environment() -> ImmutableSandboxedEnvironment:
    return html._environment().overlay()


@pytest.mark.parametrize("template", UNFILTERED.values(), ids=list(UNFILTERED))
def test_no_template_can_print_a_strangers_text_without_its_filter(template: str) -> None:
    with pytest.raises(UntrustedPrinted):
        environment().from_string(template).render(x=Untrusted("text"))


@pytest.mark.parametrize("template", ["{{ x._text }}", "{{ x['_text'] }}", "{{ x | attr('_text') }}"])
def test_no_template_can_reach_behind_the_wrapper(template: str) -> None:
    with pytest.raises(SecurityError):
        environment().from_string(template).render(x=Untrusted("text"))


@given(st.text(alphabet=st.characters(), max_size=60))
def test_what_the_filters_print_is_inert_and_hides_nothing(text: str) -> None:
    for shown, keep in ((inline(Untrusted(text)), ""), (block(Untrusted(text)), "\n\t")):
        assert not [char for char in shown if char not in keep and is_hidden(char)]
        assert not set("<>&\"'") & set(OURS.sub("", shown))


@given(st.text(alphabet=st.sampled_from("`<>&\"'/ab \n\u202e\x1b") | st.characters(), max_size=60))
def test_sentences_are_inert_and_balanced_whatever_stands_between_backticks(text: str) -> None:
    shown = prose(Untrusted(text))
    assert not [char for char in shown if is_hidden(char)] and not set("<>&\"'") & set(OURS.sub("", shown))
    assert not re.search(r"<code>(?:(?!</code>).)*<code>", shown)
    for name in ("code", "bdi"):
        assert shown.count(f"<{name}>") == shown.count(f"</{name}>")


def test_what_stands_between_backticks_is_code_and_a_hostile_text_stays_text_there() -> None:
    assert prose("Use `git push`.") == "<bdi>Use <code><bdi>git push</bdi></code>.</bdi>"
    for text in ("one ` alone", "two `` with nothing between"):
        assert prose(Untrusted(text)) == f"<bdi>{text}</bdi>"
    for hostile in ("</code><script>x()</script>", '<img src=x onerror="x()">', "</bdi></p>"):
        for text in (f"`{hostile}`", f"{hostile}`a`{hostile}", f"`a{hostile}` `"):
            shown = prose(Untrusted(text))
            assert not re.search(r"<(?!/?(?:code|bdi)>)", shown) and shown.count("<code>") == 1, text
    assert f"<code><bdi>sha256:{'a1' * 32}</bdi></code>," in prose(Untrusted(f"sealed by sha256:{'a1' * 32}, <b>"))
    assert prose(None) == "<bdi></bdi>"


def test_a_text_is_cut_and_says_by_how_much() -> None:
    assert "3 more characters" in inline(untrusted("abcdef", 3)) and "abc" in inline(untrusted("abcdef", 3))
    assert inline(untrusted("abc", 3)) == Markup("<bdi>abc</bdi>")


def test_a_page_value_holds_no_plain_text_of_a_stranger(tmp_path: Path) -> None:
    record = rich_record(tmp_path, text="STRANGER")
    record.end(patch="diff --git a/STRANGER b/STRANGER\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-STRANGER\n+STRANGER\n")
    log = record.folder / "audit.jsonl"
    log.write_bytes(log.read_bytes() + b"STRANGER\n")
    page = run_page(RecordFolder(record.run_id, record.folder), record.key)
    plain = list(texts(page))
    assert plain and not [text for text in plain if "STRANGER" in text]


def texts(value: Any) -> Iterator[str]:
    """Every plain text in a value, however deep."""
    if isinstance(value, str):
        yield value
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from texts(getattr(value, field.name))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from texts(key)
            yield from texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts(inner)
    else:
        assert value is None or isinstance(value, Untrusted | int | float), type(value)


@pytest.mark.parametrize("ended", [True, False], ids=["ended", "going on"])
def test_every_page_of_a_hostile_run_is_inert(tmp_path: Path, ended: bool) -> None:
    record = rich_record(tmp_path, text=HOSTILE)
    if ended:
        record.end(patch=f"diff --git a/{HOSTILE} b/{HOSTILE}\n@@ -1 +1 @@\n-{HOSTILE}\n+{HOSTILE}\n")
    folder = RecordFolder(record.run_id, record.folder, alive=not ended)
    page = run_page(folder, record.key)
    calls = (*page.first_calls, *page.last_calls)
    made = {
        "report": draw_report(folder, record.key).decode(),
        "run": render("run.html", page=page, sign_out="", who=""),
        "live": render("live.html", page=page, calls=calls, refusals=page.refusals, connections=page.connections),
        "list": render("runs.html", runs=[page.heading], live=1, unlisted=0, sign_out="", who=untrusted(HOSTILE)),
    }
    for name, shown in made.items():
        body = re.sub(r"<style>.*?</style>", "", shown, flags=re.DOTALL)
        assert not [char for char in body if char not in "\n\t" and is_hidden(char)], name
        assert "window.pwned = 1&lt;/script&gt;" in body and "\\u202e" in body, name
        assert "<img" not in body and "{{ 7 * 7 }}" in body, name


def test_templates_mark_nothing_as_safe() -> None:
    loader = PackageLoader("runner.pages")
    names = loader.list_templates()
    assert "run_main.html" in names
    for name in names:
        source, *_ = loader.get_source(html._environment(), name)
        assert not re.search(r"\|\s*safe\b|autoescape|Markup", source), name
        # A page that ran its own handlers or styles would need a laxer policy of content.
        assert not re.search(r"\son[a-z]+\s*=|\sstyle\s*=|javascript:", source), name
