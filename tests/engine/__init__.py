"""Tests on the real SGLang of rigs/sglang-cpu. Exact facts only, never a speed: they also run on busy machines."""
