"""What an instrumented launch brought home becomes a table, the same one each time it is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.session.generations import MS, generation
from tests.session.probe_lines import cycles, file
from tests.verdicts.evidence import make_launch
from tokgate.records import (
    EnvironmentTruth,
    Generation,
    Launch,
    LaunchEvidence,
    VariableState,
    VariableTruth,
)
from tokgate.records.phases import Phase, PhaseTable
from tokgate.records.redactor import Redactor
from tokgate.session.instrument_files import TIMER
from tokgate.session.run_folder import RunFolder, load_launch

NAME = "05-eagle3-2step-phases"
START = 1_000 * MS  # a generation takes 310 ms, a start every second


def start(batch: int, *, warmup: bool = False) -> Generation:
    made = generation(index=batch, warmup=warmup, launch=NAME)
    at = batch * START
    return made.model_copy(
        update={"sent_ns": at, "first_byte_ns": at + 10 * MS, "end_ns": at + 310 * MS, "chunk_ns": ()}
    )


def folder(
    path: Path,
    *,
    version: str = "0.5.23",
    timer: bool = False,
    role: str = "instrumented",
    schedulers: dict[int, str] | None = None,
) -> RunFolder:
    """A launch of one warm-up and two judged starts, nothing of a probe in it yet."""
    written = RunFolder(path, Redactor())
    evidence = make_launch((), id=NAME, arm="eagle3-2step", role="instrumented")
    assert evidence.server is not None
    line = evidence.server.line.model_copy(update={"environment": {TIMER: "1"} if timer else {}})
    server = evidence.server.model_copy(update={"sglang_version": version, "line": line})
    launch = Launch.model_validate({"id": NAME, "arm": "eagle3-2step", "role": role})
    rows = tuple(
        VariableTruth(pid=pid, process=name, variable="A", wanted="1", found="1", state=VariableState.PRESENT)
        for pid, name in (schedulers or {}).items()
    )
    truth = EnvironmentTruth(processes=(), rows=rows)
    written.write_launch(LaunchEvidence(launch=launch, server=server, environment=truth))
    written.append_generations(NAME, (start(0, warmup=True), start(1), start(2)))
    return written


def kept(written: RunFolder, name: str, content: bytes) -> None:
    written.write_bytes(f"launches/{NAME}/{name}", content)


def read(written: RunFolder) -> PhaseTable:
    table = load_launch(written.launch_folder(NAME)).phases
    assert table is not None
    return table


def with_probe(path: Path) -> RunFolder:
    """Calls of 99 ms in the warm-up and between the starts; of 5.0 and 5.2 ms in the starts themselves."""
    written = folder(path)
    odd = [*cycles(50 * MS, 5, verify_ms=99.0), *cycles(START + 500 * MS, 5, verify_ms=99.0)]
    lines = [*odd, *cycles(START + 10 * MS, 40), *cycles(2 * START + 10 * MS, 40, verify_ms=5.2)]
    kept(written, "probe/phases-7.jsonl", file(*lines))
    kept(written, "probe/left.json", b"{}")
    return written


def test_only_what_began_within_a_judged_start_counts(tmp_path: Path) -> None:
    table = read(with_probe(tmp_path))
    (verify,) = table.find(Phase.VERIFY, "probe")
    assert (verify.n, verify.workload, verify.concurrency, verify.rank) == (80, "single", 1, 0)
    assert verify.mean_ms == pytest.approx(5.1)
    assert [(s.batch, s.n, s.p50_ms, s.p95_ms) for s in verify.starts] == [
        (1, 40, 5.0, 5.0),
        (2, 40, 5.2, 5.2),
    ]
    assert verify.graph_share == 1.0
    (rest,) = table.find(Phase.REST, "probe")
    assert [round(s.p50_ms, 6) for s in rest.starts] == [0.45, 0.45]
    assert "probe" not in table.unknown


def test_reading_it_again_says_the_same_bit_for_bit(tmp_path: Path) -> None:
    written = with_probe(tmp_path)
    assert read(written).model_dump_json() == read(written).model_dump_json()
    text = (written.launch_folder(NAME) / "launch.json").read_text()
    assert json.loads(text)["phases"] is None


def test_the_host_may_count_its_time_from_another_moment(tmp_path: Path) -> None:
    written = folder(tmp_path)
    ahead = 5_000_000 * MS
    kept(written, "probe/phases-7.jsonl", file(*cycles(ahead + START + 10 * MS, 40)))
    kept(written, "probe/clock.json", json.dumps({"offset_ns": ahead, "within_ns": MS}).encode())
    assert read(written).find(Phase.VERIFY, "probe")[0].n == 40


def test_a_rank_each(tmp_path: Path) -> None:
    written = folder(tmp_path)
    for rank, ms in ((1, 5.5), (0, 5.0)):
        lines = cycles(START + 10 * MS, 30, verify_ms=ms)
        kept(written, f"probe/phases-{rank + 1}.jsonl", file(*lines, rank=rank))
    found = read(written).find(Phase.VERIFY, "probe")
    assert [(r.rank, r.mean_ms) for r in found] == [(0, 5.0), (1, 5.5)]


def test_a_rank_that_the_file_does_not_tell_is_its_process_name_and_a_silent_one_is_named(
    tmp_path: Path,
) -> None:
    written = folder(tmp_path, schedulers={11: "scheduler TP0", 12: "scheduler TP1", 13: "scheduler TP2"})
    for pid, ms in ((12, 5.5), (11, 5.0)):
        lines = cycles(START + 10 * MS, 30, verify_ms=ms)
        kept(written, f"probe/phases-{pid}.jsonl", file(*lines, rank=None, pid=pid))
    table = read(written)
    assert [(r.rank, r.mean_ms) for r in table.find(Phase.VERIFY, "probe")] == [(0, 5.0), (1, 5.5)]
    assert table.unknown["probe"] == "the scheduler of rank 2 (pid 13) has written no file"


def test_two_files_of_one_rank_are_kept_apart_and_say_so(tmp_path: Path) -> None:
    written = folder(tmp_path)
    for pid, ms in ((11, 5.0), (12, 5.5)):
        lines = cycles(START + 10 * MS, 30, verify_ms=ms)
        kept(written, f"probe/phases-{pid}.jsonl", file(*lines, rank=0, pid=pid))
    found = read(written).find(Phase.VERIFY, "probe")
    assert sorted(r.mean_ms for r in found) == [5.0, 5.5]
    assert len({r.rank for r in found}) == 2
    assert all(any("as another does" in w for w in r.warnings) for r in found)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "no scheduler has written a file of the probe (phases-PID.jsonl)"),
        (b"", "phases-7.jsonl is empty"),
        (b"\xff\x00 not json", "has no header"),
        (file(*cycles(START + 10 * MS, 3), mark="another/run"), "is of another run"),
        (file(hooked=[], missing=["sglang.a.B.verify"]), "it looked for sglang.a.B.verify"),
        (file(*cycles(50 * MS, 3)), "no call of it began within a judged start"),
    ],
)
def test_a_probe_that_tells_nothing_says_why(tmp_path: Path, content: bytes | None, why: str) -> None:
    written = folder(tmp_path)
    kept(written, "probe/left.json", b"{}")
    if content is not None:
        kept(written, "probe/phases-7.jsonl", content)
    table = read(written)
    assert why in table.unknown["probe"]
    assert not table.find(Phase.VERIFY, "probe")


def test_a_phase_that_no_judged_start_has_a_call_of_says_why(tmp_path: Path) -> None:
    """As where the disk was full after the first call of the first start."""
    written = folder(tmp_path)
    kept(written, "probe/left.json", b"{}")
    lines = [*cycles(50 * MS, 3), *cycles(START + 10 * MS, 1)[:1]]
    whole = file(*lines).splitlines(keepends=True)
    kept(written, "probe/phases-7.jsonl", b"".join(whole[: 1 + len(lines)]))
    table = read(written)
    assert {r.phase for r in table.readings if r.source == "probe"} == {Phase.DRAFT}
    assert table.unknown["probe"] == (
        "no call of verify, draft_extend began within a judged start of single; phases-7.jsonl: no end: the process "
        "was killed, its disk was full, or the file was cut"
    )


BROKEN = {"sglang.a.B.draft": "ImportError: cannot import name 'X'"}


def test_what_broke_while_hooking_is_told_where_nothing_was_hooked(tmp_path: Path) -> None:
    written = folder(tmp_path)
    kept(written, "probe/left.json", b"{}")
    kept(written, "probe/phases-7.jsonl", file(hooked=[], broken=BROKEN, failed="ValueError: no clock"))
    why = read(written).unknown["probe"]
    assert "the probe hooked nothing: ValueError: no clock" in why
    assert "sglang.a.B.draft (ImportError: cannot import name 'X')" in why


def test_what_broke_while_hooking_is_told_beside_what_was_hooked(tmp_path: Path) -> None:
    written = folder(tmp_path)
    kept(written, "probe/left.json", b"{}")
    hooked = ["verify sglang.a.B.verify", "draft_extend sglang.a.B.extend", "step sglang.a.B.step"]
    lines = [line for line in cycles(START + 10 * MS, 40) if '"draft"' not in line]
    kept(written, "probe/phases-7.jsonl", file(*lines, hooked=hooked, broken=BROKEN))
    table = read(written)
    assert "found nothing to hook for draft in SGLang 0.5.23" in table.unknown["probe"]
    assert "ImportError: cannot import name 'X'" in table.unknown["probe"]
    (verify,) = table.find(Phase.VERIFY, "probe")
    assert any("ImportError: cannot import name 'X'" in w for w in verify.warnings)


def test_a_version_without_plugins_is_named(tmp_path: Path) -> None:
    written = folder(tmp_path, version="0.5.9")
    kept(written, "probe/left.json", b"{}")
    assert "SGLang 0.5.9 is not supported" in read(written).unknown["probe"]
    assert "0.5.11" in read(written).unknown["probe"]


def test_files_that_stayed_behind_are_told_beside_those_that_came(tmp_path: Path) -> None:
    written = with_probe(tmp_path)
    kept(written, "probe/left.json", b'{"files": {"phases-8.jsonl": "99999999 bytes"}}')
    table = read(written)
    assert table.find(Phase.VERIFY, "probe")
    assert "phases-8.jsonl was left behind: 99999999 bytes" in table.unknown["probe"]


SCRAPE = """\
# TYPE sglang:forward_execution_seconds_total counter
sglang:forward_execution_seconds_total{{category="target_verify",tp_rank="0"}} {verify}
sglang:forward_execution_seconds_total{{category="eagle_draft",tp_rank="0"}} {draft}
sglang:forward_execution_seconds_total{{category="eagle_draft_extend",tp_rank="0"}} {extend}
# TYPE sglang:cuda_graph_passes_total counter
sglang:cuda_graph_passes_total{{mode="decode_cuda_graph",tp_rank="0"}} {passes}
"""


def test_the_device_timer_is_read_from_the_scrapes_around_a_workload(tmp_path: Path) -> None:
    written = folder(tmp_path, timer=True)
    before = SCRAPE.format(verify=9.0, draft=1.0, extend=1.0, passes=100)
    after = SCRAPE.format(verify=9.5, draft=1.025, extend=1.03, passes=200)
    kept(written, "metrics-single-before.prom", before.encode())
    kept(written, "metrics-single-after.prom", after.encode())
    table = read(written)
    (verify,) = table.find(Phase.VERIFY, "device-timer")
    assert verify.mean_ms == pytest.approx(5.0)
    assert (verify.n, verify.workload) == (100, "single")
    assert "device-timer" not in table.unknown


def test_a_scrape_that_is_missing_is_said_and_so_is_a_timer_that_was_not_asked_for(tmp_path: Path) -> None:
    assert (
        "a scrape of /metrics is missing" in read(folder(tmp_path / "a", timer=True)).unknown["device-timer"]
    )
    assert "not asked for" in read(folder(tmp_path / "b")).unknown["device-timer"]


def test_any_launch_tells_its_graphs_and_its_cycle_but_no_phase(tmp_path: Path) -> None:
    written = folder(tmp_path, role="arm")
    log = "".join(
        f"[2026-11-29 12:00:{n:02d}] Decode batch, #running-req: 1, #token: 99, token usage: 0.01, accept len: 1.85, "
        "cuda graph: True, gen throughput (token/s): 99.00, #queue-req: 0\n"
        for n in range(4)
    )
    kept(written, "server.log", log.encode())
    table = read(written)
    assert table.graphs is not None
    assert [(r.source, r.share, r.n) for r in table.graphs.readings] == [("decode-log", 1.0, 4)] * 2
    assert [r.concurrency for r in table.graphs.readings] == [1, None]
    assert {r.source for r in table.readings} == {"cycle"}
    assert table.unknown == {}
