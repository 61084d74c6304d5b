from __future__ import annotations

import base64
import os
import subprocess
from pathlib import Path, PurePosixPath

import pytest

from runner.gate.address import resolve_address
from runner.gate.credentials import Credential, CredentialKind, CredentialSource
from runner.gate.host_git import HostGit
from runner.model.errors import RepositoryUnavailable

TOKEN = "tok-FAKE-1234"
ADDRESS = resolve_address("https://code.example.com:8443/o/n.git", cwd=PurePosixPath("/"))


def file_source(path: Path) -> CredentialSource:
    return CredentialSource(CredentialKind.FILE, str(path))


def token_file(folder: Path, content: str = TOKEN + "\n", mode: int = 0o600) -> Path:
    path = folder / "token"
    path.write_text(content)
    path.chmod(mode)
    return path


def test_a_token_is_read_from_a_private_file(tmp_path: Path) -> None:
    assert file_source(token_file(tmp_path)).read().token == TOKEN


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644, 0o601])
def test_a_file_that_others_can_touch_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(RepositoryUnavailable) as refused:
        file_source(token_file(tmp_path, mode=mode)).read()

    assert refused.value.code == "credential_unavailable"
    assert "chmod" in refused.value.hint


@pytest.mark.parametrize("content", ["", "\n", "two\nlines\n", "with space\n", "nul\0\n", "ünicode\n", "x" * 9000])
def test_a_file_that_holds_no_token_is_refused_without_showing_it(tmp_path: Path, content: str) -> None:
    with pytest.raises(RepositoryUnavailable) as refused:
        file_source(token_file(tmp_path, content)).read()

    assert refused.value.code == "credential_unavailable"
    assert "with space" not in refused.value.message


def test_a_fifo_in_the_token_files_place_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "token", 0o600)

    with pytest.raises(RepositoryUnavailable) as refused:
        file_source(tmp_path / "token").read()

    assert refused.value.code == "credential_unavailable"


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RepositoryUnavailable) as refused:
        file_source(tmp_path / "none").read()

    assert refused.value.code == "credential_unavailable"


def test_a_token_is_read_from_the_environment_that_was_handed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_HERE", "not-this-one")
    source = CredentialSource(CredentialKind.ENV, "TOKEN_HERE", environment={"TOKEN_HERE": TOKEN})

    assert source.read().token == TOKEN
    with pytest.raises(RepositoryUnavailable):
        CredentialSource(CredentialKind.ENV, "TOKEN_HERE").read()


def test_a_token_is_what_a_command_prints() -> None:
    source = CredentialSource(CredentialKind.COMMAND, ("/bin/echo", TOKEN), user="ada")

    assert source.read() == Credential("ada", TOKEN)


@pytest.mark.parametrize(
    "argv", [("/bin/false",), ("/no/such/program",), ("/bin/sh", "-c", f"echo {TOKEN} >&2; exit 3")]
)
def test_a_command_that_fails_is_refused_without_showing_its_output(argv: tuple[str, ...]) -> None:
    with pytest.raises(RepositoryUnavailable) as refused:
        CredentialSource(CredentialKind.COMMAND, argv).read()

    assert refused.value.code == "credential_unavailable"
    assert TOKEN not in refused.value.message


def test_a_user_name_with_a_colon_is_refused(tmp_path: Path) -> None:
    source = CredentialSource(CredentialKind.FILE, str(token_file(tmp_path)), user="a:b")

    with pytest.raises(RepositoryUnavailable):
        source.read()


def filled(tmp_path: Path, question: str) -> str:
    """What git's own credential machinery answers with the handover's options."""
    with Credential("ada", TOKEN).handover(ADDRESS) as handover:
        assert TOKEN not in " ".join(handover.options)
        done = subprocess.run(
            ["git", *handover.options, "credential", "fill"],
            input=question.encode(),
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(tmp_path),
                "GIT_TERMINAL_PROMPT": "0",
                "GIT_ASKPASS": "/bin/false",
            },
            pass_fds=[handover.descriptor],
            capture_output=True,
            check=False,
        )
    return done.stdout.decode()


def test_git_gets_the_token_for_its_own_host(tmp_path: Path) -> None:
    assert f"password={TOKEN}" in filled(tmp_path, "protocol=https\nhost=code.example.com:8443\n\n")


@pytest.mark.parametrize(
    "question",
    [
        "protocol=https\nhost=code.example.com\n\n",
        "protocol=https\nhost=evil.example:8443\n\n",
        "protocol=http\nhost=code.example.com:8443\n\n",
        "protocol=https\nhost=code.example.com:8443.evil.example\n\n",
    ],
)
def test_git_gets_no_token_for_another_host(tmp_path: Path, question: str) -> None:
    assert TOKEN not in filled(tmp_path, question)


def test_the_token_is_in_no_argv_and_no_environment_of_git(tmp_path: Path) -> None:
    git = HostGit(tmp_path / "state")
    shown = git.run(
        ["-c", "alias.look=!tr '\\0' '\\n' < /proc/$PPID/cmdline; env", "look"],
        address=ADDRESS,
        credential=Credential("ada", TOKEN),
    )

    assert b"credential.https://code.example.com:8443.helper" in shown.stdout
    assert TOKEN.encode() not in shown.stdout


def test_a_redactor_removes_every_form_of_the_token() -> None:
    credential = Credential("ada", "s3/cr+t")
    basic = base64.b64encode(b"ada:s3/cr+t").decode()
    text = credential.redactor().scrub(f"https://ada:s3%2Fcr%2Bt@h/ s3/cr+t Basic {basic}")

    assert text == "https://ada:***@h/ *** Basic ***"


def test_a_credential_does_not_show_its_token_when_printed(tmp_path: Path) -> None:
    assert TOKEN not in repr(Credential("ada", TOKEN))
    assert TOKEN not in repr(CredentialSource(CredentialKind.ENV, "T", environment={"T": TOKEN}))


def test_what_is_read_is_told_to_be_hidden_in_each_of_its_forms(tmp_path: Path) -> None:
    told: list[str] = []
    file = tmp_path / "token"
    file.touch(mode=0o600)
    file.write_text("tok/FAKE-1234\n")
    source = CredentialSource(CredentialKind.FILE, str(file), user="ada", on_read=lambda found: told.extend(found))
    source.read_for(resolve_address("https://code.example.com/a.git", cwd=PurePosixPath("/"), bindings=[]))
    assert told == ["tok/FAKE-1234", "tok%2FFAKE-1234", base64.b64encode(b"ada:tok/FAKE-1234").decode()]
