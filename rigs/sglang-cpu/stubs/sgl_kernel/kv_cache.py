"""Where keys and values lie: reading and writing req_to_token, moving cache slots.

req_to_token [requests, context]: the cache slot of each position of each request.
"""

import ctypes


def copy_all_layer_kv_cache_cpu(data_ptrs, strides, tgt_loc, src_loc):
    """Copy slots src_loc over slots tgt_loc in every layer; called by kernels/ops/kvcache/cache_move.py.

    data_ptrs and strides are one raw address and one slot size in bytes per layer buffer. All sources are read before
    the first target is written: the two may overlap.
    """
    sources, targets = src_loc.tolist(), tgt_loc.tolist()
    for base, stride in zip(data_ptrs.tolist(), map(int, strides.tolist()), strict=True):
        slots = [ctypes.string_at(base + source * stride, stride) for source in sources]
        for target, slot in zip(targets, slots, strict=True):
            ctypes.memmove(base + target * stride, slot, stride)


def assign_req_to_token_pool_cpu(req_pool_indices, req_to_token, start, end, out_cache_loc, pool_len):
    """Note the slots of positions start..end of each request; called by srt/mem_cache/allocation.py."""
    taken = 0
    for row, first, last in zip(req_pool_indices.tolist(), start.tolist(), end.tolist(), strict=True):
        slots = out_cache_loc[taken : taken + last - first]
        req_to_token[row, first:last] = slots.to(req_to_token.dtype)
        taken += last - first


def assign_extend_cache_locs_cpu(req_pool_indices, req_to_token, start, end, out_cache_loc, pool_len):
    """Read the slots of positions start..end back; called by kernels/ops/speculative/cache_locs.py."""
    given = 0
    for row, first, last in zip(req_pool_indices.tolist(), start.tolist(), end.tolist(), strict=True):
        out_cache_loc[given : given + last - first] = req_to_token[row, first:last].to(out_cache_loc.dtype)
        given += last - first


def assign_draft_cache_locs_contiguous_cpu(
    req_pool_indices, req_to_token, seq_lens, out_cache_loc, pool_len, topk, num_steps
):
    """Read the topk · num_steps slots after each request's end; called by kernels/ops/speculative/cache_locs.py."""
    width = topk * num_steps
    for i, (row, length) in enumerate(zip(req_pool_indices.tolist(), seq_lens.tolist(), strict=True)):
        slots = req_to_token[row, length : length + width]
        out_cache_loc[i * width : (i + 1) * width] = slots.to(out_cache_loc.dtype)


def fill_accept_out_cache_loc_cpu(accept_index, out_cache_loc, accept_out_cache_loc):
    """Gather the slots of accepted tokens, -1 marking the rest; called by kernels/ops/speculative/eagle.py."""
    accepted = accept_index.reshape(-1)
    accepted = accepted[accepted > -1].long()
    accept_out_cache_loc.view(-1)[: accepted.numel()] = out_cache_loc[accepted].to(accept_out_cache_loc.dtype)
