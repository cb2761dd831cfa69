"""What SGLang makes of its arguments before it starts: the resolved values that log and /server_info show."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from simbox.arguments import Command
from simbox.knobs import Knobs
from simbox.model import Shape

CONTEXT_LENGTH = 262144  # Kimi-K2.5's
MEM_FRACTION = 0.88
_GRAPH_SIZES = (1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256)


@dataclass(frozen=True)
class Resolved:
    """Arguments and what follows from them."""

    args: dict[str, Any]
    shape: Shape
    graph_sizes: tuple[int, ...]
    max_running: int
    ranks: int
    speculative: bool
    topk: int
    nodes: int = 1
    node: int = 0  # which of them this is

    @property
    def local(self) -> range:
        """The ranks of this node."""
        each = self.ranks // self.nodes
        return range(self.node * each, (self.node + 1) * each)


class ArgumentsRefusedError(Exception):
    """A combination that SGLang refuses after parsing."""


def resolve(command: Command, knobs: Knobs) -> Resolved:
    """Fill in what was left open. ArgumentsRefusedError."""
    args = dict(command.args)
    args["tokenizer_path"] = args.get("tokenizer_path") or args["model_path"]
    args["served_model_name"] = args.get("served_model_name") or args["model_path"]
    args["context_length"] = args.get("context_length") or CONTEXT_LENGTH
    args["mem_fraction_static"] = args.get("mem_fraction_static") or MEM_FRACTION
    args["device"] = args.get("device") or "cuda"
    if args.get("random_seed") is None:
        args["random_seed"] = random.SystemRandom().randrange(1 << 30)
    ranks = int(args["tp_size"]) * int(args.get("pp_size") or 1)
    nodes, node = int(args.get("nnodes") or 1), int(args.get("node_rank") or 0)
    if ranks % nodes:
        raise ArgumentsRefusedError("tp_size must be divisible by number of nodes")
    if nodes > 1 and not args.get("dist_init_addr"):
        raise ArgumentsRefusedError("dist_init_addr is required for multi-node serving")
    if ranks // nodes > knobs.gpus:
        raise ArgumentsRefusedError(
            f"CUDA error: invalid device ordinal (tp_size={args['tp_size']}, {knobs.gpus} GPUs)"
        )
    speculative = args.get("speculative_algorithm") is not None
    steps = topk = tokens = 0
    if speculative:
        steps = int(args.get("speculative_num_steps") or 3)
        topk = int(args.get("speculative_eagle_topk") or 1)
        tokens = int(args.get("speculative_num_draft_tokens") or steps + 1)
        if topk == 1 and tokens != steps + 1:
            # SGLang corrects it with a warning.
            tokens = steps + 1
        args |= {
            "speculative_num_steps": steps,
            "speculative_eagle_topk": topk,
            "speculative_num_draft_tokens": tokens,
        }
        if not args.get("speculative_draft_model_path"):
            raise ArgumentsRefusedError("speculative_draft_model_path is required for EAGLE3")
    args["max_running_requests"] = args.get("max_running_requests") or (48 if speculative else 256)
    most = args.get("cuda_graph_max_bs_decode") or args.get("cuda_graph_max_bs") or _GRAPH_SIZES[-1]
    off = args.get("disable_cuda_graph") or args.get("disable_decode_cuda_graph")
    sizes = (
        () if off else tuple(s for s in _GRAPH_SIZES if s <= min(most, max(1, args["max_running_requests"])))
    )
    shape = Shape(
        draft_steps=steps,
        draft_tokens=tokens,
        graph_max_batch=sizes[-1] if sizes else 0,
        verify_graph=bool(sizes) and knobs.verify_graph,
    )
    return Resolved(
        args, shape, sizes, int(args["max_running_requests"]), ranks, speculative, topk, nodes, node
    )
