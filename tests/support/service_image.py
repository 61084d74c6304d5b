"""The image of the tests' servers: built when a test first needs it, on the base that the workspace image stands on.

Its tag names its inputs, so two checkouts on one engine do not build over each other, and nothing is built twice. It
carries the label of our images: `make clean` removes it, and every container of it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import ssl
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import docker

from runner.engine.docker_image_build import LABEL_BASE, LABEL_IMAGE, LABEL_INPUTS, ImageBuilder, inspect
from runner.engine.docker_images import BUILD
from runner.engine.image_base import host_sources
from runner.engine.image_sources import WORKSPACE, Versions, inputs_digest, load_versions, pack_context
from runner.settings import Settings

__all__ = ["services_image"]

SOURCE = Path(__file__).parent / "images" / "services"
REPOSITORY = "runner-test-services"
API_SECONDS = 300  # bounds each silence of the build; apt is quiet while it downloads


def services_image() -> str:
    """The tag of the image, which is there afterwards.

    Raises:
        EngineUnavailable: no engine answers, or there is no base.
        AssertionError: the build failed; the text is the engine's.
    """
    settings = Settings.from_environment()
    versions = load_versions()
    inputs = {path.name: path.read_bytes() for path in SOURCE.iterdir()}
    with _one_at_a_time(), contextlib.closing(_client(settings)) as client:
        base = _base(client, settings, versions)
        digest = inputs_digest({**inputs, "base": base["Id"].encode()})
        tag = f"{REPOSITORY}:{digest[:16]}"
        if inspect(client, tag) is None:
            _build(client, {**inputs, **_host_files(versions)}, base["Id"], {LABEL_INPUTS: digest}, tag)
    return tag


@contextlib.contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Tests in parallel are other processes; the first one builds, and the rest find what it built."""
    folder = os.open(SOURCE, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _client(settings: Settings) -> docker.DockerClient:
    return docker.from_env(environment=dict(settings.docker), timeout=API_SECONDS)


def _base(client: docker.DockerClient, settings: Settings, versions: Versions) -> dict[str, Any]:
    """The base as the workspace image's label names it; asking registries for it is only needed where it is gone."""
    workspace = inspect(client, settings.image)
    origin = str(((workspace or {}).get("Config", {}).get("Labels") or {}).get(LABEL_BASE, ""))
    found = inspect(client, origin.removeprefix("pull ") if origin.startswith("pull ") else WORKSPACE.base_tag)
    if found is None:
        BUILD.mkdir(exist_ok=True)
        made = ImageBuilder(client, settings.docker, BUILD, WORKSPACE.base_tag).base(
            versions, force=False, progress=lambda _: None
        )
        found = inspect(client, made.reference)
    assert found is not None
    return found


def _host_files(versions: Versions) -> dict[str, bytes]:
    """What apt needs of this host: its mirrors, and the authorities that sign for them. No input of the digest."""
    sources = "".join(f"{line}\n" for line in host_sources(versions.suite))
    files = {"apt/host.list": sources.encode()}
    trusted = ssl.get_default_verify_paths().cafile
    if trusted is not None:
        files["ca/host.pem"] = Path(trusted).read_bytes()
    return files


def _build(client: docker.DockerClient, context: dict[str, bytes], base: str, labels: dict[str, str], tag: str) -> None:
    with tempfile.TemporaryFile() as packed:
        pack_context(context, {}, packed)
        packed.seek(0)
        for message in _messages(client, packed, base, {**labels, LABEL_IMAGE: "services"}, tag):
            assert "error" not in message, message["error"]


def _messages(client: docker.DockerClient, packed: IO[bytes], base: str, labels: dict[str, str], tag: str) -> Any:
    return client.api.build(
        fileobj=packed,
        custom_context=True,
        decode=True,
        rm=True,
        forcerm=True,
        tag=tag,
        labels=labels,
        buildargs={"BASE": base},
        # The host's mirrors are reached as the host reaches them, also where containers are given no way out.
        network_mode="host",
    )
