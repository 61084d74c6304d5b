"""Argvs that are made up: words at random, git's global options and verbs, and what a verb's own grammar allows."""

from __future__ import annotations

from hypothesis import strategies as st

from runner.policy.strict_git_options import Option, Verb
from runner.policy.strict_git_verbs import VERBS

__all__ = ["AFTER_VERBS", "COMMIT_WORDS", "GIT_ALIASES", "GLOBAL_OPTIONS", "GRAMMATICAL", "VERB_WORDS", "WORDS"]

GIT_ALIASES = {
    "st": "status",
    "up": "push",
    "pp": "-p push",
    "two": "up",
    "quoted": '"pu\\sh" origin',
    "loop": "loop2",
    "loop2": "loop",
}
"""What `VERB_WORDS` may go through."""

_VOCABULARY = (
    "git npm pnpm node mise exec x run -c -C -e -p -r -- - --prefix --test --import=./a push commit -n -m config "
    "alias.x core.hooksPath= sh tsc ' \" \\ ! $( ` scratch/a.mjs ../x /tmp/x typecheck :: ext:: = --call '' {} [ "
    "--no-pager status log diff st lg ci -5 --oneline --format= HEAD src src/app.mjs test hi ls --silent ::: --quiet "
    "-q stash list show reflog tag branch -d --contains core.fsmonitor=false user.name=x --no-ext-diff build.mjs "
    "./build true --json t"
).split()

WORDS = st.lists(st.one_of(st.text(max_size=12), st.sampled_from(_VOCABULARY)), max_size=12)
"""Anything that might follow a program's name."""

GLOBAL_OPTIONS = st.lists(
    st.sampled_from(
        [
            ("-C", "."),
            ("-C", ""),
            ("-c", "user.name=x"),
            ("-c", "core.quotepath=false"),
            ("-c", "push.default"),
            ("--git-dir=.git",),
            ("--git-dir", ".git"),
            ("--work-tree", "."),
            ("--work-tree=.",),
            ("--namespace", "n"),
            ("--namespace=push",),
            ("--config-env=user.name=HOME",),
            ("--config-env", "user.name=HOME"),
            ("--super-prefix=push/",),
            ("-p",),
            ("-P",),
            ("--no-pager",),
            ("--paginate",),
            ("--no-replace-objects",),
            ("--literal-pathspecs",),
            ("--no-optional-locks",),
            ("--bare",),
            ("-c",),
            ("-C",),
            ("--git-dir",),
            ("--html-path",),
            ("--version",),
            ("--no-pa",),
        ]
    ),
    max_size=4,
)
VERB_WORDS = ("push", "status", "stash", "st", "ST", "up", "UP", "pp", "two", "quoted", "loop", "zz", "log")
AFTER_VERBS = st.lists(st.sampled_from(["push", "-h", "--help", "-n", "list", "x"]), max_size=2)

COMMIT_WORDS = st.lists(
    st.sampled_from(
        "-n -an -na -nq -qn -uno -u -un -mn -m -mx -am -anm -S -t -F -C --no-verify --no-verif --no-ver --no-v "
        "--no-verb --verify --no-edit --amend --message --message=-n --mess -v -vn -q -- x --no-verify-signatures "
        "--no-post-rewrite --author --author=a<b> --date --clean --cleanup=strip --no-status --all -e -en -i -o -on "
        "-z -p".split()
    ),
    max_size=4,
)

_VALUES = ["1", "2", "x", "HEAD", "main", "src/app.mjs", "c", "never", "%h %s", "short", "zdiff3", "ours", "all"]
_OPERANDS = st.lists(
    st.sampled_from(["HEAD", "main", "side", "HEAD~1", "src/app.mjs", "src", "a", "user.name", "--", "-", "t1", "new"]),
    max_size=3,
)


@st.composite
def _option(draw: st.DrawFn, option: Option, grammar: Verb) -> list[str]:
    value = draw(st.sampled_from(sorted(option.choices) or (["1", "2", "3"] if option.kind == "#" else _VALUES)))
    if option.letters and (not option.name or draw(st.booleans())):
        letter = "-" + draw(st.sampled_from(option.letters))
        if option.kind is None:
            return [letter]
        if option.kind in ("?", "l"):
            return draw(st.sampled_from([[letter], [letter + value]]))
        return draw(st.sampled_from([[letter + value], [letter, value]]))
    name = option.name
    if grammar.abbreviates and draw(st.booleans()):
        name = name[: draw(st.integers(min_value=2, max_value=max(2, len(name))))]
    if option.negatable and draw(st.booleans()):
        return [f"--no-{name}"]
    if option.kind is None:
        return [f"--{name}"]
    if option.kind in ("?", "l"):
        return draw(st.sampled_from([[f"--{name}"], [f"--{name}={value}"]]))
    if option.kind == "=":
        return [f"--{name}={value}"]
    return draw(st.sampled_from([[f"--{name}", value], [f"--{name}={value}"]]))


@st.composite
def _grammatical(draw: st.DrawFn) -> list[str]:
    name = draw(st.sampled_from(sorted(VERBS)))
    grammar = VERBS[name]
    words: list[str] = []
    if grammar.options:
        for option in draw(st.lists(st.sampled_from(grammar.options), max_size=3)):
            words.extend(draw(_option(option, grammar)))
    operands = draw(_OPERANDS)
    mixed = [*operands, *words] if draw(st.integers(0, 4)) == 0 else [*words, *operands]
    return ["git", *name.split(), *mixed]


GRAMMATICAL = _grammatical()
"""A verb of git that `strict` knows, with its own options in every spelling that git takes, and operands."""
