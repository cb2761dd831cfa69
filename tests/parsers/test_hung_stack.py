from __future__ import annotations

import pytest

from tokgate.parsers.crashes import find_cause
from tokgate.parsers.hung_stack import hung_stack
from tokgate.parsers.log_prefix import PrefixedLine, log_lines

DUMP = """\
[2026-03-02 11:25:58 TP6] Pyspy dump for PID 309:
Process 309: sglang::scheduler{process}
Python v3.12.12 (/usr/bin/python3.12)

Thread 310 (idle): "Thread-10 (watchdog_thread)"
    select (selectors.py:415)

Thread 309 (active): "MainThread"
    _apply (penaltylib/min_new_tokens.py:78)

    verify (eagle_info.py:259)
    forward_batch_generation (eagle_worker.py:268)
Thread 311 (idle): "Thread-11"
    wait (threading.py:355)
"""


def lines(text: str) -> list[PrefixedLine]:
    return [line for _, line in log_lines(text)]


@pytest.mark.parametrize(("process", "rank"), [("_TP6", "TP6"), ("_DP1_TP3_EP3", "DP1 TP3 EP3"), ("", "TP6")])
def test_the_rank_is_in_the_process_title_or_in_the_stamp(process: str, rank: str) -> None:
    stack = hung_stack(lines(DUMP.format(process=process)))
    assert stack is not None
    assert stack.rank == rank
    assert stack.words == "_apply (penaltylib/min_new_tokens.py:78), called by verify (eagle_info.py:259)"
    assert len(stack.lines) == 4


def test_a_phase_that_hangs_itself_is_named_once() -> None:
    stack = hung_stack(lines('Thread 0x7F12 (active+gil): "MainThread"\n    verify (eagle_info.py:259)\n'))
    assert stack is not None
    assert (stack.rank, stack.words) == (None, "verify (eagle_info.py:259)")


def test_without_a_main_thread_there_is_no_stack() -> None:
    assert hung_stack(lines(DUMP.replace("MainThread", "Other"))) is None
    assert hung_stack([]) is None


def test_the_rank_of_the_stack_is_named_beside_the_one_that_saw_the_hang() -> None:
    watchdog = "[2026-03-02 11:25:58 TP3] Watchdog timeout (self.watchdog_timeout=300)\n"
    cause = find_cause(watchdog + DUMP.format(process="_TP6"))
    assert cause is not None
    assert cause.ranks == ("TP3", "TP6")
    assert "TP6 is in _apply" in cause.headline
