"""The screenshots of docs/images, taken anew from two run folders: `.venv/bin/python docs/images/shoot.py GREEN INCIDENT`.

GREEN and INCIDENT are folders that gates left, with their report.html. To make them, one after the other:

    .venv/bin/pytest perf_tests -m eagle3 --report-dir /tmp/tokgate/reports
    .venv/bin/pytest perf_tests -m eagle3 --sim-scenario incident --report-dir /tmp/tokgate/reports

Each report is shown wide and light, narrow and dark; `chromium` is taken from PATH (.ci/system-packages installs it).
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from unfiltered import unfiltered

HERE = Path(__file__).parent
# A picture in a document is to be read, not to be zoomed into.
MOST_BYTES = 150_000
# Window, and whether it is dark.
VIEWS = {"wide": (1050, 640, False), "narrow-dark": (400, 800, True)}


def shoot(browser: Browser, report: Path, name: str) -> None:
    for view, (width, height, dark) in VIEWS.items():
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        page = context.new_page()
        page.goto(report.resolve().as_uri())
        target = HERE / f"report-{name}-{view}.png"
        target.write_bytes(unfiltered(page.screenshot()))
        context.close()
        size = target.stat().st_size
        print(f"{target.name}: {width} x {height}, {size / 1000:.0f} kB")
        if size > MOST_BYTES:
            raise SystemExit(f"{target} has {size} bytes, more than {MOST_BYTES}: choose a smaller window")


def main(folders: list[str]) -> None:
    chromium = shutil.which("chromium")
    if len(folders) != 2 or chromium is None:
        raise SystemExit(__doc__ if chromium else "no `chromium` on PATH: .ci/system-packages installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        for name, folder in zip(("green", "incident"), folders, strict=True):
            shoot(browser, Path(folder) / "report.html", name)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
