"""What a token is for, as an operator writes it: brought into the form that requests are compared with, or refused.

A token for what no request can ever name looks good in the list, and is found out by whoever was given it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from runner.gate.address import local_address, resolve_address
from runner.model.errors import RepositoryUnavailable, UsageError
from runner.policy.load import load_policy
from runner.store.tokens import ANYTHING, policy_name

__all__ = ["policy_of", "repository_of"]

_BEGINNING = re.compile(
    r"(?:https|http|ssh|file)://.*|(?:[A-Za-z0-9._-]+@)?[A-Za-z0-9.-]+:(?!/).*", re.ASCII | re.DOTALL
)
_FORMS = "Write https://HOST/…, ssh://…, USER@HOST:…, file:///… or a path; the beginning of some ends with *."


def repository_of(text: str) -> str:
    """The address, or the beginning of addresses with its `*`, as a run's address is written.

    Raises:
        UsageError: no run's address can be that, or begin so.
    """
    if not text.strip():
        raise UsageError("--repo is empty", hint=_FORMS)
    if not text.endswith(ANYTHING):
        return _address(text)
    beginning = text.removesuffix(ANYTHING)
    if beginning.startswith(("/", "./", "../")):
        whole = local_address(os.path.abspath(beginning)).url  # noqa: PTH100 - `resolve` would follow links
        beginning = whole + "/" * (beginning.endswith("/") and not whole.endswith("/"))
    elif beginning and not _BEGINNING.fullmatch(beginning):
        raise UsageError(f"--repo {text[:200]!r}: no address begins so", hint=_FORMS)
    return beginning + ANYTHING


def policy_of(text: str) -> str:
    """A preset's name, `*`, or the whole path of a policy file that takes effect.

    Raises:
        UsageError: there is no such preset, or the path leads upwards.
        PolicyInvalid: there is no such file, or it cannot take effect.
    """
    if text == ANYTHING:
        return text
    if ".." in PurePosixPath(text).parts:
        raise UsageError(f"--policy {text[:200]!r} leads upwards", hint="Write the whole path.")
    load_policy(text)
    return policy_name(text)


def _address(text: str) -> str:
    if not (text.startswith("/") or _BEGINNING.fullmatch(text) or Path(text).is_dir()):
        raise UsageError(f"--repo {text[:200]!r}: no address is written so, and there is no such folder", hint=_FORMS)
    try:
        address = resolve_address(text, cwd=PurePosixPath(Path.cwd()))
    except RepositoryUnavailable as error:
        raise UsageError(f"--repo: {error.message}", hint=error.hint) from error
    # As a run's: the folder itself, whatever links lead to it.
    return address.url if address.path is None else local_address(os.path.realpath(address.path)).url
