"""The NCCL settings of a whole rig: its block, what other tables add, and whether any rank would notice."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records.nccl import NcclLint
from tokgate.rig.models import ArmSpec, Rig
from tokgate.rig.sizes import argument, gpus_needed, is_on, machines
from tokgate.rig.spelling import spell

from .lint import lint_variables
from .names import is_about_nccl
from .versions import Version

_SGLANG = "SGLang 0.5.23 srt/distributed/parallel_state.py, GroupCoordinator.all_reduce"
_CLOSED = "the server's environment is closed: tokgate's rigs"
# Besides custom all-reduce: arguments that send small all-reduces past NCCL's own algorithms.
_PAST_NCCL = (
    "enable_symm_mem",
    "enable_torch_symm_mem",
    "enable_mscclpp",
    "enable_flashinfer_allreduce_fusion",
)


def lint_rig(rig: Rig, version: Version | None = None) -> tuple[NcclLint, ...]:
    """Judge what the rig says to NCCL, before any host is asked. Never raises.

    `version` is the NCCL that will read it; None: judged as the newest release read, see lint_variables.
    """
    shared = nccl_variables(rig, None)
    findings = list(lint_variables(shared, version, nodes=min(machines(rig, a) for a in rig.arms)))
    for arm in rig.arms:
        own = nccl_variables(rig, arm)
        if own == shared:
            continue
        seen = set(findings)
        more = lint_variables(own, version, nodes=machines(rig, arm))
        findings += [
            f.model_copy(update={"what": f"in the arm {arm.name}: {f.what}"}) for f in more if f not in seen
        ]
    findings += _places(rig)
    findings += _ranks(rig)
    order = ("error", "warning", "note")
    return tuple(sorted(dict.fromkeys(findings), key=lambda f: order.index(f.severity)))


def nccl_variables(rig: Rig, arm: ArmSpec | None) -> dict[str, str]:
    """Return the variables meant for NCCL, misspelled ones too: of all arms, or as one arm has them."""
    own = arm.environment if arm is not None else {}
    every = {**rig.server.nccl, **rig.server.environment, **own}
    return {name: value for name, value in every.items() if is_about_nccl(name)}


def _places(rig: Rig) -> Iterator[NcclLint]:
    tables = [("server.environment", rig.server.environment)]
    tables += [(f"the environment of the arm {arm.name}", arm.environment) for arm in rig.arms]
    for where, table in tables:
        for name in (n for n in table if n.startswith("NCCL_")):
            yield NcclLint(
                variable=name,
                value=table[name],
                severity="note",
                what=f"it stands in {where}: the launch without NCCL tuning has it all the same",
                do="write it in server.nccl if it is tuning",
                source=_CLOSED,
            )
    for name in (n for n in rig.server.pass_environment if is_about_nccl(n)):
        own = rig.host.environment.get(name)
        yield NcclLint(
            variable=name,
            value=own,
            severity="warning" if own is None else "note",
            what="it is passed on from the host, and the rig does not say what its value is there"
            if own is None
            else "it is passed on from host.environment: the launch without NCCL tuning has it all the same",
            do="write it in server.nccl, with its value",
            source=_CLOSED,
        )


def _ranks(rig: Rig) -> Iterator[NcclLint]:
    sizes = {arm.name: gpus_needed(rig, arm) for arm in rig.arms}
    for size in dict.fromkeys(sizes.values()):
        if size is None or size >= rig.gpus.count:
            continue
        names = [name for name, needed in sizes.items() if needed == size]
        yield NcclLint(
            variable="gpus.count",
            value=str(rig.gpus.count),
            severity="note",
            what=f"{size} of {rig.gpus.count} GPUs are used in {', '.join(names)}, the others stay idle",
            do="nothing, if that is meant; all of them must be clean in any case",
            source="SGLang 0.5.23 srt/entrypoints/engine.py: tp_size * pp_size, times dp_size",
        )
    if not rig.server.nccl:
        return
    alone = [name for name, size in sizes.items() if size == 1 and machines(rig, rig.arm(name)) == 1]
    if alone:
        yield NcclLint(
            variable="server.nccl",
            value=None,
            severity="warning",
            what=f"a server with one rank has nobody to talk to: the block does nothing in {', '.join(alone)}",
            do="take the block out, or give the server more than one GPU (tp_size)",
            source="NCCL 2.30.7 src/graph/tuning.cc, ncclTopoTuneModel: nRanks <= 1",
        )
    if len(alone) < len(sizes):
        yield from _past_nccl(rig)


def _past_nccl(rig: Rig) -> Iterator[NcclLint]:
    for name in _PAST_NCCL:
        if any(is_on(rig, arm, name) for arm in rig.arms):
            yield NcclLint(
                variable=f"server.args.{name}",
                value=spell(argument(rig, rig.arms[0], name)),
                severity="note",
                what="small all-reduces may then not go through NCCL's own algorithms: the block can be right and unused",
                do="see whether the NCCL check finds NCCL's kernels on the decode path",
                source=_SGLANG,
            )
    open_arms = [
        arm.name
        for arm in rig.arms
        if not is_on(rig, arm, "disable_custom_all_reduce")
        and not is_on(rig, arm, "enable_deterministic_inference")
    ]
    if open_arms and rig.gpus.count:
        yield NcclLint(
            variable="server.args.disable_custom_all_reduce",
            value=None,
            severity="note",
            what=f"off in {', '.join(open_arms)}: where NVLink joins the GPUs, or there are only two, SGLang's own"
            " all-reduce takes the small messages, and the block can be right and unused",
            do="set disable_custom_all_reduce = true to send all of them through NCCL",
            source=_SGLANG,
        )
