"""The runs of a soak: what a run does, and how it must have ended. Pure tables; `soak.__main__` carries them out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.policy.load import LoadedPolicy, parse_policy

__all__ = ["HOSTILE", "NORMAL", "Kind", "kind_of", "policy_of"]

Answer = Mapping[str, Any]
Call = tuple[str, dict[str, Any]]

_POLICY = """
version: 1
writeAllow: ["src/**", "notes/**"]
rewriteAllow: ["src/**"]
setup: "off"
bindings: [{git: {host: file}}]
commit: {name: "Soak", email: "soak@localhost"}
limits: {runSeconds: 300, commandSeconds: SECONDS, memoryMiB: 192, workspaceMiB: 48, pids: 64, fileMiB: 16,
  outputKiB: 64}
"""
"""Tight, so that the hostile runs meet their limits soon."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of run. `calls` are made for the run's number; `held` looks at their answers."""

    name: str
    calls: Callable[[int], Sequence[Call]]
    held: Callable[[Sequence[Answer]], bool]
    status: str = "completed"
    command_seconds: int = 60  # so long that a busy host is no reason to meet this limit before the one that is meant


def kind_of(number: int) -> Kind:
    """The kind of the run with this number: every third is a hostile one, and all of a list have their turn."""
    if number % 3 == 2:
        return HOSTILE[number // 3 % len(HOSTILE)]
    return NORMAL[(number - number // 3) % len(NORMAL)]


def policy_of(kind: Kind) -> LoadedPolicy:
    """The policy of runs of this kind."""
    return parse_policy(_POLICY.replace("SECONDS", str(kind.command_seconds)).encode(), source="soak")


def _node(script: str) -> Call:
    return "workspace.run_command", {"argv": ["node", "-e", script]}


_WELL: Call = ("workspace.run_command", {"argv": ["node", "-p", "6*7"]})


def _is_well(answer: Answer) -> bool:
    return bool(answer["ok"]) and answer["result"]["stdout"] == "42\n"


def _all_ok(answers: Sequence[Answer]) -> bool:
    return all(answer["ok"] for answer in answers)


def _hit(limit: str) -> Callable[[Sequence[Answer]], bool]:
    """The first command met the limit, and the one after it ran."""

    def held(answers: Sequence[Answer]) -> bool:
        met = answers[0]["ok"] and any(
            said.startswith(f"limits.{limit} ") for said in answers[0]["result"]["limits_hit"]
        )
        return met and _is_well(answers[-1])

    return held


def _refused(code: str) -> Callable[[Sequence[Answer]], bool]:
    return lambda answers: all(not answer["ok"] and answer["error"]["code"] == code for answer in answers)


NORMAL: Sequence[Kind] = (
    Kind(
        "reads",
        lambda _: [
            ("workspace.list_dir", {"path": "."}),
            ("workspace.read_file", {"path": "README.md"}),
            ("workspace.search", {"pattern": "export"}),
        ],
        _all_ok,
    ),
    Kind(
        "works",
        lambda number: [
            ("workspace.write_file", {"path": "notes/n.md", "content": f"{number}\n" * 1000}),
            _WELL,
            ("git", {"args": "status --short"}),
        ],
        _all_ok,
    ),
    Kind(
        "pushes",
        lambda number: [
            ("git", {"args": f"switch -c soak-{number}"}),
            ("workspace.write_file", {"path": "notes/n.md", "content": f"{number}\n"}),
            ("workspace.git_commit", {"message": f"Note {number}"}),
            ("workspace.git_push", {}),
        ],
        _all_ok,
    ),
)

HOSTILE: Sequence[Kind] = (
    Kind("never ends", lambda _: [_node("for(;;);"), _WELL], _hit("commandSeconds"), command_seconds=3),
    Kind("eats memory", lambda _: [_node("const a=[];for(;;)a.push(Buffer.alloc(1<<24,1))"), _WELL], _hit("memoryMiB")),
    Kind(
        "forks",
        lambda _: [
            _node(
                "for(let i=0;i<99;i++)require('child_process').spawn('sleep',['60'],{stdio:'ignore',detached:true})"
                ".on('error',()=>process.exit())"
            ),
            _WELL,
        ],
        _hit("pids"),
    ),
    Kind(
        "fills the disk",
        lambda _: [
            _node(
                "const f=require('fs');try{for(let i=0;;i++)f.writeFileSync('src/f'+i,Buffer.alloc(8<<20,1))}catch{}"
            ),
            _node("const f=require('fs');for(const n of f.readdirSync('src'))if(n[0]=='f')f.unlinkSync('src/'+n)"),
            _WELL,
        ],
        _hit("workspaceMiB"),
    ),
    Kind("floods", lambda _: [_node("process.stdout.write('x'.repeat(1<<20))"), _WELL], _hit("outputKiB")),
    Kind(
        "leads a link out",
        lambda _: [
            _node("require('fs').symlinkSync('/etc/passwd','src/out')"),
            ("workspace.write_file", {"path": "src/out", "content": "x"}),
        ],
        lambda answers: _refused("workspace_write_not_allowed")(answers[1:]),
    ),
    Kind(
        "pushes by itself",
        lambda _: [("git", {"args": "push origin HEAD"}), ("git", {"args": "-c alias.x=push x origin HEAD"})],
        _refused("git_push_via_run_command"),
    ),
    Kind("kills its helper", lambda _: [_node("process.kill(-1,'SIGKILL')"), _WELL], _refused("run_ended"), "lost"),
)
