"""sides.json is believed of the run that it was written for: of another run, or another change, it is refused or marked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.session.test_run_folder import INFO
from tests.verdicts.side_evidence import ARM, runs, side_rig, sides_made
from tokgate.errors import UsageError
from tokgate.records import Outcome
from tokgate.records.redactor import Redactor
from tokgate.records.side import BASE, HEAD
from tokgate.rig.models import Rig
from tokgate.rig.sides import PatchText, SidesSpec
from tokgate.session.run_folder import RunFolder, load_run
from tokgate.session.sides_file import SIDES, bound
from tokgate.verdicts.checks.patch import patch


def written(path: Path, rig: Rig, *, run_id: str = INFO.run_id) -> Path:
    """Write the folder of a session with one launch of each side."""
    folder = RunFolder(path, Redactor())
    folder.write_record("run.json", INFO.model_copy(update={"run_id": run_id}))
    folder.write_record("rig.json", rig)
    folder.write_record(SIDES, bound(sides_made(), run_id, rig))
    for launch in (*runs(HEAD, [1.0]), *runs(BASE, [1.0])):
        folder.write_launch(launch)
        folder.append_generations(launch.launch.id, launch.generations)
    return path


def test_a_folder_as_it_was_written_is_believed(tmp_path: Path) -> None:
    found, _ = load_run(written(tmp_path, side_rig()))
    assert found.sides is not None
    assert found.sides.run_id == INFO.run_id
    assert all(one.faults == () for one in found.launches)


def test_that_of_another_run_is_refused(tmp_path: Path) -> None:
    mine, other = written(tmp_path / "a", side_rig()), written(tmp_path / "b", side_rig(), run_id="another")
    (mine / SIDES).write_bytes((other / SIDES).read_bytes())
    with pytest.raises(UsageError) as caught:
        load_run(mine)
    assert caught.value.found == f"it is of run another, and run.json of {INFO.run_id}"
    assert "as it was written" in caught.value.do


@pytest.mark.parametrize(
    "change",
    [
        {"sides": SidesSpec(repository="/src/sglang", base="another")},
        {
            "sides": SidesSpec(
                repository="/src/sglang", base="main", patches=(PatchText(name="a.patch", text="x"),)
            )
        },
        {"sides": None},
    ],
)
def test_that_of_another_change_is_refused(tmp_path: Path, change: dict[str, SidesSpec | None]) -> None:
    mine = written(tmp_path / "a", side_rig())
    other = written(tmp_path / "b", side_rig().model_copy(update=change))
    (mine / "rig.json").write_bytes((other / "rig.json").read_bytes())
    with pytest.raises(UsageError, match="made for another change, or other required patches"):
        load_run(mine)


@pytest.mark.parametrize(("field", "value"), [("root", "/w/sides/other/head"), ("tree", "b" * 64)])
def test_a_launch_that_ran_another_tree_than_it_says_is_marked_and_nothing_is_concluded(
    tmp_path: Path, field: str, value: str
) -> None:
    """As where launches of an earlier session were copied in."""
    folder, rig = written(tmp_path, side_rig()), side_rig()
    (head,) = runs(HEAD, [1.0])
    assert head.ran_from is not None
    proof = head.ran_from.model_copy(update={field: value})
    RunFolder(folder, Redactor()).write_launch(head.model_copy(update={"ran_from": proof}))
    found, _ = load_run(folder)
    marked = next(one for one in found.launches if one.launch.id == head.launch.id)
    assert f"{value[:12]}" in marked.faults[0]
    heads = [one for one in found.launches if one.launch.side == HEAD]
    bases = [one for one in found.launches if one.launch.side == BASE]
    assert all(one.launch.arm == ARM for one in found.launches)
    (verdict,) = patch(rig, heads, bases, "single", made=found.sides)
    assert verdict.outcome is Outcome.INVALID
    assert "sides.json" in verdict.headline


def test_sides_that_are_gone_make_no_launch_believed(tmp_path: Path) -> None:
    folder = written(tmp_path, side_rig())
    (folder / SIDES).unlink()
    found, _ = load_run(folder)
    assert all("sides.json has no side" in one.faults[0] for one in found.launches)
