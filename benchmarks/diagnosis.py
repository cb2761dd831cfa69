"""How often the diagnosis names the causes that really are: drawn settings of the simulated box, as run folders.

    python benchmarks/diagnosis.py [settings [first seed]]

One to three causes of drawn sizes, one setting in twenty without any. simbox' model writes each session in simulated time (tests/scenarios/generated_run.py), and
the folder is diagnosed as a report does it. Seeds are fixed: the same table every time. A second a setting.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from scipy import stats

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.scenarios.drawn_causes import CAUSES, draw  # noqa: E402 - of this checkout, wherever the script is run
from tests.scenarios.judged_causes import Judged, confusion, good_days, judge, played  # noqa: E402

_COLUMNS = ("called", "missed", "small, called", "small, not called", "false", "rightly not called")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    judged = _judged(range(first, first + count))
    print(f"{count} settings from seed {first}: causes found, missed, and named without being there\n")
    print(f"| cause | {' | '.join(_COLUMNS)} |")
    print(f"|---|{'--:|' * len(_COLUMNS)}")
    total: Counter[str] = Counter()
    for cause, counts in confusion(judged, CAUSES).items():
        total += counts
        print(f"| {cause} | {' | '.join(str(counts[c]) for c in _COLUMNS)} |")
    print(f"| all | {' | '.join(str(total[c]) for c in _COLUMNS)} |\n")
    wrong = [one.wrong for one in judged if one.wrong is not None]
    false = sum(bool(one.false) for one in judged)
    several = [one for one in judged if len(one.drawn.must) > 1]
    behind = sum(bool(one.misplaced) for one in several)
    print(
        f"settings in which anything is wrong: {len(wrong)} of {count} (at most {_bound(len(wrong), count):.1%})"
    )
    print(f"with a cause that is not there: {false} of {count} (at most {_bound(false, count):.1%})")
    print(f"of {len(several)} with two or more to be found, in another order or behind others: {behind}")
    print(*wrong, sep="\n")


def _judged(seeds: range) -> list[Judged]:
    found = []
    with tempfile.TemporaryDirectory(prefix="diagnosis-") as name:
        folder = Path(name)
        baselines = good_days(folder / "good")
        for seed in seeds:
            drawn = draw(seed)
            found.append(judge(played(folder / str(seed), drawn, baselines), drawn))
            shutil.rmtree(folder / str(seed))
    return found


def _bound(wrong: int, count: int) -> float:
    """Return the upper end of the one-sided 95 % interval of a rate (Clopper and Pearson)."""
    return 1.0 if wrong >= count else float(stats.beta.ppf(0.95, wrong + 1, count - wrong))


if __name__ == "__main__":
    main()
