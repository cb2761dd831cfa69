"""A few steps under the profiler, behind everything that is measured: what is kept, read back, and said otherwise."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.parsers.traces import event, kernel, step, trace
from tests.session.rigs import small_rig
from tests.session.test_phase_table import NAME, folder, kept, read, with_probe
from tests.simbox.serving import EAGLE3, serving
from tokgate.client.control import Control
from tokgate.client.stream import Target
from tokgate.errors import BenchFault
from tokgate.hosts.connection import connect
from tokgate.records import Launch, Liveness
from tokgate.records.phases import Phase
from tokgate.records.redactor import Redactor
from tokgate.rig.machine import HostSpec
from tokgate.rig.models import Rig
from tokgate.session.instrument_files import TraceTaken
from tokgate.session.run_folder import RunFolder
from tokgate.session.trace_run import TraceRun
from tokgate.session.trace_table import read_traces

LAUNCH = Launch(id=NAME, arm="eagle3-2step", role="instrumented")
ANSWERED = Liveness(alive=True, answered=True)
FILE = "1795.5-TP-0.trace.json.gz"
TAKEN = TraceTaken(workload="single", concurrency=1).model_dump_json().encode()


class Served:
    """A server as a trace needs it."""

    def __init__(self, control: Control, port: int, folder: Path) -> None:
        self.control, self.target, self.folder = control, Target("127.0.0.1", port), str(folder)

    def why_gone(self) -> str | None:
        return None


class Refusing(Control):
    """A server without a profiler."""

    def flush_cache(self, *, limit_s: float = 30.0) -> None:
        assert limit_s > 0

    def start_profile(self, folder: str, *, steps: int, limit_s: float) -> None:
        assert (bool(folder), steps > 0, limit_s > 0) == (True, True, True)
        raise BenchFault(tried="POST /start_profile", found="HTTP 404: Not Found", do="look")


class Forgetful(Control):
    """Says yes and never writes a trace."""

    def start_profile(self, folder: str, *, steps: int, limit_s: float) -> None:
        assert (bool(folder), steps > 0, limit_s > 0) == (True, True, True)


def run(path: Path, *, rig: Rig | None = None, times: Iterator[float] | None = None) -> TraceRun:
    return TraceRun(
        host=connect(HostSpec(), redactor=Redactor()),
        folder=RunFolder(path / "run", Redactor()),
        launch=LAUNCH,
        rig=rig or small_rig(),
        root=path,
        pause=lambda _: None,
        clock=times.__next__ if times is not None else count(0.0, 0.01).__next__,
    )


def told(path: Path) -> str | None:
    return read_traces(path / "run/launches" / NAME, NAME).why


def test_a_server_under_load_is_profiled_and_its_trace_tells_the_phases(tmp_path: Path) -> None:
    with serving(tmp_path / "state", *EAGLE3) as server:
        made = Served(Control(f"http://127.0.0.1:{server.port}"), server.port, tmp_path / "there")
        assert run(tmp_path, times=iter(range(0, 10_000, 10))).take(made, ANSWERED) == "1 traces"
        forgetful = Served(Forgetful(f"http://127.0.0.1:{server.port}"), server.port, tmp_path / "none")
        words = run(tmp_path / "b", times=iter(range(0, 10_000, 10))).take(forgetful, ANSWERED)
        assert words == "0 traces, 0 whole traces of 1 within 60 s"
    found = read_traces(tmp_path / "run/launches" / NAME, NAME)
    assert found.why is None
    (verify,) = (r for r in found.readings if r.phase is Phase.VERIFY)
    assert (verify.workload, verify.concurrency, verify.rank, verify.clock) == ("single", 1, 0, "gpu")
    assert 6 <= verify.n <= 9
    assert {r.phase for r in found.readings} >= {Phase.DRAFT, Phase.VERIFY, Phase.DRAFT_EXTEND, Phase.STEP}
    assert [f.rank for f in found.facts] == [0]
    assert told(tmp_path / "b") == "0 whole traces of 1 within 60 s"


def test_a_server_without_a_profiler_is_told(tmp_path: Path) -> None:
    server = Served(Refusing("http://127.0.0.1:1"), 1, tmp_path / "there")
    assert run(tmp_path).take(server, ANSWERED) == "0 traces, no profiler: HTTP 404: Not Found"
    assert told(tmp_path) == "no profiler: HTTP 404: Not Found"


def test_a_server_that_is_gone_is_told_and_raises_nothing(tmp_path: Path) -> None:
    server = Served(Control("http://127.0.0.1:1"), 1, tmp_path / "there")
    words = run(tmp_path).take(server, ANSWERED)
    assert "refused" in words.lower() or "connect" in words.lower()
    assert told(tmp_path) is not None


@pytest.mark.parametrize("liveness", [None, Liveness(alive=True, answered=False, why="hangs")])
def test_a_server_that_did_not_answer_to_the_last_is_left_alone(
    tmp_path: Path, liveness: Liveness | None
) -> None:
    server = Served(Refusing("http://127.0.0.1:1"), 1, tmp_path / "there")
    assert "did not answer any more" in run(tmp_path).take(server, liveness)


def test_a_rig_that_wants_no_trace_has_none(tmp_path: Path) -> None:
    rig = Rig.model_validate(small_rig().model_dump(mode="json") | {"instruments": {"trace": False}})
    server = Served(Refusing("http://127.0.0.1:1"), 1, tmp_path / "there")
    run(tmp_path, rig=rig).take(server, ANSWERED)
    assert "instruments.trace is false" in (told(tmp_path) or "")


def verifies(verify_us: float = 5000.0) -> bytes:
    """Three cycles of a rank that does not name itself; the first kernel of a verify is as long as it is."""
    events = []
    for number in range(3):
        at = number * 7000.0
        events += [event("draft", "gpu_user_annotation", at, 300.0), kernel("draft", at, 250.0)]
        events += [step(at + 400, verify_us, kind="TARGET_VERIFY"), kernel("big", at + 400, verify_us)]
        extend = at + 500 + verify_us
        events += [event("draft_extend", "gpu_user_annotation", extend, 300.0), kernel("x", extend, 290.0)]
    return trace(events, rank=None)


def test_what_is_kept_is_read_again_and_compared_with_the_probe(tmp_path: Path) -> None:
    written = with_probe(tmp_path)
    kept(written, "trace.json", TAKEN)
    kept(written, f"profile/{FILE}", verifies())
    table = read(written)
    (verify,) = table.find(Phase.VERIFY, "trace")
    assert (verify.rank, verify.workload) == (0, "single")
    assert verify.mean_ms == pytest.approx(5.0)
    assert [(f.rank, f.file, f.steps) for f in table.traces] == [(0, f"launches/{NAME}/profile/{FILE}", 3)]
    assert "trace" not in table.unknown
    (agreement,) = (a for a in table.agreements if a.name.startswith("verify: probe, rank 0 against trace"))
    assert agreement.agrees
    assert table.graphs is None or any(r.source == "trace" for r in table.graphs.readings)
    assert read(written).model_dump_json() == table.model_dump_json()


def test_a_trace_that_disputes_the_probe_is_no_agreement(tmp_path: Path) -> None:
    written = with_probe(tmp_path)
    kept(written, "trace.json", TAKEN)
    kept(written, f"profile/{FILE}", verifies(verify_us=3000.0))
    assert [a.agrees for a in read(written).agreements if "verify: probe" in a.name] == [False]


@pytest.mark.parametrize(
    ("taken", "content", "why"),
    [
        (None, None, "no trace was taken: the launch broke off before"),
        (b"{", None, "no trace was taken"),
        (TAKEN, verifies()[:300], "torn"),
        (TAKEN, gzip.compress(b'{"traceEvents": []}', mtime=0), "no phase is marked"),
        (TAKEN, b"", "no traceEvents in it"),
        (TraceTaken(why="0 whole traces of 1 within 60 s").model_dump_json().encode(), None, "0 whole traces of 1"),
        (
            TraceTaken(files={FILE: "99 bytes, more than the 32 MiB that are kept"}).model_dump_json().encode(),
            None,
            f"{FILE} was left behind: 99 bytes",
        ),
    ],
)  # fmt: skip
def test_a_trace_that_tells_nothing_says_why_and_harms_nothing_else(
    tmp_path: Path, taken: bytes | None, content: bytes | None, why: str
) -> None:
    written = with_probe(tmp_path)
    if taken is not None:
        kept(written, "trace.json", taken)
    if content is not None:
        kept(written, f"profile/{FILE}", content)
    table = read(written)
    assert why in table.unknown["trace"]
    assert table.find(Phase.VERIFY, "probe")


def test_only_launches_with_instruments_are_asked_for_a_trace(tmp_path: Path) -> None:
    assert "trace" not in read(folder(tmp_path, role="arm")).unknown
