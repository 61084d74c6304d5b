"""Which of a repository's mise configs may be trusted without asking: plain lists of tools and tasks. Pure.

A trusted config may start programs on any verb of mise, `mise ls` included: by templates, by `[hooks]`, by scripts
that `[env]` sources, by plugins that `[tools]` names. What is left without those starts nothing before somebody runs a
task. Trust is given to the file as it is in the base commit: paranoid mise remembers its hash, and asks again for
any other content.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence

from runner.setup.env_names import env_refusal

__all__ = ["task_file_refusal", "trust_refusal"]

_TABLES = frozenset({"tools", "tasks", "env", "vars", "min_version"})
_TASK_KEYS = frozenset(
    """
    run description alias depends depends_post wait_for dir env sources outputs usage quiet silent raw raw_args hide
    interactive timeout confirm tools file shell
    """.split()
)
_TEMPLATE = re.compile(r"\{[{%]")
# In a task's own line these are filled in when it runs, and start nothing. Possessive: hostile text is read once.
_PLACEHOLDER = re.compile(
    r"\{\{\s*+(?:(?:arg|option|flag)\((?:\s*+\w++\s*+=\s*+(?:\"[^\"{}]*+\"|'[^'{}]*+'|\w++)\s*+,?)*+\s*+\)"
    r"|usage\.\w++|vars\.\w++|cwd|config_root)\s*+\}\}"
)
_TOOL = re.compile(r"(?!asdf:|vfox:)[\w@./:+-]+")
_VERSION = re.compile(r"[\w@./+-]+")  # no colon: `path:` and `ref:` name a folder of programs, or code to build
_REMOTE = re.compile(r"://|::")
_MOUNT = re.compile(r"\bmount\b")  # in a usage specification: a program that is started when the words are read


def trust_refusal(name: str, text: str | None) -> str | None:
    """Why the config file may not be trusted as it stands; None when it may. None for `text`: it cannot be read."""
    if text is None:
        return "it is no regular text file"
    if name.endswith(".toml"):
        return _toml(text)
    return next((reason for line in text.splitlines() if (reason := _version_line(line)) is not None), None)


def task_file_refusal(text: str | None) -> str | None:
    """Why a file of mise's task folders keeps configs from being trusted; None when it does not.

    Only lines that speak to mise count: mise reads them, and runs templates in them, when it lists the tasks.
    """
    if text is None:
        return "it is no regular text file"
    for line in text.splitlines():
        word = line.lower()
        if ("mise" in word and _TEMPLATE.search(line)) or ("usage" in word and _MOUNT.search(word)):
            return "its head has a template or starts a program"
    return None


def _toml(text: str) -> str | None:
    try:
        document = tomllib.loads(text)
        return _document(document)
    except ValueError:  # of the form, and of a number that is too long
        return "it is no valid TOML"
    except RecursionError:
        return "it is nested too deeply"


def _document(document: Mapping[str, object]) -> str | None:
    other = next((key for key in document if key not in _TABLES), None)
    if other is not None:
        return f"it has `{other[:40]}`, and only tools, tasks, env and vars are plain"
    tasks = document.get("tasks", {})
    rest = {key: value for key, value in document.items() if key != "tasks"}
    if any(_TEMPLATE.search(word) for word in _strings(rest)):
        return "it has a template"
    if not isinstance(tasks, dict):
        return "its tasks are no table"
    found = (_task(name, task) for name, task in tasks.items())
    refused = _env(document.get("env", {})) or _plain(document.get("vars", {}), "vars")
    refused = refused or _tools(document.get("tools", {}))
    return refused or next((reason for reason in found if reason is not None), None)


def _task(name: str, task: object) -> str | None:
    table = task if isinstance(task, dict) else {"run": task}
    other = next((key for key in table if key not in _TASK_KEYS), None)
    if other is not None:
        return f"its task {name[:40]!r} has `{other[:40]}`"
    run = [_PLACEHOLDER.sub("", line) for line in _strings(table.get("run"))]
    others = [name, *_strings({key: value for key, value in table.items() if key != "run"})]
    if any(_TEMPLATE.search(word) for word in (*run, *others)):
        return f"its task {name[:40]!r} has a template"
    if any(_REMOTE.search(word) for word in _strings(table.get("file"))):
        return f"its task {name[:40]!r} is fetched from elsewhere"
    if any(_MOUNT.search(word) for word in _strings(table.get("usage"))):
        return f"the usage of its task {name[:40]!r} starts a program"
    return _env(table.get("env", {})) or _tools(table.get("tools", {}))


def _plain(table: object, what: str) -> str | None:
    if not isinstance(table, dict):
        return f"its {what} is no table"
    odd = next((name for name, value in table.items() if name == "_" or not isinstance(value, str | int | float)), None)
    return None if odd is None else f"its {what} has `{odd[:40]}`, which is more than a plain value"


def _env(table: object) -> str | None:
    refused = _plain(table, "env")
    if refused is not None or not isinstance(table, dict):
        return refused
    found = ((name, env_refusal(name, str(value))) for name, value in table.items())
    return next((f"its env sets `{name[:40]}`: {reason}" for name, reason in found if reason is not None), None)


def _tools(table: object) -> str | None:
    if not isinstance(table, dict):
        return "its tools are no table"
    for tool, version in table.items():
        versions = version if isinstance(version, list) else [version]
        if not _plain_tool(tool, versions):
            return f"its tool {tool[:40]!r} is more than a name and versions"
    return None


def _version_line(line: str) -> str | None:
    words = line.partition("#")[0].split()
    if not words or _plain_tool(words[0], words[1:]):
        return None
    return f"its line {line[:40]!r} is more than a tool and versions"


def _plain_tool(name: str, versions: Sequence[object]) -> bool:
    plain = all(isinstance(version, str) and _VERSION.fullmatch(version) for version in versions)
    return plain and _TOOL.fullmatch(name) is not None and "//" not in name


def _strings(value: object) -> Iterator[str]:
    """Every string in the value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
