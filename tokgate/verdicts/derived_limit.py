"""The arithmetic of a limit that is a margin to break-even, for each metric that has one."""

from __future__ import annotations

from dataclasses import dataclass

from tokgate.rig.models import break_even_words

from .break_even import BreakEven
from .metrics import Metric


@dataclass(frozen=True)
class DerivedLimit:
    """One metric of one launch: what it may be for speculation to win by a margin."""

    metric: Metric
    cost: BreakEven
    margin: float
    value: float  # of the metric, at the median
    verify_ms: float | None  # what verify takes of the cycle, where the metric is one of verify

    @property
    def label(self) -> str:
        return break_even_words(self.metric.name, self.margin)

    @property
    def limit(self) -> float | None:
        """None: no verify is short enough."""
        if self.verify_ms is not None:
            return self.cost.phase_budget(self.verify_ms, self.margin)
        if self.metric.name == "accept_length":
            return self.cost.accept_budget(self.margin)
        return self.cost.cycle_budget(self.margin)

    @property
    def given(self) -> str:
        """Say what the limit was derived at: where that has moved, the value need not have."""
        if self.metric.name == "accept_length":
            return f"at a cycle of {self.cost.cycle_ms:.1f} ms"
        return f"at accept length {self.cost.accept_length:.2f}"

    @property
    def no_room(self) -> str:
        loses = self.cost.phase_budget(self.verify_ms or 0.0) is None
        return f"no room at all, even a verify of 0 ms would {'lose' if loses else 'win by too little'}"

    def ratio(self, over: float) -> float | None:
        """Return value / limit where the cycle takes `over` times what it may; None: no verify is short enough."""
        if self.verify_ms is not None:
            rest = self.cost.cycle_ms - self.verify_ms
            left = (rest + self.value) / over - rest
            return self.value / left if left > 0 else None
        return 1 / over if self.metric.name == "accept_length" else over

    def arithmetic(self) -> str:
        cost, margin = self.cost, self.margin
        if self.metric.name == "accept_length":
            least = cost.least_accept_length or 0.0
            return (
                f"{self.label}: a cycle of {cost.cycle_ms:.2f} ms against {cost.decode_ms:.2f} ms a plain token breaks "
                f"even from accept length {least:.3f} on; x {1 + margin:g} = {least * (1 + margin):.3f}"
            )
        words = (
            f"{self.label}: accept length {cost.accept_length:.3f} replaces {cost.limit_ms / cost.decode_ms:.3f} plain "
            f"tokens of {cost.decode_ms:.2f} ms: {cost.limit_ms:.2f} ms a cycle; / {1 + margin:g} = "
            f"{cost.cycle_budget(margin):.2f} ms"
        )
        if self.verify_ms is None:
            return words
        rest = cost.cycle_ms - self.verify_ms
        return f"{words}; less {rest:.2f} ms that are not verify: {cost.cycle_budget(margin) - rest:.2f} ms for a verify"
