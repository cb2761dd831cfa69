"""Each client in a virtual environment of its own, at the version its file pins."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.peers.tokenizer import CACHE

PINS = Path(__file__).parent


def installed(name: str) -> Path:
    """Return the folder of programs of `name`, installed when it is not there at the pinned version."""
    pins = (PINS / f"{name}.txt").read_text(encoding="utf-8")
    folder = CACHE / name
    stamp = folder / "pins.txt"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != pins:
        print(f"installing {name} into {folder}", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "--requirement", str(PINS / f"{name}.txt")], check=True)
        stamp.write_text(pins, encoding="utf-8")
    return folder / "bin"
