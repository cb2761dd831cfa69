from __future__ import annotations

import pytest

from tests.verdicts.evidence import empty_gpus, make_launch, make_rig, make_slate
from tokgate.records import Finding, GpuSeen, Outcome, ProcessSeen, Verdict
from tokgate.rig.machine import GpuSpec
from tokgate.verdicts.checks.clean_slate import clean_slate
from tokgate.verdicts.establish import establish_workload

LEFTOVER = ProcessSeen(
    pid=4711,
    start_ticks=1,
    ppid=1,
    pgid=4711,
    sid=4711,
    state="S",
    user="root",
    comm="sglang::schedul",
    cmdline="sglang::scheduler_TP0",
    mark="old-run/02",
)


def test_a_clean_machine_passes_and_shows_its_gpus() -> None:
    gpu = GpuSeen(index=0, name="H200", allocated_mib=0.0, source="nvml")
    (verdict,) = clean_slate(make_slate(gpus=(gpu,), waited_s=12.3))

    assert verdict.outcome is Outcome.PASS
    assert verdict.headline == (
        "clean session start: 1 GPUs on local, no process of a gate run after waiting 12 s"
    )
    assert verdict.evidence == ("GPU 0 H200: 0 MiB allocated",)


def test_every_finding_is_a_verdict_with_its_own_next_step() -> None:
    findings = (
        Finding(severity="unclean", what="GPU 3 holds 512 MiB of pid 99", do="stop pid 99"),
        Finding(severity="unknown", what="GPU 4 does not tell its memory", do="mend the driver"),
        Finding(severity="note", what="NCCL_ALGO in /etc/environment", do="remove it"),
    )
    verdicts = clean_slate(make_slate("before 02-eagle3-2step", findings=findings))

    assert [v.outcome for v in verdicts] == [Outcome.INVALID, Outcome.INVALID]
    assert verdicts[0].headline == "not clean before 02-eagle3-2step: GPU 3 holds 512 MiB of pid 99"
    assert [v.do for v in verdicts] == ["stop pid 99", "mend the driver"]
    assert "cannot be told" in verdicts[1].headline


def test_a_note_is_a_warning_beside_a_pass() -> None:
    note = Finding(severity="note", what="NCCL_ALGO in /etc/environment", do="remove it")
    (verdict,) = clean_slate(make_slate(findings=(note,)))

    assert verdict.outcome is Outcome.PASS
    assert verdict.warnings == ("NCCL_ALGO in /etc/environment",)


@pytest.mark.parametrize("when", ["session start", "session end"])
def test_leftovers_count_even_where_nobody_made_a_finding_of_them(when: str) -> None:
    (verdict,) = clean_slate(make_slate(when, leftovers=(LEFTOVER,)))

    assert verdict.outcome is Outcome.INVALID
    assert "pid 4711" in verdict.headline
    assert verdict.do is not None
    assert "4711" in verdict.do


@pytest.mark.parametrize(
    ("mib", "words"),
    [
        (1894.0, "GPU 1 has 1894 MiB allocated session start, and nobody made a finding of it"),
        (None, "GPU 1 has an unknown amount of memory allocated"),
        (-5.0, "GPU 1 has an unknown amount of memory allocated"),
    ],
)
def test_memory_in_use_counts_even_where_nobody_made_a_finding_of_it(mib: float | None, words: str) -> None:
    first, second = empty_gpus(2)
    held = make_slate(gpus=(first, second.model_copy(update={"allocated_mib": mib})))
    (verdict,) = clean_slate(held, GpuSpec(count=2, tolerance_mib=8))

    assert verdict.outcome is Outcome.INVALID
    assert words in verdict.headline
    launch = make_launch(gpus=2, slate=held)
    judged = establish_workload(make_rig(gpus={"count": 2}), launch, "single", check="decode_throughput")
    assert isinstance(judged, Verdict)
    assert words in judged.headline


def test_memory_within_the_rigs_tolerance_is_clean() -> None:
    first, second = empty_gpus(2)
    slate = make_slate(gpus=(first, second.model_copy(update={"allocated_mib": 8.0})))
    (verdict,) = clean_slate(slate, GpuSpec(count=2, tolerance_mib=8))
    assert verdict.outcome is Outcome.PASS


@pytest.mark.parametrize("gpus", [(), empty_gpus(1), empty_gpus(3), empty_gpus(1) * 2])
def test_a_look_that_lists_other_gpus_than_the_rig_has_proves_nothing(gpus: tuple[GpuSeen, ...]) -> None:
    (verdict,) = clean_slate(make_slate(gpus=gpus), GpuSpec(count=2))
    assert verdict.outcome is Outcome.INVALID
    assert "the rig has 2" in verdict.headline
