"""The simulated box's shipped baselines belong to its rig as it stands, and to no machine."""

from __future__ import annotations

import hashlib
import statistics
from pathlib import Path

import pytest

from simbox import VERSIONS
from simbox.knobs import Knobs
from tokgate.rig.load import load_rig
from tokgate.rig.models import ArmSpec, Rig
from tokgate.rig.workload import WorkloadSpec
from tokgate.verdicts.baselines.file import BaselineFile
from tokgate.verdicts.baselines.identity import identity_of
from tokgate.verdicts.baselines.load import baseline_path, load

ROOT = Path(__file__).parents[2]
RIG: Rig = load_rig("sim-8gpu", root=ROOT)
ERAS = {"88.8": ROOT, "82.2": ROOT / "baselines" / "eras" / "82.2"}
SERIES = [(arm, workload) for arm in RIG.arms for workload in RIG.workloads]
AGAIN = "the rig or the box has changed: `make sim-baselines` measures them anew"


def config_of(folder: str | None) -> str | None:
    return hashlib.sha256(Path(folder, "config.json").read_bytes()).hexdigest() if folder else None


def stored(era: str, arm: ArmSpec, workload: WorkloadSpec) -> BaselineFile:
    identity = identity_of(
        RIG,
        arm,
        workload,
        sglang_version=VERSIONS[-1],
        gpu_names=[Knobs().gpu_name] * RIG.gpus.count,
        model_config=config_of(RIG.server.model_path),
        draft_config=config_of(arm.draft_model_path),
    )
    path = baseline_path(ERAS[era], RIG.name, identity)
    assert path.is_file(), f"{arm.name}, {workload.name}: {AGAIN}"
    return load(path)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("arm", "workload"), SERIES, ids=[f"{a.name}-{w.name}" for a, w in SERIES])
def test_each_series_of_the_rig_has_one(era: str, arm: ArmSpec, workload: WorkloadSpec) -> None:
    found = stored(era, arm, workload)
    assert found.simulated
    assert len(found.launches) > 1, "the spread between server starts is to be in it"
    assert found.fingerprint is not None
    assert found.fingerprint.facts["sglang.dirty"] is not None
    assert (found.fingerprint.facts["sglang.dirty"] == "no") == (era == "88.8")


@pytest.mark.parametrize("era", ERAS)
def test_the_control_has_the_speed_of_its_era(era: str) -> None:
    found = stored(era, RIG.control, RIG.workload("single"))
    medians = [statistics.median(start) for start in found.by_start("decode_tok_s")]
    assert statistics.median(medians) == pytest.approx(float(era), rel=0.01)


@pytest.mark.parametrize("era", ERAS)
def test_they_hold_nothing_of_the_machine_they_were_made_on(era: str) -> None:
    files = sorted((ERAS[era] / "baselines" / RIG.name).glob("*.json"))
    assert len(files) == len(SERIES), f"some belong to no series any more: {AGAIN}"
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert '"host.' not in text
        assert str(ROOT) not in text
        assert "/tmp/" not in text
