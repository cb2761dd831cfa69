"""A server whose verify is slower, and of which no setting of the rig tells: as a patch of SGLang would do it.

The plant (plant/) lies in the server's own site while such a session runs, and a Python of its own orders it. The session's identity
is that of a healthy one, so it is compared with the stored baseline.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from host_install import SERVING, Installed

PLANT = "plant"  # its folder in the checkout


def name_of(order: str) -> str:
    """Return e.g. "python3-verify-20-rank-3" for "20%@3"."""
    return f"python3-verify-{order.replace('%', '').replace('@', '-rank-')}"


def python_of(order: str) -> str:
    """Return what a rig sets server.python to, so that verify takes so much longer: "5%", or "20%@3" in rank 3 alone."""
    return f"{{root}}/{SERVING}/bin/{name_of(order)}"


def write_python(place: Installed, longer: str) -> None:
    python = place.server_python.with_name(name_of(longer))
    order = shlex.quote(f"verify:+{longer}")
    text = f'#!/bin/sh\nTOKGATE_PLANT={order}\nexport TOKGATE_PLANT\nexec {shlex.quote(str(place.server_python))} "$@"\n'
    python.write_text(text, encoding="utf-8")
    python.chmod(0o755)


@contextmanager
def planted_in_site(place: Installed, *, wanted: bool) -> Iterator[None]:
    """Have the plant in the server's site during the block where it is wanted, and nowhere where it is not.

    What an interrupted session left there is taken away first.
    """
    _take_away(place)
    if not wanted:
        yield
        return
    try:
        for source in _plant(place):
            target = place.serving / "site" / source.name
            if source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copyfile(source, target)
        yield
    finally:
        _take_away(place)


def _take_away(place: Installed) -> None:
    for source in _plant(place):
        there = place.serving / "site" / source.name
        if there.is_dir():
            shutil.rmtree(there)
        else:
            there.unlink(missing_ok=True)


def _plant(place: Installed) -> list[Path]:
    folder = place.checkout / PLANT
    return [path for path in folder.iterdir() if path.name != "__pycache__"] if folder.is_dir() else []
