"""NCCL settings at the begin of a session: told, kept, and refused where no server would come up."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.session.rigs import small_rig
from tokgate.errors import BenchFault
from tokgate.hosts.connection import connect
from tokgate.records import Finding, Fingerprint
from tokgate.records.nccl import NcclLintReport
from tokgate.rig.machine import GpuSpec, HostSpec
from tokgate.rig.models import Rig
from tokgate.session.nccl_settings import judge_nccl, refuse_broken, told, with_notes


def rig_with(nccl: dict[str, str], home: Path) -> Rig:
    rig = small_rig()
    server = rig.server.model_copy(
        update={
            "python": sys.executable,
            "args": {"tp_size": 8, "disable_custom_all_reduce": True},
            "nccl": nccl,
            "environment": {"HOME": str(home), "LD_LIBRARY_PATH": ""},
        }
    )
    return rig.model_copy(update={"server": server, "gpus": GpuSpec(count=8)})


def judged(nccl: dict[str, str], home: Path, installed: str | None) -> NcclLintReport:
    found = Fingerprint(facts={"package.nccl": installed, "sglang.version": "0.5.23"})
    return judge_nccl(connect(HostSpec(python=sys.executable)), rig_with(nccl, home), found)


@pytest.mark.parametrize(
    ("fact", "version"),
    [
        ("nvidia-nccl-cu13 2.30.7", "2.30.7"),
        ("nvidia-nccl-cu12 2.28.9, nvidia-nccl-cu13 2.30.7", None),
        ("not installed", None),
        (None, None),
        ("", None),
    ],
)
def test_the_installed_version_judges(fact: str | None, version: str | None, tmp_path: Path) -> None:
    assert judged({"NCCL_PROTO": "LL"}, tmp_path, fact).nccl == version


def test_a_version_that_refuses_ends_the_session_before_the_first_server(tmp_path: Path) -> None:
    settings = {"NCCL_ALGO": "allreduce:tree", "NCCL_PROTO": "Simple"}
    with pytest.raises(BenchFault) as caught:
        refuse_broken(judged(settings, tmp_path, "nvidia-nccl-cu12 2.31.2"))
    assert "NCCL 2.31.2" in caught.value.tried
    assert 'NCCL_ALGO="allreduce:tree": no algorithm with a protocol is left' in caught.value.found
    assert "name every function" in caught.value.do
    refuse_broken(judged(settings, tmp_path, "nvidia-nccl-cu12 2.28.9"))


def test_warnings_become_notes_of_the_fingerprint_and_notes_do_not(tmp_path: Path) -> None:
    (tmp_path / ".nccl.conf").write_text("NCCL_BUFFSIZE=8388608\n")
    report = judged(
        {"NCCL_P2P_LEVEL": "sys", "NCCL_MAX_NCHANNELS": "16"}, tmp_path, "nvidia-nccl-cu13 2.30.7"
    )
    lines = list(told(report))
    assert any(
        line.startswith('NCCL settings, warning: NCCL_P2P_LEVEL="sys": NCCL ignores') for line in lines
    )
    assert not any("NCCL_MAX_NCHANNELS" in line for line in lines)
    assert "NCCL settings: 1 note, kept in nccl-lint.json" in lines
    found = with_notes(Fingerprint(facts={}), report)
    assert [n.severity for n in found.notes] == ["note", "note"]
    assert 'NCCL_P2P_LEVEL="sys"' in found.notes[0].what
    assert f"{tmp_path}/.nccl.conf sets it to" in found.notes[1].what
    assert with_notes(found, report) == found


def test_a_file_that_the_fingerprint_names_is_not_named_twice(tmp_path: Path) -> None:
    (tmp_path / ".nccl.conf").write_text("NCCL_BUFFSIZE=8388608\n")
    report = judged({"NCCL_P2P_LEVEL": "sys"}, tmp_path, "nvidia-nccl-cu13 2.30.7")
    note = Finding(severity="note", what=f"{tmp_path}/.nccl.conf fills in NCCL_BUFFSIZE", do="see")
    found = with_notes(Fingerprint(facts={}, notes=(note,)), report)
    assert [n.what.partition(": NCCL ignores")[0] for n in found.notes] == [
        note.what,
        'NCCL settings: NCCL_P2P_LEVEL="sys"',
    ]


def test_the_report_can_be_read_back(tmp_path: Path) -> None:
    report = judged({"NCCL_P2P_LEVEL": "sys"}, tmp_path, "nvidia-nccl-cu13 2.30.7")
    assert NcclLintReport.model_validate_json(report.model_dump_json()) == report


def test_a_rig_without_gpus_asks_no_host(tmp_path: Path) -> None:
    rig = small_rig()
    report = judge_nccl(connect(HostSpec(python="/nowhere/python")), rig, Fingerprint(facts={}))
    assert report.sources is None
    assert report.findings == ()
    assert list(told(report)) == []
