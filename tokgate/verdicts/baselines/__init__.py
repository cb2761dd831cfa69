"""Stored baselines: files, identity, what may replace them, what they have become, and the history of runs beside them."""
