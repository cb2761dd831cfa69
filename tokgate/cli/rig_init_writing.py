"""The rig that `tokgate rig init` makes: drawn up, read back as the gate would, written in one step."""

from __future__ import annotations

import copy
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from tokgate.cli.rig_init_choosing import contracted, nameable
from tokgate.errors import UsageError
from tokgate.report.visible import one_line
from tokgate.rig.commented import Page, written
from tokgate.rig.first.carried_over import carried_over
from tokgate.rig.first.choices import Choices, Chosen
from tokgate.rig.first.gate import first_gate
from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig
from tokgate.rig.repository import spelled
from tokgate.rig.shipped import shipped_root

_PROMPTS = "prompts/mixed.jsonl"


@dataclass(frozen=True)
class Place:
    """The rigs/ of a repository."""

    root: Path
    force: bool

    @property
    def folder(self) -> Path:
        return self.root / "rigs"

    def refuse_written(self, name: str) -> None:
        """UsageError where there is a rig of that name, and nobody said to write over it."""
        file = self.folder / f"{name}.toml"
        if not self.force and os.path.lexists(file):
            raise UsageError(
                tried=f"writing {file}",
                found="it is there already",
                do="choose another name, or write over it: --force; or only print the new one: --print",
            )

    def nameable(self, chosen: Chosen[str], *, local: bool) -> Chosen[str]:
        """Return the path as the rig is to have it. UsageError: no rig can hold it."""
        if not nameable(chosen.value):
            raise UsageError(
                tried=f"naming {one_line(chosen.value, 200)} in a rig",
                found="a path with control characters, or with {root} or {repository} in it, is not read back as it is",
                do="give the folder another name, or a link to it",
            )
        return replace(chosen, value=contracted(chosen.value, self.root, local=local))

    def prompts(self) -> str | None:
        """Return the file of real prompts as a rig here names it; None where there is none to be had."""
        return _PROMPTS if self._prompt_file() is not None else None

    def _prompt_file(self) -> Path | None:
        files = (self.folder / _PROMPTS, shipped_root() / "rigs" / _PROMPTS)
        return next((f for f in files if f.is_file()), None)

    def anchored(self, file: str) -> str:
        """Return the absolute path of a prompt file, wherever it lies before the rig is written."""
        here = self.folder / file
        shipped = shipped_root() / "rigs" / file
        return str((here if here.is_file() or not shipped.is_file() else shipped).absolute())

    def bring_prompts(self, page: Page) -> Path | None:
        """Copy the shipped prompts where the rig looks for them, and say so; None where they are there or not needed."""
        named = [p.get("file") for p in page.data["prompt_sets"].values()]
        here, file = self.folder / _PROMPTS, self._prompt_file()
        if _PROMPTS not in named or here.exists() or file is None:
            return None
        here.parent.mkdir(parents=True, exist_ok=True)
        new = here.with_name(f".{here.name}.{os.getpid()}")
        try:
            shutil.copyfile(file, new)
            new.replace(here)  # half of them, on a full disk, would be taken for all of them the next time
        finally:
            new.unlink(missing_ok=True)
        return here


def page_of(choices: Choices, place: Place) -> Page:
    date = datetime.now(UTC).date().isoformat()
    page = (
        first_gate(choices, date=date)
        if choices.based is None
        else carried_over(choices, choices.based, date=date)
    )
    if not (place.folder / "schema.json").is_file():
        page.head.pop(0)  # an editor would look for it in vain
    page.head = [spelled(line, place.root) for line in page.head]
    page.above = {key: [spelled(line, place.root) for line in lines] for key, lines in page.above.items()}
    return page


def as_loaded(page: Page, name: str, root: Path) -> Rig:
    """Read the rig back as the gate would, before anything is written. RigError: it is not in order."""
    elsewhere = copy.deepcopy(page)
    place = Place(root, force=True)
    for prompts in elsewhere.data["prompt_sets"].values():
        if isinstance(prompts.get("file"), str):
            prompts["file"] = place.anchored(prompts["file"])
    with tempfile.TemporaryDirectory(prefix="tokgate-init-") as folder:
        file = Path(folder) / f"{name}.toml"
        file.write_text(written(elsewhere), encoding="utf-8")
        return load_rig(str(file), root=root)


def to_be_written(place: Place, page: Page, name: str) -> Iterator[str]:
    """Write the rig, in one step, and yield what was written. UsageError: it cannot be."""
    file = place.folder / f"{name}.toml"
    try:
        place.folder.mkdir(parents=True, exist_ok=True)
        prompts = place.bring_prompts(page)
        descriptor, new = tempfile.mkstemp(prefix=f".{name}.", dir=place.folder)
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(written(page))
        Path(new).chmod(0o644)
        Path(new).replace(file)
    except OSError as error:
        raise UsageError(
            tried=f"writing {file}",
            found=error.strerror or str(error),
            do="make rigs/ writable, or print the rig: --print",
        ) from error
    yield f"written: {file}"
    if prompts is not None:
        yield f"written: {prompts}, the prompts that it asks"
