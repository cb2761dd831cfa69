"""Plays back what both versions of NVML's memory call answered, card by card, in nvml_recordings/."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.hosts.fake_gpus import FakeGpu, FakeNvml, FakeNvmlError

FOLDER = Path(__file__).parent / "nvml_recordings"


class RecordedNvml(FakeNvml):
    """A driver that says what it said. `versions` has each memory call that was made."""

    def __init__(self, name: str) -> None:
        self.cards = json.loads((FOLDER / f"{name}.json").read_text())["nvml"]
        self.versions: list[int] = []
        super().__init__(*[FakeGpu(processes=[(p, used) for p, used in c["procs"]]) for c in self.cards])

    def nvmlDeviceGetMemoryInfo(self, handle: int, version: int | None = None) -> Any:  # noqa: N802
        self.versions.append(1 if version is None else 2)
        answer = self.cards[handle]["v1" if version is None else "v2"]
        if "error" in answer:
            raise FakeNvmlError(answer["error"], answer["words"])
        return SimpleNamespace(**answer)
