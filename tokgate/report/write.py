"""The files a person, a CI system and other programs read, written into the run folder."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from tokgate.records import RunEvidence, Verdict
from tokgate.records.secret_shapes import without_known_shapes
from tokgate.records.whole_file import replace_file
from tokgate.rig.models import Rig

from . import benchmark_json, html_section, summary_md, verdict_json
from .conclusion import SessionEnd
from .verdict_file import VerdictFile

LATEST = "latest"


def write_all(
    folder: Path,
    evidence: RunEvidence,
    verdicts: Sequence[Verdict],
    rig: Rig,
    *,
    end: SessionEnd | None = None,
    page: bool = True,
    into: Path | None = None,
) -> VerdictFile:
    """Write verdict.json, verdicts.json, benchmark.json, summary.md and, unless told not to, report.html.

    They go into the run folder itself, or `into` a folder below it. Every file is replaced in one step, so that a reader never meets half of one. Under pytest,
    pytest-html writes its report.html over ours afterwards. Raises OSError.
    """
    file = verdict_json.build(evidence, verdicts, rig, end=end, folder=folder)
    write_files(folder, file, evidence, verdicts, rig, page=page, into=into)
    return file


def write_files(
    folder: Path,
    file: VerdictFile,
    evidence: RunEvidence,
    verdicts: Sequence[Verdict],
    rig: Rig,
    *,
    page: bool = True,
    into: Path | None = None,
) -> None:
    """Write the files of a report that has been built. Raises OSError."""
    target = into or folder
    _write(target / "verdicts.json", _raw(verdicts))
    _write(target / "verdict.json", verdict_json.dump(file))
    _write(target / "benchmark.json", benchmark_json.dump(benchmark_json.benchmark_file(evidence, rig)))
    _write(target / "summary.md", summary_md.render(file, folder.as_posix()))
    if page:
        back = "../" * len(target.relative_to(folder).parts)
        _write(target / "report.html", html_section.page(file, evidence, folder, link_base=back))


def point_latest(folder: Path) -> None:
    """Make `latest` beside `folder` point to it, unless it already points to a newer run.

    Run folders begin with their time, so names sort by age. What stands at `latest` without being
    a symbolic link is left alone. Raises OSError.
    """
    link = folder.parent / LATEST
    if link.is_symlink():
        now = link.readlink().name
        if now > folder.name and (folder.parent / now).is_dir():
            return
    elif link.exists():
        return
    # There is no atomic way to change a symbolic link but to rename a new one over it.
    temporary = folder.parent / f".{LATEST}.{os.getpid()}"
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(folder.name, target_is_directory=True)
    temporary.replace(link)


def _raw(verdicts: Sequence[Verdict]) -> str:
    return json.dumps([v.model_dump(mode="json") for v in verdicts], indent=1) + "\n"


def _write(target: Path, text: str) -> None:
    # A session writes nothing unredacted; a folder that comes from elsewhere may not have been its work.
    # Lone surrogates cannot be encoded; what escaped `visible` must not cost the report.
    replace_file(target, without_known_shapes(text).encode("utf-8", "replace"))
