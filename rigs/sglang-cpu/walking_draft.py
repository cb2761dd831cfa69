"""An EAGLE-3 draft that answers a fixed successor of the token it has just read, and nothing else.

Its attention looks at its own position only. The value it finds there is the code of the token just read, minus the
hidden state that was handed in (the target's low auxiliary state at the first step, its own output afterwards), so that
the residual stream ends as exactly the code of the token; its head maps that to the successor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from checkpoint import Shape, Weights, idle_layer
from distance import looking_back

ANSWER_GAIN = 4.0  # how far the answer rises above the rest of the residual stream


@dataclass(frozen=True, kw_only=True)
class Codebook:
    """How tokens look in the target's embedding.

    `codes` [vocab, width] are signs in dimensions 1..width; dimension 0 holds `constant` for every token;
    `rms` is the root mean square of an embedding row, the same for every token.
    """

    codes: Any
    constant: float
    rms: float

    @property
    def width(self) -> int:
        return int(self.codes.shape[1])


def draft_weights(shape: Shape, book: Codebook, said: Any, tokens: Any, generator: Any) -> Weights:
    """Return the draft that says `said[t]` after `t`, for every t in `tokens`; said must be one-to-one."""
    hidden, head_dim, width = shape.hidden, shape.head_dim, book.width
    if width > shape.kv_heads * head_dim:
        raise ValueError(f"{width} code dimensions do not fit into {shape.kv_heads} heads of {head_dim}")
    dims = torch.arange(width)
    query, key = looking_back(shape, 0)
    per_constant = book.rms / book.constant  # the input norm divides by rms
    q = torch.zeros(shape.heads, head_dim, 2 * hidden)
    k = torch.zeros(shape.kv_heads, head_dim, 2 * hidden)
    q[:, :, 0] = query * per_constant
    k[:, :, 0] = key * per_constant
    v = torch.zeros(shape.kv_heads * head_dim, 2 * hidden)
    v[dims, dims + 1] = ANSWER_GAIN * book.rms
    # The hidden norm has made ANSWER_GAIN · code into code · sqrt(hidden / width), whatever came in.
    v[dims, hidden + dims + 1] = -ANSWER_GAIN / (hidden / width) ** 0.5
    o = torch.zeros(hidden, shape.heads, head_dim)
    first_of_group = (dims // head_dim) * (shape.heads // shape.kv_heads)
    o[dims + 1, first_of_group, dims % head_dim] = 1.0
    head = torch.zeros(shape.vocab, hidden)
    head[said[tokens], 1 : width + 1] = book.codes[tokens]
    fc = torch.zeros(hidden, 3 * hidden)
    fc[dims + 1, dims + 1] = (
        ANSWER_GAIN  # of the three auxiliary states only the lowest: it still is the embedding
    )
    return idle_layer("midlayer", shape, generator, attention_input=2 * hidden) | {
        "midlayer.hidden_norm.weight": torch.ones(hidden),
        "midlayer.self_attn.q_proj.weight": q.view(-1, 2 * hidden),
        "midlayer.self_attn.k_proj.weight": k.view(-1, 2 * hidden),
        "midlayer.self_attn.v_proj.weight": v,
        "midlayer.self_attn.o_proj.weight": o.view(hidden, -1),
        "fc.weight": fc,
        "norm.weight": torch.ones(hidden),
        "lm_head.weight": head,
    }
