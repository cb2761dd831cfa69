"""What a charting library costs a page that must carry it: bytes of the files that the charts of report.html would need.

    python benchmarks/chart_libraries.py [FOLDER]

Fetches each package with `npm pack` (npm and a registry are needed; nothing is installed), keeps it in FOLDER, and prints a
table: bytes minified, bytes gzipped, versions. docs/charts.md has the choice and what else was looked at.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple


class Candidate(NamedTuple):
    name: str
    parts: tuple[tuple[str, str], ...]  # package@version, file in it


CANDIDATES = (
    Candidate("uPlot", (("uplot@1.6.32", "dist/uPlot.iife.min.js"), ("uplot@1.6.32", "dist/uPlot.min.css"))),
    Candidate("Chart.js", (("chart.js@4.6.1", "dist/chart.umd.min.js"),)),
    Candidate(
        "Observable Plot",
        (("@observablehq/plot@0.6.17", "dist/plot.umd.min.js"), ("d3@7.9.2", "dist/d3.min.js")),
    ),
    Candidate("ECharts, simple", (("echarts@6.1.0", "dist/echarts.simple.min.js"),)),
    Candidate("ECharts", (("echarts@6.1.0", "dist/echarts.min.js"),)),
    Candidate("ApexCharts", (("apexcharts@8.7.0", "dist/apexcharts.min.js"),)),
    Candidate("Plotly, basic", (("plotly.js-basic-dist-min@4.1.1", "plotly-basic.min.js"),)),
    Candidate("Bokeh", (("@bokeh/bokehjs@3.10.0", "build/js/bokeh.min.js"),)),
)


def packed(package: str, folder: Path) -> Path:
    """Return the archive of a package, fetched where it is not there."""
    name, _, version = package.rpartition("@")
    target = folder / f"{name.removeprefix('@').replace('/', '-')}-{version}.tgz"
    if not target.is_file():
        subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True, capture_output=True)
    return target


def content(package: str, name: str, folder: Path) -> bytes:
    with tarfile.open(packed(package, folder)) as archive:
        file = archive.extractfile(f"package/{name}")
        assert file is not None
        return file.read()


def main(folder: Path) -> None:
    print(f"{'library':<18} {'minified':>10} {'gzipped':>9} {'of 2 MB':>8}  packages")
    for candidate in CANDIDATES:
        files = [content(package, name, folder) for package, name in candidate.parts]
        size = sum(map(len, files))
        small = len(gzip.compress(b"".join(files), 9))
        packages = ", ".join(dict.fromkeys(package for package, _ in candidate.parts))
        print(f"{candidate.name:<18} {size:>10,} {small:>9,} {size / 2e6:>8.1%}  {packages}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
