"""npm and pnpm in the closed world: scripts that package.json has, as it is in the base commit, and `ls`.

At set-up an install is let through too: there everything is the base commit's, and the network is the policy's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from runner.policy import npm_argv, pnpm_argv
from runner.policy.argv_values import Call
from runner.policy.manifest import scripts_of
from runner.policy.nopt import Given, read_options
from runner.policy.npm_options import NPM
from runner.policy.pnpm_options import EVERY_OPTION
from runner.policy.pnpm_reading import read_pnpm
from runner.policy.scratch import inside_workspace
from runner.policy.strict_pins import require_pinned
from runner.policy.strict_values import NotAllowed, closed, did_you_mean, outside

__all__ = ["canonical_npm", "canonical_pnpm"]

_FOLDERS = frozenset({"prefix", "dir"})
_RUN = frozenset({"silent", "if-present", "loglevel", "reporter", "prefix", "dir"})
_LS = _RUN | {"all", "depth", "json", "long", "parseable", "omit", "production", "dev", "recursive"}
_INSTALL = _RUN | {
    *("ignore-scripts", "frozen-lockfile", "offline", "prefer-offline", "production", "omit", "include"),
    *("audit", "no-audit", "fund", "no-fund", "no-optional", "legacy-peer-deps"),
}
_VALUES = {
    "loglevel": frozenset("silent error warn notice http info verbose debug".split()),
    "reporter": frozenset("silent default append-only ndjson".split()),
}
_SCRIPT_VERBS = {"test": "test", "t": "test", "tst": "test", "start": "start", "stop": "stop"}
_RUN_VERBS = frozenset({"run", "run-script", "rum", "urn"})
_PNPM_LS = {"list": "ls", "ll": "ls"}


@dataclass(frozen=True, slots=True)
class _Program:
    name: str
    files: tuple[str, ...]  # that say what is started
    installs: Mapping[str, str]
    valued: frozenset[str]  # options that have a value


_NPM = _Program("npm", ("package.json", ".npmrc"), {"install": "install", "ci": "ci"}, NPM.valued)
_PNPM = _Program(
    "pnpm",
    ("package.json", *pnpm_argv.SETTING_FILES),
    {"install": "install", "ci": "install"},
    frozenset(name for name, types in EVERY_OPTION.items() if "boolean" not in types),
)


def canonical_npm(call: Call, words: Sequence[str]) -> tuple[str, ...]:
    """The argv that runs for `npm words`. Raises NotAllowed."""
    if list(words) in (["--version"], ["-v"]):
        return ("npm", "--version")
    given = read_options(words, NPM)
    if not given.words:
        raise _no_verb(_NPM, "")
    verb = npm_argv.npm_command(given.words[0])
    rest = given.words[1:]
    if verb in _SCRIPT_VERBS:
        return _script(call, _NPM, _SCRIPT_VERBS[verb], given.options, ["--", *rest, *given.verbatim])
    if verb == "run" and rest:
        return _script(call, _NPM, rest[0], given.options, ["--", *rest[1:], *given.verbatim])
    return _other(call, _NPM, verb, "ls" if verb in ("ls", "ll") else "", Given(given.options, rest, given.verbatim))


def canonical_pnpm(call: Call, words: Sequence[str]) -> tuple[str, ...]:
    """The argv that runs for `pnpm words`. Raises NotAllowed."""
    if list(words) in (["--version"], ["-v"]):
        return ("pnpm", "--version")
    command = read_pnpm(words)
    options, params = command.given.options, command.params
    if command.name is None or (command.implied and not params):
        raise _no_verb(_PNPM, "")
    if command.implied:
        name = _SCRIPT_VERBS.get(params[0], params[0])
        if name in _SCRIPT_VERBS or name in scripts_of(call, _folder(call, options)):
            return _script(call, _PNPM, name, options, params[1:])
        raise _no_verb(_PNPM, params[0])
    if command.name == "run" and params:
        return _script(call, _PNPM, params[0], options, params[1:])
    return _other(call, _PNPM, command.name, _PNPM_LS.get(command.name, ""), Given(options, params))


def _script(
    call: Call, program: _Program, name: str, options: list[tuple[str, str]], args: list[str]
) -> tuple[str, ...]:
    folder = _folder(call, options)
    kept = _options(program, options, _RUN)
    require_pinned(call, (".", folder), program.files)
    scripts = scripts_of(call, folder)
    if name not in scripts:
        where = "package.json" if folder == "." else f"{folder}/package.json"
        raise closed("strict.script", f"{where} has no script {name[:80]!r}", did_you_mean(name, scripts))
    own = args[1:] if args[:1] == ["--"] else args
    return (program.name, *kept, "run", name, *(args if own else ()))


def _other(call: Call, program: _Program, verb: str, shown: str, given: Given) -> tuple[str, ...]:
    """`ls`, and at set-up an install without package names."""
    install = program.installs.get(verb) if call.phase == "setup" else None
    if not shown and install is None:
        raise _no_verb(program, verb)
    names = given.words + given.verbatim
    if install is not None and names:
        raise closed("strict.package.verb", f"{program.name} {verb} of single packages", "Install what is locked.")
    kept = _options(program, given.options, _LS if shown else _INSTALL)
    require_pinned(call, (".", _folder(call, given.options)), program.files)
    return (program.name, *kept, shown or str(install), *(("--", *names) if names else ()))


def _folder(call: Call, options: Iterable[tuple[str, str]]) -> str:
    value = next((value for name, value in reversed(list(options)) if name in _FOLDERS), ".") or "."
    inside = inside_workspace(call, value)
    if inside is None:
        raise outside("strict.package.path", value)
    return inside


def _options(program: _Program, options: Iterable[tuple[str, str]], known: frozenset[str]) -> list[str]:
    """The options in one spelling each: `--name`, `--name=value`, `--name=false`."""
    kept: list[str] = []
    for name, value in options:
        if name not in known:
            raise closed(
                "strict.package.option",
                f"{program.name} option --{name[:80]} is not known",
                did_you_mean(name, known, dashes="--") + " What the script is given stands behind its name and `--`.",
            )
        valued = name in program.valued
        if value not in _VALUES.get(name, (value,)) or (valued and not value):
            hint = did_you_mean(value, _VALUES.get(name, ()))
            raise closed("strict.package.option", f"--{name} may not have this value", hint)
        if not valued and value not in ("", "true", "false"):
            raise closed("strict.package.option", f"--{name} takes no value", "Leave the value out.")
        kept.append(f"--{name}={value}" if valued or value == "false" else f"--{name}")
    return kept


def _no_verb(program: _Program, verb: str) -> NotAllowed:
    if verb in program.installs:
        hint = "What set-up installed is all there is."
    elif verb in ("exec", "init", *_RUN_VERBS):  # other ways to start a program are refused before
        hint = "Run a script of package.json by its name."
    else:
        hint = did_you_mean(verb, ("run", "test", "start", "stop", "ls"), dashes=f"{program.name} ")
    return closed("strict.package.verb", f"{program.name} {verb[:80]} is not among the verbs", hint)
