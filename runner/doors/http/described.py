"""What the API's description says beyond what the routes tell by themselves: its errors, and that a token is needed."""

from __future__ import annotations

from typing import Any

from fastapi import Depends, FastAPI
from fastapi.security import HTTPBearer

from runner.doors.http.problems import CONTENT_TYPE, Problem

__all__ = ["BEARER", "ERRORS", "describe", "errors"]

BEARER = Depends(HTTPBearer(auto_error=False, description="A token that `runner token create` made."))
"""Only says so; `Admission` is what lets nobody in without one."""

_SAID = {
    400: "The body cannot be read.",
    401: "No token, or a wrong, expired or revoked one.",
    403: "The token is not for this.",
    404: "There is no such run, or nothing of that name.",
    408: "The body came too slowly.",
    409: "The run has ended.",
    413: "The body is too large.",
    422: "The request cannot be carried out as it is.",
    429: "The tenant has had its share.",
    500: "A fault of the server.",
    503: "The engine or the database does not answer, or a control could not be proved.",
}
_PROBLEM = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """These errors, for a route's `responses`."""
    return {status: {"description": _SAID[status], "content": _PROBLEM} for status in statuses}


ERRORS = errors(*_SAID)


def describe(app: FastAPI) -> None:
    """The application's description has the form of problems, which no route has as its model."""
    told = app.openapi

    def openapi() -> dict[str, Any]:
        described = told()
        described["components"]["schemas"]["Problem"] = Problem.model_json_schema()
        return described

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way
