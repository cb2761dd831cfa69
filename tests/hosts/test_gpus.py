"""Only what is seen to be empty and as the rig says is clean; everything else says why and what to do."""

from __future__ import annotations

import datetime as dt
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.hosts.fake_gpus import MIB, FakeGpu, FakeNvml, no_nvml, row, write_nvidia_smi
from tokgate.hosts.connection import Host, connect
from tokgate.hosts.gpu_judgement import judge, name_holders
from tokgate.hosts.gpu_readout import GpuReadout
from tokgate.hosts.gpus import look_at_gpus
from tokgate.hosts.processes import processes
from tokgate.records import Finding, GpuHolder, GpuSeen, ProcessSeen
from tokgate.rig.machine import GpuSpec, HostSpec

TWO = GpuSpec(count=2, model="H200")


@pytest.fixture
def host() -> Host:
    return connect(HostSpec(python=sys.executable))


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in front of the path, for a nvidia-smi."""
    folder = tmp_path / "bin"
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def only(findings: tuple[Finding, ...]) -> Finding:
    (finding,) = findings
    assert finding.do
    return finding


def test_a_rig_without_gpus_looks_at_nothing() -> None:
    nowhere = connect(HostSpec(testinfra="ssh://127.0.0.1:1"))
    assert look_at_gpus(nowhere, GpuSpec(count=0), FakeNvml(FakeGpu())) == ((), (), ())


@pytest.mark.parametrize("inclusive", [False, True])
def test_idle_cards_are_clean_in_either_convention(host: Host, inclusive: bool) -> None:
    nvml = FakeNvml(FakeGpu(inclusive=inclusive), FakeGpu(inclusive=inclusive, name=b"NVIDIA H200", mig=None))
    gpus, holders, findings = look_at_gpus(host, TWO, nvml)
    assert (holders, findings) == ((), ())
    assert [(g.allocated_mib, g.reserved_mib, g.used_mib, g.source) for g in gpus] == [
        (0.0, 615.0, 615.0, "nvml"),
        (0.0, 615.0, 615.0, "nvml"),
    ]
    assert nvml.open == 0


def test_a_holder_is_named(host: Host) -> None:
    with subprocess.Popen(["sleep", "1000"]) as holder:
        nvml = FakeNvml(FakeGpu(), FakeGpu(used=1542 * MIB, processes=[(holder.pid, 1542 * MIB)]))
        gpus, (named,), findings = look_at_gpus(host, TWO, nvml)
        start = next(p.start_ticks for p in processes(host) if p.pid == holder.pid)
        expected = look_at_gpus(host, TWO, nvml, ours=frozenset({(holder.pid, start)}))
        holder.kill()
    assert [g.allocated_mib for g in gpus] == [0.0, 1542.0]
    assert (named.gpu_index, named.pid, named.start_ticks) == (1, holder.pid, start)
    assert (named.command, named.used_mib) == ("sleep 1000", 1542.0)
    assert named.started_at is not None
    began = dt.datetime.fromisoformat(named.started_at)
    assert abs((dt.datetime.now(dt.UTC) - began).total_seconds()) < 60
    finding = only(findings)
    assert finding.severity == "unclean"
    assert "GPU 1 (NVIDIA H200): 1542 MiB are allocated" in finding.what
    assert f"pid {holder.pid} of {named.user} (sleep 1000, 1542 MiB, since 20" in finding.what
    assert "by hand" in finding.do
    # The same memory is no surprise when the process is the gate's own.
    assert expected[2] == ()


def test_a_zombie_holder_is_told(host: Host) -> None:
    with subprocess.Popen(["sleep", "1000"]) as holder:
        holder.send_signal(signal.SIGKILL)
        deadline = time.monotonic() + 10
        while next(p for p in processes(host) if p.pid == holder.pid).state != "Z":
            assert time.monotonic() < deadline
        nvml = FakeNvml(FakeGpu(used=MIB, processes=[(holder.pid, None)]))
        _, (named,), findings = look_at_gpus(host, GpuSpec(count=1), nvml)
    assert named.note == f"zombie: its parent {os.getpid()} has not collected it"
    assert "parent" in only(findings).do


def test_a_holder_from_elsewhere_is_told(host: Host) -> None:
    nvml = FakeNvml(FakeGpu(used=MIB, processes=[(999_999_999, MIB)]))
    _, (named,), findings = look_at_gpus(host, GpuSpec(count=1), nvml)
    assert (named.pid, named.command) == (999_999_999, None)
    assert "another pid namespace" in only(findings).what
    advice = only(findings).do
    assert "fuser -v /dev/nvidia*" in advice
    assert "--gpu-reset" not in advice, "it would end what others compute on the card"


def test_memory_without_any_owner_is_told(host: Host) -> None:
    _, (named,), findings = look_at_gpus(host, GpuSpec(count=1), FakeNvml(FakeGpu(used=400 * MIB)))
    assert (named.gpu_index, named.pid, named.used_mib) == (0, None, 400.0)
    assert "no living owner is known" in only(findings).what
    assert only(findings).severity == "unclean"


def test_the_tolerance_is_the_rigs(host: Host) -> None:
    nvml = FakeNvml(FakeGpu(used=8 * MIB))
    assert look_at_gpus(host, GpuSpec(count=1, tolerance_mib=8), nvml)[2] == ()
    assert only(look_at_gpus(host, GpuSpec(count=1, tolerance_mib=7.9), nvml)[2]).severity == "unclean"
    nvml = FakeNvml(FakeGpu(used=8 * MIB, processes=[(os.getpid(), 8 * MIB)]))
    assert only(look_at_gpus(host, GpuSpec(count=1, tolerance_mib=8), nvml)[2]).severity == "note"


@pytest.mark.parametrize(
    ("gpus", "severity", "words"),
    [
        pytest.param([FakeGpu()], "unclean", "1 GPUs, the rig says 2 (missing)", id="missing"),
        pytest.param([FakeGpu()] * 3, "unclean", "3 GPUs, the rig says 2 (more than expected)", id="extra"),
        pytest.param([], "unclean", "0 GPUs, the rig says 2 (missing)", id="none"),
        pytest.param([FakeGpu(), FakeGpu(name="NVIDIA A100")], "unclean", "not the model", id="other model"),
        pytest.param([FakeGpu(), FakeGpu(mig=(1, 1))], "unclean", "MIG", id="mig"),
        pytest.param([FakeGpu(), FakeGpu(memory_fails=3)], "unknown", "memory (Not Supported)", id="unified"),
        pytest.param([FakeGpu(), FakeGpu(memory_fails=4)], "unknown", "memory (Not Supp", id="no permission"),
        pytest.param([FakeGpu(), FakeGpu(free=0)], "unknown", "do not add up", id="contradiction"),
    ],
)
def test_what_is_not_as_the_rig_says_is_found(
    host: Host, gpus: list[FakeGpu], severity: str, words: str
) -> None:
    finding = only(look_at_gpus(host, TWO, FakeNvml(*gpus))[2])
    assert finding.severity == severity
    assert words in finding.what


def test_a_lost_gpu_is_found_and_the_others_are_still_seen(host: Host) -> None:
    gpus, _, findings = look_at_gpus(host, TWO, FakeNvml(FakeGpu(), FakeGpu(fails=15)))
    assert [g.index for g in gpus] == [0]
    assert "GPU 1 does not answer: GPU is lost" in findings[0].what
    assert findings[0].severity == "unclean"


def test_a_hanging_driver_is_a_finding(host: Host) -> None:
    nvml = FakeNvml(FakeGpu(), hangs=True)
    quick = connect(host.spec.model_copy(update={"command_timeout_s": 0.2}))
    finding = only(look_at_gpus(quick, GpuSpec(count=1), nvml)[2])
    nvml.released.set()
    assert finding.severity == "unknown"
    assert "did not answer within 0.2 s" in finding.what


def test_a_broken_library_is_a_finding(host: Host) -> None:
    class Broken(FakeNvml):
        def nvmlDeviceGetCount(self) -> int:  # noqa: N802
            raise RuntimeError("surprise")

    finding = only(look_at_gpus(host, TWO, Broken())[2])
    assert finding.severity == "unknown"
    assert "surprise" in finding.what


def test_without_nvml_nvidia_smi_is_asked(host: Host, bin_folder: Path) -> None:
    with subprocess.Popen(["sleep", "1000"]) as holder:
        write_nvidia_smi(bin_folder, gpus=row(0) + row(1, 2566), apps=f"GPU-1, {holder.pid}, 2566, sleep\n")
        gpus, (named,), findings = look_at_gpus(host, TWO, no_nvml())
        holder.kill()
    assert [(g.allocated_mib, g.used_mib, g.source) for g in gpus] == [
        (0.0, 614.0, "nvidia-smi"),
        (2566.0, 3180.0, "nvidia-smi"),
    ]
    assert (named.gpu_index, named.command) == (1, "sleep 1000")
    assert f"pid {holder.pid}" in only(findings).what


def test_a_driver_too_old_for_the_second_memory_call_is_asked_through_nvidia_smi(
    host: Host, bin_folder: Path
) -> None:
    write_nvidia_smi(bin_folder, gpus=row(0))
    gpus, _, findings = look_at_gpus(host, GpuSpec(count=1), FakeNvml(FakeGpu(memory_fails=13)))
    assert (gpus[0].source, findings) == ("nvidia-smi", ())


def test_a_driver_that_does_not_know_a_field_is_asked_without_it(host: Host, bin_folder: Path) -> None:
    write_nvidia_smi(
        bin_folder,
        gpus="0, GPU-0, Tesla T4, 0:3, 470, 15109, 0, 15109, [N/A], 30, 9, 300, 1, 16\n",
        before='case "$1" in *memory.reserved*) echo \'Field "memory.reserved" is not a valid field to query.\';'
        " exit 2;; esac",
    )
    (gpu,), _, findings = look_at_gpus(host, GpuSpec(count=1), no_nvml())
    assert (gpu.allocated_mib, gpu.reserved_mib, gpu.used_mib, findings) == (0.0, None, None, ())


@pytest.mark.parametrize(
    ("failure", "severity", "told"),
    [
        pytest.param(
            (
                "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161\n",
                18,
            ),
            "unknown",
            ("driver-mismatch, exit status 18", "reload its module"),
            id="driver mismatch",
        ),
        pytest.param(
            ("Unable to determine the device handle for GPU 0000:03:00.0: GPU is lost.  Reboot\n", 15),
            "unclean",
            ("gpu-lost", "Xid"),
            id="lost",
        ),
        pytest.param(("No devices were found\n", 6), "unknown", ("no-gpus", "container"), id="no gpus"),
        pytest.param(
            ("", 0), "unclean", ("0 GPUs, the rig says 2", "gpus.count"), id="silence with status 0"
        ),
    ],
)
def test_a_failing_nvidia_smi_is_a_finding(
    host: Host, bin_folder: Path, failure: tuple[str, int], severity: str, told: tuple[str, str]
) -> None:
    write_nvidia_smi(bin_folder, gpus=failure[0], rc=failure[1])
    findings = look_at_gpus(host, TWO, no_nvml())[2]
    assert findings[-1].severity == severity
    assert told[0] in findings[-1].what
    assert told[1] in findings[-1].do


@pytest.mark.parametrize("spelling", ["[N/A]", "[Insufficient Permissions]", "[GPU is lost]", ""])
def test_a_cell_without_a_number_is_not_an_empty_gpu(host: Host, bin_folder: Path, spelling: str) -> None:
    cells = f"0, GPU-0, NVIDIA H200, 0:3, 590, {spelling}, {spelling}, {spelling}, {spelling}, Disabled, 1, 1, 1, 1, 1\n"
    write_nvidia_smi(bin_folder, gpus=cells)
    finding = only(look_at_gpus(host, GpuSpec(count=1), no_nvml())[2])
    assert finding.severity == "unknown"
    assert "nobody can say how much memory is allocated" in finding.what


def test_a_lost_gpu_amid_rows_is_found(host: Host, bin_folder: Path) -> None:
    lost = "Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error\n"
    write_nvidia_smi(bin_folder, gpus=row(0) + lost)
    gpus, _, findings = look_at_gpus(host, TWO, no_nvml())
    assert [g.index for g in gpus] == [0]
    assert "gpu-lost" in findings[0].what


def test_a_hanging_nvidia_smi_is_a_finding(host: Host, bin_folder: Path) -> None:
    write_nvidia_smi(bin_folder, gpus="", before="sleep 1000 & sleep 1000")
    quick = connect(host.spec.model_copy(update={"command_timeout_s": 0.5}))
    finding = only(look_at_gpus(quick, TWO, no_nvml())[2])
    assert finding.severity == "unknown"
    assert "did not answer" in finding.what


def test_no_nvidia_smi_is_a_finding(host: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = only(look_at_gpus(host, TWO, no_nvml())[2])
    assert finding.severity == "unknown"
    assert "no nvidia-smi" in finding.what


def test_a_holder_on_a_gpu_nobody_listed_is_found(host: Host, bin_folder: Path) -> None:
    write_nvidia_smi(bin_folder, gpus=row(0), apps="MIG-7, 999999999, 12, [Not Found]\n")
    finding = only(look_at_gpus(host, GpuSpec(count=1), no_nvml())[2])
    assert finding.severity == "unclean"
    assert "not in the list" in finding.what


@pytest.mark.sshd
def test_a_host_that_cannot_be_asked_is_a_finding() -> None:
    nowhere = connect(HostSpec(testinfra="ssh://127.0.0.1:1"))
    finding = only(look_at_gpus(nowhere, TWO)[2])
    assert finding.severity == "unknown"
    assert "nothing accepts ssh connections" in finding.what


def test_a_holder_in_its_last_moments_is_told_from_a_living_one() -> None:
    """Right after SIGKILL a process is no zombie yet, but has no command line any more."""
    dying = ProcessSeen(pid=7, start_ticks=1, ppid=1, pgid=7, sid=7, state="D", comm="python3", cmdline="")
    (named,) = name_holders([GpuHolder(gpu_index=0, pid=7, used_mib=1.0)], [dying])
    assert named.note is not None
    assert named.note.startswith("ending")
    assert named.command == "python3"


def test_a_holder_says_since_when_and_in_which_container_it_runs() -> None:
    process = ProcessSeen(
        pid=7,
        start_ticks=1,
        ppid=1,
        pgid=7,
        sid=7,
        state="S",
        user="ada",
        comm="python3",
        cmdline="python3 train.py",
        started_at="2026-11-29T14:03:11+00:00",
        within="docker container 3f2a0c1b9d8e",
    )
    holders = name_holders([GpuHolder(gpu_index=0, pid=7, used_mib=1542.0)], [process])
    gpu = GpuSeen(index=0, name="H200", allocated_mib=1542.0, source="nvml")
    finding = only(judge(GpuReadout(gpus=(gpu,)), holders, GpuSpec(count=1), frozenset()))
    assert finding.what == (
        "GPU 0 (H200): 1542 MiB are allocated, held by pid 7 of ada (python3 train.py, 1542 MiB,"
        " since 2026-11-29 14:03:11 UTC, in docker container 3f2a0c1b9d8e)"
    )


def test_a_gpu_with_less_than_nothing_allocated_is_not_empty() -> None:
    gpu = GpuSeen(index=0, name="H200", allocated_mib=-5.0, source="nvidia-smi")
    finding = only(judge(GpuReadout(gpus=(gpu,)), (), GpuSpec(count=1), frozenset()))
    assert finding.severity == "unknown"


def test_memory_that_is_neither_used_nor_free_is_not_clean(host: Host, bin_folder: Path) -> None:
    cells = "0, GPU-0, RTX PRO 6000, 0:3, 590, 97887, [N/A], 0, 1000, Disabled, 1, 1, 1, 1, 1\n"
    write_nvidia_smi(bin_folder, gpus=cells)
    finding = only(look_at_gpus(host, GpuSpec(count=1), no_nvml())[2])
    assert finding.severity == "unknown"
    assert "96887 MiB are neither used nor free" in finding.what


def test_of_many_findings_the_worst_are_told_and_the_rest_counted() -> None:
    gpu = GpuSeen(index=0, name="H200", allocated_mib=0.0, source="nvidia-smi")
    attached = tuple(GpuHolder(gpu_index=0, pid=pid, used_mib=1.0) for pid in range(1, 500))
    elsewhere = GpuHolder(gpu_index=None, pid=9999, used_mib=1.0)
    spec = GpuSpec(count=1)
    found = judge(GpuReadout(gpus=(gpu,)), (*attached, elsewhere), spec, frozenset())
    assert len(found) == 21
    assert found[0].severity == "unclean"
    assert "pid 9999" in found[0].what
    assert found[-1].what.startswith("480 more findings, the first of them: GPU 0 (H200): pid 20 ")
    held = gpu.model_copy(update={"allocated_mib": 499.0})
    (finding,) = judge(GpuReadout(gpus=(held,)), attached, spec, frozenset())
    assert finding.what.endswith(" and 479 more")
    assert "pid 20 " in finding.what
    assert "pid 21 " not in finding.what


def test_a_warning_amid_the_rows_is_a_note(host: Host, bin_folder: Path) -> None:
    write_nvidia_smi(bin_folder, gpus=row(0) + "WARNING: infoROM is corrupted at gpu 00000000:00:00.0\n")
    gpus, _, findings = look_at_gpus(host, GpuSpec(count=1), no_nvml())
    assert len(gpus) == 1
    assert only(findings).severity == "note"
    assert "infoROM is corrupted" in only(findings).what


def test_a_list_of_processes_that_fails_alone_is_a_finding(host: Host, bin_folder: Path) -> None:
    """Both questions are asked in one command: each keeps its own answer."""
    write_nvidia_smi(
        bin_folder, gpus=row(0), before='case "$1" in --query-compute*) echo No permission >&2; exit 4;; esac'
    )
    gpus, _, findings = look_at_gpus(host, GpuSpec(count=1), no_nvml())
    assert [g.allocated_mib for g in gpus] == [0.0]
    assert only(findings).severity == "unknown"
    assert "exit status 4): No permission" in only(findings).what


def test_a_hang_in_the_second_question_keeps_the_first_answer(host: Host, bin_folder: Path) -> None:
    write_nvidia_smi(bin_folder, gpus=row(0), before='case "$1" in --query-compute*) sleep 1000;; esac')
    quick = connect(host.spec.model_copy(update={"command_timeout_s": 1.0}))
    gpus, _, findings = look_at_gpus(quick, GpuSpec(count=1), no_nvml())
    assert [g.index for g in gpus] == [0]
    assert "did not answer" in only(findings).what
