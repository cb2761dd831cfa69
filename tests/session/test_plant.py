"""The plant on a host: laid out, ordered, and asked what it took up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tokgate.errors import BenchFault
from tokgate.hosts.connection import connect
from tokgate.rig.machine import HostSpec
from tokgate.session.plant import Plant, too_old

ROOT = Path(__file__).parents[2]


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    found = Plant(connect(HostSpec()), ROOT)
    found.equip(str(tmp_path))
    return found


def told(folder: Path, *lines: object) -> None:
    """Write what a plant in a scheduler would have said."""
    (folder / "plant-order.read").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def test_it_is_found_by_the_server_and_nothing_is_ordered_at_first(tmp_path: Path) -> None:
    equipment = Plant(connect(HostSpec()), ROOT).equip(str(tmp_path))
    (folder,), (variable,) = equipment.python_path, equipment.variables
    assert (Path(folder) / "tokgate_plant.py").is_file()
    assert list(Path(folder).glob("*.dist-info/entry_points.txt"))
    assert (variable.name, variable.value) == ("TOKGATE_PLANT", f"@{tmp_path}/plant-order")
    assert (tmp_path / "plant-order").read_text() == ""


def test_an_order_counts_as_planted_once_every_scheduler_took_it_up(tmp_path: Path, plant: Plant) -> None:
    order = "verify:+5.263%"
    plant.order(order)
    assert (tmp_path / "plant-order").read_text() == order
    assert plant.why_not(order) == "the plant never read it: no call of a phase went through it"
    told(tmp_path, {"pid": 1, "patched": ["x.verify"]}, {"pid": 1, "order": order}, {"pid": 2, "order": ""})
    assert plant.why_not(order) is not None
    told(tmp_path, {"pid": 1, "order": ""}, {"pid": 1, "order": order}, {"pid": 2, "order": order})
    assert plant.why_not(order) is None


def test_what_it_refused_is_told(tmp_path: Path, plant: Plant) -> None:
    told(tmp_path, {"pid": 1, "refused": "no such slowdown: 'x'"})
    assert plant.why_not("x") == "no such slowdown: 'x'"


def test_a_server_that_did_not_load_it_has_nothing_patched(tmp_path: Path, plant: Plant) -> None:
    assert plant.patched() == ()
    (tmp_path / "plant-order.read").write_text('half a line {"pid"\n[1]\n')
    assert plant.patched() == ()
    told(tmp_path, {"pid": 1, "patched": ["a.draft", "a.verify"]})
    assert plant.patched() == ("a.draft", "a.verify")


def test_a_checkout_without_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchFault, match="no plant in"):
        Plant(connect(HostSpec()), tmp_path).equip(str(tmp_path))


@pytest.mark.parametrize("version", ["0.5.9", "0.5.10", "0.4.8.post1", "0.5.9.dev3+gabc"])
def test_sglang_without_plugins_is_too_old(version: str) -> None:
    assert too_old(version) == (
        f"SGLang {version} has no plugin framework, which loads the plant: it came with 0.5.11"
    )


@pytest.mark.parametrize("version", ["0.5.11", "0.5.23", "0.6.0", "1.0.0", "main", None, "0.5.11rc1"])
def test_later_ones_and_unknown_ones_are_tried(version: str | None) -> None:
    assert too_old(version) is None
