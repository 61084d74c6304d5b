"""What a failed git said, in one line and with a mend.

git tells its failures apart only in words, so the words are read here and nowhere else, in the C locale, anchored to
the parts that git and its HTTP library write. A text that nothing matches keeps git's own words. The remote's text is
shown to people and chooses nothing but a hint.
"""

from __future__ import annotations

from dataclasses import dataclass

from runner.gate.address import Address
from runner.gate.git import GitResult
from runner.model.errors import RepositoryUnavailable
from runner.model.hidden import is_hidden

__all__ = ["one_line", "unavailable", "visible"]

_MAX_LINE_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class _Kind:
    needles: tuple[str, ...]
    code: str
    hint: str


_CREDENTIAL_HINT = "Check the binding's credential for this host: it is missing, expired, or lacks access."
_KINDS = (
    _Kind(("No space left on device",),
          "disk_full", "Free space in the state folder (RUNNER_STATE_DIR), where mirrors are."),
    _Kind(("Host key verification failed", "REMOTE HOST IDENTIFICATION HAS CHANGED"),
          "ssh_host_key_unknown", "Put the host's key, checked, into the known_hosts file (RUNNER_SSH_KNOWN_HOSTS)."),
    _Kind(("Permission denied (", "Load key ", "Too many authentication failures"),
          "credential_refused", "Check the binding's ssh key: it is missing, not accepted, or has a passphrase."),
    _Kind(("Authentication failed", "could not read Username", "could not read Password", "error: 401", "error: 403"),
          "credential_refused", _CREDENTIAL_HINT),
    _Kind(("SSL certificate problem", "server certificate verification failed", "SSL: ", "gnutls_handshake", "CAfile"),
          "tls_failed", "Check the server's certificate, and set SSL_CERT_FILE to the trust store that signs it."),
    _Kind(("Could not resolve host", "Failed to connect", "Couldn't connect", "Connection refused", "Connection reset",
           "Connection timed out", "kex_exchange_identification", "Empty reply from server", "Network is unreachable"),
          "repository_unreachable", "Check the address and this host's network."),
    _Kind(("fsck error", "fsckObjects", "index-pack failed", "object corrupt", "invalid index-pack output"),
          "repository_objects_refused", "The repository holds an object that strict checking refuses."),
    _Kind(("Permission denied",),
          "repository_permission_denied", "Let the user that the runner runs as read the repository."),
    _Kind(("not found", "does not appear to be a git repository", "does not exist", "not valid: is this a git"),
          "repository_not_found", "Check the address, and that the credential may see the repository."),
    _Kind(("dumb http transport",),
          "repository_server_unsupported", "The server must speak git's smart HTTP protocol."),
    _Kind(("redirect", "error: 30"),
          "repository_redirected", "Redirects are not followed: give the address that the server redirects to."),
)  # fmt: skip


def unavailable(address: Address, result: GitResult, doing: str) -> RepositoryUnavailable:
    """The error for a transfer that failed: what was being done, git's reason in one line, and a mend."""
    if result.timed_out:
        return RepositoryUnavailable(
            f"{doing} {address.url} took longer than its limit",
            hint="Check the network, or raise the limit.",
            code="repository_timed_out",
        )
    reason = one_line(result.stderr) or f"git ended with {result.exit}"
    kind = next((kind for kind in _KINDS if any(needle in result.stderr for needle in kind.needles)), None)
    message = f"{doing} {address.url} failed: {reason}"
    if kind is None:
        return RepositoryUnavailable(message, hint="Check the address.")
    return RepositoryUnavailable(message, hint=kind.hint, code=kind.code)


def one_line(stderr: str) -> str:
    """The line that says why: the first one of git's own `fatal:` or `error:`, else the last one."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    if not lines:
        return ""
    chosen = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1])
    return visible(chosen)[:_MAX_LINE_CHARACTERS]


def visible(text: str) -> str:
    """`text` with everything that a terminal would act on, or not show, written as an escape."""
    return "".join(
        character
        if character.isprintable() and not is_hidden(character)
        else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        for character in text
    )
