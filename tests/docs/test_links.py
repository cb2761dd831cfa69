"""Links of the files that are read on a repository, outside the site: their targets and anchors are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pymdownx.slugs import slugify

from .pages import PAGES, ROOT, every_block

READ = (*PAGES, ROOT / "CHANGELOG.md")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
SLUG = slugify(case="lower")


def prose(path: Path) -> str:
    """Return a page without its blocks of code."""
    text = path.read_text(encoding="utf-8")
    left_out = {number for number, _ in every_block(text)}
    return "\n".join(line for n, line in enumerate(text.splitlines(), start=1) if n not in left_out)


def anchors(path: Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE)
    return {str(SLUG(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head).replace("`", ""), "-")) for head in heads}


def links(path: Path) -> list[str]:
    text = re.sub(r"`[^`\n]*`", "", prose(path))
    return [found for found in LINK.findall(text) if not found.startswith(("http://", "https://", "mailto:"))]


def test_there_are_links() -> None:
    assert len(links(ROOT / "README.md")) > 5
    assert sum(len(links(path)) for path in READ) > 100


@pytest.mark.parametrize("path", READ, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_target_is_there(path: Path) -> None:
    missing = []
    for link in links(path):
        target, _, anchor = link.partition("#")
        place = (path.parent / target).resolve() if target else path
        if not place.exists() or not place.is_relative_to(ROOT):
            missing.append(link)
        elif anchor and place.suffix == ".md" and anchor not in anchors(place):
            missing.append(f"{link}: no such heading")
    assert not missing
