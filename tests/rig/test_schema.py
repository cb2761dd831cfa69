"""The published schema is the models' own, and says yes to the rigs that are shipped."""

from __future__ import annotations

import tomllib
from pathlib import Path

import jsonschema
import pytest

from tokgate.rig.load import rig_names
from tokgate.rig.schema import rig_schema, schema_text

RIGS = Path(__file__).parents[2] / "rigs"


def test_the_published_file_is_current() -> None:
    published = (RIGS / "schema.json").read_text(encoding="utf-8")
    assert published == schema_text(), "run: tokgate rig schema > rigs/schema.json"


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(rig_schema())


@pytest.mark.parametrize("name", rig_names(RIGS.parent))
def test_shipped_rigs_are_valid(name: str) -> None:
    data = tomllib.loads((RIGS / f"{name}.toml").read_text(encoding="utf-8"))
    jsonschema.validate(data, rig_schema(), cls=jsonschema.Draft202012Validator)


def test_an_unknown_key_is_invalid() -> None:
    data = tomllib.loads((RIGS / "sglang-cpu.toml").read_text(encoding="utf-8"))
    data["server"]["modle_path"] = "x"
    with pytest.raises(jsonschema.ValidationError, match="modle_path"):
        jsonschema.validate(data, rig_schema(), cls=jsonschema.Draft202012Validator)
