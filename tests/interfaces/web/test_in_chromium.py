"""The pages as people use them, in a real Chromium: live, by keyboard, in the dark, on a phone, without scripts."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from runner.model.hidden import is_hidden
from runner.pages.html import draw_report
from runner.pages.record import RecordFolder
from tests.interfaces.web.conftest import Looking
from tests.support.run_record import HOSTILE, RunRecord, rich_record, stream

pytestmark = pytest.mark.browser

CONTRAST = """() => {
  const parse = c => { const m = c.match(/[\\d.]+/g).map(Number); return [m[0], m[1], m[2], m[3] ?? 1]; };
  const curve = v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => { const f = v => curve(v / 255);
    return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
  const ground = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
    if (c[3] > .99) return c; } return [255, 255, 255, 1]; };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !e.checkVisibility() || e.closest('script, noscript, .sr')) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) found.push([ratio, e.outerHTML.slice(0, 80)]);
  }
  return found;
}"""


def ended(looking: Looking, text: str = "plain", run_id: str = "run1") -> RunRecord:
    record = looking.runs.add(rich_record(looking.runs.state, run_id, text))
    record.end()
    return record


def test_a_run_is_watched_live_to_its_verified_end(looking: Looking) -> None:
    record = looking.runs.add(RunRecord(looking.runs.state))
    record.start()
    record.end_call(record.begin_call(argv=["node", "one.js"]))
    with looking.at("/runs/run1") as page:
        expect(page.locator("#calls > li")).to_have_count(1)
        page.locator("#call-1 summary").click()
        seq = record.begin_call(argv=["node", "two.js"])
        looking.runs.told()
        expect(page.locator("#now")).to_contain_text("At work: call 2, workspace.run_command node two.js")
        record.decide(seq, "scripts.created", "scratch_execution_refused", argv=["node", "two.js"])
        record.end_call(
            seq, code="scratch_execution_refused", kind="refusal", rule="scripts.created", message="No.", hint="Mend."
        )
        told = {"phase": "run", "connection": 1, "port": 443, "address": "", "bytes_up": 1, "bytes_down": 2}
        record.tell("egress", host="evil", allowed=False, rule="egress.host", ended_by="x", milliseconds=1.0, **told)
        looking.runs.told()
        expect(page.locator("#call-2 .outcome")).to_have_text("refused")
        expect(page.locator("#refusals")).to_contain_text("Mend.")
        expect(page.locator("#connections")).to_contain_text("evil:443")
        expect(page.locator("#now")).to_contain_text("2 calls so far, 1 refused")
        expect(page.locator(".toc")).to_contain_text("Calls 2 Refusals 1 Network 1")
        expect(page.locator("#calls-lead")).to_contain_text("2 answered: 1 ok, 1 refused")
        # What a reader has opened stays open, although the page grew.
        assert page.locator("#call-1 details").get_attribute("open") is not None
        record.end()
        looking.runs.told()
        expect(page.locator(".pill")).to_have_text("completed")
        expect(page.locator(".seal")).to_contain_text("Verified")
        expect(page.locator("#calls > li")).to_have_count(2)
        assert page.locator("#call-1 details").get_attribute("open") is not None
        expect(page.locator("#live")).to_have_count(0)


def test_a_page_that_can_no_longer_follow_its_run_says_so(looking: Looking) -> None:
    record = looking.runs.add(RunRecord(looking.runs.state))
    record.start()
    with pytest.raises(AssertionError, match="404"), looking.at("/runs/run1") as page:
        expect(page.locator("#now")).to_contain_text("Waiting")
        looking.runs.records.clear()  # as when a session has run out
        looking.runs.told()
        expect(page.locator("#now")).to_contain_text("no longer follows")


def test_the_list_follows_the_runs(looking: Looking) -> None:
    record = looking.runs.add(rich_record(looking.runs.state))
    with looking.at("/runs") as page:
        row = page.locator("tbody tr")
        expect(row).to_contain_text("running")
        page.locator("#to-run1").focus()
        record.end()
        expect(row).to_contain_text("completed")
        assert page.evaluate("document.activeElement.id") == "to-run1"  # a reader by keyboard keeps the place
        row.locator("a").click()
        expect(page.locator("h1")).to_have_text("Run run1")


def test_a_list_whose_reader_is_signed_out_stops_says_so_and_complains_of_nothing(looking: Looking) -> None:
    ended(looking)
    with looking.window() as page:
        page.clock.install()
        page.goto(f"{looking.base}/runs")
        expect(page.locator("#running")).to_contain_text("1 listed")
        looking.runs.turned_away = 303
        page.clock.run_for(3000)
        expect(page.locator("#running")).to_contain_text("You are signed out: this list no longer follows the runs.")
        asked = len(looking.asked)
        page.clock.run_for(60_000)
        expect(page.locator("#running a")).to_have_text("Sign in again")
        assert len(looking.asked) == asked
        page.locator("#running a").click()
        expect(page.locator("h1")).to_have_text("Sign in")


def test_a_list_whose_server_fails_looks_a_few_times_more_and_then_says_so(looking: Looking) -> None:
    ended(looking)
    with pytest.raises(AssertionError, match="503"), looking.window() as page:
        page.clock.install()
        page.goto(f"{looking.base}/runs")
        looking.runs.turned_away = 503
        for _ in range(3):
            expect(page.locator("#running")).to_contain_text("1 listed")
            with page.expect_response("**/runs"):
                page.clock.run_for(9000)
        expect(page.locator("#running")).to_contain_text("no longer follows the runs. Load it again.")
    assert len([said for said in looking.complaints if "503" in said]) == len(looking.complaints) == 3


def test_a_runs_page_leads_back_to_all_runs(looking: Looking) -> None:
    ended(looking)
    with looking.at("/runs/run1") as page:
        page.get_by_role("link", name="All runs").click()
        expect(page.locator("h1")).to_have_text("Runs")


def test_a_denial_can_be_read_with_its_rule_code_and_mend(looking: Looking) -> None:
    ended(looking, "Write to src/ instead")
    with looking.at("/runs/run1") as page:
        denial = page.locator("#refusals > li").first
        expect(denial).to_contain_text("workspace_write_not_allowed")
        expect(denial).to_contain_text("write.deny.pattern")
        expect(denial.locator(".hint")).to_contain_text("Write to src/ instead")
        denial.locator("a").click()
        assert page.url.endswith("#call-2")


def test_a_diff_is_shown_by_file_and_in_colours(looking: Looking) -> None:
    ended(looking)
    with looking.at("/runs/run1") as page:
        first = page.locator(".file").first
        expect(first.locator("summary")).to_contain_text("src/app.js")
        expect(first.locator(".added")).to_have_text("+renewed();")
        expect(first.locator(".removed")).to_have_text("-old();")
        colours = {kind: colour_of(page, f".file .{kind}", "backgroundColor") for kind in ("added", "removed", "same")}
        assert len(set(colours.values())) == 3


def test_a_tampered_record_is_shown_as_such(looking: Looking) -> None:
    record = ended(looking)
    with looking.at("/runs/run1") as page:
        expect(page.locator(".seal")).to_contain_text("Verified.")
        log = record.folder / "audit.jsonl"
        log.write_bytes(log.read_bytes().replace(b'"ok":false', b'"ok":true ', 1))
        page.reload()
        expect(page.locator(".seal-broken")).to_contain_text("Broken. Do not rely on what this page shows.")
        expect(page.locator(".seal-broken")).to_contain_text("line")


@pytest.mark.parametrize("place", ["/runs/run1", "/runs"])
def test_hostile_text_is_shown_and_does_nothing(looking: Looking, place: str) -> None:
    record = ended(looking, HOSTILE)
    (record.folder / "changes.patch").write_text(f"diff --git a/{HOSTILE} b/{HOSTILE}\n@@ -1 +1 @@\n-a\n+{HOSTILE}\n")
    with looking.at(place) as page:
        open_all(page)
        text = page.inner_text("body")
        assert "<script>window.pwned = 1</script>" in text and "\\u202e" in text and "\\x1b[31m" in text
        assert not [char for char in text if char not in "\n\t" and is_hidden(char)]
        assert page.evaluate("window.pwned") is None and page.locator("main img, main script").count() == 0
        # No stranger's text can turn around or swallow what stands beside it.
        assert page.evaluate("[...document.querySelectorAll('[dir]')].length") == 0


def test_what_the_policy_of_content_forbids_does_not_run(looking: Looking) -> None:
    ended(looking)
    with pytest.raises(AssertionError), looking.at("/runs/run1") as page:
        page.evaluate(
            "() => { const s = document.createElement('script'); s.textContent = 'window.pwned = 1';"
            " document.body.append(s); const i = new Image(); i.src = 'http://127.0.0.2:9/x'; document.body.append(i) }"
        )
        page.wait_for_timeout(0)
        assert page.evaluate("window.pwned") is None
    assert [said for said in looking.complaints if "violated script-src" in said]


def test_a_reader_by_keyboard_gets_everywhere_and_sees_where(looking: Looking) -> None:
    ended(looking)
    with looking.at("/runs/run1") as page:
        page.keyboard.press("Tab")
        assert focused(page) == "Skip to the content"
        assert page.evaluate("document.activeElement.getBoundingClientRect().left >= 0")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        seen = []
        for _ in range(60):
            page.keyboard.press("Tab")
            seen.append(focused(page))
            if seen[-1].startswith("Call 1"):
                break
            assert outlined(page), seen[-1]
        assert "Refusals 2" in seen and seen[-1].startswith("Call 1")
        page.keyboard.press("Enter")
        expect(page.locator("#call-1 .more")).to_be_visible()
        page.keyboard.press("Enter")
        expect(page.locator("#call-1 .more")).to_be_hidden()


@pytest.mark.parametrize("place", ["/runs", "/runs/run1", "/login?problem=No"])
def test_pages_are_readable_in_light_and_dark(looking: Looking, place: str) -> None:
    ended(looking, HOSTILE)
    grounds = set()
    for scheme in ("light", "dark"):
        with looking.at(place, color_scheme=scheme) as page:
            open_all(page)
            assert page.evaluate(CONTRAST) == []
            grounds.add(colour_of(page, "body", "backgroundColor"))
    assert len(grounds) == 2


@pytest.mark.parametrize("place", ["/runs", "/runs/run1", "/login"])
def test_a_phone_shows_a_page_without_scrolling_sideways(looking: Looking, place: str) -> None:
    ended(looking, "a/" * 150 + "long")
    with looking.at(place, viewport={"width": 360, "height": 800}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_phone_shows_all_of_a_row_of_the_list_and_it_stays_a_row_of_a_table(looking: Looking) -> None:
    ended(looking)
    with looking.at("/runs", viewport={"width": 360, "height": 800}) as page:
        row = page.get_by_role("row").filter(has=page.get_by_role("rowheader"))
        expect(row.get_by_role("cell")).to_have_count(7)
        outside = "all => all.filter(e => e.getBoundingClientRect().right > innerWidth).length"
        assert page.eval_on_selector_all(".runs tbody *", outside) == 0
        said = "all => all.map(e => getComputedStyle(e, '::before').content)"
        assert '"Refused"' in page.eval_on_selector_all(".runs td", said)


def test_without_scripts_all_of_a_run_can_be_read(looking: Looking) -> None:
    record = looking.runs.add(rich_record(looking.runs.state))
    with looking.at("/runs", java_script_enabled=False) as page:
        page.locator("#to-run1").click()
        again = page.get_by_role("link", name="Load it again")
        expect(again).to_be_visible()
        page.locator("#call-1 summary").click()
        expect(page.locator("#call-1 pre").first).to_contain_text("plain")
        record.end()
        again.click()
        expect(page.locator(".seal")).to_contain_text("Verified.")


def test_a_report_is_one_file_that_asks_for_nothing_and_says_the_same(looking: Looking, tmp_path: Path) -> None:
    record = ended(looking, HOSTILE)
    file = tmp_path / "report.html"
    file.write_bytes(draw_report(RecordFolder(record.run_id, record.folder), record.key))
    with looking.at("/runs/run1") as page:
        served = parts(page)
    looking.asked.clear()
    with looking.window(color_scheme="dark") as page:
        page.goto(file.as_uri())
        page.locator("#call-1 summary").click()
        expect(page.locator("#call-1 .more")).to_be_visible()
        assert parts(page) == served
        assert page.evaluate(CONTRAST) == [] and colour_of(page, "body", "backgroundColor") == "rgb(17, 19, 21)"
        assert page.evaluate("window.pwned") is None
    assert [url for url in looking.asked if not url.startswith("data:,")] == [file.as_uri()]


def test_headings_tables_and_regions_are_named_for_those_who_listen(looking: Looking) -> None:
    record = looking.runs.add(rich_record(looking.runs.state))
    with looking.at("/runs/run1") as page:
        levels = page.eval_on_selector_all("h1, h2, h3", "all => all.map(h => Number(h.tagName[1]))")
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(after - before <= 1 for before, after in pairwise(levels))
        bare = "all => all.filter(t => !t.caption || !t.querySelector('th[scope]')).length"
        assert page.eval_on_selector_all("table", bare) == 0
        assert page.locator("#now").get_attribute("aria-live") == "polite"
        ids = page.eval_on_selector_all("[id]", "all => all.map(e => e.id)")
        assert len(ids) == len(set(ids))
        links = page.eval_on_selector_all("a[href^='#']", "all => all.map(a => a.getAttribute('href').slice(1))")
        assert set(links) <= set(ids)
    record.end(milliseconds={})


def test_a_long_output_can_be_scrolled_by_keyboard(looking: Looking) -> None:
    record = looking.runs.add(RunRecord(looking.runs.state))
    record.start()
    record.end_call(
        record.begin_call(argv=["node"]), kind="output", stdout=stream("line\n" * 500, 7), stderr=stream("")
    )
    with looking.at("/runs/run1") as page:
        page.locator("#call-1 summary").click()
        said = page.locator("#call-1 pre")
        expect(said).to_contain_text("7 characters left out")
        said.focus()
        page.keyboard.press("PageDown")
        page.wait_for_function("document.querySelector('#call-1 pre').scrollTop > 0")


def open_all(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")


def colour_of(page: Page, selector: str, what: str) -> str:
    return str(page.eval_on_selector(selector, f"e => getComputedStyle(e).{what}"))


def focused(page: Page) -> str:
    return " ".join(str(page.evaluate("document.activeElement.textContent")).split())


def outlined(page: Page) -> bool:
    return bool(page.evaluate("getComputedStyle(document.activeElement).outlineStyle !== 'none'"))


def parts(page: Page) -> list[str]:
    """The text of each part, but for what only one of the two kinds of page says."""
    found = page.eval_on_selector_all("main > section", "all => all.map(s => s.textContent.replace(/\\s+/g, ' '))")
    told = "The check is made anew each time this page is loaded.|A page proves nothing by itself: .*?operator\\."
    return [re.sub(rf"{told}|, when this page was written", "", text) for text in found]
