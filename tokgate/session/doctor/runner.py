"""Runs checks side by side. One that hangs, raises or says nothing becomes `unknown` and stops no other."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tokgate.errors import GateError, HostLost
from tokgate.records.doctor import Examined, Remark, State

from .check import Case, Check, NotLooked

# Commands on a host are processes of their own there; more at once would be load that another gate measures.
AT_ONCE = 6
Said = Callable[[str, int, int], None]  # (name of the check that is done, how many are, of how many)


class Answered(NamedTuple):
    results: tuple[Examined, ...]
    seconds: float


def run_checks(
    checks: Sequence[Check], case: Case, *, at_once: int = AT_ONCE, said: Said | None = None
) -> dict[str, Answered]:
    """Return the answers by name, in the order of `checks`.

    A check past its limit is left behind in its thread, which ends with the process; its later answer is not heard.
    """
    waiting = deque(checks)
    running: dict[str, tuple[Check, float]] = {}
    done: queue.SimpleQueue[tuple[str, tuple[Examined, ...]]] = queue.SimpleQueue()
    answers: dict[str, Answered] = {}

    def keep(name: str, results: tuple[Examined, ...]) -> None:
        _, began = running.pop(name)
        answers[name] = Answered(results, time.monotonic() - began)
        if said is not None:
            said(name, len(answers), len(checks))

    while waiting or running:
        while waiting and len(running) < at_once:
            check = waiting.popleft()
            running[check.name] = (check, time.monotonic())
            threading.Thread(
                target=lambda c=check: done.put((c.name, examine(c, case))),
                daemon=True,
                name=f"check {check.name}",
            ).start()
        first = min(began + check.limit_s for check, began in running.values())
        try:
            name, results = done.get(timeout=max(0.0, first - time.monotonic()))
        except queue.Empty:
            now = time.monotonic()
            for check in [c for c, began in running.values() if began + c.limit_s <= now]:
                keep(check.name, (_overdue(check),))
        else:
            if name in running:
                keep(name, results)
    return {check.name: answers[check.name] for check in checks}


def examine(check: Check, case: Case) -> tuple[Examined, ...]:
    """Ask one check, in this thread. Never raises."""
    try:
        remarks = list(check.ask(case))
    except NotLooked as reason:
        return (_examined(check, Remark.unknown(f"not looked at: {reason}")),)
    except GateError as error:
        if isinstance(error, HostLost) and case.lost is None:
            case.lost = error
        unknown = Remark(state=State.UNKNOWN, found=error.found, do=error.do, tried=error.tried)
        return (_examined(check, unknown),)
    except Exception as error:  # noqa: BLE001 - a fault of a check is told, and hides none of the others
        broke = Remark.unknown(
            f"the check itself broke off: {error!r}"[:500], "report this: it is a fault of tokgate"
        )
        return (_examined(check, broke),)
    if not remarks:
        remarks = [Remark.unknown("the check said nothing", "report this: it is a fault of tokgate")]
    return tuple(_examined(check, remark) for remark in remarks)


def _overdue(check: Check) -> Examined:
    found = f"no answer within {check.limit_s:g} s; the others were made all the same"
    return _examined(
        check, Remark.unknown(found, "look by hand whether the host, its disk or its GPU driver hangs")
    )


def _examined(check: Check, remark: Remark) -> Examined:
    return Examined(
        check=check.name,
        state=remark.state,
        tried=remark.tried or f"to see {check.looks}",
        found=remark.found,
        do=remark.do,
    )
