"""The table of fixtures in docs/writing-perf-tests.md, from what pytest itself says of them.

python -m tests.docs.fixtures_table writes it anew.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "writing-perf-tests.md"
MARKED = re.compile(r"(?<=<!-- fixtures -->\n).*?(?=<!-- end -->)", re.DOTALL)
_FIXTURE = re.compile(
    r"^(?P<name>\w+)(?P<session> \[session scope\])? -- tokgate/fixtures/.*\n(?P<text>(?:    .*\n)+)",
    re.MULTILINE,
)


def table() -> str:
    """Return the table, sorted by name, with the first paragraph of each docstring."""
    asked = (sys.executable, "-m", "pytest", "--fixtures", "perf_tests", "-p", "no:cacheprovider")
    said = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    rows = ["| fixture | | is |", "|---|---|---|"]
    for found in sorted(_FIXTURE.finditer(said), key=lambda one: one["name"]):
        told = " ".join(found["text"].split()).replace("|", "\\|")
        rows.append(f"| `{found['name']}` | {'session' if found['session'] else ''} | {told} |")
    return "\n".join(rows) + "\n"


def current() -> str:
    """Return what the page has."""
    found = MARKED.search(PAGE.read_text(encoding="utf-8"))
    return found[0] if found else ""


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(MARKED.sub(lambda _: table(), text), encoding="utf-8")
