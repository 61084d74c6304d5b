"""How git reads the words after a verb: which options take a value, and which of them the policy forbids.

Verified against git 2.39's own option tables. Long options may be abbreviated to any prefix; where a prefix fits two
options git itself stops, so taking every prefix of a forbidden name as that name refuses nothing that would run.
A letter or name is listed as taking a value only where git takes one: a wrong entry would hide the next word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["FORBIDDEN", "GRAMMARS", "Forbidden", "Grammar", "Kind", "Option", "Words", "abbreviates", "read_words"]


class Kind(StrEnum):
    """Why an option is forbidden."""

    HOOKS = "hooks"
    PROGRAM = "program"
    SHELL = "shell"
    OUTPUT = "output"
    CONFIG = "config"  # its value is a config setting, judged by the key


@dataclass(frozen=True, slots=True)
class Grammar:
    """Options with a value: `letters` glued or as the next word, `glued` letters only glued, `names` long ones."""

    letters: str = ""
    glued: str = ""
    names: frozenset[str] = frozenset()
    stops: bool = False  # options end at the first word that is none


@dataclass(frozen=True, slots=True)
class Option:
    """One option as it was written: `name` without dashes, `long` by its form, and the value that git would give it."""

    name: str
    long: bool
    value: str | None


@dataclass(frozen=True, slots=True)
class Words:
    """The words after a verb, sorted into options and the others, both in order."""

    options: tuple[Option, ...]
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Forbidden:
    """Options that the policy refuses for a verb, by long names and letters."""

    kind: Kind
    names: tuple[str, ...] = ()
    letters: str = ""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOG = Grammar(letters="SGn", names=_names("grep author committer since until after before max-count skip"))

GRAMMARS: dict[str, Grammar] = {
    "commit": Grammar(
        letters="FmcCt",
        glued="Su",
        names=_names(
            "file author date message reedit-message reuse-message fixup squash trailer template cleanup "
            "pathspec-from-file"
        ),
    ),
    "am": Grammar(letters="Cp", glued="S", names=_names("whitespace directory exclude include patch-format")),
    "merge": Grammar(
        letters="sXmF", glued="S", names=_names("cleanup strategy strategy-option message file into-name")
    ),
    "pull": Grammar(
        letters="sXo",
        glued="Srj",
        names=_names("cleanup strategy strategy-option upload-pack depth shallow-since deepen refmap server-option"),
    ),
    "rebase": Grammar(letters="CxsX", glued="Sr", names=_names("onto whitespace empty exec strategy strategy-option")),
    "cherry-pick": Grammar(letters="msX", glued="S", names=_names("mainline strategy strategy-option cleanup")),
    "revert": Grammar(letters="msX", glued="S", names=_names("mainline strategy strategy-option cleanup")),
    "fetch": Grammar(letters="jo", names=_names("upload-pack jobs depth shallow-since refmap server-option filter")),
    "clone": Grammar(
        letters="jobuc",
        names=_names(
            "jobs template reference reference-if-able origin branch upload-pack depth shallow-since shallow-exclude "
            "separate-git-dir config server-option filter bundle-uri"
        ),
    ),
    "ls-remote": Grammar(letters="o", names=_names("upload-pack exec sort server-option")),
    "archive": Grammar(letters="o", names=_names("output remote exec format prefix add-file")),
    "grep": Grammar(
        letters="ABCefm", glued="O", names=_names("context before-context after-context max-count max-depth threads")
    ),
    "format-patch": Grammar(
        letters="ov", names=_names("output-directory start-number suffix subject-prefix reroll-count")
    ),
    "bugreport": Grammar(letters="os", names=_names("output-directory suffix")),
    "diagnose": Grammar(letters="os", names=_names("output-directory suffix mode")),
    "mailsplit": Grammar(glued="o"),
    "difftool": Grammar(letters="tx", names=_names("tool extcmd")),
    "mergetool": Grammar(letters="t", names=_names("tool")),
    "init": Grammar(letters="b", names=_names("template separate-git-dir initial-branch object-format")),
    "config": Grammar(letters="ft", names=_names("file blob type default value comment url")),
    "for-each-repo": Grammar(names=_names("config"), stops=True),
    "tag": Grammar(letters="mFu", glued="n", names=_names("message file local-user cleanup sort format points-at")),
    "notes": Grammar(letters="mFcC", names=_names("message file reedit-message reuse-message")),
    "stash": Grammar(letters="m", names=_names("message pathspec-from-file")),
    "log": _LOG,
    "show": _LOG,
    "rev-list": _LOG,
    "whatchanged": _LOG,
    "diff": Grammar(letters="SG"),
}
GRAMMARS["init-db"] = GRAMMARS["init"]

_VERIFY = Forbidden(Kind.HOOKS, ("no-verify",))
_UPLOAD = Forbidden(Kind.PROGRAM, ("upload-pack", "exec"))
_DIRECTORY = Forbidden(Kind.OUTPUT, ("output-directory",), "o")
_TOOL = Forbidden(Kind.PROGRAM, ("extcmd", "tool", "gui"), "xtg")
_MARKS = Forbidden(Kind.OUTPUT, ("export-marks", "export-pack-edges"))
_DIFF = (Forbidden(Kind.OUTPUT, ("output",)), Forbidden(Kind.PROGRAM, ("ext-diff",)))

# Verbs that are not here read their words as the log and diff family does.
FORBIDDEN: dict[str, tuple[Forbidden, ...]] = {
    "": _DIFF,
    "commit": (Forbidden(Kind.HOOKS, ("no-verify", "no-post-rewrite"), "n"),),
    "am": (Forbidden(Kind.HOOKS, ("no-verify",), "n"),),  # `-n` came after 2.39, where it is an error
    "merge": (_VERIFY,),
    "cherry-pick": (_VERIFY,),
    "revert": (_VERIFY,),
    "pull": (_VERIFY, Forbidden(Kind.PROGRAM, ("upload-pack",))),
    "rebase": (_VERIFY, Forbidden(Kind.SHELL, ("exec",), "x")),
    "fetch": (_UPLOAD,),
    "fetch-pack": (_UPLOAD,),
    "ls-remote": (_UPLOAD,),
    "clone": (
        Forbidden(Kind.PROGRAM, ("upload-pack", "template"), "u"),
        Forbidden(Kind.CONFIG, ("config",), "c"),
    ),
    "archive": (Forbidden(Kind.OUTPUT, ("output",), "o"), Forbidden(Kind.PROGRAM, ("exec",))),
    "grep": (Forbidden(Kind.PROGRAM, ("open-files-in-pager",), "O"),),
    "format-patch": (*_DIFF, _DIRECTORY),
    "bugreport": (_DIRECTORY,),
    "diagnose": (_DIRECTORY,),
    "mailsplit": (Forbidden(Kind.OUTPUT, (), "o"),),
    "difftool": (_TOOL, *_DIFF),
    "mergetool": (_TOOL,),
    "init": (Forbidden(Kind.PROGRAM, ("template",)),),
    "init-db": (Forbidden(Kind.PROGRAM, ("template",)),),
    "read-tree": (Forbidden(Kind.OUTPUT, ("index-output",)),),
    "checkout-index": (Forbidden(Kind.OUTPUT, ("prefix",)),),
    "fast-export": (*_DIFF, _MARKS),
    "fast-import": (_MARKS,),
    "help": (Forbidden(Kind.PROGRAM, ("web",), "w"),),
}


def abbreviates(written: str, name: str, *, shortest: int = 1) -> bool:
    """Whether git may read the long option `written` (no dashes, no value) as `name`."""
    return len(written) >= shortest and name.startswith(written)


def read_words(args: Sequence[str], grammar: Grammar) -> Words:
    """The words sorted as git sorts them; `--` and `--end-of-options` end the options."""
    options: list[Option] = []
    others: list[str] = []
    index = 0
    while index < len(args):
        word = args[index]
        index += 1
        if word in ("--", "--end-of-options"):
            others.extend(args[index:])
            break
        following = args[index] if index < len(args) else None
        if word.startswith("--"):
            option, used = _read_long(word[2:], following, grammar)
            options.append(option)
        elif word.startswith("-") and len(word) > 1:
            bundle, used = _read_bundle(word[1:], following, grammar)
            options.extend(bundle)
        elif grammar.stops:
            others.extend(args[index - 1 :])
            break
        else:
            others.append(word)
            used = False
        index += used
    return Words(tuple(options), tuple(others))


def _read_long(body: str, following: str | None, grammar: Grammar) -> tuple[Option, bool]:
    name, equals, value = body.partition("=")
    if equals:
        return Option(name, True, value), False
    if any(abbreviates(name, known) for known in grammar.names):
        return Option(name, True, following), following is not None
    return Option(name, True, None), False


def _read_bundle(body: str, following: str | None, grammar: Grammar) -> tuple[list[Option], bool]:
    found: list[Option] = []
    for position, letter in enumerate(body):
        rest = body[position + 1 :]
        if letter in grammar.letters:
            found.append(Option(letter, False, rest or following))
            return found, not rest and following is not None
        if letter in grammar.glued:
            found.append(Option(letter, False, rest or None))
            return found, False
        found.append(Option(letter, False, None))
    return found, False
