"""Where tokgate's own rigs, baselines, probe and plant lie: in its checkout, or in the installed package."""

from __future__ import annotations

import functools
from pathlib import Path

DEFAULT = "sim-8gpu"  # of the shipped rigs the one that needs no GPU: chosen where no rig is named
FOLDER = Path(__file__).parents[1] / "shipped"


@functools.cache
def shipped_root() -> Path:
    """Return the folder that holds rigs/, baselines/, probe/ and plant/: what `{root}` is in a shipped rig.

    In a checkout tokgate/shipped has links to the folders at the top, and this is the checkout.
    """
    return (FOLDER / "rigs").resolve().parent


def is_checkout() -> bool:
    """Say whether this tokgate runs from its checkout; else it is an installed copy, where nothing is ever written."""
    return shipped_root() != FOLDER.resolve()


def baselines_home(root: Path, rig: str) -> Path:
    """Return the folder whose baselines/ holds those of `rig`: the repository `root`, or what tokgate ships.

    What the repository has stored counts alone; only where it has no folder for the rig, the shipped one does, if there is
    one and the repository has no rig of its own by that name.
    """
    own = (root / "baselines" / rig).is_dir() or (root / "rigs" / f"{rig}.toml").is_file()
    shipped = shipped_root()
    return shipped if not own and (shipped / "baselines" / rig).is_dir() else root
