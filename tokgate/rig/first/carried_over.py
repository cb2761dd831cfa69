"""A first rig that begins with another one: its settings are taken over, and what belongs to the other host is not."""

from __future__ import annotations

import copy
from typing import Any

from tokgate.rig.commented import Page
from tokgate.rig.first.choices import Based, Choices
from tokgate.rig.first.gate import first_gate
from tokgate.rig.first.heading import description, gpus_table, host_table
from tokgate.rig.first.server import tp_size

# Numbers of the other host, or what it was looked at with.
_LEFT = ("budgets", "schema_number", "name", "description", "simulated", "host", "gpus")


def carried_over(chosen: Choices, based: Based, *, date: str) -> Page:
    """Return a rig with the arms, arguments, variables and workloads of `based`, on the host that was asked."""
    page = Page({}, head=_head(chosen, based, date))
    old = copy.deepcopy(dict(based.data))
    data = page.data
    data |= {"schema_number": 1, "name": chosen.name.value, "description": description(chosen)}
    page.beside["name",] = f"{chosen.name.words}; must be the file's name"
    if chosen.simulated:
        data["simulated"] = True
        page.beside["simulated",] = f"rig {based.name}: never compared with a real machine"
    data["host"] = host_table(page, chosen)
    data["gpus"] = {**old.get("gpus", {}), **gpus_table(page, chosen)}
    for key in ("tolerance_mib", "wait_s", "reader"):
        if key in old.get("gpus", {}):
            data["gpus"][key] = old["gpus"][key]
            page.beside["gpus", key] = f"rig {based.name}"
    if len(chosen.gpus.value.names) != 1:
        data["gpus"].pop("model", None)
    data["server"] = _server(page, chosen, old.get("server", {}), based)
    for key, value in old.items():
        if key in _LEFT or key == "server":
            continue
        data[key] = value
        below = value if key == "prompt_sets" and isinstance(value, dict) else [None]
        for name in below:
            page.above[(key,) if name is None else (key, name)] = [f"rig {based.name}"]
    _arms(page, chosen)
    _fit_prompts(page, chosen, old)
    if chosen.model.value != old.get("server", {}).get("model_path") and "lossless" in data:
        data["lossless"] = {**data["lossless"], "mode": "near-tie"}
        page.beside["lossless", "mode"] = "default: of other weights than the rig's nothing exact is known"
    kept = [b for b in old.get("budgets", ()) if "break_even_margin" in b and chosen.draft is not None]
    if kept:
        data["budgets"] = kept
        page.above["budgets",] = [
            f"rig {based.name}; derived from the control arm of each session, no number of a host"
        ]
    _without_speculation(page, chosen)
    fresh = first_gate(chosen, date=date)
    tail = next((lines for lines in fresh.after.values() if any("TO BE SET" in one for one in lines)), [])
    page.after.setdefault((next(reversed(data)),), []).extend(tail)
    return page


def _head(chosen: Choices, based: Based, date: str) -> list[str]:
    lines = first_gate(chosen, date=date).head
    lines[3] = f"asked host, default, you, or the rig {based.name}, with which it began."
    return lines


def _server(page: Page, chosen: Choices, old: dict[str, Any], based: Based) -> dict[str, Any]:
    here = ("server",)
    page.parts.add(here)
    table = {**old, "python": chosen.python.value, "model_path": chosen.model.value}
    for key in table:
        page.beside[*here, key] = f"rig {based.name}"
    version = f", SGLang {chosen.sglang}" if chosen.sglang else ""
    page.beside[*here, "python"] = chosen.python.words + version
    page.beside[*here, "model_path"] = chosen.model.words
    for key in ("args", "environment", "nccl"):
        if key in table:
            page.above["server", key] = [f"rig {based.name}"]
    args = dict(old.get("args", {}))
    size = args.get("tp_size", 1)
    count = chosen.gpus.value.count
    if isinstance(size, int) and count and size > count:
        new = tp_size(chosen.gpus.value, chosen.model_seen)
        args["tp_size"] = new.value
        page.beside["server", "args", "tp_size"] = new.words
    if "args" in table:
        table["args"] = args
    return table


def _arms(page: Page, chosen: Choices) -> None:
    arms = page.data["arms"] = [dict(arm) for arm in page.data.get("arms", ())]
    page.parts.add(("arms",))
    if chosen.draft is None:
        page.data["arms"] = [arm for arm in arms if arm.get("kind") != "eagle3"]
        return
    for index, arm in enumerate(arms):
        if arm.get("kind") == "eagle3":
            arm["draft_model_path"] = chosen.draft.value
            page.beside["arms", index, "draft_model_path"] = chosen.draft.words


def _without_speculation(page: Page, chosen: Choices) -> None:
    """Leave out what only speculation has, and what names an arm that is not there."""
    if chosen.draft is not None:
        return
    for key in ("sweep", "lossless", "twins", "instruments"):
        page.data.pop(key, None)
        page.above.pop((key,), None)
    page.data["twins"] = []


def _fit_prompts(page: Page, chosen: Choices, old: dict[str, Any]) -> None:
    seen = chosen.model_seen
    sets = page.data["prompt_sets"] = {k: dict(v) for k, v in old.get("prompt_sets", {}).items()}
    for name, prompts in sets.items():
        if seen is None or seen.config.vocab_size is None or not isinstance(prompts.get("last_id"), int):
            continue
        if prompts["last_id"] >= seen.config.vocab_size:
            prompts["last_id"] = seen.config.vocab_size - 1
            prompts["first_id"] = min(prompts.get("first_id", 0), max(0, seen.config.vocab_size - 2))
            page.beside["prompt_sets", name, "last_id"] = (
                f"asked host: the vocabulary has {seen.config.vocab_size}"
            )
