"""The receipt of a run: what it did in short, the end of its log, and a signature over both.

Only the statement is signed, in its one byte form behind a prefix that no other use of the key shares, so that no
signature made elsewhere passes for a seal. The file as a whole has one byte form too: a key that stands twice, or a
blank, would show a reader another statement than the one that was checked.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.audit.canonical import canonical
from runner.audit.keys import PublicKey, SigningKey
from runner.policy.strict_json import read_json

__all__ = ["ALGORITHM", "KIND", "MAX_RECEIPT_BYTES", "RECEIPT_VERSION", "Receipt", "read_receipt", "sealed"]

RECEIPT_VERSION = 1
KIND = "runner.receipt"
ALGORITHM = "ed25519"
MAX_RECEIPT_BYTES = 64 * 1024 * 1024
"""Far above the longest lists that a receipt holds."""

_PREFIX = b"runner audit receipt, version 1\n"


@dataclass(frozen=True, slots=True)
class Receipt:
    """One receipt as it was read. Nothing of it is to be believed before `signed_by`."""

    statement: Mapping[str, Any]
    key_id: str
    signature: bytes

    def signed_by(self, key: PublicKey) -> bool:
        """Whether that key sealed exactly this statement."""
        return key.made(self.signature, _PREFIX + canonical(self.statement))

    @property
    def run(self) -> str:
        """The run that it says it is of."""
        return str(self.statement.get("run"))

    @property
    def lines(self) -> int:
        """How many lines it says the log has."""
        return int(self.statement["chain"]["lines"])

    @property
    def last_hash(self) -> str:
        """The hash of the log's last line, as it says."""
        return str(self.statement["chain"]["last_hash"])


def sealed(statement: Mapping[str, Any], key: SigningKey) -> bytes:
    """The receipt's file."""
    told = {"v": RECEIPT_VERSION, "kind": KIND, **statement}
    signature = base64.b64encode(key.sign(_PREFIX + canonical(told))).decode("ascii")
    seal = {"algorithm": ALGORITHM, "key_id": key.public.key_id, "value": signature}
    return canonical({"statement": told, "signature": seal}) + b"\n"


def read_receipt(raw: bytes) -> Receipt:
    """The receipt in the file's bytes.

    Raises:
        ValueError: it is no receipt of a version that is known here; the reason in a few words.
    """
    value = read_json(raw)
    if canonical(value) + b"\n" != raw:
        raise ValueError("it is not in the one form that a receipt has")
    try:
        return _receipt(value)
    except (KeyError, TypeError, binascii.Error) as error:
        raise ValueError("it is no receipt") from error


def _receipt(value: Any) -> Receipt:
    statement, seal = value["statement"], value["signature"]
    if (statement["kind"], statement["v"], seal["algorithm"]) != (KIND, RECEIPT_VERSION, ALGORITHM):
        raise ValueError("it is no receipt of a version that is known here")
    chain = statement["chain"]
    if not isinstance(chain["lines"], int) or not isinstance(chain["last_hash"], str):
        raise ValueError("it is no receipt")
    return Receipt(statement, str(seal["key_id"]), base64.b64decode(seal["value"], validate=True))
