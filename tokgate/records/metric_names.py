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
    "token_ms",
    "token_p95_ms",
    "token_p99_ms",
    "chunk_gap_p95_ms",
    "chunk_gap_p99_ms",
)

# Of the tokens of a whole barrier start: told by the check on them, and stored in no baseline.
TOKEN_METRIC_NAMES = ("token_ms", "token_p95_ms", "token_p99_ms", "chunk_gap_p95_ms", "chunk_gap_p99_ms")

# Told by the instruments of a launch of its own, never by a timed one.
PHASE_METRIC_NAMES = ("verify_ms", "verify_p95_ms", "verify_share")

# Their limit may be said as a margin to break-even: the rest of its arithmetic is measured.
BREAK_EVEN_METRIC_NAMES = ("verify_ms", "verify_p95_ms", "cycle_ms", "accept_length")

# Exist only where a draft model runs: the plain server makes no verify calls.
SPECULATION_METRIC_NAMES = ("cycle_ms", "accept_length", *PHASE_METRIC_NAMES)
