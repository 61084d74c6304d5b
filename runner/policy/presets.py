"""The policies that ship: their names, and where their files are."""

from __future__ import annotations

from pathlib import Path

__all__ = ["DEFAULT_PRESET", "EXAMPLES_SUFFIX", "preset_names", "preset_path"]

DEFAULT_PRESET = "default"
"""What a run gets when nobody names a policy."""

EXAMPLES_SUFFIX = ".test.yml"
"""What the file of a policy's own examples is called instead of `.yml`."""

_FOLDERS = (
    Path(__file__).resolve().parent / "_presets",  # an installed package: what lies beside it is not ours
    Path(__file__).resolve().parents[2] / "policies",  # a checkout
)


def preset_names() -> tuple[str, ...]:
    """The names of all presets, sorted."""
    return tuple(sorted(path.stem for path in _folder().glob("*.yml") if not path.name.endswith(EXAMPLES_SUFFIX)))


def preset_path(name: str) -> Path | None:
    """The file of the preset; None when there is none of that name. A name never leads out of the folder."""
    return _folder() / f"{name}.yml" if name in preset_names() else None


def _folder() -> Path:
    return next((folder for folder in _FOLDERS if folder.is_dir()), _FOLDERS[0])
