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
    # The loader's own, and what the gate's options say for one run.
    del schema["properties"]["checkout"], schema["properties"]["sides"]
    del schema["$defs"]["ServerSpec"]["properties"]["required"]
    for name in ("SidesSpec", "SearchSpec", "PatchText"):
        schema["$defs"].pop(name, None)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "tokgate rig"
    return schema


def schema_text() -> str:
    """Return rigs/schema.json, byte for byte."""
    return json.dumps(rig_schema(), indent=2, ensure_ascii=False) + "\n"
