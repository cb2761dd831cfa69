"""A launch with instruments takes its starts in pairs: the switch is turned before each, and left on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.session.rigs import small_rig
from tests.simbox.serving import EAGLE3, Serving, serving
from tokgate.client.control import Control
from tokgate.client.stream import Target
from tokgate.records import Launch
from tokgate.records.redactor import Redactor
from tokgate.rig.models import Rig
from tokgate.session.measure import Measurement
from tokgate.session.rounds import plain_rounds
from tokgate.session.run_folder import RunFolder

LAUNCH = Launch(id="05-eagle3-2step-phases", arm="eagle3-2step", role="instrumented")


class Server:
    def __init__(self, port: int) -> None:
        self.control, self.target = Control(f"http://127.0.0.1:{port}"), Target("127.0.0.1", port)

    def why_gone(self) -> str | None:
        return None


class Switch:
    """Keeps what it was asked for; a broken one is never as asked."""

    def __init__(self, *, works: bool = True) -> None:
        self.works = works
        self.turned: list[bool] = []

    def turn(self, on: bool) -> bool:
        self.turned.append(on)
        return self.works


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("box") / "state", *EAGLE3) as running:
        yield running


def rig() -> Rig:
    made = small_rig().model_dump(mode="json")
    for workload in made["workloads"]:
        workload |= {"output_tokens": 4, "repeats": 2}
    return Rig.model_validate(made)


def measured(
    server: Serving, path: Path, switch: Switch, *, pairs: int
) -> list[tuple[str, int, tuple[int, ...]]]:
    measurement = Measurement(
        rig=rig(),
        launch=LAUNCH,
        server=Server(server.port),
        folder=RunFolder(path, Redactor()),
        root=path,
        say=lambda _: None,
        switch=switch,
        pairs=pairs,
    )
    measurement.take_all(plain_rounds)
    assert not measurement.faults
    assert all(g.good for g in measurement.generations)
    assert not any(g.counters.cached_tokens for g in measurement.generations if g.counters)
    assert set(measurement.client) == {"single", "conc4"}
    starts = dict.fromkeys((g.workload, g.batch) for g in measurement.generations if not g.warmup)
    return [
        (
            name,
            batch,
            tuple(g.index for g in measurement.generations if (g.workload, g.batch) == (name, batch)),
        )
        for name, batch in starts
    ]


def test_only_the_first_workload_has_twins_and_the_switch_ends_on(server: Serving, tmp_path: Path) -> None:
    switch = Switch()
    assert measured(server, tmp_path, switch, pairs=3) == [
        ("single", 1, (1,)), ("probe-off", 1, (1,)), ("probe-off", 2, (2,)), ("single", 2, (2,)),
        ("probe-on", 3, (3,)), ("probe-off", 3, (3,)),
        ("conc4", 1, (4, 5, 6, 7)), ("conc4", 2, (8, 9, 10, 11)),
    ]  # fmt: skip
    assert switch.turned == [True, False, False, True, True, False, True]


def test_a_switch_that_does_not_turn_costs_the_twins_alone(server: Serving, tmp_path: Path) -> None:
    found = measured(server, tmp_path, Switch(works=False), pairs=2)
    assert [name for name, _, _ in found] == ["single", "single", "conc4", "conc4"]


def test_without_pairs_no_switch_is_touched(server: Serving, tmp_path: Path) -> None:
    switch = Switch()
    found = measured(server, tmp_path, switch, pairs=0)
    assert [name for name, _, _ in found] == ["single", "single", "conc4", "conc4"]
    assert switch.turned == []
