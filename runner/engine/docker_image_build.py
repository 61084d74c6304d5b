"""Building an image: where its base comes from, and the two builds on top of it.

The base is pulled by its pinned digest where a registry answers, and made from Debian's packages where none does. On it
the Dockerfile is built bare; the labels that only the finished image can tell come in a second build, which adds no
layer.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import docker
import requests
from docker.errors import DockerException, ImageNotFound

from runner.engine import image_base, image_sources
from runner.engine.docker_containers import engine_errors
from runner.engine.image_sources import Progress, Versions
from runner.model.errors import EngineUnavailable

__all__ = ["LABEL_BASE", "LABEL_IMAGE", "LABEL_INPUTS", "Base", "ImageBuilder", "inspect"]

LABEL_IMAGE = "runner.image"
LABEL_INPUTS = "runner.inputs"
LABEL_BASE = "runner.base"

REGISTRY_SECONDS = 6  # a registry that does not say within this what it has counts as not there


@dataclass(frozen=True, slots=True)
class Base:
    """What a Dockerfile starts from. `complete` says that it has all packages, so that a build needs no network."""

    reference: str
    origin: str
    complete: bool


class ImageBuilder:
    """Builds on one engine. `scratch` is a folder for files as large as an image, which exists."""

    def __init__(
        self, client: docker.DockerClient, environment: Mapping[str, str], scratch: Path, base_tag: str
    ) -> None:
        self._client = client
        self._environment = dict(environment)
        self._scratch = scratch
        self._base_tag = base_tag
        self._registry_answers: bool | None = None

    def base(self, versions: Versions, *, force: bool, progress: Progress) -> Base:
        """The base is on the engine. Raises EngineUnavailable with code `base_unavailable` where neither way works."""
        pulled = Base(versions.pull, f"pull {versions.pull}", complete=False)
        if inspect(self._client, versions.pull) is not None:
            return pulled
        if self._registry_has(versions.pull):
            progress(f"pulling {versions.pull.partition('@')[0]}")
            with engine_errors("pulling the base"):
                self._client.api.pull(versions.pull)
            return pulled
        made = Base(self._base_tag, f"mmdebstrap {versions.suite}", complete=True)
        recipe = hashlib.sha256(json.dumps(image_base.recipe(versions)).encode()).hexdigest()
        present = inspect(self._client, self._base_tag)
        if force or present is None or (present["Config"].get("Labels") or {}).get(LABEL_INPUTS) != recipe:
            progress("no registry answers")
            with tempfile.TemporaryDirectory(dir=self._scratch) as folder:
                tar = Path(folder) / "base.tar"
                image_base.bootstrap_base(versions, tar, progress)
                self._import(tar, {LABEL_IMAGE: "base", LABEL_INPUTS: recipe, LABEL_BASE: made.origin})
        return made

    def build(
        self,
        base: Base,
        packages: Iterable[str],
        inputs: Mapping[str, bytes],
        tarballs: Mapping[str, Path],
        *,
        force: bool,
        progress: Progress,
    ) -> str:
        """The id of an image that has everything but its labels. Raises EngineUnavailable with code `build_failed`."""
        with tempfile.TemporaryFile(dir=self._scratch) as context:
            image_sources.pack_context(inputs, tarballs, context)
            context.seek(0)
            return self._run(
                context,
                progress,
                buildargs={"BASE": base.reference, "PACKAGES": " ".join(sorted(packages))},
                # Where the base has the packages, no step of the build needs a network, so none gets one. Elsewhere
                # it is the engine's own, with the proxies of the Docker client's configuration.
                network_mode="none" if base.complete else None,
                nocache=force,
            )

    def label(self, image: str, labels: Mapping[str, str], tag: str) -> None:
        """`tag` is `image` with the labels added."""
        with tempfile.TemporaryFile(dir=self._scratch) as context:
            image_sources.pack_context({"Dockerfile": f"FROM {image}\n".encode()}, {}, context)
            context.seek(0)
            self._run(context, lambda _: None, labels=dict(labels), tag=tag)

    def _registry_has(self, reference: str) -> bool:
        """Whether a registry answers for it; asked once per process, and bounded."""
        if self._registry_answers is None:
            try:
                with closing(docker.from_env(environment=self._environment, timeout=REGISTRY_SECONDS)) as asker:
                    api: Any = asker.api
                    api.inspect_distribution(reference)
                self._registry_answers = True
            except (DockerException, requests.exceptions.RequestException, OSError):
                self._registry_answers = False
        return self._registry_answers

    def _import(self, tar: Path, labels: Mapping[str, str]) -> None:
        repository, _, tag = self._base_tag.partition(":")
        changes = [f"LABEL {name}={json.dumps(value)}" for name, value in labels.items()]
        with engine_errors("importing the base"):
            answer = self._client.api.import_image_from_file(str(tar), repository=repository, tag=tag, changes=changes)
        for line in str(answer).splitlines():
            if line.strip():
                _raise_for_error(json.loads(line))

    def _run(self, context: IO[bytes], progress: Progress, **options: Any) -> str:
        image = ""
        with engine_errors("building"):
            messages: Iterator[dict[str, Any]] = self._client.api.build(
                fileobj=context, custom_context=True, decode=True, rm=True, forcerm=True, **options
            )
            for message in messages:
                _raise_for_error(message)
                if str(message.get("stream", "")).startswith("Step "):
                    progress(" ".join(str(message["stream"]).split())[:72])
                image = str((message.get("aux") or {}).get("ID", image))
        return image


def inspect(client: docker.DockerClient, reference: str) -> dict[str, Any] | None:
    """What the engine knows of an image, or None where it is not there. Raises EngineUnavailable."""
    api: Any = client.api
    with engine_errors(f"looking for {reference}"):
        try:
            found: dict[str, Any] = api.inspect_image(reference)
        except ImageNotFound:
            return None
    return found


def _raise_for_error(message: Mapping[str, Any]) -> None:
    if "error" in message:
        raise EngineUnavailable(
            f"the image could not be built: {str(message['error']).strip()[-400:]}",
            hint="Mend what the message names and run `runner image build` again.",
            code="build_failed",
        )
