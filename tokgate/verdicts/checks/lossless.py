"""Promise: speculation does not change what is said."""

from __future__ import annotations

from tokgate.records import Generation, LaunchEvidence, Outcome, Reference, Verdict
from tokgate.rig.limits import LosslessSpec
from tokgate.rig.models import ArmSpec, Rig
from tokgate.verdicts.effective import contradicted
from tokgate.verdicts.establish import establish, invalid
from tokgate.verdicts.lossless import Divergence, excused, first_divergence, tie_at
from tokgate.verdicts.shortfall import Shortfall

CHECK = "lossless"
WORKLOAD = "lossless"  # the name under which the session stores these generations


def lossless_applies(rig: Rig, arm: ArmSpec) -> bool:
    """Tell whether an arm's output can be judged: pinning acceptance overwrites its tokens."""
    environment = {**rig.server.environment, **arm.environment}
    return (
        arm.kind == "eagle3" and arm.acceptance == "natural" and "SGLANG_SIMULATE_ACC_LEN" not in environment
    )


def lossless(rig: Rig, control: LaunchEvidence, arm: LaunchEvidence) -> tuple[Verdict, ...]:
    """Compare the outputs of the same prompts with and without speculation.

    exact: the output ids are equal for every prompt. near-tie: at the first divergence of a
    prompt the control's two best candidates lie within max_gap and the arm took the other one;
    what follows a divergence is another text and is not compared. Anything missing, short or
    failed is `invalid`.
    """
    spec = rig.lossless
    specs = {a.name: a for a in rig.arms}
    control_spec, arm_spec = specs.get(control.launch.arm), specs.get(arm.launch.arm)
    if spec is None or control_spec is None or arm_spec is None or not lossless_applies(rig, arm_spec):
        if spec is None:
            what = f"the rig {rig.name} declares no lossless section"
        elif control_spec is None or arm_spec is None:
            what = f"the rig {rig.name} has no arm {control.launch.arm!r} or {arm.launch.arm!r}"
        else:
            what = f"{arm.launch.arm} cannot be judged: its acceptance is pinned, or it does no speculation"
        shortfall = Shortfall(what=what, do="ask this of an eagle3 arm with natural acceptance")
        return (invalid(CHECK, [shortfall], launch=arm, workload=WORKLOAD),)
    sides: list[dict[int, Generation]] = []
    for launch, launch_spec in ((control, control_spec), (arm, arm_spec)):
        established = establish(
            launch,
            WORKLOAD,
            at_least=spec.count,
            check=CHECK,
            decode=False,
            also=contradicted(rig, launch_spec, launch),
        )
        if isinstance(established, Verdict):
            return (established.model_copy(update={"arm": arm.launch.arm, "launch": arm.launch.id}),)
        sides.append({g.index: g for g in established.good})
    ours, theirs = sides
    shortfall_found = _unusable(spec, control, arm, ours, theirs)
    if shortfall_found is not None:
        return (invalid(CHECK, [shortfall_found], launch=arm, workload=WORKLOAD),)
    return (_judge(spec, arm, control, ours, theirs),)


def _unusable(
    spec: LosslessSpec,
    control: LaunchEvidence,
    arm: LaunchEvidence,
    ours: dict[int, Generation],
    theirs: dict[int, Generation],
) -> Shortfall | None:
    if len(ours) < spec.count or set(ours) != set(theirs):
        return Shortfall(
            what=f"prompts {sorted(ours)} of {control.launch.id} against {sorted(theirs)} of {arm.launch.id}, "
            f"wanted the same {spec.count}",
            do="measure again: every prompt must be answered by both",
        )
    for launch, side in ((control, ours), (arm, theirs)):
        repeated = [g for g in launch.generations if g.workload == WORKLOAD and g.good and not g.warmup]
        for g in repeated:
            if g.output_ids is None or len(g.output_ids) != spec.output_tokens:
                told = "no output ids" if g.output_ids is None else f"{len(g.output_ids)} ids"
                return Shortfall(
                    what=f"prompt {g.index} of {launch.launch.id} came back with {told}, wanted {spec.output_tokens}",
                    do="see the raw body; the ids come from the generate endpoint",
                )
            if g.output_ids != side[g.index].output_ids:
                return Shortfall(
                    what=f"{launch.launch.id} itself gives two answers to prompt {g.index}",
                    do="make the server deterministic at temperature 0 before speculation is judged",
                )
    for index, mine in ours.items():
        lengths = [
            g.counters.prompt_tokens if g.counters is not None else None for g in (mine, theirs[index])
        ]
        if None not in lengths and lengths[0] != lengths[1]:
            return Shortfall(
                what=f"prompt {index} had {lengths[0]} tokens on one side and {lengths[1]} on the other",
                do="the two launches were not asked the same: report it",
            )
    return None


def _judge(
    spec: LosslessSpec,
    arm: LaunchEvidence,
    control: LaunchEvidence,
    ours: dict[int, Generation],
    theirs: dict[int, Generation],
) -> Verdict:
    found = [d for i in sorted(ours) if (d := first_divergence(ours[i], theirs[i])) is not None]
    broken: list[Divergence] = []
    unjudged: list[Divergence] = []
    ties = 0
    evidence: list[str] = []
    for divergence in found:
        line = _describe(divergence)
        if spec.mode == "exact":
            broken.append(divergence)
        else:
            tie = tie_at(ours[divergence.index], divergence)
            if tie is None:
                unjudged.append(divergence)
                line += ": the control's log-probabilities there are unknown"
            else:
                line += f"; control's best {tie.best[1]} and {tie.second[1]}, gap {tie.gap:.4f}"
                if excused(divergence, tie, spec.max_gap):
                    ties += 1
                else:
                    broken.append(divergence)
        evidence.append(line)
    name = arm.launch.arm
    outcome, do = Outcome.PASS, None
    total = f"all {len(ours)} outputs of {spec.output_tokens} tokens"
    if broken:
        outcome = Outcome.REGRESSED
        headline = f"speculation changes the output on {name}: {_describe(broken[0])}"
        do = "compare the two raw bodies; then run the arm at concurrency 1 without CUDA graphs and overlap"
    elif unjudged:
        outcome = Outcome.INVALID
        headline = f"no log-probabilities to judge {name} by: {_describe(unjudged[0])}"
        do = "ask the control for the two best log-probabilities of every position"
    elif ties:
        headline = (
            f"{name} differs from its twin only at {ties} near ties (gap ≤ {spec.max_gap:g}) in {total}"
        )
    else:
        headline = f"{name} says what its twin says: {total} are identical"
    flat = [i for i in ours if len(set(ours[i].output_ids or ())) <= 1]
    return Verdict(
        check=CHECK,
        outcome=outcome,
        headline=headline,
        arm=name,
        launch=arm.launch.id,
        workload=WORKLOAD,
        n=len(ours),
        reference=Reference(kind="twin", label=control.launch.id, n=len(ours)),
        floor="identical ids" if spec.mode == "exact" else f"near ties of at most {spec.max_gap:g} excused",
        evidence=tuple(evidence),
        warnings=(
            (f"{len(flat)} of {len(ours)} outputs repeat one token: their equality shows little",)
            if flat
            else ()
        ),
        do=do,
        raw=tuple(
            g.body_file
            for d in (broken or unjudged)[:3]
            for g in (ours[d.index], theirs[d.index])
            if g.body_file is not None
        )
        or tuple(f"launches/{launch.launch.id}/generations.jsonl" for launch in (control, arm)),
    )


def _describe(divergence: Divergence) -> str:
    ids = (str(i) if i is not None else "the end" for i in (divergence.control_id, divergence.arm_id))
    return "prompt {} parts at token {} ({} became {})".format(divergence.index, divergence.position, *ids)
