"""What becomes of the rig's NCCL settings once SGLang and the host have had their say."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.rigs import small_rig
from tokgate.records import Unread
from tokgate.records.nccl import NcclConfFile, NcclLint, NcclSources
from tokgate.rig.machine import GpuSpec
from tokgate.rig.models import Rig
from tokgate.server.nccl_lint import lint_nccl

TUNED = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL", "NCCL_MAX_CTAS": "16"}


def tuned(
    args: dict[str, Any] | None = None, *, nccl: dict[str, str] | None = None, **environment: str
) -> Rig:
    rig = small_rig()
    server = rig.server.model_copy(
        update={
            "args": {"tp_size": 8, "disable_custom_all_reduce": True, **(args or {})},
            "nccl": TUNED if nccl is None else nccl,
            "environment": environment,
        }
    )
    return rig.model_copy(update={"server": server, "gpus": GpuSpec(count=8)})


def said(findings: tuple[NcclLint, ...], *severities: str) -> list[str]:
    return [f"{f.variable}: {f.what}" for f in findings if f.severity in (severities or ("error", "warning"))]


def test_nothing_to_say_of_a_tuned_rig() -> None:
    assert lint_nccl(tuned(), nccl="2.28.9", sglang="0.5.16", sources=NcclSources()) == ()


def test_what_sglang_sets_over_the_rig_is_told_with_version_and_reason() -> None:
    (found,) = lint_nccl(tuned(CUDA_DEVICE_MAX_CONNECTIONS="1"), nccl="2.30.7", sglang="0.5.23")
    assert found.severity == "warning"
    assert found.value == "1"
    assert found.what == "SGLang sets it to 8 (engine.py) whatever the rig says"
    assert found.source == "SGLang 0.5.23"


def test_the_same_value_is_not_worth_a_word() -> None:
    assert lint_nccl(tuned(CUDA_DEVICE_MAX_CONNECTIONS="8"), nccl="2.30.7", sglang="0.5.23") == ()


@pytest.mark.parametrize(("sglang", "expected"), [("0.5.16", 1), ("0.5.2", 0)])
def test_deterministic_mode_takes_the_algorithm_away(sglang: str, expected: int) -> None:
    rig = tuned({"enable_deterministic_inference": True})
    told = said(lint_nccl(rig, nccl="2.28.9", sglang=sglang))
    assert len([t for t in told if t.startswith("NCCL_ALGO: SGLang sets it to allreduce:tree")]) == expected


def test_what_sglang_sets_can_end_the_start_on_the_next_nccl() -> None:
    """NCCL 2.31 empties what NCCL_ALGO does not name, and the rig's NCCL_PROTO speaks of every function."""
    rig = tuned({"enable_deterministic_inference": True})
    errors = [f for f in lint_nccl(rig, nccl="2.31.2", sglang="0.5.16") if f.severity == "error"]
    assert [f.variable for f in errors] == ["NCCL_ALGO"]
    assert errors[0].what.startswith('once SGLang has set NCCL_ALGO="allreduce:tree": no algorithm')
    assert not [f for f in lint_nccl(rig, nccl="2.30.7", sglang="0.5.16") if f.severity == "error"]


def test_nvls_is_off_unless_somebody_asks_sglang_for_it() -> None:
    rig = tuned(nccl={"NCCL_ALGO": "ring,nvls"})
    assert said(lint_nccl(rig, nccl="2.28.9", sglang="0.5.16")) == [
        'NCCL_ALGO: once SGLang has set NCCL_NVLS_ENABLE="0": it names NVLS, which NCCL_NVLS_ENABLE=0 switches off'
    ]
    asked = tuned({"enable_nccl_nvls": True}, nccl={"NCCL_ALGO": "ring,nvls"})
    assert said(lint_nccl(asked, nccl="2.28.9", sglang="0.5.16")) == []


def test_a_file_fills_what_the_rig_leaves_unset() -> None:
    file = NcclConfFile(
        path="/etc/nccl.conf",
        variables={"NCCL_P2P_LEVEL": "sys", "NCCL_ALGO": "Tree"},
        unread=(Unread(line=3, text="export X", why="no = in it"),),
    )
    findings = lint_nccl(tuned(), nccl="2.28.9", sglang="0.5.16", sources=NcclSources(files=(file,)))
    sets, ignored = said(findings)
    assert sets == 'NCCL_P2P_LEVEL: /etc/nccl.conf sets it to "sys", which the rig leaves unset'
    assert ignored.startswith(
        'NCCL_P2P_LEVEL: with NCCL\'s files on the host: NCCL ignores "sys" without a word'
    )
    assert said(findings, "note") == [
        'NCCL_ALGO: /etc/nccl.conf sets it to "Tree" too; the environment comes first',
        "/etc/nccl.conf: line 3: no = in it",
    ]


def test_of_two_files_the_first_counts() -> None:
    files = (
        NcclConfFile(path="/root/.nccl.conf", variables={"NCCL_P2P_LEVEL": "SYS"}),
        NcclConfFile(path="/etc/nccl.conf", variables={"NCCL_P2P_LEVEL": "LOC"}),
    )
    told = said(lint_nccl(tuned(), nccl="2.28.9", sglang="0.5.16", sources=NcclSources(files=files)))
    assert told == ['NCCL_P2P_LEVEL: /root/.nccl.conf sets it to "SYS", which the rig leaves unset']


@pytest.mark.parametrize(
    ("plugin", "nccl", "severities"),
    [
        ("libnccl-env.so", "2.30.7", ["warning"]),
        ("libnccl-env.so", "2.27.7", []),
        ("libnccl-tuner.so", "2.27.7", ["warning"]),
        ("libnccl-net.so", "2.28.9", ["note"]),
        ("libnccl-profiler.so", None, ["note"]),
        ("libsomething.so", "2.28.9", []),
    ],
)
def test_a_plugin_is_opened_unasked(plugin: str, nccl: str | None, severities: list[str]) -> None:
    sources = NcclSources(plugins=(f"/usr/lib/{plugin}",))
    found = [f for f in lint_nccl(tuned(), nccl=nccl, sglang="0.5.16", sources=sources) if plugin in f.what]
    assert [f.severity for f in found] == severities


def test_none_keeps_a_plugin_out() -> None:
    rig = tuned(nccl={**TUNED, "NCCL_ENV_PLUGIN": "none"})
    sources = NcclSources(plugins=("/usr/lib/libnccl-env.so",))
    assert lint_nccl(rig, nccl="2.30.7", sglang="0.5.16", sources=sources) == ()
