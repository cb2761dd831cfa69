"""Pure-torch versions of the CPU kernels that SGLang 0.5.23 calls to serve a Llama, plain and with EAGLE-3.

The real sgl_kernel is published as wheels for GPUs only; building its CPU variant needs AMX headers and a compiler.
Written from SGLang's call sites (named in each function), not from the kernels' sources. SGLang itself stays
unpatched. Correctness matters here, speed does not: the loops run over requests and tokens in Python.
"""

from . import attention
from .kv_cache import (
    assign_draft_cache_locs_contiguous_cpu,
    assign_extend_cache_locs_cpu,
    assign_req_to_token_pool_cpu,
    copy_all_layer_kv_cache_cpu,
    fill_accept_out_cache_loc_cpu,
)
from .speculation import (
    build_draft_decode_metadata_cpu,
    build_tree_kernel_efficient_cpu,
    fill_bonus_tokens_cpu,
    rotate_input_ids_cpu,
    verify_tree_greedy_cpu,
)

__version__ = "0.4.10"  # what sglang 0.5.23 asks for
__all__ = [
    "assign_draft_cache_locs_contiguous_cpu",
    "assign_extend_cache_locs_cpu",
    "assign_req_to_token_pool_cpu",
    "attention",
    "build_draft_decode_metadata_cpu",
    "build_tree_kernel_efficient_cpu",
    "copy_all_layer_kv_cache_cpu",
    "fill_accept_out_cache_loc_cpu",
    "fill_bonus_tokens_cpu",
    "rotate_input_ids_cpu",
    "verify_tree_greedy_cpu",
]
