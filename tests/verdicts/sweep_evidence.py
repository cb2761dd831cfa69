"""A sweep as a healthy session leaves it: two control launches, and one for each setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.verdicts.evidence import STEADY, make_launch, make_rig, series
from tokgate.records import LaunchEvidence, StartCause, StartFailure
from tokgate.rig.models import Rig
from tokgate.rig.sweep import setting_of
from tokgate.session.sweep_plan import sweep_launches

Rates = Sequence[float]
# Verify calls of 256 tokens: accept lengths 1.55, 1.86 and 2.03.
CALLS = {1: 165, 2: 138, 3: 126}
AROUND = (0.0, -0.2, 0.2, -0.1, 0.1, 0.05)  # spread of the six starts, in tok/s


def sweep_rig(**keys: Any) -> Rig:
    chosen = {"arm": "eagle3-2step", "num_steps": (1, 2, 3), "workloads": ("single",), **keys}
    return make_rig(sweep=chosen)


def around(tok_s: float, *, spread: float = 1.0) -> tuple[float, ...]:
    return tuple(tok_s + spread * offset for offset in AROUND)


def run(
    rig: Rig,
    rates: Mapping[str, Rates],
    *,
    before: Rates = STEADY,
    after: Rates = STEADY,
    failed: Mapping[str, StartCause] | None = None,
    workload: str = "single",
    concurrency: int = 1,
) -> tuple[LaunchEvidence, ...]:
    """Return every launch of the sweep that `rates` (by the setting's name) or `failed` speak of, and the twins."""
    made = []
    for launch in sweep_launches(rig):
        setting = setting_of(rig, launch.id)
        load: dict[str, Any] = {"workload": workload, "concurrency": concurrency}
        if setting is None:
            speeds = after if launch.id.endswith("again") else before
            made.append(
                make_launch(
                    series(speeds, launch=launch.id, **load),
                    id=launch.id,
                    arm=launch.arm,
                    role="sweep-control",
                )
            )
        elif setting.name in (failed or {}):
            cause = (failed or {})[setting.name]
            failure = StartFailure(cause=cause, headline="out of GPU memory", do="make less of it")
            made.append(LaunchEvidence(launch=launch, failure=failure))
        elif setting.name in rates:
            told = {
                "speculative_num_steps": setting.num_steps,
                "speculative_eagle_topk": setting.topk,
                "speculative_num_draft_tokens": setting.num_draft_tokens,
            }
            calls = CALLS[setting.num_steps]
            generations = series(rates[setting.name], launch=launch.id, verify_ct=calls, **load)
            made.append(
                make_launch(generations, id=launch.id, arm=launch.arm, role="sweep", server_info=told)
            )
    return tuple(made)


def chains(one: float, two: float, three: float, *, spread: float = 1.0) -> dict[str, Rates]:
    """Return rates for 1, 2 and 3 steps."""
    named = {"s1-k1-t2": one, "s2-k1-t3": two, "s3-k1-t4": three}
    return {name: around(tok_s, spread=spread) for name, tok_s in named.items()}
