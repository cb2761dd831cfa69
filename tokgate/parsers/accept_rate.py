"""Which "accept rate" a server prints, and the one rate worth comparing.

Nothing in the line says so, but the number has had two meanings:
  until 0.5.10  accept len / draft_tokens              (0.5.3: / (num_steps + 1), the same unless topk > 1)
  from 0.5.11   (accept len - 1) / (draft_tokens - 1)  (the bonus token is no draft)
A drafter of which nothing is accepted prints 0.25 by the first with four draft tokens and 0.00 by the
second. Judge accept length; derive the rate from it; use the printed one as a checksum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tokgate.records import Record

Definition = Literal["len/draft_tokens", "(len-1)/(draft_tokens-1)"]
OLD: Definition = "len/draft_tokens"
NEW: Definition = "(len-1)/(draft_tokens-1)"

MAX_DRAFT_TOKENS = 128  # above any tree in use; more would let 1.00 / 0.00 fit the old definition
_ROUNDING = 0.005 + 1e-9  # both numbers are printed with two decimals


class AcceptRate(Record):
    """`rate` is ours, the share of proposed drafts that were accepted: (mean length - 1) / (draft_tokens - 1)."""

    definition: Definition | None  # of the printed rate
    draft_tokens: int | None  # as given, else as the printed rates imply
    rate: float | None
    why: str | None = None  # set wherever something above is None


def accept_rate(
    printed: Sequence[tuple[float, float | None]], *, draft_tokens: int | None = None
) -> AcceptRate:
    """Tell the definition from (accept len, printed rate) pairs of one server.

    `draft_tokens` is the server's --speculative-num-draft-tokens. Without it, the pair (2.00, 0.50) fits 4 by
    the old definition and 3 by the new one, and stays undecided until another accept length shows up.
    """
    if not printed:
        return AcceptRate(
            definition=None, draft_tokens=draft_tokens, rate=None, why="no accept length printed"
        )
    mean = sum(length for length, _ in printed) / len(printed)
    pairs = [(length, rate) for length, rate in printed if rate is not None]
    sizes = range(2, MAX_DRAFT_TOKENS + 1) if draft_tokens is None else (draft_tokens,)
    old = [size for size in sizes if size > 0 and all(_fits_old(pair, size) for pair in pairs)]
    new = [size for size in sizes if size > 1 and all(_fits_new(pair, size) for pair in pairs)]
    definition: Definition | None = None
    why: str | None = None
    if not pairs:
        why = "this version prints no accept rate"
    elif old and new:
        why = f"fits both definitions: {_list(old)} draft tokens by the old one, {_list(new)} by the new one"
    elif old or new:
        definition = OLD if old else NEW
    else:
        with_size = f" with {draft_tokens} draft tokens" if draft_tokens else ""
        why = f"the printed rates fit neither definition{with_size}"
    fitting = {OLD: old, NEW: new}[definition] if definition else []
    if draft_tokens is None and len(fitting) == 1:
        draft_tokens = fitting[0]
    rate: float | None = None
    if mean <= 1.0:
        rate = 0.0  # whatever the number of drafts, none was accepted
    elif draft_tokens is not None and draft_tokens > 1:
        rate = (mean - 1) / (draft_tokens - 1)
    elif why is None:
        why = f"the number of draft tokens is not known: {_list(fitting)} would fit"
    return AcceptRate(definition=definition, draft_tokens=draft_tokens, rate=rate, why=why)


def _fits_old(pair: tuple[float, float], size: int) -> bool:
    length, rate = pair
    return abs(rate - length / size) <= _ROUNDING * (1 + 1 / size)


def _fits_new(pair: tuple[float, float], size: int) -> bool:
    length, rate = pair
    return abs(rate - (length - 1) / (size - 1)) <= _ROUNDING * (1 + 1 / (size - 1))


def _list(sizes: Sequence[int]) -> str:
    if len(sizes) > 3:
        return f"{sizes[0]} to {sizes[-1]}"
    return " or ".join(str(size) for size in sizes)
