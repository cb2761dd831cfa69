"""The names that sgl_kernel.sampling and SGLang's sampler import, in torch.

EAGLE's verification of requests that are not greedy calls the two renormalisations, whatever --sampling-backend says.
"""

import torch


def refuse(*_args, **_options):
    raise RuntimeError("a stub of flashinfer was called: use --sampling-backend pytorch")


min_p_sampling_from_probs = top_k_top_p_sampling_from_probs = refuse


def top_k_renorm_probs(probs, top_k, *_args, **_options):
    """Keep the `top_k` likeliest of each row [batch, vocab]."""
    if not torch.is_tensor(top_k):
        top_k = torch.full((probs.shape[0],), int(top_k), device=probs.device)
    values, places = probs.sort(dim=-1, descending=True)
    rank = torch.arange(probs.shape[-1], device=probs.device)[None]
    return _renormalised(probs, torch.where(rank < top_k.view(-1, 1), values, torch.zeros_like(values)), places)


def top_p_renorm_probs(probs, top_p, *_args, **_options):
    """Keep of each row [batch, vocab] the likeliest that together have a share `top_p`."""
    if not torch.is_tensor(top_p):
        top_p = torch.full((probs.shape[0],), float(top_p), device=probs.device)
    values, places = probs.sort(dim=-1, descending=True)
    before = values.cumsum(-1) - values
    return _renormalised(probs, torch.where(before < top_p.view(-1, 1), values, torch.zeros_like(values)), places)


def _renormalised(probs, values, places):
    kept = torch.zeros_like(probs).scatter_(-1, places, values)
    return kept / kept.sum(-1, keepdim=True)


top_k_renorm_prob, top_p_renorm_prob = top_k_renorm_probs, top_p_renorm_probs


def softmax(logits, *_args, **_options):
    return torch.softmax(logits, -1)
