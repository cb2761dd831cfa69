"""The two sides of a comparison: values of server runs on the metric's scale, and how far runs differ."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from .decision import Rule
from .levels import PRIOR_DF, PRIOR_SHARE, Floats, RunValues, Spread, of_a_median, of_runs, sums

STARTS_APART = 2.0  # times what runs differ by: a quiet CPU's starts lie 1 % apart, its restarts not much


class Sides(NamedTuple):
    now: Floats  # values of runs on the scale
    before: tuple[Floats, ...]  # the same, one a session
    history: tuple[Floats, ...]
    spread_now: Spread  # of one run
    spread_before: Spread
    prior_sd: float
    mixed: bool  # what starts of `now` differ by is the most of its spread, and may be their prompts
    notes: tuple[str, ...]


def sides_of(
    now: Sequence[RunValues], before: Sequence[RunValues], rule: Rule, *, history: Sequence[RunValues]
) -> Sides:
    if not now:
        raise ValueError("no server run of the arm: nothing can be judged")
    for run in (*now, *before, *history):
        if not run.values or not all(math.isfinite(v) and v > 0 for v in run.values):
            raise ValueError(
                f"{run.launch} of {run.session}: values must be positive and finite: {run.values!r}"
            )
    # A floor beyond 100 % is a rig's way to ask nothing: it says nothing of how far runs differ.
    prior_sd = PRIOR_SHARE * (min(rule.relative, 1.0) if rule.ratio else rule.absolute)
    of_now, of_before = groups_of(now, rule), groups_of(before, rule)
    of_history = groups_of(history, rule)
    told = {"now": (now, of_now), "before": (before, of_before)}
    spreads, notes, mixed = {}, [], False
    for side, (runs, groups) in told.items():
        if not runs:
            continue
        every, known = [*runs, *history], [*groups, *of_history]
        if rule.same_configuration:
            every, known = [*now, *before, *history], [*of_now, *of_before, *of_history]
        elif side == "before":
            every, known = list(runs), list(groups)
        n = statistics.harmonic_mean([len(run.values) for run in runs])
        by_starts = float(of_a_median(_start_variance(every, rule, (STARTS_APART * prior_sd) ** 2), n))
        mixed |= side == "now" and len(every) == 1 and by_starts > prior_sd**2
        spreads[side] = of_runs(known, by_starts, prior_sd)
        restarts = int(sums(known).df)
        if restarts < PRIOR_DF:
            label = "" if rule.same_configuration else f" of the {'arm' if side == 'now' else 'twin'}"
            notes.append(
                f"restarts{label}: {restarts} seen beyond the first, so a prior of {prior_sd:.2%} with {PRIOR_DF:g} "
                "degrees of freedom weighs more"
            )
    return Sides(
        now=np.concatenate(of_now),
        before=tuple(of_before),
        history=tuple(of_history),
        spread_now=spreads["now"],
        spread_before=spreads.get("before", spreads["now"]),
        prior_sd=prior_sd,
        mixed=mixed,
        notes=tuple(dict.fromkeys(notes)),
    )


def sessions_note(sides: Sides, rule: Rule) -> tuple[str, ...]:
    if len(sides.before) - 1 >= PRIOR_DF:
        return ()
    many = "1 session" if len(sides.before) == 1 else f"{len(sides.before)} sessions"
    unit = f"{sides.prior_sd:.2%}" if rule.ratio else f"{sides.prior_sd:g}"
    return (f"what it is compared with is of {many}, so a prior of {unit} between sessions weighs more",)


def groups_of(runs: Sequence[RunValues], rule: Rule) -> list[Floats]:
    """Return the runs' values on the scale, one array a session."""
    ordered = sorted(runs, key=lambda run: run.session)
    return [
        np.array([statistics.median(scaled(v, rule) for v in run.values) for run in members])
        for _, members in groupby(ordered, key=lambda run: run.session)
    ]


def _start_variance(runs: Sequence[RunValues], rule: Rule, prior: float) -> float:
    """Return how far starts differ by themselves, about the level of their run and about that of their prompts.

    The n-th start of every run has the same prompts, and prompts differ in what is accepted: tok/s of one speculating
    server by several per cent, of which nothing is noise. What two runs or more have in common start by start is taken
    out (two-way table, (runs - 1)(starts - 1) degrees of freedom); of a single run it cannot be told apart. What is
    missing to PRIOR_DF degrees of freedom is filled up with `prior`: one start or two say nothing of how far they differ.
    """
    rows = [np.array([scaled(v, rule) for v in run.values]) for run in runs if len(run.values) > 1]
    if not rows:
        return prior
    shortest = min(len(row) for row in rows)
    table = np.stack([row[:shortest] for row in rows])
    if len(rows) > 1:
        table = table - table.mean(axis=0)
    found = sums(list(table))
    df = float(found.df) if len(rows) == 1 else (len(rows) - 1) * (shortest - 1)
    missing = max(0.0, PRIOR_DF - df)
    return (missing * prior + float(found.squares)) / (missing + df)


def scaled(value: float, rule: Rule) -> float:
    return math.log(value) if rule.ratio else value


def back(scaled: float, rule: Rule) -> float:
    return math.exp(scaled) if rule.ratio else scaled
