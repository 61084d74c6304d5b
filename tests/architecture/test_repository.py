"""What holds for the repository's files: what is tracked, what no file says, how long a module may be."""

from __future__ import annotations

import ast
import re

from tests.architecture.sources import ROOT, modules, repository_files, tracked_although_ignored

MAX_LINES = 400
LONGER = {
    "runner/engine/contract.py": "the whole contract of an engine, to be read in one piece; most of it is docstrings",
    "runner/engine/fake.py": "the in-memory engine, which has to answer all of that contract",
}

# Put together here, so that this file does not hold what it looks for.
_DOT = r"\."
_REGISTRIES = (
    ("registry", "npm" + "js", "org"),
    ("registry", "yarn" + "pkg", "com"),
    ("registry", "npm" + "mirror", "com"),
    ("py" + "pi", "org"),
    ("files", "python" + "hosted", "org"),
    ("deb", "deb" + "ian", "org"),
    ("security", "deb" + "ian", "org"),
    ("ftp", "deb" + "ian", "org"),
    ("snapshot", "deb" + "ian", "org"),
    ("archive", "ubun" + "tu", "com"),
    ("security", "ubun" + "tu", "com"),
    ("registry-1", "dock" + "er", "io"),
    ("gh" + "cr", "io"),
    ("qu" + "ay", "io"),
)
_WORKPLACE = (
    "/wor" + "k/main",
    "/wor" + "k/shared",
    "/wor" + "k/" + r"\.",
    "co" + "ordinator",
    "sub" + "agent",
    "co" + "-authored-by",
)
_FORBIDDEN = re.compile("|".join([*(_DOT.join(parts) for parts in _REGISTRIES), *_WORKPLACE]), re.IGNORECASE)


def test_no_file_names_a_registrys_host_or_the_place_where_it_was_written() -> None:
    found = []
    for path in repository_files():
        text = path.read_bytes().decode("utf-8", "replace")
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in _FORBIDDEN.finditer(text)]
    assert not found, (
        "a mirror or another machine's path would stop working elsewhere; take it from the host's settings"
    )


def test_nothing_is_tracked_that_git_is_told_to_ignore() -> None:
    found = tracked_although_ignored()
    assert not found, f"{len(found)} files, {found[:3]} …: git rm -r --cached them"


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    long = {module.place for module in modules() if module.lines > MAX_LINES}
    assert long == set(LONGER), "split it where a second noun appears, or list it with its reason"


def test_every_module_says_what_it_is() -> None:
    # ruff's D rules ask for a docstring; this asks for one that is more than a repetition of the name.
    short = [module.place for module in modules() if len(_first_line(module.tree)) < 25]
    assert not short


def _first_line(tree: ast.Module) -> str:
    return (ast.get_docstring(tree) or "").partition("\n")[0]
