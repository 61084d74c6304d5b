"""Options and settings of git that name a program, a shell line, an output file or a place outside are refused."""

from __future__ import annotations

import shlex

import pytest

from runner.model.errors import ErrorCode
from runner.policy.git_alias import split_alias
from tests.support.argv_trees import FakeTree, code_of, decide

BIN = ErrorCode.BIN_NOT_ALLOWLISTED


@pytest.mark.parametrize(
    "line",
    [
        "git fetch '--upload-pack=touch /tmp/pwn;git-upload-pack' .",
        "git fetch --upload-pack x .",
        "git fetch --upl=x .",
        "git ls-remote --exec=x .",
        "git ls-remote --upload-pack=x .",
        "git fetch-pack --exec=x . main",
        "git pull --upload-pack=x",
        "git clone -u x . y",
        "git clone -ux . y",
        "git clone --template=x . y",
        "git init --template=x",
        "git init --temp x y",
        "git archive --exec=x --remote=. HEAD",
        "git archive -o x.tar HEAD",
        "git archive --output=x.tar HEAD",
        "git grep '--open-files-in-pager=touch /tmp/pwn #' export",
        "git grep '-Otouch /tmp/pwn' export",
        "git grep -nO export",
        "git grep --open export",
        "git log -1 --output=src/app.mjs",
        "git log -1 --output src/app.mjs",
        "git diff --output=x",
        "git show --output=x",
        "git rev-list --output=x HEAD",
        "git shortlog -n --output=x HEAD",
        "git stash show --output=x",
        "git format-patch -o x HEAD~1",
        "git format-patch -ox HEAD~1",
        "git format-patch --output-dir=x HEAD~1",
        "git diff --ext-diff",
        "git log -p --ext-diff",
        "git fast-export --export-marks=x HEAD",
        "git read-tree --index-output=x HEAD",
        "git difftool -x cmd",
        "git difftool -ycmd -xcmd",
        "git difftool --extcmd=cmd",
        "git mergetool -t x",
        "git bisect run sh -c x",
        "git bisect run ./run.sh",
        "git submodule foreach ls",
        "git rebase -x ls HEAD~1",
        "git rebase --exec=ls HEAD~1",
        "git filter-branch --tree-filter ls HEAD",
        "git merge-index /tmp/x -a",
        "git shell -c x",
        "git daemon",
        "git instaweb",
        "git help -w git",
        "git help --web git",
        "git imap-send",
        "git send-email x",
        "git remote-ext origin 'sh -c x'",
        "git fetch 'ext::sh -c x'",
        "git clone ext::x y",
        "git remote add e ext::x",
        "git archive --remote=ext::x HEAD",
        "git submodule add EXT::x",
        "git /../scratch/x",
        "git ../scratch/x",
        "git --exec-path=/workspace/scratch zz",
        "git --exec-path=/workspace/scratch status",
        "git config --edit",
        "git config -e",
        "git config edit",
        "git -c alias.x='!ls' x",
        "git config alias.x '!ls'",
        "git config alias.x 'diff --ext-diff'",
        "git --config-env=alias.x=HOME x",
        "git config --rename-section foo filter.x",
        "git config --rename-section foo alias",
        "git -c submodule.x.update='!ls' submodule update",
        "git -c core.worktree=/etc status",
        "git config remote.origin.url ext::x",
        "git config core.editor vim --global",
        "git config --system core.pager 'sh -c x'",
        "git -c core.pager='sh -c x' log",
        "pnpm git -c core.fsmonitor=x status",
    ],
)
def test_program_valued_word_is_refused(line: str) -> None:
    assert code_of(shlex.split(line)) is BIN


@pytest.mark.parametrize(
    "key",
    [
        "core.fsmonitor",
        "CORE.FSMonitor",
        "core.sshCommand",
        "core.editor",
        "core.pager",
        "core.gitProxy",
        "core.askPass",
        "sequence.editor",
        "pager.log",
        "interactive.diffFilter",
        "diff.external",
        "diff.x.command",
        "diff.a.b.textconv",
        "filter.x.clean",
        "filter.X.SMUDGE",
        "filter.x.process",
        "merge.x.driver",
        "mergetool.x.cmd",
        "difftool.x.cmd",
        "gpg.program",
        "gpg.ssh.program",
        "gpg.ssh.defaultKeyCommand",
        "credential.helper",
        "credential.https://h.helper",
        "uploadpack.packObjectsHook",
        "trailer.x.command",
        "trailer.x.cmd",
        "sendemail.smtpServer",
        "protocol.ext.allow",
        "protocol.allow",
        "remote.origin.uploadpack",
        "remote.origin.receivepack",
        "remote.origin.vcs",
        "url.x.insteadOf",
        "url.x.pushInsteadOf",
        "init.templateDir",
        "man.x.cmd",
        "browser.x.cmd",
        "tar.x.command",
        "imap.tunnel",
    ],
)
def test_program_valued_setting_is_refused_by_every_route(key: str) -> None:
    value = "touch /tmp/pwn; true"
    section, _, rest = key.partition(".")
    assert code_of(["git", "-c", f"{key}={value}", "status"]) is BIN
    assert code_of(["git", f"--config-env={key}=HOME", "status"]) is BIN
    assert code_of(["git", "config", "--global", key, value]) is BIN
    assert code_of(["git", "config", "--add", f"{section.upper()}.{rest}", value]) is BIN
    assert code_of(["git", "clone", "-c", f"{key}={value}", ".", "x"]) is BIN
    assert code_of(["git", "config", "--get", key]) is None


@pytest.mark.parametrize(
    "line",
    [
        "git --work-tree=/etc add passwd",
        "git --work-tree /etc add passwd",
        "git --git-dir=/tmp/x log",
        "git -C /tmp status",
        "git -C .. status",
        "git -C src/../.. status",
        "git --work-tree=../x status",
        "git -C //etc status",
    ],
)
def test_git_may_not_be_led_out_of_the_workspace(line: str) -> None:
    assert code_of(shlex.split(line)) is ErrorCode.PATH_OUTSIDE_WORKSPACE


def test_repository_shaped_folder_made_by_the_run_is_not_used() -> None:
    tree = FakeTree(created={"scratch/fake/HEAD": "", "scratch/fake/config": ""})
    assert code_of(["git", "-C", "scratch/fake", "status"], tree) is ErrorCode.SCRATCH_EXECUTION_REFUSED
    assert code_of(["git", "--git-dir=scratch/fake", "log"], tree) is ErrorCode.SCRATCH_EXECUTION_REFUSED


@pytest.mark.parametrize(
    "line",
    [
        "git log '--grep=$(touch /tmp/pwn); touch /tmp/pwn && x' -1",
        "git log -1 -- --output=x",
        "git log --grep --output=x",
        "git commit -m --output=x",
        "git log --output-indicator-new=x",
        "git ls-files -o",
        "git ls-files --others --exclude-standard",
        "git grep -o x",
        "git grep -e -O",
        "git grep --or -e x",
        "git fetch -u origin",
        "git diff -O order",
        "git diff --textconv",
        "git show --no-ext-diff",
        "git -p log",
        "git --paginate log",
        "git -c core.pager=cat log",
        "git -c core.pager= log",
        "git -c core.editor=true commit --amend",
        "git -c pager.log=false log",
        "git -c core.fsmonitor=false status",
        "git -c credential.helper= fetch",
        "git -c protocol.file.allow=always submodule update",
        "git -c protocol.version=2 fetch",
        "git -c user.name=x -c user.email=y commit -m z",
        "git -c commit.gpgsign=false commit -m z",
        "git -C src status",
        "git -C /workspace/src status",
        "git -C '' status",
        "git --git-dir=.git --work-tree=. status",
        "git worktree add scratch/wt",
        "git submodule status",
        "git submodule update --init",
        "git bisect start",
        "git bisect run pnpm exec vitest",
        "git filter-branch --subdirectory-filter a HEAD",
        "git merge-index -q git-merge-one-file -a",
        "git commit --template=x",
        "git clone --no-checkout . y",
        "git bundle create x.bundle HEAD",
        "git commit -m 'ext::x'",
        "git config user.name x",
        "git config --bool core.bare false",
        "git config -f .gitmodules submodule.x.path y",
        "git rebase -i HEAD~1",
        "git commit",
        "git zz",
        "git",
        "git -c",
        "git -C",
        "git commit-tree HEAD^{tree} -m x",
    ],
)
def test_harmless_use_is_not_over_blocked(line: str) -> None:
    decision = decide(shlex.split(line))
    assert decision.allowed, decision


def test_refusal_names_the_option_and_a_way_out() -> None:
    decision = decide(["git", "fetch", "--upload-pack=x", "."])
    assert "--upload-pack" in decision.message
    assert decision.rule == "git.option.program"
    assert decision.hint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("log -1", ["log", "-1"]),
        ("  log\t'a b' ", ["log", "a b"]),
        ('"pu\\sh"', ["push"]),
        ("'a\\b'", ["a\\b"]),
        ("a\\ b", ["a b"]),
        ("''", [""]),
        ("aXb X", ["aXb", "X"]),
        ("'open", None),
        ("end\\", None),
        ("", []),
    ],
)
def test_alias_is_split_as_git_splits_it(text: str, words: list[str] | None) -> None:
    assert split_alias(text) == words
