"""Which server runs a self-test makes and what it plants in them: a pure function of what was asked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tokgate.errors import UsageError
from tokgate.records import Launch
from tokgate.rig.models import ArmSpec, Rig

# In per cent of their own time, which a rest cannot be: it has no call of its own.
PHASES = {"eagle3": ("draft", "verify", "draft_extend"), "baseline": ("decode",)}
LARGEST = 0.9


@dataclass(frozen=True)
class Asked:
    """What a self-test is asked for."""

    arm: str
    workloads: tuple[str, ...]
    levels: tuple[float, ...]  # losses of throughput, 0.05 for 5 %
    restarts: int
    baseline_runs: int
    session_runs: int
    repeats: int | None = None  # barrier starts of a block; None: the workload's own
    budget_s: float | None = None


class Cell(NamedTuple):
    """A block before it is taken. `name` is that of its workload in the server run."""

    name: str
    workload: str
    planted: float


def check(rig: Rig, asked: Asked) -> None:
    """UsageError where nothing could be found out."""
    arms, workloads = [a.name for a in rig.arms], [w.name for w in rig.workloads]
    for kind, name, known in (
        ("arm", asked.arm, arms),
        *(("workload", w, workloads) for w in asked.workloads),
    ):
        if name not in known:
            raise _refused(f"no {kind} {name!r} in the rig {rig.name}", f"name one of {', '.join(known)}")
    odd = [level for level in asked.levels if not 0 < level <= LARGEST]
    if odd or not asked.levels:
        raise _refused(
            f"a loss of {odd[0]:g} to plant" if odd else "no loss to plant",
            f"write shares of the throughput between 0 and {LARGEST:g}: --plant 0.05,0.10",
        )
    later = asked.restarts - asked.baseline_runs
    if asked.baseline_runs < 1 or not 1 <= asked.session_runs <= later:
        raise _refused(
            f"{asked.baseline_runs} of {asked.restarts} server runs as the baseline, {asked.session_runs} as a session",
            "leave at least one for each: --restarts 8 --baseline-runs 4 --session-runs 4",
        )
    if asked.repeats is not None and asked.repeats < 1:
        raise _refused(f"{asked.repeats} starts a block", "ask for one or more")
    twice = next((w for w in asked.workloads if asked.workloads.count(w) > 1), None)
    if twice is not None:
        raise _refused(
            f"workload {twice} is named twice", "name each once: --restarts makes more of all of them"
        )
    if asked.budget_s is not None and not 0 < asked.budget_s < math.inf:  # false of a nan, too
        raise _refused(
            f"a budget of {asked.budget_s:g} s", "give it the seconds that it may take, or leave --budget out"
        )


def launches_of(asked: Asked) -> tuple[Launch, ...]:
    return tuple(
        Launch(id=f"{number:02d}-{asked.arm}-selftest", arm=asked.arm, role="restart")
        for number in range(1, asked.restarts + 1)
    )


def cells_of(asked: Asked, number: int) -> tuple[Cell, ...]:
    """Return the blocks of server run `number`: nothing planted first and last, the order turned round every other run.

    So a drift of the server's life, linear in time, cancels between planted and not.
    """
    found = []
    for workload in asked.workloads:
        levels = [0.0, *asked.levels, 0.0]
        if number % 2:
            levels.reverse()
        found += [Cell(f"{workload}.{place}", workload, level) for place, level in enumerate(levels, start=1)]
    return tuple(found)


def rig_of(rig: Rig, asked: Asked, cells: Sequence[Cell]) -> Rig:
    """Return the rig with one workload a block, all of them of the same prompts.

    The prefix cache is flushed before each start, whatever the workload says: prompts do repeat. Nothing is added to a
    block for its spread.
    """
    workloads = []
    for cell in cells:
        own = rig.workload(cell.workload)
        update = {"name": cell.name, "cache": "flush", "repeats": asked.repeats or own.repeats}
        workloads.append(own.model_copy(update=update))
    sampling = rig.sampling.model_copy(update={"gpu_time_s": 0.0, "most_starts": 1.0})
    return rig.model_copy(update={"workloads": tuple(workloads), "lossless": None, "sampling": sampling})


def order_of(arm: ArmSpec, loss: float) -> str:
    """Return what the plant is told so that the throughput falls by this share: "" for nothing.

    Every phase that the plant can slow in per cent takes 1 / (1 - loss) of its time; what a cycle does between them stays as it
    is, so a little less is lost than ordered, and what was lost is measured.
    """
    if not loss:
        return ""
    longer = 100 * (1 / (1 - loss) - 1)
    return ",".join(f"{phase}:+{longer:.3f}%" for phase in PHASES[arm.kind])


def describe(rig: Rig, asked: Asked, seconds_a_run: float | None) -> Iterator[str]:
    """Yield what will be done, and how long it will take as far as anybody knows."""
    cells = cells_of(asked, 0)
    own = rig_of(rig, asked, cells)
    starts = sum(w.repeats + w.warmup for w in own.workloads)
    tokens = sum((w.repeats + w.warmup) * w.concurrency * w.output_tokens for w in own.workloads)
    levels = ", ".join(f"{100 * level:.3g} %" for level in asked.levels)
    yield (
        f"self-test of {rig.name}: {asked.restarts} server runs of {asked.arm}, {len(cells)} blocks each "
        f"({', '.join(asked.workloads)}; nothing planted, {levels})"
    )
    yield (
        f"{starts} barrier starts and {tokens} tokens a run; the first {asked.baseline_runs} runs stand for the "
        f"stored baseline, every further {asked.session_runs} for a session that is compared with it: {trials(asked)} in all"
    )
    if seconds_a_run is None:
        yield "how long a server run takes is known after the first one"
    else:
        yield time_words(asked.restarts, seconds_a_run)
    if asked.budget_s is not None:
        yield f"no server run is begun, and no block of one, beyond the budget of {asked.budget_s:.0f} s"


class TooLittle(NamedTuple):
    """A budget that ends before anything is compared, and what to do."""

    found: str
    do: str


def too_little(asked: Asked, *, done: int, seconds_a_run: float, left_s: float) -> TooLittle | None:
    """Return why what is left of the budget compares no session with the baseline; None: it may.

    `done`: server runs so far; the others are reckoned to take as long as one of them.
    """
    more = asked.baseline_runs + asked.session_runs - done
    if asked.budget_s is None or more <= 0 or more * seconds_a_run <= left_s:
        return None
    needs = asked.budget_s - left_s + more * seconds_a_run
    return TooLittle(
        found=f"before anything can be compared it takes {time_words(more, seconds_a_run)}, and the budget of "
        f"{asked.budget_s:.0f} s leaves {max(0.0, left_s):.0f} s",
        do=f"--budget {_rounded_up(needs)}, or fewer --repeats or losses to plant",
    )


def _rounded_up(seconds: float) -> int:
    """Return a tenth more, in whole tens: no server run takes just as long as another."""
    return 10 * math.ceil(seconds * 1.1 / 10)


def trials(asked: Asked) -> int:
    return (asked.restarts - asked.baseline_runs) // asked.session_runs


def time_words(runs: int, seconds_a_run: float) -> str:
    many = "1 server run" if runs == 1 else f"{runs} server runs"
    return f"{many} of about {seconds_a_run:.0f} s: {max(1.0, runs * seconds_a_run / 60):.0f} min"


def _refused(found: str, do: str) -> UsageError:
    return UsageError(tried="planning a self-test", found=found, do=do)
