"""Stands in for IPython, which SGLang 0.5.16 imports and a server never uses."""

__version__ = "0.0+stub"
