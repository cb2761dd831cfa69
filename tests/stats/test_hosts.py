from __future__ import annotations

import math

import numpy as np
import pytest

from tokgate.stats.hosts import host_spread


def test_one_host_has_nothing_beside_it() -> None:
    assert host_spread({"a": [90.0, 91.0]}) is None
    assert host_spread({"a": [90.0], "b": []}) is None


def test_single_runs_cannot_tell_runs_from_hosts() -> None:
    spread = host_spread({"a": [100.0], "b": [110.0]})
    assert spread is not None
    assert (spread.hosts, spread.runs, spread.between_runs) == (2, 2, None)
    assert spread.apart == pytest.approx(0.1)
    assert spread.between_hosts == pytest.approx(math.log(1.1) / math.sqrt(2))


def test_hosts_that_differ_no_more_than_their_runs_do_not_lie_apart() -> None:
    spread = host_spread({"a": [99.0, 101.0], "b": [101.0, 99.0]})
    assert spread is not None
    assert spread.between_hosts == 0.0
    assert spread.between_runs == pytest.approx(0.01414, rel=0.01)


def test_both_levels_are_found_again() -> None:
    """Hosts 5 % apart, runs 1 %: of many such fleets the mean variances are those, unequal numbers of runs included."""
    draw = np.random.default_rng(8)
    hosts, runs = [], []
    for _ in range(400):
        found = {
            f"h{h}": list(np.exp(draw.normal(0, 0.05) + draw.normal(0, 0.01, size=2 + h % 3)))
            for h in range(6)
        }
        spread = host_spread(found)
        assert spread is not None
        assert spread.between_hosts is not None
        assert spread.between_runs is not None
        hosts.append(spread.between_hosts**2)
        runs.append(spread.between_runs**2)
    assert math.sqrt(float(np.mean(hosts))) == pytest.approx(0.05, rel=0.08)
    assert math.sqrt(float(np.mean(runs))) == pytest.approx(0.01, rel=0.05)
