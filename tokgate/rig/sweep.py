"""Which settings of speculation a sweep goes through, and the rig as each of its launches has it.

SGLang's own limits (0.5.23): arg_groups/speculative_hook.py, _handle_eagle_family, and
speculative/eagle_utils.py, organize_draft_results. What it would refuse, or set otherwise, is left out beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokgate.records.record import Record

from .launches import SweepSpec
from .models import ArmSpec, Rig
from .sizes import argument, is_on
from .workload import WorkloadSpec

MARK = "-sweep-"  # in a launch's id, in front of the setting's name
CONTROLS = ("control", "control-again")  # stand there in place of a setting's name: the twins
# A tree over pages of more than one token is drafted in two passes, which these alone know how to do.
_PAGED_TREES = ("flashinfer", "fa3", "triton")
_BACKENDS = ("attention_backend", "prefill_attention_backend", "decode_attention_backend")


class Setting(Record):
    """What one launch of a sweep has in place of its arm's own."""

    num_steps: int
    topk: int
    num_draft_tokens: int

    @property
    def name(self) -> str:
        """As in the id of its launch: "s2-k1-t3"."""
        return f"s{self.num_steps}-k{self.topk}-t{self.num_draft_tokens}"

    @property
    def words(self) -> str:
        """Return "2 steps", or of a tree "2 steps, topk 4, 8 tokens"."""
        steps = f"{self.num_steps} step{'' if self.num_steps == 1 else 's'}"
        return steps if self.topk == 1 else f"{steps}, topk {self.topk}, {self.num_draft_tokens} tokens"


class LeftOut(Record):
    setting: Setting
    why: str


def configured(arm: ArmSpec) -> Setting:
    """Return the setting that an eagle3 arm is written with."""
    return Setting(
        num_steps=arm.num_steps or 0, topk=arm.topk or 0, num_draft_tokens=arm.num_draft_tokens or 0
    )


def settings_of(rig: Rig) -> tuple[Setting, ...]:
    """Return what is launched, shortest first; the arm's own setting is always among it. () without [sweep]."""
    spec = rig.sweep
    if spec is None:
        return ()
    own = configured(rig.arm(spec.arm))
    possible = {s for s in _combined(spec) if _why_not(rig, s) is None} | {own}
    return tuple(sorted(possible, key=lambda s: (s.num_steps, s.topk, s.num_draft_tokens)))


def left_out(rig: Rig) -> tuple[LeftOut, ...]:
    """Return the combinations that no server could run as written, each with its reason."""
    if rig.sweep is None:
        return ()
    reasons = ((s, _why_not(rig, s)) for s in _combined(rig.sweep))
    return tuple(LeftOut(setting=s, why=why) for s, why in reasons if why is not None)


def swept_workloads(rig: Rig) -> tuple[WorkloadSpec, ...]:
    """Return the workloads of every launch of the sweep, with its repeats."""
    spec = rig.sweep
    if spec is None:
        return ()
    chosen = [w for w in rig.workloads if not spec.workloads or w.name in spec.workloads]
    repeats = spec.repeats
    return tuple(w if repeats is None else w.model_copy(update={"repeats": repeats}) for w in chosen)


def setting_of(rig: Rig, launch_id: str) -> Setting | None:
    """Return the setting that a launch's id names; None for the twins, and for launches of no sweep."""
    name = launch_id.partition(MARK)[2]
    return next((s for s in settings_of(rig) if s.name == name), None)


def swept(rig: Rig, launch_id: str) -> Rig:
    """Return the rig as one launch of the sweep has it: the sweep's workloads, and the arm with its setting."""
    update: dict[str, object] = {"workloads": swept_workloads(rig)}
    setting = setting_of(rig, launch_id)
    if setting is not None and rig.sweep is not None:
        name, own = rig.sweep.arm, setting.model_dump()
        update["arms"] = tuple(a.model_copy(update=own) if a.name == name else a for a in rig.arms)
    return rig.model_copy(update=update)


def together(settings: Sequence[Setting]) -> str:
    """Return several settings in words: "2 and 3 steps"."""
    if all(s.topk == 1 for s in settings) and len(settings) > 1:
        numbers = [str(s.num_steps) for s in settings]
        return f"{', '.join(numbers[:-1])} and {numbers[-1]} steps"
    return " and ".join(s.words for s in settings)


def _combined(spec: SweepSpec) -> Iterator[Setting]:
    """Yield every combination; a chain has as many tokens as it has steps and one more, whatever is written."""
    for steps in spec.num_steps:
        for topk in spec.topk:
            for tokens in (steps + 1,) if topk == 1 else spec.num_draft_tokens:
                yield Setting(num_steps=steps, topk=topk, num_draft_tokens=tokens)


def _why_not(rig: Rig, setting: Setting) -> str | None:
    if setting.topk == 1 or rig.sweep is None:
        return None
    steps, topk, tokens = setting.num_steps, setting.topk, setting.num_draft_tokens
    # The first step drafts topk tokens, each further one topk for each of the topk that go on.
    most = 1 + topk + (steps - 1) * topk**2
    if tokens > most:
        return f"so small a tree has at most {most} tokens to verify"
    if tokens <= steps:
        return f"the last of {steps} steps could never be accepted: {steps + 1} tokens at least"
    arm = rig.arm(rig.sweep.arm)
    backends = [str(b) for name in _BACKENDS if (b := argument(rig, arm, name)) is not None]
    if "trtllm_mha" in backends:
        return "trtllm_mha takes topk = 1 only"
    if is_on(rig, arm, "speculative_use_rejection_sampling"):
        return "rejection sampling takes topk = 1 only"
    page, named = argument(rig, arm, "page_size"), argument(rig, arm, "attention_backend")
    if isinstance(page, int) and page > 1 and named is not None and named not in _PAGED_TREES:
        return f"a tree with page_size = {page} needs one of {', '.join(_PAGED_TREES)}, not {named}"
    return None
