"""See the package."""

from .sampling import refuse

cudnn_batch_prefill_with_kv_cache = refuse
