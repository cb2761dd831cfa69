"""A copy of the checkout with a rig `mybox` and four sessions in reports/, as the documentation supposes them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from simbox.knobs import Knobs
from tests.scenarios.generated_run import generate
from tests.verdicts.baselines.test_history import LOWER, series
from tokgate.report.benchmark_json import benchmark_file
from tokgate.session.history_file import append, history_path
from tokgate.session.run_folder import load_run

from .pages import ROOT

COPIED = ("tokgate", "fixtures", "perf_tests", "rigs", "simbox", "baselines", "probe", "plant", "conftest.py", "pyproject.toml", "README.md")  # fmt: skip
RUNS = ("A", "B", "C", "latest")
PATCHES = ("engine.patch", "scheduler.patch", "model.patch", "kernel.patch", "my-debugging.patch")
PATCH = """--- a/python/sglang/srt/engine.py
+++ b/python/sglang/srt/engine.py
@@ -1 +1 @@
-before
+behind
"""
SELECTION = "perf_tests/test_decode_throughput.py"


def make_checkout(folder: Path, *, tutorial: Callable[[], str]) -> Path:
    """Return the copy. `tutorial`: the promise of docs/writing-perf-tests.md, which its commands name."""
    left_out = shutil.ignore_patterns("__pycache__", ".state")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, symlinks=True, ignore=left_out)
        else:
            shutil.copy2(source, folder / name)
    (folder / "tests").mkdir()
    shutil.copy2(ROOT / "rigs" / "kimi-k2.5-8gpu.toml", folder / "rigs" / "mybox.toml")
    edit(folder)
    (folder / "perf_tests" / "test_fair_share.py").write_text(tutorial(), encoding="utf-8")
    for name in PATCHES:
        (folder / name).write_text(PATCH, encoding="utf-8")
    (folder / "mine.toml").write_text(
        'title = "nothing"\ngate = "pass"\nlayer = "-"\n[knobs]\n', encoding="utf-8"
    )
    for seed, name in enumerate(RUNS, start=1):
        run = folder / "reports" / name
        generate(run, Knobs(), seed=seed)
        (run / "verdicts.json").write_text("[]", encoding="utf-8")
        info = (run / "run.json").read_text(encoding="utf-8")
        (run / "run.json").write_text(info.replace("perf_tests -k", f"{SELECTION} -k"), encoding="utf-8")
        content = benchmark_file(*load_run(run))
        (run / "benchmark.json").write_text(json.dumps(content), encoding="utf-8")
    for rig in ("sim-8gpu", "mybox"):
        for entry in series(LOWER):
            append(history_path(folder / "reports", rig), entry.model_copy(update={"rig": rig}))
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "as it was")):
        named = ("-c", "user.name=reader", "-c", "user.email=reader@localhost")
        subprocess.run(("git", *named, *words), cwd=folder, check=True, capture_output=True)
    return folder


def edit(folder: Path) -> None:
    """Do to rigs/mybox.toml what the documentation says."""
    path = folder / "rigs" / "mybox.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('name = "kimi-k2.5-8gpu"', 'name = "mybox"'), encoding="utf-8")
