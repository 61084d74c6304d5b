"""A PostgreSQL of the tests' own: a cluster in a temporary folder, seen through its socket file and nowhere else."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

__all__ = ["Postgres", "running_postgres"]

_PACKAGED = "/usr/lib/postgresql"
_SECONDS = 60
_SETTINGS = "-c listen_addresses= -c fsync=off -c max_connections=50 -c shared_buffers=16MB -k"


class Postgres:
    """A running server."""

    def __init__(self, sockets: Path) -> None:
        self._sockets = sockets
        self._numbers = itertools.count()

    def fresh(self) -> str:
        """The address of a new, empty database."""
        name = f"fresh{next(self._numbers)}"
        with psycopg.connect(f"host={self._sockets} user=runner dbname=postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode("ascii"))
        return f"postgresql://runner@/{name}?host={self._sockets}"


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """One that is gone, with its data, at the end of the block. It refuses to run as root, so it does not."""
    programs = _programs()
    user = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # a socket's path is short
    os.chown(folder, user.pw_uid, user.pw_gid)

    as_user: dict[str, Any] = {}
    if os.getuid() == 0:
        as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    def run(program: str, *arguments: str) -> None:
        subprocess.run(
            [str(programs / program), "-D", str(folder / "data"), *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=_SECONDS,
            cwd=folder,
            **as_user,
        )

    try:
        run("initdb", "-U", "runner", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", f"{_SETTINGS} {folder}", "start")
        try:
            yield Postgres(folder)
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def _programs() -> Path:
    """Where they are; Debian keeps them off the path, one folder for each version."""
    for version in sorted(Path(_PACKAGED).glob("*"), key=lambda folder: int(folder.name), reverse=True):
        if (version / "bin" / "initdb").exists():
            return version / "bin"
    found = shutil.which("initdb")
    if found is None:
        raise FileNotFoundError("PostgreSQL is missing; `make test-tools` installs it")
    return Path(found).resolve().parent
