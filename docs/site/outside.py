"""Pages of the site that lie outside docs/, where people look for them on a repository: CHANGELOG.md and others.

A link to one of them is written as it works in the repository, `../CHANGELOG.md`; in the site the page stands at the same place
below docs/, so the leading `../` goes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

OUTSIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/peers/README.md", "LICENSE")
ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\((?:\.\./)+([^)#]+)")


def on_files(files: Files, config: Any) -> Files:
    for place in OUTSIDE:
        text = _inside((ROOT / place).read_text(encoding="utf-8"), place)
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links that leave docs/ for one of those pages stay inside."""
    depth = page.file.src_uri.count("/")

    def stay(link: re.Match[str]) -> str:
        return f"]({'../' * depth}{link[1]}" if link[1] in OUTSIDE else link[0]

    return LINK.sub(stay, markdown)


def _inside(markdown: str, place: str) -> str:
    """Return the page with links as they are seen from the site: `docs/x.md` is `x.md` there."""
    up = "../" * place.count("/")
    return re.sub(rf"\]\({re.escape(up)}docs/", f"]({up}", markdown)
