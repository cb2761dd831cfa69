"""How many GPUs a first server takes, and what is said of it."""

from __future__ import annotations

import pytest

from tests.rig.first.test_pairing import model
from tokgate.rig.first.choices import Gpus
from tokgate.rig.first.server import too_large, tp_size

EIGHT = Gpus(8, ("NVIDIA H200",), 143771, "nvlink", ("NV18",))


@pytest.mark.parametrize(("gib", "size"), [(15, 1), (140, 2), (300, 4), (670, 8), (2000, 8)])
def test_as_few_gpus_as_leave_room(gib: float, size: int) -> None:
    chosen = tp_size(EIGHT, model("/m", "LlamaForCausalLM", gib=gib))
    assert chosen.value == size
    assert chosen.source == "asked host"


def test_all_of_them_where_the_size_is_not_known() -> None:
    assert tp_size(EIGHT, None).value == 8
    assert tp_size(Gpus(6, (), None), model("/m", "LlamaForCausalLM")).value == 4
    assert tp_size(EIGHT, model("/m", "LlamaForCausalLM", gib=0)).source == "default"


def test_heads_are_shared_evenly() -> None:
    seen = model("/m", "LlamaForCausalLM", gib=670)
    config = seen.config.model_copy(update={"heads": 28, "kv_heads": 4})
    assert tp_size(EIGHT, seen.model_copy(update={"config": config})).value == 4


def test_weights_that_do_not_go_in_are_said() -> None:
    seen = model("/m", "LlamaForCausalLM", gib=2000)
    assert too_large(EIGHT, seen, 8) == "2000 GiB of weights do not go into 8 x 140 GiB"
    assert too_large(EIGHT, model("/m", "LlamaForCausalLM"), 1) is None
    assert too_large(Gpus(8, (), None), seen, 8) is None
