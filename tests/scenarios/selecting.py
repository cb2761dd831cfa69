"""Which launches a row keeps to, and the settings of the smallest session that can still be judged."""

from __future__ import annotations

CONTROL, EAGLE3, PROOF = "01-baseline", "02-eagle3-2step", "00-nccl-proof"
CARRIER = "05-eagle3-2step-phases"  # of the instruments

# ---- what looks
AT_START = "test_clean_slate_at_the_start"  # no server at all
AT_END = "test_clean_slate_at_the_end"
PLAIN = f"{CONTROL} and (decode_throughput or environment_truth)"
SPECULATING = f"{EAGLE3} and (decode_throughput or acceptance_length or cycle_time)"
TRUTH = f"{CONTROL} and environment_truth"
# Of one launch alone: an arm's own numbers take the control at the end as well.
ALONE = f"{CONTROL} and (test_cache_state or environment_truth)"
NCCL_TRUTH = "nccl_truth"
TWIN = "speculation_beats_its_twin"
PHASES = "verify_latency or verify_share or phases_agree"
# Without the budget that is derived from break-even: the controls it asks for would be two launches more.
FIXED_VERIFY = 'budgets=[{metric="verify_ms", arm="eagle3-2step", workload="single", at_most=19.6}]'


def one_stream(*, tokens: int = 32, repeats: int = 6, limit_s: float = 10) -> tuple[str, ...]:
    """Return settings for the smallest session that can still be judged: an interval takes six values."""
    return (
        f'workloads=[{{name="single", prompts="short", output_tokens={tokens}, repeats={repeats}, timeout_s={limit_s}}}]',
        "lossless.count=1",
        "lossless.output_tokens=4",
    )


def phases_of_one_stream() -> tuple[str, ...]:
    """Return the same with instruments that measure phases and nothing else."""
    return (*one_stream(), "instruments.cost_pairs=0", "instruments.trace=false")


def as_stored(*, repeats: int = 6) -> tuple[str, ...]:
    """Return settings that leave the identity of the rig's single stream as it is, and take little else."""
    return (
        f"workloads.single.repeats={repeats}",
        "workloads.conc8.repeats=1",
        "workloads.conc8.warmup=0",
        "workloads.conc8.output_tokens=2",
        "lossless.count=1",
        "lossless.output_tokens=4",
    )


AT_ONCE = ("gpus.wait_s=2",)  # for memory that will not come back anyhow
