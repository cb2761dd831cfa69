"""A real SGLang with a change in its sources: a server of each side runs that side's own code, and the checkout stays as it was."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hosts.side_trees import git, state_of
from tests.session.test_run_folder import INFO
from tokgate.records import Launch, LaunchEvidence
from tokgate.records.side import SideProof
from tokgate.rig.models import Rig
from tokgate.rig.sides import SidesSpec
from tokgate.session.live import LiveSession
from tokgate.session.run_folder import load_run

from .conftest import TOKENS
from .engine import BUILT, NATURAL, built, engine_rig

# Alone: a session finds its machine clean, which it is not beside other gates.
pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.alone]

WORKER = Path("python/sglang/srt/speculative/eagle_worker_v2.py")
VERIFY = "    def verify(self, batch: ScheduleBatch, pp_proxy_tensors=None, grammar_barrier=None):\n"
SAID = "planted: verify is delayed"
DELAY_S = 0.05
PLANTED = (
    f"{VERIFY}        import time\n\n        time.sleep({DELAY_S})\n        print({SAID!r}, flush=True)\n"
)


@dataclass(frozen=True)
class Measured:
    """One session of two launches, and the checkout before and after it."""

    base: LaunchEvidence
    head: LaunchEvidence
    logs: dict[str, str]
    before: str
    after: str
    left: list[Path]  # below the sides of host.work_dir


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    if not built():
        pytest.fail("the real SGLang is not built: run `make sglang-cpu`")
    folder = tmp_path_factory.mktemp("sides")
    repository = checkout(folder / "sglang")
    file = repository / WORKER
    written = file.read_text()
    assert VERIFY in written
    file.write_text(written.replace(VERIFY, PLANTED))
    before = state_of(repository)
    rig = short(engine_rig("golden"), folder / "work", SidesSpec(repository=str(repository), base="HEAD"))
    run = folder / "run"
    session = LiveSession(rig=rig, info=INFO, folder=run, root=folder, say=print)
    launches = [
        Launch(id=f"0{n}-{NATURAL}-{side}", arm=NATURAL, role="side" if side == "base" else "arm", side=side)
        for n, side in enumerate(("head", "base"), start=1)
    ]
    try:
        session.open()
        head, base = (session.measured(launch) for launch in launches)
    finally:
        session.close()
    assert load_run(run)[0].sides is not None
    logs = {
        launch.side or "": (run / "launches" / launch.id / "server.log").read_text() for launch in launches
    }
    left = sorted((folder / "work" / "sides").glob("*"))
    yield Measured(base, head, logs, before, state_of(repository), left)
    shutil.rmtree(repository)  # pytest keeps the folders of its last three runs


def checkout(folder: Path) -> Path:
    """Make a git checkout of the SGLang that is installed for the CPU rig, built files ignored as in its own repository."""
    (package,) = BUILT.glob("venv/lib/python3*/site-packages/sglang")
    shutil.copytree(package, folder / "python/sglang", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / ".gitignore").write_text("*.so\n__pycache__/\n_version.py\n")
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "SGLang as installed")
    return folder


def short(rig: Rig, work: Path, sides: SidesSpec) -> Rig:
    """Return the rig with one arm's few generations, and a comparison."""
    one = rig.workloads[0].model_copy(update={"repeats": 2, "output_tokens": TOKENS})
    host = rig.host.model_copy(update={"work_dir": str(work)})
    return rig.model_copy(update={"workloads": (one,), "lossless": None, "host": host, "sides": sides})


def proof(evidence: LaunchEvidence) -> SideProof:
    assert evidence.ran_from is not None, evidence.model_dump_json(indent=1)[:3000]
    return evidence.ran_from


def test_each_side_runs_its_own_code(measured: Measured) -> None:
    assert measured.logs["head"].count(SAID) > TOKENS // 3  # one a verify
    assert SAID not in measured.logs["base"]
    assert all(e.generations and all(g.good for g in e.generations) for e in (measured.base, measured.head))


def test_that_is_proven_by_processes_and_by_what_was_imported(measured: Measured) -> None:
    for evidence in (measured.base, measured.head):
        found = proof(evidence)
        assert found.why == ()
        assert found.processes >= 3  # main process, scheduler, detokenizer
        assert found.compiled is not None
        assert found.compiled > 500
        assert found.resolved == f"{found.root}/sglang"
    assert proof(measured.head).changed_imported == (WORKER.as_posix(),)
    assert proof(measured.base).tree != proof(measured.head).tree


def test_the_checkout_is_as_it_was_and_nothing_is_left(measured: Measured) -> None:
    assert measured.after == measured.before
    assert measured.left == []
