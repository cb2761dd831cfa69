from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.session.generations import generation
from tests.session.rigs import small_rig
from tokgate.errors import UsageError
from tokgate.records import CleanSlate, Fingerprint, Generation, Launch, LaunchEvidence, RunInfo
from tokgate.records.redactor import Redactor
from tokgate.session.run_folder import RunFolder, load_run
from tokgate.verdicts.launch_faults import launch_faults

LAUNCH = Launch(id="01-baseline", arm="baseline", role="control")
INFO = RunInfo(
    run_id="20261129T120000-small",
    rig="small",
    simulated=False,
    started_at="2026-11-29T12:00:00+00:00",
    command="pytest perf_tests -m eagle3",
    selection="perf_tests -m eagle3",
    tokgate_version="0.1.0",
)


def written(path: Path, redactor: Redactor | None = None) -> RunFolder:
    folder = RunFolder(path, redactor or Redactor())
    folder.write_record("run.json", INFO)
    folder.write_record("rig.json", small_rig())
    folder.write_record("fingerprint.json", Fingerprint(facts={"host.kernel": "6.1", "driver": None}))
    folder.write_record("slate-start.json", CleanSlate(when="session start", host="local"))
    return folder


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    folder = written(tmp_path)
    generations = tuple(generation(index=i) for i in range(3))
    folder.write_launch(LaunchEvidence(launch=LAUNCH))
    folder.append_generations(LAUNCH.id, generations[:1])
    folder.append_generations(LAUNCH.id, generations[1:])

    evidence, rig = load_run(tmp_path)

    assert rig == small_rig()
    assert evidence.info == INFO
    assert evidence.launches[0].generations == generations
    assert evidence.slate_at_end is None
    assert evidence.fingerprint is not None
    assert evidence.fingerprint.facts["driver"] is None


def test_samples_are_recomputed_and_leave_out_warm_up_and_failures(tmp_path: Path) -> None:
    folder = written(tmp_path)
    folder.write_launch(LaunchEvidence(launch=LAUNCH))
    folder.append_generations(
        LAUNCH.id,
        (generation(index=0, warmup=True), generation(index=1), generation(index=2, status="cut")),
    )
    samples = load_run(tmp_path)[0].launches[0].samples
    assert {s.index for s in samples if s.metric == "decode_tok_s"} == {1}


def test_a_secret_never_reaches_the_folder(tmp_path: Path) -> None:
    redactor = Redactor()
    redactor.add("s3cret-key-0123456789")
    folder = written(tmp_path, redactor)
    folder.write_launch(LaunchEvidence(launch=LAUNCH, notes=("it said s3cret-key-0123456789",)))
    folder.append_generations(LAUNCH.id, (generation(index=0, why="s3cret-key-0123456789", status="cut"),))
    folder.write_body("launches/01-baseline/bodies/0000.sse", b"\xff\x00 s3cret-key-0123456789 \xfe")
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert len(files) >= 7
    assert not [p for p in files if b"s3cret-key-0123456789" in p.read_bytes()]
    assert (tmp_path / "launches/01-baseline/bodies/0000.sse").read_bytes()[:2] == b"\xff\x00"


def test_a_folder_that_is_no_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no run\.json"):
        load_run(tmp_path)
    with pytest.raises(UsageError, match="no such folder"):
        load_run(tmp_path / "gone")


@pytest.mark.parametrize("damage", ["{", "{}", "\ufeffnull"])
def test_a_damaged_record_names_the_file(tmp_path: Path, damage: str) -> None:
    written(tmp_path).write_text("rig.json", damage)
    with pytest.raises(UsageError, match=r"rig\.json as Rig"):
        load_run(tmp_path)


@pytest.mark.parametrize("torn", [b'{"request_id": "x"', b'{"request_id": "\xe2\x82', b"\x00" * 40])
@pytest.mark.parametrize("file", ["generations", "telemetry"])
def test_a_torn_line_is_a_fault_of_its_launch_alone(tmp_path: Path, file: str, torn: bytes) -> None:
    folder = written(tmp_path)
    other = LAUNCH.model_copy(update={"id": "02-baseline"})
    for launch in (LAUNCH, other):
        folder.write_launch(LaunchEvidence(launch=launch))
        folder.append_generations(launch.id, (generation(index=0),))
        folder.append_telemetry(launch.id, '{"kind":"host","at_ns":5,"load1":0.5}\n')
    with (tmp_path / f"launches/01-baseline/{file}.jsonl").open("ab") as kept:
        kept.write(torn + b"\n")

    broken, whole = load_run(tmp_path)[0].launches
    (fault,) = broken.faults
    assert f"launches/01-baseline/{file}.jsonl, line 2 cannot be read (" in fault
    assert any(fault in one.what for one in launch_faults(broken.model_copy(update={"server": None})))
    if file == "generations":
        assert broken.generations == ()
        assert broken.samples == ()
    assert whole.faults == ()
    assert len(whole.generations) == 1
    assert whole.samples


def test_a_folder_that_contradicts_itself_on_simulated_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path)
    folder.write_record("run.json", INFO.model_copy(update={"simulated": True}))
    with pytest.raises(UsageError, match=r"run\.json says simulated = true, rig\.json the opposite"):
        load_run(tmp_path)


@pytest.mark.parametrize("line_break", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_what_a_server_said_may_hold_every_other_line_break(tmp_path: Path, line_break: str) -> None:
    folder = written(tmp_path)
    folder.write_launch(LaunchEvidence(launch=LAUNCH))
    said = tuple(generation(index=i, status="cut", why=f"HTTP 500: a{line_break}b") for i in range(2))
    folder.append_generations(LAUNCH.id, said)

    assert load_run(tmp_path)[0].launches[0].generations == said


def _as_folder(path: Path) -> None:
    path.mkdir()


def _as_pipe(path: Path) -> None:
    os.mkfifo(path)


def _as_loop(path: Path) -> None:
    path.symlink_to(path.name)


def _as_bytes(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\n")


_LINES = ("launches/01-baseline/generations.jsonl", "launches/01-baseline/telemetry.jsonl")
_RECORDS = ("launches/01-baseline/launch.json", "fingerprint.json", "run.json")


@pytest.mark.parametrize(
    ("name", "put"),
    [(name, put) for name in (*_LINES, *_RECORDS) for put in (_as_folder, _as_pipe, _as_loop)]
    + [(name, _as_bytes) for name in _RECORDS],
)
def test_what_is_no_file_of_text_is_refused_by_name(
    tmp_path: Path, name: str, put: Callable[[Path], None]
) -> None:
    """A pipe in its place would be waited for for ever."""
    folder = written(tmp_path)
    folder.write_launch(LaunchEvidence(launch=LAUNCH))
    (tmp_path / name).unlink(missing_ok=True)
    put(tmp_path / name)
    with pytest.raises(UsageError) as raised:
        load_run(tmp_path)
    assert name in raised.value.tried


@pytest.mark.parametrize(
    "key", ["sent_ns", "end_ns", "chunk_ns", "asked_tokens", "batch", "completion_tokens"]
)
def test_a_number_that_no_clock_or_counter_holds_is_judged_of_no_launch(tmp_path: Path, key: str) -> None:
    folder = written(tmp_path)
    folder.write_launch(LaunchEvidence(launch=LAUNCH))
    line: dict[str, Any] = json.loads(generation(index=0).model_dump_json())
    holder = line["counters"] if key in line["counters"] else line
    holder[key] = [10**400] if isinstance(holder[key], list) else 10**400
    (folder.launch_folder(LAUNCH.id) / "generations.jsonl").write_text(f"{json.dumps(line)}\n")
    (launch,) = load_run(tmp_path)[0].launches
    assert not launch.generations
    assert "generations.jsonl, line 1 cannot be read (" in launch.faults[0]


def test_a_generation_that_ends_before_it_was_sent_is_a_window_of_no_length(tmp_path: Path) -> None:
    folder = written(tmp_path)
    folder.write_launch(LaunchEvidence(launch=LAUNCH))
    folder.append_generations(LAUNCH.id, (generation(index=0).model_copy(update={"sent_ns": 2**62}),))
    folder.append_telemetry(LAUNCH.id, '{"kind":"host","at_ns":5,"load1":0.5}\n')
    (window,) = load_run(tmp_path)[0].launches[0].windows
    assert (window.start_ns, window.end_ns) == (2**62, 2**62)
    assert window.host_unknown == "no rows around it"


def test_a_folder_that_holds_another_launch_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path)
    folder.write_launch(LaunchEvidence(launch=LAUNCH))
    shutil.copytree(tmp_path / "launches/01-baseline", tmp_path / "launches/14-baseline-restart-1")

    with pytest.raises(UsageError) as error:
        load_run(tmp_path)
    assert "14-baseline-restart-1" in error.value.tried
    assert error.value.found == "its launch.json is that of '01-baseline'"
    assert "renamed or copied" in error.value.do


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"decode_throughput": 0.6}, "decode_throughput 0.6, (tokens - 1) / (e2e - first token)"),
        ({"e2e_latency_s": -1.0}, "e2e_latency is -1"),
        ({"spec": {"accept_length": 100.0, "verify_ct": 2}}, "spec_accept_length 100, tokens / verify calls"),
        ({"spec": {"verify_ct": 2**62}}, f"{2**62} verify calls for"),
    ],
)
def test_counters_edited_in_a_folder_contradict_each_other_again(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    folder = written(tmp_path)
    folder.write_launch(LaunchEvidence(launch=LAUNCH))
    kept = json.loads(generation(index=0).model_dump_json())
    kept["counters"] = {"first_token_latency_s": 0.1, "e2e_latency_s": 1.0, **kept["counters"], **change}
    folder.append_generations(LAUNCH.id, (Generation.model_validate(kept),))
    (launch,) = load_run(tmp_path)[0].launches

    counters = launch.generations[0].counters
    assert counters is not None
    assert any(words in found for found in counters.contradictions)
    assert {s.value for s in launch.samples if s.metric == "decode_tok_s"} == {None}


@pytest.mark.parametrize("limit", ["-5.0", "0.0", "Infinity"])
def test_a_rig_with_a_limit_that_is_none_is_refused_by_name(tmp_path: Path, limit: str) -> None:
    written(tmp_path)
    file = tmp_path / "rig.json"
    file.write_text(
        file.read_text().replace(
            '"budgets": []', f'"budgets": [{{"metric": "decode_tok_s", "at_least": {limit}}}]'
        )
    )

    with pytest.raises(UsageError) as error:
        load_run(tmp_path)
    assert "rig.json" in error.value.tried
    assert error.value.found.startswith("budgets.0.at_least: Input should be ")


def test_a_text_of_megabytes_is_cut_where_it_is_read_and_says_so(tmp_path: Path) -> None:
    """Every verdict of the launch would repeat it."""
    folder = written(tmp_path)
    folder.write_launch(LaunchEvidence(launch=LAUNCH, faults=("broken " * 800_000,), notes=("short",)))
    folder.append_generations(LAUNCH.id, (generation(index=0, status="cut", why="x" * 5_000_000),))
    (launch,) = load_run(tmp_path)[0].launches
    assert len(launch.faults[0]) < 5000
    assert launch.faults[0].endswith("[cut here: 5,600,000 characters]")
    assert launch.notes == ("short",)
    assert len(launch.generations[0].why or "") < 5000


def test_a_file_that_is_missing_and_a_run_s_own_folder_are_named_in_words(tmp_path: Path) -> None:
    written(tmp_path)
    below = tmp_path / "rejudged-1"
    below.mkdir()
    with pytest.raises(UsageError) as refused:
        load_run(below)
    assert refused.value.do == f"name the run itself: {tmp_path}"
    (tmp_path / "rig.json").unlink()
    with pytest.raises(UsageError) as missing:
        load_run(tmp_path)
    assert missing.value.tried.endswith("rig.json")
    assert missing.value.found == "no such file or directory"


def test_a_signal_in_the_middle_of_a_file_leaves_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path)
    before = sorted(tmp_path.iterdir())

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    for step in ("chmod", "replace"):
        monkeypatch.setattr(Path, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            folder.write_text("note.txt", "x")
        monkeypatch.undo()
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_full_disk_is_named_with_the_file(tmp_path: Path) -> None:
    folder = written(tmp_path)
    (folder.launch_folder(LAUNCH.id) / "generations.jsonl").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as raised:
        folder.append_generations(LAUNCH.id, (generation(index=0),))
    assert str(raised.value.filename).endswith("launches/01-baseline/generations.jsonl")
