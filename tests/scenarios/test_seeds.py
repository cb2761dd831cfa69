"""Two things wrong at once are both told; a loss of any size is judged by what it really is."""

from __future__ import annotations

import statistics

import pytest

from simbox.truth_reader import read

from .expecting import INVALID, PASS, REGRESSED, Keeps, Says
from .gate_run import GateRun
from .rows import BY_NAME
from .selecting import CONTROL
from .stories import pair_of

FLOOR = 86.1  # the rig's budget for the control arm
SLOW = pytest.mark.slow


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(s, marks=SLOW) for s in (3, 4, 5, 6))])
def test_both_of_two_faults_are_told(seed: int, both: GateRun) -> None:
    assert both.code == 11, both.told()
    asked: list[Says | Keeps] = []
    for name in pair_of(seed):
        row = BY_NAME[name]
        asked += [says for says in row.says if says.outcome == INVALID]
        asked += row.keeps if seed % 2 == 0 else ()
    assert len(asked) > 1
    lacking = [found for one in asked if (found := one.lacks(both))]
    assert not lacking, "\n".join([*pair_of(seed), *lacking, "", both.told()])


@SLOW
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_loss_of_unknown_size_is_judged_by_its_size(seed: int, drawn_loss: GateRun) -> None:
    assert drawn_loss.state is not None
    (truth,) = read(drawn_loss.state)
    rates = [r["decode_tok_s"] for r in truth.requests if r["completion_tokens"] == 32]
    really = statistics.median(rates[1:9])
    (verdict,) = drawn_loss.verdicts(check="decode_throughput", launch=CONTROL)
    assert verdict["value"] == pytest.approx(really, rel=0.01), f"seed {seed}: {drawn_loss.told()}"
    assert verdict["outcome"] != (PASS if really < FLOOR else REGRESSED), drawn_loss.told()
    if abs(really / FLOOR - 1) > 0.02:
        assert verdict["outcome"] == (REGRESSED if really < FLOOR else PASS), drawn_loss.told()
