"""report.html as a gate leaves it: a pytest session that only states a story's verdicts, with pytest-html's own part below ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

_CONFTEST = """
from pathlib import Path
import pytest
from tokgate.fixtures.settings import GATE
from tests.browser.stories import STORIES

pytest_plugins = ["tokgate.fixtures.judging", "tokgate.fixtures.report"]

class Run:
    active, rejudge = True, False
    story = STORIES[{story!r}]()
    folder = reports = Path(__file__).parent / "run"
    rig, info = story.rig, story.evidence.info

    def load(self):
        return self.story.evidence, self.story.rig

@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    config.stash[GATE] = Run()
"""

_PROMISES = """
import pytest
from tests.browser.stories import STORIES

VERDICTS = STORIES[{story!r}]().verdicts

@pytest.mark.parametrize("number", range(len(VERDICTS)))
def test_promise(judge, number):
    print("<img src=x onerror=alert(1)>", number)
    judge([VERDICTS[number]])
"""


def whole_report(story: str, folder: Path) -> Path:
    """Run the session in `folder`, which it makes, and return its report.html."""
    (folder / "perf_tests").mkdir(parents=True)
    (folder / "conftest.py").write_text(_CONFTEST.format(story=story), encoding="utf-8")
    (folder / "perf_tests/test_promises.py").write_text(_PROMISES.format(story=story), encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "perf_tests", "-q", "-p", "no:cacheprovider", "-p", "no:benchmark"],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    report = folder / "run" / "report.html"
    assert report.is_file(), ended.stdout + ended.stderr
    return report
