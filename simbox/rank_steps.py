"""How a rank spends its steps: real calls of SGLang's worker methods, each returning when the model says so.

A rank follows main's schedule at a distance of `lag`, so that it knows each step before its own begins; main's tokens
are in the clients' hands by then. The beginning of each step is an absolute moment and the phases follow one another.
What a busy machine adds comes out of the rest, and then little by little out of passes of the target: the run as a whole
takes what main's does, and no pass looks much shorter than it was planned. A rank that was told too late keeps a longer
distance until a prefill or a pause. A device learns how late this machine's sleeps end, and looks at the clock
for the last of them; no longer, as a process that has run is woken late. What each phase really took is written to rank-N.jsonl beside the truth file:
a clock around the same calls must find the same.
"""

from __future__ import annotations

import ctypes
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from simbox.source_cost import SourceCost
from simbox.step_feed import Announced

LAG_NS = 2_000_000
APART_NS = 750_000  # each rank a little later than the one before: eight that wake at once wait for this machine's cores
MAKE_GOOD = {"verify": 200, "decode": 200, "prefill": 2}  # part of a pass that one behind its time leaves out
SAME_NS = 1_000  # phases are told rounded
WAKE_NS, ODD_NS = 30_000.0, 100_000.0  # how long before its end a sleep is ended, least and most
LATE_NS, LEARN_NS = 2_000, 5_000.0
BUNDLE = 64
COLUMNS = {
    "prefill": ("prefill",),
    "decode": ("decode",),
    "verify": ("draft", "verify", "draft_extend"),
}
_PR_SET_TIMERSLACK = 29


class Device:
    """The GPU as a worker sees it: `run` returns when the kernels of a phase are done."""

    def __init__(self) -> None:
        # Sleeps end to the microsecond; the default leaves the kernel 50 us of choice.
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1)
        self._phases: dict[str, int] = {}
        self._source: dict[str, int] = {}  # ns of a phase that the tree's own code spends around its kernels
        self._early: dict[str, float] = {}  # ns to end a sleep before a phase's end, as learnt
        self._ran: list[tuple[str, int, int]] = []  # phase, began, done

    @property
    def done_ns(self) -> int:
        """When the last phase ended."""
        return self._ran[-1][2] if self._ran else 0

    def begin(
        self, phases_ns: dict[str, int], begin_ns: int, source_ns: dict[str, int] | None = None
    ) -> None:
        """Wait for the beginning of a step with these phases. `source_ns`: what of each is not kernels."""
        self._phases, self._source, self._ran = phases_ns, source_ns or {}, []
        _wait(begin_ns, WAKE_NS)

    def run(self, phase: str) -> None:
        """Be busy for as long as this phase is."""
        began = time.monotonic_ns() - self._source.get(phase, 0)
        _wait(began + self._phases[phase], self._early.get(phase, WAKE_NS))
        # Nothing more in here: a clock around this call is to see what is written down.
        self._ran.append((phase, began, time.monotonic_ns()))

    def spent(self) -> list[int]:
        """Return the ns of each phase of this step, in order, and learn from them."""
        for phase, began, done in self._ran:
            late = done - began - self._phases[phase]
            early = self._early.get(phase, WAKE_NS)
            # Up at a rising margin after a late one, down slowly: one in ten may be late.
            self._early[phase] = (
                min(ODD_NS, early + LEARN_NS) if late > LATE_NS else max(WAKE_NS, early - LEARN_NS / 9)
            )
        return [done - began for _, began, done in self._ran]


class RankTruth:
    """Writes what each phase took, one array a step after a line that says which rank this is.

        [12, "verify", [0.25, 19.0, 0.29], [0.2507, 19.0133, 0.291], 0.1401]

    Number (as in the truth file), kind, milliseconds of the phases in COLUMNS as the GPU had them, the same as this
    process really spent them, and the rest: from the last phase to the next step's first, null before a pause.
    """

    def __init__(self, path: Path, *, rank: int, pid: int) -> None:
        self._path = path
        head = {"kind": "rank", "rank": rank, "pid": pid, "columns": COLUMNS}
        self._lines = [json.dumps(head)]
        self._open: list[Any] | None = None

    def step(self, step: Announced, spent_ns: Sequence[int]) -> None:
        told = [step.phases_ns.get(phase, 0) for phase in COLUMNS[step.kind]]
        self._open = [step.number, step.kind, _ms(told), _ms(spent_ns)]

    def rest(self, ns: int | None) -> None:
        """Close the step before."""
        if self._open is not None:
            rest = None if ns is None else round(ns / 1e6, 4)
            self._lines.append(json.dumps([*self._open, rest]))
            self._open = None
        if len(self._lines) >= BUNDLE:
            self.flush()

    def flush(self) -> None:
        """Write what there is. Silent when the folder is gone."""
        lines, self._lines = self._lines, []
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
        except OSError:
            return


class RankSteps:
    """Runs one step after another. `forward`: the worker's forward_batch_generation; `batch_of`: makes its batch."""

    def __init__(
        self,
        *,
        device: Device,
        truth: RankTruth,
        forward: Callable[[Any], Any],
        batch_of: Callable[[Announced], Any],
        rank: int,
        source: SourceCost | None = None,
    ) -> None:
        self._source = source or SourceCost()
        self._device, self._truth = device, truth
        self._forward, self._batch_of = forward, batch_of
        self._least_lag = LAG_NS + rank * APART_NS
        self._lag, self._due = self._least_lag, 0

    def run(self, step: Announced) -> None:
        """Run one step, from its beginning to the end of its last kernel."""
        paused = abs(step.began_ns - self._due) > SAME_NS
        if paused:
            self._truth.rest(None)
        if paused or step.kind == "prefill":
            self._lag = self._least_lag
        begin, phases = step.began_ns + self._lag, step.phases_ns
        batch, device = self._batch_of(step), self._device
        ended, now = device.done_ns, time.monotonic_ns()
        if begin < now and ended <= begin:
            self._lag += now - begin
        elif begin < now:
            target = next(phase for phase in MAKE_GOOD if phase in phases)
            phases = phases | {target: phases[target] - min(now - begin, phases[target] // MAKE_GOOD[target])}
        costs = self._source.of(step.kind, step.batch)
        device.begin(phases, begin, {phase: round(ms * 1e6) for phase, ms in costs.items()})
        rest = time.monotonic_ns() - ended
        self._forward(batch)
        # Written in the rest, which is only waited for.
        self._truth.rest(rest)
        self._due = step.began_ns + sum(step.phases_ns.values())
        self._truth.step(step, device.spent())

    def pause(self) -> None:
        """Say that nothing more was told: what is known is written down."""
        self._truth.rest(None)
        self._truth.flush()


def _ms(ns: Sequence[int]) -> list[float]:
    return [round(one / 1e6, 4) for one in ns]


def _wait(until_ns: int, early_ns: float) -> None:
    """Sleep until shortly before, then look at the clock: what comes next finds this process awake."""
    left = until_ns - early_ns - time.monotonic_ns()
    if left > 0:
        time.sleep(left / 1e9)
    while time.monotonic_ns() < until_ns:
        pass
