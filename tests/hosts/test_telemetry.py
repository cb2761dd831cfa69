"""A host that is watched while a server is measured: through nvidia-smi, and without any GPU."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.telemetry_stand import LIMIT_S, Followed, StandIn, alive, app, gpu, own_pid, rig, server
from tests.sshd import Sshd
from tokgate.hosts.connection import connect
from tokgate.hosts.scripts import source
from tokgate.hosts.scripts.telemetry import stat
from tokgate.hosts.telemetry import watch
from tokgate.records.telemetry import GpuRow, HolderRow, HostRow, ProcessRow, TelemetryRow

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def stand_in(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path / "bin")


@pytest.fixture
def stranger() -> Iterator[int]:
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as process:
        yield process.pid
        process.kill()


@pytest.fixture
def our_server() -> Iterator[int]:
    """A main process with a child, as a server has."""
    script = "sleep 1000 & echo $!; wait"
    with subprocess.Popen(
        ["sh", "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        yield process.pid
        process.terminate()


def kinds(rows: list[TelemetryRow]) -> set[str]:
    return {row.kind for row in rows}


def host_rows(rows: list[TelemetryRow]) -> int:
    return sum(isinstance(row, HostRow) for row in rows)


def test_a_rig_without_gpus_shows_the_hosts_load() -> None:
    followed = Followed()
    spec = rig(gpus=0)
    watching = watch(connect(spec.host), spec, server(own_pid()), write=followed)
    followed.wait_until(lambda rows: host_rows(rows) > 6)
    told = watching.end()

    first, *_, last = (row for row in followed.rows if isinstance(row, HostRow))
    assert first.total is not None
    assert last.total is not None
    assert last.total > first.total
    assert last.load1 is not None
    assert kinds(followed.rows) == {"host"}
    assert (told.source, told.problems, told.unread) == ("none", (), ())
    assert told.rows["host"] == host_rows(followed.rows)
    assert 4.0 < told.hz["host"] < 5.5
    assert told.cpu_s is not None


def test_gpus_and_who_computes_on_them_are_seen_through_nvidia_smi(
    stand_in: StandIn, stranger: int, our_server: int
) -> None:
    gpus = [gpu(0), gpu(1, **{"clocks_event_reasons.active": "0x0000000000000004"})]
    stand_in.tell(gpus=gpus, apps=[app(0, our_server)])
    followed = Followed()
    spec = rig(stand_in.folder)
    watching = watch(connect(spec.host), spec, server(our_server), write=followed)
    followed.wait_until(lambda rows: {"gpus", "holders", "host", "process"} <= kinds(rows))
    stand_in.tell(gpus=gpus, apps=[app(0, our_server), app(1, stranger, "a name, with commas")])
    followed.wait_until(lambda rows: any(isinstance(r, ProcessRow) and r.pid == stranger for r in rows))
    told = watching.end()

    row = next(r for r in followed.rows if isinstance(r, GpuRow))
    assert [tuple(g) for g in row.gpus] == [
        (0, 1980.0, 3201.0, 52.0, 627.4, 100.0, 0),
        (1, 1980.0, 3201.0, 52.0, 627.4, 100.0, 4),
    ]
    who = {r.pid: r for r in followed.rows if isinstance(r, ProcessRow)}
    assert who[our_server].ours is True
    assert who[stranger].ours is False
    assert who[stranger].command == "sleep 1000"
    assert who[stranger].user
    answer = [r for r in followed.rows if isinstance(r, HolderRow)][-1]
    assert [(h.gpu, h.pid, h.used_mib) for h in answer.holders] == [
        (0, our_server, 4096),
        (1, stranger, 4096),
    ]
    assert answer.holders[1].name == "a name, with commas"
    assert told.source == "nvidia-smi"
    assert told.problems == ()
    assert not any(alive(pid) for pid in stand_in.pids())


@pytest.mark.parametrize(
    ("changes", "reasons", "missing"),
    [
        (
            {"clocks_event_reasons.active": None, "clocks_throttle_reasons.active": "0x0000000000000040"},
            0x40,
            {},
        ),
        (
            {"clocks_event_reasons.active": None},
            None,
            {
                "reasons": "this driver's nvidia-smi does not know clocks_event_reasons.active or "
                "clocks_throttle_reasons.active"
            },
        ),
        (
            {"clocks_event_reasons.active": "[Not Supported]"},
            None,
            {"reasons": "not supported by this card or driver"},
        ),
    ],
    ids=["older name", "no name", "no value"],
)
def test_what_a_driver_does_not_tell_is_unknown_with_its_reason(
    stand_in: StandIn, changes: dict[str, str | None], reasons: int | None, missing: dict[str, str]
) -> None:
    stand_in.tell(gpus=[gpu(0, **changes)], apps=[])
    followed = Followed()
    spec = rig(stand_in.folder, gpus=1)
    watching = watch(connect(spec.host), spec, server(own_pid()), write=followed)
    told = watching.end()

    row = next(r for r in followed.rows if isinstance(r, GpuRow))
    assert row.gpus[0].reasons == reasons
    assert row.gpus[0].sm_mhz == 1980
    assert told.missing == missing


def test_a_stream_that_ends_is_told_and_the_load_goes_on(stand_in: StandIn) -> None:
    stand_in.tell(gpus=[gpu(0)], apps=[], ends=True)
    followed = Followed()
    spec = rig(stand_in.folder, gpus=1)
    watching = watch(connect(spec.host), spec, server(own_pid()), write=followed)
    followed.wait_until(lambda rows: host_rows(rows) > 2)
    told = watching.end()

    assert "gpus" not in told.rows
    assert any("(gpus) ended with 1: Unable to determine" in problem for problem in told.problems)


def test_a_stream_that_answers_once_and_ends_is_told(stand_in: StandIn) -> None:
    stand_in.tell(gpus=[gpu(0)], apps=[app(0, own_pid())], once=True)
    followed = Followed()
    spec = rig(stand_in.folder, gpus=1)
    watching = watch(connect(spec.host), spec, server(own_pid()), write=followed)
    followed.wait_until(lambda rows: {"gpus", "holders"} <= kinds(rows) and host_rows(rows) > 30)
    told = watching.end()

    assert told.rows["gpus"] == 1
    assert any("nvidia-smi told nothing of the GPUs for " in problem for problem in told.problems)
    for kind in ("gpus", "holders"):
        assert any(f"nvidia-smi ({kind}) ended with 0" in problem for problem in told.problems)


def test_a_flood_costs_little_and_is_told(stand_in: StandIn) -> None:
    stand_in.tell(gpus=[gpu(0)], apps=[], floods=True)
    followed = Followed()
    spec = rig(stand_in.folder, gpus=1)
    watching = watch(connect(spec.host), spec, server(own_pid()), write=followed)
    followed.wait_until(lambda rows: host_rows(rows) > 10)
    told = watching.end()

    # Answers with too many rows are none: half of one must not look like all.
    assert "holders" not in told.rows
    assert told.rows.get("gpus", 0) <= 100 + 20 * (told.wall_s or 0)
    assert any(problem.startswith("nvidia-smi (holders) floods: ") for problem in told.problems)
    assert sum(len(row.model_dump_json()) for row in followed.rows) < 200_000
    assert len(told.problems) < 10


def test_a_host_without_nvidia_smi_is_watched_for_its_load(tmp_path: Path) -> None:
    spec = rig(tmp_path, gpus=1)
    told = watch(connect(spec.host), spec, server(own_pid()), write=Followed()).end()

    assert told.source == "none"
    assert told.rows["host"] >= 1
    assert "nvidia-smi" in told.problems[0]


def test_a_login_that_prints_does_not_spoil_the_rows(tmp_path: Path) -> None:
    shim = tmp_path / "python"
    shim.write_text(f'#!/bin/sh\necho "Welcome to gpu7"\nexec {sys.executable} "$@"\n')
    shim.chmod(0o755)
    spec = rig(gpus=0)
    host = connect(spec.host.model_copy(update={"python": str(shim)}))
    followed = Followed()
    told = watch(host, spec, server(own_pid()), write=followed).end()

    assert told.rows["host"] >= 1
    assert told.unread[0].text == "Welcome to gpu7"


def test_a_program_that_cannot_run_costs_the_telemetry_alone(tmp_path: Path) -> None:
    shim = tmp_path / "python"
    shim.write_text("#!/bin/sh\necho no such luck >&2\nexit 3\n")
    shim.chmod(0o755)
    spec = rig(gpus=0)
    host = connect(spec.host.model_copy(update={"python": str(shim)}))
    told = watch(host, spec, server(own_pid()), write=Followed()).end()

    assert told.rows == {}
    assert any("no such luck" in problem for problem in told.problems)


def test_nothing_outlives_a_gate_that_is_killed(stand_in: StandIn) -> None:
    stand_in.tell(gpus=[gpu(0)], apps=[app(0, own_pid())])
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.hosts.telemetry_stand import Followed, own_pid, rig, server\n"
        "from tokgate.hosts.connection import connect; from tokgate.hosts.telemetry import watch\n"
        "spec = rig(Path(sys.argv[1]), gpus=1)\n"
        "watching = watch(connect(spec.host), spec, server(own_pid()), write=Followed())\n"
        "print(watching._stream._process.pid, flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(stand_in.folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    ) as gate:
        assert gate.stdout is not None
        watcher = int(gate.stdout.readline())
        assert alive(watcher)
        gate.send_signal(signal.SIGKILL)
        gate.wait()
        deadline = time.monotonic() + LIMIT_S
        left = [watcher, *stand_in.pids()]
        while any(map(alive, left)):
            assert time.monotonic() < deadline, [pid for pid in left if alive(pid)]


def test_nor_a_server_that_is_gone_where_nobody_says_that_the_gate_is() -> None:
    """A network that is down: standard input stays open, and the supervisor has ended the server."""
    program = source("telemetry").replace("LEFT_S = 15.0", "LEFT_S = 0.5")
    assert "LEFT_S = 0.5" in program
    with (
        subprocess.Popen(["sleep", "1000"]) as process,
        subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as watcher,
    ):
        row = stat(process.pid)
        assert row is not None
        watched = {"pid": process.pid, "start_ticks": row[3], "sid": 1, "mark": "run/01/ab"}
        order = {"period_s": 0.05, "limit_s": 600, "server": watched, "gpus": None, "holders": None}
        assert watcher.stdin is not None
        assert watcher.stdout is not None
        watcher.stdin.write(json.dumps(order).encode() + b"\n")
        watcher.stdin.flush()
        assert b'"host"' in watcher.stdout.readline(), "it has seen the server"
        process.kill()
        process.wait()
        assert watcher.stdout.read().splitlines()[-1].startswith(b'{"k":"end"')


@pytest.mark.sshd
def test_rows_of_a_host_behind_ssh_carry_its_own_clock(sshd: Sshd, stand_in: StandIn) -> None:
    stand_in.tell(gpus=[gpu(0)], apps=[])
    spec = rig(gpus=1)
    host = connect(sshd.spec(path=(str(stand_in.folder),)))
    followed = Followed()
    watching = watch(host, spec, server(own_pid()), write=followed)
    followed.wait_until(lambda rows: sum(isinstance(r, GpuRow) for r in rows) > 3)
    told = watching.end()

    rows = [r for r in followed.rows if isinstance(r, GpuRow)]
    assert [r.seq for r in rows] == list(range(1, len(rows) + 1))
    assert all(r.host_s is not None for r in rows)
    assert told.problems == ()
    assert not any(alive(pid) for pid in stand_in.pids())
