"""tokgate: the performance gate for SGLang servers with EAGLE-3 speculative decoding."""

__version__ = "0.1.0"
