"""A campaign does what fits a call, leaves the rest, and knows in the next one what is done: played by a stand-in for pytest."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import ledger
import pytest
from campaign import COMPILING_S, MORE_TO_DO, PACKING_S, REFUSED_S, Budget, Campaign, seconds_a_start
from host_install import Installed
from ledger import Attempt, Ledger, Step
from running import INTERRUPTED, KILLED_AFTER_S, run

from tokgate.rig.load import load_rig

ROOT = Path(__file__).parents[2]
ASIDE = PACKING_S + KILLED_AFTER_S
RIG = load_rig("h200", root=ROOT)
A_STEP = 2 * seconds_a_start(RIG)
STEPS = tuple(Step(f"aa-{n}", "pytest", ("perf_tests",)) for n in (1, 2, 3))
# Two launches a step, each as dear as reckoned until one is known. What it is asked it writes down.
STANDIN = """#!/bin/sh
case "$*" in *--collect-only*)
    echo "perf_tests/test_steadiness.py::test_steadiness[single-03-eagle3-2step-pinned]"
    echo "perf_tests/test_decode_throughput.py::test_decode_throughput[single-02-eagle3-2step]"
    exit 0;;
esac
echo "$*" >>"{asked}"
case "$*" in *--report-dir*) ;; *) exit 0;; esac
while [ "$1" != --report-dir ]; do shift; done
mkdir -p "$2/20261130T070000-h200" "$2/history"
[ -e "{hang}" ] && exec sleep 60
read code <"{code}"
exit "$code"
"""

Call = Callable[[float | None], tuple[int, Campaign]]


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    return tmp_path / "asked"


@pytest.fixture
def call(tmp_path: Path, asked: Path) -> Call:
    """Run the campaign for one call of so many seconds, as a fresh process would: from what is written."""
    place = Installed(tmp_path / "into")
    place.python.parent.mkdir(parents=True)
    place.checkout.mkdir()
    text = STANDIN.replace("{asked}", str(asked)).replace("{code}", str(tmp_path / "code"))
    place.python.write_text(text.replace("{hang}", str(tmp_path / "hang")), encoding="utf-8")
    place.python.chmod(0o755)
    (tmp_path / "code").write_text("0\n", encoding="utf-8")
    folder = tmp_path / "campaign"

    def run(limit: float | None) -> tuple[int, Campaign]:
        known = ledger.read(folder / ledger.NAME) or Ledger("c", "h200", STEPS)
        campaign = Campaign(folder, known, RIG, place, Budget(0.0, limit, Clock(asked)), "/bin/false")
        return campaign.run(), campaign

    return run


class Clock:
    """Each step takes 100 seconds: the stand-in has then written down what it was asked."""

    def __init__(self, asked: Path) -> None:
        self._asked = asked
        self._before = self._steps()

    def _steps(self) -> int:
        return len(self._asked.read_text(encoding="utf-8").splitlines()) if self._asked.exists() else 0

    def __call__(self) -> float:
        return 100.0 * (self._steps() - self._before)


def test_without_a_limit_all_steps_are_run(call: Call) -> None:
    code, campaign = call(None)
    assert code == 0
    assert campaign.ledger.left() == ()
    assert [a.run for a in campaign.ledger.attempts] == ["20261130T070000-h200"] * 3


def test_a_call_does_what_fits_and_the_next_one_goes_on(call: Call) -> None:
    code, campaign = call(ASIDE + A_STEP + 20)
    assert code == MORE_TO_DO
    assert [step.name for step in campaign.ledger.left()] == ["aa-2", "aa-3"]
    code, campaign = call(None)
    assert code == 0
    assert [a.step for a in campaign.ledger.attempts] == ["aa-1", "aa-2", "aa-3"]


def test_a_step_that_fits_no_call_is_told_before_anything_runs(
    call: Call, asked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        call(ASIDE + A_STEP - 1)
    told = capsys.readouterr().err
    assert f"about {A_STEP:.0f} s" in told
    assert "--time-limit" in told
    assert not asked.exists()


def test_a_measured_failure_is_done_and_decides_the_exit_code(call: Call, tmp_path: Path) -> None:
    (tmp_path / "code").write_text("13\n", encoding="utf-8")
    code, campaign = call(None)
    assert code == 13
    assert campaign.ledger.left() == ()


def test_what_measured_nothing_is_left_and_ends_the_call(call: Call, tmp_path: Path) -> None:
    (tmp_path / "code").write_text("4\n", encoding="utf-8")
    code, campaign = call(None)
    assert code == 4
    assert [a.ended for a in campaign.ledger.attempts] == ["exit code 4"]
    assert len(campaign.ledger.left()) == 3


def test_a_step_that_outlasts_the_call_is_interrupted_and_left(call: Call, tmp_path: Path) -> None:
    quick = [Attempt("aa-1", "07:00", "done", 0, 0.002, 2)]
    Ledger("c", "h200", STEPS, quick).write(tmp_path / "campaign")
    (tmp_path / "hang").touch()
    _, campaign = call(ASIDE + 0.3)
    assert campaign.ledger.attempts[-1].ended == "out of time"
    assert [step.name for step in campaign.ledger.left()] == ["aa-2", "aa-3"]


def test_restarts_may_take_what_is_left_of_the_call(call: Call, asked: Path) -> None:
    call(ASIDE + A_STEP + 50)
    assert "--rig-set sampling.gpu_time_s=50" in asked.read_text(encoding="utf-8")


def test_restarts_may_take_what_the_rig_says_where_there_is_time(call: Call, asked: Path) -> None:
    call(None)
    assert "sampling.gpu_time_s" not in asked.read_text(encoding="utf-8")


def test_what_is_printed_is_kept(call: Call, tmp_path: Path) -> None:
    call(None)
    assert len(list((tmp_path / "campaign" / "logs").iterdir())) == 3


def test_a_machine_without_caches_has_kernels_to_compile_first(call: Call) -> None:
    _, campaign = call(None)
    needed = campaign.seconds(STEPS[0])
    campaign.place.server_python.parent.mkdir(parents=True)
    campaign.place.server_python.touch()
    assert campaign.seconds(STEPS[0]) == needed + COMPILING_S
    campaign.place.caches.mkdir()
    assert campaign.seconds(STEPS[0]) == needed


def test_whoever_ends_the_call_ends_the_step_and_keeps_what_there_is(tmp_path: Path) -> None:
    """The command raises SIGTERM for us once it runs, as somebody outside might; then it would run for a minute."""
    words = ["/bin/sh", "-c", f"echo begun; kill -TERM {os.getpid()}; exec sleep 60"]
    code, why = run(words, tmp_path, {"PATH": "/usr/bin:/bin"}, tmp_path / "log", float("inf"))
    assert why == INTERRUPTED
    assert code == -signal.SIGINT
    assert (tmp_path / "log").read_text(encoding="utf-8") == "begun\n"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_baseline_of_sessions_that_are_elsewhere_is_made_at_home(
    call: Call, tmp_path: Path, asked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, campaign = call(None)
    shutil.rmtree(tmp_path / "campaign" / "runs" / "aa-1")
    asked.unlink()
    campaign.store_baselines("three sessions")
    assert "tokgate baseline update reports/gpu-host/c/runs/*/2*" in capsys.readouterr().out
    assert not asked.exists()


def test_a_baseline_is_made_of_all_sessions(call: Call, tmp_path: Path, asked: Path) -> None:
    _, campaign = call(None)
    asked.unlink()
    campaign.store_baselines("three sessions")
    (told,) = asked.read_text(encoding="utf-8").splitlines()
    assert "baseline update" in told
    assert told.count("20261130T070000-h200") == 3


def test_a_session_that_starts_no_server_is_begun_in_what_is_left(call: Call) -> None:
    _, campaign = call(None)
    refused = Step("planted-leftover", "pytest", ("perf_tests",), starts=0)
    assert campaign.seconds(refused) == REFUSED_S


def test_a_program_that_broke_off_is_run_again_whatever_a_gate_means_by_one(
    call: Call, tmp_path: Path
) -> None:
    visit = (Step("clients-baseline", "program", ("visit.py", "--arm", "baseline"), starts=2),)
    Ledger("c", "h200", visit).write(tmp_path / "campaign")
    (tmp_path / "code").write_text("1\n", encoding="utf-8")
    _, campaign = call(None)
    assert [a.ended for a in campaign.ledger.attempts] == ["exit code 1"]
    assert campaign.ledger.left() == visit


def test_a_program_of_the_bundle_is_told_where_to_leave_what_it_finds(
    call: Call, tmp_path: Path, asked: Path
) -> None:
    visit = (Step("clients-baseline", "program", ("visit.py", "--arm", "baseline"), starts=2),)
    Ledger("c", "h200", visit).write(tmp_path / "campaign")
    code, _ = call(None)
    told = asked.read_text(encoding="utf-8")
    assert code == 0
    assert "/visit.py --arm baseline" in told
    assert f"--report-dir {tmp_path}/campaign/runs/clients-baseline" in told


def test_what_would_be_done_is_told_with_its_seconds(
    call: Call, tmp_path: Path, asked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, campaign = call(None)
    asked.unlink()
    campaign.ledger.attempts.clear()
    campaign.budget = Budget(0.0, ASIDE + A_STEP + 1, lambda: 0.0)
    campaign.foretell()
    told = capsys.readouterr().out.splitlines()
    assert [line for line in told if "aa-1" in line and f"{A_STEP:.0f} s" in line and "not in" not in line]
    assert [
        line for line in told if "aa-2" in line and f"{2 * A_STEP:.0f} s in all  not in this call" in line
    ]
    assert not asked.exists()


def test_an_arm_that_is_compared_takes_both_controls(call: Call, tmp_path: Path) -> None:
    """Its tests name the first control alone, and what brackets a drift is launched with it."""
    _, campaign = call(None)
    script = campaign.place.python.read_text(encoding="utf-8")
    campaign.place.python.write_text(
        script.replace("03-eagle3-2step-pinned", "01-baseline"), encoding="utf-8"
    )
    assert campaign.count(Step("other", "pytest", ("perf_tests",))) == 3
