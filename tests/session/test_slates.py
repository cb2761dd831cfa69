"""A machine that is not clean is waited for once, and a person is told at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from tests.session.rigs import small_rig
from tokgate.hosts.connection import Host
from tokgate.records import CleanSlate, Finding
from tokgate.records.progress import ProgressEvent, Words
from tokgate.session.slates import Slates

HELD = Finding(severity="unclean", what="GPU 3: 1894 MiB are allocated, held by pid 71 of ada", do="ask ada")
TREE = Finding(severity="note", what="the tree of SGLang is edited", do="look at it")


class Session:
    """Looks that find what the test says, `waited`: whether each of them was allowed to wait."""

    def __init__(self, *findings: tuple[Finding, ...], waits: bool = True) -> None:
        self.waits = waits
        self._findings = iter(findings)
        self.waited: list[bool] = []
        self.events: list[ProgressEvent] = []
        self.slates = Slates(cast("Host", None), small_rig(), self.events.append, look=self._look)

    def _look(self, _host: Host, _rig: object, *, when: str, wait: bool, **_more: Any) -> CleanSlate:
        self.waited.append(wait)
        waiting: Callable[[CleanSlate], None] = _more["waiting"]
        slate = CleanSlate(when=when, host="local", findings=next(self._findings))
        if wait and self.waits and not slate.clean:
            waiting(slate)
        return slate

    def told(self) -> list[str]:
        found = [event.text for event in self.events if isinstance(event, Words)]
        self.events.clear()
        return found


def test_what_was_waited_for_in_vain_is_not_waited_for_again_and_told_once() -> None:
    session = Session((HELD, TREE), (HELD,), (HELD,))
    assert not session.slates.look("session start").clean
    (told,) = [e for e in session.events if isinstance(e, Words) and e.steps]
    assert told.steps == ("ask ada",)
    waiting, unclean = session.told()
    assert waiting == f"waiting, 120 s at most, until it is clean: {HELD.what}"
    assert unclean == (
        "nothing is measured while the machine is not clean (Ctrl-C ends the session now): that is still so"
    )
    session.slates.look("before 01-baseline")
    session.slates.look("session end")
    assert session.waited == [True, False, False]
    assert session.told() == []


def test_a_machine_that_has_become_clean_is_measured_and_waited_for_again_once_a_server_has_run() -> None:
    session = Session((HELD,), (), (HELD,), (HELD,))
    session.slates.look("session start")
    session.told()
    assert session.slates.look("before 01-baseline").clean
    assert session.told() == ["the machine is clean now: it is measured from here on"]
    session.slates.server_starts()
    session.slates.look("before 02-eagle3-2step")
    assert len(session.told()) == 2  # waited for, and told anew
    # A launch that did not start leaves nothing behind.
    session.slates.look("before 03-baseline-again")
    assert session.waited == [True, False, True, False]


def test_a_server_that_follows_a_look_in_vain_makes_the_next_one_wait() -> None:
    session = Session((HELD,), (), ())
    session.slates.look("session start")
    session.slates.look("before 01-baseline")
    session.slates.server_starts()
    session.slates.look("session end")
    assert session.waited == [True, False, True]


def test_of_much_that_was_found_the_first_is_told_and_the_others_are_counted() -> None:
    long = HELD.model_copy(update={"what": "x" * 500})
    session = Session((TREE, long, HELD), waits=False)
    session.slates.look("session start")
    told = session.told()[-1]
    assert told.endswith(f"{'x' * 159}…; and 1 more")
    assert TREE.what not in told


def test_that_launches_are_not_made_for_it_is_news_once_and_again_when_it_comes_back() -> None:
    session = Session((HELD,), (HELD,), (HELD,), (), (HELD,))
    news = []
    for _ in range(5):
        slate = session.slates.look("before a launch")
        news.append(not slate.clean and session.slates.is_news())
    assert news == [True, False, False, False, True]
