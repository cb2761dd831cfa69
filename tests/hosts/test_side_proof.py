"""What shows that a server ran its side: its processes' PYTHONPATH, where its Python finds sglang, and what was compiled there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.side_sessions import rig_on
from tests.hosts.side_trees import FILE, change, checkout, git
from tokgate.hosts.connection import connect
from tokgate.hosts.side_proof import in_front
from tokgate.records import EnvironmentTruth, Fingerprint, Launch, VariableState, VariableTruth
from tokgate.records.side import HEAD, SideProof
from tokgate.rig.machine import HostSpec
from tokgate.rig.models import Rig
from tokgate.rig.sides import SidesSpec
from tokgate.server.command_line import Equipment, Extra
from tokgate.session.sides import Sides

OTHER = "python/sglang/srt/other.py"
LAUNCH = Launch(id="01-baseline", arm="baseline", role="control", side=HEAD)


class Stand:
    """A session whose head changes two modules, and a server of it that is no more than a Python that imports."""

    def __init__(self, rig: Rig) -> None:
        self.said: list[str] = []
        self.sides = Sides(connect(rig.host), rig, run_id="run", keep=lambda _: None, say=self.said.append)
        self.sides.open()
        self.root = str(self.sides.root_of(HEAD))

    def imports(self, *modules: str, **environment: str) -> None:
        code = f"import {', '.join(modules)}"
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPATH": self.root, **environment}
        subprocess.run([sys.executable, "-c", code], check=True, cwd="/", env=env)

    def proof(self, *found: str | None, stubs: str = "/stubs") -> SideProof:
        """Prove a server with one process for each value of PYTHONPATH that is found."""
        wanted = f"{self.root}:{stubs}"
        rows = tuple(
            VariableTruth(
                pid=pid,
                process=f"scheduler TP{pid}",
                variable="PYTHONPATH",
                wanted=wanted,
                found=value,
                state=VariableState.PRESENT if value == wanted else VariableState.ABSENT,
            )
            for pid, value in enumerate(found or (wanted, wanted))
        )
        made = self.sides.proof(LAUNCH, EnvironmentTruth(processes=(), rows=rows))
        assert made is not None
        return made


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    repository = checkout(tmp_path / "sglang")
    change(repository)
    change(repository, OTHER)
    return rig_on(
        HostSpec(work_dir=str(tmp_path / "work")), SidesSpec(repository=str(repository), base="HEAD")
    )


@pytest.fixture
def stand(rig: Rig) -> Iterator[Stand]:
    found = Stand(rig)
    yield found
    found.sides.close()


def test_a_server_that_imported_from_its_side_is_proven_and_what_it_left_out_is_named(stand: Stand) -> None:
    stand.imports("sglang.srt.worker")
    proof = stand.proof()
    assert proof.proven, proof.why
    assert proof.processes == 2
    assert proof.compiled == 3  # sglang, sglang.srt, the worker
    assert proof.changed_imported == (FILE,)
    assert proof.changed_unused == (OTHER,)
    assert stand.sides.at_the_end(proof).proven  # what Python compiles is no change of the tree
    stand.sides.close()
    assert any(f"imported by no server of this session: {OTHER}" in line for line in stand.said)


def test_a_server_that_imported_nothing_of_it_is_not(stand: Stand) -> None:
    proof = stand.proof()
    assert not proof.proven
    assert "compiled no module of the side" in proof.why[0]


def test_one_process_without_it_is_enough(stand: Stand) -> None:
    stand.imports("sglang.srt.worker")
    proof = stand.proof(f"{stand.root}:/stubs", "/elsewhere", None)
    assert proof.without == ("scheduler TP1 (pid 1): absent", "scheduler TP2 (pid 2): absent")
    assert "did not reach scheduler TP1" in proof.why[0]


@pytest.mark.parametrize("first", ["/elsewhere", ""])
def test_one_process_with_another_folder_in_front_is_enough(stand: Stand, first: str) -> None:
    stand.imports("sglang.srt.worker")
    proof = stand.proof(f"{stand.root}:/stubs", f"{first}:{stand.root}:/stubs")
    assert proof.without == (f"scheduler TP1 (pid 1): it stands behind {first or 'the working folder'}",)


def test_what_the_gate_itself_carries_may_stand_in_front() -> None:
    assert in_front("/side", "/probe:/side:/stubs", "/probe:/side:/stubs")
    assert in_front("/side", "/side:/other", "/probe:/side:/stubs")
    assert not in_front("/side", "/probe:/other:/side", "/probe:/side:/stubs")
    assert not in_front("/side", "/stubs:/side", "/side:/stubs")
    assert not in_front("/side", "/other:/side", None)


@pytest.mark.parametrize("way", ["sitecustomize.py", "server.environment"])
def test_another_sglang_that_start_up_puts_in_front_is_found(rig: Rig, tmp_path: Path, way: str) -> None:
    """As the server's Python does when it starts: what the user's sitecustomize does there counts here too."""
    (tmp_path / "other/sglang").mkdir(parents=True)
    (tmp_path / "other/sglang/__init__.py").touch()
    (tmp_path / "stubs").mkdir()
    if way == "sitecustomize.py":
        wanted = f"import sys\nsys.path.insert(0, {str(tmp_path / 'other')!r})\n"
    else:  # only in the environment of this launch's arm
        wanted = (
            f"import os, sys\nif os.environ.get('OTHER'): sys.path.insert(0, {str(tmp_path / 'other')!r})\n"
        )
    (tmp_path / "stubs/sitecustomize.py").write_text(wanted)
    server = rig.server.model_copy(update={"environment": {"OTHER": "1"}})
    stand = Stand(rig.model_copy(update={"server": server}))
    try:
        stand.imports("sglang.srt.worker")
        proof = stand.proof(stubs=str(tmp_path / "stubs"))
        assert proof.resolved == str(tmp_path / "other/sglang")
        assert "not on the side" in proof.why[0]
    finally:
        stand.sides.close()


def test_a_module_that_is_imported_late_is_known_when_the_server_has_stopped(stand: Stand) -> None:
    stand.imports("sglang.srt.worker")
    proof = stand.proof()
    assert proof.changed_unused == (OTHER,)
    stand.imports("sglang.srt.other")
    later = stand.sides.at_the_end(proof)
    assert later.changed_unused == ()
    assert later.changed_imported == (OTHER, FILE)
    stand.sides.close()
    assert not any("imported by no server" in line for line in stand.said)


def test_where_python_keeps_no_compiled_modules_the_rest_has_to_do(rig: Rig) -> None:
    server = rig.server.model_copy(update={"environment": {"PYTHONDONTWRITEBYTECODE": "1"}})
    stand = Stand(rig.model_copy(update={"server": server}))
    try:
        stand.imports("sglang.srt.worker", PYTHONDONTWRITEBYTECODE="1")
        proof = stand.proof()
        assert proof.proven
        assert proof.compiled is None
        assert proof.changed_unused == ()
    finally:
        stand.sides.close()


def test_a_side_stands_behind_what_a_launch_carries_anyway(stand: Stand) -> None:
    probe = Equipment(python_path=("/there/probe",), variables=(Extra("X", "1", "why"),))
    equip = stand.sides.equip(LAUNCH, lambda _: probe)
    assert equip is not None
    found = equip("/there")
    assert found.python_path == ("/there/probe", stand.root)
    assert found.variables == probe.variables
    assert found.why == "the arm's probe is found there; SGLang as it is on the side head is found there"
    alone = stand.sides.equip(LAUNCH.model_copy(update={"side": "base"}), None)
    assert alone is not None
    assert alone("/there").python_path == (stand.sides.root_of("base"),)


def test_the_facts_of_a_session_are_those_of_its_head(stand: Stand, tmp_path: Path) -> None:
    before = Fingerprint(facts={"sglang.location": "/site/sglang", "sglang.version": "9", "host.name": "h"})
    facts = stand.sides.facts(before).facts
    assert facts["sglang.location"] == f"{tmp_path / 'sglang'} (a worktree of it)"
    assert facts["sglang.commit"] == git(tmp_path / "sglang", "rev-parse", "HEAD").strip()
    assert facts["sglang.version"] == "1.2.3"
    assert str(facts["sglang.changed"]).startswith(f"2: {OTHER}")
    assert facts["host.name"] == "h"
