"""Alembic's way into the migrations: always over the connection that `Database` hands in."""

from __future__ import annotations

from alembic import context

from runner.store.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
