"""The form of a tool's error: what a model reads in the message, what a program finds in the details."""

from __future__ import annotations

from runner.model.errors import ErrorCode, ToolError


def test_the_message_of_an_answer_says_what_to_do_instead_and_the_details_have_it_apart() -> None:
    error = ToolError(ErrorCode.PATH_INVALID, "No path.", rule="path.form", hint="Give one.", details={"n": 1})
    assert error.as_json() == {
        "code": "path_invalid",
        "message": "No path. Give one.",
        "details": {"n": 1, "rule": "path.form", "hint": "Give one."},
    }
    assert error.message == "No path."


def test_an_error_without_rule_and_hint_has_none_in_its_details() -> None:
    assert ToolError(ErrorCode.UNKNOWN_TOOL, "No.").as_json() == {
        "code": "unknown_tool",
        "message": "No.",
        "details": {},
    }
