"""Whether the GPU's architecture runs what model and cache are kept in: else a start ends in a kernel that is missing."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records.doctor import Remark
from tokgate.records.model import ModelConfig

_OLDEST = 7.5  # "SGLang only supports sm75 and above" (0.5.23 load_model_utils.py)
_BFLOAT = 8.0  # below it SGLang takes float16 in its stead (likewise)
# get_min_capability of SGLang 0.5.23, layers/quantization/*.py; compressed-tensors is judged scheme by scheme there.
_QUANTIZED = {
    "awq": 7.5,
    "awq_marlin": 8.0,
    "blockwise_int8": 8.0,
    "fp8": 8.0,
    "gptq_marlin": 8.0,
    "humming": 7.5,
    "modelopt_fp4": 8.0,
    "modelopt_fp8": 8.9,
    "mxfp4": 8.0,
    "mxfp8": 10.0,
    "nvfp4_online": 10.0,
    "petit_nvfp4": 9.0,
    "w4afp8": 9.0,
    "w8a8_fp8": 8.9,
    "w8a8_int8": 7.5,
}
# Triton: "type fp8e4nv not supported in this architecture", seen on a chip of 8.6 with SGLang 0.5.12.
_CACHE = {"fp8_e4m3": 8.9, "mxfp8": 10.0, "nvfp4": 10.0}
_OTHER = "use a GPU of a newer architecture, or a model in another format"


def chip_runs(
    config: ModelConfig, capability: float, *, quantization: str | None, kv_dtype: str | None
) -> Iterator[Remark]:
    """Yield what this compute capability (8.9, say) does not run. `quantization`, `kv_dtype`: as the rig's arguments have them."""
    if capability < _OLDEST:
        yield Remark.fail(
            f"compute capability {capability:g}: SGLang supports {_OLDEST:g} and above", "use a newer GPU"
        )
        return
    # The rig's word counts where there is one; a config.json writes hyphens, and bits behind a comma.
    method = (quantization or config.quantization or "").partition(",")[0].strip().replace("-", "_").lower()
    needs = _QUANTIZED.get(method)
    if needs is not None and capability < needs:
        yield Remark.fail(
            f"{method} needs compute capability {needs:g}, these GPUs have {capability:g}", _OTHER
        )
    cache = _CACHE.get(kv_dtype or "")
    if cache is not None and capability < cache:
        yield Remark.fail(
            f"kv_cache_dtype {kv_dtype} needs compute capability {cache:g}, these GPUs have {capability:g}",
            "leave kv_cache_dtype out, or write fp8_e5m2",
        )
    if capability < _BFLOAT and config.dtype == "bfloat16":
        yield Remark.warn(
            f"compute capability {capability:g} has no bfloat16: SGLang takes float16 in its stead",
            'write server.args.dtype = "float16", so that the rig says what runs',
        )
