"""The arithmetic of a limit that is a margin to break-even, for each metric that has one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tokgate.rig.limits import break_even_words

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
    others: Mapping[str, float] = field(default_factory=dict)  # ms of the cycle's other phases, where told
    kept: float | None = None  # a fixed limit on the same metric that the value keeps

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

    @property
    def room(self) -> str:
        """Say what of the cycle leaves verify so little, for a headline: "" of another metric."""
        if self.verify_ms is None:
            return ""
        whole, rest = self.cost.cycle_budget(self.margin), self.cost.cycle_ms - self.verify_ms
        if self.value > whole:
            return f"by itself it is longer than a whole cycle may be ({whole:.1f} ms); "
        parts = ", ".join(f"{name} {ms:.1f}" for name, ms in self.others.items())
        told = f"the rest of the cycle takes {rest:.1f} ms{f' ({parts})' if parts else ''}"
        return f"{told} of the {whole:.1f} that a cycle may; "

    @property
    def although(self) -> str:
        return "" if self.kept is None else f", though within its own limit {self.kept:g}"

    @property
    def what_now(self) -> str:
        """Say what is missing to the win, and what to look at."""
        answer = f"it wins by {self.cost.speed_up - 1:.1%}, and {self.margin:.1%} is asked for"
        if self.cost.headroom_ms < 0:
            answer = self.cost.answer()
        return f"{answer}. {self.where_to_look}"

    @property
    def where_to_look(self) -> str:
        """Say what to look at first. Only a fixed limit that is kept tells that verify has not grown."""
        if self.verify_ms is None or not self.others:
            return "Which of cycle, verify and acceptance has moved: see their verdicts beside those of a good run"
        if self.value > self.cost.cycle_budget(self.margin):
            if self.kept is not None:
                return "Verify keeps its own limit: look at acceptance, and at whether the control has become faster"
            return "Look at verify and at acceptance, each beside that of a good run: the rest could not make up for it"
        longest = max(self.others, key=lambda name: self.others[name])
        look = f"the longest of the rest is {longest} ({self.others[longest]:.1f} ms)"
        if self.kept is not None:
            return f"Verify keeps its own limit, so look at the rest of the cycle first: {look}; then at acceptance"
        return f"Beside a good run, which has grown: verify ({self.value:.1f} ms) or the rest; {look}. Then acceptance"

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
