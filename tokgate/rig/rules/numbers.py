"""Values of server arguments that no SGLang takes: a size that is no number, a port beyond the last one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tokgate.rig.models import Rig
from tokgate.rig.problems import Problem
from tokgate.rig.spelling import KeyPath, spell
from tokgate.rig.values import ArgValue

_LAST_PORT = 65535  # TCP's own, 16 bits
# Argument -> the least it can be, the most, and in words. All count something that there is at least once; those with a meaning
# below that, such as chunked_prefill_size = -1, are not here.
_COUNT = (1, None, "an integer of 1 or more")
_PORT = (1, _LAST_PORT, f"a port from 1 to {_LAST_PORT}")
_NUMBERS: dict[str, tuple[int, int | None, str]] = {
    **dict.fromkeys(
        (
            "tp_size",
            "tensor_parallel_size",
            "tp",
            "pp_size",
            "pipeline_parallel_size",
            "pp",
            "dp_size",
            "data_parallel_size",
            "dp",
            "ep_size",
            "expert_parallel_size",
            "ep",
            "nnodes",
            "context_length",
            "max_running_requests",
            "max_prefill_tokens",
            "page_size",
        ),
        _COUNT,
    ),
    "port": _PORT,
    "nccl_port": _PORT,
    "node_rank": (0, None, "an integer of 0 or more"),
}


def broken_numbers(rig: Rig) -> Iterator[Problem]:
    yield from _numbers(("server", "args"), rig.server.args)
    for i, arm in enumerate(rig.arms):
        yield from _numbers(("arms", i, "args"), arm.args)


def _numbers(here: KeyPath, args: Mapping[str, ArgValue]) -> Iterator[Problem]:
    for name, value in args.items():
        if name not in _NUMBERS or value is False:  # false leaves the flag out
            continue
        least, most, wanted = _NUMBERS[name]
        number = _integer(value)
        if number is None or number < least or (most is not None and number > most):
            yield Problem((*here, name), spell(value), wanted)


def _integer(value: ArgValue) -> int | None:
    """Return what SGLang's parser makes of the value on a command line: `int` of its text."""
    if isinstance(value, bool | tuple):
        return None
    try:
        return int(str(value))
    except ValueError:
        return None
