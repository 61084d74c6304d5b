from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from runner.gate.credentials import CredentialKind, CredentialSource
from runner.gate.fetch import Fetched, FetchLimits, fetch
from runner.gate.outgoing import receive
from runner.gate.push import PushOutcome, PushStatus, push
from runner.gate.remote_now import remote_now
from runner.model.errors import ErrorCode, RepositoryUnavailable, ToolError
from tests.support.certificates import Certificates, make_certificates
from tests.support.gate import Gate, address_of
from tests.support.repos import R0, build_r0, git
from tests.support.smart_http import SmartHttp, smart_http

TOKEN = "tok-FAKE-1234"


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def r0(tmp_path: Path) -> R0:
    return build_r0(tmp_path / "served" / "work")


@pytest.fixture
def server(r0: R0, certificates: Certificates) -> Iterator[SmartHttp]:
    with smart_http(r0.remote.parent, token=TOKEN, certificates=certificates) as running:
        yield running


@pytest.fixture
def gate(open_gate: Callable[..., Gate], certificates: Certificates) -> Gate:
    return open_gate(certificates.ca_file)


def token_source(token: str = TOKEN) -> CredentialSource:
    return CredentialSource(CredentialKind.ENV, "T", environment={"T": token})


def fetched_from(gate: Gate, url: str, token: str | None = TOKEN, ref: str | None = "agent/x1") -> Fetched:
    source = None if token is None else token_source(token)
    return fetch(gate.git, address_of(url), ref, gate.mirrors, credential=source, limits=FetchLimits(seconds=60))


def refusal(gate: Gate, url: str, token: str | None = TOKEN) -> RepositoryUnavailable:
    with pytest.raises(RepositoryUnavailable) as refused:
        fetched_from(gate, url, token)
    assert gate.kept() == []
    assert "\n" not in refused.value.message
    return refused.value


def pushed(gate: Gate, r0: R0, fetched: Fetched, token: str | None = TOKEN) -> PushOutcome:
    """A commit of the R0 clone, pushed through the gate."""
    git(r0.path, "commit", "--quiet", "--allow-empty", "-m", "more")
    commit = git(r0.path, "rev-parse", "HEAD")
    pack = r0.path.parent / "outgoing.pack"
    git(r0.path, "bundle", "create", "--quiet", str(pack), "origin/agent/x1..agent/x1")
    data = pack.read_bytes()
    source = None if token is None else token_source(token)
    outgoing = [data[data.index(b"PACK") :]]
    with receive(
        gate.git, fetched, outgoing, commit, now=fetched.refs, max_bytes=1 << 20, scratch=gate.scratch
    ) as quarantine:
        return push(gate.git, quarantine, fetched, "agent/x1", credential=source)


def test_a_default_branch_without_a_commit_is_not_told_over_http(gate: Gate, r0: R0, server: SmartHttp) -> None:
    git(r0.remote, "symbolic-ref", "HEAD", "refs/heads/first")

    assert fetched_from(gate, f"{server.url}/remote.git").default_branch is None


def test_what_the_remote_has_now_is_asked_with_the_token(gate: Gate, r0: R0, server: SmartHttp) -> None:
    fetched = fetched_from(gate, f"{server.url}/remote.git")
    git(r0.remote, "branch", "later", "main")
    git(r0.remote, "branch", "-D", "agent/x1")
    with pytest.raises(ToolError) as refused:
        remote_now(gate.git, fetched, credential=token_source("tok-WRONG"))

    assert refused.value.code is ErrorCode.GIT_PUSH_FAILED
    assert "tok-WRONG" not in f"{refused.value.message}{refused.value.details}"
    assert remote_now(gate.git, fetched, credential=token_source()) == {
        "refs/heads/main": r0.main,
        "refs/heads/later": r0.main,
    }


def test_a_repository_is_fetched_over_https_with_the_token(gate: Gate, r0: R0, server: SmartHttp) -> None:
    fetched = fetched_from(gate, f"{server.url}/remote.git")

    assert (fetched.base, fetched.default_branch) == (r0.base, "main")
    assert server.saw(TOKEN)


def test_the_token_is_in_no_file_of_the_gate(gate: Gate, server: SmartHttp, tmp_path: Path) -> None:
    fetched_from(gate, f"{server.url}/remote.git")
    files = [path for top in (gate.mirrors, tmp_path / "state") for path in top.rglob("*") if path.is_file()]

    assert files
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]


def test_a_commit_is_pushed_over_https_with_the_token(gate: Gate, r0: R0, server: SmartHttp) -> None:
    outcome = pushed(gate, r0, fetched_from(gate, f"{server.url}/remote.git"))

    assert outcome.pushed
    assert git(r0.remote, "rev-parse", "agent/x1") == git(r0.path, "rev-parse", "HEAD")


@pytest.mark.parametrize("token", ["tok-WRONG-99", None])
def test_a_wrong_or_missing_token_is_refused_and_not_shown(gate: Gate, server: SmartHttp, token: str | None) -> None:
    error = refusal(gate, f"{server.url}/remote.git", token)

    assert error.code == "credential_refused"
    assert "WRONG" not in error.message + error.hint


def test_a_push_with_a_wrong_token_is_refused_and_moves_nothing(gate: Gate, r0: R0, server: SmartHttp) -> None:
    outcome = pushed(gate, r0, fetched_from(gate, f"{server.url}/remote.git"), "tok-WRONG-99")

    assert outcome.status is PushStatus.REFUSED
    assert "WRONG" not in outcome.reason
    assert git(r0.remote, "rev-parse", "agent/x1") == r0.base


def test_a_push_whose_credential_cannot_be_read_says_so(gate: Gate, r0: R0, server: SmartHttp) -> None:
    with pytest.raises(ToolError) as refused:
        pushed(gate, r0, fetched_from(gate, f"{server.url}/remote.git"), "")

    assert refused.value.code is ErrorCode.PUSH_CREDENTIAL_MISSING


def test_a_certificate_of_an_unknown_authority_is_refused(
    open_gate: Callable[..., Gate], server: SmartHttp, tmp_path: Path
) -> None:
    other = make_certificates(tmp_path / "other", "other")
    gate = open_gate(other.ca_file, name="other")

    assert refusal(gate, f"{server.url}/remote.git").code == "tls_failed"
    assert not server.seen


def test_a_repository_that_the_server_does_not_have_is_not_found(gate: Gate, server: SmartHttp) -> None:
    assert refusal(gate, f"{server.url}/none.git").code == "repository_not_found"


def test_a_server_that_is_not_there_is_unreachable(gate: Gate) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    assert refusal(gate, f"https://127.0.0.1:{port}/r.git").code == "repository_unreachable"


def test_a_redirect_is_not_followed_and_the_other_host_sees_nothing(
    gate: Gate, r0: R0, certificates: Certificates
) -> None:
    """Asset: the credential. Attack: the bound host redirects to another. Expected: no request there, a clear error."""
    with (
        smart_http(r0.remote.parent, token=TOKEN, certificates=certificates) as evil,
        smart_http(r0.remote.parent, certificates=certificates, redirect_to=evil.url) as bound,
    ):
        error = refusal(gate, f"{bound.url}/remote.git")

        assert error.code == "repository_redirected"
        assert evil.seen == []


def test_a_public_repository_needs_no_token_and_gets_none(gate: Gate, r0: R0, certificates: Certificates) -> None:
    with smart_http(r0.remote.parent, certificates=certificates) as server:
        fetched_from(gate, f"{server.url}/remote.git")

        assert [request for request in server.seen if request.authorization] == []


def test_plain_http_works_on_this_machine(gate: Gate, r0: R0) -> None:
    with smart_http(r0.remote.parent, token=TOKEN) as server:
        assert pushed(gate, r0, fetched_from(gate, f"{server.url}/remote.git")).pushed


def test_a_declining_hook_of_the_server_is_told_in_its_words(gate: Gate, r0: R0, server: SmartHttp) -> None:
    fetched = fetched_from(gate, f"{server.url}/remote.git")
    hook = r0.remote / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\nprintf 'no, \\033[31mnot today {TOKEN}\\n' >&2\nexit 1\n")
    hook.chmod(0o755)
    outcome = pushed(gate, r0, fetched)

    assert outcome.status is PushStatus.REFUSED
    assert "pre-receive hook declined" in outcome.reason
    assert "not today ***" in outcome.reason
    assert "\033" not in outcome.reason
    assert git(r0.remote, "rev-parse", "agent/x1") == r0.base


def test_a_server_that_allows_no_push_is_a_refusal(gate: Gate, r0: R0, certificates: Certificates) -> None:
    with smart_http(r0.remote.parent, token=TOKEN, certificates=certificates, writable=False) as server:
        assert pushed(gate, r0, fetched_from(gate, f"{server.url}/remote.git")).status is PushStatus.REFUSED


def test_a_server_that_never_answers_ends_at_the_limit(gate: Gate) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        address = address_of(f"http://127.0.0.1:{deaf.getsockname()[1]}/r.git")
        with pytest.raises(RepositoryUnavailable) as refused:
            fetch(gate.git, address, None, gate.mirrors, limits=FetchLimits(seconds=0.5))

    assert refused.value.code == "repository_timed_out"


def test_a_push_larger_than_one_buffer_arrives(gate: Gate, r0: R0, server: SmartHttp) -> None:
    fetched = fetched_from(gate, f"{server.url}/remote.git")
    (r0.path / "big").write_bytes(bytes(range(256)) * 4096 + os.urandom(2 << 20))
    git(r0.path, "add", "big")
    git(r0.path, "commit", "--quiet", "-m", "big")
    commit = git(r0.path, "rev-parse", "HEAD")
    git(r0.path, "bundle", "create", "--quiet", str(r0.path.parent / "b"), "origin/agent/x1..agent/x1")
    data = (r0.path.parent / "b").read_bytes()
    pack = data[data.index(b"PACK") :]
    with receive(
        gate.git, fetched, [pack], commit, now=fetched.refs, max_bytes=8 << 20, scratch=gate.scratch
    ) as quarantine:
        assert push(gate.git, quarantine, fetched, "agent/x1", credential=token_source()).pushed


def test_a_shallow_repository_at_a_server_is_refused(gate: Gate, r0: R0) -> None:
    root = r0.remote.parent
    git(root, "clone", "--quiet", "--bare", "--depth=1", "--no-single-branch", f"file://{r0.remote}", "shallow.git")
    with smart_http(root) as server:
        assert refusal(gate, f"{server.url}/shallow.git").code == "repository_shallow"


def test_a_second_fetch_brings_what_is_new_and_the_whole_history(gate: Gate, r0: R0, server: SmartHttp) -> None:
    url = f"{server.url}/remote.git"
    fetched_from(gate, url)
    git(r0.path, "commit", "--quiet", "--allow-empty", "-m", "more")
    git(r0.path, "push", "--quiet", "origin", "agent/x1")
    fetched = fetched_from(gate, url)

    assert fetched.base == git(r0.path, "rev-parse", "HEAD")
    assert git(fetched.mirror, "rev-list", "--count", fetched.base) == "4"


def test_a_server_that_only_hands_out_files_is_refused(gate: Gate, r0: R0) -> None:
    """Asset: the host. Attack: files served one by one, whose objects git takes unchecked. Expected: no mirror."""
    git(r0.remote, "update-server-info")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=str(r0.remote))) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        error = refusal(gate, f"http://127.0.0.1:{server.server_address[1]}/.")
        server.shutdown()

    assert error.code == "repository_server_unsupported"


class _Files(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""
