"""Complete mediation: who asks the policy and then acts on a sandbox is known by name, and nobody else does."""

from __future__ import annotations

from tests.architecture.sources import Module, modules

ASKS_AND_ACTS = {
    "runner.controller.workspace": "the commit",
    "runner.controller.judged_changes": "each write, edit and deletion of the file tools",
    "runner.controller.commands": "run_command and the git tool",
    "runner.controller.push": "the branch, and every commit that would leave",
    "runner.controller.set_up": "the set-up's commands",
}


def test_only_the_known_modules_ask_the_policy_and_act_on_the_engine() -> None:
    found = {module.name for module in modules() if _decides(module) and module.imports_from("runner.engine")}
    assert found == set(ASKS_AND_ACTS), "every act has to pass one of the guards; name a new one with its reason"


def test_decisions_are_asked_for_by_the_controller_alone() -> None:
    asking = {module.name for module in modules() if _decides(module)}
    outside = {name for name in asking if not name.startswith(("runner.controller.", "runner.policy."))}
    assert not outside, "a door, a tool or an engine that decides is a second policy"


def test_a_tool_acts_through_the_guarded_workspace() -> None:
    for module in modules():
        if module.name.startswith("runner.tools.") and module.name not in (
            "runner.tools.registry",
            "runner.tools.base",
        ):
            others = {name for name, _ in module.imports if name.startswith("runner.")}
            allowed = (
                "runner.tools.",
                "runner.model.",
                "runner.policy.argv",
                "runner.policy.budget",
                "runner.policy.paths",
            )
            assert all(name.startswith(allowed) for name in others), f"{module.place} imports {sorted(others)}"


def _decides(module: Module) -> bool:
    """Whether a decision of the policy is imported: `decide_…`, `judge_…`, or the budget's module."""
    return any(
        name.startswith(("decide_", "judge_")) or (source, name) == ("runner.policy", "budget")
        for source, name in module.imports
        if source.startswith("runner.policy")
    )
