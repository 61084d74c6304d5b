"""What starts the gate's git in its room: the secret goes from standard input to git, and nowhere else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "images" / "gate" / "gate-git.sh"
TOKEN = "tok-FAKE-1234"
KEY = ["-----BEGIN OPENSSH PRIVATE KEY-----", "b3BlbnNzaC1rZXktdjEAAAAA", "-----END OPENSSH PRIVATE KEY-----"]


def run(tmp_path: Path, git: str, *arguments: str, stdin: str = "", files: str = "unlimited") -> tuple[int, str]:
    """Exit and output of the script, `git` being a shell script."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{git}\n")
    (folder / "git").chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", str(SCRIPT), files, *arguments],
        input=stdin,
        env={"PATH": f"{folder}:/usr/bin:/bin", "GATE_SSH": "ssh -F none"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_without_a_secret_all_of_standard_input_is_gits(tmp_path: Path) -> None:
    assert run(tmp_path, 'echo "$@"; cat', "none", "a", "b c", stdin="first\nsecond") == (0, "a b c\nfirst\nsecond")


def test_a_token_is_answered_from_a_pipe_and_the_rest_of_standard_input_is_gits(tmp_path: Path) -> None:
    look = "cat; tr '\\0' '\\n' </proc/$$/environ; tr '\\0' ' ' </proc/$$/cmdline"
    git = f"cat <&9; readlink /proc/$$/fd/9 | cut -d: -f1; {look}"
    code, said = run(tmp_path, git, "token", "fetch", stdin=f"ada\n{TOKEN}\npack\n")
    answer, _, rest = said.partition("pipe\n")

    assert (code, answer) == (0, f"username=ada\npassword={TOKEN}\n")
    assert rest.startswith("pack\n")
    assert TOKEN not in rest


def test_a_token_with_everything_that_a_shell_acts_on_arrives_as_it_is(tmp_path: Path) -> None:
    hostile = "$(touch pwn)`touch pwn`\\n'\"*~!{a,b}"
    _, said = run(tmp_path, "cat <&9", "token", stdin=f"ada\n{hostile}\n")

    assert said == f"username=ada\npassword={hostile}\n"
    assert not (tmp_path / "pwn").exists()


def test_a_key_is_a_file_for_its_owner_while_git_runs_and_gone_after(tmp_path: Path) -> None:
    git = 'file=${GIT_SSH_COMMAND##*IdentityFile=}; echo "$file"; stat -c %a "$file"; cat "$file"; cat; exit 7'
    stdin = f"{len(KEY)}\n" + "\n".join(KEY) + "\npack\n"
    code, said = run(tmp_path, git, "key", "fetch", stdin=stdin)
    file, mode, *rest = said.splitlines()

    assert (code, mode, rest) == (7, "600", [*KEY, "pack"])
    assert not Path(file).exists()


def test_a_file_over_its_bound_ends_git(tmp_path: Path) -> None:
    code, _ = run(tmp_path, "exec dd if=/dev/zero of=big bs=1024 count=64 2>/dev/null", "none", files="16")

    assert code != 0
    assert (tmp_path / "big").stat().st_size <= 16 * 1024


@pytest.mark.parametrize("handover", ["", "other", "-x"])
def test_an_unknown_handover_starts_nothing(tmp_path: Path, handover: str) -> None:
    assert run(tmp_path, "echo started", handover) == (64, "")
