"""What the stand-in says and when: outputs that follow from the prompt, a pace, and counters that tell it.

The counters tell the pace it was built for, not the one that a busy machine let it keep: verdicts on them are
the same on any machine, and what the client itself saw has wide floors in the tests' rigs.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

FIRST_TOKEN_S = 0.02
STEP_S = 1 / 300  # a plain decode step
CYCLE_S = STEP_S * 1.25  # draft and verify
ACCEPTED = (0, 1, 1, 2, 0, 1, 1)  # drafts per verify call: accept length 1.86


@dataclass(frozen=True)
class Fault:
    """One order to misbehave. Requests are counted from 1, streamed ones only: warm-ups are the first.

    die:N, hang:N (SIGKILL, SIGSTOP in the middle of request N) · cut:N · refuse:N (500 from N on) · reuse (prefix
    cache hits) · accept-nothing · slow:FACTOR (a cycle) · garble (another output under speculation) ·
    ignore-term · leave-a-child · drop-variable:NAME (of one child) · write-nothing · fall-silent · run-out-of-memory
    """

    kind: str = ""
    argument: str = ""

    @classmethod
    def from_text(cls, text: str) -> Fault:
        kind, _, argument = text.partition(":")
        return cls(kind, argument)

    def at(self, kind: str, request: int) -> bool:
        return self.kind == kind and request == int(self.argument)


@dataclass(frozen=True)
class Answer:
    """A generation as planned: how many tokens are out after which time, and the counters at its end."""

    ids: list[int]
    due: list[tuple[float, int]]  # seconds after the request, tokens so far
    meta: dict[str, Any]
    last: dict[str, Any]  # counters that only the last chunk has


def plan(
    prompt: str, prompt_tokens: int, wanted: int, *, speculative: bool, pace: float, fault: Fault
) -> Answer:
    """Draw output, arrivals and counters from the prompt: the same prompt, the same answer."""
    seed = zlib.crc32(prompt.encode())
    drawn = random.Random(seed)
    ids = [drawn.randrange(3, 2000) for _ in range(wanted)]
    if speculative and fault.kind == "garble":
        ids[wanted // 2] += 1
    pace *= 1 + (seed % 7 - 3) / 2000  # prompts differ a little
    due, histogram = [(FIRST_TOKEN_S, 1)], [0, 0, 0]
    at = FIRST_TOKEN_S
    while due[-1][1] < wanted:
        drafts = 0
        if speculative:
            drafts = 0 if fault.kind == "accept-nothing" else ACCEPTED[len(due) % len(ACCEPTED)]
            histogram[drafts] += 1
        step = CYCLE_S if speculative else STEP_S
        at += step * pace * (float(fault.argument) if fault.kind == "slow" else 1)
        due.append((at, min(wanted, due[-1][1] + 1 + drafts)))
    calls = sum(histogram)
    meta: dict[str, Any] = {
        "id": f"{seed:08x}",
        "finish_reason": None,
        "prompt_tokens": prompt_tokens,
        "weight_version": "default",
        "num_retractions": 0,
        "cached_tokens": prompt_tokens - 1 if fault.kind == "reuse" else 0,
        "dp_rank": None,
    }
    last: dict[str, Any] = {
        "finish_reason": {"type": "length", "length": wanted},
        "e2e_latency": at,
        "first_token_latency": FIRST_TOKEN_S,
        "queue_time": 0.0002,
    }
    if wanted > 1:
        last["decode_throughput"] = (wanted - 1) / (at - FIRST_TOKEN_S)
    if calls:
        last |= {
            "spec_verify_ct": calls,
            "spec_accept_length": wanted / calls,
            "spec_num_correct_drafts": histogram[1] + 2 * histogram[2],
            "spec_num_proposed_drafts": 2 * calls,
            "spec_correct_drafts_histogram": histogram,
        }
    return Answer(ids, due, meta, last)


def generate_events(answer: Answer) -> Iterator[tuple[float, dict[str, Any]]]:
    """SGLang's own stream: text and ids are cumulative."""
    for at, total in answer.due:
        ended = total == len(answer.ids)
        meta = {**answer.meta, "completion_tokens": total, **(answer.last if ended else {})}
        text = "".join(f"t{i} " for i in answer.ids[:total])
        yield at, {"text": text, "output_ids": answer.ids[:total], "meta_info": meta}


def completion_events(answer: Answer) -> Iterator[tuple[float, dict[str, Any]]]:
    """OpenAI's: text comes in pieces, counts beside them, speculation at the end."""
    before = 0
    for at, total in answer.due:
        ids, before = answer.ids[before:total], total
        reason = "length" if total == len(answer.ids) else None
        choice = {
            "index": 0,
            "text": "".join(f"t{i} " for i in ids),
            "token_ids": ids,
            "finish_reason": reason,
        }
        usage = {
            "prompt_tokens": answer.meta["prompt_tokens"],
            "completion_tokens": total,
            "prompt_tokens_details": {"cached_tokens": answer.meta["cached_tokens"]},
        }
        yield at, {"choices": [choice], "usage": usage}
    details = {key: value for key, value in answer.last.items() if key.startswith("spec_")}
    if details:
        yield at, {"choices": [], "sglext": {"spec_tokens_details": details}}
