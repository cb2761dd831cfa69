"""The arithmetic of speculation: it wins as long as a cycle takes less than the plain tokens it replaces."""

from __future__ import annotations

from tokgate.records.record import Record


class BreakEven(Record):
    """Milliseconds; `limit_ms` is the longest cycle with which speculation still wins."""

    accept_length: float
    decode_ms: float
    cycle_ms: float
    limit_ms: float
    least_accept_length: float | None = None  # with the cycle as it is, the shortest that still wins

    @property
    def headroom_ms(self) -> float:
        return self.limit_ms - self.cycle_ms

    @property
    def speed_up(self) -> float:
        """Speculation's tok/s over its twin's."""
        return self.limit_ms / self.cycle_ms

    @property
    def tok_s(self) -> float:
        """What these cycles make: decoded tokens a cycle / cycle."""
        return self.speed_up / self.decode_ms * 1e3

    def cycle_budget(self, margin: float = 0.0) -> float:
        """Return the longest cycle, in ms, that still wins by `margin` (0.05: by 5 %)."""
        return self.limit_ms / (1 + margin)

    def accept_budget(self, margin: float = 0.0) -> float | None:
        """Return the shortest accept length that wins by `margin` with the cycle as it is; None: no length would."""
        return None if self.least_accept_length is None else self.least_accept_length * (1 + margin)

    def phase_budget(self, phase_ms: float, margin: float = 0.0) -> float | None:
        """Return how long a phase may take, in ms, if the rest of the cycle stays as it is; None: there is no room.

        `phase_ms` is what that phase takes now, by a source of phases.
        """
        left = self.cycle_budget(margin) - (self.cycle_ms - phase_ms)
        return left if left > 0 else None

    def text(self, asked: float = 1.0) -> str:
        """Say how the cycle stands to the longest that reaches the speed-up `asked`: 1 is break-even."""
        budget, least = self.cycle_budget(asked - 1), self.accept_budget(asked - 1)
        room = budget - self.cycle_ms
        verdict = f"{room:.2f} ms of headroom" if room >= 0 else f"{-room:.2f} ms too long"
        goal, reaches = (
            ("break-even", "wins") if asked == 1 else (f"for {asked:.2f}x", f"reaches {asked:.2f}x")
        )
        from_there = (
            "" if least is None else f"; with this cycle it {reaches} from accept length {least:.2f} on"
        )
        return (
            f"{goal}: a cycle may take {budget:.2f} ms (accept length {self.accept_length:.2f}, "
            f"a plain token {self.decode_ms:.2f} ms); it takes {self.cycle_ms:.2f} ms: {verdict}{from_there}"
        )

    def answer(self, asked: float = 1.0, *, reached: float | None = None, streams: int = 1) -> str:
        """Say for an arm below its limit what would reach it: a cycle at what is accepted, or an accept length.

        `asked` and `reached` are speed-ups over the twin; `streams`: how many there were at once.
        """
        told = f"accept length {self.accept_length:.2f}, cycle {self.cycle_ms:.1f} ms"
        budget = self.cycle_budget(asked - 1)
        if asked != 1 and self.cycle_ms > budget:
            least = self.accept_budget(asked - 1)
            or_length = "" if least is None else f", or with this cycle an accept length of {least:.2f}"
            had = "" if reached is None else f", reached {reached:.2f}x"
            return (
                f"asked {asked:.2f}x{had}: {told}; it takes a cycle of {budget:.1f} ms at that accept length{or_length} "
                f"(break-even: {self.limit_ms:.1f} ms)"
            )
        if self.headroom_ms >= 0 and streams == 1:
            had = "" if reached is None else f" while the decode rate reaches {reached:.2f}x"
            return (
                f"{told}: by these it keeps {asked:.2f}x ({budget:.1f} ms){had}; the middles of acceptance, cycle and "
                "rate are of different starts: compare them start by start in the report"
            )
        if self.headroom_ms >= 0:
            return (
                f"{told}: within break-even ({self.limit_ms:.1f} ms), so no stream decodes slower than without "
                "speculation; the time goes before the first token, or where streams wait for one another"
            )
        needed = self.least_accept_length or self.accept_length * self.cycle_ms / self.limit_ms
        return (
            f"{told}: {-self.headroom_ms:.1f} ms over break-even ({self.limit_ms:.1f} ms) at that accept length; "
            f"so long a cycle would need accept length {needed:.2f}"
        )


def break_even(*, accept_length: float, tokens: int, decode_ms: float, cycle_ms: float) -> BreakEven:
    """Compare a cycle with the plain decode steps of the tokens it yields; `tokens` is the length of a generation."""
    return BreakEven(
        accept_length=accept_length,
        decode_ms=decode_ms,
        cycle_ms=cycle_ms,
        limit_ms=decoded_a_cycle(accept_length, tokens) * decode_ms,
        least_accept_length=cycle_ms / decode_ms * tokens / (tokens - 1) if tokens > 1 else None,
    )


def decoded_a_cycle(accept_length: float, tokens: int) -> float:
    """Return how many plain decode steps a cycle replaces.

    Decode rates count tokens - 1 (the first is prefill's) and accept length counts all of them, so a cycle decodes
    accept_length x (tokens - 1) / tokens: at 32 tokens the two differ by 3 %.
    """
    return accept_length * (tokens - 1) / tokens
