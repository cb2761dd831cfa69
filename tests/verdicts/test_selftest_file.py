"""Stored self-tests: which one speaks for a run, and what is said where none does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verdicts.evidence import make_rig
from tests.verdicts.selftest_examples import FACTS, eight, launches, selftest
from tokgate.errors import UsageError
from tokgate.records import Fingerprint
from tokgate.rig.models import Rig
from tokgate.verdicts.selftest_file import (
    choose,
    load_selftest,
    qualification,
    save_selftest,
    stored_selftests,
)

RIG = make_rig()
HERE = Fingerprint(facts=dict(FACTS))


def other(**facts: str) -> Fingerprint:
    return Fingerprint(facts=FACTS | {key.replace("__", "."): value for key, value in facts.items()})


def test_what_is_stored_is_read_back_and_judged_the_same(tmp_path: Path) -> None:
    found = selftest(RIG, eight())
    path = save_selftest(tmp_path, found)
    assert path == tmp_path / "selftests" / RIG.name / f"{found.id}.json"
    assert load_selftest(path) == found
    assert [one.id for _, one in stored_selftests(tmp_path, RIG.name)] == [found.id]


def test_on_the_same_host_it_says_what_is_known_to_be_seen() -> None:
    told = qualification(selftest(RIG, eight()), RIG, HERE)
    assert told.qualified
    assert told.words == (
        "on this host 0 of 1 sessions of an unchanged server alarmed (≤ 95 %); a planted loss of 5 % was called in "
        "1 of 1 (≥ 5 %; resampled 24 of 24); a planted loss of 10 % was called in 1 of 1 (≥ 5 %; resampled 24 of 24); "
        "self-test 20261130T000000-x-selftest"
    )


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (other(gpu__0__uuid="GPU-2"), "of another host (gpu.0.uuid: GPU-1 there, GPU-2 here)"),
        (Fingerprint(facts={}), "of another host (gpu.0.name: H200 there, unknown here)"),
    ],
)
def test_of_another_host_it_says_so(now: Fingerprint, said: str) -> None:
    told = qualification(selftest(RIG, eight()), RIG, now)
    assert not told.qualified
    assert said in told.words
    assert told.do == f"tokgate selftest --rig {RIG.name}"


def test_what_has_changed_since_is_named() -> None:
    slower = RIG.model_copy(update={"workloads": (RIG.workloads[0].model_copy(update={"repeats": 99}),)})
    told = qualification(selftest(RIG, eight()), slower, other(sglang__version="0.5.24"))
    assert told.qualified
    assert [d.key for d in told.since] == ["sglang.version", "rig.workloads"]
    assert "since then changed: sglang.version, rig.workloads" in told.words


def test_without_one_nothing_is_claimed() -> None:
    told = qualification(None, RIG, HERE)
    assert (told.qualified, told.found) == (False, ())
    assert told.words.startswith("no self-test on this host")


def test_one_of_a_real_rig_says_nothing_of_a_simulated_one() -> None:
    simulated = RIG.model_copy(update={"simulated": True})
    assert not qualification(selftest(RIG, eight()), simulated, HERE).qualified


def _store(folder: Path, rig: Rig, name: str, fingerprint: Fingerprint) -> Path:
    return save_selftest(folder, selftest(rig, eight(), id=name, fingerprint=fingerprint))


def test_the_newest_of_this_host_speaks(tmp_path: Path) -> None:
    _store(tmp_path, RIG, "1-here", HERE)
    second = _store(tmp_path, RIG, "2-here", HERE)
    _store(tmp_path, RIG, "3-there", other(host__cpu="Xeon"))
    assert choose(tmp_path, RIG.name, HERE.facts) == second
    assert choose(tmp_path, "another-rig", HERE.facts) is None


def test_one_that_was_never_compared_with_anything_does_not_hide_an_older_one(tmp_path: Path) -> None:
    first = _store(tmp_path, RIG, "1-here", HERE)
    save_selftest(tmp_path, selftest(RIG, launches(1), id="2-broken-off", baseline_runs=1))
    assert choose(tmp_path, RIG.name, HERE.facts) == first


@pytest.mark.parametrize("text", ["", "{}", '{"schema_number": 2}', "\x00"])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    path = _store(tmp_path, RIG, "1", HERE)
    path.write_text(text)
    with pytest.raises(UsageError, match=r"reading the self-test .*1\.json"):
        load_selftest(path)
