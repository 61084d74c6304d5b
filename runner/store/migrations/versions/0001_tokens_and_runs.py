"""The first tables: tokens and runs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """The two tables are there."""
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("tenant", sa.String(64), nullable=False, index=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("policies", sa.Text, nullable=False),
        sa.Column("repositories", sa.Text, nullable=False),
        sa.Column("verbs", sa.Text, nullable=False),
        sa.Column("created_unix", sa.Float, nullable=False),
        sa.Column("expires_unix", sa.Float, nullable=False),
        sa.Column("revoked_unix", sa.Float),
        sa.Column("note", sa.String(200), nullable=False, server_default=""),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("tenant", sa.String(64), nullable=False, index=True),
        sa.Column("token", sa.String(32), nullable=False),
        sa.Column("state", sa.String(16), nullable=False, index=True),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("request_digest", sa.String(64), nullable=False),
        sa.Column("idempotency_key", sa.String(200)),
        sa.Column("created_unix", sa.Float, nullable=False),
        sa.Column("opened_unix", sa.Float),
        sa.Column("ended_unix", sa.Float),
        sa.Column("exit_code", sa.Integer),
        sa.Column("code", sa.String(64)),
        sa.Column("because", sa.Text, nullable=False, server_default=""),
        sa.UniqueConstraint("tenant", "idempotency_key", name="one_run_for_a_key"),
    )


def downgrade() -> None:
    """Going back would throw away who may do what; restore a copy of the database instead."""
    raise NotImplementedError("restore a copy of the database that was made before the upgrade")
