"""Take over what calls of run.sh left on a GPU host, and ready the bundle for the next call.

    make gpu-collect FROM=DIR [BUNDLE=.gpu-host] [INTO=reports/gpu-host]

Each campaign found in DIR is laid out in INTO/CAMPAIGN and merged with what is there of it. Its ledger and the JIT caches go into the
bundle: the next call, on a fresh machine as well, goes on where this one ended.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tarfile
import tempfile
from pathlib import Path

import ledger
import packing
from telling import give_up, say

ROOT = Path(__file__).resolve().parents[1]
_PIECE = re.compile(r"(?P<name>.+)\.tar\.xz(\.\d\d)?")
CACHES = "cache"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path, metavar="DIR", help="where the files of $OUT lie")
    parser.add_argument("--into", type=Path, default=ROOT / "reports" / "gpu-host")
    parser.add_argument("--bundle", type=Path, default=ROOT / ".gpu-host")
    asked = parser.parse_args()
    for name in collect(asked.source, asked.into, asked.bundle):
        known = ledger.read(asked.into / name / ledger.NAME)
        left = ", ".join(step.name for step in known.left()) if known else ""
        say(f"{asked.into / name}: " + (f"left: {left}" if left else "complete"))


def collect(source: Path, into: Path, bundle: Path) -> list[str]:
    """Merge all campaigns of a folder; return their names. Gives up where there is none, or one is torn."""
    pieces: dict[str, list[Path]] = {}
    for path in sorted(source.rglob("*")):
        if path.is_file() and (match := _PIECE.fullmatch(path.name)):
            pieces.setdefault(match["name"], []).append(path)
    caches = pieces.pop(CACHES, [])
    if not pieces:
        give_up(
            tried=f"collect campaigns from {source}",
            found="no NAME.tar.xz in it",
            do="name the folder with what run.sh left in --out ($OUT)",
        )
    found = [name for name, files in pieces.items() if merge(name, files, into / name)]
    if not found:
        give_up(
            tried=f"collect campaigns from {source}",
            found=f"no ledger in {', '.join(pieces)}",
            do="name the folder with what run.sh left in --out ($OUT), not other archives",
        )
    for name in found:
        if bundle.is_dir():
            ledgers = bundle / "ledgers"
            ledgers.mkdir(exist_ok=True)
            shutil.copyfile(into / name / ledger.NAME, ledgers / f"{name}.json")
    if caches and bundle.is_dir():
        shutil.copyfile(caches[-1], bundle / f"{CACHES}.tar.xz")
    return sorted(found)


def merge(name: str, files: list[Path], folder: Path) -> bool:
    """Lay one campaign out over what is there of it; run folders are never overwritten by others, their names tell them apart.

    Returns False where the archive is of no campaign: it is left alone, for the sake of those beside it.
    """
    with tempfile.TemporaryDirectory() as place:
        whole = packing.joined(files, Path(place, "whole.tar.xz"))
        fresh = Path(place, "fresh")
        try:
            with tarfile.open(whole) as packed:
                packed.extractall(fresh, filter="data")
        except (tarfile.TarError, EOFError, OSError) as error:
            give_up(
                tried=f"unpack {name} from {', '.join(file.name for file in files)}",
                found=str(error),
                do="bring back all its pieces, and whole",
            )
        found, before = ledger.read(fresh / ledger.NAME), ledger.read(folder / ledger.NAME)
        if found is None:
            say(f"{', '.join(file.name for file in files)}: left alone, no ledger in it")
            return False
        if before is not None:
            try:
                found.merge(before)
            except ValueError as error:
                give_up(
                    tried=f"merge {name} into {folder}",
                    found=str(error),
                    do="collect it into another folder (INTO=…), or give campaigns names of their own (--campaign)",
                )
        for link in (path for path in fresh.rglob("*") if path.is_symlink()):
            (folder / link.relative_to(fresh)).unlink(
                missing_ok=True
            )  # "latest": copytree replaces files, not links
        shutil.copytree(fresh, folder, dirs_exist_ok=True, symlinks=True)
        found.write(folder)
    return True


if __name__ == "__main__":
    main()
