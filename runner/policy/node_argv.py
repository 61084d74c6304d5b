"""node's argv: which files it executes or preloads, and what its inline programs load.

What a program does once it runs cannot be read from argv; the container and the gate hold there. Options are node's
own list of those that take a value; node abbreviates none, and reads `_` in a name as `-`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from runner.model.decision import Decision
from runner.policy.argv_values import Call, deny_hooks, deny_program, deny_scratch, deny_typecheck
from runner.policy.environment_values import judge_variable
from runner.policy.node_inline import loaded_modules
from runner.policy.node_tests import judge_discovery, judge_test_argument
from runner.policy.scratch import inside_workspace, judge_file, judge_module
from runner.policy.scripts import judge_script
from runner.policy.typecheck import is_typecheck_module

__all__ = ["VALUED", "NodeCommand", "judge_node", "read_node"]

_MODULES = frozenset({"--require", "--import", "--experimental-loader", "--test-reporter", "--test-global-setup"})
_FILES = frozenset(
    {
        *("--snapshot-blob", "--experimental-config-file", "--openssl-config", "--build-snapshot"),
        *("--experimental-sea-config", "--build-sea", "--build-snapshot-config"),
    }
)
_OUTPUTS = frozenset(
    f"--{name}"
    for name in """
    cpu-prof-dir cpu-prof-name diagnostic-dir heap-prof-dir heap-prof-name localstorage-file redirect-warnings
    report-dir report-filename test-reporter-destination tls-keylog trace-event-file-pattern
    """.split()
)
_ENV_FILES = frozenset({"--env-file", "--env-file-if-exists"})
_EVALS = frozenset({"--eval", "--print"})
VALUED = (
    _MODULES
    | (_FILES - {"--build-snapshot"})
    | _ENV_FILES
    | frozenset(
        f"--{name}"
        for name in """
        allow-fs-read allow-fs-write conditions cpu-prof-dir cpu-prof-interval cpu-prof-name diagnostic-dir
        disable-proto disable-warning dns-result-order eval experimental-default-type
        experimental-test-isolation max-old-space-size-percentage stack-trace-limit heap-prof-dir heap-prof-interval
        heap-prof-name heapsnapshot-near-heap-limit heapsnapshot-signal icu-data-dir input-type inspect-port
        inspect-publish-uid localstorage-file max-http-header-size network-family-autoselection-attempt-timeout
        policy-integrity redirect-warnings report-dir report-filename report-signal run secure-heap secure-heap-min
        security-revert test-concurrency test-coverage-branches test-coverage-exclude test-coverage-functions
        test-coverage-include test-coverage-lines test-isolation test-name-pattern test-reporter-destination test-shard
        test-skip-pattern test-timeout title tls-cipher-list tls-keylog trace-event-categories
        trace-event-file-pattern trace-require-module unhandled-rejections use-largepages v8-pool-size
        watch-kill-signal watch-path
        """.split()
    )
)
_SHORT = {
    "-r": "--require",
    "-e": "--eval",
    "-p": "--print",
    "-pe": "--print",
    "-c": "--check",
    "-C": "--conditions",
    "--loader": "--experimental-loader",
    "--debug-port": "--inspect-port",
    "--report-directory": "--report-dir",
    "--security-reverts": "--security-revert",
}
_ENV_LINE = re.compile(r"^\s*(?:export\s+)?([A-Za-z_][\w.]*)[^\S\n]*=[^\S\n]*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class NodeCommand:
    """node's words in their parts. `script` is None where node reads none: inline, standard input, or no word left."""

    options: tuple[tuple[str, str], ...]
    script: str | None
    rest: tuple[str, ...]

    def has(self, name: str) -> bool:
        """Whether the option was given."""
        return any(given == name for given, _ in self.options)

    def is_on(self, name: str) -> bool:
        """Whether the option without a value is on, as its last word says: `--check --no-check` executes."""
        said = [given for given, _ in self.options if given in (name, f"--no-{name[2:]}")]
        return said[-1:] == [name]


def read_node(words: Sequence[str]) -> NodeCommand:
    """The words after `node`, in their parts."""
    options: list[tuple[str, str]] = []
    index = 1 if words[:1] == ["inspect"] else 0
    while index < len(words):
        word = words[index]
        index += 1
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            index -= 1
            break
        name, equals, value = word.partition("=")
        name = name if not name.startswith("--") else "--" + name[2:].replace("_", "-")
        name = _SHORT.get(name, name)
        if name == "--print":
            equals = value = ""  # it drops what is glued to it, and takes the next word all the same
        takes = name in VALUED or name == "--print"
        if takes and not equals and index < len(words) and not words[index].startswith("-"):
            value = words[index]
            index += 1
        options.append((name, value))
    rest = tuple(words[index:])
    if any(name in _EVALS and (value or name == "--eval") for name, value in options) or rest[:1] in ((), ("-",)):
        return NodeCommand(tuple(options), None, rest)
    return NodeCommand(tuple(options), rest[0], rest[1:])


def judge_node(call: Call, words: Sequence[str]) -> Decision | None:
    """Refused when node would execute or preload scratch of this run, or a typechecker."""
    command = read_node(list(words))
    given = (option for option in command.options if option[0] not in _ENV_FILES)
    for name, value in (*given, *_env_files(words)):
        refused = _judge_option(call, name, value)
        if refused is not None:
            return refused
    if command.has("--build-snapshot"):
        blobs = (_judge_output(call, name, value) for name, value in command.options if name == "--snapshot-blob")
        refused = next((found for found in blobs if found is not None), None)
        if refused is not None:
            return refused
    if command.has("--experimental-default-config-file"):
        refused = judge_file(call, "node.config.json", "scratch.node.config")
        if refused is not None:
            return refused
    if command.has("--run"):
        return _judge_run(call, command)
    if command.is_on("--test"):
        return _judge_tests(call, command)
    if command.script is None or command.is_on("--check"):
        return None
    if is_typecheck_module(command.script):
        return deny_typecheck(call, "typecheck.path", command.script)
    path = command.script
    if command.has("--entry-url") or command.has("--experimental-entry-url"):
        return judge_module(call, path, "scratch.node.file")
    return judge_file(call, path, "scratch.node.file")


def _judge_tests(call: Call, command: NodeCommand) -> Decision | None:
    patterns = [] if command.script is None else [command.script, *command.rest]
    if not patterns:
        return judge_discovery(call)
    named = next((pattern for pattern in patterns if is_typecheck_module(pattern)), None)
    if named is not None:
        return deny_typecheck(call, "typecheck.path", named)
    found = (judge_test_argument(call, pattern) for pattern in patterns)
    return next((refused for refused in found if refused is not None), None)


def _env_files(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The files of variables that node finds among all words up to `--`, also behind the script, for NODE_OPTIONS."""
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if word == "--":
            return
        if name in _ENV_FILES:
            yield name, value if equals else "".join(words[index + 1 : index + 2])


def _judge_option(call: Call, name: str, value: str) -> Decision | None:
    if name in _EVALS:
        return _judge_inline(call, value)
    if name in _MODULES:
        return _judge_loaded(call, value, "scratch.node.preload")
    if name in _FILES and value:
        return judge_file(call, value, "scratch.node.option")
    if name in _ENV_FILES:
        return _judge_env_file(call, value)
    return _judge_output(call, name, value) if name in _OUTPUTS else None


def _judge_run(call: Call, command: NodeCommand) -> Decision | None:
    """`node --run NAME -- WORDS`: the package script with the words at its end."""
    words = () if command.script is None else (command.script, *command.rest)
    found = (judge_script(call, ".", value, words) for name, value in command.options if name == "--run")
    return next((refused for refused in found if refused is not None), None)


def _judge_output(call: Call, name: str, value: str) -> Decision | None:
    """Refused unless the file or folder that node would write is one that the run may rewrite freely."""
    path = inside_workspace(call, value)
    if name == "--test-reporter-destination" and path is not None:  # `stdout` and `stderr` too look like files of it
        held = ".git" in path.split("/")
        return deny_hooks("git.hooks.path", f"{name} {value}") if held else None
    if path is not None and call.policy.scratch_allowed(f"{path}/x" if name.endswith("-dir") else path):
        return None
    hint = "Leave it out, or name a place under a full-write path of the policy."
    return deny_program("argv.node.output", f"node {name} names an output outside the full-write paths", hint)


def _judge_inline(call: Call, program: str) -> Decision | None:
    found = (_judge_loaded(call, module, "scratch.node.inline") for module in loaded_modules(program))
    return next((refused for refused in found if refused is not None), None)


def _judge_loaded(call: Call, module: str, rule: str) -> Decision | None:
    if module.startswith("data:"):
        if call.exhausted:
            return None
        return _judge_inline(call.deeper(), unquote(module.partition(",")[2]))
    if is_typecheck_module(module):
        return deny_typecheck(call, "typecheck.module", module)
    return judge_module(call, module, rule)


def _judge_env_file(call: Call, value: str) -> Decision | None:
    path = inside_workspace(call, value)
    if path is None:
        return deny_scratch("scratch.node.env-file", value)
    text = call.tree.read_text(path)
    for name, value in _variables(text or ""):
        refused = judge_variable(call, name, value)
        if refused is not None:
            return refused
    if text is not None and "GIT_CONFIG" in text:
        return deny_hooks("git.hooks.environment", f"{value} changes git's settings, which")
    return None


def _variables(text: str) -> Iterator[tuple[str, str]]:
    """What a file of variables sets: a quoted value may span lines, another ends at `#` or with its line."""
    for line in _ENV_LINE.finditer(text):
        end = line.end()
        quote = text[end : end + 1]
        close = text.find(quote, end + 1) if quote in ("'", '"', "`") else -1
        if close != -1:
            yield line[1], text[end + 1 : close].replace("\\n", "\n")
        else:
            stop = text.find("\n", end)
            yield line[1], text[end : stop if stop != -1 else None].partition("#")[0].strip()
