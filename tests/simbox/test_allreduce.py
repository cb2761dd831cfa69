"""What NCCL makes of its variables."""

from __future__ import annotations

import pytest

from simbox.allreduce import COSTS, NcclRefusesError, understand

TUNED = {name: value for name, (value, _) in COSTS.items()}


def test_the_tuned_set_costs_nothing_more_and_nothing_set_costs_all() -> None:
    assert understand(TUNED).extra_us == 0.0
    assert understand({}).extra_us == pytest.approx(37.8)


@pytest.mark.parametrize("name", COSTS)
def test_each_missing_variable_has_its_price(name: str) -> None:
    left = {k: v for k, v in TUNED.items() if k != name}
    assert understand(left).extra_us == pytest.approx(COSTS[name][1])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"NCCL_P2P_LEVEL": "sys"}, None),  # ignored without a word
        ({"NCCL_BUFFSIZE": "4M"}, "NCCL_BUFFSIZE set by environment to 4."),
        ({"NCCL_MAX_NCHANNELS": "100"}, "NCCL_MAX_NCHANNELS set by environment to 100."),
        ({"NCCL_NTHREADS": "500"}, "NCCL_NTHREADS set by environment to 500."),
        ({"NCCL_PROTO": "^LL"}, "NCCL_PROTO set by environment to ^LL"),
    ],
)
def test_odd_values(changed: dict[str, str], said: str | None) -> None:
    view = understand(TUNED | changed)
    (name,) = changed
    assert next((s for s in view.said if name in s), None) == said
    assert view.extra_us > 0
    assert view.channels <= 64
    assert view.threads == 512


@pytest.mark.parametrize("changed", [{"NCCL_ALGO": "Rings"}, {"NCCL_PROTO": "LL256"}])
def test_an_unknown_word_ends_the_start(changed: dict[str, str]) -> None:
    with pytest.raises(NcclRefusesError):
        understand(TUNED | changed)
