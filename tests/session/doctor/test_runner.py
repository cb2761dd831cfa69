"""Checks side by side: one that hangs, breaks or is silent is told as unknown and stops no other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.session.rigs import small_rig
from tokgate.errors import HostFault
from tokgate.records.doctor import Remark, State
from tokgate.session.doctor.check import Case, Check, NotLooked
from tokgate.session.doctor.runner import run_checks

Ask = Callable[[Case], Iterable[Remark]]


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(small_rig(), root=tmp_path, reports=tmp_path, host=None, why_no_host="the host is away")


def check(name: str, ask: Ask, limit_s: float = 20.0) -> Check:
    return Check(name, "whether it works", "nothing", ask, limit_s=limit_s)


def fine(_: Case) -> Iterable[Remark]:
    yield Remark.ok("fine")


def test_a_check_that_hangs_is_left_behind_and_the_others_are_made(case: Case) -> None:
    never = threading.Event()

    def hangs(_: Case) -> Iterable[Remark]:
        never.wait()
        yield Remark.ok("too late")

    # One place for all of them: the check behind the hanging one gets its turn.
    found = run_checks([check("a.hangs", hangs, 0.05), check("a.fine", fine)], case, at_once=1)
    never.set()
    assert [found[name].results[0].state for name in ("a.hangs", "a.fine")] == [State.UNKNOWN, State.OK]
    assert found["a.hangs"].results[0].found.startswith("no answer within 0.05 s")


def raises(error: Exception) -> Ask:
    def ask(_: Case) -> Iterable[Remark]:
        raise error

    return ask


@pytest.mark.parametrize(
    ("ask", "found", "do"),
    [
        (
            raises(HostFault(tried="to run x", found="it ended with 3", do="see y")),
            "it ended with 3",
            "see y",
        ),
        (raises(NotLooked("no GPU answers")), "not looked at: no GPU answers", None),
        (
            raises(KeyError("cores")),
            "the check itself broke off: KeyError('cores')",
            "report this: it is a fault of tokgate",
        ),
        (lambda _: (), "the check said nothing", "report this: it is a fault of tokgate"),
        (lambda case: [Remark.ok(case.host.name)], "not looked at: the host is away", None),
    ],
)
def test_what_cannot_look_says_why(case: Case, ask: Ask, found: str, do: str | None) -> None:
    (result,) = run_checks([check("a.x", ask)], case)["a.x"].results
    assert (result.state, result.found, result.do) == (State.UNKNOWN, found, do)
    assert result.tried


def test_what_several_checks_look_at_is_read_once(case: Case) -> None:
    reads: list[int] = []

    def read() -> str:
        reads.append(1)
        return "seen"

    def asks(one: Case) -> Iterable[Remark]:
        yield Remark.ok(one.once("thing", read))

    found = run_checks([check(f"a.{i}", asks) for i in range(5)], case)
    assert reads == [1]
    assert {a.results[0].found for a in found.values()} == {"seen"}


def test_a_reading_that_fails_fails_for_each_who_asks(case: Case) -> None:
    reads: list[int] = []

    def broken() -> Any:
        reads.append(1)
        raise HostFault(tried="t", found="gone", do="d")

    def asks(one: Case) -> Iterable[Remark]:
        yield Remark.ok(one.once("thing", broken))

    found = run_checks([check("a.1", asks), check("a.2", asks)], case)
    assert reads == [1]
    assert [a.results[0].found for a in found.values()] == ["gone", "gone"]


def test_whoever_watches_hears_of_each(case: Case) -> None:
    heard: list[tuple[str, int, int]] = []
    run_checks([check("a.1", fine), check("a.2", fine)], case, said=lambda *told: heard.append(told))
    assert sorted(name for name, _, _ in heard) == ["a.1", "a.2"]
    assert [(done, of) for _, done, of in heard] == [(1, 2), (2, 2)]
