"""Wheels for another Python than this one: fetched by pip, unpacked into one folder, relieved of what is not needed."""

from __future__ import annotations

import fnmatch
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from telling import give_up

# pip matches a tag's number exactly: these are the ones in use below a glibc of 2.39.
_GLIBC = (39, 35, 34, 31, 28, 27, 26, 24, 17, 12, 5)
PLATFORMS = tuple(f"manylinux_2_{n}_x86_64" for n in _GLIBC) + tuple(
    f"manylinux{old}_x86_64" for old in ("2014", "2010", "1")
)
STRIPPED_FROM = 300_000  # bytes; what is smaller is not worth it


@dataclass(frozen=True)
class Diet:
    """What of a distribution travels: entries that match `only`, where given, less those that match `leave`.

    `keep_symbols` are not stripped: a library that registers operators by its symbols.
    """

    only: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()
    keep_symbols: tuple[str, ...] = ()

    def takes(self, name: str) -> bool:
        return (not self.only or _matches(name, self.only)) and not _matches(name, self.leave)


def read_diets(file: Path) -> dict[str, Diet]:
    """Read left_out.toml: a table a distribution, its name as pip spells it."""
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    return {
        name: Diet(**{key: tuple(value) for key, value in table.items()}) for name, table in tables.items()
    }


def download(requirements: Path, python: str, into: Path, *, extra: tuple[str, ...] = ()) -> None:
    """Fetch the wheels that these pins name, for CPython `python` on Linux x86-64."""
    into.mkdir(parents=True, exist_ok=True)
    abi = "cp" + python.replace(".", "")
    command = [
        *(sys.executable, "-m", "pip", "download", "-q", "--no-input", "--disable-pip-version-check"),
        *("--progress-bar", "off", "--no-deps", "--only-binary=:all:", "--python-version", python),
        *("--implementation", "cp", "--abi", abi, "--abi", "abi3", "--abi", "none"),
        *(word for name in PLATFORMS for word in ("--platform", name)),
        *("-d", str(into), "-r", str(requirements), *extra),
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        tail = "\n".join(line for line in ended.stderr.strip().splitlines()[-6:])
        give_up(
            tried=f"fetch the wheels of {requirements} for Python {python}",
            found=tail or f"pip ended with {ended.returncode}",
            do="run it where pip reaches a package registry; the pins must have wheels for this Python",
        )


def unpack(wheels: Path, site: Path, diets: dict[str, Diet]) -> None:
    """Lay wheels out as pip would in a site-packages, without scripts."""
    if site.exists():
        shutil.rmtree(site)
    site.mkdir(parents=True)
    for wheel in sorted(wheels.glob("*.whl")):
        diet = diets.get(_distribution(wheel), Diet())
        with zipfile.ZipFile(wheel) as content:
            for entry in content.infolist():
                place = _place(entry.filename)
                if place is None or entry.is_dir() or not diet.takes(place):
                    continue
                target = site / place
                target.parent.mkdir(parents=True, exist_ok=True)
                with content.open(entry) as source, target.open("wb") as written:
                    shutil.copyfileobj(source, written, 1 << 20)
                if entry.external_attr >> 16 & 0o111:
                    target.chmod(0o755)
    kept = tuple(pattern for diet in diets.values() for pattern in diet.keep_symbols)
    _strip(site, kept)


def _strip(site: Path, kept: tuple[str, ...]) -> None:
    heavy = [
        path
        for path in sorted(site.rglob("*.so*"))
        if path.stat().st_size > STRIPPED_FROM and not _matches(str(path.relative_to(site)), kept)
    ]
    if heavy and shutil.which("strip") is None:
        give_up(
            tried="strip debugging symbols, tens of MiB of them",
            found="no `strip` on PATH",
            do="install binutils",
        )
    for path in heavy:
        subprocess.run(["strip", str(path)], stderr=subprocess.DEVNULL, check=False)


def _place(name: str) -> str | None:
    """Return where an entry of a wheel goes below site-packages; None: nowhere. ValueError: out of it."""
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or name.startswith("/"):
        raise ValueError(f"a wheel with the entry {name!r}")
    if parts[0].endswith(".data"):
        return str(PurePosixPath(*parts[2:])) if parts[1] in ("purelib", "platlib") else None
    return name


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _distribution(wheel: Path) -> str:
    return re.sub(r"[-_.]+", "-", wheel.name.split("-")[0]).lower()


def sizes(site: Path) -> Iterator[tuple[str, float]]:
    """Yield each top-level entry with its MiB."""
    for entry in site.iterdir():
        files = entry.rglob("*") if entry.is_dir() else (entry,)
        yield entry.name, sum(f.lstat().st_size for f in files if f.is_file()) / 2**20
