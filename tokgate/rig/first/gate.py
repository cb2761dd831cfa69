"""A sensible first gate for a host: the control arm, EAGLE-3 with two and three steps, one to sixteen streams."""

from __future__ import annotations

from typing import Any

from tokgate.rig.commented import Page
from tokgate.rig.first.choices import Choices
from tokgate.rig.first.heading import description, gpus_table, head, host_table
from tokgate.rig.first.server import server_table

# Token ids at random: of a large vocabulary its ordinary middle, since special tokens stand at the ends.
_FEW_IDS = 8000
_LOWEST_ID, _HIGHEST_ID = 1000, 100_000
# steps of the draft -> tokens that a cycle verifies; a chain (topk 1) has always one more. Two steps are what a box behind PCIe
# gains most by, three what SGLang's documents begin with.
_STEPS = (2, 3)


def first_gate(chosen: Choices, *, date: str) -> Page:
    """Return the rig; `date` is when the host was asked, ISO 8601."""
    page = Page({}, head=head(chosen, date))
    data = page.data
    data["schema_number"] = 1
    data["name"] = chosen.name.value
    data["description"] = description(chosen)
    page.beside["name",] = f"{chosen.name.words}; must be the file's name"
    if chosen.simulated:
        data["simulated"] = True
        page.beside["simulated",] = "asked host: its GPUs say so; never compared with a real machine"
    data["host"] = host_table(page, chosen)
    data["gpus"] = gpus_table(page, chosen)
    data["server"] = server_table(page, chosen)
    if chosen.draft is not None:
        data["instruments"] = {"workloads": ["single"], "repeats": 6, "cost_pairs": 6}
        page.above["instruments",] = [
            "Each EAGLE-3 arm is started once more with the instruments of its phases; an interval needs six of a kind."
        ]
    data["sampling"] = {"gpu_time_s": 600 if chosen.on_cpu else 1800}
    page.above["sampling",] = [
        "Where the planned starts leave a question open, arms are started again, for so long."
    ]
    page.beside["sampling", "gpu_time_s"] = "default: seconds of the machine, 0 switches it off"
    if chosen.draft is not None:
        data["sweep"] = {"arm": f"eagle3-{_STEPS[0]}step", "num_steps": [1, 2, 3, 4], "most": 6}
        page.above["sweep",] = [
            f"pytest perf_tests -m sweep --rig {chosen.name.value}: which setting is the best, never part of the gate."
        ]
    data["arms"] = _arms(page, chosen)
    prompts = _prompt_sets(page, chosen)
    data["prompt_sets"] = prompts
    data["workloads"] = _workloads(page, chosen, prompts)
    if chosen.draft is not None:
        data["lossless"] = _lossless(page, prompts)
    _limits(page, chosen)
    return page


def _arms(page: Page, chosen: Choices) -> list[dict[str, Any]]:
    page.parts.add(("arms",))
    page.above["arms",] = [
        "One server start each, the control arm (plain decoding) a second time at the end: that one tells drift."
    ]
    arms: list[dict[str, Any]] = [{"name": "baseline", "kind": "baseline"}]
    if chosen.draft is None:
        page.after["arms",] = [
            "",
            "# No draft was named: nothing speculates. With an EAGLE-3 draft of this target:",
            "# [[arms]]",
            '# name = "eagle3-2step"',
            '# kind = "eagle3"',
            '# draft_model_path = "…"',
            "# num_steps = 2",
            "# topk = 1",
            "# num_draft_tokens = 3",
        ]
        return arms
    for index, steps in enumerate(_STEPS, start=1):
        arms.append(
            {
                "name": f"eagle3-{steps}step",
                "kind": "eagle3",
                "draft_model_path": chosen.draft.value,
                "num_steps": steps,
                "topk": 1,
                "num_draft_tokens": steps + 1,
            }
        )
        page.beside["arms", index, "draft_model_path"] = chosen.draft.words
        page.beside["arms", index, "num_steps"] = "default: draft steps of one cycle"
        page.beside["arms", index, "topk"] = "default: a chain, no tree"
        page.beside["arms", index, "num_draft_tokens"] = "of a chain always num_steps + 1"
    if chosen.fits is not None:
        page.above["arms", 1] = [f"The draft is of this target as far as config.json tells: {chosen.fits}."]
    return arms


def _prompt_sets(page: Page, chosen: Choices) -> dict[str, Any]:
    sets: dict[str, Any] = {}
    seen = chosen.model_seen
    vocabulary = seen.config.vocab_size if seen is not None else None
    if chosen.prompts is not None and (seen is None or seen.tokenizer):
        sets["mixed"] = {"kind": "text", "file": chosen.prompts}
        page.above["prompt_sets", "mixed"] = [
            "What a draft gets right depends on what is said: real prompts, English and code by turns."
        ]
        page.beside["prompt_sets", "mixed", "file"] = "default: relative to this file"
    if vocabulary is not None or not sets:
        page.parts.add(("prompt_sets", next(iter(sets), "random")))
        few = vocabulary is not None and vocabulary < _FEW_IDS
        first = 3 if few else _LOWEST_ID
        last = min(_HIGHEST_ID, int((vocabulary or 32000) * (1 if few else 0.75))) - 1
        sets["random"] = {
            "kind": "token-ids",
            "length": 64 if few else 512,
            "first_id": first,
            "last_id": max(last, first + 1),
            "seed": 25,
        }
        words = (
            f"asked host: the vocabulary has {vocabulary}"
            if vocabulary
            else "default: below 32000, as no vocabulary is known"
        )
        page.above["prompt_sets", "random"] = [
            "Ids at random, the same for the same seed. One beyond the vocabulary takes the server down."
        ]
        page.beside["prompt_sets", "random", "last_id"] = words
    return sets


def _workloads(page: Page, chosen: Choices, prompts: dict[str, Any]) -> list[dict[str, Any]]:
    page.above["workloads",] = [
        (
            "repeats x concurrency generations are judged, after `warmup` starts that are not. One stream is what latency is about; "
            "with more of them speculation gains less, and somewhere nothing."
        )
    ]
    several = "random" if "random" in prompts else "mixed"
    tokens = (128, 48, 32) if chosen.on_cpu else (256, 192, 192)
    streams = (1, 4) if chosen.on_cpu else (1, 4, 16)
    return [
        {
            "name": "single" if many == 1 else f"conc{many}",
            "prompts": ("mixed" if "mixed" in prompts else "random") if many == 1 else several,
            "concurrency": many,
            "output_tokens": tokens[i],
            "repeats": 8,
            "warmup": 1 if chosen.on_cpu else 3,
            "timeout_s": 120 if many < 16 else 240,
        }
        for i, many in enumerate(streams)
    ]


def _lossless(page: Page, prompts: dict[str, Any]) -> dict[str, Any]:
    page.above["lossless",] = [
        (
            "Speculation must not change what is said. Of real weights another batch shape reorders sums: a first divergence is "
            "forgiven only where two tokens are as good as equal."
        )
    ]
    return {
        "mode": "near-tie",
        "prompts": "mixed" if "mixed" in prompts else "random",
        "count": 8,
        "output_tokens": 64 if _is_small(prompts) else 128,
        "max_gap": 0.05,
    }


def _is_small(prompts: dict[str, Any]) -> bool:
    """Say whether the model is a tiny one, by its vocabulary."""
    return bool(prompts.get("random", {}).get("first_id") == 3)


def _limits(page: Page, chosen: Choices) -> None:
    if chosen.draft is not None:
        page.data["twins"] = [{"arm": "*", "workload": "single", "at_least": 1.0}]
        page.parts.add(("twins",))
        page.above["twins",] = [
            "Speculation must not lose to the plain server of the same session: no number that anyone has to know."
        ]
        page.beside["twins", 0, "at_least"] = "default: a speed-up; 1.0 is not slower"
    if chosen.on_cpu:
        page.data["floors"] = {
            name: {"relative": 0.2, "absolute": floor}
            for name, floor in (("decode_tok_s", 2.0), ("cycle_ms", 2.0), ("tpot_ms", 2.0), ("e2e_ms", 100.0))
        }
        page.above["floors",] = [
            "A busy machine spreads by 20 %: smaller changes are not worth calling on it."
        ]
    last = ("floors",) if chosen.on_cpu else ("twins",) if chosen.draft is not None else ("workloads",)
    page.after.setdefault(last, []).extend(
        [
            "",
            "# Fixed limits: TO BE SET after the first baseline, some 3 % below what this host gave; a limit at the mean itself is",
            f"# missed by every second healthy run. `tokgate baseline show {chosen.name.value}` prints the numbers.",
            "# [[budgets]]",
            '# metric = "decode_tok_s"',
            '# arm = "baseline"',
            '# workload = "single"',
            "# at_least = …",
        ]
    )
