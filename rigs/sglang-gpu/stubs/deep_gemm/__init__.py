"""Stands in for deep_gemm: srt/layers/attention/dsa_backend.py imports it on CUDA, when the graph of EAGLE's draft_extend is captured.

No model with DSA is served here, so nothing of it is called.
"""

__version__ = "0.0+stub"
