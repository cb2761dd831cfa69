"""Claim: beside its twin in the same session a loss of 1 % is called in less than three minutes of serving time.

    python -m benchmarks.smallest_loss [--rig h200-quick] [--sessions 2000]
    python -m benchmarks.smallest_loss SELFTEST.json [SELFTEST.json …]
    python -m benchmarks.smallest_loss --aa RUN [RUN …]

The first form simulates sessions as quiet as one H200 was measured to be: `--start` and `--restart` are the standard
deviations of single barrier starts and of server starts. A session has so many server runs of both sides, in turn, with so many
starts each; what judges is tokgate/stats/decide.py at the level that a session of the rig gives the comparison. Two ways to ask:
whether runs with a change have lost against runs without it ("both sides"), and whether an arm's ratio to the plain server
misses a limit half a per cent below what it was ("limit").

The second judges what `tokgate selftest` measured, with slowdowns that were really there: runs of blocks with nothing planted
against other runs of planted blocks, as two sides of one session. Every choice of runs is judged; the choices share runs, so
only the sessions that share none count for the bounds.

The third counts alarms in whole gate sessions of an unchanged server.

Serving time is what the requests took, warm-ups included; a server's start and stop are told beside it.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.gate_sessions import ALARMS, ROOT, bound
from tokgate.records import Outcome
from tokgate.records.selftest import SelfTest
from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig
from tokgate.stats.decide import decide
from tokgate.stats.decision import Decision, Rule
from tokgate.stats.levels import RunValues
from tokgate.verdicts.metrics import METRICS, throughput_metric
from tokgate.verdicts.run_values import asked_of

START_SD, RESTART_SD = 0.0005, 0.0012  # one H200, one stream, with EAGLE-3 (docs/gpu-host.md)
PLAIN_RESTART_SD = 0.00014
LOSSES = (0.0, 0.005, 0.0075, 0.01, 0.02)
PLAIN_TOK_S, TOK_S = 219.3, 335.1  # of the same place: what a start takes
TTFT_S = 0.025
BELOW = 0.005  # the limit of a ratio lies so far below what it was
UP_DOWN_S = 33.0  # a start of the server and its stop


@dataclass(frozen=True)
class Design:
    """A session: server runs a side, judged starts and warm-ups of each."""

    runs: int
    starts: int
    warm_ups: int
    tokens: int

    def serving_s(self, *speeds: float) -> float:
        """Return the seconds of all requests of sides as fast as `speeds`, tok/s."""
        a_run = (self.starts + self.warm_ups) * self.runs
        return sum(a_run * (self.tokens / speed + TTFT_S) for speed in speeds)


def side(name: str, values: Sequence[Sequence[float]]) -> list[RunValues]:
    return [
        RunValues(session="this", launch=f"{name}-{n}", values=tuple(one)) for n, one in enumerate(values)
    ]


def drawn(
    rng: np.random.Generator, design: Design, speed: float, *, restart_sd: float, start_sd: float
) -> list[list[float]]:
    runs = rng.normal(0.0, restart_sd, design.runs)
    return [list(speed * np.exp(run + rng.normal(0.0, start_sd, design.starts))) for run in runs]


def simulated(rig: Rig, asked: argparse.Namespace) -> Iterator[str]:
    """Yield the table of simulated designs."""
    rng = np.random.default_rng(asked.seed)
    workload = rig.workloads[0]
    metric = METRICS["decode_tok_s"]
    rule = asked_of(rig, "twin", metric, workload.name, ()).rule
    yield (
        f"{rig.name}, simulated: starts differ by {asked.start:.3%}, server starts by {asked.restart:.3%} (plain "
        f"{asked.plain_restart:.3%}); floor {rule.relative:.2%}, level {rule.level:.3%}, {asked.sessions} sessions a cell\n"
    )
    head = "".join(f"{loss:>9.2%}" for loss in LOSSES[1:])
    yield f"{'way':<12}{'runs a side':>12}{'starts':>8}{'false alarms':>26}{head}{'serving':>10}{'with starts':>13}"
    for way in ("both sides", "limit"):
        for runs, starts in ((2, 4), (4, 2), (4, 4), (4, 6), (6, 4)):
            design = Design(runs, starts, workload.warmup, workload.output_tokens)
            called = [_called(rng, design, rule, asked, way=way, loss=loss) for loss in LOSSES]
            speeds = (TOK_S, TOK_S) if way == "both sides" else (PLAIN_TOK_S, TOK_S)
            serving = design.serving_s(*speeds)
            power = "".join(f"{one / asked.sessions:>9.1%}" for one in called[1:])
            yield (
                f"{way:<12}{runs:>12}{starts:>8}{bound(called[0], asked.sessions):>26}{power}{serving:>8.0f} s"
                f"{serving + 2 * runs * UP_DOWN_S:>11.0f} s"
            )


def _called(
    rng: np.random.Generator, design: Design, rule: Rule, asked: argparse.Namespace, *, way: str, loss: float
) -> int:
    """Return in how many simulated sessions a loss was called."""
    limit = TOK_S / PLAIN_TOK_S * (1 - BELOW) if way == "limit" else None
    before_sd = asked.plain_restart if way == "limit" else asked.restart
    before_speed = PLAIN_TOK_S if way == "limit" else TOK_S
    other = rule.model_copy(update={"same_configuration": way != "limit"})
    seen = 0
    for _ in range(asked.sessions):
        before = drawn(rng, design, before_speed, restart_sd=before_sd, start_sd=asked.start)
        now = drawn(rng, design, TOK_S * (1 - loss), restart_sd=asked.restart, start_sd=asked.start)
        found = decide(side("now", now), side("before", before), other, kind="twin", limit_ratio=limit)
        seen += found.outcome is Outcome.REGRESSED
    return seen


def measured(file: Path) -> Iterator[str]:
    """Yield the table of one self-test: planted blocks against unplanted ones of other server runs."""
    told = SelfTest.model_validate_json(file.read_text(encoding="utf-8"))
    rig = load_rig(told.rig, root=ROOT)
    simulated_too = ", SIMULATED" if told.simulated else ""
    yield f"{told.id}{simulated_too}: {len(told.launches)} server runs of {told.arm}, SGLang {told.sglang_version}"
    yield (
        f"{'workload':<10}{'planted':>9}{'runs a side':>13}{'called, all choices':>21}{'sharing no run':>28}"
        f"{'smallest':>10}{'serving':>10}"
    )
    for name in told.workloads:
        metric = throughput_metric(rig.workload(name).concurrency)
        rule = asked_of(rig, "twin", metric, name, ()).rule
        for level in (0.0, *told.levels):
            plain, planted = (_blocks(told, name, metric.name, one) for one in (0.0, level))
            good = sorted(plain.keys() & planted.keys())
            for runs in range(2, len(good) // 2 + 1):
                yield _row((name, level), runs, good, (plain, planted), rule=rule, rig=rig)
    seconds = told.seconds_a_run
    if seconds is not None:
        yield f"a server run with all its blocks took {seconds:.0f} s, start and stop included"


Blocks = dict[str, list[tuple[float, ...]]]


def _blocks(told: SelfTest, workload: str, metric: str, planted: float) -> Blocks:
    """Return the values of each server run's blocks with this loss, in order."""
    found: Blocks = {}
    for launch in told.launches:
        for block in launch.blocks:
            if (block.workload, block.planted) == (workload, planted) and block.values.get(metric):
                found.setdefault(launch.launch, []).append(block.values[metric])
    return found


def _row(
    place: tuple[str, float],
    runs: int,
    good: Sequence[str],
    blocks: tuple[Blocks, Blocks],
    *,
    rule: Rule,
    rig: Rig,
) -> str:
    (name, level), (plain, planted) = place, blocks

    def judged(before: Sequence[str], now: Sequence[str]) -> Decision:
        # One block a run, so that a planted and an unplanted side are of one size.
        sides = (
            side("now", [planted[one][-1] for one in now]),
            side("before", [plain[one][0] for one in before]),
        )
        return decide(*sides, rule, kind="twin")

    choices = [
        (before, tuple(one for one in good if one not in before)[:runs])
        for before in combinations(good, runs)
    ]
    found = [judged(*choice) for choice in choices]
    called = sum(one.outcome is Outcome.REGRESSED for one in found)
    apart = [
        judged(good[at : at + runs], good[at + runs : at + 2 * runs])
        for at in range(0, len(good) - 2 * runs + 1, 2 * runs)
    ]
    alone = sum(one.outcome is Outcome.REGRESSED for one in apart)
    workload = rig.workload(name)
    starts = len(plain[good[0]][0])
    speeds = [_speed(one, good) / workload.concurrency for one in blocks]
    serving = Design(runs, starts, workload.warmup, workload.output_tokens).serving_s(*speeds)
    smallest = float(np.median([one.smallest for one in found]))
    return (
        f"{name:<10}{level:>9.2%}{runs:>13}{f'{called} of {len(found)}':>21}{bound(alone, len(apart)):>28}"
        f"{smallest:>10.2%}{serving:>8.0f} s"
    )


def _speed(blocks: Blocks, good: Sequence[str]) -> float:
    return float(np.median([value for one in good for block in blocks[one] for value in block]))


def aa(folders: Sequence[Path]) -> Iterator[str]:
    """Yield how whole sessions of an unchanged server ended, and what their requests took."""
    alarms, serving, total = 0, [], 0
    for folder in folders:
        told = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
        total += 1
        alarms += told["outcome"] in ALARMS
        serving.append(served_s(folder))
        losses = [
            v["smallest"] for v in told["verdicts"] if v.get("smallest") and v["metric"] == "decode_tok_s"
        ]
        least = f", called from {min(losses):.2%} on at best" if losses else ""
        yield f"{folder.name}: {told['outcome']}, {serving[-1]:.0f} s of serving{least}; {told['headline'][:100]}"
    yield f"false alarms: {bound(alarms, total)} (one-sided 95 %, Clopper-Pearson)"
    if serving:
        yield f"serving time of a session: {np.median(serving):.0f} s"


def served_s(run: Path) -> float:
    """Return the seconds in which a run's requests were under way, of all its launches: starts, not streams."""
    total = 0.0
    for file in run.glob("launches/*/generations.jsonl"):
        spans: dict[tuple[str, int], list[int]] = {}
        for line in file.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            if one.get("end_ns"):
                spans.setdefault((one["workload"], one["batch"]), []).extend((one["sent_ns"], one["end_ns"]))
        total += sum(max(ends) - min(ends) for ends in spans.values()) / 1e9
    return total


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="SELFTEST.json")
    parser.add_argument("--aa", nargs="+", type=Path, metavar="RUN", default=[])
    parser.add_argument("--rig", default="h200-quick")
    parser.add_argument("--rig-set", action="append", default=[])
    parser.add_argument("--sessions", type=int, default=2000)
    parser.add_argument("--start", type=float, default=START_SD)
    parser.add_argument("--restart", type=float, default=RESTART_SD)
    parser.add_argument("--plain-restart", type=float, default=PLAIN_RESTART_SD)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if not all(math.isfinite(sd) and sd > 0 for sd in (asked.start, asked.restart, asked.plain_restart)):
        parser.error("standard deviations are positive")
    for file in asked.files:
        print("\n".join(measured(file)), end="\n\n")
    if asked.aa:
        print("\n".join(aa(asked.aa)))
    if not asked.files and not asked.aa:
        for line in simulated(load_rig(asked.rig, root=ROOT, overrides=asked.rig_set), asked):
            print(line, flush=True)


if __name__ == "__main__":
    main()
