"""The request of one generation of a workload."""

from __future__ import annotations

import uuid
from pathlib import Path

from tokgate.client.prompts import payload, prompt
from tokgate.client.stream import RESPONSE_LIMIT, Request
from tokgate.records import Launch
from tokgate.rig.models import Rig
from tokgate.rig.workload import WorkloadSpec

from .plan import LOSSLESS


def request_of(rig: Rig, launch: Launch, workload: WorkloadSpec, index: int, *, root: Path) -> Request:
    """Return the request of prompt `index`. BenchFault: the prompts cannot be read."""
    value = prompt(rig.prompt_sets[workload.prompts], index, root=root)
    request_id = f"{launch.id}-{workload.name}-{index}-{uuid.uuid4().hex[:8]}"
    near_tie = rig.lossless is not None and rig.lossless.mode == "near-tie"
    ask_logprobs = near_tie and workload.name == LOSSLESS and launch.role == "control"
    return Request(
        request_id=request_id,
        endpoint=workload.endpoint,
        payload=payload(
            workload.endpoint,
            value,
            output_tokens=workload.output_tokens,
            request_id=request_id,
            top_logprobs=2 if ask_logprobs else 0,
        ),
        asked_tokens=workload.output_tokens,
    )


def response_limit(tokens: int) -> int:
    """Bytes a response may have: /generate repeats everything said so far in every event, about 10 bytes a token.

    A server started with --incremental-streaming-output needs none of this.
    """
    return max(RESPONSE_LIMIT, 10 * tokens * tokens + 2048 * tokens)
