"""The metrics that budgets and floors may name; what they mean is written beside their computation."""

from __future__ import annotations

METRIC_NAMES = (
    "decode_tok_s",
    "client_decode_tok_s",
    "ttft_ms",
    "tpot_ms",
    "cycle_ms",
    "accept_length",
    "total_tok_s",
    "e2e_ms",
    "verify_ms",
    "verify_p95_ms",
    "verify_share",
)

# Told by the instruments of a launch of its own, never by a timed one.
PHASE_METRIC_NAMES = ("verify_ms", "verify_p95_ms", "verify_share")

# Exist only where a draft model runs: the plain server makes no verify calls.
SPECULATION_METRIC_NAMES = ("cycle_ms", "accept_length", *PHASE_METRIC_NAMES)
