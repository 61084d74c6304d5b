"""The corpus of hostile repositories, one function for each flaw, built by code: no `.git` is checked in."""

from __future__ import annotations

from tests.support.hostile_config import CONFIG_FLAWS
from tests.support.hostile_history import HISTORY_FLAWS
from tests.support.hostile_packs import PACK_FLAWS
from tests.support.hostile_site import BORROWED, CLEAN, Flaw, Site, Trap, hostile_site
from tests.support.hostile_trees import TREE_FLAWS

__all__ = ["BORROWED", "CLEAN", "FLAWS", "Flaw", "Site", "Trap", "hostile_site"]

FLAWS: tuple[Flaw, ...] = (*CONFIG_FLAWS, *TREE_FLAWS, *HISTORY_FLAWS, *PACK_FLAWS)
