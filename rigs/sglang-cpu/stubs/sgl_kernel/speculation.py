"""Trees of drafted tokens: laying them out, verifying them greedily, handing on what was accepted.

A tree of n tokens has slot 0 for the last committed token and slots 1..n-1 for drafts. With topk = 1 it is a chain.
"""

import torch


def build_tree_kernel_efficient_cpu(
    parent_list, selected_index, seq_lens, tree_mask, positions, retrieve_index, retrieve_next_token,
    retrieve_next_sibling, topk, depth, n, mode,
):  # fmt: skip
    """Fill mask, positions and links of each request's tree; called by kernels/ops/speculative/spec_tree.py.

    selected_index [requests, n - 1]: which of all drafted candidates were kept, in score order; candidate c hangs under
    entry c // topk of parent_list (entry 0 is the root). mode 0: each mask row spans the whole context, otherwise only the tree.
    """
    requests = seq_lens.numel()
    selected = selected_index.reshape(requests, -1).tolist()
    parent_entries = parent_list.reshape(requests, -1).tolist()
    mask, positions = tree_mask.view(-1), positions.view(-1)
    links = (retrieve_index.view(-1), retrieve_next_token.view(-1), retrieve_next_sibling.view(-1))
    mask_start = 0
    for request, length in enumerate(seq_lens.tolist()):
        parents = _parents(selected[request], parent_entries[request], topk, n)
        first = request * n
        children = _first_child_and_sibling(parents)
        for link, values in zip(links, (range(first, first + n), *children), strict=True):
            link[first : first + n] = torch.tensor(list(values), dtype=link.dtype)
        for slot in range(n):
            ancestors = _ancestors(slot, parents, depth)
            positions[first + slot] = length + len(ancestors)
            row = mask_start + (length + n) * slot + length if int(mode) == 0 else first * n + n * slot
            mask[row : row + n] = False
            for seen in (0, *ancestors):
                mask[row + seen] = True
        mask_start += (length + n) * n


def _parents(selected, parent_entries, topk, n):
    """Return the parent slot of each slot; None for the root and for a draft whose parent was not kept."""
    parents = [None]
    for slot in range(1, n):
        entry = selected[slot - 1] // topk
        if entry == 0:
            parents.append(0)
        else:
            kept = selected[: n - 1]
            candidate = parent_entries[entry]
            parents.append(kept.index(candidate) + 1 if candidate in kept else None)
    return parents


def _first_child_and_sibling(parents):
    """Return (first child, next sibling) of each slot, -1 where there is none."""
    child, sibling = [-1] * len(parents), [-1] * len(parents)
    for slot in range(len(parents) - 1, 0, -1):
        parent = parents[slot]
        if parent is not None:
            sibling[slot], child[parent] = child[parent], slot
    return child, sibling


def _ancestors(slot, parents, depth):
    """Return the slot itself and what it hangs under, without the root."""
    chain = []
    while slot not in {0, None} and len(chain) < depth:
        chain.append(slot)
        slot = parents[slot]
    return chain


def verify_tree_greedy_cpu(
    predicts, accept_index, accept_token_num, candidates, retrive_index, retrive_next_token, retrive_next_sibling,
    target_predict,
):  # fmt: skip
    """Accept the longest path that the target agrees with; called by kernels/ops/speculative/spec_tree.py.

    accept_index [requests, steps + 1] receives the flat slots of the path, accept_token_num the drafts on it,
    predicts [requests · n] the target's token at each of its slots, the bonus token at the last.
    """
    steps = accept_index.shape[1]
    candidate, index = candidates.tolist(), retrive_index.tolist()
    child, sibling = retrive_next_token.tolist(), retrive_next_sibling.tolist()
    says = target_predict.reshape(-1).tolist()
    for request in range(len(candidate)):
        last, slot, accepted = index[request][0], 0, 0
        accept_index[request, 0] = last
        for _ in range(1, steps):
            slot = child[request][slot]
            while slot != -1 and candidate[request][slot] != says[last]:
                slot = sibling[request][slot]
            if slot == -1:
                break
            predicts[last] = says[last]
            accepted += 1
            last = index[request][slot]
            accept_index[request, accepted] = last
        predicts[last] = says[last]
        accept_token_num[request] = accepted


def fill_bonus_tokens_cpu(accept_tokens, accept_lens, bonus_tokens, accept_stride):
    """Pick each request's last accepted token; called by kernels/ops/speculative/eagle.py."""
    last = torch.arange(accept_lens.numel()) * accept_stride + accept_lens.long() - 1
    bonus_tokens.copy_(accept_tokens.reshape(-1)[last])


def rotate_input_ids_cpu(input_ids, start_loc, seq_lens, topk_index, select_index=None):
    """Shift each request's tokens left by one and append its new one; called by kernels/ops/speculative/multi_layer_eagle.py."""
    new = topk_index.reshape(-1)
    for i, (first, length) in enumerate(zip(start_loc.tolist(), seq_lens.tolist(), strict=True)):
        if length <= 0:
            continue
        input_ids[first : first + length - 1] = input_ids[first + 1 : first + length].clone()
        input_ids[int(select_index[i]) if select_index is not None else first + length - 1] = new[i]


def build_draft_decode_metadata_cpu(req_to_token, req_pool_indices, seq_lens, topk, num_steps, pool_len):
    """Return one req_to_token row per branch of each request; called by srt/layers/attention/intel_amx_backend.py.

    A branch sees the request's own tokens, then its own num_steps slots out of the topk · num_steps behind them.
    """
    rows = torch.zeros((seq_lens.numel() * topk, pool_len), dtype=req_to_token.dtype)
    for i, (row, length) in enumerate(zip(req_pool_indices.tolist(), seq_lens.tolist(), strict=True)):
        for branch in range(topk):
            first = length + branch * num_steps
            own = req_to_token[row, first : first + num_steps]
            rows[i * topk + branch, :length] = req_to_token[row, :length]
            rows[i * topk + branch, length : length + own.numel()] = own
    return rows
