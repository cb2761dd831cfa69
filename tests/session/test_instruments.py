"""What a launch with instruments is given, and what is brought home of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.session.probe_lines import file
from tests.session.rigs import small_rig
from tokgate.errors import BenchFault
from tokgate.hosts.connection import Host, connect
from tokgate.records.redactor import Redactor
from tokgate.rig.machine import HostSpec
from tokgate.rig.models import Rig
from tokgate.session import instruments as subject
from tokgate.session.instrument_files import TIMER
from tokgate.session.instruments import Instruments, TimerScrapes
from tokgate.session.run_folder import RunFolder

ROOT = Path(__file__).parents[2]
NAME = "05-eagle3-2step-phases"
SECRET = "s3cret-key-0123456789"


class Elsewhere(Host):
    """This machine, reached as another one is."""

    @property
    def local(self) -> bool:
        return False


def connected(*, local: bool = True) -> Host:
    host = connect(HostSpec(), redactor=Redactor())
    return host if local else Elsewhere(host.spec, host.testinfra, host.redactor)


def made(
    path: Path, *, local: bool = True, gpus: int = 0, root: Path = ROOT, redactor: Redactor | None = None
) -> Instruments:
    rig = Rig.model_validate(small_rig().model_dump(mode="json") | {"gpus": {"count": gpus}})
    return Instruments(
        host=connected(local=local),
        folder=RunFolder(path / "run", redactor or Redactor()),
        launch_id=NAME,
        rig=rig,
        root=root,
    )


def there(path: Path) -> str:
    (path / "there").mkdir(mode=0o700, exist_ok=True)
    return str(path / "there")


def brought(path: Path, name: str) -> bytes:
    return (path / "run/launches" / NAME / "probe" / name).read_bytes()


def test_on_this_machine_the_checkouts_own_probe_is_used(tmp_path: Path) -> None:
    equipment = made(tmp_path).equip(there(tmp_path))
    assert equipment.python_path == (str(ROOT / "probe"),)
    variables = {v.name: v.value for v in equipment.variables}
    assert list(variables) == ["TOKGATE_PROBE_OUT", "TOKGATE_PROBE_SWITCH"]
    assert all(v.reason for v in equipment.variables)
    assert Path(variables["TOKGATE_PROBE_OUT"]).is_dir()
    assert Path(variables["TOKGATE_PROBE_SWITCH"]).read_bytes() == b"1"
    # The probe's own files are all that comes home of its folder.
    assert not list(Path(variables["TOKGATE_PROBE_OUT"]).iterdir())


def test_on_another_machine_it_travels_into_the_launchs_folder(tmp_path: Path) -> None:
    equipment = made(tmp_path, local=False).equip(there(tmp_path))
    (folder,) = equipment.python_path
    assert folder == f"{there(tmp_path)}/probe"
    copied = {str(p.relative_to(folder)) for p in Path(folder).rglob("*") if p.is_file()}
    assert {"tokgate_probe/__init__.py", "tokgate_probe-1.dist-info/entry_points.txt"} <= copied
    assert (Path(folder) / "tokgate_probe/recorder.py").read_bytes() == (
        ROOT / "probe/tokgate_probe/recorder.py"
    ).read_bytes()


def test_the_device_timer_is_asked_for_where_there_is_a_gpu(tmp_path: Path) -> None:
    equipment = made(tmp_path, gpus=1).equip(there(tmp_path))
    assert {v.name: v.value for v in equipment.variables}[TIMER] == "1"


def test_a_checkout_without_the_probe_cannot_equip(tmp_path: Path) -> None:
    with pytest.raises(BenchFault, match="no probe in"):
        made(tmp_path, root=tmp_path).equip(there(tmp_path))


@pytest.mark.parametrize("local", [True, False])
def test_files_come_home_without_secrets(tmp_path: Path, local: bool) -> None:
    redactor = Redactor()
    redactor.add(SECRET)
    carried = made(tmp_path, local=local, redactor=redactor)
    out = Path(carried.equip(there(tmp_path)).variables[0].value)
    (out / "phases-7.jsonl").write_bytes(file(failed=SECRET))
    carried.collect()
    assert b'"probe": 1' in brought(tmp_path, "phases-7.jsonl")
    assert SECRET.encode() not in brought(tmp_path, "phases-7.jsonl")
    clock = json.loads(brought(tmp_path, "clock.json"))
    assert abs(clock["offset_ns"]) <= clock["within_ns"]  # one machine, one clock


def test_a_file_beyond_the_bound_stays_and_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MOST_BYTES", 100)
    carried = made(tmp_path)
    out = Path(carried.equip(there(tmp_path)).variables[0].value)
    (out / "phases-7.jsonl").write_bytes(b"x" * 101)
    carried.collect()
    assert "101 bytes" in json.loads(brought(tmp_path, "left.json"))["files"]["phases-7.jsonl"]
    with pytest.raises(FileNotFoundError):
        brought(tmp_path, "phases-7.jsonl")


def test_a_switch_that_could_not_be_turned_is_told(tmp_path: Path) -> None:
    carried = made(tmp_path)
    switch = Path({v.name: v.value for v in carried.equip(there(tmp_path)).variables}["TOKGATE_PROBE_SWITCH"])
    switch.unlink()
    carried.turn_off()
    carried.collect()
    assert "No such file" in json.loads(brought(tmp_path, "left.json"))["switch"]


def test_a_launch_that_was_never_equipped_brings_nothing(tmp_path: Path) -> None:
    made(tmp_path).collect()
    assert not (tmp_path / "run").exists()


TIMED = 'sglang:forward_execution_seconds_total{{category="target_verify"}} {}\nother {}\n'


def scraping(texts: Iterator[str | BenchFault], kept: dict[str, str], notes: list[str]) -> TimerScrapes:
    times = iter(range(1000))

    def metrics_text() -> str:
        found = next(texts)
        if isinstance(found, BenchFault):
            raise found
        return found

    return TimerScrapes(
        metrics_text=metrics_text,
        keep=kept.__setitem__,
        note=notes.append,
        pause=lambda _: None,
        clock=lambda: float(next(times)),
    )


def test_a_scrape_waits_until_the_last_passes_are_counted() -> None:
    kept: dict[str, str] = {}
    texts = iter([TIMED.format(1.0, 1), TIMED.format(1.5, 2), TIMED.format(1.5, 3)])
    scraping(texts, kept, []).after("single")
    assert kept == {"metrics-single-after.prom": TIMED.format(1.5, 3)}


def test_a_timer_that_never_stands_still_is_read_all_the_same() -> None:
    kept: dict[str, str] = {}
    scraping((TIMED.format(n, n) for n in range(100)), kept, []).before("single")
    assert list(kept) == ["metrics-single-before.prom"]


def test_a_server_that_does_not_answer_is_noted() -> None:
    kept: dict[str, str] = {}
    notes: list[str] = []
    fault = BenchFault(tried="GET /metrics", found="connection refused", do="look")
    scraping(iter([fault]), kept, notes).before("single")
    assert kept == {}
    assert notes == ["metrics-single-before.prom: connection refused"]
