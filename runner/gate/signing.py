"""A signature of the gate: made in a room without a network or a folder of this host, with a key on standard input."""

from __future__ import annotations

from runner.engine.contract import Sandbox, SpawnRequest
from runner.gate.credentials import SshKey
from runner.gate.git import FIXED_PATH

__all__ = ["SigningFailed", "sign_in_room"]

_SIGN = "/opt/runner/gate-sign.sh"
_SECONDS = 30.0  # a signature takes milliseconds; with an RSA key of 16384 bits a second
_OUTPUT_BYTES = 65536
_MAX_WORDS = 400
# HOME is the room's own memory. ssh-keygen would talk to an agent only where a variable names one.
_ENVIRONMENT = {"PATH": FIXED_PATH, "LC_ALL": "C", "HOME": "/tmp"}  # noqa: S108 - inside the room


class SigningFailed(Exception):
    """ssh-keygen did not sign; the text says why, without the key."""


def sign_in_room(room: Sandbox, key: SshKey, payload: bytes) -> bytes:
    """The armoured ssh signature of `payload`, in git's namespace.

    Raises:
        SigningFailed: the key cannot be used.
        SandboxLost: the room is gone.
    """
    # The key first: the script takes off as many lines as it says, and the rest is what is signed.
    request = SpawnRequest((_SIGN,), _ENVIRONMENT, _SECONDS, _OUTPUT_BYTES, stdin=(key.lines, payload))
    result = room.spawn(request)
    if result.exit != 0 or result.truncated:
        said = key.redactor().scrub(result.stderr.decode("utf-8", "replace")).strip()
        raise SigningFailed("it took too long" if result.timed_out else _printable(said) or f"exit {result.exit}")
    return result.stdout


def _printable(text: str) -> str:
    line = text.splitlines()[-1] if text else ""
    return "".join(character for character in line if character.isprintable())[:_MAX_WORDS]
