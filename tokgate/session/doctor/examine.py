"""One examination: the rig is loaded, its host reached, every check asked."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Sequence
from pathlib import Path

from tokgate.records.doctor import Examination, Examined, Remark
from tokgate.rig.models import Rig
from tokgate.session.rig_secrets import redactor_of

from . import client, reach
from .check import Case, Check
from .checks import CHECKS
from .runner import Answered, Said, run_checks

# Variables and arguments whose values nobody needs to read in a report.


def examine(
    rig: Rig,
    *,
    root: Path,
    reports: Path,
    quick: bool = False,
    repository: str | None = None,
    checks: Sequence[Check] = CHECKS,
    said: Said | None = None,
) -> Examination:
    """Ask all `checks` that apply to the rig. `repository`: a checkout of SGLang on the host. RigError: its host's address makes no sense. Nothing else is raised."""
    began = time.monotonic()
    at = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    redactor = redactor_of(rig)
    reached = reach.reach(rig, redactor)
    after = time.monotonic()
    case = Case(
        rig,
        root=root,
        reports=reports,
        host=reached.host,
        why_no_host=reached.why,
        repository=repository,
    )
    asked = [c for c in checks if c.applies(rig) and (c.quick or not quick) and c.name != reach.NAME]
    last = [c for c in asked if c in client.LAST]
    answers = {
        reach.NAME: Answered(
            tuple(_examined(remark) for remark in reached.remarks),
            after - began,
        )
    }
    answers |= run_checks([c for c in asked if c not in last], case, said=said)
    answers |= run_checks(last, case, at_once=1, said=said)
    if case.lost is not None and reached.host is not None:
        # The others could not look: without a failure a host that is gone would be called ready.
        lost = reach.lost(reached.host, case.lost)
        answers[reach.NAME] = Answered((*answers[reach.NAME].results, _examined(lost)), after - began)
    # What was read on the host is clean already; a path of the rig itself may hold a secret, too.
    clean = redactor.clean
    order = [c.name for c in CHECKS if c.name in answers]
    return Examination(
        rig=rig.name,
        simulated=rig.simulated,
        host=rig.host.testinfra if reached.host is None else reached.host.name,
        at=at,
        quick=quick,
        seconds=time.monotonic() - began,
        results=tuple(
            one.model_copy(
                update={
                    "tried": clean(one.tried),
                    "found": clean(one.found),
                    "do": None if one.do is None else clean(one.do),
                }
            )
            for name in order
            for one in answers[name].results
        ),
        check_seconds={name: round(answers[name].seconds, 3) for name in order},
    )


def _examined(remark: Remark) -> Examined:
    return Examined(
        check=reach.NAME,
        state=remark.state,
        tried=remark.tried or f"to see {reach.REACHED.looks}",
        found=remark.found,
        do=remark.do,
    )
