from __future__ import annotations

import pytest

from tokgate.parsers.stream_parts import Growing, GrowingText, top_logprobs


def grown(*events: tuple[tuple[int, ...], int | None]) -> Growing[int]:
    growing, before = Growing[int](), 0
    for items, total in events:
        growing.add(items, before=before, total=total)
        before = total or before
    return growing


@pytest.mark.parametrize(
    ("events", "whole", "cumulative"),
    [
        ((), None, None),
        ((((7,), 1),), (7,), None),
        ((((7,), 1), ((7, 8, 9), 3)), (7, 8, 9), True),
        ((((7,), 1), ((8, 9), 3)), (7, 8, 9), False),
        ((((7,), 1), ((), 1), ((8,), 2)), (7, 8), False),
        ((((7,), 1), ((7,), 1)), (7,), True),
        # Ahead of its count: the server went on adding to the list while it wrote.
        ((((7, 8), 1), ((7, 8, 9), 2)), (7, 8, 9), True),
        ((((7,), 1), ((8, 9, 10), 3)), None, False),
        ((((7,), 1), ((6, 5), 2)), None, False),
        ((((7,), None), ((7, 8), None)), (7, 8), None),
    ],
)
def test_growing(
    events: tuple[tuple[tuple[int, ...], int | None], ...],
    whole: tuple[int, ...] | None,
    cumulative: bool | None,
) -> None:
    growing = grown(*events)
    assert growing.value() == whole
    if whole is not None:
        assert growing.cumulative is cumulative


@pytest.mark.parametrize(
    ("texts", "cumulative", "whole"),
    [
        ((), None, None),
        (("a", "ab", "abc"), None, "abc"),
        (("a", "b", "c"), None, "abc"),
        (("a", "a", "a"), False, "aaa"),
        (("a", "a", "a"), True, "a"),
    ],
)
def test_growing_text(texts: tuple[str, ...], cumulative: bool | None, whole: str | None) -> None:
    text = GrowingText()
    for part in texts:
        text.add(part)
    assert text.value(cumulative=cumulative) == whole


@pytest.mark.parametrize(
    "position", [[], None, [[-0.1]], [["-0.1", 3]], [[-0.1, 3.5]], [[None, 3]], [[float("nan"), 1]], {}]
)
def test_one_bad_position_is_none_at_all(position: object) -> None:
    read, why = top_logprobs(([[-0.1, 3, None]], position))
    assert read is None
    assert why is not None
    assert "output_top_logprobs[1]" in why


def test_no_positions_is_no_fault() -> None:
    assert top_logprobs(None) == (None, None)
    assert top_logprobs(()) == (None, None)
