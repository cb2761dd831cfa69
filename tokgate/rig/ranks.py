"""How many ranks a server of a rig has."""

from __future__ import annotations

from .models import Rig

# An argument's name and what SGLang takes for it too; the ranks are the product.
_SIZES = (("tp_size", "tensor_parallel_size", "tp"), ("pp_size", "pipeline_parallel_size", "pp"))
_MOST = 1024


def rank_count(rig: Rig) -> int:
    """Return tensor- times pipeline-parallel size of the control arm, 1 where neither is written."""
    args, total = {**rig.server.args, **rig.control.args}, 1
    for names in _SIZES:
        written = str(next((args[name] for name in names if name in args), 1))
        total *= max(1, int(written)) if written.isdecimal() else 1
    return min(total, _MOST)
