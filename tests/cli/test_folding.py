"""What a command prints fits the terminal; what a program reads is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.baseline_checkout import Checkout
from tests.cli.compared_runs import a_run, tokgate, told
from tests.report import hostile
from tests.verdicts.evidence import controls, eagle3
from tokgate.cli.folding import folded
from tokgate.report.visible import columns


def too_wide(text: str, most: int = 80) -> list[str]:
    """Return lines that are wider than that, but for a word, with its head, that has no room by itself."""
    return [line for line in text.split("\n") if columns(line) > most and len(line.split()) > 2]


def test_a_continuation_stands_under_its_text() -> None:
    assert folded("tried: " + "word " * 16, 40).split("\n") == [
        "tried: word word word word word word",
        "       word word word word word word",
        "       word word word word",
    ]
    assert folded("  pass         decode 88.9 tok/s on baseline: no loss", 40).split("\n") == [
        "  pass         decode 88.9 tok/s on",
        "               baseline: no loss",
    ]
    assert folded("    " + "word " * 10, 40).split("\n") == [
        "    word word word word word word word",
        "      word word word",
    ]


def test_what_has_no_room_by_itself_stays_whole() -> None:
    path = "/very/long/" + "folder/" * 20
    assert path in folded(f"raw: {path}", 80).split("\n")[-1]


@pytest.mark.parametrize("text", [*hostile.HOSTILE, "界 " * 90, " ".join("abc" * 40)])
def test_no_line_is_wider_and_nothing_is_lost(text: str) -> None:
    flat = " ".join(text.split())
    for head in ("", "    ", "tried: ", "  inconclusive "):
        for width in (40, 80):
            made = folded(head + flat, width)
            assert too_wide(made, width) == []
            assert "".join(made.split()) == "".join((head + flat).split())


@pytest.mark.parametrize("width", [80, 60])
def test_comparing_fits_the_terminal_and_json_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    a, b = a_run(tmp_path / "a"), a_run(tmp_path / "b", 1.1)
    monkeypatch.setenv("COLUMNS", str(width))
    found = tokgate(a, b)
    assert found.exit_code == 0, found.output
    assert "would have been seen" in " ".join(found.output.split())
    # Tables of numbers keep their columns.
    assert [line for line in too_wide(found.output, width) if "->" not in line] == []
    assert told(a, b)["changes"]


def test_baselines_and_errors_fit_where_nothing_says_how_wide_the_terminal_is(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS")
    run = checkout.run("a", *controls(), eagle3())
    for words in (("update", run, "--why", "first"), ("show", "small"), ("diff", run)):
        found = checkout.tokgate(*words)
        assert found.exit_code == 0, found.output
        assert [line for line in too_wide(found.output) if "=" not in line] == []
    missing = checkout.tokgate("diff", str(checkout.root / "no" / "such" / "run"))
    assert missing.exit_code == 4
    assert "do:    " in missing.output
    assert too_wide(missing.output) == []


def test_a_next_step_names_the_run(checkout: Checkout) -> None:
    run = checkout.run("a", *controls(), eagle3())
    assert f"tokgate baseline update {run} " in checkout.tokgate("diff", run).output
