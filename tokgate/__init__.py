"""tokgate: the performance gate for SGLang servers with EAGLE-3 speculative decoding."""
