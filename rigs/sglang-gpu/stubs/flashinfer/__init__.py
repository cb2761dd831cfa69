"""Stands in for flashinfer, whose sampling SGLang 0.5.16 imports on CUDA whatever is chosen (srt/layers/sampler.py).

With SGLANG_IS_FLASHINFER_AVAILABLE=false and --sampling-backend pytorch a greedy request calls nothing of it.
"""

__version__ = "0.6.14+stub"
