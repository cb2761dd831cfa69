"""The model folders of a rig, as its host has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokgate.hosts.connection import Host
from tokgate.hosts.scripts import source
from tokgate.parsers.model_config import read_model_config
from tokgate.records.model import ModelFolder


def model_folders(host: Host, paths: Mapping[str, str], *, drafts: frozenset[str]) -> dict[str, ModelFolder]:
    """Look at each folder; of the keys in `drafts` the shapes of tensors are read too. HostFault: nobody could look."""
    argument = {"folders": dict(paths), "tensors_of": sorted(drafts)}
    rows = host.run_python(source("model_files"), argument, name="reader of model folders")
    return {key: _folder(paths[key], row) for key, row in rows.items()}


def _folder(path: str, row: dict[str, Any]) -> ModelFolder:
    config = read_model_config(row["config"]) if row["config"] is not None else None
    why = row["why_no_config"]
    if row["config"] is not None and config is None:
        why = "config.json is no JSON table"
    return ModelFolder(
        path=path,
        here=row["here"],
        why=row["why"],
        config=config,
        why_no_config=why,
        weight_bytes=sum(size for _, size in row["weights"]) if row["weights"] else None,
        weight_files=len(row["weights"]),
        missing_files=tuple(row["missing"]),
        tokenizer_files=tuple(row["tokenizer"]),
        tensors={name: tuple(shape) for name, shape in row["tensors"].items()},
        hot_tokens=row["hot_tokens"],
        hot_token_max=row["hot_token_max"],
        why_no_tensors=row["why_no_tensors"],
    )
