"""One verdict of each outcome, and one full of hostile text."""

from __future__ import annotations

from tests.report.hostile import HOSTILE
from tokgate.records import (
    Difference,
    Outcome,
    Reference,
    Verdict,
)


def verdicts() -> tuple[Verdict, ...]:
    """All six outcomes, then one verdict for each hostile string."""
    return (*six_outcomes(), *(hostile(text) for text in HOSTILE))


def six_outcomes() -> tuple[Verdict, ...]:
    return (
        Verdict(
            check="time_to_first_token",
            outcome=Outcome.PASS,
            headline="first token after 80.0 ms on 01-baseline, single",
            arm="baseline",
            launch="01-baseline",
            workload="single",
            metric="ttft_ms",
            value=80.0,
            unit="ms",
            n=15,
            interval=(79.0, 81.5),
            floor="10.0% and 5 ms, both exceeded",
        ),
        Verdict(
            check="stored_baseline",
            outcome=Outcome.IMPROVED,
            headline="decode 88.8 tok/s on 01-baseline, single, stored 84.1 tok/s (+5.6 %)",
            arm="baseline",
            launch="01-baseline",
            workload="single",
            metric="decode_tok_s",
            value=88.8,
            unit="tok/s",
            n=15,
            interval=(0.051, 0.061),
            reference=Reference(kind="baseline", label="baselines/kimi-8gpu/1f0c.json", value=84.1, n=15),
            change=0.056,
            floor="3.0% and 0.5 tok/s, both exceeded",
            differs=(Difference(key="gpu.0.driver", before="580.95.05", now="590.48.01"),),
        ),
        Verdict(
            check="speculation_beats_its_twin",
            outcome=Outcome.REGRESSED,
            headline="speculation loses: 60.2 tok/s where the control arm makes 88.5 (-32.0 %)",
            arm="eagle3-2step",
            launch="02-eagle3-2step",
            workload="single",
            metric="decode_tok_s",
            value=60.2,
            unit="tok/s",
            n=15,
            interval=(-0.326, -0.314),
            reference=Reference(kind="twin", label="baseline arm of this session", value=88.5, n=30),
            change=-0.32,
            floor="3.0% and 0.5 tok/s, both exceeded",
            evidence=("cycle 30.7 ms, break-even 20.9 ms at accept length 1.85",),
            warnings=("1 of 16 generations failed: the stream ended before [DONE]",),
            do="look for 'cuda graph: False' on decode lines: grep 'Decode batch' launches/02-eagle3-2step/server.log",
            raw=("launches/02-eagle3-2step/generations.jsonl",),
        ),
        Verdict(
            check="steadiness",
            outcome=Outcome.INCONCLUSIVE,
            headline="02-eagle3-2step, conc4: the series still rises, 16 generations are too few",
            arm="eagle3-2step",
            launch="02-eagle3-2step",
            workload="conc4",
            metric="total_tok_s",
            value=None,
            n=4,
            do="measure longer: --rig-set workloads.conc4.repeats=12",
        ),
        Verdict(
            check="decode_throughput",
            outcome=Outcome.INVALID,
            headline="the server of 03-eagle3-pinned did not start: it does not fit into GPU memory",
            arm="eagle3-pinned",
            launch="03-eagle3-pinned",
            workload="single",
            metric="decode_tok_s",
            do="free GPU 3, held by pid 4242 (python3)",
        ),
        Verdict(
            check="stored_baseline",
            outcome=Outcome.NO_BASELINE,
            headline="no stored baseline for 02-eagle3-2step, single",
            arm="eagle3-2step",
            launch="02-eagle3-2step",
            workload="single",
            metric="decode_tok_s",
            value=60.2,
            unit="tok/s",
            n=15,
            do="tokgate baseline update kimi-8gpu --why 'first measurement'",
        ),
    )


def hostile(text: str) -> Verdict:
    """A verdict with `text` wherever text can stand."""
    return Verdict(
        check=text,
        outcome=Outcome.INCONCLUSIVE,
        headline=text,
        arm=text,
        workload=text,
        metric=text,
        unit=text,
        value=float("nan"),
        reference=Reference(kind="budget", label=text, value=float("inf")),
        floor=text,
        evidence=(text,),
        warnings=(text,),
        differs=(Difference(key=text, before=None, now=text),),
        do=text,
        raw=(text,),
    )
