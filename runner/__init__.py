r"""runner: a self-hosted, container-isolated sandbox runner for work on repositories that nobody trusts.

```python
import runner

with runner.open_run(repo=".", policy="node-app") as ws:
    text = ws.read_file("README.md")
    ws.write_file("src/new.mjs", "export const n = 1;\n")
    result = ws.run_command(["node", "--check", "src/new.mjs"])
```

`runner.aio` has the same names for asyncio, `runner.testing` a workspace in memory for tests.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from runner.model.version import VERSION as __version__

if TYPE_CHECKING:
    from runner.controller.held import Ending as Ending
    from runner.doors import aio as aio
    from runner.doors import testing as testing
    from runner.doors.python import ToolRefused as ToolRefused
    from runner.doors.python import Workspace as Workspace
    from runner.doors.python import open_run as open_run
    from runner.model.errors import RunnerError as RunnerError
    from runner.settings import Settings as Settings

__all__ = ["Ending", "RunnerError", "Settings", "ToolRefused", "Workspace", "__version__", "aio", "open_run", "testing"]


# Looked up when they are asked for: a part of the package that needs one module must not load them all.
_WHERE = {
    "Ending": "runner.controller.held",
    "RunnerError": "runner.model.errors",
    "Settings": "runner.settings",
    "ToolRefused": "runner.doors.python",
    "Workspace": "runner.doors.python",
    "open_run": "runner.doors.python",
}
_MODULES = {"aio": "runner.doors.aio", "testing": "runner.doors.testing"}


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    raise AttributeError(f"module 'runner' has no attribute {name!r}")
