from __future__ import annotations

import pytest

from runner.policy.hosts import check_address, check_allow_entry, check_git_host, host_of


@pytest.mark.parametrize(
    "entry",
    [
        "npm",
        "a.example.com",
        "a.example.com:8443",
        "*.example.com",
        "proxy:3128",
        "x-1.io",
        "a.b:65535",
        "1.a.b",
        "0x1.a.b",
    ],
)
def test_a_role_a_host_and_a_wildcard_are_accepted(entry: str) -> None:
    check_allow_entry(entry)


@pytest.mark.parametrize(
    "entry",
    [
        *("", "*", "*.", "*.com", "npmm", "a..b", "-a.b", "a.b:", "a.b:0", "a.b:65536", "a.b:x", "a.b:080", "A.b"),
        *("https://a.b", "a.b/c", "10.0.0.1", "10.0.0.1:443", "127.1", "[::1]:443", "localhost:80", "x.localhost"),
        *(
            "*.10.1",
            "a b.c",
            "a.b.",
            "*a.b",
            "a.*.b",
            "é.com",
            "a.b:443:1",
            "*.example.com:443",
            "0x7f.0x1",
            "127.0x1",
            "a.b.0x1",
            "a.1.2",
            "a\n.b",
        ),
    ],
)
def test_an_entry_that_the_proxy_could_not_match_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match=r"[a-z] [a-z]"):
        check_allow_entry(entry)


@pytest.mark.parametrize("host", ["code.example.com", "code.example.com:8443", "file", "localhost:1", "127.0.0.1:8080"])
def test_a_code_host_may_be_any_host(host: str) -> None:
    check_git_host(host)


@pytest.mark.parametrize("host", ["", "Code.example.com", "https://a.b", "a.b/c", "a@b.c"])
def test_what_is_no_host_is_refused(host: str) -> None:
    with pytest.raises(ValueError, match=r"[a-z] [a-z]"):
        check_git_host(host)


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://a.example.com/x.git", "a.example.com"),
        ("https://a.example.com:8443/x", "a.example.com:8443"),
        ("file:///srv/x.git", "file"),
        ("/srv/x.git", "file"),
        ("ssh://git@a.example.com:2222/x.git", "a.example.com:2222"),
        ("git@a.example.com:owner/x.git", "a.example.com"),
        ("./x.git", "file"),
        ("../x.git", "file"),
        ("owner/name", None),
        ("file:x", "file"),
        ("a.b:x", "a.b"),
        ("a.b:-x", None),
        ("ssh://a.b/x", "a.b"),
        ("https://a.example.com:port/x", None),
    ],
)
def test_the_host_of_an_address_is_found(address: str, host: str | None) -> None:
    check_address(address)
    assert host_of(address) == host


@pytest.mark.parametrize("address", ["ftp://a.b/x", "https:///x", "https://", "ssh://", "a.b:x://y"])
def test_an_address_of_no_known_form_has_no_host(address: str) -> None:
    assert host_of(address) is None


@pytest.mark.parametrize(
    "address",
    [
        *("", "-x", "--upload-pack=x", "ext::sh -c x", "https://u:p@a.b/x", "https://tok@a.b/x", "ssh://u:p@a.b/x"),
        *("a b", "a\nb", "fd::17/x", "git://a.b/x", "ftp://a.b/x", "HTTPS://a.b/x"),
    ],
)
def test_an_address_with_a_secret_an_option_or_a_program_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match=r"[a-z] [a-z]") as caught:
        check_address(address)
    assert "tok@" not in str(caught.value)


@pytest.mark.parametrize("address", ["a/b::c", "a/b::c/d", "https://a.b/x?u=https://c.d", "file:///a::b", "./x::y"])
def test_only_what_stands_in_front_names_a_helper_or_a_scheme(address: str) -> None:
    check_address(address)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("fd::17/x", "transport helper"),
        ("ftp://a", "scheme"),
        ("ssh://u:p@a.b/x", "user name and password"),
    ],
)
def test_the_reason_tells_helpers_schemes_and_secrets_apart(address: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        check_address(address)


def test_a_host_name_has_at_most_253_characters_and_is_written_in_lower_case() -> None:
    longest = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])
    check_git_host(longest)
    with pytest.raises(ValueError, match="no host name"):
        check_git_host(f"{longest}e")
    with pytest.raises(ValueError, match="upper case"):
        check_git_host("Code.example.com")
    with pytest.raises(ValueError, match="no host name"):
        check_git_host("code_x.example.com")


def test_a_url_is_answered_with_the_host_in_it() -> None:
    for url in ("code.example.com/x", "https://code.example.com/x", "//code.example.com/x"):
        with pytest.raises(ValueError, match=r"host only: write `(code\.)?example\.com`") as caught:
            check_git_host(url)
        assert ("`code." in str(caught.value)) is not url.startswith("//")
