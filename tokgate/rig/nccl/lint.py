"""What reading NCCL's variables tells before a GPU is touched."""

from __future__ import annotations

from collections.abc import Mapping

from tokgate.records.nccl import NcclLint

from .answers import answers
from .buffers import buffers, threads
from .channels import channels
from .choices import selected
from .integers import integers
from .levels import levels
from .names import names, spelled
from .settings import Rule, Settings
from .speaking import speaking
from .transports import transports
from .versions import JUDGED, REFERENCE, Version, spell_range

RULES: tuple[Rule, ...] = (
    names,
    spelled,
    selected,
    levels,
    integers,
    buffers,
    threads,
    channels,
    transports,
    answers,
    speaking,
)
_ORDER = ("error", "warning", "note")


def lint_variables(
    variables: Mapping[str, str], version: Version | None = None, *, nodes: int = 1
) -> tuple[NcclLint, ...]:
    """Judge NCCL variables as `version` of NCCL reads them, worst first. Never raises, whatever the values.

    Without a version they are judged as REFERENCE reads them. Where that has nothing to say, what other versions
    do is added with the versions named: newer ones as warnings at most, older ones as notes.
    """
    if version is not None:
        return _sorted(_once(variables, version, nodes))
    by_version = {v: _once(variables, v, nodes) for v in JUDGED}
    findings = list(by_version[REFERENCE])
    settled = {f.variable for f in findings if f.severity != "note"}
    seen = {_key(f) for f in findings}
    for finding in (f for v in JUDGED for f in by_version[v]):
        if _key(finding) in seen or finding.variable in settled:
            continue
        seen.add(_key(finding))
        same = tuple(v for v in JUDGED if _key(finding) in {_key(f) for f in by_version[v]})
        findings.append(_elsewhere(finding, same))
    return _sorted(findings)


def _once(variables: Mapping[str, str], version: Version, nodes: int) -> list[NcclLint]:
    settings = Settings(variables, version, nodes)
    return list(dict.fromkeys(finding for rule in RULES for finding in rule(settings)))


def _elsewhere(finding: NcclLint, versions: tuple[Version, ...]) -> NcclLint:
    """What a version would do that may not be installed refuses nothing; an older one is only worth a note."""
    newer = versions[-1] > REFERENCE
    severity = "warning" if newer and finding.severity != "note" else "note"
    return finding.model_copy(
        update={"severity": severity, "what": f"{spell_range(versions)}: {finding.what}"}
    )


def _key(finding: NcclLint) -> tuple[str, str]:
    return finding.variable, finding.what


def _sorted(findings: list[NcclLint]) -> tuple[NcclLint, ...]:
    return tuple(sorted(findings, key=lambda f: _ORDER.index(f.severity)))
