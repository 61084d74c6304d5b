"""Opening the database: the address checked, SQLite made fit for several threads, the tables brought up to date."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from runner.model.errors import ExitCode, RunnerError

__all__ = ["Database", "StoreUnavailable", "default_url"]

_BUSY_MILLISECONDS = 5000
"""How long SQLite waits for another writer: transactions here take milliseconds, so a longer one is stuck."""

_MIGRATIONS = Path(__file__).parent / "migrations"


class StoreUnavailable(RunnerError):
    """The database does not answer, is locked, or is not one of ours. Nothing was changed."""

    code = "store_unavailable"
    exit_code = ExitCode.ENGINE  # like the engine: what the host lends, and no bug of ours


def default_url(state_dir: Path) -> str:
    """SQLite in the state folder."""
    return f"sqlite:///{state_dir / 'server.sqlite3'}"


class Database:
    """An open database with the newest tables.

    Raises:
        StoreUnavailable: with the mend.
    """

    def __init__(self, url: str) -> None:
        self._engine = _engine(url)
        try:
            with self._guarded():
                self._migrate()
        except StoreUnavailable:
            self.close()
            raise

    def close(self) -> None:
        """Its connections are given back."""
        self._engine.dispose()

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """A transaction: kept when the block ends well, as if it had never been otherwise.

        Raises:
            StoreUnavailable: the database did not take it.
        """
        with self._guarded(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            said = str(getattr(error, "orig", None) or error).splitlines()[0]
            hint = "Another program may hold it locked, its disk may be full, or its server does not answer."
            raise StoreUnavailable(f"the server's database cannot be used: {said}", hint=hint) from error

    def _migrate(self) -> None:
        config = Config()
        config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
        with self._engine.begin() as connection:
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, "head")
            except CommandError as error:
                raise StoreUnavailable(
                    "the server's database is of a newer version of runner",
                    hint="Use that version, or a copy of the database from before the upgrade.",
                ) from error


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "postgresql":
            return create_engine(parsed.set(drivername="postgresql+psycopg"), pool_pre_ping=True)
        if parsed.get_backend_name() != "sqlite":
            raise StoreUnavailable(
                f"the database {parsed.get_backend_name()!r} is not supported",
                hint="Say sqlite:///PATH or postgresql://USER@HOST/NAME.",
            )
        engine = create_engine(parsed)
    except (ArgumentError, NoSuchModuleError) as error:
        raise StoreUnavailable(
            "the database's address cannot be read", hint="Say sqlite:///PATH or postgresql://USER@HOST/NAME."
        ) from error
    except ImportError as error:
        raise StoreUnavailable(
            "PostgreSQL's client library is missing",
            hint="Install the wheel of `make package` with its extra: 'FILE.whl[postgres]'.",
        ) from error
    _owner_only(parsed.database)
    event.listen(engine, "connect", _fit_for_threads)
    return engine


def _owner_only(path: str | None) -> None:
    """The file exists and is its owner's alone: it tells who has tokens, and of which rights."""
    if not path or path == ":memory:":
        return
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        Path(path).chmod(0o600)
    except OSError as error:
        raise StoreUnavailable(
            f"the database {path} cannot be opened: {error.strerror}", hint="Choose another with --db."
        ) from error


def _fit_for_threads(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()
