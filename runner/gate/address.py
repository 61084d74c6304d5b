"""Where a repository is: what `--repo` may say, and which binding it belongs to. Pure.

Accepted: a path, `file://`, `https://`, `ssh://` and `user@host:path`, `http://` to this machine only, and the short
form `owner/name` where a binding has a template for it. What an address is does not depend on what happens to be in the
current folder: with a template, `a/b` is the short form, and `./a/b` is the path.

Left to others: whether anything is there (fetch), and what may be pushed where (policy).
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import quote, unquote, urlsplit

from runner.model.errors import RepositoryUnavailable

__all__ = ["LOCAL_HOST", "Address", "CodeHost", "local_address", "resolve_address"]

LOCAL_HOST = "file"
"""The host that a binding names for `file://` addresses and local paths."""

_DEFAULT_PORTS = {"https": 443, "http": 80, "ssh": 22}
_MAX_CHARACTERS = 2048
_NAME = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
_SHORT_FORM = re.compile(rf"{_NAME}(/{_NAME})+")
_SCP_LIKE = re.compile(r"(?:([^/@:]+)@)?([^/:@]+|\[[^]/]+\]):(.*)")
_LOGIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9])?)*")
_SUPPORTED = "Use an https:// or ssh:// address, a file:// address, or the path of a local repository."


@dataclass(frozen=True, slots=True)
class CodeHost:
    """The part of a binding that says which repositories it speaks for. `host` is exact, with a port where needed.

    `repo_template` holds `{repo}`, or `{owner}` and `{name}`. `repo` is the repository to use when a run names none.
    """

    host: str
    repo_template: str | None = None
    repo: str | None = None


@dataclass(frozen=True, slots=True)
class Address:
    """A repository's address, checked. `url` holds no credential and is what git is given and what is recorded.

    `host` is `file`, or the lower-case host with its port unless that is the scheme's own. `path` is the folder of a
    local repository, absolute; None for the others. `endpoint` is the host and the port to connect to; None for a local
    one. An ssh address may hold a login name.
    """

    scheme: str
    host: str
    url: str
    path: str | None = None
    endpoint: tuple[str, int] | None = None

    def matches_host(self, host: str) -> bool:
        """Whether a binding that names `host` speaks for this address: the same host and port, in any case."""
        if self.path is not None or host.lower() == LOCAL_HOST:
            return self.path is not None and host.lower() == LOCAL_HOST
        return _without_default_port(host.lower(), self.scheme) == self.host

    @property
    def digest(self) -> str:
        """A name for this address that is safe as a file name."""
        return hashlib.sha256(self.url.encode("utf-8", "surrogateescape")).hexdigest()


def resolve_address(repo: str | None, *, cwd: PurePosixPath, bindings: Sequence[CodeHost] = ()) -> Address:
    """The address that `repo` stands for; the first binding with a repository of its own when `repo` is None.

    Raises:
        RepositoryUnavailable: code `repository_address_invalid`, or `credential_inline` for one with a password.
    """
    if repo is None:
        repo = next((binding.repo for binding in bindings if binding.repo is not None), None)
        if repo is None:
            raise _invalid("no repository is named", "Pass --repo, or name one in a binding's git.repo.")
    _refuse_unsafe_text(repo)
    template = next((binding.repo_template for binding in bindings if binding.repo_template is not None), None)
    if template is not None and _SHORT_FORM.fullmatch(repo):
        repo = _expand(template, repo)
        _refuse_unsafe_text(repo)
    return _parse(repo, cwd)


def _parse(repo: str, cwd: PurePosixPath) -> Address:
    scheme, separator, rest = repo.partition("://")
    if separator and "/" not in scheme:
        return _parse_url(scheme.lower(), rest, repo)
    if re.match(r"[A-Za-z0-9+.-]+::", repo):
        raise _invalid("an address may not name a remote helper program (`helper::...`)", _SUPPORTED)
    scp_like = None if repo.startswith(("/", ".")) else _SCP_LIKE.fullmatch(repo)
    if scp_like is not None:
        return _parse_scp_like(*scp_like.groups())
    return local_address(str(cwd / repo))


def _parse_url(scheme: str, rest: str, repo: str) -> Address:
    if scheme == "file":
        return _parse_file_url(rest)
    scheme = "ssh" if scheme in ("git+ssh", "ssh+git") else scheme
    if scheme not in _DEFAULT_PORTS:
        raise _invalid(f"addresses of the scheme `{scheme}` are not supported", _SUPPORTED)
    login = _login(rest.split("/", 1)[0], scheme)
    try:
        parts = urlsplit(f"{scheme}://{rest}")
        name, port = parts.hostname or "", parts.port
    except ValueError:
        raise _invalid("the repository's address is not a valid URL", _SUPPORTED) from None
    if parts.query or parts.fragment or "?" in repo or "#" in repo:
        raise _invalid("the repository's address has a query or a fragment", "Leave out what follows `?` or `#`.")
    if not parts.path.strip("/"):
        raise _invalid("the repository's address names a host and no repository", "Add the repository's path.")
    host = _host(name, port, scheme)
    endpoint = (name, port or _DEFAULT_PORTS[scheme])
    return Address(scheme=scheme, host=host, url=f"{scheme}://{login}{host}{parts.path}", endpoint=endpoint)


def _login(authority: str, scheme: str) -> str:
    """`NAME@` of an ssh address, else nothing: a token in an address would be in every record of the run."""
    login, at, _ = authority.rpartition("@")
    if not at:
        return ""
    if scheme == "ssh" and _LOGIN.fullmatch(login):
        return f"{login}@"
    raise RepositoryUnavailable(
        "the repository's address holds a user name or a password",
        hint="Take it out, and name the credential in a binding (credential: file, env or command).",
        code="credential_inline",
    )


def _parse_scp_like(login: str | None, name: str, path: str) -> Address:
    """`[user@]host:path`, the path from the login's home. git gets it in this form, since the URL means another."""
    if login is not None and not _LOGIN.fullmatch(login):
        raise _invalid(
            "the address's login name holds other characters than letters, digits, `.`, `_` and `-`", _SUPPORTED
        )
    if not path.strip("/") or path.startswith("-"):
        raise _invalid("the repository's address names a host and no repository", "Add the repository's path.")
    bare = name.strip("[]").lower()
    host = _host(bare, None, "ssh")
    user = "" if login is None else f"{login}@"
    return Address(scheme="ssh", host=host, url=f"{user}{host}:{path}", endpoint=(bare, 22))


def _parse_file_url(rest: str) -> Address:
    authority, slash, path = rest.partition("/")
    if authority.lower() not in ("", "localhost") or not slash:
        raise _invalid("a file:// address names another machine", "Write it with three slashes: file:///path.")
    decoded = unquote("/" + path, errors="surrogateescape")
    _refuse_unsafe_text(decoded)
    return local_address(decoded)


def local_address(path: str) -> Address:
    """The address of the local repository in the folder `path`, which is absolute."""
    folder = str(PurePosixPath(path))
    # Always as an escaped URL: a bare path with a colon, or one that is a bundle, would mean something else to git.
    url = "file://" + quote(folder.encode("utf-8", "surrogateescape"), safe="/")
    return Address(scheme="file", host=LOCAL_HOST, url=url, path=folder)


def _host(name: str, port: int | None, scheme: str) -> str:
    address = _ip(name)
    if address is None and not _HOST_NAME.fullmatch(name):
        raise _invalid(
            "the address's host is not a host name in ASCII", "Write the host in its ASCII form, without a final dot."
        )
    loopback = name == "localhost" or (address is not None and address.is_loopback)
    if scheme == "http" and not loopback:
        raise _invalid(
            "an http:// address would carry code and credential unprotected", "Use https:// for other machines."
        )
    shown = f"[{name}]" if ":" in name else name
    return shown if port is None or port == _DEFAULT_PORTS[scheme] else f"{shown}:{port}"


def _ip(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _expand(template: str, repo: str) -> str:
    owner, _, name = repo.rpartition("/")
    return template.replace("{repo}", repo).replace("{owner}", owner).replace("{name}", name)


def _refuse_unsafe_text(repo: str) -> None:
    if not repo or len(repo) > _MAX_CHARACTERS:
        raise _invalid("the repository's address is empty or too long", _SUPPORTED)
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in repo):
        raise _invalid("the repository's address holds a control character", _SUPPORTED)
    if repo.startswith("-"):
        raise _invalid("the repository's address looks like an option", "Write a path as ./-name.")
    try:
        repo.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise _invalid("the repository's address is no text that a path or a URL can hold", _SUPPORTED) from None


def _without_default_port(host: str, scheme: str) -> str:
    suffix = f":{_DEFAULT_PORTS.get(scheme)}"
    return host.removesuffix(suffix)


def _invalid(message: str, hint: str) -> RepositoryUnavailable:
    return RepositoryUnavailable(message, hint=hint, code="repository_address_invalid")
