from __future__ import annotations

import pytest

from tests.verdicts.evidence import make_fingerprint, make_rig
from tokgate.records import Fingerprint
from tokgate.verdicts.baselines.staleness import Staleness, staleness

FILE = "sglang/srt/managers/scheduler.py"
WHEEL: dict[str, str | None] = {
    "sglang.install": "wheel",
    "sglang.version": "0.5.23",
    "sglang.location": "/opt/ml/lib/sglang",
    "sglang.commit": None,
    "sglang.dirty": "no",
    "sglang.changed": "0",
    "gpu.3.driver_version": "580.1",
    "package.torch": "2.8",
}
PATCHED = {**WHEEL, "sglang.dirty": "1f0c", "sglang.changed": f"1: {FILE}"}
CHECKOUT = {
    **WHEEL,
    "sglang.install": "editable",
    "sglang.commit": "aaaa",
    "sglang.location": "/src/sglang/python",
}


def compared(before: dict[str, str | None], now: dict[str, str | None]) -> Staleness:
    return staleness(make_rig(), make_fingerprint(before), make_fingerprint(now))


def test_a_tree_patched_in_place_is_called_that_and_its_files_are_named() -> None:
    found = compared(WHEEL, PATCHED)

    assert found.since == "the tree has changed since it was stored: confirm with a clean tree"
    assert found.evidence[:2] == (
        f"the tree is patched in place, it does not match its RECORD: 1 file: {FILE}",
        "the tree of the baseline matched its RECORD",
    )
    assert found.do is not None
    # The tree may be what is under test: nothing here may undo the patch.
    assert "force-reinstall" not in found.do
    assert found.do.startswith(
        "the tree differs by 1 file since the baseline, which is what a patch does. Measure the base"
    )
    assert "--rig-set server.python=PATH of a second environment with sglang==0.5.23" in found.do
    assert "pytest perf_tests -m baseline --rig small" in found.do


def test_a_baseline_stored_from_a_patched_tree_says_so() -> None:
    found = compared(PATCHED, WHEEL)

    assert found.since == "the tree has changed since it was stored: it was stored from a patched one"
    assert found.do is not None
    assert found.do.startswith("store it anew from this tree, which is clean: tokgate baseline update RUN ")
    assert "--despite-doubts" in found.do  # the run that is to replace it ended regressed
    assert found.beside == "it was stored from a patched tree"


@pytest.mark.parametrize(
    ("before", "now"), [(WHEEL, PATCHED), (PATCHED, WHEEL), (WHEEL, {**WHEEL, "gpu.driver": "595.2"})]
)
def test_what_is_not_explained_is_not_stored(
    before: dict[str, str | None], now: dict[str, str | None]
) -> None:
    found = compared(before, now)

    assert found.do is not None
    assert found.do_first is not None
    assert "baseline update" in found.do
    assert "baseline update" not in found.do_first
    assert "explained before anything is stored" in found.do_first


def test_what_has_happened_stands_beside_a_number_that_is_no_loss() -> None:
    assert compared(WHEEL, PATCHED).beside == "the tree has changed since it was stored"
    assert compared(WHEEL, WHEEL).beside is None


def test_another_commit_is_measured_beside_the_one_of_then() -> None:
    found = compared(CHECKOUT, {**CHECKOUT, "sglang.commit": "bbbb"})

    assert found.since == "the tree has changed since it was stored: confirm with the tree of then"
    assert "sglang.commit: aaaa then, bbbb now" in found.evidence
    assert found.do is not None
    assert "-m patch --rig" in found.do
    assert "--base aaaa" in found.do


def test_edits_in_a_checkout_are_measured_beside_their_commit() -> None:
    edited = {**CHECKOUT, "sglang.dirty": "2b", "sglang.changed": "2: a.py, b.py"}
    found = compared(CHECKOUT, edited)

    assert found.evidence[0] == "the tree is edited beyond its commit: 2 files: a.py, b.py"
    assert found.do is not None
    assert "-m patch --rig" in found.do
    assert "--instrumented" in found.do
    assert "stash" not in found.do  # a next step never touches somebody's work


def test_the_same_patch_then_and_now_is_no_change_of_the_tree() -> None:
    moved = {**PATCHED, "sglang.location": "/elsewhere/sglang"}
    found = compared(PATCHED, moved)

    assert (found.since, found.warnings, found.evidence) == (None, (), ())
    assert [d.key for d in found.differs] == ["sglang.location"]


def test_a_tree_that_could_not_be_read_may_have_changed() -> None:
    found = compared(WHEEL, {**WHEEL, "sglang.dirty": None, "sglang.changed": None})

    assert found.since == "the tree may have changed since it was stored: confirm with a clean tree"


@pytest.mark.parametrize(
    ("change", "since"),
    [
        ({"host.boot_id": "b2"}, "the machine was booted since it was stored"),
        ({"gpu.driver": "595.2"}, "the driver has changed since it was stored"),
        ({"gpu.3.driver_version": "595.2"}, "the driver has changed since it was stored"),
        ({"gpu.3.driver_version": None}, "the driver may have changed since it was stored"),
        ({"package.torch": "2.9"}, "a library has changed since it was stored"),
        ({"package.not_asked_for_then": "1"}, None),
        (
            {"host.boot_id": "b2", **PATCHED},
            "the machine was booted and the tree has changed since it was stored: confirm with a clean tree",
        ),
        ({"host.kernel": "7.0"}, None),
    ],
)
def test_what_has_happened_is_told_in_order(change: dict[str, str | None], since: str | None) -> None:
    assert compared(WHEEL, {**WHEEL, **change}).since == since


def test_staleness_comes_first_among_what_differs() -> None:
    found = compared(WHEEL, {**PATCHED, "host.boot_id": "b2", "gpu.driver": "595.2", "host.kernel": "7"})

    assert [d.key for d in found.differs] == [
        "host.boot_id",
        "gpu.driver",
        "sglang.dirty",
        "host.kernel",
        "sglang.changed",
    ]
    assert found.warnings[0] == "stale baseline: the machine was booted since (host.boot_id: b1 then, b2 now)"
    assert len(found.warnings) == 3


def test_a_reader_of_the_tree_that_failed_leaves_it_open() -> None:
    lost = Fingerprint(facts={"host.boot_id": "b1", "sglang": None})

    found = staleness(make_rig(), make_fingerprint(WHEEL), lost)
    assert found.since == "the tree may have changed since it was stored: confirm with a clean tree"
    assert found.evidence[0] == "the tree: nobody could tell whether it is as installed or committed"


@pytest.mark.parametrize("missing", ["before", "now"])
def test_without_a_fingerprint_nothing_is_claimed(missing: str) -> None:
    there = make_fingerprint()
    before, now = (None, there) if missing == "before" else (there, None)
    assert staleness(make_rig(), before, now) == Staleness()


def test_thousands_of_facts_are_counted_and_what_makes_a_baseline_stale_is_told() -> None:
    """Every verdict carries them: twenty thousand in each made reports of minutes."""
    many: dict[str, str | None] = {f"a.{n}": "1" for n in range(20_000)}
    found = compared(WHEEL, {**many, **PATCHED})

    assert found.tree
    assert found.differs[0].key == "sglang.dirty"
    assert len(found.differs) == 301
    assert (found.differs[-1].key, found.differs[-1].before) == ("…", "and 19702 more facts differ")
