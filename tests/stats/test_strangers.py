"""Whose a compute process is, where pids mean what they say and where they do not."""

from __future__ import annotations

from collections.abc import Sequence

from tests.stats.telemetry_rows import NS, answer, process
from tokgate.records.telemetry import HolderRow, Holding, ProcessRow, Stranger
from tokgate.stats.strangers import Strangers

SERVER, OTHER = 100, 4711


def during(
    answers: Sequence[HolderRow], processes: Sequence[ProcessRow], start: float = 10.0, end: float = 12.0
) -> tuple[tuple[Stranger, ...] | None, str | None]:
    return Strangers(answers, processes).during(round(start * NS), round(end * NS))


def every_second(*pids: int, until: int = 15) -> list[HolderRow]:
    return [answer(float(at), *pids) for at in range(8, until)]


def test_the_servers_own_are_no_strangers() -> None:
    assert during(every_second(SERVER), [process(SERVER, ours=True)]) == ((), None)


def test_somebody_who_was_there_from_the_first_answer_on_is_one() -> None:
    who = [process(SERVER, ours=True), process(OTHER, ours=False)]
    found, why = during(every_second(SERVER, OTHER), who)
    assert [s.pid for s in found or ()] == [OTHER]
    assert why is None


def test_somebody_who_left_before_the_window_is_none_of_its() -> None:
    answers = [answer(9.0, SERVER, OTHER), *[answer(float(at), SERVER) for at in range(10, 15)]]
    assert during(answers, [process(SERVER, ours=True), process(OTHER, ours=False)]) == ((), None)


def test_somebody_in_the_first_answer_after_it_may_have_begun_within() -> None:
    answers = [*every_second(SERVER, until=12), answer(12.4, SERVER, OTHER)]
    (found,) = during(answers, [process(SERVER, ours=True), process(OTHER, ours=False)])[0] or ()
    assert found.seen_after_s == 2.4


def test_a_pid_that_was_given_away_again_is_another_process() -> None:
    second = Holding(0, SERVER, 999, 8.0, "python3")
    answers = [*every_second(SERVER, until=12), HolderRow(at_ns=11 * NS + 1, holders=(second,))]
    who = [process(SERVER, ours=True), process(SERVER, ours=False, start_ticks=999)]
    (found,) = during(answers, who)[0] or ()
    assert (found.pid, found.start_ticks) == (SERVER, 999)


def test_one_of_the_servers_that_ended_while_it_was_looked_at_is_none() -> None:
    """A server that dies in mid-run is not its own foreign load."""
    gone = Holding(5, SERVER, None, 8.0, None)
    answers = [*every_second(SERVER, until=12), HolderRow(at_ns=11 * NS + 1, holders=(gone,))]
    who = [process(SERVER, ours=True), process(SERVER, ours=None, start_ticks=None)]
    assert during(answers, who)[0] == ()


def test_a_process_beyond_our_pid_namespace_is_a_stranger_beside_a_server_that_is_seen() -> None:
    hidden = Holding(3, OTHER, None, 8.0, "python3")
    answers = [
        HolderRow(at_ns=at * NS, holders=(Holding(0, SERVER, SERVER, 8.0, None), hidden))
        for at in range(8, 15)
    ]
    who = [process(SERVER, ours=True), process(OTHER, ours=None, start_ticks=None)]
    (found,) = during(answers, who)[0] or ()
    assert (found.pid, found.gpus) == (OTHER, (3,))
    assert "pid namespace" in (found.note or "")


def test_where_not_even_the_server_is_in_the_table_who_was_first_is_the_server() -> None:
    """The driver counts pids as the machine does, the gate sees those of a container."""
    first = [answer(float(at), 52001, 52002) for at in range(8, 11)]
    later = [answer(float(at), 52001, 52002, 52999) for at in range(11, 15)]
    who = [process(pid, ours=None) for pid in (52001, 52002, 52999)]
    assert during([*first, *first], who) == ((), None)
    (found,) = during([*first, *later], who)[0] or ()
    assert found.pid == 52999


def test_a_driver_that_names_nobody_cannot_tell_of_strangers() -> None:
    found, why = during(every_second(), [])
    assert found is None
    assert "not even the server's own" in (why or "")


def test_silence_is_no_proof_that_nobody_computed() -> None:
    own = [process(SERVER, ours=True)]
    found, why = during([answer(8.0, SERVER), answer(14.0, SERVER)], own)
    assert (found, why) == (None, "6.0 s without an answer to who computes")


def test_somebody_who_was_seen_counts_even_in_half_a_picture() -> None:
    own = [process(SERVER, ours=True), process(OTHER, ours=False)]
    found, why = during([answer(8.0, SERVER), answer(14.0, SERVER, OTHER)], own)
    assert [s.pid for s in found or ()] == [OTHER]
    assert why is None


def test_one_process_on_several_cards_is_told_once() -> None:
    cards = tuple(Holding(i, OTHER, OTHER, 100.0 * (i + 1), None) for i in (2, 5))
    answers = [
        HolderRow(at_ns=at * NS, holders=(Holding(0, SERVER, SERVER, 8.0, None), *cards))
        for at in range(8, 15)
    ]
    (found,) = during(answers, [process(SERVER, ours=True), process(OTHER, ours=False)])[0] or ()
    assert (found.gpus, found.used_mib, found.seen_after_s) == ((2, 5), 600.0, 0.0)
