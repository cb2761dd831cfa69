from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.evidence import make_launch
from tests.verdicts.nccl.evidence import (
    ALL_REDUCE,
    BLOCK,
    CUSTOM,
    nccl_rig,
    profile,
    proof,
    proof_start,
    rank,
    started,
)
from tokgate.records import VariableState
from tokgate.records.nccl import KernelUse, NcclMark, NcclStage, NcclTaken, NcclTruth
from tokgate.verdicts.nccl.states import condensed, in_ranks, nccl_truth_of

REFUTED = (NcclMark.REFUTED,)


def truth(**changes: Any) -> NcclTruth:
    return nccl_truth_of(nccl_rig(), proof_start(**changes))


def marks(found: NcclTruth, stage: NcclStage) -> set[NcclMark]:
    return {row.cell(stage).mark for row in found.rows}


def told(found: NcclTruth, stage: NcclStage, *wanted: NcclMark) -> dict[str, str]:
    return dict(condensed(found, stage, wanted or REFUTED))


def without(variable: str) -> dict[str, str]:
    return {name: value for name, value in BLOCK.items() if name != variable}


def test_a_tuned_box_reaches_the_fifth_state_in_every_rank() -> None:
    found = truth()
    assert len(found.rows) == 12
    for stage in NcclStage:
        assert marks(found, stage) <= {NcclMark.PROVEN, NcclMark.SILENT}
    assert found.rows[0].cell(NcclStage.USED).value == "122 a step"
    assert found.rows[0].cell(NcclStage.ACCEPTED).evidence == "server.log line 40: NCCL_PROTO set to LL"


def test_a_variable_missing_in_one_rank_is_told_in_those_words() -> None:
    one = rank(1, without("NCCL_PROTO"))
    found = truth(environment=started({1: {"NCCL_PROTO": None}}), nccl=proof([rank(0), one]))
    assert told(found, NcclStage.EXEC) == {"NCCL_PROTO": "absent from the exec environment of rank 1 only"}
    assert told(found, NcclStage.ACCEPTED) == {
        "NCCL_PROTO": "not accepted in rank 1 only: no line of NCCL names it"
    }


def test_variables_that_share_a_fate_share_a_line() -> None:
    nothing: dict[str, str | VariableState | None] = dict.fromkeys(BLOCK)
    found = truth(environment=started({0: nothing, 1: nothing}), nccl=proof([rank(n, {}) for n in (0, 1)]))
    assert list(told(found, NcclStage.EXEC)) == [", ".join(BLOCK)]


def test_what_nccl_took_though_it_was_not_there_at_exec_was_set_later() -> None:
    found = truth(environment=started({n: {"NCCL_PROTO": None} for n in (0, 1)}))
    assert told(found, NcclStage.EXEC) == {
        "NCCL_PROTO": "set at run time only, after exec in every rank: NCCL took 'LL' all the same"
    }


def test_erased_memory_is_never_an_absent_variable() -> None:
    erased = started({0: {"NCCL_PROTO": VariableState.ERASED}})
    found = truth(environment=erased)
    assert told(found, NcclStage.EXEC) == {}
    (words,) = told(found, NcclStage.EXEC, NcclMark.UNKNOWN).values()
    assert words == "erased by setproctitle in rank 0 only: absence cannot be told from presence"


def test_a_level_in_lower_case_is_there_and_ignored() -> None:
    ranks = [rank(n, without("NCCL_P2P_LEVEL"), links={"SHM/direct/direct": 16}) for n in (0, 1)]
    environment = started({n: {"NCCL_P2P_LEVEL": "sys"} for n in (0, 1)})
    found = truth(environment=environment, nccl=proof(ranks))
    assert told(found, NcclStage.EXEC) == {
        "NCCL_P2P_LEVEL": "another value in the exec environment of every rank: 'sys' instead of 'SYS'"
    }
    assert told(found, NcclStage.ACCEPTED) == {
        "NCCL_P2P_LEVEL": "ignored by NCCL without a word in every rank: 'sys'"
    }
    assert told(found, NcclStage.EFFECTIVE) == {
        "NCCL_P2P_LEVEL": "without effect in every rank: links: 16 SHM/direct/direct"
    }


def test_a_buffer_of_4m_is_read_as_4_bytes() -> None:
    ranks = [rank(n, {**BLOCK, "NCCL_BUFFSIZE": "4"}) for n in (0, 1)]
    environment = started({n: {"NCCL_BUFFSIZE": "4M"} for n in (0, 1)})
    found = truth(environment=environment, nccl=proof(ranks))
    assert told(found, NcclStage.ACCEPTED) == {"NCCL_BUFFSIZE": "read as 4 (bytes) in every rank"}


def test_what_sglang_overwrites_is_told_as_its_doing() -> None:
    rig = nccl_rig({"NCCL_ALGO": "Ring"})
    ranks = [rank(n, {"NCCL_ALGO": "allreduce:tree"}) for n in (0, 1)]
    launch = proof_start(
        environment=started(
            block={"NCCL_ALGO": "Ring"}, overwritten={"NCCL_ALGO": "allreduce:tree (server_args.py)"}
        ),
        nccl=proof(ranks),
    )
    assert told(nccl_truth_of(rig, launch), NcclStage.ACCEPTED) == {
        "NCCL_ALGO": "overwritten by SGLang in every rank: allreduce:tree (server_args.py)"
    }


def test_a_refused_value_is_told_in_nccls_words() -> None:
    refused = rank(
        0,
        without("NCCL_BUFFSIZE"),
        refused={"NCCL_BUFFSIZE": NcclTaken(value="9z", line=7, text="using default -2.")},
    )
    found = truth(nccl=proof([refused, rank(1)]))
    assert told(found, NcclStage.ACCEPTED) == {
        "NCCL_BUFFSIZE": "refused by NCCL in rank 0 only: using default -2."
    }


def test_two_communicators_of_one_rank_may_not_differ() -> None:
    both: dict[str, tuple[NcclTaken, ...]] = {
        name: (NcclTaken(value=value, line=1),) for name, value in BLOCK.items()
    }
    both["NCCL_PROTO"] = (NcclTaken(value="LL", line=1), NcclTaken(value="Simple", line=2))
    found = truth(nccl=proof([rank(0, accepted=both), rank(1)]))
    assert told(found, NcclStage.ACCEPTED) == {
        "NCCL_PROTO": "two values, by communicator in rank 0 only: LL and Simple"
    }


def test_variables_that_print_nothing_are_no_gap() -> None:
    block = {"NCCL_DEBUG_FILE": "/tmp/x", "NCCL_IB_HCA": "mlx5_0"}
    found = nccl_truth_of(
        nccl_rig(block),
        proof_start(environment=started(block=block), nccl=proof([rank(n, {}) for n in (0, 1)])),
    )
    assert marks(found, NcclStage.ACCEPTED) == {NcclMark.SILENT}
    assert marks(found, NcclStage.EFFECTIVE) == {NcclMark.SILENT}


def test_a_network_variable_that_should_have_been_read_is_a_gap() -> None:
    block = {"NCCL_IB_HCA": "mlx5_0"}
    ranks = [rank(n, {}, links={"NET/IB/0": 2}) for n in (0, 1)]
    found = nccl_truth_of(nccl_rig(block), proof_start(environment=started(block=block), nccl=proof(ranks)))
    assert told(found, NcclStage.ACCEPTED) == {
        "NCCL_IB_HCA": "ignored by NCCL without a word in every rank: 'mlx5_0'"
    }


def test_a_rank_without_a_word_of_nccl_refutes_nothing() -> None:
    found = truth(nccl=proof([rank(0)]))
    assert told(found, NcclStage.ACCEPTED) == {}
    assert set(told(found, NcclStage.ACCEPTED, NcclMark.UNKNOWN).values()) == {
        "no whole initialisation of NCCL in the log in rank 1 only"
    }


def test_a_rank_that_nobody_saw_is_not_left_out() -> None:
    found = nccl_truth_of(nccl_rig(ranks=4), proof_start())
    assert found.ranks == (0, 1, 2, 3)
    assert set(told(found, NcclStage.EXEC, NcclMark.UNKNOWN).values()) == {
        "no process of it was looked at in ranks 2 and 3 only"
    }


def test_kernels_of_a_custom_all_reduce_make_the_block_unused() -> None:
    gather = KernelUse(name="ncclDevKernel_AllGather_RING_LL(x)", calls=5, total_us=1.0, in_steps=1)
    profiles = [profile(n, nccl=(gather,), instead=(CUSTOM,)) for n in (0, 1)]
    (words,) = told(truth(nccl=proof(profiles=profiles)), NcclStage.USED, NcclMark.UNUSED).values()
    assert "accepted but unused in every rank" in words
    assert "as with custom all-reduce (cross_device_reduce_1stage)" in words
    assert "NCCL does no more than ncclDevKernel_AllGather_RING_LL" in words


def test_a_prefill_alone_is_no_use_on_the_decode_path() -> None:
    profiles = [profile(n, nccl=(ALL_REDUCE.model_copy(update={"in_steps": 0}),)) for n in (0, 1)]
    assert marks(truth(nccl=proof(profiles=profiles)), NcclStage.USED) == {NcclMark.UNUSED}


@pytest.mark.parametrize("changes", [{"kernels": 0}, {"complete": False}])
def test_absence_in_a_trace_that_shows_nothing_proves_nothing(changes: dict[str, Any]) -> None:
    profiles = [profile(n, nccl=(), **changes) for n in (0, 1)]
    assert marks(truth(nccl=proof(profiles=profiles)), NcclStage.USED) == {NcclMark.UNKNOWN}


def test_a_trace_without_marks_counts_every_kernel_and_says_so() -> None:
    found = truth(nccl=proof(profiles=[profile(n, steps=None) for n in (0, 1)]))
    cell = found.rows[0].cell(NcclStage.USED)
    assert (cell.mark, cell.value) == (NcclMark.PROVEN, "130 in all")
    assert "prefill among them" in cell.words


def test_without_a_profiler_the_fifth_state_is_unknown_and_says_why() -> None:
    found = truth(nccl=proof(profiles=[], why_no_profile="no profiler: HTTP 404"))
    assert {row.cell(NcclStage.USED).words for row in found.rows} == {"not profiled: no profiler: HTTP 404"}


def test_a_skipped_proof_tells_its_reason_in_every_state_beyond_the_second() -> None:
    rig = nccl_rig(nccl_proof={"skip": "500 GB of weights"})
    found = nccl_truth_of(rig, make_launch((), environment=started()))
    assert marks(found, NcclStage.EXEC) == {NcclMark.PROVEN}
    for stage in (NcclStage.ACCEPTED, NcclStage.EFFECTIVE, NcclStage.USED):
        assert {row.cell(stage).words for row in found.rows} == {"not proven: 500 GB of weights"}


def test_ranks_are_told_as_people_do() -> None:
    assert in_ranks([0, 1, 2], [0, 1, 2]) == "every rank"
    assert in_ranks([3], [0, 1, 2, 3]) == "rank 3 only"
    assert in_ranks([5, 2], range(8)) == "ranks 2 and 5 only"
    assert in_ranks([1, 2, 5], range(8)) == "ranks 1, 2 and 5 only"


def test_processes_without_a_rank_in_their_name_are_found_by_nccls_pid() -> None:
    truth_of_two = started()
    renamed = tuple(r.model_copy(update={"process": "python3"}) for r in truth_of_two.rows)
    found = truth(environment=truth_of_two.model_copy(update={"rows": renamed}))
    assert marks(found, NcclStage.EXEC) == {NcclMark.PROVEN}


def test_what_a_stranger_says_of_a_rank_does_not_count_beside_its_own_words() -> None:
    stranger = rank(0, {**BLOCK, "NCCL_PROTO": "Simple"}, pid=999)
    for order in ([rank(0), stranger], [stranger, rank(0)]):
        found = truth(nccl=proof([*order, rank(1)]))
        assert marks(found, NcclStage.ACCEPTED) <= {NcclMark.PROVEN, NcclMark.SILENT}
        assert {row.pid for row in found.rows if row.rank == 0} == {101}
        (warning,) = found.warnings
        assert warning.startswith("rank 0 is claimed by pid 999 too, no process of the server")


def test_a_stranger_cannot_speak_for_a_rank_that_is_silent() -> None:
    found = truth(nccl=proof([rank(0, pid=999), rank(1)]))
    for stage in (NcclStage.ACCEPTED, NcclStage.EFFECTIVE):
        assert set(told(found, stage, NcclMark.UNKNOWN).values()) == {
            "said by no process of the server in rank 0 only: pid 999 in its log"
        }
    assert marks(found, NcclStage.EXEC) == marks(found, NcclStage.USED) == {NcclMark.PROVEN}


def test_copies_of_the_server_have_ranks_of_their_own_and_agree() -> None:
    found = truth(nccl=proof([rank(0), rank(0, pid=102), rank(1)]))
    assert found.warnings == ()
    assert marks(found, NcclStage.ACCEPTED) <= {NcclMark.PROVEN, NcclMark.SILENT}


def test_processes_of_the_server_that_disagree_refute_the_rank() -> None:
    for other in (
        rank(0, {**BLOCK, "NCCL_PROTO": "Simple"}, pid=102),
        rank(0, pid=102, algorithms=("Tree",)),
        rank(0, {}, pid=102),
    ):
        found = truth(nccl=proof([rank(0), other, rank(1)]))
        assert set(told(found, NcclStage.ACCEPTED).values()) == {
            "said differently by 2 processes in rank 0 only: pids 101, 102"
        }


def test_a_proof_start_without_its_proof_was_not_finished() -> None:
    found = truth(nccl=None)
    words = {row.cell(NcclStage.ACCEPTED).words for row in found.rows}
    assert words == {"not proven: the proof start was never finished"}
