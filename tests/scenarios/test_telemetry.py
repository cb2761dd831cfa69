"""What the simulated box does while it is measured is seen through its nvidia-smi, and judged as on a real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hosts.telemetry_stand import Followed
from tests.hosts.telemetry_stand import rig as watched_rig
from tests.hosts.telemetry_stand import server as server_run
from tests.simbox.serving import REPOSITORY, serving
from tests.verdicts.evidence import make_launch
from tokgate.client.exchange import Request, Target
from tokgate.client.interpret import interpret
from tokgate.client.stream import run_batch
from tokgate.hosts.connection import connect
from tokgate.hosts.telemetry import watch
from tokgate.records import LaunchEvidence
from tokgate.stats.windows import windows_of
from tokgate.verdicts.window import disturbed
from tokgate.verdicts.window_notes import notes

TOKENS = 96


def measured(state: Path, *, starts: int, scenarios: tuple[str, ...] = (), knobs: str = "") -> LaunchEvidence:
    """Watch a box while it answers `starts` requests, one after the other; the first one is number 1."""
    spec = watched_rig(REPOSITORY / "simbox" / "bin", gpus=8)
    spec = spec.model_copy(
        update={"host": spec.host.model_copy(update={"environment": {"SIMBOX_STATE": str(state)}})}
    )
    followed = Followed()
    with serving(state, "--tp-size", "8", scenarios=scenarios, knobs=knobs) as box:
        box.await_line("fired up")
        watching = watch(connect(spec.host), spec, server_run(box.process.pid), write=followed)
        body = {"text": "a prompt", "stream": True}
        sampling = {"max_new_tokens": TOKENS, "ignore_eos": True, "temperature": 0}
        generations = []
        for number in range(starts):
            request = Request(f"r{number}", "generate", {**body, "sampling_params": sampling}, TOKENS)
            outcome = run_batch(Target("127.0.0.1", box.port), (request,), timeout_s=4.0)
            generations.append(
                interpret(
                    outcome.responses[0], launch="01-baseline", workload="single", index=number, batch=number
                )
            )
        told = watching.end()
    windows = windows_of(generations, followed.rows, gpus=8)
    return make_launch(tuple(generations), telemetry=told, windows=windows)


def test_a_quiet_box_gives_no_cause(tmp_path: Path) -> None:
    launch = measured(tmp_path, starts=3)

    assert launch.telemetry is not None
    assert launch.telemetry.problems == ()
    assert [w.unknown for w in launch.windows] == [None] * 3
    assert [w.strangers for w in launch.windows] == [()] * 3
    assert all(len(w.gpus) == 8 and w.gpus[0].sm_mhz is not None for w in launch.windows)
    assert list(disturbed(launch, "single")) == []


def test_somebody_elses_process_is_named(tmp_path: Path) -> None:
    launch = measured(tmp_path, starts=5, scenarios=("foreign-process",))

    (shortfall,) = disturbed(launch, "single")
    assert "somebody else computed on GPU 5 meanwhile: pid " in shortfall.what
    assert "simbox.squatter" in shortfall.what
    assert launch.windows[0].strangers == ()


def test_heat_is_told_with_the_clocks(tmp_path: Path) -> None:
    launch = measured(tmp_path, starts=4, knobs="heat_after_s = 2.0\n")

    slowed, apart = disturbed(launch, "single")
    assert "8 GPUs slowed down in " in slowed.what
    assert "(sw_thermal_slowdown): GPU 0 ran at " in slowed.what
    assert "2430 MHz before" in slowed.what
    assert "MHz" in apart.what  # the windows before and after it are no longer of one machine


def test_a_hang_shows_in_the_power_draw(tmp_path: Path) -> None:
    launch = measured(tmp_path, starts=3, knobs="hang_at_request = 3\n")

    (shortfall,) = disturbed(launch, "single")
    said = "the power draw of start 2 says hang: 8 GPUs all busy at 96 W (GPU 0), "
    assert shortfall.what.startswith(said)


@pytest.mark.parametrize("words", ["[N/A]", "[Not Supported]"])
def test_a_box_that_does_not_tell_its_memory_is_watched_all_the_same(tmp_path: Path, words: str) -> None:
    launch = measured(tmp_path, starts=1, knobs=f'smi_words = "{words}"\n')

    assert launch.windows[0].unknown is None
    assert not [note for note in notes(launch) if "no GPU tells" in note]
