"""A headless Chromium that looks at reports as a reader does: one for all tests of this folder.

`look` opens a file and, when the test ends, holds it to what every report promises: no error in the console, no dialog, and
nothing fetched but the file itself. `report` makes whole reports, once each; `ours` the gate's part of one, which is quicker.
"""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from tests.browser.opened import Opened
from tests.browser.session import whole_report
from tests.browser.stories import STORIES
from tokgate.report.html_section import page
from tokgate.report.verdict_json import build

Look = Callable[..., Opened]
Report = Callable[[str], Path]


# Of the package, not of the session: while playwright's loop runs, no other test in this process may call asyncio.run.
@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        words = "no `chromium` on PATH: .ci/system-packages installs it"
        if os.environ.get("CI"):
            pytest.fail(words)
        pytest.skip(words)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture
def look(chromium: Browser) -> Iterator[Look]:
    """Return a function that opens a file, in a window of its own: `look(path, width=400, dark=True)`."""
    contexts: list[BrowserContext] = []
    opened: list[Opened] = []

    def look(
        path: Path,
        *,
        width: int = 1280,
        height: int = 800,
        dark: bool = False,
        scripts: bool = True,
        address: str = "",
    ) -> Opened:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
            reduced_motion="reduce",
        )
        contexts.append(context)
        opened.append(Opened(context.new_page(), path.resolve().as_uri() + address))
        return opened[-1]

    yield look
    try:
        for one in opened:
            assert one.noise() == []
    finally:
        for context in contexts:
            context.close()


@pytest.fixture(scope="package")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return a function: the name of a story of tests/browser/stories.py to its report.html, pytest-html's part included."""

    @functools.cache
    def made(story: str) -> Path:
        return whole_report(story, tmp_path_factory.mktemp("whole") / story)

    return made


@pytest.fixture(scope="package")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return a function: the name of a story to a page that holds the gate's part alone."""

    @functools.cache
    def made(story: str) -> Path:
        told = STORIES[story]()
        folder = tmp_path_factory.mktemp("ours")
        file = build(told.evidence, told.verdicts, told.rig)
        (folder / "report.html").write_text(page(file, told.evidence, folder), encoding="utf-8")
        return folder / "report.html"

    return made
