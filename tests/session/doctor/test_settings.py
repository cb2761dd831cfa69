"""What the checks of settings, stored numbers and the client say, failing case by failing case. The hosts are in test_hosts.py."""

from __future__ import annotations

import json
from pathlib import Path

from tests.session.doctor.judged import ROOT, only, rig, said
from tests.session.rigs import small_rig
from tokgate.records.doctor import State
from tokgate.rig.models import Rig
from tokgate.session.doctor import (
    client,
    fitting,
    settings,
    stored,
)
from tokgate.session.doctor.check import Case
from tokgate.session.history_file import history_path

# --- settings, what is stored, the client ----------------------------------------------------------------------------


def case(folder: Path, of: Rig) -> Case:
    return Case(of, root=folder, reports=folder / "reports", host=None, why_no_host="no host")


def test_advice_of_the_rig(tmp_path: Path) -> None:
    few = rig("sim-8gpu", "workloads.single.repeats=2")
    assert said(settings.advice(case(tmp_path, few)))[0] is State.NOTE
    assert said(settings.advice(case(tmp_path, rig("sim-8gpu"))))[0] is State.OK


def test_limits_that_a_healthy_server_would_break() -> None:
    short = rig("sim-8gpu", "workloads.single.timeout_s=1")
    assert said(settings.judge_limits(short, {})) == (
        State.FAIL,
        "workload single gives 128 tokens 1 s: at the 86.1 tok/s of its budget they take 1 s, and every generation is timed out",
    )
    assert said(settings.judge_limits(rig("sim-8gpu"), {"01-baseline": 1200.0, "02-x": 3.0})) == (
        State.FAIL,
        "01-baseline is likely to take 20 min, and the supervisor stops a server after 15 min",
    )
    assert said(settings.judge_limits(rig("sim-8gpu"), {"01-baseline": 30.0}))[0] is State.OK


def test_weights_that_take_longer_than_a_start_may() -> None:
    assert said(fitting.judge_loading(rig(), 595 * 10**9)) == (
        State.OK,
        "595.0 GB in server.start_timeout_s = 1800 s: 331 MB/s are enough",
    )
    slow = rig("kimi-k2.5-8gpu", "server.start_timeout_s=120")
    assert said(fitting.judge_loading(slow, 595 * 10**9))[0] is State.WARN


def test_nothing_is_stored(tmp_path: Path) -> None:
    found = said(stored.compared(case(tmp_path, small_rig())))
    assert found == (
        State.WARN,
        "nothing is stored for small: what stays within the rig's own limits ends with exit 12, no-baseline",
    )
    assert said(stored.selftest(case(tmp_path, small_rig())))[0] is State.NOTE


def test_a_damaged_baseline_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "baselines/small").mkdir(parents=True)
    (tmp_path / "baselines/small/0123456789ab.json").write_text("{")
    found = only(stored.compared(case(tmp_path, small_rig())))
    assert (found.state, found.found[:7]) == (State.FAIL, "no JSON")
    assert found.do is not None
    assert "git checkout" in found.do


def test_a_damaged_history(tmp_path: Path) -> None:
    path = history_path(tmp_path / "reports", "small")
    path.parent.mkdir(parents=True)
    path.write_text("{}\n")
    assert said(stored.history(case(tmp_path, small_rig())))[0] is State.WARN
    path.unlink()
    assert said(stored.history(case(tmp_path, small_rig())))[0] is State.NOTE


def test_plugins_that_are_missing_or_too_old() -> None:
    required = ["pytest<10,>=8.3", "pytest-html<5,>=4.1", 'mypy>=2; extra == "dev"']
    assert said(client.judge_plugins(required, {"pytest": "9.0", "pytest-html": "4.2"}))[0] is State.OK
    assert said(client.judge_plugins(required, {"pytest": "7.4", "pytest-html": None})) == (
        State.FAIL,
        "pytest 7.4, wanted <10,>=8.3; pytest-html is not installed",
    )


def test_where_reports_go(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    blocked = Case(small_rig(), root=tmp_path, reports=tmp_path / "file" / "reports", host=None)
    assert said(client.reports(blocked))[0] is State.FAIL


def test_a_client_that_is_too_slow() -> None:
    assert said(client.judge_headroom(10_000, (9_000, "budget 140 tok/s x 64"))) == (
        State.FAIL,
        "10,000 events/s keep one core busy, 70% of that may be used; up to 9,000 are expected (budget 140 tok/s x 64): the client would be the limit",
    )
    assert said(client.judge_headroom(40_000, (9_000, "budget")))[0] is State.OK
    assert said(client.judge_headroom(40_000, None))[0] is State.OK
    assert client.needed(ROOT, rig("h200")) == (310.0, "budget 310 tok/s x 1")
    assert said(client.judge_busy(9.0, 2))[0] is State.WARN
    assert said(client.judge_busy(0.5, 2))[0] is State.OK


def test_how_long_a_gate_takes_is_told_before_the_first_one(tmp_path: Path) -> None:
    found = said(client.length(case(tmp_path, rig("sglang-cpu"))))
    assert found[0] is State.OK
    assert found[1].startswith("-m eagle3 starts 6 servers: about ")


def test_secrets_of_the_rig_are_known_before_anything_is_read() -> None:
    from tokgate.session.rig_secrets import redactor_of

    known = redactor_of(
        rig("sglang-cpu", "server.environment.HF_TOKEN=hf_abcdefgh", "host.environment.MY_SECRET=sk-12345678")
    )
    told = known.clean(json.dumps({"a": "hf_abcdefgh", "b": "sk-12345678"}))
    assert "hf_abcdefgh" not in told
    assert "sk-12345678" not in told
