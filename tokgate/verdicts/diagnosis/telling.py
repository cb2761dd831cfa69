"""Sentences and commands that several families share."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePath

from tokgate.verdicts.run_again import options_given

from .case import Case
from .cause import Explained


def percent(share: float) -> str:
    """Write a share of tok/s that was lost as a change: 0.26 is "-26.0 %"."""
    return f"{-share * 100:+.1f} %"


def taken(told: Sequence[Explained]) -> str:
    """Return "-26.0 % of the -31.2 % on eagle3-2step single" of the largest share, and how many others there are."""
    if not told:
        return "no loss is known that it would explain"
    first = told[0]
    most = "at most " if first.at_most else ""
    # Gains of other parts may leave less than the part alone has cost.
    of = f" of the {percent(first.loss)}" if first.loss >= first.share else ""
    more = f" (and on {len(told) - 1} more)" if len(told) > 1 else ""
    return f"{most}{percent(first.share)}{of} in tok/s on {first.arm} {first.workload}{more}"


def again(case: Case, marker: str, *more: str) -> str:
    """Return the command that measures once more, with the options of the gate that this run was given."""
    rig, given = options_given(case.run.info)
    return " ".join(
        (f"pytest {case.run.info.promises}", f"-m {marker}", f"--rig {shlex.quote(rig)}", *given, *more)
    )


def compare(case: Case) -> str:
    """Return the command that compares with a good run, which lies where this one was put."""
    info = case.run.info
    place = PurePath(info.report_dir or "reports")
    good, own = (shlex.quote(str(place / name)) for name in ("GOOD_RUN", info.run_id))
    return f"tokgate compare {good} {own}"


def shortened(lines: Sequence[str], most: int = 4) -> tuple[str, ...]:
    kept = tuple(dict.fromkeys(lines))
    return kept if len(kept) <= most else (*kept[:most], f"and {len(kept) - most} more")
