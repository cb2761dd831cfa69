"""What has changed about machine and tree since a baseline was stored, and its age, told before any number is.

Facts are those of a Fingerprint (tokgate/hosts/fingerprint.py). They inform: a changed tree is what the gate
is there to judge, so no outcome depends on them. Age does where the rig says so (`baselines.expired`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from tokgate.records import Difference, Fingerprint
from tokgate.records.record import Record
from tokgate.rig.models import Rig
from tokgate.verdicts.run_again import measure

from .expiry import Expiry, expired
from .identity import differences
from .portable import comparable

Facts = Mapping[str, str | None]

# In the order in which they are told: which facts -> what a headline says has happened, what a warning says.
# Where SGLang lies and how many files differ describe the tree; they alone do not make another one of it.
_KINDS: tuple[tuple[str, str, str], ...] = (
    (r"host\.boot_id", "the machine was booted", "the machine was booted since"),
    (r"gpu\.driver|gpu\.\d+\.driver_version", "the driver has changed", "another driver"),
    (r"sglang\.commit", "the tree has changed", "another commit of SGLang"),
    (
        r"sglang\.(?!commit|location|install|changed|version).+",
        "the tree has changed",
        "other edits in SGLang",
    ),
    (r"package\..+", "a library has changed", "another library"),
)
_TREE = "the tree has changed"
# Against the stale baseline the run that is to replace it ended regressed: that is the doubt to be overruled.
_STORE = 'tokgate baseline update RUN --replace --despite-doubts --why "…"'
_EXPLAIN = (
    "look at acceptance, cycle time and the twin of this session: it is explained before anything is stored"
)
_DESCRIBES_TREE = "sglang.changed"
_UNREAD_TREE = "sglang"  # among the facts only where nothing at all could be read of SGLang


# Every verdict on a number carries them, and every report every verdict; a machine of eight GPUs has some 250 facts.
MOST_TOLD = 300


class Staleness(Record):
    """`differs` has the differing facts, what makes a baseline stale first; beyond `MOST_TOLD` their number."""

    differs: tuple[Difference, ...] = ()
    warnings: tuple[str, ...] = ()
    since: str | None = None  # "the machine was booted and the tree has changed since it was stored: …"
    evidence: tuple[str, ...] = ()  # about the tree: which facts, which files
    tree: bool = False  # whether the tree is among what has changed
    beside: str | None = (
        None  # the same for a number that is no loss: what it was stored from or has happened since
    )
    do: str | None = None  # how to confirm
    do_first: str | None = None  # the same for a loss that is not to be stored before it is explained
    expiry: Expiry | None = None  # None: it is young enough, or nobody asked


def staleness(
    rig: Rig,
    before: Fingerprint | None,
    now: Fingerprint | None,
    *,
    stored: str | None = None,
    at: str | None = None,
) -> Staleness:
    """Compare the machine of a baseline with that of a run; nothing is known where one of them is missing.

    `stored` and `at`: when the baseline was stored and the run's server started. One that has expired says that first.
    """
    found = _of_facts(rig, before, now)
    old = expired(rig, stored, at) if stored is not None else None
    if old is None:
        return found
    return found.model_copy(
        update={
            "expiry": old,
            "warnings": (f"stale baseline: {old.words}", *found.warnings),
            "since": f"{old.words}; {found.since}" if found.since is not None else old.words,
            "beside": f"{old.words}; {found.beside}" if found.beside is not None else old.words,
            "do": found.do or old.do,
            "do_first": found.do_first or f"it is explained before anything is stored; {old.do}",
        }
    )


def _of_facts(rig: Rig, before: Fingerprint | None, now: Fingerprint | None) -> Staleness:
    if before is None or now is None:
        return Staleness()
    then, today = comparable(before.facts, now.facts, rig.checkout)
    every = sorted(differences(then, today), key=lambda d: (_place(d.key), d.key))
    found = every[:MOST_TOLD]
    # A fact that one side never asked for tells of another tokgate, or of a portable baseline, not of a change.
    stale = [d for d in found if _place(d.key) < len(_KINDS) and d.key in then and d.key in today]
    words: dict[str, bool] = {}  # what has happened -> whether it is certain
    for d in stale:
        what = _KINDS[_place(d.key)][1]
        words[what] = words.get(what, False) or None not in (d.before, d.now)
    if _UNREAD_TREE in then or _UNREAD_TREE in today:
        words.setdefault(_TREE, False)
    tree = _TREE in words
    dos = (_with_a_clean_tree if tree else _with_this_machine) if words else None
    return Staleness(
        differs=(*found, *_untold(len(every) - len(found))),
        warnings=tuple(
            f"stale baseline: {_KINDS[_place(d.key)][2]} "
            f"({d.key}: {d.before or 'unknown'} then, {d.now or 'unknown'} now)"
            for d in stale
        ),
        since=_sentence(words, before.facts, now.facts) if words else None,
        evidence=_about_the_tree(before.facts, now.facts) if tree else (),
        tree=tree,
        beside=_beside(words, before.facts) if words else None,
        do=dos(rig, before.facts, now.facts, explained=True) if dos else None,
        do_first=dos(rig, before.facts, now.facts, explained=False) if dos else None,
    )


def mixed(rig: Rig, one: Fingerprint | None, other: Fingerprint | None) -> tuple[str, ...]:
    """Return what keeps two runs from being one baseline: another driver, tree or library. Another boot does not."""
    if one is None or other is None:
        return ()
    then, today = comparable(one.facts, other.facts, rig.checkout)
    return tuple(
        f"{_KINDS[_place(d.key)][2]} ({d.key}: {d.before or 'unknown'} and {d.now or 'unknown'})"
        for d in differences(then, today)
        if 0 < _place(d.key) < len(_KINDS) and d.key in then and d.key in today
    )


def _untold(number: int) -> tuple[Difference, ...]:
    if not number:
        return ()
    return (
        Difference(key="…", before=f"and {number} more facts differ", now="compare fingerprint.json by hand"),
    )


def _place(key: str) -> int:
    return next((i for i, (pattern, _, _) in enumerate(_KINDS) if re.fullmatch(pattern, key)), len(_KINDS))


def _sentence(words: Mapping[str, bool], before: Facts, now: Facts) -> str:
    tail = f": {_confirmation(before, now)}" if _TREE in words else ""
    return f"{_happened(words)}{tail}"


def _beside(words: Mapping[str, bool], before: Facts) -> str:
    return "it was stored from a patched tree" if _TREE in words and _edited(before) else _happened(words)


def _happened(words: Mapping[str, bool]) -> str:
    told = [
        what if sure else what.replace("has changed", "may have changed").replace("was", "may have been")
        for what, sure in words.items()
    ]
    listed = told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
    return f"{listed} since it was stored"


def _confirmation(before: Facts, now: Facts) -> str:
    if _edited(now) is not False:
        return "confirm with a clean tree"
    return "it was stored from a patched one" if _edited(before) else "confirm with the tree of then"


def _edited(facts: Facts) -> bool | None:
    """Say whether SGLang differs from what was installed or committed; None where nobody could tell."""
    dirty = facts.get("sglang.dirty")
    return None if dirty is None else dirty != "no"


def _about_the_tree(before: Facts, now: Facts) -> tuple[str, ...]:
    lines = [
        _state(now, "the tree", "is", "matches"),
        _state(before, "the tree of the baseline", "was", "matched"),
    ]
    lines += [
        f"{key}: {before.get(key) or 'unknown'} then, {now.get(key) or 'unknown'} now"
        for key in ("sglang.commit", "sglang.version", "sglang.install")
        if before.get(key) != now.get(key)
    ]
    return tuple(lines)


def _state(facts: Facts, subject: str, verb: str, matches: str) -> str:
    edited, installed = _edited(facts), facts.get("sglang.install") == "wheel"
    if edited is None:
        return f"{subject}: nobody could tell whether it {verb} as installed or committed"
    if not edited:
        return f"{subject} {matches} {'its RECORD' if installed else 'its commit'}"
    count, _, names = (facts.get(_DESCRIBES_TREE) or "").partition(": ")
    files = f"{count} file{'' if count == '1' else 's'}: {names}" if names else "files not told"
    if installed:
        return f"{subject} {verb} patched in place, it does not match its RECORD: {files}"
    return f"{subject} {verb} edited beyond its commit: {files}"


def _with_a_clean_tree(rig: Rig, before: Facts, now: Facts, *, explained: bool) -> str:
    """Return the command that gets a clean tree, and what its result will mean."""
    if rig.sides is not None:
        return (
            "its base ran beside it: the verdict on the change (patch) tells what the change costs; what the base itself lies below "
            "the stored number was lost before it, or by the machine: tokgate history "
            f"{shlex.quote(rig.name)} tells since when"
        )
    commit = before.get("sglang.commit")
    if _edited(now) is False and _edited(before):
        if explained:
            return f"store it anew from this tree, which is clean: {_STORE}"
        return f"this tree is clean, so no patch is to blame: {_EXPLAIN}"
    fact = f"{_by_how_much(now)} since the baseline, which is what a patch does"
    if now.get("sglang.commit") is not None and now.get("sglang.install") != "wheel":
        moved = commit is not None and commit != now.get("sglang.commit")
        sides = f"--base {shlex.quote(str(commit))}" if moved else "--instrumented"
        return (
            f"{fact}. Measure both sides in one session, the checkout untouched: {_again(rig, 'patch')} {sides}. Where the head is "
            "slower, the change of the tree cost it; where it is not, the number was lost before it, or by the machine: tokgate "
            f"history {shlex.quote(rig.name)} tells since when"
        )
    version = now.get("sglang.version") or "VERSION"
    clean = f"--rig-set server.python=PATH of a second environment with sglang=={version} as released"
    if not explained:
        return (
            f"{fact}. Run it beside its control with a clean tree ({clean}): {_again(rig, 'eagle3')}. "
            f"What comes back, the change of the tree cost; for what does not, {_EXPLAIN}"
        )
    return (
        f"{fact}. Measure the base in the same way with a clean tree ({clean}): {_again(rig, 'baseline')}. If the number "
        "comes back, the change of the tree cost it; if not, the baseline is stale: store that run of the base in its "
        "place (baseline update --replace --despite-doubts) and judge the patch against it"
    )


def _by_how_much(now: Facts) -> str:
    """Return "the tree differs by 2 files" where something counted them."""
    count = (now.get(_DESCRIBES_TREE) or "").partition(": ")[0]
    if _edited(now) and count.isdecimal():
        return f"the tree differs by {count} file{'' if count == '1' else 's'}"
    return "the tree differs"


def _with_this_machine(rig: Rig, before: Facts, now: Facts, *, explained: bool) -> str:  # noqa: ARG001 - as above
    if not explained:
        return f"measure it beside its control once more: {_again(rig, 'eagle3')}. If the number stays, {_EXPLAIN}"
    return (
        f"measure the control arm once more: {_again(rig, 'baseline')}. If the number stays, "
        f"the machine is another one now: {_STORE}"
    )


def _again(rig: Rig, marker: str) -> str:
    return measure(rig, marker)
