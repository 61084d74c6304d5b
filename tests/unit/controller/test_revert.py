"""Taking back what a command wrote, on real files through a local helper; the content at hand is given by the test."""

from __future__ import annotations

import io
import shutil
import stat
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from runner.controller import originals
from runner.controller.baseline import bring_up_to_date
from runner.controller.originals import Original, Originals
from runner.controller.revert import Undone, revert
from runner.model.tree import EntryKind
from runner.policy.ledger import Ledger
from runner.policy.writes import WriteRules, within_write_globs
from tests.contract.boxes import RealBox
from tests.support.local_stream import local_sandbox
from tests.support.policies import policy

FILES = {
    "README.md": (b"# R\n", 0o644),
    "run.sh": (b"#!/bin/sh\n", 0o755),
    "private": (b"p\n", 0o600),
    "docs/guide.md": (b"g" * 5000, 0o644),
    "docs/deep/er.md": (b"e\n", 0o444),
    "docs/empty": (b"", 0o644),
    "src/app.mjs": (b"a\n", 0o644),
    "src/secret/key": (b"k\n", 0o644),
    "node_modules/m/index.js": (b"m\n", 0o644),  # ignored by git, so that nobody has its content
    "new\nline caf\udce9": (b"n\n", 0o644),
}
LINKS = {"to-docs": "docs", "out": "/etc/passwd", "docs/up": "../README.md"}


@dataclass
class Box:
    """A workspace with its baseline."""

    real: RealBox
    ledger: Ledger
    originals: Originals
    rules: WriteRules

    def after(self, script: str, *words: str) -> Undone:
        """What is undone after a shell script ran."""
        result = self.real.shell(script, *words)
        assert result.exit == 0, result.stderr
        delta = bring_up_to_date(self.real.sandbox, self.ledger)
        touched = {*delta.created, *delta.changed, *delta.removed}
        outside = [path for path in touched if not within_write_globs(self.rules, path)]
        return revert(self.real.sandbox, self.ledger, self.originals, self.rules, outside)

    def tree(self) -> dict[str, tuple[str, int, bytes]]:
        """Kind, mode and content of everything."""
        found: dict[str, tuple[str, int, bytes]] = {}
        root: Path = self.real.sandbox.root
        for path in sorted(root.rglob("*")):
            info = path.lstat()
            kind, mode = stat.filemode(info.st_mode)[0], stat.S_IMODE(info.st_mode)
            data = path.read_bytes() if kind == "-" else bytes(path.readlink()) if kind == "l" else b""
            found[str(path.relative_to(root))] = (kind, mode, data)
        return found


def _blobs(names: Sequence[str]) -> Iterator[bytes]:
    for path in names:
        yield LINKS[path].encode() if path in LINKS else FILES[path][0]


@cache
def _archive() -> bytes:
    """The tree, so that one program makes it."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for path, (data, mode) in FILES.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), mode
            tar.addfile(entry, io.BytesIO(data))
        for path, target in LINKS.items():
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
    return made.getvalue()


@pytest.fixture
def box() -> Iterator[Box]:
    with local_sandbox() as sandbox:
        real = RealBox(sandbox)
        real.unpack(_archive())
        entries = {entry.path: entry for entry in sandbox.scan(max_entries=1000).entries}
        known = {p: e for p, e in entries.items() if e.kind is not EntryKind.DIR and not p.startswith("node_modules")}
        tracked = {path: Original(path, entry.kind, entry.size) for path, entry in known.items() if path != "private"}
        known_content = Originals(entries, tracked, {"private": FILES["private"][0]}, _blobs)
        rules = WriteRules.compile(policy(writeAllow=["src/**", "*.log"], writeDeny=["src/secret/**"]))
        yield Box(real, Ledger(entries.values()), known_content, rules)


CHANGES = {
    "a file changed in place": "printf x >>README.md",
    "a file with other content of the same length": "printf '# X\\n' >README.md",
    "a file with forged times": "touch -r README.md k; printf '# X\\n' >README.md; touch -r k README.md; rm k",
    "a file put in another's place": "printf y >y; mv y README.md",
    "a mode": "chmod 600 run.sh; chmod 755 README.md; chmod 700 docs",
    "a file that nobody may read": "chmod 000 README.md",
    "a copy of the controller's": "printf x >private; chmod 644 private",
    "a removed file": "rm README.md run.sh private",
    "a removed folder": "rm -rf docs",
    "a renamed folder": "mv docs elsewhere",
    "a link with another target": "rm to-docs out; ln -s /tmp to-docs; ln -s README.md out",
    "a link become a folder": "rm to-docs; mkdir -p to-docs/x; touch to-docs/x/y",
    "a file become a folder": "rm README.md; mkdir -p README.md/x; touch README.md/x/y",
    "a folder become a file": "rm -rf docs; touch docs",
    "a folder become a link": "mv docs src/mine; ln -s src/mine docs; rm -rf src/mine",
    "a folder become a link to a writable one": "rm -rf docs; mkdir src/d; ln -s src/d docs; rmdir src/d",
    "a file become a FIFO": "rm README.md; mkfifo README.md",
    "new files and folders": "mkdir -p .github/w; touch .github/w/x.yml; ln -s / slash; mkfifo p; touch -- -rf '*'",
    "new names that are strange": 'touch "$(printf \'a\\nb\')" "$(printf \'b\\351\')" "x y"',
    "strange names that went": "rm new*",
    "a denied file below an allowed folder": "printf x >src/secret/key; touch src/secret/new; rm -rf src/secret/key",
    "an allowed folder that went with a denied file": "rm -rf src/secret",
    "a new folder that is closed": "mkdir -p a/b/c; touch a/b/c/f a/g; chmod 000 a/b/c a/b a",
    "a known folder that was closed": "touch docs/deep/new; chmod 000 docs/deep docs",
    "a write through a hard link": "ln README.md src/same; printf x >>src/same; rm src/same",
    "many files": "mkdir many; cd many; i=0; while [ $i -lt 300 ]; do : >$i; i=$((i+1)); done",
}


@pytest.mark.parametrize("script", CHANGES.values(), ids=CHANGES)
def test_outside_the_write_patterns_everything_is_as_it_was(script: str, box: Box) -> None:
    before = box.tree()
    undone = box.after(script)
    assert box.tree() == before
    assert undone.reverted and undone.not_reverted == ()
    assert box.ledger.created() == () and box.ledger.changed() == ()
    assert box.after("true") == Undone((), ())


def test_what_was_written_inside_the_patterns_stays(box: Box) -> None:
    undone = box.after("printf x >src/app.mjs; touch src/new; mkdir made; touch made/a.log made/b; rm README.md")
    after = box.tree()
    assert after["src/app.mjs"][2] == b"x" and "src/new" in after and "made/a.log" in after and "made/b" not in after
    assert (undone.reverted, undone.not_reverted) == (("README.md", "made/b"), ("made",))


def test_what_nobody_has_the_content_of_is_named_and_left_alone(box: Box) -> None:
    undone = box.after("printf x >node_modules/m/index.js; touch node_modules/m/new; rm README.md")
    assert undone == Undone(("README.md", "node_modules/m/new"), ("node_modules/m/index.js",))
    assert box.tree()["node_modules/m/index.js"][2] == b"x"
    assert box.ledger.changed_by_run("node_modules/m/index.js")


def test_removed_packages_are_named_though_their_folders_come_back(box: Box) -> None:
    undone = box.after("rm -rf node_modules")
    assert undone == Undone(("node_modules", "node_modules/m"), ("node_modules/m/index.js",))


def test_nothing_is_put_back_through_a_link_in_a_writable_place(box: Box) -> None:
    elsewhere = box.real.sandbox.root.with_name(box.real.sandbox.root.name + "-elsewhere")
    elsewhere.mkdir(mode=0o777)
    elsewhere.chmod(0o777)
    try:
        box.rules = WriteRules.compile(policy(writeAllow=["src"], writeDeny=["src/secret/**"]))
        undone = box.after('rm -rf src; ln -s "$1" src', str(elsewhere))
        assert undone.not_reverted == ("src/secret", "src/secret/key")
        assert list(elsewhere.iterdir()) == []
    finally:
        shutil.rmtree(elsewhere)


def test_content_is_asked_for_only_where_it_is_needed(box: Box) -> None:
    asked: list[str] = []

    def blobs(names: Sequence[str]) -> Iterator[bytes]:
        asked.extend(names)
        return _blobs(names)

    box.originals = Originals(box.originals.entries, box.originals.tracked, box.originals.copies, blobs)
    box.after("rm README.md private; printf x >src/app.mjs; touch new")
    assert asked == ["README.md"]


@pytest.mark.parametrize("program", ["rm", "tar"])
def test_what_could_not_be_done_is_not_said_to_be(program: str, box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    spawn: Callable[..., object] = box.real.sandbox.spawn

    def without(request: object) -> object:
        words = request.argv  # type: ignore[attr-defined]
        if any(word.endswith("/" + program) for word in words):
            return None
        return spawn(request)

    assert box.real.shell("rm README.md; touch new").exit == 0
    delta = bring_up_to_date(box.real.sandbox, box.ledger)
    monkeypatch.setattr(box.real.sandbox, "spawn", without)
    undone = revert(box.real.sandbox, box.ledger, box.originals, box.rules, [*delta.created, *delta.removed])
    expected = (("README.md",), ("new",)) if program == "rm" else (("new",), ("README.md",))
    assert (undone.reverted, undone.not_reverted) == expected


def test_content_is_fetched_in_batches_and_keeps_its_order(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(originals, "_FETCHED_BYTES", 5001)
    asked: list[list[str]] = []

    def blobs(names: Sequence[str]) -> Iterator[bytes]:
        asked.append(list(names))
        return _blobs(names)

    known = Originals(box.originals.entries, box.originals.tracked, box.originals.copies, blobs)
    paths = ["README.md", "docs/guide.md", "private", "out", "run.sh"]
    data = [FILES["README.md"][0], FILES["docs/guide.md"][0], FILES["private"][0], b"/etc/passwd", FILES["run.sh"][0]]
    assert [content for _, content in known.contents(paths)] == data
    assert asked == [["README.md", "docs/guide.md"], ["out", "run.sh"]]


def test_copies_are_bounded_and_leave_out_what_may_be_written(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = sorted(box.originals.entries.values(), key=lambda entry: entry.path)
    every = {path: data for path, (data, _) in FILES.items() if path != "src/app.mjs"}
    assert originals._copies(box.real.sandbox, box.rules, iter(entries)) == every
    monkeypatch.setattr(originals, "_MAX_COPIED_BYTES", 4000)
    assert "docs/guide.md" not in originals._copies(box.real.sandbox, box.rules, iter(entries))
    monkeypatch.setattr(originals, "_MAX_COPIED_FILES", 2)
    assert list(originals._copies(box.real.sandbox, box.rules, iter(entries))) == ["README.md", "docs/deep/er.md"]
