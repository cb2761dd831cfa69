"""Promise: what the rig wrote down is what the server's processes have, and what the server says of itself."""

from __future__ import annotations

from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.rig.models import Rig
from tokgate.rig.nccl.of_rig import lint_rig
from tokgate.verdicts.effective import adapted, contradicted, wanted_settings
from tokgate.verdicts.environment import overwritten, unproven
from tokgate.verdicts.establish import invalid
from tokgate.verdicts.shortfall import Shortfall
from tokgate.verdicts.slate import unclean

CHECK = "environment_truth"


def environment_truth(rig: Rig, launch: LaunchEvidence) -> tuple[Verdict, ...]:
    """Judge the environment of every process, then the arguments that /server_info tells.

    Everything that is refuted or cannot be proven is `invalid`: numbers of a server whose
    settings are unknown belong to no arm.
    """
    return (_environment(rig, launch), _arguments(rig, launch))


def _environment(rig: Rig, launch: LaunchEvidence) -> Verdict:
    name = launch.launch.id
    shortfalls = list(unproven(launch))
    if launch.server is None:
        shortfalls = [_no_server(launch)]
    truth = launch.environment
    if shortfalls or truth is None:
        return invalid(CHECK, shortfalls, launch=launch)
    variables = sorted({r.variable for r in truth.rows})
    return Verdict(
        check=CHECK,
        outcome=Outcome.PASS,
        headline=f"environment of {name}: {len(variables)} variables present in {len(truth.processes)} processes",
        arm=launch.launch.arm,
        launch=name,
        n=len(truth.rows),
        evidence=(f"checked: {', '.join(variables)}",),
        warnings=(
            *overwritten(truth),
            *(
                f"present is not obeyed: {f.variable}={f.value}: {f.what}"
                for f in lint_rig(rig)
                if f.severity == "warning" and f.variable in variables
            ),
            *(
                f"nobody asked for it, but the server has it: {k}={v}"
                for k, v in sorted(truth.strays.items())
            ),
            *(f"not understood: {u.text} ({u.why})" for u in truth.unread),
        ),
        raw=(f"launches/{name}/environment.json",),
    )


def _arguments(rig: Rig, launch: LaunchEvidence) -> Verdict:
    name = launch.launch.id
    arm = next((a for a in rig.arms if a.name == launch.launch.arm), None)
    if launch.server is None:
        return invalid(CHECK, [_no_server(launch)], launch=launch)
    if arm is None:
        lost = Shortfall(
            what=f"the rig {rig.name} has no arm {launch.launch.arm!r}",
            do="judge the run with the rig it was measured with (rig.json in its folder)",
        )
        return invalid(CHECK, [lost], launch=launch)
    shortfalls = list(contradicted(rig, arm, launch))
    told = sorted(set(wanted_settings(rig, arm)) & set(launch.server.server_info))
    if not told:
        shortfalls.append(
            Shortfall(
                what="the server told none of its arguments",
                do="see server_info.json; GET /server_info must answer on this SGLang version",
            )
        )
    if shortfalls:
        return invalid(CHECK, shortfalls, launch=launch, raw=(f"launches/{name}/server_info.json",))
    return Verdict(
        check=CHECK,
        outcome=Outcome.PASS,
        headline=f"arguments of {name}: the server runs with all {len(told)} that it tells of",
        arm=arm.name,
        launch=name,
        n=len(told),
        evidence=(f"told: {', '.join(told)}",),
        warnings=adapted(rig, arm, launch),
        raw=(f"launches/{name}/server_info.json",),
    )


def _no_server(launch: LaunchEvidence) -> Shortfall:
    if launch.failure is not None:
        return Shortfall(
            what=f"the server did not start: {launch.failure.headline}",
            do=launch.failure.do,
            evidence=launch.failure.evidence,
        )
    for found in unclean(launch.slate) if launch.slate is not None else ():
        return Shortfall(what=f"no server was started: {found.what}", do=found.do, evidence=found.evidence)
    return Shortfall(what="no server was started", do="look for an error earlier in the session")
