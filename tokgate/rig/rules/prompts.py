"""Prompt sets can be read, and hold enough for the workloads that use them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tokgate.rig.models import Rig
from tokgate.rig.problems import Problem
from tokgate.rig.spelling import KeyPath, spell
from tokgate.rig.workload import TextPrompts, TokenIdPrompts

# The largest vocabularies served today have about 260 000 entries. An id beyond the vocabulary does not
# fail one request: it kills the whole server.
_LARGEST_ID = 999_999


def broken_prompts(rig: Rig) -> Iterator[Problem]:
    """Check every prompt set; files of text prompts are opened and read."""
    lengths: dict[str, int] = {}
    for name, prompts in rig.prompt_sets.items():
        here: KeyPath = ("prompt_sets", name)
        if isinstance(prompts, TokenIdPrompts):
            yield from _token_ids(prompts, here)
        else:
            found = list(_text_file(prompts, here))
            yield from (p for p in found if isinstance(p, Problem))
            lengths[name] = sum(not isinstance(p, Problem) for p in found)
    lossless = {rig.lossless.prompts} if rig.lossless else set()
    for i, workload in enumerate(rig.workloads):
        if workload.cache != "unique":
            continue
        others = lossless | {w.prompts for w in rig.workloads if w is not workload}
        if workload.prompts in others:
            yield Problem(
                ("workloads", i, "prompts"),
                f'{spell(workload.prompts)}, used elsewhere too, with cache = "unique"',
                'a prompt set of its own, or cache = "flush": used a second time a prompt is in the prefix cache',
            )
        available = lengths.get(workload.prompts, 0)
        needed = (workload.warmup + workload.repeats) * workload.concurrency
        if 0 < available < needed:
            yield Problem(
                ("workloads", i, "cache"),
                f'"unique" with {available} prompts in {spell(workload.prompts)} for {needed} generations',
                'a longer file, or cache = "flush": used a second time a prompt is in the prefix cache',
            )


def _token_ids(prompts: TokenIdPrompts, here: KeyPath) -> Iterator[Problem]:
    if prompts.last_id <= prompts.first_id:
        yield Problem((*here, "last_id"), spell(prompts.last_id), f"more than first_id = {prompts.first_id}")
    if prompts.last_id > _LARGEST_ID:
        yield Problem(
            (*here, "last_id"),
            spell(prompts.last_id),
            f"at most {_LARGEST_ID}: an id beyond the vocabulary kills the server",
        )


def _text_file(prompts: TextPrompts, here: KeyPath) -> Iterator[Problem | str]:
    """Yield the texts of the file, and a problem for each line that holds none."""
    path = (*here, "file")
    try:
        lines = Path(prompts.file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        yield Problem(
            path, f"{spell(prompts.file)} ({getattr(error, 'strerror', None) or error})", "a JSON-lines file"
        )
        return
    if not lines:
        yield Problem(path, f"{spell(prompts.file)}, empty", 'at least one line {"text": "…"}')
    for number, line in enumerate(lines, start=1):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        text = value.get("text") if isinstance(value, dict) else None
        if isinstance(text, str) and text.strip():
            yield text
        else:
            yield Problem(
                path, f"{spell(line)} in line {number} of {spell(prompts.file)}", 'a line {"text": "…"}'
            )
