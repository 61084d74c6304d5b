"""What each git verb would do: push, run a program that its words name, or set something.

Verbs are judged by name here; `git_argv` has already taken off the global options and expanded aliases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from runner.model.decision import Decision
from runner.policy.argv_values import Call, deny_hooks, deny_program, deny_push
from runner.policy.git_config import judge_config
from runner.policy.git_config_keys import judge_setting
from runner.policy.git_grammar import FORBIDDEN, GRAMMARS, Forbidden, Grammar, Kind, Option, abbreviates, read_words
from runner.policy.launchers import judge_target
from runner.policy.scripts import judge_shell_line

__all__ = ["BUILTINS", "judge_verb"]

# The verbs that git 2.39 handles itself, so that no alias of that name counts.
BUILTINS = frozenset(
    """
    add am annotate apply archive bisect--helper blame branch bugreport bundle cat-file check-attr check-ignore
    check-mailmap check-ref-format checkout checkout--worker checkout-index cherry cherry-pick clean clone
    column commit commit-graph commit-tree config count-objects credential credential-cache
    credential-cache--daemon credential-store describe diagnose diff diff-files diff-index diff-tree difftool
    env--helper fast-export fast-import fetch fetch-pack fmt-merge-msg for-each-ref for-each-repo format-patch
    fsck fsck-objects fsmonitor--daemon gc get-tar-commit-id grep hash-object help hook index-pack init init-db
    interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge merge-base merge-file
    merge-index merge-ours merge-recursive merge-recursive-ours merge-recursive-theirs merge-subtree merge-tree
    mktag mktree multi-pack-index mv name-rev notes pack-objects pack-redundant pack-refs patch-id pickaxe prune
    prune-packed pull push range-diff read-tree rebase receive-pack reflog remote remote-ext remote-fd repack
    replace rerere reset restore rev-list rev-parse revert rm send-pack shortlog show show-branch show-index
    show-ref sparse-checkout stage stash status stripspace submodule--helper switch symbolic-ref tag unpack-file
    unpack-objects update-index update-ref update-server-info upload-archive upload-archive--writer upload-pack
    var verify-commit verify-pack verify-tag version whatchanged worktree write-tree
    """.split()
)

# `receive-pack` is the far half of a push; the remote helpers take push commands on standard input.
_PUSHES = frozenset({"push", "send-pack", "http-push", "receive-pack"})
_PUSHING_WORDS = {
    "subtree": frozenset({"push"}),
    "svn": frozenset({"dcommit", "commit-diff", "set-tree", "branch", "tag"}),
    "p4": frozenset({"submit"}),
    "lfs": frozenset({"push"}),
    "annex": frozenset({"sync", "push", "copy", "move"}),
}
_RUNS_PROGRAMS = frozenset(
    {
        *("shell", "daemon", "instaweb", "web--browse", "gui", "citool", "imap-send", "send-email"),
        *("difftool--helper", "mergetool--lib", "cvsserver", "http-backend", "remote-ext", "remote-fd"),
    }
)
_NETWORK = frozenset({"fetch", "pull", "clone", "ls-remote", "remote", "submodule", "submodule--helper", "archive"})
_HELPER_ADDRESS = re.compile(r"(?:--[a-z-]+=)?(?:ext|fd)::", re.IGNORECASE)
_SHORTEST_GENERIC = 3  # the log and diff family takes no abbreviations; below this, other verbs' options look alike


def judge_verb(call: Call, verb: str, args: Sequence[str]) -> Decision | None:
    """Refused when `git verb args` would push, skip hooks, or run or write what the policy does not allow."""
    if "/" in verb:
        # git runs `git-<verb>`, and with a slash that is a path: `git /../scratch/x` runs scratch/x.
        return deny_program("git.verb.path", f"{verb!r} is a path, not a verb")
    if verb in _PUSHES or (verb.startswith("remote-") and verb not in ("remote-ext", "remote-fd")):
        return deny_push("git.push.verb", f"git {verb}")
    if verb in _PUSHING_WORDS and not _PUSHING_WORDS[verb].isdisjoint(args):
        return deny_push("git.push.verb", f"git {verb}")
    if verb in _RUNS_PROGRAMS:
        return deny_program("git.verb.program", f"git {verb} starts other programs")
    if verb in _NETWORK and any(_HELPER_ADDRESS.match(word) for word in args):
        return deny_program("git.address.helper", "an ext:: or fd:: address is a program")
    special = _SPECIAL.get(verb)
    return (special(call, list(args)) if special else None) or _judge_options(call, verb, args)


def _judge_options(call: Call, verb: str, args: Sequence[str]) -> Decision | None:
    rules = FORBIDDEN.get(verb)
    shortest = 1 if rules else _SHORTEST_GENERIC
    for option in read_words(args, GRAMMARS.get(verb, Grammar())).options:
        for forbidden in rules or FORBIDDEN[""]:
            refused = _judge_option(call, verb, option, forbidden, shortest) if option.name else None
            if refused is not None:
                return refused
    return None


def _judge_option(call: Call, verb: str, option: Option, forbidden: Forbidden, shortest: int) -> Decision | None:
    if option.long:
        name = next((name for name in forbidden.names if abbreviates(option.name, name, shortest=shortest)), None)
        written = f"--{option.name}"
    else:
        name, written = (option.name if option.name in forbidden.letters else None), f"-{option.name}"
    if name is None:
        return None
    what = f"git {verb} {written}"
    if forbidden.kind is Kind.HOOKS:
        return deny_hooks("git.hooks.option", what)
    if forbidden.kind is Kind.CONFIG:
        key, equals, value = (option.value or "").partition("=")
        return judge_setting(call, key, value if equals else "true")
    if forbidden.kind is Kind.OUTPUT:
        hint = "Leave it out and take the text from the command's standard output."
        return deny_program("git.option.output", f"{what} names an output file", hint)
    if forbidden.kind is Kind.SHELL:
        return judge_shell_line(call, option.value or "") or deny_program("git.option.shell", f"{what} is a shell line")
    return deny_program("git.option.program", f"{what} names a program or decides which one runs")


def _judge_bisect(call: Call, args: Sequence[str]) -> Decision | None:
    if args[:1] not in (["run"], ["--bisect-run"]):
        return None
    target = list(args[1:])
    return judge_target(call, target[1:] if target[:1] == ["--"] else target, "git bisect run")


def _judge_for_each_repo(call: Call, args: Sequence[str]) -> Decision | None:
    words = read_words(args, GRAMMARS["for-each-repo"]).others
    return call.judge(call.deeper(), ["git", *words]) if words else None


def _judge_submodule(call: Call, args: Sequence[str]) -> Decision | None:
    if "foreach" not in args:
        return None
    line = " ".join(word for word in args[list(args).index("foreach") + 1 :] if not word.startswith("--"))
    return judge_shell_line(call, line) or deny_program("git.option.shell", "git submodule foreach takes a shell line")


def _judge_filter_branch(call: Call, args: Sequence[str]) -> Decision | None:
    for index, word in enumerate(args):
        if word == "--setup" or (
            word.startswith("--") and word.endswith("-filter") and word != "--subdirectory-filter"
        ):
            line = args[index + 1] if index + 1 < len(args) else ""
            return judge_shell_line(call, line) or deny_program("git.option.shell", f"{word} is a shell line")
    return None


def _judge_merge_index(call: Call, args: Sequence[str]) -> Decision | None:
    program = next((word for word in args if word not in ("-o", "-q")), "git-merge-one-file")
    if program == "git-merge-one-file":
        return None
    return deny_program("git.verb.program", f"git merge-index would run {program!r}")


_SPECIAL: dict[str, Callable[[Call, list[str]], Decision | None]] = {
    "bisect": _judge_bisect,
    "bisect--helper": _judge_bisect,
    "config": judge_config,
    "filter-branch": _judge_filter_branch,
    "for-each-repo": _judge_for_each_repo,
    "merge-index": _judge_merge_index,
    "submodule": _judge_submodule,
    "submodule--helper": _judge_submodule,
}
