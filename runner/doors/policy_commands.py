"""`runner policy`: check a policy, run its examples, ask it about a call, show it whole.

Nothing here starts a run or touches a repository. Exit codes: 0; 1 where an example fails, or two policies differ; 2
for what cannot be used. `diff` and `replay` are in `policy_replay`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
import yaml

from runner.doors import render
from runner.doors.asking import loaded_policy
from runner.doors.calls import MAX_LINE_BYTES, Call, parse_calls
from runner.doors.local_tree import LocalTree
from runner.doors.narrow_option import Narrow
from runner.doors.policy_calls import explain_call
from runner.doors.policy_replay import diff, replay
from runner.model.errors import ExitCode, PolicyInvalid, ToolError, UsageError
from runner.policy.bounded_yaml import MAX_BYTES
from runner.policy.effective import effective
from runner.policy.examples import Example, parse_examples
from runner.policy.explain import PushFacts
from runner.policy.facts_file import DescribedTree, Fact, FactState
from runner.policy.lint import surprises
from runner.policy.load import LoadedPolicy
from runner.policy.presets import EXAMPLES_SUFFIX
from runner.policy.steps import Explanation

__all__ = ["policy_app"]

FAILED = 1  # an example that does not hold; diff(1) ends so where files differ

policy_app = typer.Typer(help="Check, test, explain, show and compare policies.", no_args_is_help=True)
policy_app.command("diff")(diff)
policy_app.command("replay")(replay)

Policy = Annotated[str, typer.Argument(metavar="FILE|PRESET", help="A policy file, or the name of a preset.")]
Output = Annotated[Literal["table", "json", "jsonl"], typer.Option("-o", "--output", help="How to print it.")]


@policy_app.command("lint")
def lint(
    policy: Policy,
    narrow: Narrow = None,
    host_memory: Annotated[
        int | None, typer.Option("--host-memory", min=1, metavar="MIB", help="Memory of the host that will run it.")
    ] = None,
    output: Output = "table",
) -> None:
    """Say whether a policy can take effect, and what in it may not be meant; exit 2 when it cannot.

    With --narrow also whether each file only takes away from it.

    Example: runner policy lint policy.yml --host-memory 8192
    """
    try:
        loaded = loaded_policy(policy, narrow)
    except PolicyInvalid as error:
        faults = list(error.faults) or [f"{error.message}. {error.hint}"]
        if output != "table":
            render.json_line({"ok": False, "faults": faults})
        else:
            for fault in faults:
                _line(fault)
        raise typer.Exit(int(ExitCode.USAGE)) from None
    found = surprises(loaded.policy, host_memory_mib=host_memory)
    if output != "table":
        warnings = [{"key": surprise.key, "text": surprise.text} for surprise in found]
        render.json_line({"ok": True, "source": loaded.name, "sha256": loaded.digest, "warnings": warnings})
        return
    _line(f"ok: {loaded.name} (sha256 {loaded.digest})")
    _line(_summary(loaded))
    for surprise in found:
        _line(f"warning: field `{surprise.key}`: {surprise.text}")


@policy_app.command("test")
def test(
    policy: Policy,
    examples: Annotated[
        Path | None, typer.Option("--examples", help="The examples; NAME.test.yml beside NAME.yml when left out.")
    ] = None,
    narrow: Narrow = None,
    output: Output = "table",
) -> None:
    """Run a policy's own examples; exit 1 when one does not hold. With --narrow those of the last file.

    Example: runner policy test default
    """
    loaded = loaded_policy(policy, narrow)
    rows = [_tried(loaded, example) for example in _examples(loaded, examples)]
    failed = [row for row in rows if not row["holds"]]
    if output == "json":
        render.json_line(rows)
    elif output == "jsonl":
        for row in rows:
            render.json_line(row)
    else:
        columns = ("", "call", "expected", "got", "rule", "why")
        render.table(columns, [["ok" if r["holds"] else "FAIL", *(str(r[name]) for name in columns[1:])] for r in rows])
        _line(f"{len(rows) - len(failed)} of {len(rows)} examples hold")
    if failed:
        raise typer.Exit(FAILED)


@policy_app.command("explain")
def explain(
    call: Annotated[str, typer.Argument(metavar="CALL|-", help="A call as in a calls file; - reads standard input.")],
    policy: Annotated[str, typer.Option("--policy", help="A policy file, or the name of a preset.")] = "default",
    narrow: Narrow = None,
    repo: Annotated[Path | None, typer.Option("--repo", help="A working tree to take facts from; it is only read.")] = (
        None
    ),
    fact: Annotated[
        list[str] | None,
        typer.Option("--fact", metavar="PATH=STATE", help="existed, changed, created, link or missing; repeatable."),
    ] = None,
    branch: Annotated[str, typer.Option("--branch", help="The branch of a push.")] = PushFacts().branch,
    default_branch: Annotated[str, typer.Option("--default-branch", help="The remote's.")] = PushFacts().default_branch,
    output: Output = "table",
) -> None:
    """Say what a policy says to a call, step by step: the rule, its reason, and what to do instead.

    For git_commit and git_push the facts are what the commit would change.

    Example: runner policy explain --policy read-only '{"tool": "git", "arguments": {"args": "push"}}'
    """
    loaded = loaded_policy(policy, narrow)
    asked = _call(call)
    with _tree(repo, fact or []) as tree:
        explanation = explain_call(loaded.policy, asked, tree, PushFacts(branch, default_branch))
    if output != "table":
        told = {"policy": loaded.name, "sha256": loaded.digest, "tool": asked.tool}
        render.json_line({**told, **explanation.as_json()})
        return
    _print_explanation(explanation)


@policy_app.command("show")
def show(
    policy: Policy,
    narrow: Narrow = None,
    output: Annotated[
        Literal["yaml", "json", "jsonl"], typer.Option("-o", "--output", help="How to print it.")
    ] = "yaml",
) -> None:
    """Show the whole policy as it takes effect: every default, what may be written, and what kind of bound each key is.

    Example: runner policy show node-app
    """
    loaded = loaded_policy(policy, narrow)
    told: dict[str, Any] = {"source": loaded.name, "sha256": loaded.digest, **effective(loaded.policy)}
    if loaded.narrowed_by:
        told["narrowedBy"] = [
            {"source": file.source, "sha256": file.digest, "keys": dict(file.keys)} for file in loaded.narrowed_by
        ]
    if output != "yaml":
        render.json_line(told)
        return
    # ASCII by escapes, so that nothing in a policy acts on the terminal.
    sys.stdout.write(yaml.safe_dump(told, sort_keys=False, allow_unicode=False, width=110))


def _summary(loaded: LoadedPolicy) -> str:
    policy = loaded.policy
    reach = ", ".join(policy.network.run.allow) or "none"
    narrowed = "; and of all that, only what is left by the narrowing" if policy.narrower else ""
    return (
        f"writeAllow {len(policy.write_allow)}, rewriteAllow {len(policy.rewritable)}, "
        f"writeDeny {len(policy.write_deny)}, appendOnly {len(policy.append_only)} patterns; "
        f"bins {', '.join(policy.bins) or 'none'}; network of the run: {reach}; "
        f"pushes to {', '.join(policy.push.branches) or 'nothing'}{narrowed}"
    )


def _examples(loaded: LoadedPolicy, file: Path | None) -> tuple[Example, ...]:
    source = Path(loaded.narrowed_by[-1].source if loaded.narrowed_by else loaded.source)
    path = file or source.with_name(source.stem + EXAMPLES_SUFFIX)
    try:
        if not path.is_file():
            raise UsageError(f"there is no {path}", hint="Write examples there, or name a file with --examples.")
        with path.open("rb") as stream:
            return parse_examples(stream.read(MAX_BYTES + 1), source=str(path))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}", hint="Name a readable file of examples.") from error


def _tried(loaded: LoadedPolicy, example: Example) -> dict[str, Any]:
    call = Call(None, example.call.tool, example.call.arguments)
    explanation = explain_call(loaded.policy, call, _described(example.told()), PushFacts(example.branch))
    return {
        "call": _named(call),
        "expected": example.expect,
        "got": explanation.outcome,
        "rule": explanation.decision.rule,
        "why": example.why,
        "holds": explanation.outcome == example.expect,
    }


def _named(call: Call) -> str:
    said = (call.arguments.get(name) for name in ("path", "argv", "args", "pattern"))
    about = next((value for value in said if value is not None), "")
    words = " ".join(str(word) for word in about) if isinstance(about, list) else str(about)
    return f"{call.tool.removeprefix('workspace.')} {words}".strip()


def _call(said: str) -> Call:
    line = sys.stdin.buffer.readline(MAX_LINE_BYTES + 1) if said == "-" else said.encode("utf-8", "surrogateescape")
    call = next(parse_calls([line.replace(b"\n", b" ")]), None)
    if call is None or (call.error is not None and not call.tool):
        reason = "it is empty" if call is None or call.error is None else call.error.message
        raise UsageError(f"the call cannot be read: {reason}", hint='Give {"tool": …, "arguments": {…}}.')
    return call


@contextmanager
def _tree(repo: Path | None, told: list[str]) -> Iterator[DescribedTree]:
    facts = dict(_fact(text) for text in told)
    if repo is None:
        yield _described(facts)
        return
    local = LocalTree(repo)
    try:
        yield _described(facts, local)
    finally:
        local.close()


def _described(facts: dict[str, Fact] | Any, beneath: LocalTree | None = None) -> DescribedTree:
    try:
        return DescribedTree(facts, beneath)
    except ToolError as error:
        raise UsageError(f"a fact names no path of a workspace: {error.message}", hint=error.hint or "") from error


def _fact(text: str) -> tuple[str, Fact]:
    path, _, state = text.rpartition("=")
    if not path or state not in set(FactState):
        raise UsageError(
            f"--fact {text[:100]} cannot be read", hint=f"Give PATH=STATE, STATE one of {', '.join(FactState)}."
        )
    return path, Fact(FactState(state))


def _print_explanation(explanation: Explanation) -> None:
    for number, step in enumerate(explanation.steps, start=1):
        _line(f"{number:>2}. {step.name}: {step.found}")
    decision = explanation.decision
    verdict = "allowed" if decision.allowed else f"refused with {decision.code}"
    _line(f"{verdict} by rule {decision.rule}")
    if decision.message:
        _line(f"reason: {decision.message}")
    if decision.hint:
        _line(f"instead: {decision.hint}")


def _line(text: str) -> None:
    sys.stdout.write(render.visible(text) + "\n")
