"""Readings of the probe on every node of a server: a rank of a further node is a rank like any other."""

from __future__ import annotations

from pathlib import Path

from tokgate.records import LaunchEvidence

from .instrument_files import probe_folder
from .probe_table import ProbeTold, read_probe


def read_probe_everywhere(folder: Path, evidence: LaunchEvidence, load: dict[str, int]) -> ProbeTold:
    """Return what `read_probe` tells of all nodes; what the probe costs is told by node 0's. Never raises on odd input."""
    told = read_probe(folder / probe_folder(0), _on(evidence, 0), load)
    for run in evidence.server.nodes if evidence.server is not None else ():
        there = read_probe(folder / probe_folder(run.node), _on(evidence, run.node, run.mark), load)
        whys = [told.why, f"node {run.node}: {there.why}" if there.why is not None else None]
        told = told._replace(
            readings=(*told.readings, *there.readings), why="; ".join(why for why in whys if why) or None
        )
    return told


def _on(evidence: LaunchEvidence, node: int, mark: str | None = None) -> LaunchEvidence:
    """Return the evidence with the processes of one node alone, and their mark: a pid means something there only."""
    truth = evidence.environment
    if truth is None or (evidence.server is not None and not evidence.server.nodes):
        return evidence
    rows = tuple(row for row in truth.rows if row.node == node)
    processes = tuple(process for process in truth.processes if process.node == node)
    server = evidence.server
    if mark is not None and server is not None:
        server = server.model_copy(update={"mark": mark})
    told = truth.model_copy(update={"rows": rows, "processes": processes})
    return evidence.model_copy(update={"environment": told, "server": server})
