"""The rig's NCCL settings, judged on the host that will run them, before its first server."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.errors import BenchFault
from tokgate.hosts.connection import Host
from tokgate.hosts.nccl_sources import nccl_sources
from tokgate.records import Finding, Fingerprint
from tokgate.records.nccl import NcclLint, NcclLintReport
from tokgate.rig.models import Rig
from tokgate.rig.spelling import spell
from tokgate.server.nccl_lint import lint_nccl


def judge_nccl(host: Host, rig: Rig, found: Fingerprint) -> NcclLintReport:
    """Judge with the versions installed there, and with what answers besides the environment. Never raises."""
    nccl, sglang = _installed(found.facts.get("package.nccl")), found.facts.get("sglang.version")
    # Where one GPU or none is used, nobody asks NCCL anything.
    sources = nccl_sources(host, rig) if rig.gpus.count > 1 else None
    findings = lint_nccl(rig, nccl=nccl, sglang=sglang, sources=sources)
    return NcclLintReport(nccl=nccl, sglang=sglang, findings=findings, sources=sources)


def told(report: NcclLintReport) -> Iterator[str]:
    """Yield one line per finding that matters, for whoever watches the session begin; notes are counted."""
    for finding in report.findings:
        if finding.severity != "note":
            yield f"NCCL settings, {finding.severity}: {_sentence(finding)}"
    if notes := sum(f.severity == "note" for f in report.findings):
        yield f"NCCL settings: {notes} note{'' if notes == 1 else 's'}, kept in nccl-lint.json"
    for unread in report.sources.unread if report.sources else ():
        yield f"NCCL settings, not looked at: {unread.text} ({unread.why})"


def with_notes(found: Fingerprint, report: NcclLintReport) -> Fingerprint:
    """Put the warnings among the fingerprint's notes: what will not happen as written must be seen later too."""
    known = [note.what for note in found.notes]
    there = [*(f.path for f in report.sources.files), *report.sources.plugins] if report.sources else []
    # A file that the fingerprint's own notes name already is not named twice.
    named = [path for path in there if any(path in what for what in known)]
    notes = [
        Finding(severity="note", what=f"NCCL settings: {_sentence(f)}", do=f.do)
        for f in report.findings
        if f.severity == "warning" and not any(path in f.what for path in named)
    ]
    return found.model_copy(update={"notes": (*found.notes, *(n for n in notes if n.what not in known))})


def refuse_broken(report: NcclLintReport) -> None:
    """Raise BenchFault where NCCL would not come up. What needs no host to see was refused with the rig."""
    broken = [f for f in report.findings if f.severity == "error"]
    if broken:
        raise BenchFault(
            tried=f"judge the rig's NCCL settings (NCCL {report.nccl or 'of unknown version'},"
            f" SGLang {report.sglang or 'of unknown version'}) before the first server",
            found="; ".join(_sentence(f) for f in broken),
            do="; ".join(dict.fromkeys(f.do for f in broken)),
        )


def _sentence(finding: NcclLint) -> str:
    value = "" if finding.value is None else f"={spell(finding.value)}"
    return f"{finding.variable}{value}: {finding.what}"


def _installed(fact: str | None) -> str | None:
    """Read the version in "nvidia-nccl-cu13 2.30.7"; of two packages nobody knows which one is loaded."""
    versions = {words.split()[-1] for words in (fact or "").split(", ") if words.split()[1:]}
    (only,) = versions if len(versions) == 1 else (None,)
    return only if only and only[0].isdigit() else None
