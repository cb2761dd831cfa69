"""summary.md: what a CI step summary or a pull request comment shows, never more than 60 KB."""

from __future__ import annotations

from . import culprits, diagnosed, qualified, simulated, summary_patch
from .fleet_md import hosts_table
from .leading import of_the_change
from .made_from import made_from
from .markdown import append_what_fits, code, size_of, text
from .may_merge import ended
from .summary_session import beyond_the_plan, machine_meanwhile, nccl_truth
from .summary_speculation import (
    arithmetic_table,
    arm_table,
    gain_table,
    phase_table,
    since_baseline_table,
    sweep_table,
)
from .summary_verdicts import differences, likely_causes, reasons, unclassified_tests, verdict_table
from .verdict_file import VerdictFile
from .when import when

# GitHub cuts a comment at 65 536 characters; a step summary may share its 1 MiB with other steps.
LIMIT_BYTES = 60_000


def render(file: VerdictFile, folder: str) -> str:
    """Return the markdown. What does not fit is counted and left to verdict.json."""
    word = f"{simulated.WORD} {file.outcome.value.upper()}" if file.simulated else file.outcome.value.upper()
    head = [f"# tokgate {word}: {text(file.headline, 400)}", ""]
    if file.simulated:
        head += [f"> **{simulated.WORD}**: {simulated.MEANING}.", ""]
    if file.part is not None:
        told = f"A part of a stored run, judged again ({file.part.selection}): {ended(file.part)}."
        head += [f"> {text(told, 600)}", ""]
    facts = (
        f"rig **{text(file.run.rig)}**",
        f"run {text(file.run.run_id)}",
        f"exit code {file.exit_code}",
        code(when(file.run.started_at, file.run.finished_at)),
        *(text(words, 200) for words in made_from(file.run)),
    )
    head += [" · ".join(facts), ""]
    head += summary_patch.answers(file)
    # As in the terminal and in report.html: the first cause's step, else the leading verdict's.
    step = None if of_the_change(file.verdicts) else diagnosed.next_step(file.diagnosis)
    step = step or file.do
    if step:
        head += [f"**Next:** {text(step, 1000)}", ""]
    for words in qualified.lines(file.qualification):
        head += [text(words, 600), ""]
    foot = ["", f"Raw data: {code(folder)}", ""]
    room = LIMIT_BYTES - size_of(head) - size_of(foot)
    body: list[str] = []
    for section in (
        likely_causes(file),
        hosts_table(file),
        summary_patch.sides(file),
        culprits.section_md(file),
        arm_table(file),
        arithmetic_table(file),
        phase_table(file),
        gain_table(file),
        since_baseline_table(file),
        sweep_table(file),
        verdict_table(file),
        reasons(file),
        beyond_the_plan(file),
        nccl_truth(file),
        machine_meanwhile(file),
        differences(file),
        unclassified_tests(file),
    ):
        room -= append_what_fits(body, section, room)
    return "\n".join([*head, *body, *foot])
