"""One report of several hosts: both answers on a change over all of them, and what each host says for itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.fleet.stored import fleet as stored_fleet
from tests.fleet.stored import shift
from tests.report.hostile import MARKUP
from tests.report.test_nccl_matrix import missing_in_rank_1
from tests.report.test_patch_report import ARM, COSTS, PASSES, against_base, evidence, rig
from tests.verdicts.evidence import make_run
from tests.verdicts.nccl.evidence import nccl_rig, proof_start
from tokgate.records import Outcome, RunEvidence, Verdict
from tokgate.records.fleet import Fleet, ShiftState, SideTree
from tokgate.report.first_screen import first_screen
from tokgate.report.fleet import HostPart, merge
from tokgate.report.html_section import page
from tokgate.report.summary_md import render as markdown
from tokgate.report.terminal import render as terminal
from tokgate.report.verdict_file import VerdictFile, truths_of
from tokgate.report.verdict_json import build

TREES = tuple(SideTree(name=name, tree=name * 20, words=name) for name in ("base", "head"))


def merged(hosts: Mapping[str, Sequence[Verdict]]) -> tuple[VerdictFile, RunEvidence]:
    """Return the report of a change whose arm each of these hosts has measured."""
    run, measured = evidence(), rig()
    shifts = [
        shift(number, host, ShiftState.MEASURED).model_copy(update={"trees": TREES})
        for number, host in enumerate(hosts, start=1)
    ]
    parts = [
        HostPart(one, run, build(run, verdicts, measured))
        for one, verdicts in zip(shifts, hosts.values(), strict=True)
    ]
    told: Fleet = stored_fleet().model_copy(update={"shifts": tuple(shifts), "trees": TREES})
    return merge(parts, told, info=run.info, rig=measured)


def test_both_answers_are_over_all_hosts_and_say_which_arm_and_host() -> None:
    file, run = merged({"a": PASSES, "b": COSTS})
    assert file.patch is not None
    assert file.patch.patch.outcome is Outcome.REGRESSED
    assert file.patch.patch.words == f"yes: decode -5.0 % (-5.3 % to -4.7 %) on {ARM}@b single"
    html, told = page(file, run, Path("r")), " ".join(terminal(file, "r", colour=False).split())
    assert first_screen(file, "r").answer.word == "No"
    assert "may it merge? No: the server is slower with the change than without" in told
    assert f"on {ARM}@b single" in html
    assert "The sides of the change" in html
    assert html.count("the same by the hash over all that Python imports: a, b") == 1
    assert "the same by the hash over all that Python imports: a, b" in markdown(file, "r")


def test_each_arm_has_its_answer_and_hosts_that_disagree_are_told() -> None:
    file, run = merged({"a": PASSES, "b": COSTS})
    assert file.fleet is not None
    (row,) = file.fleet.changes
    assert (row.arm, row.outcome, row.disagree) == (ARM, Outcome.REGRESSED, True)
    assert row.apart is not None
    assert round(row.apart, 4) == 0.048
    for surface in (
        page(file, run, Path("r")),
        markdown(file, "r"),
        terminal(file, "r", colour=False, width=200),
    ):
        words = " ".join(surface.split())
        assert "yes; hosts disagree" in words
        assert "a -0.2 % [-0.5, +0.1], b -5.0 % [-5.3, -4.7]" in words.replace("\\", "")


def test_an_arm_that_could_be_judged_on_one_host_only_says_so() -> None:
    invalid = against_base(Outcome.INVALID, 0.0).model_copy(
        update={"metric": None, "value": None, "change": None, "interval": None, "reference": None}
    )
    file, _ = merged({"a": PASSES, "b": (invalid,)})
    assert file.fleet is not None
    (row,) = file.fleet.changes
    assert (row.outcome, row.metric, row.apart) == (Outcome.INVALID, "decode_tok_s", None)
    told = " ".join(terminal(file, "r", colour=False).split())
    assert "nothing was shown: a -0.2 % [-0.5, +0.1], b cannot be judged" in told


def test_the_nccl_block_is_shown_for_each_host_by_its_name() -> None:
    runs = {"a": make_run(proof_start()), "b": make_run(proof_start(**missing_in_rank_1()))}
    parts = [
        HostPart(shift(number, host, ShiftState.MEASURED), run, build(run, (), nccl_rig()))
        for number, (host, run) in enumerate(runs.items(), start=1)
    ]
    told = stored_fleet().model_copy(update={"shifts": tuple(part.shift for part in parts)})
    file, run = merge(parts, told, info=runs["a"].info, rig=nccl_rig())
    assert [truth.launch for truth in truths_of(file)] == ["00-nccl-proof@a", "00-nccl-proof@b"]
    html, summary = page(file, run, Path("r")), markdown(file, "r")
    for surface in (html, summary.replace("\\", "")):
        assert surface.index("00-nccl-proof@a") < surface.index("00-nccl-proof@b")
        assert "absent from the exec environment of rank 1 only" in surface.partition("00-nccl-proof@b")[2]
    assert html.count('<h2 id="nccl-h">') == summary.count("## NCCL truth") == 1
    assert MARKUP not in html


def test_facts_of_hosts_that_differ_stand_under_their_names() -> None:
    one = evidence()
    assert one.fingerprint is not None
    facts = {**one.fingerprint.facts, "host.kernel": MARKUP}
    other = one.model_copy(update={"fingerprint": one.fingerprint.model_copy(update={"facts": facts})})
    parts = [
        HostPart(shift(number, host, ShiftState.MEASURED), run, build(run, PASSES, rig()))
        for number, (host, run) in enumerate({"a": one, "b": other}.items(), start=1)
    ]
    file, run = merge(parts, stored_fleet(), info=one.info, rig=rig())
    assert file.fingerprint is not None
    assert file.fingerprint.facts["facts are of"] == "a"
    assert [key for key in file.fingerprint.facts if key.startswith("b: ")] == ["b: host.kernel"]
    assert MARKUP not in page(file, run, Path("r"))


def test_the_run_is_stored_whole_and_not_one_hosts_part_of_it() -> None:
    hosts = {}
    for name in ("a", "b"):
        store = f'tokgate baseline update reports/r/hosts/{name} --arm {ARM} --why "…"'
        beside = f"tokgate compare reports/r/hosts/{name} --json"
        hosts[name] = tuple(v.model_copy(update={"do": store, "evidence": (beside,)}) for v in PASSES)
    file, _ = merged(hosts)
    assert {e for v in file.verdicts for e in v.evidence} == {
        f"tokgate compare reports/r/hosts/{name} --json" for name in hosts
    }, "that takes one host's part"

    assert {v.do for v in file.verdicts} == {f'tokgate baseline update reports/r --arm {ARM} --why "…"'}


def test_a_worker_that_died_is_told_beside_its_host() -> None:
    """What it had measured is judged nowhere: "nothing was left for it" would hide that."""
    run, measured = evidence(), rig()
    done = shift(1, "a", ShiftState.MEASURED)
    died = shift(2, "b", ShiftState.BROKEN_OFF, why="its worker (gw1, pid 7 1) is gone")
    told = stored_fleet().model_copy(update={"shifts": (done, died)})
    file, _ = merge([HostPart(done, run, build(run, PASSES, measured))], told, info=run.info, rig=measured)
    words = " ".join(terminal(file, "r", colour=False, width=200).split())

    assert (
        "b: admitted: its worker (gw1, pid 7 1) is gone; measured there and judged nowhere: 01-baseline"
        in words
    )
    assert "nothing was left" not in words
