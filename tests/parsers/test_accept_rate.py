from __future__ import annotations

import pytest

from tokgate.parsers.accept_rate import NEW, OLD, accept_rate


def test_old_definition_is_told_from_the_numbers() -> None:
    told = accept_rate([(2.17, 0.54), (1.95, 0.49), (1.80, 0.45)])
    assert (told.definition, told.draft_tokens) == (OLD, 4)
    assert told.rate == pytest.approx((5.92 / 3 - 1) / 3)


def test_new_definition_is_told_from_the_numbers() -> None:
    told = accept_rate([(3.0, 0.67), (2.5, 0.5)])
    assert (told.definition, told.draft_tokens) == (NEW, 4)


def test_one_pair_that_fits_both_stays_undecided_until_the_size_is_known() -> None:
    told = accept_rate([(2.0, 0.5)])
    assert (told.definition, told.draft_tokens, told.rate) == (None, None, None)
    assert told.why == "fits both definitions: 4 draft tokens by the old one, 3 by the new one"
    known = accept_rate([(2.0, 0.5)], draft_tokens=3)
    assert (known.definition, known.rate) == (NEW, 0.5)
    assert accept_rate([(2.0, 0.5)], draft_tokens=4).definition == OLD


def test_nothing_accepted() -> None:
    # The old definition shows 1/9 where no draft was ever right.
    old = accept_rate([(1.0, 0.11)])
    assert (old.definition, old.draft_tokens, old.rate) == (OLD, 9, 0.0)
    new = accept_rate([(1.0, 0.0)])
    assert (new.definition, new.draft_tokens, new.rate) == (NEW, None, 0.0)


def test_rounding_may_leave_several_sizes() -> None:
    told = accept_rate([(1.02, 0.0)])
    assert told.definition == NEW
    assert (told.draft_tokens, told.rate) == (None, None)
    assert told.why is not None
    assert "the number of draft tokens is not known" in told.why


def test_a_rate_of_neither_kind_is_said_and_ours_stands() -> None:
    told = accept_rate([(2.0, 0.9)], draft_tokens=3)
    assert told.definition is None
    assert told.why == "the printed rates fit neither definition with 3 draft tokens"
    assert told.rate == 0.5


@pytest.mark.parametrize("size", [-1, 0, 1])
def test_a_senseless_size_raises_nothing(size: int) -> None:
    assert accept_rate([(2.0, 0.5)], draft_tokens=size).rate is None


def test_a_version_without_a_printed_rate() -> None:
    told = accept_rate([(2.8, None), (2.6, None)], draft_tokens=4)
    assert told.why == "this version prints no accept rate"
    assert told.rate == pytest.approx(1.7 / 3)


def test_nothing_is_unknown_not_zero() -> None:
    told = accept_rate([])
    assert (told.definition, told.rate) == (None, None)
    assert told.why == "no accept length printed"
