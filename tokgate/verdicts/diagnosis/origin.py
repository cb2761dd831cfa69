"""What has changed of tree and machine since what is compared with was stored; without a baseline, whether it is patched."""

from __future__ import annotations

from tokgate.records.record import Record
from tokgate.verdicts.baselines.staleness import staleness

from .case import Case

_TREE = "sglang."
_STALE = "stale baseline: "


class Origin(Record):
    """`tree`: SGLang differs from what was compared with, or is patched where nothing is; None: nobody could tell.

    `machine`: what else makes a baseline stale, one sentence each.
    """

    tree: bool | None
    words: tuple[str, ...] = ()
    machine: tuple[str, ...] = ()
    do: str | None = None
    against: str | None = None  # the baseline; None: there is none


def origin_of(case: Case) -> Origin:
    now = case.run.fingerprint
    facts = now.facts if now is not None else {}
    dirty = facts.get("sglang.dirty")
    stored = next((b for b in case.baselines.values() if b.fingerprint is not None), None)
    if stored is None or now is None:
        edited = None if dirty is None else dirty != "no"
        files = facts.get("sglang.changed")
        words = (f"SGLang is patched in place: {files or 'files not told'}",) if edited else ()
        return Origin(tree=edited, words=words)
    since = staleness(case.rig, stored.fingerprint, now)
    machine = tuple(w.removeprefix(_STALE) for w in since.warnings if f"({_TREE}" not in w)
    return Origin(tree=since.tree, words=since.evidence, machine=machine, do=since.do, against=stored.name)
