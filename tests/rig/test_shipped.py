"""A repository's own rigs and baselines, and those that ship with tokgate."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rig.conftest import Checkout
from tokgate.rig.load import load_rig, own_rig_names, rig_file, rig_names
from tokgate.rig.shipped import DEFAULT, baselines_home, is_checkout, shipped_root

ROOT = Path(__file__).parents[2]


def test_in_a_checkout_they_are_those_at_the_top() -> None:
    assert is_checkout()
    assert shipped_root() == ROOT
    assert DEFAULT in own_rig_names(ROOT)


def test_a_repository_has_its_own_and_those_that_ship(checkout: Checkout) -> None:
    checkout.write()
    assert own_rig_names(checkout.root) == ("small",)
    assert set(rig_names(checkout.root)) == {"small", *own_rig_names(ROOT)}


def test_its_own_rig_hides_a_shipped_one_of_the_same_name(checkout: Checkout) -> None:
    assert rig_file(DEFAULT, root=checkout.root) == ROOT / "rigs" / f"{DEFAULT}.toml"
    own = checkout.write(name=DEFAULT)
    assert rig_file(DEFAULT, root=checkout.root) == own


def test_a_shipped_rig_belongs_to_tokgate_and_writes_into_the_repository(tmp_path: Path) -> None:
    rig = load_rig(DEFAULT, root=tmp_path)
    assert rig.checkout == str(ROOT)
    assert rig.server.model_path.startswith(f"{ROOT}/")
    assert [v for v in rig.host.environment.values() if v.startswith(f"{tmp_path}/")]


@pytest.mark.parametrize("place", ["{root}", "{repository}"])
def test_for_a_repositorys_own_rig_both_places_are_the_repository(checkout: Checkout, place: str) -> None:
    checkout.write()
    rig = checkout.load(f"server.environment.A={place}/x")
    assert rig.server.environment["A"] == f"{checkout.root}/x"


def test_its_own_baselines_count_alone(tmp_path: Path) -> None:
    assert baselines_home(tmp_path, DEFAULT) == ROOT
    assert baselines_home(tmp_path, "mybox") == tmp_path
    (tmp_path / "baselines" / DEFAULT).mkdir(parents=True)
    assert baselines_home(tmp_path, DEFAULT) == tmp_path


def test_a_rig_of_its_own_is_not_compared_with_a_shipped_ones_baselines(tmp_path: Path) -> None:
    (tmp_path / "rigs").mkdir()
    (tmp_path / "rigs" / f"{DEFAULT}.toml").touch()
    assert baselines_home(tmp_path, DEFAULT) == tmp_path
