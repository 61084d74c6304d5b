"""The tables, as the newest migration leaves them. A change here goes with a migration; a test compares the two."""

from __future__ import annotations

from sqlalchemy import Column, Float, Integer, MetaData, String, Table, Text, UniqueConstraint

__all__ = ["METADATA", "RUNS", "TOKENS"]

METADATA = MetaData()

TOKENS = Table(
    "tokens",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("tenant", String(64), nullable=False, index=True),
    Column("digest", String(64), nullable=False),  # SHA-256 of the secret, which is 256 bits from the system's source
    Column("policies", Text, nullable=False),  # JSON lists
    Column("repositories", Text, nullable=False),
    Column("verbs", Text, nullable=False),
    Column("created_unix", Float, nullable=False),
    Column("expires_unix", Float, nullable=False),
    Column("revoked_unix", Float),
    Column("note", String(200), nullable=False, server_default=""),
)

RUNS = Table(
    "runs",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("tenant", String(64), nullable=False, index=True),
    Column("token", String(32), nullable=False),
    Column("state", String(16), nullable=False, index=True),  # `RunState`
    Column("request", Text, nullable=False),  # JSON, as it was asked for
    Column("request_digest", String(64), nullable=False),
    Column("idempotency_key", String(200)),
    Column("created_unix", Float, nullable=False),
    Column("opened_unix", Float),
    Column("ended_unix", Float),
    Column("exit_code", Integer),
    Column("code", String(64)),
    Column("because", Text, nullable=False, server_default=""),
    UniqueConstraint("tenant", "idempotency_key", name="one_run_for_a_key"),
)
