"""Two clients and a server are said to agree where they surely do, and to differ where they surely do."""

from __future__ import annotations

import asyncio
import json
import sys
import types
from collections.abc import Sequence
from io import StringIO
from typing import Any

import pytest

from benchmarks.agreement.judged import LIMIT, Ratio, ratios, reasons, table, worst
from benchmarks.agreement.theirs import Report, Took, total_tok_s
from benchmarks.agreement.turns import Ours, OursError, Turn, figures_of
from tests.session.generations import generation

TOKENS = 101


def took(tok_s: float, *, start: float = 0.0, done_s: float = 0.0) -> Took:
    span = (TOKENS - 1) / tok_s
    return Took(start, 0.1, 0.1 + span + done_s, TOKENS, span)


def turn(
    ours: float, theirs: float, *, server: float | None = None, first: bool = True, done_s: float = 0.0
) -> Turn:
    mine = Ours((1000 / ours,), (ours,), (server or ours,), (done_s * 1000,), (), ours)
    return Turn(first, mine, (took(theirs, done_s=done_s),))


def named(turns: Sequence[Turn]) -> dict[str, Ratio]:
    return {one.name: one for one in ratios(turns)}


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ([1.0 + n / 10_000 for n in range(8)], "within"),
        ([1.02 + n / 10_000 for n in range(8)], "apart"),
        ([0.98 + n / 10_000 for n in range(8)], "apart"),
        ([0.99, 1.01] * 4, "undecided"),
        ([1.0] * 5, "undecided"),
    ],
)
def test_an_interval_that_lies_on_one_side_decides(values: list[float], word: str) -> None:
    assert Ratio("a / b", tuple(values)).word(LIMIT) == word


def test_the_worst_of_those_that_have_to_agree_is_said_of_all() -> None:
    near, far = Ratio("a", (1.0,) * 8), Ratio("b", (1.1,) * 8)
    assert worst([near, far], LIMIT) == "apart"
    assert worst([near, Ratio("b", (1.1,) * 8, held=False)], LIMIT) == "within"


def test_a_clock_that_runs_on_until_done_is_seen_and_named() -> None:
    """Their clock ends with [DONE]: what comes late there is in their figure, and not in that of their chunks."""
    turns = [turn(100.0, 100.0, first=n % 2 == 0, done_s=0.02) for n in range(8)]
    found = named(turns)
    assert found["ours / theirs"].median == pytest.approx(1.02)
    assert found["ours / theirs by its chunks alone"].median == pytest.approx(1.0)
    said = "\n".join(reasons(turns, [t.theirs[0] for t in turns], Report(8, 10.2, 50.0)))
    assert "20.000 ms behind the last chunk: +1.961%" in said


def test_what_coming_first_is_worth_is_told_apart_from_who_measures() -> None:
    """Whoever comes second finds a warmer server: over all turns the two clients are equal, and their order is not."""
    turns = [turn(100.0, 102.0) if n % 2 == 0 else turn(102.0, 100.0, first=False) for n in range(8)]
    found = named(turns)
    assert found["ours / theirs"].median == pytest.approx(1.0, abs=0.001)
    assert found["who comes first / who comes second"].median == pytest.approx(100 / 102, abs=0.001)


def test_a_report_that_is_of_other_requests_is_told() -> None:
    turns = [turn(100.0, 100.0) for _ in range(8)]
    said = list(reasons(turns, [t.theirs[0] for t in turns], Report(8, 12.0, 50.0)))
    assert "which is not what its requests took" in said[0]


def test_streams_of_one_start_are_all_tokens_over_all_time() -> None:
    assert total_tok_s([took(100.0), took(100.0, start=0.4)]) == pytest.approx(202 / 1.5)


def test_the_table_says_each_comparison() -> None:
    turns = [turn(100.0, 98.0, first=n % 2 == 0) for n in range(8)]
    lines = list(table(turns, ratios(turns), LIMIT))
    (line,) = [line for line in lines if line.startswith("ours / theirs  ")]
    assert "1.02041" in line
    assert "APART by more than 0.5%" in line


def test_a_generation_that_failed_gives_no_figures() -> None:
    cut = generation(index=0, status="cut", why="the server went away")
    with pytest.raises(OursError, match="the server went away"):
        figures_of([cut])


def test_figures_are_those_of_the_samples() -> None:
    """The server's word is 50 tok/s, and the client saw a token every 20 ms."""
    mine = figures_of([generation(index=0)])
    assert mine.tpot_ms[0] == pytest.approx(20.0)
    assert mine.client_tok_s[0] == pytest.approx(50.0)
    assert mine.done_ms == (0.0,)


class Output(types.SimpleNamespace):
    """What SGLang's request function returns."""


def test_requests_of_a_start_wait_for_one_another_and_for_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """With their client's module played by ours: two starts of two streams, each let go by one line."""
    serving = types.ModuleType("sglang.benchmark.serving")
    for name, module in {
        "sglang": types.ModuleType("sglang"),
        "sglang.benchmark": types.ModuleType("x"),
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    sys.modules["sglang.benchmark"].serving = serving  # type: ignore[attr-defined] # a module of the test's
    monkeypatch.setitem(sys.modules, "sglang.benchmark.serving", serving)
    from benchmarks.agreement.on_order import Order

    said = StringIO()
    under_way: list[int] = []

    async def original(request_func_input: Any, pbar: Any = None) -> Any:
        under_way.append(request_func_input.prompt[0])
        return Output(
            success=True, error="", start_time=1.0, ttft=0.1, latency=1.1, output_len=11, itl=[0.1] * 10
        )

    monkeypatch.setattr(sys, "stdin", StringIO("go\ngo\n"))
    ordered = Order(2, said).around(original)

    async def both_starts() -> None:
        for first in (1, 3):
            requests = [ordered(request_func_input=Output(prompt=[n])) for n in (first, first + 1)]
            await asyncio.gather(*requests)

    asyncio.run(both_starts())
    told = [json.loads(line) for line in said.getvalue().splitlines()]
    assert [next(iter(line)) for line in told] == ["ready", "took", "ready", "took"]
    assert told[0]["ready"] == [[1], [2]]
    assert [len(line["took"]) for line in told if "took" in line] == [2, 2]
    assert sorted(under_way) == [1, 2, 3, 4]
