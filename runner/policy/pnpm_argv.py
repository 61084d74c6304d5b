"""pnpm's argv: as npm's, with the difference that a word it does not know is a script, or else a program."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from runner.model.decision import Decision
from runner.policy.argv_values import Call, deny_hooks, deny_program, deny_scratch
from runner.policy.launchers import judge_shell_option, judge_target
from runner.policy.manifest import judge_manifest, scripts_of
from runner.policy.nopt import Dialect, Given, read_options
from runner.policy.package_settings import judge_setting_files, judge_settings
from runner.policy.scratch import inside_workspace
from runner.policy.scripts import judge_lifecycle, judge_script
from runner.policy.typecheck import is_typecheck_script

__all__ = ["DIALECT", "SETTING_FILES", "judge_pnpm"]

_VALUED = frozenset(
    """
    allow-build cache-dir call cert changed-files-ignore-pattern child-concurrency config-dir depth dir fetch-retries
    fetch-retry-factor fetch-retry-maxtimeout fetch-retry-mintimeout fetch-timeout filter filter-prod
    global-bin-dir global-dir global-pnpmfile globalconfig hoist-pattern https-proxy lockfile-dir loglevel
    modules-dir network-concurrency node-linker node-options node-version npm-path npmrc-auth-file otp
    pack-destination package package-import-method pnpmfile prefix public-hoist-pattern registry reporter
    resume-from save-prefix script-shell shell side-effects-cache state-dir store-dir tag test-pattern
    use-node-version user-agent userconfig virtual-store-dir workspace-concurrency workspace-packages
    """.split()
)
_BOOLEANS = frozenset(
    """
    aggregate-output bail color dev fail-if-no-match force frozen-lockfile global if-present ignore-pnpmfile
    ignore-scripts ignore-workspace json lockfile-only long no-bail no-color no-sort offline optional parallel
    parseable prefer-offline prod production recursive report-summary reverse reporter-hide-prefix save-dev
    save-exact save-optional save-prod sequential shamefully-hoist shell-mode silent sort stream use-stderr version
    workspace-root yes
    """.split()
)
_SHORTHANDS: dict[str, tuple[str, ...]] = {
    "C": ("dir",),
    "c": ("shell-mode",),
    "D": ("dev",),
    "d": ("loglevel", "info"),
    "F": ("filter",),
    "g": ("global",),
    "P": ("prod",),
    "r": ("recursive",),
    "s": ("reporter", "silent"),
    "w": ("workspace-root",),
    "y": ("yes",),
}
DIALECT = Dialect(_VALUED, _BOOLEANS, _SHORTHANDS)

# Verbs that start nothing but pnpm itself (and the lifecycle scripts of an install).
_OWN = frozenset(
    """
    add approve-builds audit bin bugs cache cat-file cat-index catalog-file ci clean-install c config dedupe deploy
    deprecate dist-tag doctor docs fetch find-hash get help i ic ignored-builds import info init install
    install-clean la licenses link list ll ln login logout ls outdated owner pack patch patch-commit patch-remove ping
    pkg prefix profile prune publish rb rebuild remove repo rm root search server set setup show star stars store
    team token un uninstall unlink unpublish unstar up update upgrade version v view whoami why
    """.split()
)
_FETCHES = frozenset({"dlx", "create", "env", "runtime", "rt", "self-update", "with"})
_SCRIPTS = {
    "test": "test",
    "t": "test",
    "tst": "test",
    "start": "start",
    "stop": "stop",
    "restart": "restart",
    "install-test": "test",
    "it": "test",
    "install-ci-test": "test",
}
_INSTALL = ("pnpm:devPreinstall", "preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare")
_INSTALLS = "install i ci clean-install ic install-clean it install-test install-ci-test update up upgrade dedupe prune"
_PACK = ("prepack", "prepare", "postpack")
# What pnpm runs of the project's own scripts by itself; `add` and `remove` leave them alone.
_LIFECYCLE = {
    **dict.fromkeys((*_INSTALLS.split(), "link", "ln", "rebuild", "rb", "deploy"), _INSTALL),
    "pack": _PACK,
    "publish": ("prepublishOnly", *_PACK, "publish", "postpublish"),
}
SETTING_FILES = (".npmrc", ".pnpmfile.cjs", ".pnpmfile.mjs", "pnpm-workspace.yaml")
_RECURSIVE = frozenset({"recursive", "multi", "m"})


def judge_pnpm(call: Call, words: Sequence[str]) -> Decision | None:
    """Refused when pnpm would start what the policy does not allow, or be set up to do so later."""
    given = read_options(list(words), DIALECT, words_end_options=1)
    while given.words[:1] and given.words[0] in _RECURSIVE:
        inner = read_options(given.words[1:], DIALECT, words_end_options=1)
        given = Given([*given.options, *inner.options], inner.words, inner.verbatim)
    everything = given.words + given.verbatim
    folder = (given.values("dir", "prefix") or ["."])[-1] or "."
    root = inside_workspace(call, folder)
    if root is None:
        return deny_scratch("scratch.package", folder)
    if everything:
        here = call.deeper(cwd=root)
        refused = _judge_verb(here, everything[0], everything[1:], given)
        refused = refused or _judge_lifecycle(here, everything[0], everything[1:], given)
        if refused is not None:
            return refused
    settings = [*given.options, *_later_options(everything)]
    return judge_settings(call, settings, "pnpm") or judge_setting_files(call, [".", folder], SETTING_FILES)


def _later_options(words: list[str]) -> list[tuple[str, str]]:
    # After `run`, `exec` and unknown verbs, later options belong to what is started; pnpm's own verbs read them all.
    return read_options(words[1:], DIALECT).options if words[:1] and words[0] in _OWN else []


def _judge_verb(call: Call, verb: str, args: list[str], given: Given) -> Decision | None:
    if verb in _FETCHES:
        return _judge_fetch(call, verb, args)
    if verb == "exec":
        return _judge_exec(call, args, given)
    if verb in ("run", "run-script", "rum", "urn"):
        inner = read_options(args, DIALECT, words_end_options=1)
        names = inner.words + inner.verbatim
        refused = judge_settings(call, inner.options, "pnpm")
        return refused or (judge_script(call, _folder(inner), names[0], names[1:]) if names else None)
    if verb in _SCRIPTS:
        return judge_script(call, ".", _SCRIPTS[verb], args)
    if verb in ("config", "c", "set"):
        return _judge_config(call, args if verb != "set" else ["set", *args])
    if verb == "deploy" and any(".git" in word.split("/") for word in args):
        return deny_hooks("git.hooks.path", "pnpm deploy into git's own folder")
    if verb == "version":
        return judge_script(call, ".", "version")
    return None if verb in _OWN else _judge_implicit(call, verb, args, given)


def _judge_lifecycle(call: Call, verb: str, args: list[str], given: Given) -> Decision | None:
    if verb not in _LIFECYCLE:
        return None
    inner = read_options(args, DIALECT)
    if Given([*given.options, *inner.options]).has_switch("ignore-scripts"):
        return None
    folder = inner.values("dir", "prefix")[-1:] or ["."]
    return judge_lifecycle(call, folder[0] or ".", _LIFECYCLE[verb])


def _judge_fetch(call: Call, verb: str, args: list[str]) -> Decision:
    target = judge_target(call, read_options(args, DIALECT, words_end_options=1).words, f"pnpm {verb}")
    fetched = deny_program("launcher.fetch", f"pnpm {verb} fetches a program and runs it")
    return target if target is not None and verb == "dlx" else fetched


def _judge_exec(call: Call, args: list[str], given: Given) -> Decision | None:
    inner = read_options(args, DIALECT, words_end_options=1)
    target = inner.words + inner.verbatim
    if any(name == "shell-mode" for name, _ in (*given.options, *inner.options)):
        return judge_shell_option(call, "pnpm exec --shell-mode", " ".join(target))
    return judge_settings(call, inner.options, "pnpm") or judge_target(call, target, "pnpm exec")


def _judge_implicit(call: Call, verb: str, args: list[str], given: Given) -> Decision | None:
    """`pnpm NAME`: the script of that name, and where there is none the program."""
    if is_typecheck_script(verb) or verb in scripts_of(call, "."):
        return judge_script(call, ".", verb, args)
    return judge_manifest(call, ".") or _judge_exec(call, [verb, *args], given)


def _folder(inner: Given) -> str:
    return posixpath.normpath((inner.values("dir", "prefix") or ["."])[-1] or ".")


def _judge_config(call: Call, args: list[str]) -> Decision | None:
    given = read_options(args, DIALECT)
    words = given.words + given.verbatim
    if words[:1] not in (["set"], ["delete"]):
        return None
    name, equals, value = words[1].partition("=") if len(words) > 1 else ("", "", "")
    if not equals and len(words) > 2:
        value = words[2]
    return judge_settings(call, [(name, value)], "pnpm config set")
