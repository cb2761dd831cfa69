"""The folder a session leaves behind: everything needed to judge it again without a GPU.

run.json  rig.json  fingerprint.json  nccl-lint.json  slate-start.json  slate-end.json
sides.json                           the trees of SGLang that were made, where the session compares some
sampling.jsonl                       one decision of the stop rule a line
culprit.jsonl                        one decision of a search for the part of a change that costs a line
baselines/<identity>.json            copies of the baselines it was compared with
launches/<id>/launch.json            LaunchEvidence without generations and samples
launches/<id>/generations.jsonl      one Generation a line
launches/<id>/telemetry.jsonl        one TelemetryRow a line, from the first generation to the last
launches/<id>/bodies/NNNN.sse        raw responses
launches/<id>/server.log server_info.json metrics-before.prom metrics-after.prom
launches/<id>/probe/  metrics-<workload>-before.prom, -after.prom     of a launch with instruments
launches/<id>/trace.json  profile/   the same launch's traces, and under which load they were taken
launches/<id>/server-node1.log telemetry-node1.jsonl probe-node1/     of node 1, where a server runs over several hosts
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, RootModel, ValidationError

from tokgate.errors import UsageError
from tokgate.parsers.counter_checks import checked_again
from tokgate.records import (
    CleanSlate,
    Fingerprint,
    Generation,
    LaunchEvidence,
    Record,
    RunEvidence,
    RunInfo,
    SamplingStep,
)
from tokgate.records.fleet import FLEET, HOSTS
from tokgate.records.redactor import Redactor
from tokgate.records.side import SidesMade
from tokgate.records.telemetry import Curves, TelemetryRow
from tokgate.records.whole_file import naming, replace_file
from tokgate.rig.models import Rig
from tokgate.stats.samples import batch_samples, samples_of

from .long_texts import shortened, shortened_why
from .phase_table import phases_of
from .seen import seen
from .sides_file import SIDES, against_their_sides, check_bound

R = TypeVar("R", bound=BaseModel)
TELEMETRY = "telemetry.jsonl"
SAMPLING = "sampling.jsonl"
SEARCH = "culprit.jsonl"
SCHEMA_NUMBER = 1  # of run.json
_Row = RootModel[TelemetryRow]


class _TornLineError(UsageError):
    """One line of a file makes no sense; the others may be as they were written."""

    def where(self, folder: Path) -> str:
        """Return which line of which file of the launch in `folder` it is, and why, in words."""
        named = self.tried.removeprefix("reading ").removeprefix(f"{folder}/").rpartition(" as ")[0]
        return f"launches/{folder.name}/{named} cannot be read ({self.found})"


class RunFolder:
    """Writes atomically and redacted; a reader never meets half a file or a secret."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self.path = path
        self._redactor = redactor

    def launch_folder(self, launch_id: str) -> Path:
        folder = self.path / "launches" / launch_id
        (folder / "bodies").mkdir(parents=True, exist_ok=True)
        return folder

    def write_record(self, name: str, record: Record) -> None:
        self.write_text(name, record.model_dump_json(indent=1) + "\n")

    def write_json(self, name: str, value: Any) -> None:
        self.write_text(name, json.dumps(value, indent=1) + "\n")

    def write_text(self, name: str, text: str) -> None:
        self.write_bytes(name, self._redactor.clean(text).encode())

    def write_bytes(self, name: str, content: bytes) -> None:
        replace_file(self.path / name, content)

    def write_body(self, name: str, body: bytes) -> None:
        """Keep a raw response; it need not be text, so secrets are replaced byte by byte."""
        self.write_bytes(name, self._redactor.clean(body.decode("latin-1")).encode("latin-1"))

    def append_generations(self, launch_id: str, generations: tuple[Generation, ...]) -> None:
        """Appended as they come, so that a killed session keeps what it had measured."""
        lines = "".join(g.model_dump_json() + "\n" for g in generations)
        self._append(self.launch_folder(launch_id) / "generations.jsonl", lines)

    def append_sampling(self, step: SamplingStep) -> None:
        """Keep a decision before it is obeyed: a killed session leaves what it was about to do."""
        self._append(self.path / SAMPLING, step.model_dump_json() + "\n")

    def append_search(self, step: SamplingStep) -> None:
        """Keep what a search measures next, before it does."""
        self._append(self.path / SEARCH, step.model_dump_json() + "\n")

    def append_telemetry(self, launch_id: str, lines: str, name: str = TELEMETRY) -> None:
        """Append rows of telemetry, whole lines of JSON. OSError: the folder cannot be written."""
        self._append(self.launch_folder(launch_id) / name, lines)

    def _append(self, path: Path, lines: str) -> None:
        with naming(path), path.open("a", encoding="utf-8") as file:
            file.write(self._redactor.clean(lines))

    def write_launch(self, evidence: LaunchEvidence) -> None:
        """Write everything but generations (appended already) and what is computed: samples, windows, curves, phases."""
        computed = {"samples": (), "windows": (), "curves": Curves(), "phases": None}
        self.write_record(
            f"launches/{evidence.launch.id}/launch.json",
            evidence.model_copy(update={"generations": (), **computed}),
        )


def with_samples(evidence: LaunchEvidence) -> LaunchEvidence:
    """Compute the samples of a launch from its generations: one by one, then per barrier start."""
    judged = [g for g in evidence.generations if not g.warmup]
    samples = [sample for generation in judged for sample in samples_of(generation)]
    starts: dict[tuple[str, int], list[Generation]] = {}
    for generation in judged:
        starts.setdefault((generation.workload, generation.batch), []).append(generation)
    for together in starts.values():
        samples += batch_samples(together)
    return evidence.model_copy(update={"samples": tuple(samples)})


def load_launch(folder: Path) -> LaunchEvidence:
    """Read a launch back. UsageError names the file that cannot be read, or a folder of another launch.

    A line that makes no sense, torn by a full disk or a copy that broke off, is a fault of this launch alone: none of its
    generations, or rows of telemetry, is judged, and the other launches are.
    """
    evidence = shortened(_read(folder / "launch.json", LaunchEvidence))
    if evidence.launch.id != folder.name:
        raise UsageError(
            tried=f"reading the launch in {folder}",
            found=f"its launch.json is that of {evidence.launch.id!r}",
            do="the folder was renamed or copied: judge the run folder as it was written",
        )
    torn: list[str] = []
    try:
        generations = _generations(folder / "generations.jsonl")
    except _TornLineError as error:
        generations = ()
        torn.append(f"{error.where(folder)}: none of its generations is judged")
    try:
        windows, curves = seen(folder, generations, evidence.telemetry, load_telemetry)
    except _TornLineError as error:
        windows, curves = seen(folder, generations, evidence.telemetry, lambda _: ())
        torn.append(error.where(folder))
    evidence = evidence.model_copy(update={"faults": (*evidence.faults, *torn)})
    computed = {"windows": windows, "curves": curves}
    whole = with_samples(evidence.model_copy(update={"generations": generations, **computed}))
    return whole.model_copy(update={"phases": phases_of(folder, whole)})


def _generations(path: Path) -> tuple[Generation, ...]:
    # Only a newline ends a line here: what a server said may hold every other kind of line break.
    return tuple(
        shortened_why(_checked(_line(line, Generation, path, number)))
        for number, line in enumerate(_lines(path), start=1)
        if line.strip()
    )


def _checked(generation: Generation) -> Generation:
    """A folder may have been edited: what its counters contradict is found anew."""
    if generation.counters is None:
        return generation
    return generation.model_copy(update={"counters": checked_again(generation.counters)})


def load_telemetry(path: Path) -> tuple[TelemetryRow, ...]:
    """Read the rows of a launch, none where there is no file. UsageError: it, or a line of it, makes no sense."""
    # What follows the last newline is half a line of a session that was killed.
    lines = _lines(path)[:-1]
    return tuple(_line(line, _Row, path, n).root for n, line in enumerate(lines, start=1))


def load_sampling(path: Path) -> tuple[SamplingStep, ...]:
    """Read the decisions of the stop rule, none where there is no file. UsageError: a line of it makes no sense."""
    lines = _lines(path)[:-1]
    return tuple(_line(line, SamplingStep, path, n) for n, line in enumerate(lines, start=1))


def load_run(path: Path) -> tuple[RunEvidence, Rig]:
    """Read a run folder back. UsageError when it is not one, is damaged, or contradicts itself on `simulated`."""
    if not os.path.lexists(path / "run.json"):
        raise UsageError(
            tried=f"reading the run folder {path}",
            found="no run.json in it" if path.is_dir() else "no such folder",
            do=f"name the run itself: {path.resolve().parent}"
            if os.path.lexists(path.resolve().parent / "run.json")
            else "name a folder that a gate session wrote: `ls reports/` shows them; with none, run the gate first, e.g. `make gate`",
        )
    if os.path.lexists(path / FLEET):
        raise UsageError(
            tried=f"reading {path} as the run of one host",
            found="it is the run of several",
            do=f"name the part of one host: `ls {path / HOSTS}` shows them; `tokgate report {path}` judges all of it",
        )
    info = read_info(path)
    if info.schema_number != SCHEMA_NUMBER:
        raise UsageError(
            tried=f"reading the run folder {path}",
            found=f"run.json has schema_number {info.schema_number}, this tokgate reads {SCHEMA_NUMBER}",
            do="use the tokgate that wrote it",
        )
    launches = sorted(p for p in (path / "launches").glob("*") if os.path.lexists(p / "launch.json"))
    rig, sides = read_rig(path), _read_if_there(path / SIDES, SidesMade)
    check_bound(sides, path / SIDES, info.run_id, rig)
    evidence = RunEvidence(
        info=info,
        launches=against_their_sides((load_launch(folder) for folder in launches), sides),
        fingerprint=_read_if_there(path / "fingerprint.json", Fingerprint),
        slate_at_start=_read_if_there(path / "slate-start.json", CleanSlate),
        slate_at_end=_read_if_there(path / "slate-end.json", CleanSlate),
        sampling=load_sampling(path / SAMPLING),
        search=load_sampling(path / SEARCH),
        sides=sides,
    )
    if rig.simulated != evidence.info.simulated:
        raise UsageError(
            tried=f"reading the run folder {path}",
            found=f"run.json says simulated = {str(evidence.info.simulated).lower()}, rig.json the opposite",
            do="the folder was edited or put together from two runs: measure again",
        )
    return evidence, rig


def read_info(path: Path) -> RunInfo:
    """Read who a run is. UsageError: its run.json makes no sense."""
    return _read(path / "run.json", RunInfo)


def read_rig(path: Path) -> Rig:
    """Read the rig of a run folder. UsageError: its rig.json makes no sense."""
    return _read(path / "rig.json", Rig)


def _read_if_there(path: Path, kind: type[R]) -> R | None:
    return _read(path, kind) if os.path.lexists(path) else None


def _read(path: Path, kind: type[R]) -> R:
    return _parse(_text(path), kind, str(path))


def _lines(path: Path) -> list[str]:
    """Return what newlines part, "" behind the last one; [""] where there is no such file."""
    # A character torn apart becomes a backslash and an x, which no JSON holds: its line alone makes no sense.
    return _text(path, errors="backslashreplace").split("\n") if os.path.lexists(path) else [""]


def _text(path: Path, *, errors: str = "strict") -> str:
    """Return the text of a regular file. UsageError for everything else: a pipe would be waited for for ever."""
    try:
        text = path.read_text(encoding="utf-8", errors=errors) if stat.S_ISREG(path.stat().st_mode) else None
        why: object = "it is no regular file"
    except OSError as error:
        text, why = None, (error.strerror or str(error)).lower()
    except UnicodeDecodeError as error:
        text, why = None, error
    if text is None:
        raise UsageError(
            tried=f"reading {path}", found=str(why), do="use a run folder that is complete and readable"
        )
    return text


def _parse(text: str, kind: type[R], where: str) -> R:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(
            tried=f"reading {where} as {kind.__name__}",
            found=f"{'.'.join(str(part) for part in first['loc']) or 'the text'}: {first['msg']}",
            do="the folder is damaged or from another version of tokgate: measure again",
        ) from error


def _line(text: str, kind: type[R], path: Path, number: int) -> R:
    try:
        return _parse(text, kind, f"{path}, line {number}")
    except UsageError as error:
        raise _TornLineError(tried=error.tried, found=error.found, do=error.do) from error
