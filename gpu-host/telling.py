"""How the programs of this folder speak: tokgate.errors is not importable before they have installed it."""

from __future__ import annotations

import sys
import time
from typing import NoReturn

START = time.monotonic()


def say(text: str) -> None:
    print(f"gpu-host   [{time.monotonic() - START:5.1f} s] {text}", flush=True)


def give_up(*, tried: str, found: str, do: str) -> NoReturn:
    """Say so in the words of tokgate.errors, and exit 1."""
    lines = [("tried", tried), ("found", found), ("do", do)]
    indented = [f"{name + ':':7}" + text.replace("\n", "\n" + " " * 17) for name, text in lines]
    print("gpu-host: " + "\n          ".join(indented), file=sys.stderr, flush=True)
    raise SystemExit(1)
