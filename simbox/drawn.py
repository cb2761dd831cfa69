"""What a scenario draws by its seed, and how much slower that makes the box: `python -m simbox.drawn NAME... [--sim-seed N]`.

For whoever reads what a gate made of it, once that has ended: nobody who measures is told.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from simbox.knobs import Knobs, knobs
from simbox.model import Rates, Shape, Step, decode_step, speculative_step
from simbox.scenario import FOLDER, ScenarioError, load

_EVEN = Rates(kernels=1.0, ranks=((1.0, 0.0),) * 8, mode=1.0)  # noise, heat and slow ranks aside
_TWO_STEPS = Shape(draft_steps=2, draft_tokens=3, graph_max_batch=16, verify_graph=True)


def lines(names: Sequence[str], seed: int) -> Iterator[str]:
    """Yield what was drawn, and what it does to one stream; nothing where nothing is drawn. ScenarioError."""
    played = load(names, seed=seed).knobs
    random = {key: limits for name in names for key, limits in _limits(name).items()}
    if not random:
        return
    drawn = ", ".join(
        f"{key} {getattr(played, key):.4g} of {low:g} to {high:g} ({knobs()[key].metadata['words']})"
        for key, (low, high) in random.items()
    )
    yield f"by seed {seed}: {drawn}"
    plain, cycle = _slower(decode_step, played), _slower(speculative_step, played)
    yield f"so one stream is slower by {plain:.1%} without speculation, by {cycle:.1%} with two steps of it"


def _slower(model: Callable[[Knobs, Shape, Rates, int], Step], played: Knobs) -> float:
    """Return the share of tok/s that is lost to the healthy box."""
    return 1 - model(Knobs(), _TWO_STEPS, _EVEN, 1).ms / model(played, _TWO_STEPS, _EVEN, 1).ms


def _limits(name: str) -> dict[str, tuple[float, float]]:
    file = Path(name) if name.endswith(".toml") or "/" in name else FOLDER / f"{name}.toml"
    table: dict[str, tuple[float, float]] = tomllib.loads(file.read_text(encoding="utf-8")).get("random", {})
    return table


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m simbox.drawn")
    parser.add_argument("name", nargs="+")
    parser.add_argument("--sim-seed", type=int, default=0)
    asked = parser.parse_args()
    try:
        for line in lines(asked.name, asked.sim_seed):
            print(line)
    except ScenarioError as error:
        sys.exit(f"simbox: {error}")


if __name__ == "__main__":
    main()
