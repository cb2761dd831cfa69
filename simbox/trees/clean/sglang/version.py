"""The version that this tree claims."""

__version__ = "0.5.23"
