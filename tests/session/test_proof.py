"""A proof start against a server that writes traces as SGLang's profiler does."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parsers.traces import decode, trace
from tokgate.client.control import Answer, Control
from tokgate.errors import BenchFault, HostFault
from tokgate.hosts.connection import Host, connect
from tokgate.records import ServerCounters
from tokgate.records.nccl import NcclProof
from tokgate.records.redactor import Redactor
from tokgate.rig.machine import HostSpec
from tokgate.session import proof as subject
from tokgate.session import traces as traces_of_it
from tokgate.session.proof import DEBUG, Profiled, ProofRun
from tokgate.session.run_folder import RunFolder

LOG = """\
box:901:901 [0] NCCL INFO NCCL version 2.28.9+cuda13.0
box:901:901 [0] NCCL INFO NCCL_PROTO set by environment to LL
box:901:901 [0] NCCL INFO ncclCommInitRank comm 0x1aa0 rank 0 nranks 2 cudaDev 0 busId 60 commId 0x77 - Init COMPLETE
box:901:901 [0] NCCL INFO AllReduce: 8192 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3}
"""


class ScriptedControl(Control):
    """Writes `traces` while it generates under the profiler, as many of each as there are pieces."""

    def __init__(self, traces: dict[str, bytes], *, refuses: bool = False) -> None:
        super().__init__("http://127.0.0.1:1")
        self.traces, self.refuses = traces, refuses
        self.calls: list[str] = []
        self.dies = False
        self._folder: Path | None = None

    def start_profile(self, folder: str, *, steps: int, limit_s: float) -> None:
        self.calls.append("profile")
        if self.refuses:
            raise BenchFault(tried="POST /start_profile", found="HTTP 404: Not Found", do="look")
        self._folder = Path(folder)

    def generate_once(self, *args: object, **options: object) -> Answer:
        self.calls.append("generate")
        if self._folder is not None and self.dies:
            raise BenchFault(tried="POST /generate", found="connection reset", do="look")
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            for name, content in self.traces.items():
                (self._folder / name).write_bytes(content)
        return Answer(output_ids=None, text=None, counters=ServerCounters(dialect="0.5.13"))


class Served:
    def __init__(self, control: ScriptedControl, folder: Path) -> None:
        self.control: ScriptedControl = control
        self.folder = str(folder)


@pytest.fixture
def host() -> Host:
    return connect(HostSpec(), redactor=Redactor())


@pytest.fixture
def times() -> Iterator[float]:
    return iter(range(0, 10_000, 10))


def run(host: Host, folder: Path, times: Iterator[float], *, ranks: int = 2) -> ProofRun:
    return ProofRun(
        host=host,
        folder=RunFolder(folder, Redactor()),
        launch_id="00-nccl-proof",
        ranks=ranks,
        pause=lambda _: None,
        clock=lambda: next(times),
    )


def traces(ranks: int = 2) -> dict[str, bytes]:
    return {f"1795.5-TP-{n}.trace.json.gz": trace(decode(), rank=n) for n in range(ranks)}


def test_one_generation_warms_one_is_profiled_and_every_trace_is_kept(
    host: Host, tmp_path: Path, times: Iterator[float]
) -> None:
    control = ScriptedControl(traces())
    found = run(host, tmp_path / "run", times).profile(Served(control, tmp_path / "there"))
    assert control.calls == ["generate", "profile", "generate"]
    assert found.why is None
    assert [(p.rank, p.steps, sum(k.in_steps for k in p.nccl)) for p in found.profiles] == [
        (0, 3, 6),
        (1, 3, 6),
    ]
    for profile in found.profiles:
        assert (tmp_path / "run" / profile.file).read_bytes() == control.traces[Path(profile.file).name]


def test_a_server_without_a_profiler_is_told_and_not_asked_to_generate_again(
    host: Host, tmp_path: Path, times: Iterator[float]
) -> None:
    control = ScriptedControl({}, refuses=True)
    found = run(host, tmp_path / "run", times).profile(Served(control, tmp_path / "there"))
    assert found == Profiled((), "no profiler: HTTP 404: Not Found")
    assert control.calls == ["generate", "profile"]


def test_a_server_that_dies_under_the_profiler_costs_the_profile_alone(
    host: Host, tmp_path: Path, times: Iterator[float]
) -> None:
    control = ScriptedControl(traces())
    control.dies = True
    found = run(host, tmp_path / "run", times).profile(Served(control, tmp_path / "there"))
    assert found == Profiled((), "the profiled generation failed: connection reset")


def test_a_trace_that_stays_torn_is_told_when_time_is_up(
    host: Host, tmp_path: Path, times: Iterator[float]
) -> None:
    half = traces()
    half["1795.5-TP-1.trace.json.gz"] = half["1795.5-TP-1.trace.json.gz"][:200]
    found = run(host, tmp_path / "run", times).profile(Served(ScriptedControl(half), tmp_path / "there"))
    assert found.why == "1 whole traces of 2 within 120 s"
    assert [p.complete for p in found.profiles] == [True, False]


def test_bombs_are_left_when_time_is_up(host: Host, tmp_path: Path, times: Iterator[float]) -> None:
    """Every look at this clock takes ten seconds, and there is one a file and one a piece of 64 KiB."""
    bomb = gzip.compress(b'{"traceEvents":[' + b" " * (64 << 20))
    control = ScriptedControl({f"1795.5-TP-{n}.trace.json.gz": bomb for n in range(6)})
    found = run(host, tmp_path / "run", times).profile(Served(control, tmp_path / "there"))
    assert found.why == "0 whole traces of 2 within 120 s"
    assert 1 <= len(found.profiles) < 6
    assert not any(p.complete for p in found.profiles)


def test_more_files_than_ranks_could_write_are_not_all_read(host: Host, tmp_path: Path) -> None:
    control = ScriptedControl({f"1795.{n}-TP-0.trace.json.gz": trace(decode(), rank=0) for n in range(9)})
    once_a_second = iter(range(1000))
    found = run(host, tmp_path / "run", once_a_second, ranks=1).profile(Served(control, tmp_path / "there"))
    assert found.why == "9 traces, 4 of them looked at"
    assert len(found.profiles) == 4


def test_a_trace_that_cannot_be_fetched_costs_the_profile_alone(
    host: Host, tmp_path: Path, times: Iterator[float]
) -> None:
    class Unreadable(Host):
        def read_file(
            self, path: str, *, most: int | None = None, timeout_s: float | None = None
        ) -> bytes | None:
            assert timeout_s is not None
            assert timeout_s <= 120.0
            raise HostFault(tried=f"to read {path}", found="no end after 120 s", do="look")

    slow = Unreadable.__new__(Unreadable)
    slow.__dict__.update(host.__dict__)
    found = run(slow, tmp_path / "run", times).profile(Served(ScriptedControl(traces()), tmp_path / "there"))
    assert found.why == "0 whole traces of 2 within 120 s"


def test_no_trace_at_all_is_told(host: Host, tmp_path: Path, times: Iterator[float]) -> None:
    found = run(host, tmp_path / "run", times).profile(Served(ScriptedControl({}), tmp_path / "there"))
    assert found == Profiled((), "0 whole traces of 2 within 120 s")


def test_files_of_another_kind_are_not_taken_for_traces(
    host: Host, tmp_path: Path, times: Iterator[float]
) -> None:
    control = ScriptedControl({**traces(1), "notes.txt": b"x", "server_args.yaml": b"y"})
    found = run(host, tmp_path / "run", times, ranks=1).profile(Served(control, tmp_path / "there"))
    assert len(found.profiles) == 1


def test_a_large_trace_is_read_and_left_behind(
    host: Host, tmp_path: Path, times: Iterator[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces_of_it, "KEPT_BYTES", 10)
    found = run(host, tmp_path / "run", times).profile(Served(ScriptedControl(traces()), tmp_path / "there"))
    assert [p.file for p in found.profiles] == list(traces())
    assert not (tmp_path / "run" / "launches").exists()


def test_the_log_tells_what_nccl_took_and_is_written_down(
    host: Host, tmp_path: Path, times: Iterator[float]
) -> None:
    log = tmp_path / "server.log"
    log.write_text(LOG)
    proof = run(host, tmp_path / "run", times).proof(log, Profiled((), "no profiler: HTTP 404"))
    assert proof.versions == ("2.28.9+cuda13.0",)
    assert [rank.accepted["NCCL_PROTO"][0].value for rank in proof.ranks] == ["LL"]
    assert proof.ran == ("AllReduce RING/LL, 1 calls of 8192 to 8192 bytes",)
    written = (tmp_path / "run/launches/00-nccl-proof/nccl-proof.json").read_text()
    assert NcclProof.model_validate_json(written) == proof


def test_a_log_of_many_calls_is_read_up_to_a_limit_and_says_so(
    host: Host, tmp_path: Path, times: Iterator[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "LOG_CHARACTERS", len(LOG))
    log = tmp_path / "server.log"
    log.write_text(LOG * 3)
    proof = run(host, tmp_path / "run", times).proof(log, Profiled(()))
    assert len(proof.ranks) == 1
    assert "longer than" in proof.unread[0].why


def test_a_missing_log_is_told(host: Host, tmp_path: Path, times: Iterator[float]) -> None:
    proof = run(host, tmp_path / "run", times).proof(tmp_path / "none.log", Profiled(()))
    assert "cannot be read" in proof.unread[0].why


def test_nccl_is_asked_to_speak_with_a_reason_for_each_variable() -> None:
    assert {(e.name, e.value) for e in DEBUG} == {
        ("NCCL_DEBUG", "INFO"),
        ("NCCL_DEBUG_SUBSYS", "INIT,ENV,TUNING"),
    }
    assert all(e.reason for e in DEBUG)
