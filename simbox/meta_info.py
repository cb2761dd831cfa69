"""meta_info in the dialect of the version spoken.

The field names of 0.5.9 and 0.5.23, and what they count: up to 0.5.11 decode_throughput divides all tokens by the
decode time, later all but the first, which is prefill's. A verify that overshoots the asked length counts in full.
"""

from __future__ import annotations

import json
from typing import Any

from simbox.request import Request


def running(request: Request, version: str) -> tuple[str, str]:
    """Return the JSON in front of and behind completion_tokens, for the chunks of a running request."""
    text = json.dumps(
        _head(request, version, finish=None) | {"completion_tokens": 0} | _middle(request, version),
        separators=(",", ":"),
    )
    before, _, after = text[1:-1].partition('"completion_tokens":0')
    return before, after


def final(
    request: Request, version: str, *, draft_tokens: int, throughput_factor: float = 1.0
) -> dict[str, Any]:
    """Return the whole of it, for a finished request."""
    n = len(request.output)
    info = _head(request, version, finish={"type": "length", "length": request.max_new})
    info["completion_tokens"] = n
    info |= _middle(request, version)
    end, first, start = request.end_ns or 0, request.first_ns or 0, request.received_ns
    info["e2e_latency"] = (end - start) / 1e9
    if request.accepted:
        info |= _speculation(request, version, n, draft_tokens)
    info["request_received_ts"] = request.received_wall
    decode_s = (end - first) / 1e9
    if version == "0.5.9":
        info["request_sent_to_scheduler_ts"] = request.received_wall + 0.0004
        info["response_sent_to_client_ts"] = request.wall(first)
        info["decode_finished_ts"] = request.wall(end)
        info["inference_time"] = (end - (request.entry_ns or start)) / 1e9
        tokens = n
    else:
        info["first_token_latency"] = (first - start) / 1e9
        info["api_server_dispatch_finish_ts"] = request.received_wall + 0.0005
        info["response_sent_to_client_ts"] = request.wall(first)
        info["request_finished_ts"] = request.wall(end)
        tokens = n - 1
    if decode_s > 0:
        info["decode_throughput"] = tokens / decode_s * throughput_factor
    return info


def _head(request: Request, version: str, *, finish: dict[str, Any] | None) -> dict[str, Any]:
    info: dict[str, Any] = {
        "id": request.rid,
        "finish_reason": finish,
        "prompt_tokens": len(request.prompt),
        "weight_version": "default",
    }
    entry = request.wall(request.entry_ns)
    queue_s = ((request.entry_ns or request.received_ns) - request.received_ns) / 1e9
    if version == "0.5.9":
        info |= {
            "total_retractions": 0,
            "queue_time": queue_s,
            "prefill_launch_delay": None,
            "prefill_launch_latency": None,
        }
        return info | {"prefill_finished_ts": request.wall(request.first_ns)}
    info |= {
        "num_retractions": 0,
        "storage_prefetch_wait": 0.0,
        "storage_staging_wait": 0.0,
        "forward_entry_time": entry,
    }
    return info | {
        "prefill_finished_time": request.wall(request.first_ns),
        "queue_time": queue_s,
        "reasoning_tokens": 0,
    }


def _middle(request: Request, version: str) -> dict[str, Any]:
    if version == "0.5.9":
        return {"cached_tokens": request.cached}
    details = {"device": request.cached, "host": 0} if request.cached else None
    return {"cached_tokens": request.cached, "cached_tokens_details": details, "dp_rank": None}


def _speculation(request: Request, version: str, n: int, draft_tokens: int) -> dict[str, Any]:
    accepted, verifies = sum(request.accepted), len(request.accepted)
    proposed = verifies * (draft_tokens - 1)
    rate = accepted / proposed if proposed else 0.0
    if version == "0.5.9":
        return {
            "spec_accept_rate": rate,
            "spec_accept_length": n / verifies,
            "spec_accept_token_num": accepted,
            "spec_draft_token_num": proposed,
            "spec_verify_ct": verifies,
            "spec_accept_histogram": request.histogram,
        }
    return {
        "spec_accept_rate": rate,
        "spec_accept_length": n / verifies,
        "spec_num_correct_drafts": accepted,
        "spec_num_proposed_drafts": proposed,
        "spec_verify_ct": verifies,
        "spec_correct_drafts_histogram": request.histogram,
    }
