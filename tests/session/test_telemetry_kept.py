"""Rows of telemetry lie in the run folder, and windows are computed from them whenever it is read."""

from __future__ import annotations

from pathlib import Path

from tests.session.generations import generation
from tests.session.test_run_folder import LAUNCH, written
from tokgate.records import LaunchEvidence
from tokgate.records.redactor import Redactor
from tokgate.records.telemetry import GpuNow, GpuRow, HolderRow, Holding, ProcessRow, Telemetry, TelemetryRow
from tokgate.session.run_folder import RunFolder, load_launch, load_telemetry

MS = 1_000_000
TOLD = Telemetry(source="nvml", gpus=1, period_s=0.2, rows={"gpus": 4})
HOSTILE = "python3 -c 'x'\u2028 --key hunter2hunter2 \x85 end"
# The generation lasts from 0 to 310 ms.
ROWS: tuple[TelemetryRow, ...] = (
    *(
        GpuRow(at_ns=at * MS, gpus=(GpuNow(0, 1980.0, None, 61.0, 412.5, 99.0, 0x20 if at == 200 else 0),))
        for at in (-100, 100, 200, 400)
    ),
    ProcessRow(at_ns=0, pid=7, start_ticks=8, user="ann", command=HOSTILE, ours=False),
    ProcessRow(at_ns=0, pid=5, start_ticks=6, user="ann", command="server", ours=True),
    HolderRow(at_ns=150 * MS, holders=(Holding(0, 5, 6, 4096.0, None), Holding(0, 7, 8, 512.0, None))),
)


def lines(rows: tuple[TelemetryRow, ...] = ROWS) -> str:
    return "".join(row.model_dump_json(exclude_none=True) + "\n" for row in rows)


def kept(path: Path, text: str, redactor: Redactor | None = None) -> RunFolder:
    folder = written(path, redactor)
    folder.write_launch(LaunchEvidence(launch=LAUNCH, telemetry=TOLD))
    folder.append_generations(LAUNCH.id, (generation(index=0),))
    folder.append_telemetry(LAUNCH.id, text)
    return folder


def test_windows_are_computed_from_what_was_kept(tmp_path: Path) -> None:
    folder = kept(tmp_path, lines())
    evidence = load_launch(folder.launch_folder(LAUNCH.id))

    (window,) = evidence.windows
    assert window.gpus[0].reasons == {"sw_thermal_slowdown": 1}
    assert window.gpus[0].watts_mean == 412.5
    assert [s.pid for s in window.strangers or ()] == [7]
    assert evidence.telemetry == TOLD
    assert evidence == load_launch(folder.launch_folder(LAUNCH.id))


def test_windows_are_not_stored_beside_what_they_come_from(tmp_path: Path) -> None:
    folder = kept(tmp_path, lines())
    evidence = load_launch(folder.launch_folder(LAUNCH.id))
    folder.write_launch(evidence)

    assert '"windows": []' in (tmp_path / "launches" / LAUNCH.id / "launch.json").read_text()


def test_a_command_may_hold_line_breaks_and_secrets(tmp_path: Path) -> None:
    redactor = Redactor()
    redactor.add("hunter2hunter2")
    folder = kept(tmp_path, lines(), redactor)
    file = folder.launch_folder(LAUNCH.id) / "telemetry.jsonl"

    assert "hunter2" not in file.read_text(encoding="utf-8")
    told = next(row for row in load_telemetry(file) if isinstance(row, ProcessRow) and not row.ours)
    assert told.command == HOSTILE.replace("hunter2hunter2", "[redacted]")


def test_half_a_line_of_a_killed_session_is_left_out(tmp_path: Path) -> None:
    folder = kept(tmp_path, lines() + '{"kind":"gpus","at_ns":5')
    assert len(load_telemetry(folder.launch_folder(LAUNCH.id) / "telemetry.jsonl")) == len(ROWS)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    folder = kept(tmp_path, "not a row\n" + lines())
    launch = load_launch(folder.launch_folder(LAUNCH.id))
    assert "telemetry.jsonl, line 1 cannot be read" in launch.faults[-1]
    assert launch.generations


def test_a_folder_from_before_there_was_telemetry_is_read(tmp_path: Path) -> None:
    folder = written(tmp_path)
    folder.write_launch(LaunchEvidence(launch=LAUNCH))
    folder.append_generations(LAUNCH.id, (generation(index=0),))
    evidence = load_launch(folder.launch_folder(LAUNCH.id))

    assert evidence.telemetry is None
    assert [w.gpus for w in evidence.windows] == [()]


def test_a_moment_that_no_clock_shows_is_refused(tmp_path: Path) -> None:
    folder = kept(tmp_path, '{"kind":"gpus","at_ns":' + "9" * 400 + ',"gpus":[]}\n')
    launch = load_launch(folder.launch_folder(LAUNCH.id))
    assert "telemetry.jsonl, line 1 cannot be read" in launch.faults[-1]
