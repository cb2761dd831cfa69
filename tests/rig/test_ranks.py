from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.evidence import make_rig
from tokgate.rig.ranks import rank_count


@pytest.mark.parametrize(
    ("args", "ranks"),
    [
        ({}, 1),
        ({"tp_size": 8}, 8),
        ({"tp": "4"}, 4),
        ({"tensor_parallel_size": 2, "pp_size": 3}, 6),
        ({"tp_size": 0}, 1),
        ({"tp_size": "many"}, 1),
    ],
)
def test_ranks_are_the_product_of_what_is_written(args: dict[str, Any], ranks: int) -> None:
    rig = make_rig(server={"python": "/p", "model_path": "/m", "args": args})
    assert rank_count(rig) == ranks
