"""What a session still has to find out: its verdicts on numbers, as the stop rule sees them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from tokgate.records import Outcome, Verdict
from tokgate.records.record import Record

# The checks on numbers of an arm, and whether the machine drifted: what others find inconclusive no restart settles.
NUMBERS = frozenset(
    (
        "acceptance_length", "cycle_time", "decode_throughput", "drift", "patch", "speculation_beats_its_twin",
        "stored_baseline",
        "time_to_first_token", "token_latency", "verify_latency", "verify_share",
    )
)  # fmt: skip

SPEED = frozenset(("decode_tok_s", "total_tok_s"))


class Question(Record):
    """One comparison. `wants` and `arm` name what is started: an arm, or another subject of it (subjects.py)."""

    kind: str  # "limit", "twin", "side", "stored" or "value"
    check: str
    arm: str
    workload: str
    metric: str
    settled: bool
    hopeless: bool  # open, and nothing that a session can measure would settle it
    void: bool = False  # cannot be judged: what it was measured in is invalid, and no restart mends that
    # Open beside a loss of speed of the same arm and workload that is called, and not about speed itself.
    moot: bool = False
    wants: dict[str, int] = {}  # further server runs; of an open question that is not hopeless
    why: str  # one sentence: how it stands

    @property
    def words(self) -> str:
        """Return "decode_tok_s of eagle3-2step, single"."""
        return f"{self.metric} of {self.arm}, {self.workload}"


def questions_of(verdicts: Sequence[Verdict]) -> tuple[Question, ...]:
    """Return a question for each verdict of NUMBERS on a metric of an arm under a workload.

    Only `inconclusive` is open: an invalid one is not mended by sampling, and a missing baseline stays away. Nothing
    is said of verdicts that are about no number. A dozen metrics say the same of one server: once its speed is called a loss, GPU
    time is spent on what its speed is compared with, and not on the others.
    """
    lost = {
        (v.arm, v.workload)
        for v in verdicts
        if v.check in NUMBERS and v.metric in SPEED and v.outcome is Outcome.REGRESSED
    }
    return tuple(_questions(verdicts, lost))


def _questions(
    verdicts: Sequence[Verdict], lost: Collection[tuple[str | None, str | None]]
) -> Iterator[Question]:
    for verdict in verdicts:
        if verdict.check not in NUMBERS or verdict.arm is None or verdict.workload is None:
            continue
        void = verdict.outcome is Outcome.INVALID
        if verdict.metric is None and not void:
            continue
        is_open = verdict.outcome is Outcome.INCONCLUSIVE
        wants = {arm: n for arm, n in sorted(verdict.wanted.items()) if n > 0} if is_open else {}
        yield Question(
            kind=_KINDS.get(verdict.reference.kind, "value") if verdict.reference else "value",
            check=verdict.check,
            arm=verdict.arm,
            workload=verdict.workload,
            metric=verdict.metric or "whatever is measured",
            settled=not is_open,
            void=void,
            hopeless=is_open and not wants,
            moot=is_open and verdict.metric not in SPEED and (verdict.arm, verdict.workload) in lost,
            wants=wants,
            why=verdict.headline,
        )


_KINDS = {"budget": "limit", "twin": "twin", "side": "side", "baseline": "stored"}
