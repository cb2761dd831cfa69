"""The published JSON schema of rig files: rigs/schema.json."""

from __future__ import annotations

import json
from typing import Any

from tokgate.rig.models import Rig


def rig_schema() -> dict[str, Any]:
    """Return the schema of one rig file, after TOML's types have become JSON's.

    It knows keys, types and ranges. What ties keys together (names that must exist, draft tokens that
    follow from steps, …) is checked by `load_rig` alone.
    """
    schema = Rig.model_json_schema()
    del schema["properties"]["checkout"]  # the loader's own
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "tokgate rig"
    return schema


def schema_text() -> str:
    """Return rigs/schema.json, byte for byte."""
    return json.dumps(rig_schema(), indent=2, ensure_ascii=False) + "\n"
