"""tokgate: the performance gate for SGLang servers with EAGLE-3 speculative decoding.

PYTEST_DONT_REWRITE: no assertion is here, and pytest warns of an entry point's package that conftest.py had to import first.
"""

__version__ = "0.1.0"
