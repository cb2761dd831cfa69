"""docs/rig-reference.md is the models' own: nothing is missing, and what it shows loads."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from tokgate.cli.main import main
from tokgate.rig.load import load_rig
from tokgate.rig.reference import reference_text
from tokgate.rig.schema import rig_schema

ROOT = Path(__file__).parents[2]


def test_the_published_page_is_current() -> None:
    published = (ROOT / "docs" / "rig-reference.md").read_text(encoding="utf-8")
    assert published == reference_text(), "run: tokgate rig reference > docs/rig-reference.md"


def test_the_command_prints_it() -> None:
    result = CliRunner().invoke(main, ["--root", str(ROOT), "rig", "reference"])
    assert (result.exit_code, result.output) == (0, reference_text())


def test_every_key_is_there_and_says_what_it_is() -> None:
    schema = rig_schema()
    keys = [key for model in (schema, *schema["$defs"].values()) for key in model["properties"]]
    rows = {
        row[0]: row[1:]
        for line in reference_text().splitlines()
        if line.startswith("| `")
        for row in [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]]
    }
    tables = {"host", "gpus", "server", "arms", "workloads", "budgets", "twins", "floors", "prompt_sets"}
    tables |= {"nccl_proof", "instruments", "sampling", "baselines", "sweep", "lossless"}
    assert {key for key in keys if f"`{key}`" not in rows} <= tables
    assert [key for key, cells in rows.items() if len(cells) != 3 or not cells[2]] == ["`kind`"]
    for table in tables:
        assert re.search(rf"^## `\[+{table}[.\]]", reference_text(), re.MULTILINE), table


def test_types_ranges_and_defaults_are_in_words() -> None:
    text = reference_text()
    for row in (
        "| `count` | whole number ≥ 0 | required | GPUs the host must have; 0 for a CPU rig |",
        '| `acceptance` | `natural` or number ≥ 1 | `"natural"` |',
        "| `power` | number > 0.5, < 1 | `0.95` |",
        "| `topk` | list of whole numbers > 0 | `[1]` |",
    ):
        assert row in text


def test_the_example_is_a_rig(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", reference_text(), re.DOTALL)
    (tmp_path / "rigs").mkdir()
    (tmp_path / "rigs" / "small.toml").write_text(example, encoding="utf-8")
    rig = load_rig("small", root=tmp_path)
    assert [arm.name for arm in rig.arms] == ["baseline", "eagle3"]
