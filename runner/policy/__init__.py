"""Decisions: what a run may do. Pure: no Docker, no files, no clock that is not handed in."""
