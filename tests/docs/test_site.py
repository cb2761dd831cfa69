"""`make docs`: the site builds without a warning, every page is in its menu, and nothing in it is loaded from elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from .pages import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    asked = (sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder))
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False, env=quiet)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_there_and_in_the_menu(site: Path) -> None:
    menu = (site / "index.html").read_text(encoding="utf-8")
    pages = [path.stem for path in (ROOT / "docs").glob("*.md")]
    assert len(pages) > 20
    for page in pages:
        assert (site / f"{page}.html").is_file(), page
        assert f'href="{page}.html"' in menu, page
    for outside in ("CHANGELOG", "CONTRIBUTING"):
        assert f'href="{outside}.html"' in menu


def test_nothing_comes_from_elsewhere(site: Path) -> None:
    loaded = re.compile(
        r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["'](?:https?:)?//|<link\b[^>]*href=["'](?:https?:)?//"""
    )
    for page in site.rglob("*.html"):
        found = [
            tag[0]
            for tag in loaded.finditer(page.read_text(encoding="utf-8"))
            if 'rel="canonical"' not in tag[0]
        ]
        assert not found, page
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(\s*[\"']?(?:https?:)?//|@import", style.read_text(encoding="utf-8")), (
            style
        )


def test_a_browser_asks_nobody_else(site: Path) -> None:
    """What scripts load is seen only when they run."""
    program = shutil.which("chromium")
    assert program is not None, "make system-packages"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        for name in ("index", "incident", "statistics"):
            page.goto((site / f"{name}.html").as_uri())
            page.wait_for_selector("article h1")
        browser.close()
    assert len(asked) > 5
    assert [url for url in asked if not url.startswith("file:")] == []


def test_tables_and_blocks_are_what_they_are_meant_to_be(site: Path) -> None:
    for page in (ROOT / "docs").glob("*.md"):
        html = (site / f"{page.stem}.html").read_text(encoding="utf-8")
        main = html[html.index("<article") : html.index("</article>")]
        text = re.sub(r"<(pre|code)\b.*?</\1>", "", main, flags=re.DOTALL)
        stray = re.findall(r"<p>\s*(?:\||- |\d+\. |```).*", text) + re.findall(
            r"^\|---.*$", text, re.MULTILINE
        )
        assert not stray, f"{page.name}: {stray[:2]}"
