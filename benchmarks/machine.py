"""Where and of what the figures were taken: without these facts an absolute figure says nothing."""

from __future__ import annotations

import os
import platform
import subprocess
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.stage import GIT, ROOT, Stage
from runner.engine.docker_images import DockerImages
from runner.settings import Settings

__all__ = ["commit", "load", "machine"]


def commit() -> tuple[str, bool]:
    """The commit that is checked out, and whether files differ from it. `unknown` outside a checkout."""
    head = _git("rev-parse", "HEAD")
    return (head or "unknown", bool(_git("status", "--porcelain", "--untracked-files=normal")) or not head)


def machine(stage: Stage) -> dict[str, Any]:
    """Processors, memory, kernel, engine, image and Python."""
    engine = stage.host.engine.info()
    return {
        "cpus": len(os.sched_getaffinity(0)),
        "cpu": _cpu_model(),
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
        "kernel": platform.release(),
        "engine": f"{engine.name} {engine.version}",
        "storage": engine.storage,
        "cgroup": engine.cgroup_version,
        "image": f"{stage.image.id.removeprefix('sha256:')[:12]} ({_image_age()})",
        "python": platform.python_version(),
        "docker-py": version("docker"),
        "git": _git("--version").removeprefix("git version "),
    }


def load() -> float:
    """How many processes wanted a processor, on average over the last minute."""
    return round(os.getloadavg()[0], 2)


def _git(*arguments: str) -> str:
    done = subprocess.run([GIT, "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _image_age() -> str:
    """Whether the helper inside is the one of the tree: figures of another one are figures of another product."""
    with closing(DockerImages(Settings.from_environment().docker)) as images:
        return "as in the tree" if images.state().current else "older than the tree"


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
