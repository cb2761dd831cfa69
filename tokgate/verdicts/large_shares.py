"""Which shares of a change in speed are worth a word: those that make a good part of it, and are none by chance."""

from __future__ import annotations

from tokgate.stats.log_shares import Share

from .split import Split

# A share below a quarter of the whole loss is told in the table alone.
PART = 0.25


def large_shares(change: Split) -> list[Share]:
    """Return the shares that make a quarter or more of the whole change and are none by chance, largest first."""
    split = change.split
    if split is None or split.whole is None:
        return []
    large = [s for s in split.shares if s.log <= PART * split.whole.log]
    return sorted((s for s in large if s.interval is None or s.established), key=lambda s: s.log)


def moved_shares(change: Split) -> list[Share]:
    """Return those that cost, and those that gain as much: without them a phase may seem to cost more than the whole does."""
    split = change.split
    if split is None or split.whole is None:
        return []
    least = PART * abs(split.whole.log)
    gains = [s for s in split.shares if s.log >= least and (s.interval is None or s.established)]
    return [*large_shares(change), *sorted(gains, key=lambda s: -s.log)]
