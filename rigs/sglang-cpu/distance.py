"""Attention that looks exactly `distance` tokens back, made of rotary embeddings alone.

Query and key are constants (they read the embedding's constant dimension), so before rotation every position
asks and answers the same. Rotation makes their product depend on the distance between the two positions, with
its peak where the query's extra rotation cancels that distance: score = GAIN² / sqrt(head_dim) · Σ_j cos((Δ - distance) θ_j).
The neighbours of the peak lie more than 20 below it in the exponent: the softmax is one-hot for bf16.
"""

from __future__ import annotations

from typing import Any

import torch
from checkpoint import ROPE_THETA, Shape

# With head_dim 48 the gap to the next position is 13² / √48 · 0.88 = 21: e^-21 is far below bf16's last bit,
# while q and k of this size still lose nothing that matters by rounding.
GAIN = 13.0


def looking_back(shape: Shape, distance: int) -> tuple[Any, Any]:
    """Return (query, key) before rotation, each of shape [head_dim], in the rotate-half layout of Llama."""
    half = shape.head_dim // 2
    theta = ROPE_THETA ** (-torch.arange(half, dtype=torch.float64) / half)
    query = torch.cat([torch.cos(distance * theta), -torch.sin(distance * theta)]) * GAIN
    key = torch.cat([torch.ones(half), torch.zeros(half)]) * GAIN
    return query.float(), key
