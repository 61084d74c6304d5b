"""The helper's switch that lets it kill everything of its user cannot be meant on this machine."""

from __future__ import annotations

from images.workspace import helper


def test_the_helper_refuses_to_own_a_machine_outside_a_cage() -> None:
    # Read only: asks for the user id and the no-new-privileges flag of this process, and kills nothing.
    assert not helper.may_be_contained()
