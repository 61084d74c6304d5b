from __future__ import annotations

import contextlib
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.gate.address import LOCAL_HOST, Address, CodeHost, resolve_address
from runner.model.errors import RepositoryUnavailable

CWD = PurePosixPath("/home/ada")
HOST = CodeHost("code.example.com", repo_template="https://code.example.com/{repo}.git")


def resolved(repo: str, *bindings: CodeHost) -> Address:
    return resolve_address(repo, cwd=CWD, bindings=bindings)


@pytest.mark.parametrize(
    ("repo", "url", "host"),
    [
        ("/srv/a.git", "file:///srv/a.git", LOCAL_HOST),
        ("code/a", "file:///home/ada/code/a", LOCAL_HOST),
        ("./a", "file:///home/ada/a", LOCAL_HOST),
        (".", "file:///home/ada", LOCAL_HOST),
        ("./-x", "file:///home/ada/-x", LOCAL_HOST),
        ("./a:b", "file:///home/ada/a%3Ab", LOCAL_HOST),
        ("/srv/a b%", "file:///srv/a%20b%25", LOCAL_HOST),
        ("file:///srv/a%20b", "file:///srv/a%20b", LOCAL_HOST),
        ("file://localhost/srv/a", "file:///srv/a", LOCAL_HOST),
        ("https://Code.Example.com/o/n.git", "https://code.example.com/o/n.git", "code.example.com"),
        ("HTTPS://code.example.com:443/o/n", "https://code.example.com/o/n", "code.example.com"),
        ("https://code.example.com:8443/o/n", "https://code.example.com:8443/o/n", "code.example.com:8443"),
        ("ssh://git@Code.Example.com/o/n.git", "ssh://git@code.example.com/o/n.git", "code.example.com"),
        ("git+ssh://code.example.com:2222/o/n", "ssh://code.example.com:2222/o/n", "code.example.com:2222"),
        ("git@code.example.com:o/n.git", "git@code.example.com:o/n.git", "code.example.com"),
        ("code.example.com:o/n.git", "code.example.com:o/n.git", "code.example.com"),
        ("http://127.0.0.1:80/n.git", "http://127.0.0.1/n.git", "127.0.0.1"),
        ("http://localhost:3000/n.git", "http://localhost:3000/n.git", "localhost:3000"),
        ("http://[::1]:3000/n.git", "http://[::1]:3000/n.git", "[::1]:3000"),
    ],
)
def test_what_an_address_may_be(repo: str, url: str, host: str) -> None:
    address = resolved(repo)

    assert (address.url, address.host) == (url, host)


@pytest.mark.parametrize(
    "repo",
    [
        "",
        "-x",
        "--upload-pack=touch /tmp/pwn",
        "ext::sh -c touch% /tmp/pwn",
        "fd::17",
        "ext::https://code.example.com/x",
        "https::https://code.example.com/x",
        "/srv/a\0b",
        "/srv/a\nb",
        "https://code.example.com/a\x7f",
        "file:///srv/a%00b",
        "file:///srv/a%0ab",
        "file://other/srv/a",
        "ssh://-oProxyCommand=x/o/n.git",
        "-oProxyCommand=x:o/n.git",
        "g it@code.example.com:o/n.git",
        "git@code.example.com:",
        "git@code.example.com:-x",
        "git@-code.example.com:o/n.git",
        "ssh://git@code.example.com/",
        "git://code.example.com/o/n.git",
        "ftp://code.example.com/o/n.git",
        "http://code.example.com/o/n.git",
        "http://127.0.0.1.example.com/n.git",
        "http://127.1/n.git",
        "https://code.example.com",
        "https://code.example.com/",
        "https:///o/n.git",
        "https://code.example.com./o/n.git",
        "https://-code.example.com/o/n.git",
        "https://exämple.com/o/n.git",
        "https://code.example.com:99999/o/n.git",
        "https://code.example.com/o/n.git?x=1",
        "https://code.example.com/o/n.git#x",
        "https://code.example.com/" + "a" * 3000,
    ],
)
def test_what_an_address_may_not_be(repo: str) -> None:
    with pytest.raises(RepositoryUnavailable) as refused:
        resolved(repo)

    assert refused.value.code == "repository_address_invalid"
    assert refused.value.hint


@pytest.mark.parametrize("login", ["git:secret-1", "git:", "-oProxyCommand=x", "a b", "a%20b"])
def test_an_ssh_address_may_hold_a_login_and_nothing_else_before_the_host(login: str) -> None:
    with pytest.raises(RepositoryUnavailable) as refused:
        resolved(f"ssh://{login}@code.example.com/o/n.git")

    assert refused.value.code == "credential_inline"


def test_a_binding_speaks_for_ssh_by_host_and_port() -> None:
    assert resolved("git@code.example.com:o/n.git").matches_host("code.example.com")
    assert resolved("ssh://git@code.example.com:2222/o/n.git").matches_host("code.example.com:2222")
    assert not resolved("ssh://git@code.example.com:2222/o/n.git").matches_host("code.example.com")


@pytest.mark.parametrize("userinfo", ["ada:secret-1", "secret-1", ":secret-1", "ada%3Asecret-1"])
def test_a_credential_in_the_address_is_refused_and_not_repeated(userinfo: str) -> None:
    with pytest.raises(RepositoryUnavailable) as refused:
        resolved(f"https://{userinfo}@code.example.com/o/n.git")

    assert refused.value.code == "credential_inline"
    assert "secret-1" not in refused.value.message + refused.value.hint


def test_the_short_form_needs_a_template_and_is_a_path_without_one() -> None:
    assert resolved("owner/name", HOST).url == "https://code.example.com/owner/name.git"
    assert resolved("group/sub/name", HOST).url == "https://code.example.com/group/sub/name.git"
    assert resolved("owner/name").path == "/home/ada/owner/name"
    assert resolved("./owner/name", HOST).path == "/home/ada/owner/name"
    assert resolved("/owner/name", HOST).path == "/owner/name"


def test_a_template_may_name_owner_and_name_apart() -> None:
    host = CodeHost("h", repo_template="https://h.example/{owner}/_git/{name}")

    assert resolved("team/app", host).url == "https://h.example/team/_git/app"


@pytest.mark.parametrize("repo", ["../name", "owner/..", "owner/-x", "o@h/name", "owner//name"])
def test_what_is_not_quite_the_short_form_is_not_expanded(repo: str) -> None:
    assert resolved(repo, HOST).host == LOCAL_HOST


def test_a_binding_may_name_the_repository() -> None:
    bindings = (CodeHost("file"), CodeHost("code.example.com", repo="https://code.example.com/o/n.git"))

    assert resolve_address(None, cwd=CWD, bindings=bindings).host == "code.example.com"


def test_no_repository_at_all_is_said() -> None:
    with pytest.raises(RepositoryUnavailable) as refused:
        resolve_address(None, cwd=CWD, bindings=(HOST,))

    assert refused.value.code == "repository_address_invalid"


@pytest.mark.parametrize(
    ("repo", "host", "matches"),
    [
        ("https://code.example.com/o/n", "code.example.com", True),
        ("https://code.example.com/o/n", "CODE.example.com:443", True),
        ("https://code.example.com:8443/o/n", "code.example.com:8443", True),
        ("https://code.example.com:8443/o/n", "code.example.com", False),
        ("https://code.example.com/o/n", "example.com", False),
        ("https://code.example.com.evil.example/o/n", "code.example.com", False),
        ("/srv/a", "file", True),
        ("file:///srv/a", "file", True),
        ("https://file/o/n", "code.example.com", False),
    ],
)
def test_a_binding_speaks_for_exactly_its_host(repo: str, host: str, matches: bool) -> None:
    assert resolved(repo).matches_host(host) is matches


def test_a_remote_host_called_file_is_not_the_local_binding() -> None:
    assert not resolved("https://file/o/n").matches_host("file")


@given(st.one_of(st.text(max_size=40), st.text(alphabet="htps:/@[].%#?-0aé\n~+", max_size=40).map("https://".__add__)))
def test_garbage_is_an_address_without_a_credential_or_is_refused(repo: str) -> None:
    with contextlib.suppress(RepositoryUnavailable):
        address = resolved(repo, HOST)
        assert address.scheme in ("file", "https", "http", "ssh")
        assert address.scheme in ("file", "ssh") or "@" not in address.url.split("/")[2]
        assert address.digest
