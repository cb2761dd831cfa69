"""A campaign's folder, packed small enough to bring back: in files of a size, the traces thinned out where they must be."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from telling import say

PRESET: Final = 2  # streams of one answer resemble each other: 4 % are left, in a quarter of the time of 6
LEFT_OUT = "left-out.json"
# What may stay behind where all is too much, the first first: reports and verdicts are computed from the rest. Without
# its traces a run judged again says less of its phases.
EXPENDABLE = ("*/profile/*", "*/bodies/*")


def pack(folder: Path, out: Path, name: str, *, file_mib: float, total_mib: float) -> list[Path]:
    """Write OUT/NAME.tar.xz, in numbered pieces of at most `file_mib`; return them.

    Where it is larger than `total_mib`, the largest expendable files stay behind and are named in left-out.json.
    """
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob(f"{name}.tar.xz*"):
        old.unlink()
    packed = out / f"{name}.tar.xz"
    left: dict[str, int] = {}
    candidates = list(_expendable(folder))
    _write(folder, packed, left)
    while packed.stat().st_size > total_mib * 2**20 and candidates:
        excess = packed.stat().st_size - total_mib * 2**20
        while excess > 0 and candidates:
            file = candidates.pop(0)
            left[str(file.relative_to(folder))] = file.stat().st_size
            excess -= file.stat().st_size
        _write(folder, packed, left)
    if left:
        say(f"left behind for size: {len(left)} files, {sum(left.values()) / 2**20:.1f} MiB (see {LEFT_OUT})")
    return _pieces(packed, int(file_mib * 2**20))


def _expendable(folder: Path) -> Iterator[Path]:
    for pattern in EXPENDABLE:
        files = [path for path in folder.rglob("*") if path.is_file() and path.match(pattern)]
        yield from sorted(files, key=lambda path: -path.stat().st_size)


def _write(folder: Path, packed: Path, left: dict[str, int]) -> None:
    if left:
        (folder / LEFT_OUT).write_text(json.dumps(left, indent=1) + "\n", encoding="utf-8")
    with tarfile.open(packed, "w:xz", preset=PRESET) as out:
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            if name not in left:
                out.add(path, name, recursive=False)


def _pieces(packed: Path, most: int) -> list[Path]:
    if packed.stat().st_size <= most:
        return [packed]
    pieces = []
    with packed.open("rb") as content:
        number = 0
        while block := content.read(most):
            piece = packed.with_name(f"{packed.name}.{number:02d}")
            piece.write_bytes(block)
            pieces.append(piece)
            number += 1
    packed.unlink()
    return pieces


def pack_caches(caches: Path, out: Path) -> Path | None:
    """Write OUT/cache.tar.xz: what JIT compilers left, less their intermediate files; None where there is nothing."""
    files = [
        p for p in sorted(caches.rglob("*")) if p.is_file() and p.suffix != ".o" and ".ninja" not in p.name
    ]
    if not files:
        return None
    out.mkdir(parents=True, exist_ok=True)
    packed = out / "cache.tar.xz"
    with tarfile.open(packed, "w:xz", preset=1) as written:
        for path in files:
            written.add(path, str(path.relative_to(caches)), recursive=False)
    return packed


def joined(pieces: list[Path], into: Path) -> Path:
    """Put the pieces of one archive together again."""
    with into.open("wb") as whole:
        for piece in sorted(pieces):
            with piece.open("rb") as content:
                shutil.copyfileobj(content, whole)
    return into
