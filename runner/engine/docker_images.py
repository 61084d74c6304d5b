"""Images on a Docker engine: built from pinned inputs, listed, and looked into by a throw-away container.

A build happens only when the inputs changed: the digest over them is a label of the image, and so are the base's
origin, the versions found inside, and the registry that the image's own npm names. Nothing of Docker's types or errors
passes this module, and it decides nothing about runs.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
from docker.errors import DockerException, ImageNotFound

from runner.engine import image_sources
from runner.engine.contract import ImageInfo
from runner.engine.docker_containers import engine_errors
from runner.engine.docker_engine import components_of
from runner.engine.docker_image_build import (
    LABEL_BASE,
    LABEL_IMAGE,
    LABEL_INPUTS,
    ImageBuilder,
    inspect,
)
from runner.engine.docker_spec import LABEL_RUN
from runner.engine.image_sources import GATE, IMAGES, PACKAGED, WORKSPACE, ImageKind, Progress, Versions
from runner.engine.known_flaws import Component
from runner.model.errors import EngineUnavailable, UsageError

__all__ = [
    "BUILD",
    "LABEL_BASE",
    "LABEL_CA",
    "LABEL_IMAGE",
    "LABEL_INPUTS",
    "LABEL_REGISTRY",
    "LABEL_VERSIONS",
    "DockerImages",
    "EngineHealth",
    "ImageState",
    "build_folder",
]

LABEL_VERSIONS = "runner.versions"
LABEL_CA = "runner.ca"
LABEL_REGISTRY = "runner.npm-registry"
LABEL_PROBE = "runner.probe"

BUILD = IMAGES.parent / "build"
"""A checkout's build products: checked downloads and the record of what was built. `make clean` removes it."""

API_SECONDS = 120  # one call; a build streams, and this bounds each silence in it
PROBE_SECONDS = 120
PROBE_OUTPUT = "2m"  # the engine's bound of what a probe may print

ASK_GATE = """set -eu
dpkg-query -W -f '${Package} ${Version}\\n' git openssh-client python3
"""

ASK_WORKSPACE = """set -eu
echo "registry $(npm config get registry)"
dpkg-query -W -f '${Package} ${Version}\\n' git ripgrep python3
node=$(node --version); echo "node ${node#v}"; echo "npm $(npm --version)"; echo "pnpm $(pnpm --version)"
mise=$(mise --version); echo "mise ${mise%% *}"
"""


@dataclass(frozen=True, slots=True)
class ImageState:
    """An image as it is here.

    `current`: made from the inputs that are in the tree now. `recorded`: build/images.json names exactly this image.
    """

    reference: str
    id: str | None
    current: bool
    recorded: bool
    user: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class EngineHealth:
    """What the engine says of itself, as far as runs depend on it."""

    version: str
    architecture: str
    storage: str
    seccomp: bool
    cgroup_version: str
    limits_missing: tuple[str, ...]  # cgroup limits that it cannot set
    data_root: str
    components: tuple[Component, ...] = ()
    security: tuple[str, ...] = ()  # what it confines containers by: apparmor, selinux, userns, rootless
    runtimes: tuple[str, ...] = ("runc",)  # names that a policy may use


def build_folder(state_dir: Path) -> Path:
    """Where build products are kept: beside a checkout's sources; of an installed package, below the state folder.

    A package may belong to root, or be exchanged by an upgrade, so that nothing is ever written beside its files.
    """
    return state_dir / "images" if PACKAGED else BUILD


class DockerImages:
    """One kind of image on one engine. `environment` gives DOCKER_HOST and its kin; the process's own is not read."""

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        kind: ImageKind = WORKSPACE,
        reference: str | None = None,
        images: Path = IMAGES,
        build: Path = BUILD,
    ) -> None:
        self._kind = kind
        self._reference = reference or kind.tag
        self._images = images
        self._build = build
        with engine_errors("connecting"):
            self._client = docker.from_env(environment=dict(environment), timeout=API_SECONDS)
        self._builder = ImageBuilder(self._client, environment, build, kind.base_tag)

    def build(self, *, ca: Path | None = None, force: bool = False, progress: Progress) -> ImageState:
        """The image is there and made from the present inputs; nothing is done where that is so already.

        Args:
            ca: certificates (PEM) of an authority that the image shall trust; none are added without it.
            force: build everything anew, the base included.
            progress: gets one line per step.

        Raises:
            EngineUnavailable: no engine, no base, no tools, or a step of the build failed.
            UsageError: `ca` cannot be read or holds no certificate, or images/ is not there.
        """
        authority = _read_ca(ca)
        wanted_ca = hashlib.sha256(authority).hexdigest() if authority else ""
        former = self.state()
        if former.current and former.recorded and former.labels.get(LABEL_CA) == wanted_ca and not force:
            progress(f"{self._reference} is up to date")
            return former
        versions = image_sources.load_versions(self._images, self._kind)
        self._require_architecture(versions)
        downloads = self._build / "downloads"
        downloads.mkdir(parents=True, exist_ok=True)
        tarballs = {tool.name: image_sources.fetch_tool(tool, downloads, progress) for tool in versions.tools}
        base = self._builder.base(versions, force=force, progress=progress)
        inputs = image_sources.image_inputs(self._images, self._kind)
        context = inputs if authority is None else {**inputs, "ca/company.crt": authority}
        bare = self._builder.build(base, versions.packages, context, tarballs, force=force, progress=progress)
        labels = {
            **self._ask(bare),
            LABEL_IMAGE: self._kind.name,
            LABEL_INPUTS: image_sources.inputs_digest(inputs),
            LABEL_BASE: base.origin,
            LABEL_CA: wanted_ca,
        }
        self._builder.label(bare, labels, self._reference)
        if former.id is not None:
            self._forget(former.id)
        self._record()
        progress(f"{self._reference} is built")
        return self.state()

    def state(self) -> ImageState:
        """What is known of the image. Raises EngineUnavailable when no engine answers."""
        image = inspect(self._client, self._reference)
        if image is None:
            return ImageState(self._reference, None, current=False, recorded=False, user="", labels={})
        labels = dict(image["Config"].get("Labels") or {})
        digest = image_sources.inputs_digest(image_sources.image_inputs(self._images, self._kind))
        return ImageState(
            self._reference,
            str(image["Id"]),
            current=labels.get(LABEL_INPUTS) == digest,
            recorded=self._recorded_id() == image["Id"],
            user=str(image["Config"].get("User", "")),
            labels=labels,
        )

    def present(self) -> list[ImageInfo]:
        """Every tagged image that is ours, sorted by tag. Raises EngineUnavailable."""
        with engine_errors("listing images"):
            found: list[dict[str, Any]] = self._client.api.images(filters={"label": LABEL_IMAGE})
        tagged = [
            ImageInfo(tag, str(image["Id"]), dict(image.get("Labels") or {}), int(image["Size"]))
            for image in found
            for tag in image.get("RepoTags") or ()
            if tag != "<none>:<none>"
        ]
        return sorted(tagged, key=lambda info: info.reference)

    def remove(self, labels: Sequence[str] = (LABEL_IMAGE, LABEL_PROBE, LABEL_RUN)) -> list[str]:
        """Containers and then images with any of `labels` are gone; their names and tags. Raises EngineUnavailable."""
        gone: list[str] = []
        api = self._client.api
        with engine_errors("removing what is ours"):
            for label in labels:
                for container in api.containers(all=True, filters={"label": label}):
                    api.remove_container(container["Id"], force=True, v=True)
                    gone += [name.lstrip("/") for name in container["Names"]]
            # An image goes after those built on it, and removing one may take its untagged parents along.
            for label in labels:
                found = sorted(api.images(filters={"label": label}), key=lambda image: -int(image["Created"]))
                for image in found:
                    with contextlib.suppress(ImageNotFound):
                        api.remove_image(image["Id"], force=True)
                    gone += [tag for tag in image.get("RepoTags") or () if tag != "<none>:<none>"]
        return gone

    def probe(self, script: str, *, user: str = "", environment: Mapping[str, str] | None = None) -> str:
        """What `script` (for /bin/sh) prints in a throw-away container of the image, caged as runs are.

        `user` is the image's own unless given. Raises EngineUnavailable, code `image_broken` when the script fails.
        """
        return self._probe(self._reference, script, user, environment or {})

    def health(self) -> EngineHealth:
        """What the engine says of itself. Raises EngineUnavailable when it does not answer."""
        with engine_errors("asking how it is"):
            facts: dict[str, Any] = self._client.api.info()
            version: dict[str, Any] = self._client.api.version()
        options = [str(option) for option in facts.get("SecurityOptions") or ()]
        limits = {"memory": "MemoryLimit", "swap": "SwapLimit", "processes": "PidsLimit", "cpu": "CpuCfsQuota"}
        return EngineHealth(
            version=str(facts.get("ServerVersion", "")),
            architecture=str(facts.get("Architecture", "")),
            storage=str(facts.get("Driver", "")),
            seccomp=any("name=seccomp" in option for option in options),
            cgroup_version=str(facts.get("CgroupVersion", "1")),
            limits_missing=tuple(name for name, key in limits.items() if not facts.get(key)),
            data_root=str(facts.get("DockerRootDir", "")),
            components=components_of(version),
            security=tuple(option.partition(",")[0].removeprefix("name=") for option in options),
            runtimes=tuple(sorted(facts.get("Runtimes") or {})),
        )

    def close(self) -> None:
        """Give back the client's sockets."""
        self._client.close()

    def _probe(self, reference: str, script: str, user: str, environment: Mapping[str, str]) -> str:
        with engine_errors(f"looking into {reference}"):
            container = self._client.containers.create(
                reference,
                ["/bin/sh", "-c", script],
                user=user or None,
                environment=dict(environment),
                labels={LABEL_PROBE: "true"},
                network_mode="none",
                ipc_mode="none",
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                read_only=True,
                tmpfs={path: f"mode={mode},size=64m" for path, mode in _PROBE_TMPFS.items()},
                mem_limit="1g",
                pids_limit=128,
                init=True,
                log_config=docker.types.LogConfig(type="json-file", config={"max-size": PROBE_OUTPUT}),
            )
            try:
                container.start()
                code = int(container.wait(timeout=PROBE_SECONDS)["StatusCode"])
                output = bytes(container.logs(stdout=True, stderr=code != 0)).decode("utf-8", "replace")
            finally:
                container.remove(force=True, v=True)
        if code != 0:
            raise EngineUnavailable(
                f"a probe of {reference} ended with {code}: {output.strip()[-300:]}",
                hint="Rebuild the image with `runner image build --force`.",
                code="image_broken",
            )
        return output

    def _require_architecture(self, versions: Versions) -> None:
        machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(self.health().architecture, "another")
        if machine != versions.architecture:
            raise EngineUnavailable(
                f"the pinned tools are for {versions.architecture}, and the engine's host is {machine}",
                hint="Use an engine on an x86-64 host.",
                code="architecture_unsupported",
            )

    def _ask(self, image: str) -> dict[str, str]:
        """Labels that only the image itself can tell: what is installed, and the registry that its npm names."""
        script = ASK_GATE if self._kind is GATE else ASK_WORKSPACE
        lines = self._probe(image, script, "", {}).splitlines()
        answers = dict(line.split(" ", 1) for line in lines if " " in line)
        registry = answers.pop("registry", None)
        labels = {} if registry is None else {LABEL_REGISTRY: registry}
        return {**labels, LABEL_VERSIONS: json.dumps(answers, sort_keys=True)}

    def _forget(self, image: str) -> None:
        """The former image is gone, unless it has a tag, or a container that still needs it."""
        present = inspect(self._client, image)
        if present is not None and not present.get("RepoTags"):
            with contextlib.suppress(DockerException):
                self._client.api.remove_image(image, force=False)

    def _record(self) -> None:
        image = self.state()
        entry = {"id": image.id, "base": image.labels.get(LABEL_BASE), "inputs": image.labels.get(LABEL_INPUTS)}
        text = json.dumps({**self._recorded(), self._reference: entry}, indent=2, sort_keys=True)
        (self._build / "images.json").write_text(text + "\n", encoding="utf-8")

    def _recorded(self) -> dict[str, Any]:
        try:
            record = json.loads((self._build / "images.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return record if isinstance(record, dict) else {}

    def _recorded_id(self) -> str | None:
        try:
            return str(self._recorded()[self._reference]["id"])
        except (KeyError, TypeError):
            return None


_PROBE_TMPFS = {"/tmp": "1777", "/home/agent": "1777", "/workspace": "1777"}  # noqa: S108 - paths inside the container


def _read_ca(path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", hint="Give --ca a PEM file.") from None
    if b"-----BEGIN CERTIFICATE-----" not in content:
        raise UsageError(f"{path} holds no certificate in PEM form", hint="Give --ca a PEM file.")
    return content
