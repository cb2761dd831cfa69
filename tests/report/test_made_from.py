"""What a session ran from stands in the summary and on the page."""

from __future__ import annotations

from pathlib import Path

from tests.report import examples
from tokgate.report import summary_md
from tokgate.report.html_section import page
from tokgate.report.made_from import made_from
from tokgate.report.verdict_json import build


def test_the_commit_of_the_repository_that_uses_it_is_shown(tmp_path: Path) -> None:
    evidence = examples.run_evidence()
    info = evidence.info.model_copy(
        update={"tokgate_commit": "0123456789abcdef" * 2, "repository_commit": f"{'ba9876543210' * 3}+dirty"}
    )
    evidence = evidence.model_copy(update={"info": info})
    told = ["tokgate 0.1.0 at 0123456789ab", "repository at ba9876543210+dirty"]
    assert list(made_from(info)) == told
    file = build(evidence, (), examples.rig())
    assert " · ".join(told) in summary_md.render(file, "r")
    assert " · ".join(told) in page(file, evidence, tmp_path)
