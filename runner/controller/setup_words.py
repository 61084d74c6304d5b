"""What set-up has to say to people, and to the report: nothing here acts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runner.controller.install_layer import InstallLayer
from runner.controller.left_out import LeftOut
from runner.controller.package_cache import PackageCache
from runner.controller.tree_view import SandboxTree
from runner.egress.values import EgressEvent
from runner.engine.contract import ImageInfo
from runner.setup.detect import package_json
from runner.setup.plan import SetupPlan
from runner.setup.tool_versions import compare, image_versions, wishes

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared

__all__ = ["note_refusal", "say_cache", "say_layer", "say_left_out", "say_tools"]

_VERSIONS_LABEL = "runner.versions"
_MAX_REFUSALS = 20


def say_left_out(run: Prepared, found: LeftOut) -> None:
    """LFS pointers and submodules."""
    run.facts["left_out"] = found.facts()
    for note in found.notes():
        run.progress(note)


def say_tools(run: Prepared, plan: SetupPlan, tree: SandboxTree, image: ImageInfo) -> None:
    """Which versions the repository asks for, beside those of the image."""
    versions = image_versions(image.labels.get(_VERSIONS_LABEL, ""))
    findings = compare(wishes(plan.tools, package_json(tree), tree), versions)
    run.facts["setup"]["tools"] = [
        {"tool": f.wish.tool, "wanted": f.wish.wanted, "by": f.wish.source, "has": f.has, "fit": str(f.fit)}
        for f in findings
    ]
    for finding in findings:
        if finding.note is not None:
            run.progress(f"tools: {finding.note}")


def say_cache(run: Prepared, plan: SetupPlan, cache: PackageCache) -> None:
    """Whether the install had a kept cache, and whether its own is kept."""
    run.audit.append("setup.cache", cache.facts)
    if plan.installs is not None:
        run.progress(f"package cache: {_kept(cache.facts)}")


def say_layer(run: Prepared, plan: SetupPlan, layer: InstallLayer) -> None:
    """Whether what the install would make was kept, and whether what it made is."""
    run.audit.append("setup.layer", layer.facts)
    if plan.installs is not None:
        run.progress(f"installed packages: {_kept(layer.facts)}")


def _kept(facts: Mapping[str, Any]) -> str:
    why = f" ({facts['why']})" if facts["why"] else ""
    kept = ", kept for later runs" if facts["kept"] and facts["outcome"] != "hit" else ""
    return f"{facts['outcome']}{why}{kept}"


def note_refusal(run: Prepared, event: EgressEvent) -> None:
    """A connection that the set-up's network refused; the first few, since a retrying program makes many."""
    refused = run.facts["setup"].setdefault("refused_hosts", [])
    told = {"host": event.host, "port": event.port, "rule": event.rule}
    if event.host and told not in refused and len(refused) < _MAX_REFUSALS:
        refused.append(told)
