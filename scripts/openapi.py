"""Writes docs/openapi.json: the HTTP API as the application itself describes it. `make openapi` calls this."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from runner.controller.host import GateMode, Host
from runner.controller.records import StateFolder
from runner.doors.asking import request_of
from runner.doors.http.app import Parts, make_app
from runner.engine.fake import FakeEngine
from runner.serving.service import Service
from runner.store.database import Database, default_url
from runner.store.runs import RunStore
from runner.store.tokens import TokenStore

__all__ = ["PAGE", "document", "text_of"]

PAGE = Path(__file__).resolve().parent.parent / "docs" / "openapi.json"


def document() -> dict[str, Any]:
    """The description. No request is answered for it, so its host is one in memory."""
    with tempfile.TemporaryDirectory() as folder:
        state = StateFolder(Path(folder) / "state")
        database = Database(default_url(state.path))
        try:
            host = _host(state)
            service = Service(
                host, RunStore(database, time.time), lambda asked: request_of(asked.repo), runs_per_tenant=1
            )
            return make_app(Parts(host, service, TokenStore(database, time.time), time.monotonic)).openapi()
        finally:
            database.close()


def text_of(described: dict[str, Any]) -> str:
    """The file's text."""
    return json.dumps(described, indent=1, ensure_ascii=True) + "\n"


def _host(state: StateFolder) -> Host:
    return Host(
        engine=FakeEngine(),
        state=state,
        image="none",
        gate=GateMode.HOST,
        gate_image="none",
        ssh_known_hosts=None,
        ca_file=None,
        npm_registry=None,
        secrets={},
        monotonic=time.monotonic,
        unix=time.time,
    )


if __name__ == "__main__":
    PAGE.write_text(text_of(document()), encoding="utf-8")
