"""A stored run folder, changed by hand and judged again: in this process, by the same checks a session calls."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokgate.fixtures.baselines import StoredBaselines
from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence, Verdict
from tokgate.session.plan import plan_launches
from tokgate.session.stored import StoredSession

from .selecting import CONTROL

LAUNCH = f"launches/{CONTROL}/launch.json"
GENERATIONS = f"launches/{CONTROL}/generations.jsonl"
TELEMETRY = f"launches/{CONTROL}/telemetry.jsonl"


@dataclass(frozen=True)
class StoredRun:
    """A copy of a run folder of the box's control arm, free to be changed."""

    folder: Path

    @classmethod
    def copied(cls, source: Path, folder: Path) -> StoredRun:
        shutil.copytree(source, folder)
        return cls(folder)

    def change(self, name: str, change: Callable[[Any], object]) -> None:
        """Change a JSON file in place."""
        file = self.folder / name
        content = json.loads(file.read_text(encoding="utf-8"))
        change(content)
        file.write_text(json.dumps(content), encoding="utf-8")

    def change_lines(self, name: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Change every line of a JSON-lines file in place."""
        file = self.folder / name
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        for line in lines:
            change(line)
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")

    def judged(self) -> list[dict[str, Any]]:
        """Return every verdict on the control arm and on the machine, as verdict.json would hold them."""
        found: list[Verdict] = []

        def collect(verdicts: Sequence[Verdict]) -> None:
            found.extend(verdicts)

        session = StoredSession(self.folder)
        session.open()
        baselines = StoredBaselines(session.rig, session.fingerprint, self.folder, None)
        promises = Promises(rig=session.rig, gate=session, baselines=baselines, judge=collect)
        promises.clean_slate(session.slate_at_start)
        promises.clean_slate(session.slate_at_end)
        runs = self._control(session)
        promises.environment_truth(runs[0])
        for workload in (w.name for w in session.rig.workloads):
            promises.decode_throughput(runs, workload)
            promises.steadiness(runs[0], workload)
            promises.cache_state(runs[0], workload)
            promises.stored_baseline(runs, workload)
        return [verdict.model_dump(mode="json") for verdict in found]

    @staticmethod
    def _control(session: StoredSession) -> tuple[LaunchEvidence, ...]:
        """Return the control before and after: the arm is judged by both."""
        planned = plan_launches(session.rig)
        arm = next(launch.arm for launch in planned if launch.id == CONTROL)
        return tuple(session.measured(launch) for launch in planned if launch.arm == arm)
