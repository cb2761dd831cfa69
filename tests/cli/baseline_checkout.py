"""A checkout in a folder of its own, with run folders as sessions leave them, and `tokgate baseline` on it."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from tests.verdicts.evidence import make_rig, make_run
from tokgate.cli.baseline import baseline
from tokgate.cli.errors import GateGroup
from tokgate.records import LaunchEvidence
from tokgate.rig.models import Rig

ONE = [{"name": "single", "prompts": "ids", "output_tokens": 256, "repeats": 6}]


def write_run(folder: Path, *launches: LaunchEvidence, rig: Rig | None = None) -> Path:
    """Write a run folder as a session leaves it."""
    run = make_run(*launches)
    folder.mkdir(parents=True)
    (folder / "verdicts.json").write_text("[]")
    (folder / "run.json").write_text(run.info.model_copy(update={"run_id": folder.name}).model_dump_json())
    (folder / "rig.json").write_text((rig or make_rig(workloads=ONE)).model_dump_json())
    for name, record in (
        ("fingerprint.json", run.fingerprint),
        ("slate-start.json", run.slate_at_start),
        ("slate-end.json", run.slate_at_end),
    ):
        assert record is not None
        (folder / name).write_text(record.model_dump_json())
    for launch in launches:
        place = folder / "launches" / launch.launch.id
        place.mkdir(parents=True)
        lines = "".join(g.model_dump_json() + "\n" for g in launch.generations)
        (place / "generations.jsonl").write_text(lines)
        (place / "launch.json").write_text(launch.model_copy(update={"generations": ()}).model_dump_json())
    return folder


class Checkout:
    def __init__(self, root: Path) -> None:
        self.root = root

    def tokgate(self, *args: str) -> Result:
        command = GateGroup(commands={"baseline": baseline})
        return CliRunner().invoke(command, ["baseline", *args], obj=self.root)

    def run(self, name: str, *launches: LaunchEvidence) -> str:
        return str(write_run(self.root / "reports" / name, *launches))

    def files(self) -> list[Path]:
        return sorted((self.root / "baselines").rglob("*"))
