"""Knobs drawn at random, and which causes they really are: what each takes of tok/s by simbox' own model, without noise."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from simbox.allreduce import understand
from simbox.knobs import Knobs
from simbox.model import Rates, Shape, decode_step, speculative_step
from tokgate.verdicts.diagnosis import names

TUNED = {
    "NCCL_PROTO": "LL", "NCCL_ALGO": "Ring", "NCCL_P2P_LEVEL": "SYS", "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216", "NCCL_NTHREADS": "512",
}  # fmt: skip
# A cause that takes less than this is none that anybody has to find; one that takes less than NONE must not be named.
CALLED, NONE = 0.03, 0.005
# Causes whose size is known by a bound or within a part of itself (docs/diagnosis.md): another may hide in what is not known.
BOUNDED = {names.SLOW_RANK: 0.15, names.HEAT: 0.35, names.DRIFT: 0.25, names.NCCL: 0.25}
_Draw = Callable[[random.Random], dict[str, object]]


def _uniform(low: float, high: float, *knobs: str) -> _Draw:
    def draw(dice: random.Random) -> dict[str, object]:
        value = round(dice.uniform(low, high), 3)
        return dict.fromkeys(knobs, value)

    return draw


def _nccl(dice: random.Random) -> dict[str, object]:
    dropped = dice.sample(
        [n for n in TUNED if n in ("NCCL_PROTO", "NCCL_P2P_LEVEL", "NCCL_ALGO")], dice.randint(1, 3)
    )
    return {"nccl_dropped": dropped, "nccl_ranks": dice.choice([[], [dice.randrange(8)]])}


def _slow_rank(dice: random.Random) -> dict[str, object]:
    return {"slow_rank": dice.randrange(8), "slow_rank_factor": round(dice.uniform(1.08, 1.4), 3)}


def _heat(dice: random.Random) -> dict[str, object]:
    return {"heat_after_s": round(dice.uniform(0.0, 5.0), 2), "heat_factor": round(dice.uniform(1.1, 1.4), 3)}


def _patched(dice: random.Random) -> dict[str, object]:
    return {"tree": "patched", "patch_ms": round(dice.uniform(0.4, 1.6), 3)}


def _other_driver(dice: random.Random) -> dict[str, object]:
    return {"driver": "575.57.08", **_uniform(1.04, 1.2, "decode_factor", "verify_factor")(dice)}


# Cause -> the knobs that play it.
CAUSES: Mapping[str, _Draw] = {
    names.NO_GRAPH: lambda dice: {"verify_graph": False},
    names.TREE: _patched,
    names.VERIFY: _uniform(1.04, 1.4, "verify_factor"),
    names.DRAFT: _uniform(4.0, 20.0, "draft_factor", "draft_extend_factor"),
    names.HOST: _uniform(6.0, 25.0, "host_factor"),
    names.ACCEPTANCE: _uniform(0.2, 0.49, "accept_p"),
    names.SLOW_RANK: _slow_rank,
    names.HEAT: _heat,
    names.DRIFT: _uniform(0.3, 1.0, "drift_per_minute"),
    names.NCCL: _nccl,
    names.BASE: _uniform(1.05, 1.2, "decode_factor", "verify_factor"),
    names.STALE: _other_driver,
    names.FOREIGN: lambda dice: {},
}
# What cannot be together: one knob plays both, or the one leaves no mark of its own beside the other.
EXCLUSIVE = (
    {names.VERIFY, names.BASE, names.STALE},
    # The plain arm's loss without a mark of its own goes to whatever has one.
    {names.BASE, names.TREE, names.NCCL, names.STALE},
    # A verify outside graphs has a length of its own.
    {names.NO_GRAPH, names.VERIFY},
    {names.HEAT, names.DRIFT},  # throttling sets in while it runs: a trend, and called heat
)


@dataclass(frozen=True)
class Drawn:
    """One setting of the box, and the truth about it."""

    seed: int
    knobs: Knobs
    causes: tuple[str, ...]
    shares: Mapping[str, float]  # cause -> the largest share of tok/s that it takes in any arm
    stranger_at: int | None = None

    @property
    def must(self) -> tuple[str, ...]:
        """Causes that have to be found, the largest first."""
        found = [c for c in self.causes if self.shares[c] >= CALLED + self._hidden_from(c)]
        return tuple(sorted(found, key=lambda c: -self.shares[c]))

    def _hidden_from(self, cause: str) -> float:
        """Return how much of tok/s the others may hide of it: what they bound beyond their own, and what they are known by."""
        bounds = {
            names.HEAT: 1 - 1 / self.knobs.heat_factor,
            names.SLOW_RANK: 1 - 1 / self.knobs.slow_rank_factor,
        }
        return sum(
            max(0.0, bounds.get(other, 0.0) - self.shares[other]) + within * self.shares[other]
            for other, within in BOUNDED.items()
            if other in self.causes and other != cause
        )

    @property
    def may(self) -> frozenset[str]:
        """Causes that are there at all."""
        return frozenset(self.causes)

    @property
    def ordered(self) -> tuple[tuple[str, str], ...]:
        """Pairs of which the first explains twice as much as the second, where neither is only bounded."""
        told = [c for c in self.must if c not in BOUNDED and c != names.FOREIGN]
        return tuple(
            (a, b) for i, a in enumerate(told) for b in told[i + 1 :] if self.shares[a] > 2 * self.shares[b]
        )


def draw(seed: int) -> Drawn:
    """Draw one to three causes and their sizes; one seed in twenty has none."""
    dice = random.Random(f"causes/{seed}")
    count = 0 if seed % 20 == 0 else dice.choice((1, 1, 2, 2, 2, 3))
    pool = list(CAUSES)
    dice.shuffle(pool)
    causes: list[str] = []
    for name in pool:
        if len(causes) < count and not any(name in group and group & set(causes) for group in EXCLUSIVE):
            causes.append(name)
    return of(causes, dice, seed)


def of(causes: Sequence[str], dice: random.Random, seed: int) -> Drawn:
    """Play these causes, in sizes drawn by `dice`."""
    turned: dict[str, dict[str, object]] = {name: CAUSES[name](dice) for name in causes}
    knobs = replace(Knobs(), **{k: v for one in turned.values() for k, v in one.items()})  # type: ignore[arg-type]
    shares = {}
    for name, mine in turned.items():
        healthy = {k: getattr(Knobs(), k) for k in mine}
        without = replace(knobs, **healthy)
        shares[name] = max(
            0.0, *(1 - now / then for now, then in zip(_speeds(knobs), _speeds(without), strict=True))
        )
    if names.FOREIGN in shares:
        shares[names.FOREIGN] = 1.0  # no loss, and no number can be believed
    stranger = dice.randint(1, 5) if names.FOREIGN in causes else None
    return Drawn(seed, knobs, tuple(causes), shares, stranger)


def _speeds(knobs: Knobs) -> tuple[float, float]:
    """Return tok/s without and with speculation in the middle of a measurement, noise aside."""
    middle_s = 8.0
    hot = knobs.heat_factor if knobs.heat_after_s >= 0 else 1.0
    aged = 1 + knobs.drift_per_minute * middle_s / 60
    dropped = {k: v for k, v in TUNED.items() if k not in knobs.nccl_dropped}
    extra = max(understand(dropped).extra_us, 0.0)
    ranks = [(knobs.slow_rank_factor if r == knobs.slow_rank else 1.0, extra) for r in range(8)]
    rates = Rates(kernels=hot * aged, ranks=ranks, mode=1.0)
    plain = decode_step(knobs, Shape(0, 0, 64, verify_graph=True), rates, 1).ms
    cycle = speculative_step(knobs, Shape(2, 3, 64, verify_graph=knobs.verify_graph), rates, 1).ms
    length = 1 + knobs.accept_p + knobs.accept_p**2
    return 1e3 / plain, length * 1e3 / cycle
