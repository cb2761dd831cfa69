"""The box's nvidia-smi answers in the formats asked for, and fails in the real one's ways."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from simbox import ledger
from simbox.box import Box, down, send_squatter, up
from simbox.heat import heat
from simbox.nvidia_smi import answer
from simbox.scenario import load
from simbox.smi_gpu import ALIASES, FIELDS

PROGRAM = Path(__file__).parents[2] / "simbox" / "bin" / "nvidia-smi"


def box(state: Path, scenario: str = "", knobs: str = "") -> Box:
    file = state / "mine.toml"
    file.write_text(f"[knobs]\n{knobs}")
    return Box(state, load([*([scenario] if scenario else []), str(file)]))


def ask(where: Box, *words: str) -> list[str]:
    text, status = answer(where, words)
    assert status == 0, text
    return text.splitlines()


def mine(state: Path, gpu: int, mib: int) -> None:
    pid = os.getpid()
    ledger.claim(state, ledger.Holder(gpu, pid, ledger.start_ticks(pid), mib, "sglang::scheduler_TP3", 0.2))


def test_a_query_with_units_and_a_header(tmp_path: Path) -> None:
    mine(tmp_path, 3, 85598)
    rows = ask(box(tmp_path), "--query-gpu=index,memory.used,memory.total,clocks.sm", "--format=csv")
    assert rows[0] == "index, memory.used [MiB], memory.total [MiB], clocks.current.sm [MHz]"
    assert rows[4] == "3, 85598 MiB, 97887 MiB, 2430 MHz"
    assert len(rows) == 9


def test_a_query_with_neither(tmp_path: Path) -> None:
    rows = ask(
        box(tmp_path),
        "--query-gpu=memory.reserved,memory.free,clocks_throttle_reasons.sw_thermal_slowdown",
        "--format=csv,noheader,nounits",
    )
    assert rows == ["616, 97271, Not Active"] * 8


def test_compute_processes(tmp_path: Path) -> None:
    mine(tmp_path, 3, 85598)
    (row,) = ask(box(tmp_path), "--query-compute-apps=pid,process_name,used_memory", "--format=csv,noheader")
    assert row == f"{os.getpid()}, sglang::scheduler_TP3, 85598 MiB"


def test_the_list_one_gpu_and_the_topology(tmp_path: Path) -> None:
    listed = ask(box(tmp_path), "-L")
    assert listed[2].startswith("GPU 2: NVIDIA RTX PRO 6000 Blackwell (simulated) (UUID: GPU-")
    uuid = listed[2].rsplit(" ", 1)[1].rstrip(")")
    assert ask(box(tmp_path), "-i", uuid, "--query-gpu=index", "--format=csv,noheader") == ["2"]
    assert answer(box(tmp_path), ["-i", "9", "-L"]) == ("No devices were found\n", 6)
    matrix = ask(box(tmp_path), "topo", "-m")
    assert matrix[1].split("\t")[:6] == ["GPU0", " X ", "NODE", "NODE", "NODE", "SYS"]


def test_the_table_is_straight_and_says_that_it_is_simulated(tmp_path: Path) -> None:
    mine(tmp_path, 3, 85598)
    rows = ask(box(tmp_path))
    assert "CUDA Version: 13.0" in rows[2]
    assert {len(row) for row in rows if row.startswith(("|", "+"))} == {91}
    assert any("85598MiB /  97887MiB" in row or "85598MiB / 97887MiB" in row for row in rows)
    assert any("sglang::scheduler_TP3" in row and "85598MiB |" in row for row in rows)
    assert "SIMULATED" in rows[-1]


@pytest.mark.parametrize(
    ("words", "said", "status"),
    [
        (["--query-gpu=index,odd", "--format=csv"], 'Field "odd" is not a valid field to query.', 2),
        (["--query-compute-apps=odd", "--format=csv"], 'Field "odd" is not a valid field to query.', 2),
        (["--query-gpu=index"], "--format is not recognized", 2),
    ],
)
def test_what_it_does_not_know(tmp_path: Path, words: list[str], said: str, status: int) -> None:
    text, rc = answer(box(tmp_path), words)
    assert said in text
    assert rc == status


@pytest.mark.parametrize(
    ("scenario", "said", "status"),
    [
        ("driver-mismatch", "Driver/library version mismatch", 18),
        ("no-driver", "couldn't communicate with the NVIDIA driver", 9),
        ("no-gpus", "No supported GPUs were found", 255),
        ("gpu-lost", "GPU 0000:61:00.0: GPU is lost.  Reboot the system to recover this GPU", 15),
    ],
)
def test_faults_of_the_driver(tmp_path: Path, scenario: str, said: str, status: int) -> None:
    text, rc = answer(box(tmp_path, scenario), ["--query-gpu=index", "--format=csv"])
    assert said in text
    assert rc == status


@pytest.mark.parametrize(
    "scenario",
    ["na", "na-bare", "not-supported", "not-supported-bare", "no-permission", "deprecated", "empty"],
)
def test_seven_ways_to_say_no_number(tmp_path: Path, scenario: str) -> None:
    where = box(tmp_path, f"smi-{scenario}")
    rows = ask(where, "--query-gpu=index,memory.used", "--format=csv,noheader,nounits")
    assert rows[1] == "1, 0"
    assert rows[2] == f"2, {where.scenario.knobs.smi_words.strip()}"


def test_a_missing_gpu_leaves_seven_rows(tmp_path: Path) -> None:
    rows = ask(box(tmp_path, "gpu-missing"), "--query-gpu=index,pci.bus_id", "--format=csv,noheader")
    assert [row.split(",")[0] for row in rows] == list("0123456")
    assert not any("61:00.0" in row for row in rows)


def test_a_reboot_shows(tmp_path: Path) -> None:
    words = ("--query-gpu=uuid,power.limit,persistence_mode,pcie.link.width.current", "--format=csv,noheader")
    before, after = ask(box(tmp_path), *words), ask(box(tmp_path, "rebooted"), *words)
    assert before[6].split(", ")[0] == after[6].split(", ")[0]
    assert before[6].split(", ")[1:] == ["600.00 W", "Enabled", "16"]
    assert after[6].split(", ")[1:] == ["450.00 W", "Disabled", "8"]


@pytest.mark.parametrize(
    ("owner", "named"), [("none", None), ("living", "python3"), ("zombie", "[Not Found]")]
)
def test_memory_left_over(tmp_path: Path, owner: str, named: str | None) -> None:
    up(tmp_path, [f"leftover-{'no-owner' if owner == 'none' else owner}"])
    try:
        where = up(tmp_path)  # plays on without being told again
        assert ask(where, "-i", "3", "--query-gpu=memory.used", "--format=csv,noheader,nounits") == ["1894"]
        rows = ask(where, "--query-compute-apps=process_name", "--format=csv,noheader")
        assert rows == ([named] if named else [])
    finally:
        down(tmp_path)
    assert ledger.held(tmp_path) == ()


def test_a_stranger_has_nothing_of_our_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_MARK", "here")
    up(tmp_path)
    send_squatter(tmp_path, gpu=1, mib=10, life_s=60)
    try:
        (held,) = ledger.held(tmp_path)
        assert b"SOME_MARK" not in Path(f"/proc/{held.holder.pid}/environ").read_bytes()
    finally:
        assert down(tmp_path) == [held.holder.pid]


def busy(state: Path, scenario: str, gpu: int, loaded_s: float) -> Box:
    where = box(state, scenario)
    state_of_it = heat(where.scenario.knobs, busy=True, hanging=False, loaded_s=loaded_s, gpu=gpu)
    ledger.tell_heat(state, gpu, state_of_it)
    return where


def test_heat_shows_in_clock_and_reasons(tmp_path: Path) -> None:
    words = "clocks.sm,clocks_event_reasons.active,clocks_throttle_reasons.sw_thermal_slowdown"
    where = busy(tmp_path, "heat", 2, 60.0)
    rows = ask(where, f"--query-gpu={words}", "--format=csv,noheader,nounits")
    assert rows[2] == "1992, 0x0000000000000020, Active"
    assert rows[3] == "2430, 0x0000000000000001, Not Active"


def test_a_slow_rank_is_a_card_at_a_lower_power_limit(tmp_path: Path) -> None:
    words = "clocks.sm,clocks_event_reasons.active,power.limit,enforced.power.limit,power.default_limit"
    where = busy(tmp_path, "slow-rank", 5, 1.0)
    rows = ask(where, f"--query-gpu={words}", "--format=csv,noheader,nounits")
    assert rows[5] == "1944, 0x0000000000000004, 300.00, 300.00, 600.00"
    assert rows[4] == "2430, 0x0000000000000001, 600.00, 600.00, 600.00"


def test_a_loop_follows_what_happens_and_ends_with_the_box(tmp_path: Path) -> None:
    up(tmp_path)
    told = {"PATH": os.environ["PATH"], "SIMBOX_STATE": str(tmp_path)}
    words = ["--query-compute-apps=pid,used_memory", "--format=csv,nounits", "-lms", "20"]
    with subprocess.Popen([PROGRAM, *words], env=told, stdout=subprocess.PIPE, text=True) as loop:
        try:
            assert loop.stdout is not None
            assert loop.stdout.readline() == "pid, used_gpu_memory [MiB]\n"
            send_squatter(tmp_path, gpu=3, mib=77, life_s=60)
            (held,) = ledger.held(tmp_path)
            assert loop.stdout.readline() == f"{held.holder.pid}, 77\n"
            assert loop.stdout.readline() == f"{held.holder.pid}, 77\n"
            down(tmp_path)
            assert loop.wait(20) == 0
        finally:
            loop.kill()


def test_every_field_is_told_with_and_without_units(tmp_path: Path) -> None:
    names = ",".join([*FIELDS, *ALIASES])
    for words in ("csv", "csv,nounits", "csv,noheader,nounits"):
        rows = ask(box(tmp_path), f"--query-gpu={names}", f"--format={words}")
        assert {row.count(", ") for row in rows} == {names.count(",")}


def run(state: Path, scenario: str, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    told = {"PATH": os.environ["PATH"], "SIMBOX_STATE": str(state), "SIMBOX_SCENARIO": scenario}
    return subprocess.run(
        [PROGRAM, "--query-gpu=index", "--format=csv,noheader"],
        env=told, capture_output=True, text=True, check=False, timeout=timeout,
    )  # fmt: skip


def test_the_program(tmp_path: Path) -> None:
    assert run(tmp_path, "").stdout.split() == list("01234567")
    assert run(tmp_path, "driver-mismatch").returncode == 18
    absent = run(tmp_path, "smi-absent")
    assert (absent.returncode, absent.stderr) == (127, "nvidia-smi: command not found\n")
    with pytest.raises(subprocess.TimeoutExpired):
        run(tmp_path, "smi-hangs", timeout=0.7)
