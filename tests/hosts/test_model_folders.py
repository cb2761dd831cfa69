"""Model folders on a host: what is there, what its index names, and the map of hot tokens as it lies in the file."""

from __future__ import annotations

import json
import struct
from pathlib import Path

from tokgate.hosts.connection import connect
from tokgate.hosts.model_folders import model_folders
from tokgate.records.model import ModelFolder
from tokgate.rig.machine import HostSpec


def look(path: Path) -> ModelFolder:
    return model_folders(connect(HostSpec()), {"draft": str(path)}, drafts=frozenset({"draft"}))["draft"]


def safetensors(path: Path, offsets: list[int]) -> None:
    """Write a file with a map of hot tokens and one other tensor."""
    data = struct.pack(f"<{len(offsets)}q", *offsets)
    header = {
        "__metadata__": {"format": "pt"},
        "d2t": {"dtype": "I64", "shape": [len(offsets)], "data_offsets": [0, len(data)]},
        "fc.weight": {"dtype": "BF16", "shape": [2, 6], "data_offsets": [len(data), len(data) + 24]},
    }
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data + bytes(24))


def test_the_map_of_hot_tokens_is_read_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"hidden_size": 2, "vocab_size": 20}')
    safetensors(tmp_path / "model.safetensors", [0, 1, 4, 12])  # tokens 0, 2, 6 and 15 of the target
    found = look(tmp_path)
    assert found.here
    assert found.config is not None
    assert (found.hot_tokens, found.hot_token_max) == (4, 15)
    assert found.tensors == {"d2t": (4,), "fc.weight": (2, 6)}
    assert found.weight_files == 1


def test_a_shard_that_the_index_names_and_the_folder_lacks(tmp_path: Path) -> None:
    (tmp_path / "model-00001-of-00002.safetensors").write_bytes(b"")
    names = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}))
    found = look(tmp_path)
    assert found.missing_files == ("model-00002-of-00002.safetensors",)
    assert found.why_no_config == "No such file or directory"
    assert found.why_no_tensors is not None  # an empty file has no header


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    found = look(tmp_path / "gone")
    assert (found.here, found.why) == (False, "No such file or directory")


def test_a_config_that_is_no_json(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("<html>")
    assert look(tmp_path).why_no_config == "config.json is no JSON table"
