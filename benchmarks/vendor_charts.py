"""Take another version of uPlot into the package: fetch it, look that nothing in it evaluates or loads, record its hashes.

    python benchmarks/vendor_charts.py 1.6.32

Needs npm and a registry. Afterwards: make test, and look at a report in a browser, light, dark and narrow.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tokgate.report.charts import library

FOLDER = Path(library.__file__).parents[1] / "vendor/uplot"
FILES = {
    library.SCRIPT: "package/dist/uPlot.iife.min.js",
    library.STYLE: "package/dist/uPlot.min.css",
    library.LICENCE: "package/LICENSE",
}
# A page must load nothing, evaluate nothing, and no text in it may end the element it stands in.
SUSPECT = re.compile(r"\beval\b|new Function|import\(|</|url\(|XMLHttpRequest|\bfetch\(")


def main(version: str) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        told = subprocess.run(
            ["npm", "pack", "--json", f"uplot@{version}"],
            cwd=temporary, check=True, capture_output=True, text=True,
        )  # fmt: skip
        name = json.loads(told.stdout)[0]["filename"]
        found: dict[str, bytes] = {}
        with tarfile.open(Path(temporary) / name) as archive:
            for target, source in FILES.items():
                file = archive.extractfile(source)
                assert file is not None
                found[target] = file.read()
    for target in (library.SCRIPT, library.STYLE):
        if seen := SUSPECT.findall(found[target].decode()):
            sys.exit(
                f"{target} of uplot {version} has {sorted(set(seen))}: look at it before it goes into a page"
            )
    for target, data in found.items():
        (FOLDER / target).write_bytes(data)
    record = library.Vendored(
        name="uplot",
        version=version,
        licence="MIT",
        source=f"npm: uplot@{version}",
        sha256=library.hashes(),
    )
    (FOLDER / "vendored.json").write_text(library.record_text(record), encoding="utf-8")
    print("\n".join(f"{name}: {digest}" for name, digest in record.sha256.items()))


if __name__ == "__main__":
    main(sys.argv[1])
