"""What the policy answers: allow or deny, by which rule, in which words."""

from __future__ import annotations

from dataclasses import dataclass, replace

from runner.model.errors import ErrorCode, ToolError

__all__ = ["Decision"]


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict. A denial always has a code, the id of the rule, a message, and a hint of what to do instead."""

    allowed: bool
    rule: str
    code: ErrorCode | None = None
    message: str = ""
    hint: str = ""

    @classmethod
    def allow(cls, rule: str) -> Decision:
        """Allowed, and by which rule."""
        return cls(allowed=True, rule=rule)

    @classmethod
    def deny(cls, code: ErrorCode, rule: str, message: str, hint: str) -> Decision:
        """Refused by `rule`; `hint` says what to do instead."""
        return cls(allowed=False, rule=rule, code=code, message=message, hint=hint)

    def by(self, narrowing: int) -> Decision:
        """The same verdict, of the file of that number that narrows the policy; 0 is the policy itself."""
        if self.allowed or narrowing == 0:
            return self
        return replace(self, rule=f"narrow.{narrowing}.{self.rule}", message=f"Narrowed for this run: {self.message}")

    def raise_if_denied(self) -> None:
        """Nothing happens when allowed.

        Raises:
            ToolError: with the code, rule and hint of this decision, when it is a denial.
        """
        if self.allowed:
            return
        if self.code is None:
            raise AssertionError("a denial without a code is a bug")
        raise ToolError(self.code, self.message, rule=self.rule, hint=self.hint or None)
