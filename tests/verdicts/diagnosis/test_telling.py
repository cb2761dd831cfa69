"""Commands that a diagnosis gives as the next step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.verdicts.diagnosis.stories import Story
from tokgate.verdicts.diagnosis.telling import again, compare

ID = "20261129T120000-small"


@pytest.mark.parametrize(
    ("report_dir", "command"),
    [
        (None, f"tokgate compare reports/GOOD_RUN reports/{ID}"),
        ("/data/gate/", f"tokgate compare /data/gate/GOOD_RUN /data/gate/{ID}"),
        ("my runs", f"tokgate compare 'my runs/GOOD_RUN' 'my runs/{ID}'"),
    ],
)
def test_runs_are_compared_where_they_lie(report_dir: str | None, command: str) -> None:
    case = Story().case()
    info = case.run.info.model_copy(update={"report_dir": report_dir})
    assert compare(replace(case, run=case.run.model_copy(update={"info": info}))) == command


def test_a_run_is_repeated_with_what_it_was_given() -> None:
    case = Story().case()
    command = "pytest perf_tests -m eagle3 -x --rig=rigs/my.toml --rig-set a.b=4 --rig-set 'c=d e' --wait-for-lease 240"
    info = case.run.info.model_copy(update={"command": command})
    told = again(replace(case, run=case.run.model_copy(update={"info": info})), "verify")
    assert told == (
        "pytest perf_tests -m verify --rig rigs/my.toml --rig-set a.b=4 --rig-set 'c=d e' --wait-for-lease 240"
    )
