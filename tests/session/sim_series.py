"""The simulated box's SGLang as a checkout with a few commits, one of which makes every verify wait: a real source patch."""

from __future__ import annotations

from pathlib import Path

from tests.hosts.side_trees import commit, git, git_init

ROOT = Path(__file__).parents[2]
CULPRIT = "verify: wait for the copy"
# As few generations as a loss of a quarter needs.
QUICK = (
    "workloads.single.repeats=5", "workloads.single.output_tokens=64", "workloads.conc8.repeats=1", "workloads.conc8.output_tokens=8",
)  # fmt: skip
_TREE = ROOT / "simbox/trees/clean/sglang"
_WAITS = "        time.sleep(0.008)\n"
_BEFORE = "        batch.forward_mode = ForwardMode.TARGET_VERIFY\n"


def series(folder: Path) -> Path:
    """Make it: tag `good`, then branch `series` of three commits, whose second one waits, and `kernels` with a fourth."""
    package = folder / "python" / "sglang"
    for source in sorted(_TREE.rglob("*.py")):
        place = package / source.relative_to(_TREE)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(source.read_text())
    (folder / "python/pyproject.toml").write_text('[project]\nname = "sglang"\n')
    git_init(folder)
    commit(folder, "as it was")
    git(folder, "tag", "good")
    _append(package / "srt/managers/utils.py", "# a word\n")
    commit(folder, "managers: a word")
    verify = package / "srt/speculative/eagle_worker_v2.py"
    text = verify.read_text()
    assert _BEFORE in text, "the box's worker is another one now"
    verify.write_text(
        text.replace("from typing", "import time\nfrom typing", 1).replace(_BEFORE, _BEFORE + _WAITS)
    )
    commit(folder, CULPRIT)
    _append(package / "srt/managers/schedule_batch.py", "# another\n")
    commit(folder, "managers: another word")
    git(folder, "branch", "series")
    (folder / "sgl-kernel/csrc").mkdir(parents=True)
    (folder / "sgl-kernel/csrc/verify.cu").write_text("__global__ void verify() {}\n")
    commit(folder, "kernels: verify")
    git(folder, "branch", "kernels")
    git(folder, "checkout", "-q", "series")
    return folder


def _append(path: Path, words: str) -> None:
    path.write_text(path.read_text() + words)
