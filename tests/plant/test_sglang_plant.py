"""Orders to the plant: read strictly, carried out as often as they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plant.sglang_plant import Order, Orders, read_order


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("", Order()),
        ("wrong-position\n", Order(fault="wrong-position")),
        ("wrong-kv-slot once", Order(fault="wrong-kv-slot", once=True)),
    ],
)
def test_orders_are_read(text: str, order: Order) -> None:
    assert read_order(text) == order


@pytest.mark.parametrize("text", ["wrong-positon", "wrong-position twice"])
def test_a_misspelt_order_is_not_taken_for_none(text: str) -> None:
    with pytest.raises(ValueError, match="no such fault"):
        read_order(text)


def test_once_means_once_until_the_file_is_written_again(tmp_path: Path) -> None:
    file = tmp_path / "plant"
    orders = Orders(file)
    assert orders.now() == Order()
    file.write_text("wrong-kv-slot once", encoding="utf-8")
    assert orders.now().fault == "wrong-kv-slot"
    orders.carried_out("row 1")
    assert orders.now() == Order()
    file.write_text("wrong-position", encoding="utf-8")
    assert orders.now().fault == "wrong-position"
    orders.carried_out("row 1")
    assert orders.now().fault == "wrong-position"
    assert (tmp_path / "plant.log").read_text(encoding="utf-8") == "row 1\nrow 1\n"
