"""What a bundle is made of, in its manifest.json: written last, so that a folder without one is no bundle."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NoReturn

from telling import give_up

NAME = "manifest.json"


@dataclass(frozen=True)
class Part:
    """One tar.xz of a bundle. `largest` are its heaviest top-level entries, MiB before compression."""

    file: str
    made_from: str  # a hash of what it was made from: the same is not made again
    sha256: str
    bytes: int
    largest: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """`python` is the host's, as in "3.12"; `assumed` what it must have beside the bundle, as requirements."""

    python: str
    tokgate: str
    commit: str | None
    made_at: str
    assumed: tuple[str, ...]
    borrowed: tuple[str, ...]
    parts: dict[str, Part]

    @property
    def identity(self) -> str:
        """A hash of all that is installed from it."""
        told = json.dumps([self.python, sorted((n, p.sha256) for n, p in self.parts.items())])
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def write(self, folder: Path) -> None:
        temporary = folder / f"{NAME}.new"
        temporary.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        temporary.replace(folder / NAME)


def read(folder: Path) -> Manifest:
    """Read a bundle's manifest; give up where the folder is none."""
    try:
        told = json.loads((folder / NAME).read_text(encoding="utf-8"))
        parts = {name: Part(**part) for name, part in told.pop("parts").items()}
        told["assumed"], told["borrowed"] = tuple(told["assumed"]), tuple(told["borrowed"])
        made = Manifest(**told, parts=parts)
    except FileNotFoundError:
        _none(folder, f"no {NAME} in it")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        _none(folder, f"{NAME} cannot be read: {error}")
    return made


def _none(folder: Path, found: str) -> NoReturn:
    give_up(
        tried=f"read the bundle {folder}",
        found=found,
        do="on a machine with a package registry: make gpu-bundle; then bring the whole folder here",
    )


def digest(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
