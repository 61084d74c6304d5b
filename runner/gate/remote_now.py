"""What the remote has at this moment, asked right before outgoing commits are judged.

Only what the remote's branches and tags hold now counts as being there. A branch that others deleted since the run
started is not there any more: bringing it back would be a push of all that was on it, and is judged as one. What they
deleted between this look and the push, seconds later, is the same as a deletion after the push.

The push itself moves one ref, from the object that the remote then reports to the outgoing commit, without force: a
branch that moved in between is a refusal by the remote.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from runner.gate.address import Address
from runner.gate.credentials import CredentialSource, Secret
from runner.gate.fetch import Fetched
from runner.gate.git import Git, GitFailed
from runner.gate.mirror import FetchLimits, list_remote, locked, refresh
from runner.model.errors import ErrorCode, RepositoryUnavailable, ToolError

__all__ = ["push_secret", "remote_now"]

_LIMITS = FetchLimits(seconds=300.0)


def remote_now(git: Git, fetched: Fetched, *, credential: CredentialSource | None = None) -> Mapping[str, str]:
    """Full name to object for the remote's branches and tags; the mirror has these refs and their objects.

    Raises:
        ToolError: GIT_PUSH_FAILED when the remote could not be asked, PUSH_CREDENTIAL_MISSING.
    """
    secret = push_secret(credential, fetched.address)
    try:
        with locked(fetched.mirror, _LIMITS, lambda _: None):
            listing = list_remote(git, fetched.address, secret, _LIMITS)
            return MappingProxyType(refresh(git, fetched.mirror, fetched.address, secret, listing, _LIMITS))
    except RepositoryUnavailable as error:
        raise _failed(error.message, error.hint) from error
    except GitFailed as failure:
        raise _failed(f"the mirror on this host does not work: {failure}", "Start the run anew.") from failure


def push_secret(credential: CredentialSource | None, address: Address) -> Secret | None:
    """The credential, read now; None for a local address, and where the binding has none.

    Raises:
        ToolError: PUSH_CREDENTIAL_MISSING, when it cannot be read.
    """
    if credential is None or address.path is not None:
        return None
    try:
        return credential.read_for(address)
    except RepositoryUnavailable as error:
        raise ToolError(
            ErrorCode.PUSH_CREDENTIAL_MISSING, f"{error.message}.", rule="push.credential", hint=error.hint
        ) from error


def _failed(why: str, hint: str | None) -> ToolError:
    return ToolError(
        ErrorCode.GIT_PUSH_FAILED,
        f"The remote could not be looked at before the push: {why}.",
        rule="push.remote",
        hint=hint or "Nothing was pushed. Try again.",
        details={"output": why},
    )
