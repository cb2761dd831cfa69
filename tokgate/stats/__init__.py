"""Summaries and comparisons of numbers; no files, clock or network."""
