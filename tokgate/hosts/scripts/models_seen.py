"""Which models lie on this machine: folders with a config.json, read and never loaded."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Folders in which models are kept, and how far below them one may lie. The caches of hubs come first.
CACHES = ("~/.cache/huggingface/hub", "~/.cache/modelscope/hub/models")
PLACES = (
    "/models", "/model", "/shared", "/data/models", "/data", "/mnt/models", "/mnt", "/opt/models", "/workspace/models",
    "/workspace", "/scratch", "/srv/models", "/raid", "/nvme", "/weights", "/checkpoints", "~/models", "~/checkpoints", "~/weights",
)  # fmt: skip
DEPTH = 3
# Of somebody's data disk: neither time without end nor a list that nobody reads.
BUDGET_S = 12.0
MOST = 200
MOST_ENTRIES = 20000
MOST_BYTES = 1 << 20
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
# Keys of which a model's configuration has one, and that of a web project none.
TELLING = (
    "architectures",
    "hidden_size",
    "text_config",
    "llm_config",
    "language_config",
    "transformer_layer_config",
)


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"named": [[folder, found_by], ...], "look_in": the same, "usual": bool} -> {"models", "unread": [[folder, why]], "stopped"}."""
    looking = Looking(time.monotonic() + float(argument.get("budget_s", BUDGET_S)))
    for folder, by in argument["named"]:
        looking.take(at_home(folder), by)
    for folder, by in argument["look_in"]:
        looking.walk(at_home(folder), by, DEPTH)
    if argument["usual"]:
        told = [os.environ.get(name) for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE")]
        told += [f"{os.environ['HF_HOME']}/hub"] if os.environ.get("HF_HOME") else []
        for cache in dict.fromkeys(filter(None, (*told, *CACHES))):
            looking.hub(at_home(cache))
        for folder in PLACES:
            looking.walk(at_home(folder), "a usual place", DEPTH)
    return {"models": looking.found, "unread": looking.unread[:20], "stopped": looking.stopped}


def at_home(path: str) -> Path:
    """Expand ~; without a home it is left as it is, and will not be there."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


class Looking:
    """One look, bounded in time and number."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.found: list[dict[str, Any]] = []
        self.unread: list[tuple[str, str]] = []
        self.known: set[str] = set()
        self.entries = 0
        self.stopped = False

    def over(self) -> bool:
        self.stopped = (
            self.stopped
            or time.monotonic() > self.deadline
            or len(self.found) >= MOST
            or self.entries > MOST_ENTRIES
        )
        return self.stopped

    def hub(self, cache: Path) -> None:
        """Take the newest snapshot of each repository: hub/models--ORG--NAME/snapshots/REVISION, refs/main names it."""
        for repository in self.inside(cache):
            if not repository.name.startswith("models--"):
                continue
            revision = text(repository / "refs" / "main", 200).strip()
            held = sorted(self.inside(repository / "snapshots"), key=age)
            for one in [p for p in held if p.name == revision] or held[-1:]:
                name = repository.name[len("models--") :].replace("--", "/")
                self.take(one, "the Hugging Face cache", hub_name=name)

    def walk(self, folder: Path, by: str, depth: int) -> None:
        if self.over() or not is_folder(folder):
            return
        if is_file(folder / "config.json"):
            self.take(folder, by)
            return
        below = self.inside(folder) if depth else []
        if any(one.name.startswith("models--") for one in below):
            self.hub(folder)
            return
        for one in below:
            if not one.name.startswith("."):
                self.walk(one, by, depth - 1)

    def inside(self, folder: Path) -> list[Path]:
        try:
            found = sorted(folder.iterdir())
        except (NotADirectoryError, FileNotFoundError):
            return []
        except OSError as error:
            self.unread.append((shown(folder), str(error.strerror)))
            return []
        self.entries += len(found)
        return [] if self.over() else found

    def take(self, folder: Path, by: str, hub_name: str | None = None) -> None:
        place = os.path.realpath(folder)
        file = folder / "config.json"
        if place in self.known or self.over() or not is_file(file):
            return
        self.known.add(place)
        try:
            str(folder).encode()
            config = json.loads(text(file, MOST_BYTES))
        except (ValueError, RecursionError) as error:
            self.unread.append((shown(folder), str(error)[:200]))
            return
        if isinstance(config, dict) and any(key in config for key in TELLING):
            names = {"path": str(folder), "found_by": by, "hub_name": hub_name, "made_for": made_for(config)}
            self.found.append({**names, "config": json.dumps(config), **files_of(folder)})


def made_for(config: dict[str, Any]) -> str | None:
    """Return the target that a draft of the speculators library names."""
    told = config.get("speculators_config")
    verifier = told.get("verifier") if isinstance(told, dict) else None
    return said(verifier.get("name_or_path")) if isinstance(verifier, dict) else None


def said(value: object) -> str | None:
    return value[:300] if isinstance(value, str) and value else None


def files_of(folder: Path) -> dict[str, Any]:
    """Count the weights, those that an index names and that are not there, and look for a tokenizer."""
    sizes = dict(sized(folder))
    weights = {n: s for n, s in sizes.items() if n.endswith(WEIGHTS)}
    # Where both are there, the older format is a copy of the same weights.
    if any(n.endswith(".safetensors") for n in weights):
        weights = {n: s for n, s in weights.items() if n.endswith(".safetensors")}
    missing = 0
    if "model.safetensors.index.json" in sizes:
        try:
            index = json.loads(text(folder / "model.safetensors.index.json", 64 << 20))
            missing = len({str(n) for n in index["weight_map"].values()} - set(sizes))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            missing = 0
    tokens = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "tiktoken.model", "vocab.json")
    return {
        "weight_bytes": sum(weights.values()),
        "weight_files": len(weights),
        "missing_files": missing,
        "tokenizer": any(name in sizes for name in tokens),
    }


def sized(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the files of a folder; of a link whose target is gone nothing."""
    try:
        entries = list(itertools.islice(folder.iterdir(), MOST_ENTRIES))
    except OSError:
        return
    for entry in entries:
        try:
            yield entry.name, entry.stat().st_size
        except OSError:
            continue


def is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def shown(path: Path) -> str:
    return str(path).encode("utf-8", "backslashreplace").decode()


def text(path: Path, most: int) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(most)
    except OSError:
        return ""
