"""`runner image`: build the workspace image, show it, and prove what it promises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from runner.doors import render
from runner.doors.rows import Format, Output, print_rows
from runner.engine.docker_images import LABEL_BASE, LABEL_INPUTS, LABEL_VERSIONS, DockerImages, build_folder
from runner.engine.image_promises import check_promises
from runner.engine.image_sources import GATE, WORKSPACE, ImageKind
from runner.model.errors import ExitCode
from runner.settings import Settings

__all__ = ["image_app"]

image_app = typer.Typer(help="Build, list and verify the images that runs start from.", no_args_is_help=True)


@image_app.command("build")
def build(
    ca: Annotated[Path | None, typer.Option(help="PEM file of an authority that the image shall trust.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Build everything anew, the base included.")] = False,
) -> None:
    """Build the workspace's and the gate's image; nothing happens when they are up to date.

    Example: runner image build
    """
    # Build products may lie in the state folder, and whoever makes that folder makes it its owner's alone.
    Settings.from_environment().state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    for kind in (WORKSPACE, GATE):
        with _images(kind) as images:
            images.build(ca=ca, force=force, progress=render.progress)


@image_app.command("ls")
def ls(output: Output = Format.TABLE) -> None:
    """List the images that are ours, with what they were made of.

    Example: runner image ls -o json
    """
    with _images() as images:
        found = images.present()
    if output is not Format.TABLE:
        print_rows(
            [
                {"image": info.reference, "id": info.id, "bytes": info.size_bytes, "labels": dict(info.labels)}
                for info in found
            ],
            (),
            output,
        )
        return
    rows = [
        (
            info.reference,
            info.id.removeprefix("sha256:")[:12],
            f"{info.size_bytes / 1e6:.0f} MB",
            info.labels.get(LABEL_BASE, ""),
            info.labels.get(LABEL_VERSIONS, "") or info.labels.get(LABEL_INPUTS, "")[:12],
        )
        for info in found
    ]
    render.table(("image", "id", "size", "base", "versions"), rows)


@image_app.command("verify")
def verify(output: Output = Format.TABLE) -> None:
    """Probe every promise of images/README.md on the image that is here; exit 3 when one is broken.

    Example: runner image verify
    """
    with _images() as images:
        results = check_promises(images)
    if output is not Format.TABLE:
        told = [{"promise": one.promise.id, "kept": one.kept, "breaches": list(one.breaches)} for one in results]
        print_rows(told, (), output)
    else:
        rows = [
            (
                result.promise.id,
                "pass" if result.kept else "FAIL",
                "; ".join(result.breaches) or result.promise.sentence,
            )
            for result in results
        ]
        render.table(("promise", "", "what was found"), rows)
    if not all(result.kept for result in results):
        raise typer.Exit(int(ExitCode.ENGINE))


@image_app.command("rm")
def rm() -> None:
    """Remove our images, and every container of ours, running ones too.

    Example: runner image rm
    """
    with _images() as images:
        for name in images.remove():
            render.progress(f"removed {name}")


@contextmanager
def _images(kind: ImageKind = WORKSPACE) -> Iterator[DockerImages]:
    settings = Settings.from_environment()
    reference = settings.gate_image if kind is GATE else settings.image
    folder = build_folder(settings.state_dir)
    images = DockerImages(settings.docker, kind=kind, reference=reference, build=folder)
    try:
        yield images
    finally:
        images.close()
