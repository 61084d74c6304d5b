"""The signatures of one run's commits: by the operator's ssh key, in a room of the gate that is there for nothing else.

The room has no network, meets no byte of the remote and no file of the host, and is started at the first signature.
The key is read for each signature and then forgotten; the workspace never meets it. What is signed has been read back
by the controller and is exactly what was judged (`runner.gate.commit_object`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.controller.bindings import source_of
from runner.controller.gate_rooms import signing_room
from runner.controller.host import GateMode
from runner.engine.contract import Sandbox
from runner.gate.commit_object import CommitObject, Expected, object_name, reason_not_to_sign, with_signature
from runner.gate.credentials import CredentialSource
from runner.gate.signing import SigningFailed, sign_in_room
from runner.model.errors import ErrorCode, PolicyInvalid, RepositoryUnavailable, ToolError

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared

__all__ = ["Signer", "signer_of"]

_SLACK_SECONDS = 60.0  # between the commit and this check: its judgement, and what the two clocks differ by
_RULE = "commit.sign"


class Signer:
    """Signs for one run. Made before anything is started, so that a key which cannot be read ends the run there."""

    def __init__(self, run: Prepared, source: CredentialSource) -> None:
        self._run = run
        self._source = source
        self._room: Sandbox | None = None
        source.read_key()

    def sign(self, commit: CommitObject, parents: tuple[str, ...]) -> bytes:
        """The signed form of a commit that stands on `parents`.

        Raises:
            ToolError: `git_commit_failed`: it is not what may be signed, or the key cannot be used.
            EngineUnavailable, PostureFailed: the room could not be started as asked.
        """
        reason = reason_not_to_sign(commit, self._expected(parents))
        if reason is not None:
            raise _failed(
                f"the commit is not signed: {reason}",
                "Look at the repository's hooks and git config, and commit again.",
            )
        try:
            key = self._source.read_key()
            if self._room is None:
                self._room = signing_room(self._run)
            signed = with_signature(commit, sign_in_room(self._room, key, commit.raw))
        except RepositoryUnavailable as error:
            raise _failed(error.message, error.hint) from error
        except (SigningFailed, ValueError) as error:
            raise _failed(
                f"the commit could not be signed: {error}",
                "Check the policy's commit.sign: a key without a passphrase.",
            ) from error
        self._run.audit.append("commit.signed", {"unsigned": commit.name, "commit": object_name(signed)})
        return signed

    def _expected(self, parents: tuple[str, ...]) -> Expected:
        said, now = self._run.policy.commit, self._run.host.unix()
        earliest = now - self._run.policy.limits.command_seconds - _SLACK_SECONDS
        return Expected(parents, said.name, said.email, earliest, now + _SLACK_SECONDS)


def signer_of(run: Prepared) -> Signer | None:
    """Who signs the run's commits, None where the policy asks for nobody.

    Raises:
        PolicyInvalid: it does, and the gate has no room here.
        RepositoryUnavailable: code `credential_unavailable`: the key cannot be read.
    """
    sign = run.policy.commit.sign
    if sign is None:
        return None
    if run.host.gate is GateMode.HOST:
        raise PolicyInvalid(
            "the policy's commit.sign needs the gate's container, and RUNNER_GATE is `host`",
            hint="Unset RUNNER_GATE, or leave commit.sign out: commits are then not signed.",
            code="gate_host_sign",
        )
    return Signer(run, source_of(sign.ssh, run.host.secrets, run.scrubber.hide))


def _failed(why: str, hint: str) -> ToolError:
    message = f"git did not commit: {why}."
    return ToolError(ErrorCode.GIT_COMMIT_FAILED, message, rule=_RULE, hint=hint, details={"output": why})
