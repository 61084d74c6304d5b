"""Why a helper says nothing, as far as the engine can see it.

A program inside may be long and quiet, and code of the repository may stop its own helper, which has the same user. So
silence alone says nothing; the engine is asked, and only what it knows for sure counts.
"""

from __future__ import annotations

import contextlib
from typing import Any

import docker
import requests
from docker.errors import DockerException, NotFound

__all__ = ["why_silent"]

_STOPPED = ("T", "t")  # stopped by a signal, or by a tracer: as `ps` has it


def why_silent(api: docker.APIClient, container_id: str, exec_id: str) -> str | None:
    """Why no answer can come from the exec, in a few words; None when it may still come, or nobody can say."""
    try:
        state: dict[str, Any] = api.inspect_container(container_id)["State"]
        if state.get("Paused"):
            return "its container is paused"
        if not state.get("Running"):
            return "its container does not run any more"
        helper: dict[str, Any] = api.exec_inspect(exec_id)
    except NotFound:
        return "its container is gone"
    except (DockerException, requests.exceptions.RequestException, OSError, KeyError):
        return None
    if not helper.get("Running"):
        return "its helper has ended"
    return "its helper was stopped" if _is_stopped(api, container_id, str(helper.get("Pid"))) else None


def _is_stopped(api: docker.APIClient, container_id: str, pid: str) -> bool:
    """Whether the process is. An engine whose host has no `ps` cannot say."""
    with contextlib.suppress(DockerException, requests.exceptions.RequestException, OSError):
        processes = api.top(container_id, ps_args="-eo pid,stat").get("Processes") or []
        return any(row[0] == pid and row[1].startswith(_STOPPED) for row in processes)
    return False
