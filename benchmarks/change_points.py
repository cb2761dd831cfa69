"""How often a history in which nothing changed is told of a change, and how soon a loss is.

    python benchmarks/change_points.py [--histories 1000]        (two minutes)

What tokgate/stats/change_points.py claims of its penalty is what this prints.
"""

from __future__ import annotations

import argparse

import numpy as np
import numpy.typing as npt

from tokgate.stats.change_points import change_points

LENGTHS = (6, 10, 20, 50, 100, 200)
SPREADS = (0.0025, 0.005, 0.01)
KINDS = ("normal", "t, df 4", "remembers 0.3", "two modes")
# Of throughput: a quarter and a half of its floor of 2 %.
PRIOR_SD, LEAST = 0.005, 0.01
BEFORE = 20  # sessions before a loss

Floats = npt.NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--histories", type=int, default=1000)
    histories = parser.parse_args().histories
    draw = np.random.default_rng(20261130)
    print("histories without a change that are told of one; two modes: 3 % slower in 15 % of the sessions")
    print(f"{'spread':>7}  {'noise':<14}{''.join(f'n={n:<4}'.rjust(8) for n in LENGTHS)}")
    for spread in SPREADS:
        for kind in KINDS:
            rates = [_told(draw, kind, spread, n, histories) for n in LENGTHS]
            print(f"{spread:>7.2%}  {kind:<14}{''.join(f'{rate:>8.1%}' for rate in rates)}")
    print(f"\na loss after {BEFORE} sessions, told within one session of where it was, after so many of them")
    print(f"{'spread':>7}  {'loss':<6}{''.join(f'{k:>8}' for k in (3, 4, 5, 6, 8, 12))}")
    for spread in SPREADS[1:]:
        for loss in (0.02, 0.03, 0.05):
            seen = [_seen(draw, spread, loss, k, histories // 3) for k in (3, 4, 5, 6, 8, 12)]
            print(f"{spread:>7.2%}  {loss:<6.0%}{''.join(f'{rate:>8.1%}' for rate in seen)}")


def _told(draw: np.random.Generator, kind: str, spread: float, n: int, histories: int) -> float:
    found = (
        bool(change_points(np.exp(_noise(draw, kind, spread, n)).tolist(), prior_sd=PRIOR_SD, least=LEAST))
        for _ in range(histories)
    )
    return sum(found) / histories


def _seen(draw: np.random.Generator, spread: float, loss: float, after: int, histories: int) -> float:
    hits = 0
    for _ in range(histories):
        logs = np.concatenate([draw.normal(0, spread, BEFORE), draw.normal(np.log1p(-loss), spread, after)])
        found = change_points(np.exp(logs).tolist(), prior_sd=PRIOR_SD, least=LEAST)
        hits += any(abs(one.at - BEFORE) <= 1 for one in found)
    return hits / histories


def _noise(draw: np.random.Generator, kind: str, spread: float, n: int) -> Floats:
    if kind == "t, df 4":
        return np.asarray(draw.standard_t(4, n) * spread / np.sqrt(2))
    noise = draw.normal(0, spread, n)
    if kind == "two modes":
        return np.asarray(noise - 0.03 * (draw.random(n) < 0.15))
    if kind == "remembers 0.3":
        for i in range(1, n):
            noise[i] = 0.3 * noise[i - 1] + np.sqrt(1 - 0.09) * noise[i]
    return noise


if __name__ == "__main__":
    main()
