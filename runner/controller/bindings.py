"""Which of the policy's bindings speaks for a repository, and where a secret that the policy names is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from runner.gate.address import Address
from runner.gate.credentials import CredentialKind, CredentialSource
from runner.model.errors import RepositoryUnavailable
from runner.policy.document import Binding, Credential

__all__ = ["binding_for", "credential_of", "source_of"]


def binding_for(bindings: tuple[Binding, ...], address: Address) -> Binding | None:
    """The binding whose host is the address's, if there is one."""
    return next((binding for binding in bindings if address.matches_host(binding.git.host)), None)


def credential_of(
    binding: Binding | None, secrets: Mapping[str, str], hide: Callable[..., None]
) -> CredentialSource | None:
    """Where the binding's credential is, None when it has none. What is read of it is told to `hide` first."""
    if binding is None or binding.credential is None:
        return None
    return source_of(binding.credential, secrets, hide)


def source_of(said: Credential, secrets: Mapping[str, str], hide: Callable[..., None]) -> CredentialSource:
    """Where a secret that the policy names is. What is read of it is told to `hide` first."""
    make = partial(CredentialSource, user=said.user, environment=secrets, on_read=lambda found: hide(*found))
    if said.file is not None:
        return make(CredentialKind.FILE, said.file)
    if said.env is not None:
        return make(CredentialKind.ENV, said.env)
    if said.command is not None:
        return make(CredentialKind.COMMAND, said.command)
    raise RepositoryUnavailable("a credential of the policy names no source", hint="Give file, env or command.")
