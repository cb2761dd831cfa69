"""What is reckoned with where nothing is known of a rig, and whose sessions are taken instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.session.rigs import small_rig
from tokgate.records import Outcome
from tokgate.rig.models import Rig
from tokgate.session.alike import alike_sessions
from tokgate.session.history_file import append, history_path
from tokgate.session.pace import pace_of
from tokgate.session.usual import usual_around, weights_bytes
from tokgate.verdicts.baselines.history import Entry
from tokgate.verdicts.baselines.spent import LaunchSpent, SessionSpent


def on_gpus(model: str = "some/model", **args: Any) -> Rig:
    rig = small_rig()
    server = rig.server.model_copy(update={"model_path": model, "args": {**rig.server.args, **args}})
    return rig.model_copy(update={"gpus": rig.gpus.model_copy(update={"count": 8}), "server": server})


def test_weights_that_lie_here_are_reckoned_with_by_their_size(tmp_path: Path) -> None:
    for number in range(2):
        with (tmp_path / f"model-{number}.safetensors").open("wb") as file:
            file.truncate(100 * 10**9)  # a hole: it takes no room
    (tmp_path / "tokenizer.json").write_text("{}")
    rig = on_gpus(str(tmp_path))
    assert weights_bytes(rig) == 200 * 10**9
    sized, without = usual_around(rig), usual_around(on_gpus(str(tmp_path), load_format="dummy"))
    assert "200.0 GB of weights" in sized.words
    assert sized.low - without.low > 10
    assert sized.high - without.high > 900


def test_weights_that_lie_elsewhere_have_an_unknown_size_which_is_said() -> None:
    rig = on_gpus()
    assert weights_bytes(rig) is None
    elsewhere = rig.model_copy(update={"host": rig.host.model_copy(update={"testinfra": "ssh://me@box"})})
    assert weights_bytes(elsewhere) is None
    assert "weights of unknown size" in usual_around(rig).words


def test_simulated_servers_and_those_of_a_cpu_are_never_reckoned_as_those_of_a_gpu() -> None:
    simulated = usual_around(on_gpus().model_copy(update={"simulated": True}))
    cpu = usual_around(small_rig())
    assert simulated.high < cpu.low < usual_around(on_gpus()).high
    assert "simulated" in simulated.words
    assert "CPU" in cpu.words


def kept(reports: Path, rig: Rig, *, run: str = "20261129T150000") -> None:
    """Leave what a session of this rig leaves: its line in the history and its folder."""
    spent = SessionSpent(launches={"01-baseline": LaunchSpent(wall_s=50.0, rest_s=40.0)})
    entry = Entry(
        run_id=f"{run}-{rig.name}",
        rig=rig.name,
        simulated=rig.simulated,
        started_at="2026-11-29T15:00:00+00:00",
        outcome=Outcome.PASS,
        commit=None,
        sglang=None,
        fingerprint=None,
        series=(),
        spent=spent,
    )
    append(history_path(reports, rig.name), entry)
    folder = reports / entry.run_id
    folder.mkdir(parents=True)
    (folder / "rig.json").write_text(rig.model_dump_json())


def test_sessions_of_another_rig_count_where_host_and_server_are_the_same(tmp_path: Path) -> None:
    mine = small_rig()
    kept(tmp_path, mine.model_copy(update={"name": "sister"}))
    other = mine.server.model_copy(update={"model_path": "another/model"})
    kept(tmp_path, mine.model_copy(update={"name": "stranger", "server": other}))
    kept(tmp_path, mine.model_copy(update={"name": "toy", "simulated": True}))
    lost = mine.model_copy(update={"name": "lost"})
    kept(tmp_path, lost)
    (tmp_path / "20261129T150000-lost" / "rig.json").unlink()
    found = alike_sessions(mine, tmp_path)
    assert found.rigs == ("sister",)
    assert [s.launches["01-baseline"].rest_s for s in found.sessions] == [40.0]
    assert pace_of(mine, root=tmp_path, reports=tmp_path).alike == found


def test_a_rig_that_has_sessions_of_its_own_asks_no_other(tmp_path: Path) -> None:
    kept(tmp_path, small_rig())
    kept(tmp_path, small_rig().model_copy(update={"name": "sister"}))
    pace = pace_of(small_rig(), root=tmp_path, reports=tmp_path)
    assert (len(pace.sessions), pace.alike.sessions) == (1, ())
