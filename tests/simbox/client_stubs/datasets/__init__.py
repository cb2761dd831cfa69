"""Stands in for Hugging Face's `datasets`, which SGLang's benchmark imports and does not use for random prompts."""

from __future__ import annotations


def load_dataset(*args: object, **kwargs: object) -> None:
    raise RuntimeError(f"no dataset is loaded here: {args} {kwargs}")
