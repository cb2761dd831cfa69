from __future__ import annotations

import io

import pytest

from tests.report import example_verdicts, examples, hostile
from tokgate.records import Outcome, Reference, Verdict
from tokgate.report.commands import commands
from tokgate.report.conclusion import SessionEnd
from tokgate.report.terminal import render, verdict_text, wants_colour
from tokgate.report.terminal_last import last_words
from tokgate.report.verdict_json import build
from tokgate.report.visible import columns


def block(
    *verdicts: Verdict, simulated: bool = False, end: SessionEnd | None = None, width: int = 80
) -> list[str]:
    evidence = examples.run_evidence(simulated=simulated)
    file = build(evidence, verdicts, examples.rig(simulated=simulated), end=end)
    return render(file, "reports/20261129T154000-kimi-8gpu", colour=False, width=width).split("\n")


def test_the_block_as_a_whole() -> None:
    assert block(*example_verdicts.six_outcomes(), simulated=True) == [
        "SIMULATED  rig kimi-8gpu: no number here says anything about a real machine",
        "tokgate  REGRESSED  exit 13  rig kimi-8gpu",
        "speculation loses: 60.2 tok/s where the control arm makes 88.5 (-32.0 %)",
        "",
        "REGRESSED    speculation_bea… decode_tok_s 02-eagle3-2step/single  60.2  -32.0 %",
        "             speculation loses: 60.2 tok/s where the control arm makes 88.5",
        "             (-32.0 %)",
        "             do: look for 'cuda graph: False' on decode lines: grep 'Decode",
        "             batch'",
        "           reports/20261129T154000-kimi-8gpu/launches/02-eagle3-2step/server.log",
        "INVALID      decode_throughput 03-eagle3-pinned/single",
        "             the server of 03-eagle3-pinned did not start: it does not fit into",
        "             GPU memory",
        "             do: free GPU 3, held by pid 4242 (python3)",
        "inconclusive steadiness total_tok_s 02-eagle3-2step/conc4                    n=4",
        "             02-eagle3-2step, conc4: the series still rises, 16 generations are",
        "             too few",
        "             do: measure longer: --rig-set workloads.conc4.repeats=12",
        "no-baseline  stored_baseline decode_tok_s 02-eagle3-2step/single      60.2 tok/s",
        "             no stored baseline for 02-eagle3-2step, single",
        "             do: tokgate baseline update kimi-8gpu --why 'first measurement'",
        "improved     stored_baseline decode_tok_s 01-baseline/single  88.8 tok/s  +5.6 %",
        "pass         time_to_first_token 01-baseline/single                80.0 ms  n=15",
        "cause 1, proven: machine not clean: GPU 0 has an unknown amount of memory",
        "  allocated session start, and nobody made a finding of it",
        "cause 2, proven: machine cannot be seen: before 03-eagle3-pinned: … …",
        "cause 3, proven: server did not start: 03-eagle3-pinned: it does not fit into…",
        "eagle3-2step single: 1.86 tokens in 30.7 ms, break-even 20.9 (9.8 too long)",
        "eagle3-2step conc4: one stream: 1.86 tokens in 43.8 ms, break-even 29.8 (14.0",
        "  too long)",
        "raw: reports/20261129T154000-kimi-8gpu",
    ]


@pytest.mark.parametrize("width", [80, 60, 200])
def test_no_line_is_wider_than_the_terminal_or_eighty_columns(width: int) -> None:
    lines = block(
        *example_verdicts.verdicts(), width=width, end=SessionEnd(status=1, unclassified=(hostile.LONG,))
    )
    wide = [line.strip() for line in lines if columns(line) > min(width, 80)]
    # At 60 columns a path of a next step, which is there to be copied, is whole and out of the line.
    assert wide == (
        [] if width > 60 else ["reports/20261129T154000-kimi-8gpu/launches/02-eagle3-2step/server.log"]
    )


def test_hostile_text_cannot_reach_the_terminal() -> None:
    text = "\n".join(block(*example_verdicts.verdicts()))
    assert all(line.isprintable() for line in text.split("\n"))


def test_colours_are_ours_alone() -> None:
    file = build(examples.run_evidence(), example_verdicts.verdicts(), examples.rig())
    coloured = render(file, "reports/x", colour=True)
    assert "\x1b[1;31mREGRESSED" in coloured
    for code in ("[1;31m", "[1;32m", "[32m", "[33m", "[35m", "[36m", "[0m"):
        coloured = coloured.replace(f"\x1b{code}", "")
    assert coloured == render(file, "reports/x", colour=False)


def test_kept_promises_beyond_thirty_are_counted() -> None:
    kept = example_verdicts.six_outcomes()[0]
    lines = block(*[kept] * 50)
    assert sum(line.startswith("pass ") for line in lines) == 30
    assert "             … and 20 more that hold: see verdict.json" in lines


def test_nothing_judged_says_what_to_do() -> None:
    assert block()[:3] == [
        "tokgate  INVALID  exit 11  rig kimi-8gpu",
        "tests ran but nothing was judged",
        "do: see which tests were skipped and why: run again with -ra",
    ]


def test_failures_without_a_verdict_are_listed() -> None:
    lines = block(
        *example_verdicts.six_outcomes(), end=SessionEnd(status=1, unclassified=("perf_tests/t.py::test_x",))
    )
    assert "FAILED       perf_tests/t.py::test_x" in lines


def test_a_verdicts_text_tells_everything_that_backs_it() -> None:
    regressed = example_verdicts.six_outcomes()[2]
    assert verdict_text(regressed).split("\n") == [
        "REGRESSED speculation loses: 60.2 tok/s where the control arm makes 88.5 (-32.0 %)",
        "  speculation_beats_its_twin decode_tok_s 02-eagle3-2step/single: 60.2 tok/s  -32.0 %  n=15",
        "  against: 88.5 tok/s (twin: baseline arm of this session, n=30)",
        "  interval: -32.6 % … -31.4 %",
        "  floor: 3.0% and 0.5 tok/s, both exceeded",
        "  evidence: cycle 30.7 ms, break-even 20.9 ms at accept length 1.85",
        "  warning: 1 of 16 generations failed: the stream ended before [DONE]",
        f"  do: {regressed.do}",
        "  raw: launches/02-eagle3-2step/generations.jsonl",
    ]


@pytest.mark.parametrize("text", hostile.HOSTILE)
def test_a_verdicts_text_is_printable(text: str) -> None:
    assert all(line.isprintable() for line in verdict_text(example_verdicts.hostile(text)).split("\n"))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environ", "wanted"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
    ],
)
def test_colour_only_on_a_terminal_that_wants_it(
    stream: io.StringIO, environ: dict[str, str], wanted: bool
) -> None:
    assert wants_colour(stream, environ) is wanted


@pytest.mark.parametrize(
    ("check", "metric", "unit", "row"),
    [
        (
            "stored_baseline",
            "ttft_ms",
            "ms",
            "stored_baseline ttft_ms 01-baseline/single    82.2 ms  -7.4 %  n=15",
        ),
        (
            "decode_throughput",
            "decode_tok_s",
            "tok/s",
            "decode_throughput 01-baseline/single       82.2 tok/s  -7.4 %  n=15",
        ),
        (
            "stored_baseline",
            "client_decode_tok_s",
            "tok/s",
            "stored_baseli… client_decode_tok_s 01-baseline/single  82.2  -7.4 %",
        ),
    ],
)
def test_a_row_names_its_metric_unless_the_check_does(check: str, metric: str, unit: str, row: str) -> None:
    passed = example_verdicts.six_outcomes()[0]
    measured = {"check": check, "metric": metric, "unit": unit, "value": 82.2, "change": -0.074}
    assert f"pass         {row}" in block(passed.model_copy(update=measured))


def test_a_number_without_a_limit_is_told_as_a_note() -> None:
    passed = example_verdicts.six_outcomes()[0].model_copy(update={"floor": None})
    lines = block(passed)
    assert "note         time_to_first_token 01-baseline/single                80.0 ms  n=15" in lines
    assert not any(line.startswith("pass ") for line in lines)


def test_a_command_to_run_is_not_cut_after_four_lines() -> None:
    regressed = example_verdicts.six_outcomes()[2]
    do = " ".join(f"--rig-set workloads.conc4.repeats={number}" for number in range(8))
    assert any(line.strip().endswith("repeats=7") for line in block(regressed.model_copy(update={"do": do})))


def test_a_session_without_a_loss_tells_its_answer_then_its_count_then_what_answers() -> None:
    six = example_verdicts.six_outcomes()
    won = six[2].model_copy(update={"outcome": Outcome.PASS, "value": 93.5, "change": 0.05})
    steady = [Verdict(check="steadiness", outcome=Outcome.PASS, headline="steady") for _ in range(8)]
    lines = block(*steady, six[0], won)
    assert lines[1:4] == [
        "EAGLE-3 93.5 against 88.5 tok/s, 1.05x its twin (single)",
        "10 verdicts: 10 pass",
        "",
    ]
    assert lines[4].startswith("pass         speculation_bea")
    assert lines[5].startswith("pass         time_to_first_token")
    assert lines[6] == "pass         steadiness 8 of 8"
    assert lines[7].startswith("eagle3-2step single: 1.86 tokens in")
    assert lines[10].startswith("raw: ")


def test_stored_numbers_are_one_line_with_the_largest_change() -> None:
    improved = example_verdicts.six_outcomes()[1]
    held = [improved.model_copy(update={"outcome": Outcome.PASS, "change": c}) for c in (0.01, -0.02)]
    assert "pass         stored_baseline 2 of 2  up to -2.0 % (decode_tok_s, single)" in block(*held)


def test_two_verdicts_on_one_number_are_told_apart_by_their_limits() -> None:
    passed = example_verdicts.six_outcomes()[0]
    measured = {
        "check": "verify_latency",
        "metric": "verify_ms",
        "unit": "ms",
        "value": 19.0,
        "launch": "05-eagle3-2step-phases",
    }
    rows = [
        passed.model_copy(
            update={
                **measured,
                "change": change,
                "reference": Reference(kind="budget", label="b", value=limit),
            }
        )
        for limit, change in ((19.6, None), (19.457, -0.023))
    ]
    lines = block(*rows, passed.model_copy(update={**measured, "metric": "verify_p95_ms", "value": 20.011}))
    assert "pass         verify_latency p50 05-eagle…-phases/single  19.000 ms  limit 19.600" in lines
    assert "pass         verify_latency p50 05-eagl…/single  19.000 ms  limit 19.457  -2.3 %" in lines
    assert any("verify_latency p95 " in line and "20.011 ms" in line for line in lines)


def test_a_name_that_has_room_is_not_cut() -> None:
    cost = example_verdicts.six_outcomes()[0].model_copy(
        update={
            "check": "patch", "metric": "decode_tok_s", "launch": "05-eagle3-2step-pinned", "workload": "single",
            "value": 331.0, "unit": "tok/s", "change": -0.021, "n": 42, "reference": None,
        }
    )  # fmt: skip
    (row,) = (line for line in block(cost) if "decode_tok_s" in line)
    assert " patch decode_tok_s 05-eagle3-2step-pinned/single " in row
    assert row.endswith("331.0  -2.1 %")
    assert len(row) == 80


def test_a_share_without_a_metric_has_two_decimals_and_its_interval_a_unit() -> None:
    cost = Verdict(
        check="probe_cost",
        outcome=Outcome.PASS,
        headline="costs",
        value=0.007176,
        unit="%",
        interval=(-0.14, 1.1834),
    )
    assert ["pass", "probe_cost", "0.01", "%"] in [line.split() for line in block(cost)]
    assert "  interval: -0.14 … 1.18 %" in verdict_text(cost)


def _row(verdict: Verdict) -> str:
    (row,) = (line for line in block(verdict) if line.lower().startswith(verdict.outcome.value))
    return row


def test_a_speed_up_that_falls_short_shows_the_limit() -> None:
    row = _row(
        Verdict(
            check="speculation_beats_its_twin",
            outcome=Outcome.REGRESSED,
            headline="1.05x its twin, below 1.1x",
            arm="eagle3-2step",
            launch="02-eagle3-2step",
            workload="single",
            metric="decode_tok_s",
            value=93.4,
            unit="tok/s",
            change=0.052,
            floor="at least 1.1x, surely",
            n=32,
        )
    )
    assert "limit 1.1x" in row
    assert "+5.2 %" in row
    assert "single" in row


def test_a_limit_from_break_even_is_told_from_a_written_one() -> None:
    def verify(label: str, limit: float) -> str:
        return _row(
            Verdict(
                check="verify_latency",
                outcome=Outcome.PASS,
                headline="kept",
                arm="eagle3-2step",
                launch="05-eagle3-2step-phases",
                workload="single",
                metric="verify_ms",
                value=18.957,
                unit="ms",
                floor="kept",
                reference=Reference(kind="budget", label=label, value=limit),
            )
        )

    assert "  limit 19.600" in verify("rig: at most 19.6", 19.6)
    assert "  derived limit 19.459" in verify("break-even / 1.02", 19.459)


def test_a_share_of_steps_reads_in_per_cent() -> None:
    graphs = Verdict(
        check="graph_share",
        outcome=Outcome.PASS,
        headline="in graphs",
        launch="05-phases",
        workload="single",
        value=1.0,
        unit="of all steps",
        n=413,
    )
    assert "100% of steps" in _row(graphs)


def test_quiet_tells_what_does_not_hold_and_nothing_else() -> None:
    file = build(examples.run_evidence(), example_verdicts.six_outcomes(), examples.rig())
    lines = render(file, "reports/x", colour=False, quiet=True).split("\n")
    assert lines[0] == "tokgate  REGRESSED  exit 13  rig kimi-8gpu"
    assert [line.split()[0] for line in lines[2:]] == [
        "REGRESSED",
        "INVALID",
        "inconclusive",
        "no-baseline",
        "raw:",
    ]
    assert not any("do:" in line for line in lines)


def test_what_is_printed_is_not_wider_than_eighty_columns_whatever_was_judged() -> None:
    """Over files made of every example verdict with every hostile text in every place that text can stand in."""
    rows = 0
    for text in (*hostile.HOSTILE, "界" * 90, "a" * 400, "界 a " * 60):
        for made in example_verdicts.six_outcomes():
            odd = made.model_copy(
                update={
                    "check": text[:200] or "x",
                    "headline": text,
                    "launch": text,
                    "workload": text,
                    "metric": text,
                    "unit": text,
                    "do": text,
                    "value": 1e300,
                    "change": -1e6,
                    "n": 10**9,
                }
            )
            file = build(examples.run_evidence(), [odd], examples.rig())
            for width in (80, 61, 200):
                for quiet in (False, True):
                    told = render(file, "r/x", colour=False, width=width, quiet=quiet).split("\n")
                    last = last_words(file, "r/x", page="r/x/report.html", colour=False, width=width)
                    rows += len(told) + len(last)
                    # What is to be pasted is not broken: a command in one line below, a path, which is one word.
                    wide = [line for line in (*told, *last) if columns(line) > min(width, 80)]
                    bare = [line.strip().removeprefix("next: ").removeprefix("do: ") for line in wide]
                    assert [b for b in bare if " " in b and b not in commands(file.do, "r/x")] == []
                    assert all(line.isprintable() for line in (*told, *last))
    assert rows > 1000
