"""Sessions about phases: the box in good health, and with phases slowed or sped up on order."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from simbox.truth_phases import Cycle, cycles
from simbox.truth_reader import Run, read
from tokgate.records import LaunchEvidence
from tokgate.records.telemetry import Window
from tokgate.session.run_folder import load_run

from .gate_run import GateRun, play
from .playing import on_time
from .selecting import FIXED_VERIFY, PHASES

# Phases so long that a hook's own microseconds are less than a hundredth of the shortest.
LONG = {"draft_ms": 2.0, "draft_extend_ms": 4.0, "host_ms": 3.0}
BY_FACTOR = {
    "draft": "draft_factor",
    "verify": "verify_factor",
    "extend": "draft_extend_factor",
    "rest": "host_factor",
}
Plant = tuple[tuple[str, float], ...]  # phase, factor

UP, DOWN = 1.05, 0.95
SINGLES: tuple[Plant, ...] = tuple(((phase, UP),) for phase in BY_FACTOR)
PAIRS: tuple[Plant, ...] = tuple(
    tuple((phase, UP) for phase in pair) for pair in itertools.combinations(BY_FACTOR, 2)
)
UP_AND_DOWN: Plant = (("draft", UP), ("verify", DOWN))

_SINGLE = '{name="single", prompts="short", output_tokens=64, repeats=6, timeout_s=10}'
_CONC8 = '{name="conc8", prompts="short", concurrency=8, output_tokens=32, repeats=6, timeout_s=10}'
# What the probe costs is asked elsewhere: its pairs of starts would double the time.
_LITTLE = ("lossless.count=1", "lossless.output_tokens=4", "instruments.cost_pairs=0", FIXED_VERIFY)


def healthy(folder: Path) -> GateRun:
    """Measure phases one by one and eight together, nothing planted."""
    settings = (f"workloads=[{_SINGLE}, {_CONC8}]", 'instruments.workloads=["single", "conc8"]')
    return _with_knobs(folder, LONG, *settings)


def planted(folder: Path, plant: Plant) -> GateRun:
    """The single stream of the same box with some phases longer or shorter."""
    knobs = LONG | {BY_FACTOR[phase]: factor for phase, factor in plant}
    return _with_knobs(folder, knobs, f"workloads=[{_SINGLE}]", "instruments.trace=false")


def _with_knobs(folder: Path, knobs: Mapping[str, float], *settings: str) -> GateRun:
    scenario = folder.parent / f"{folder.name}.toml"
    scenario.write_text("[knobs]\n" + "".join(f"{name} = {value}\n" for name, value in knobs.items()))
    return on_time(
        lambda attempt: play(folder / attempt, [str(scenario)], "-k", PHASES, settings=(*settings, *_LITTLE))
    )


@dataclass(frozen=True)
class Instrumented:
    """The launch with instruments, as the gate has it and as the box knows it."""

    evidence: LaunchEvidence
    truth: Run

    @classmethod
    def of(cls, run: GateRun) -> Instrumented:
        """Read a session's folder, once however many tests ask."""
        assert run.state is not None
        return _read(run.folder, run.state)

    def windows(self, workload: str) -> list[Window]:
        found = [w for w in self.evidence.windows if w.workload == workload and not w.warmup]
        assert found, f"no judged start of {workload}"
        return found

    def really(self, workload: str, *, rank: int = 0) -> tuple[Cycle, ...]:
        """Return what a rank did in the judged starts of a workload."""
        return tuple(
            cycle
            for w in self.windows(workload)
            for cycle in cycles(self.truth, rank=rank, kind="verify", between_ns=(w.start_ns, w.end_ns))
        )


@functools.cache
def _read(folder: Path, state: Path) -> Instrumented:
    evidence, _ = load_run(folder)
    (launch,) = (one for one in evidence.launches if one.launch.role == "instrumented")
    return Instrumented(launch, read(state)[-1])
