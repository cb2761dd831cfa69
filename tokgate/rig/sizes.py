"""How many ranks and GPUs an arm's arguments ask for."""

from __future__ import annotations

from tokgate.rig.models import ArmSpec, Rig
from tokgate.rig.values import ArgValue

# Name in SGLang -> every name that its flag goes by.
ALIASES = {
    "tp_size": ("tp_size", "tensor_parallel_size", "tp"),
    "pp_size": ("pp_size", "pipeline_parallel_size", "pp"),
    "dp_size": ("dp_size", "data_parallel_size", "dp"),
}


def argument(rig: Rig, arm: ArmSpec, name: str) -> ArgValue | None:
    """Return a server argument as the arm has it, under whichever of its names; None: not written."""
    written = {**rig.server.args, **arm.args}
    found = [written[n] for n in ALIASES.get(name, (name,)) if n in written]
    return found[-1] if found else None


def is_on(rig: Rig, arm: ArmSpec, name: str) -> bool:
    return argument(rig, arm, name) is True


def machines(rig: Rig, arm: ArmSpec) -> int:
    return _count(argument(rig, arm, "nnodes")) or 1


def gpus_needed(rig: Rig, arm: ArmSpec) -> int | None:
    """Return how many GPUs of this host the arm's server takes; None: its arguments make no sense.

    tp_size times pp_size, spread over the machines; times dp_size, unless data parallelism is of attention
    only and stays inside tp_size (SGLang 0.5.23, managers/data_parallel_controller.py).
    """
    sizes = {
        name: _count(value) if (value := argument(rig, arm, name)) is not None else 1 for name in ALIASES
    }
    tp, pp, dp = sizes["tp_size"], sizes["pp_size"], sizes["dp_size"]
    if tp is None or pp is None or dp is None:
        return None
    copies = 1 if is_on(rig, arm, "enable_dp_attention") else dp
    return max(1, tp * pp * copies // machines(rig, arm))


def _count(value: ArgValue | None) -> int | None:
    """Read 8 and "8"; argparse takes both from a line."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
