"""Every loss is charged once, to what left its mark: alone, and with every other cause that it can be told from."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest

from tokgate.stats.log_shares import REST
from tokgate.verdicts.diagnosis import names
from tokgate.verdicts.diagnosis.ledger import ledger
from tokgate.verdicts.diagnosis.losses import PASS, VERIFY

from .stories import ARM, CONTROL, NO_MARKS, PLANTED, WORKLOAD, Story, loss, part, told

# What cannot be told apart by what is measured: in each group a loss of the same part has no mark of its own, or one
# verify outside graphs has no length that it ought to have.
INSEPARABLE = (
    {names.BASE, names.STALE, names.TREE, names.NCCL},
    {names.NO_GRAPH, names.VERIFY},
    {names.HEAT, names.DRIFT},
    # A server run in the slow mode hides what is slower by less than the distance of the modes.
    {names.MODES, names.SLOW_RANK},
)


def shares(story: Story) -> dict[str, float]:
    return {name: told[0].share for name, told in ledger(story.case(), story.marks).items()}


def separable(pair: tuple[str, str]) -> bool:
    return not any(set(pair) <= group for group in INSEPARABLE)


def test_nothing_is_charged_where_nothing_was_lost() -> None:
    assert ledger(Story().case(), NO_MARKS) == {}


@pytest.mark.parametrize("cause", PLANTED)
def test_one_cause_takes_the_whole_loss(cause: str) -> None:
    story = told(cause)
    found = ledger(story.case(), story.marks)
    assert list(found) == [cause]
    first = found[cause][0]
    assert first.share == pytest.approx(first.loss, rel=0.02)


@pytest.mark.parametrize(
    "pair", [p for p in itertools.combinations(PLANTED, 2) if separable(p)], ids=" and ".join
)
def test_two_causes_are_both_charged_and_nothing_else(pair: tuple[str, str]) -> None:
    found = shares(told(*pair))
    assert set(found) == set(pair)


@pytest.mark.parametrize(
    "pair", [p for p in itertools.combinations(PLANTED, 2) if separable(p)], ids=" and ".join
)
def test_no_loss_is_charged_twice(pair: tuple[str, str]) -> None:
    story = told(*pair)
    by_place: dict[tuple[str, str], float] = {}
    for told_ in ledger(story.case(), story.marks).values():
        for one in told_:
            place = (one.arm, one.workload)
            by_place[place] = by_place.get(place, 0.0) - math.log1p(-one.share)
    for place, charged in by_place.items():
        assert charged <= -story.losses()[place].log + 1e-9


def test_a_loss_that_nobody_could_split_is_charged_to_what_left_its_mark_and_to_nothing_else() -> None:
    """An endpoint that tells nothing of speculation: what is left is acceptance or the cycle, and nobody can say which."""

    def unsplit(name: str | None) -> dict[str, float]:
        story = told(name) if name is not None else Story()
        whole = math.log(1 / 1.15)
        case = replace(
            story.case(), losses={(ARM, WORKLOAD): loss(ARM, whole, part(PASS, whole, 10.0, 11.5))}
        )
        return {cause: found[0].share for cause, found in ledger(case, story.marks).items()}

    assert unsplit(None) == {}
    assert unsplit(names.HEAT) == {names.HEAT: pytest.approx(1 - 1 / 1.15)}


def test_of_a_verify_without_graphs_in_a_patched_tree_the_graphs_take_more() -> None:
    found = shares(told(names.NO_GRAPH, names.TREE))
    assert found[names.NO_GRAPH] == pytest.approx(0.34, abs=0.02)
    assert found[names.TREE] == pytest.approx(0.074, abs=0.003)  # 82.2 of 88.8 tok/s


def test_the_trees_part_of_verify_is_as_many_milliseconds_as_the_plain_arm_lost() -> None:
    story = told(names.VERIFY, names.TREE)
    found = ledger(story.case(), story.marks)
    of_arm = {name: e for name, told_ in found.items() for e in told_ if e.arm == ARM}
    ratio = math.log1p(-of_arm[names.VERIFY].share) / math.log1p(-of_arm[names.TREE].share)
    assert ratio == pytest.approx(3.0 / 0.9, rel=0.02)
    assert [e.arm for e in found[names.TREE]] == [CONTROL, ARM]


def test_two_changes_of_the_passes_share_what_cannot_be_told_apart() -> None:
    story = told(names.TREE, names.NCCL)
    found = ledger(story.case(), story.marks)
    assert set(found) == {names.TREE, names.NCCL}
    for explained in itertools.chain(*found.values()):
        assert explained.at_most
        if explained.arm == CONTROL:
            assert "cannot be told apart" in explained.by


def test_a_part_whose_loss_is_not_established_is_charged_to_nobody() -> None:
    story = told(names.VERIFY)
    losses = dict(story.losses())
    wide = [p.model_copy(update={"interval": (p.log - 1, p.log + 1)}) for p in losses[ARM, WORKLOAD].parts]
    losses[ARM, WORKLOAD] = losses[ARM, WORKLOAD].model_copy(update={"parts": tuple(wide)})
    case = story.case()
    object.__setattr__(case, "losses", losses)
    assert ledger(case, story.marks) == {}


def test_a_share_has_the_interval_of_the_part_that_it_took_whole() -> None:
    story = told(names.VERIFY)
    (only,) = ledger(story.case(), story.marks)[names.VERIFY]
    assert only.interval is not None
    low, high = only.interval
    assert low < only.share < high
    assert story.losses()[ARM, WORKLOAD].part(VERIFY) is not None


def test_a_host_that_is_slower_is_none_of_the_base_engines() -> None:
    story = told(names.HOST)
    assert story.losses()[ARM, WORKLOAD].part(REST) is not None
    assert [e.arm for e in ledger(story.case(), story.marks)[names.HOST]] == [CONTROL, ARM]
