"""The two attention operators of SGLang's intel_amx backend, registered under the names that it looks up.

Called by srt/layers/attention/intel_amx_backend.py. Shapes: q, o [tokens, heads, dim]; k_cache, v_cache
[slots, kv_heads, dim]; everything that a Llama does not use is refused rather than approximated. Defaults are
repeated in the functions because torch leaves out arguments that equal those of the schema.
"""

import torch.library


def _attend(q, k, v, scale, mask):
    """Return attention of q [T, H, D] over k, v [S, Hk, D], in float32; mask [T, S] is True where a token may look."""
    group = q.shape[1] // k.shape[1]
    scores = torch.einsum("thd,shd->hts", q.float(), k.float().repeat_interleave(group, 1)) * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, -1)
    return torch.einsum("hts,shd->thd", weights, v.float().repeat_interleave(group, 1)).to(q.dtype)


def _refuse(**features):
    unknown = [name for name, used in features.items() if used]
    if unknown:
        raise NotImplementedError(f"the CPU stand-in of sgl_kernel has no {', '.join(unknown)}")


def _decode(
    q, k_cache, v_cache, k_scale, v_scale, o, key, value, loc, logits, req_to_token, req_pool_indices, seq_lens,
    scale, logit_cap, is_cross=False, sliding_window=0, encoder_lens=None, sinks=None,
):  # fmt: skip
    """One new token per request: write its key and value to slot loc, then attend over the request's slots."""
    _refuse(
        logit_cap=logit_cap,
        cross_attention=is_cross,
        sliding_window=sliding_window > 0,
        sinks=sinks is not None,
    )
    if key is not None:
        k_cache[loc] = key.view(-1, *k_cache.shape[1:]).to(k_cache.dtype)
        v_cache[loc] = value.view(-1, *v_cache.shape[1:]).to(v_cache.dtype)
    for i, (row, length) in enumerate(zip(req_pool_indices.tolist(), seq_lens.tolist(), strict=True)):
        slots = req_to_token[row, :length].long()
        o[i : i + 1] = _attend(q[i : i + 1], k_cache[slots], v_cache[slots], scale, None)


def _extend(
    q, k, v, o, k_cache, v_cache, k_scale, v_scale, req_to_token, req_pool_indices, seq_lens, extend_lens,
    extend_start, max_len, scale, logit_cap, is_cross=False, sliding_window=0, encoder_lens=None, sinks=None,
    tree_mask=None, causal=True,
):  # fmt: skip
    """Several new tokens per request, already in the cache: prefill, and the verification of drafts.

    tree_mask holds, request after request, extend_len² flags: which new token may look at which.
    """
    _refuse(
        logit_cap=logit_cap,
        cross_attention=is_cross,
        sliding_window=sliding_window > 0,
        sinks=sinks is not None,
    )
    mask_start = 0
    rows = (t.tolist() for t in (req_pool_indices, seq_lens, extend_lens, extend_start))
    for row, length, new, first in zip(*rows, strict=True):
        if new == 0:
            continue
        slots = req_to_token[row, :length].long()
        mask = None
        if tree_mask is not None:
            mask = torch.ones(new, length, dtype=torch.bool)
            mask[:, length - new :] = (
                tree_mask.view(-1)[mask_start : mask_start + new * new].view(new, new).bool()
            )
            mask_start += new * new
        elif causal:
            mask = torch.arange(length)[None] <= torch.arange(length - new, length)[:, None]
        o[first : first + new] = _attend(q[first : first + new], k_cache[slots], v_cache[slots], scale, mask)


_fragment = torch.library.Library("sgl_kernel", "FRAGMENT")
_fragment.define(
    "decode_attention_cpu(Tensor q, Tensor(a!) k_cache, Tensor(b!) v_cache, float k_scale, float v_scale, "
    "Tensor(c!) o, Tensor? key, Tensor? value, Tensor loc, Tensor logits, Tensor req_to_token, "
    "Tensor req_pool_indices, Tensor seq_lens, float scale, float logit_cap, bool is_cross=False, "
    "int sliding_window=0, Tensor? encoder_lens=None, Tensor? sinks=None) -> ()"
)
_fragment.define(
    "extend_attention_cpu(Tensor q, Tensor? k, Tensor? v, Tensor(a!) o, Tensor k_cache, Tensor v_cache, "
    "float k_scale, float v_scale, Tensor req_to_token, Tensor req_pool_indices, Tensor seq_lens, "
    "Tensor extend_lens, Tensor extend_start, int max_len, float scale, float logit_cap, bool is_cross=False, "
    "int sliding_window=0, Tensor? encoder_lens=None, Tensor? sinks=None, Tensor? tree_mask=None, "
    "bool causal=True) -> ()"
)
_fragment.impl("decode_attention_cpu", _decode, "CPU")
_fragment.impl("extend_attention_cpu", _extend, "CPU")
