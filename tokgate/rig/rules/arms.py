"""The arms can be told apart, compared, and started as written."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.rig.models import ArmSpec, Rig
from tokgate.rig.problems import Problem
from tokgate.rig.spelling import KeyPath, spell


def broken_arms(rig: Rig) -> Iterator[Problem]:
    controls = [a.name for a in rig.arms if a.kind == "baseline"]
    if len(controls) != 1:
        yield Problem(
            ("arms",),
            f"{len(controls)} arms of kind baseline" + (f" ({', '.join(controls)})" if controls else ""),
            "exactly one: the arm that every other is compared with",
        )
    for i, arm in enumerate(rig.arms):
        if arm.kind == "eagle3":
            yield from _speculation(arm, ("arms", i))
    speculative = [a for a in rig.arms if a.kind == "eagle3"]
    if rig.lossless is not None and not any(a.acceptance == "natural" for a in speculative):
        yield Problem(
            ("lossless",),
            f"{len(speculative)} eagle3 arms, none with natural acceptance",
            "an eagle3 arm with natural acceptance, or no [lossless]: "
            "pinned acceptance accepts wrong tokens, so its output is never the plain one",
        )


def _speculation(arm: ArmSpec, here: KeyPath) -> Iterator[Problem]:
    if arm.num_steps is None or arm.topk is None or arm.num_draft_tokens is None:
        return  # the model has already refused the arm
    chain = arm.num_steps + 1
    if arm.topk == 1 and arm.num_draft_tokens != chain:
        # SGLang sets this itself, with one line in its log: the rig would then name an arm that never ran
        # (0.5.23, arg_groups/speculative_hook.py, _handle_eagle_family).
        yield Problem(
            (*here, "num_draft_tokens"),
            spell(arm.num_draft_tokens),
            f"{chain}: with topk = 1 the drafts are one chain of num_steps + 1 tokens",
        )
    if arm.num_draft_tokens < 2:
        yield Problem(
            (*here, "num_draft_tokens"), spell(arm.num_draft_tokens), "at least 2: a root and one draft"
        )
    if arm.acceptance != "natural" and arm.acceptance > chain:
        # SGLang clamps it silently (0.5.23, speculative/spec_utils.py, sample_simulated_acc_len).
        yield Problem(
            (*here, "acceptance"),
            spell(arm.acceptance),
            f"at most num_steps + 1 = {chain}, the most one cycle commits",
        )
