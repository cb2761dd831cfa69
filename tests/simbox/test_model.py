"""The model gives the incident's numbers."""

from __future__ import annotations

from typing import Any

import pytest

from simbox.allreduce import COSTS, understand
from simbox.knobs import Knobs
from simbox.model import Rates, Shape, decode_step, prefill_step, speculative_step
from simbox.scenario import load
from simbox.tree import patch_ms

TUNED = {name: value for name, (value, _) in COSTS.items()}
PLAIN = Shape(draft_steps=0, draft_tokens=0, graph_max_batch=256, verify_graph=True)
TWO_STEPS = Shape(draft_steps=2, draft_tokens=3, graph_max_batch=48, verify_graph=True)
NO_GRAPH = Shape(draft_steps=2, draft_tokens=3, graph_max_batch=48, verify_graph=False)
ACCEPT_LENGTH = 1.85


def rates(environment: dict[str, str], *, ranks: int = 8) -> Rates:
    return Rates(kernels=1.0, ranks=[(1.0, understand(environment).extra_us)] * ranks, mode=1.0)


def plain_tok_s(environment: dict[str, str], knobs: Knobs | None = None) -> float:
    return 1000 / decode_step(knobs or Knobs(), PLAIN, rates(environment), 1).ms


def test_tuned_untuned_and_the_later_tree() -> None:
    assert plain_tok_s(TUNED) == pytest.approx(88.8, abs=0.05)
    assert plain_tok_s({}) == pytest.approx(63.0, abs=0.1)
    patched = Knobs(patch_ms=patch_ms("patched"))
    assert load(["patched-tree"]).knobs.tree == "patched"
    assert plain_tok_s(TUNED, patched) == pytest.approx(82.2, abs=0.05)


def test_a_cycle_with_and_without_a_graph() -> None:
    good = speculative_step(Knobs(), TWO_STEPS, rates(TUNED), 1)
    assert good.phases["verify"] == pytest.approx(19.0, abs=0.01)
    assert 1000 * ACCEPT_LENGTH / good.ms == pytest.approx(94.0, abs=0.1)
    bad = speculative_step(Knobs(), NO_GRAPH, rates(TUNED), 1)
    assert 29.0 <= bad.phases["verify"] <= 30.6
    assert bad.phases["verify"] / bad.ms == pytest.approx(0.969, abs=0.001)
    assert 59.0 <= 1000 * ACCEPT_LENGTH / bad.ms <= 61.0
    assert (good.graph, bad.graph) == (True, False)


def test_all_wait_for_the_slowest_rank_and_the_slowest_link() -> None:
    one_slow = Rates(kernels=1.0, ranks=[(1.0, 0.0)] * 7 + [(1.25, 0.0)], mode=1.0)
    one_untuned = Rates(kernels=1.0, ranks=[(1.0, 0.0)] * 7 + [(1.0, 37.8)], mode=1.0)
    tuned = decode_step(Knobs(), PLAIN, rates(TUNED), 1).ms
    assert decode_step(Knobs(), PLAIN, one_slow, 1).ms == pytest.approx(tuned + 0.25 * 8.437)
    assert decode_step(Knobs(), PLAIN, one_untuned, 1).ms == pytest.approx(1000 / 63.0, rel=0.001)


def test_one_rank_alone_needs_no_all_reduce() -> None:
    assert decode_step(Knobs(), PLAIN, rates({}, ranks=1), 1).ms == pytest.approx(8.437 + 0.14)


def test_a_batch_takes_longer_and_yields_more() -> None:
    steps = [decode_step(Knobs(), PLAIN, rates(TUNED), batch).ms for batch in (1, 8, 64)]
    assert steps == sorted(steps)
    assert 8 / steps[1] > 1 / steps[0]


def test_a_batch_beyond_the_captured_sizes_runs_without_a_graph() -> None:
    assert not decode_step(Knobs(), PLAIN, rates(TUNED), 257).graph
    assert decode_step(Knobs(), PLAIN, rates(TUNED), 256).graph


def test_prefill_grows_with_its_tokens() -> None:
    short, long = (prefill_step(Knobs(), rates(TUNED), n).ms for n in (1, 1001))
    assert short == 35.0
    assert long == pytest.approx(95.0)


def test_each_phase_has_a_factor_of_its_own() -> None:
    healthy = speculative_step(Knobs(), TWO_STEPS, rates(TUNED), 1).phases
    for phase in ("draft", "verify", "draft_extend", "host"):
        factor: Any = {f"{phase}_factor": 1.05}
        planted = speculative_step(Knobs(**factor), TWO_STEPS, rates(TUNED), 1).phases
        assert planted == pytest.approx(healthy | {phase: healthy[phase] * 1.05}), phase
    two = speculative_step(Knobs(draft_factor=2.0, verify_factor=1.1), NO_GRAPH, rates(TUNED), 4).phases
    before = speculative_step(Knobs(), NO_GRAPH, rates(TUNED), 4).phases
    assert two == pytest.approx(before | {"draft": before["draft"] * 2.0, "verify": before["verify"] * 1.1})
    plain = decode_step(Knobs(), PLAIN, rates(TUNED), 1).phases
    slower = decode_step(Knobs(decode_factor=1.05), PLAIN, rates(TUNED), 1).phases
    assert slower == pytest.approx(plain | {"decode": plain["decode"] * 1.05})


def test_ranks_wait_in_verify_for_the_one_that_drafts_longer() -> None:
    one_slow = Rates(kernels=1.0, ranks=[(1.25, 0.0), (1.0, 0.0)], mode=1.0)
    slow, fast = (speculative_step(Knobs(), TWO_STEPS, one_slow, 1, rank) for rank in (0, 1))
    assert slow.phases["draft"] == pytest.approx(1.25 * fast.phases["draft"])
    assert fast.phases["verify"] - slow.phases["verify"] == pytest.approx(0.25 * (0.25 + 0.29))
    assert slow.ms == pytest.approx(fast.ms)
    assert slow.kernels["verify"].compute == pytest.approx(1.25 * fast.kernels["verify"].compute)
    assert slow.kernels["verify"].all_reduce < fast.kernels["verify"].all_reduce


@pytest.mark.parametrize(("shape", "idle_ms"), [(TWO_STEPS, 0.0), (NO_GRAPH, 10.65)])
def test_kernels_fill_a_verify_but_for_what_launching_them_adds(shape: Shape, idle_ms: float) -> None:
    step = speculative_step(Knobs(), shape, rates(TUNED), 1)
    kernels = step.kernels["verify"]
    assert step.phases["verify"] - kernels.compute - kernels.all_reduce == pytest.approx(idle_ms)
    assert kernels.all_reduce == pytest.approx(122 * 22.0 * 1.2 / 1000)
