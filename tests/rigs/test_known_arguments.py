"""The program that lists the arguments of an SGLang, on a parser of our own."""

from __future__ import annotations

import argparse
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "rigs" / "sglang-cpu" / "known_arguments.py"


@pytest.fixture(scope="module")
def program() -> Any:
    spec = importlib.util.spec_from_file_location("sglang_known_arguments", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_long_option_is_named_as_a_rig_names_it(program: Any) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model-path", "--model", "-m")
    parser.add_argument("--overlap", action=argparse.BooleanOptionalAction)
    assert program.option_names(parser) == ["model", "model_path", "no_overlap", "overlap"]


def test_versions_are_kept_oldest_first_and_replaced_by_name(program: Any) -> None:
    text = program.merged({"0.5.9": ["a"], "0.5.23": ["old"]}, "0.5.23", ["new"])
    text = program.merged(json.loads(text), "0.5.16", ["b"])
    assert json.loads(text) == {"0.5.9": ["a"], "0.5.16": ["b"], "0.5.23": ["new"]}
    assert list(json.loads(text)) == ["0.5.9", "0.5.16", "0.5.23"]
