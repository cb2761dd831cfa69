"""The doctor at real things: the simulated box in each state that shows beforehand, a host behind ssh, none at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("simbox")

from simbox.box import down, up
from tests.sshd import Sshd, sshd
from tokgate.hosts.connection import connect
from tokgate.hosts.lease import lease
from tokgate.records.doctor import Examination, Examined, Remark, State
from tokgate.rig.load import load_rig
from tokgate.rig.machine import HostSpec
from tokgate.rig.models import Rig
from tokgate.session.doctor import software
from tokgate.session.doctor.check import Case
from tokgate.session.doctor.checks import CHECKS
from tokgate.session.doctor.examine import examine

__all__ = ["sshd"]
ROOT = Path(__file__).parents[3]


def doctor(rig: Rig, folder: Path, *names: str) -> Examination:
    """Ask the checks of these names, or of these groups; all quick ones where none is named."""
    asked = [c for c in CHECKS if not names or c.name in names or c.name.partition(".")[0] in names]
    return examine(rig, root=ROOT, reports=folder / "reports", quick=True, checks=asked)


def of(found: Examination, check: str) -> Examined:
    (one,) = [r for r in found.results if r.check == check]
    return one


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Callable[..., Rig]]:
    """Put up a box that plays a scenario, and return the rig of it."""
    state = tmp_path / "box"

    def play(*scenarios: str, sets: tuple[str, ...] = ()) -> Rig:
        up(state, scenarios)
        return load_rig(
            "sim-8gpu",
            root=ROOT,
            overrides=(
                f"host.environment.SIMBOX_STATE={state}",
                f"host.work_dir={tmp_path / 'work'}",
                *sets,
            ),
        )

    yield play
    down(state)


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ("gpu-missing", "7 GPUs, the rig says 8 (missing)"),
        ("gpu-lost", "nvidia-smi failed (gpu-lost, exit status 15)"),
        ("smi-absent", "nothing tells about the GPUs: there is no nvidia-smi on the path"),
        ("smi-no-permission", "nobody can say how much memory is allocated"),
        ("leftover-living", "MiB are allocated, held by pid "),
        ("leftover-no-owner", "held by no known process (no living owner is known"),
    ],
)
def test_a_box_that_a_gate_would_refuse(
    box: Callable[..., Rig], tmp_path: Path, scenario: str, said: str
) -> None:
    found = doctor(box(scenario), tmp_path, "gpus.clean")
    stopping = [r for r in found.results if r.state is State.FAIL]
    assert any(said in r.found for r in stopping)
    assert all(r.do and r.tried for r in stopping)
    assert found.exit_code() == 11


def test_what_follows_from_a_driver_that_does_not_answer_is_unknown(
    box: Callable[..., Rig], tmp_path: Path
) -> None:
    found = doctor(box("driver-mismatch"), tmp_path, "gpus")
    others = [r for r in found.results if r.check not in ("gpus.clean", "gpus.errors", "host.reached")]
    assert {r.state for r in others} == {State.UNKNOWN}
    assert all("nvidia-smi failed (driver-mismatch" in r.found for r in others)


def test_a_reboot_is_told_once_for_all_gpus(box: Callable[..., Rig], tmp_path: Path) -> None:
    found = doctor(box("rebooted"), tmp_path, "gpus.alike", "gpus.persistence")
    told = {r.found for r in found.results if r.state is State.WARN}
    assert "GPU 0, 1, 2, 3, 4, 5, 6, 7 may draw 450 W, its default is 600 W" in told
    assert "GPU 6 runs on 8 of 16 PCIe lanes" in told
    assert any(words.startswith("persistence mode is off on GPU 0, 1, 2,") for words in told)
    assert found.exit_code() == 0
    assert found.exit_code(strict=True) == 11


def test_the_healthy_box_is_ready_and_would_be_compared(box: Callable[..., Rig], tmp_path: Path) -> None:
    groups = ("rig", "gpus", "sglang", "models", "nccl", "baselines")
    found = doctor(box(), tmp_path, *groups)
    assert {r.check for r in found.results if r.state in (State.FAIL, State.WARN, State.UNKNOWN)} == set()
    assert of(found, "gpus.clean").found.startswith(
        "8 x NVIDIA RTX PRO 6000 Blackwell (simulated), 96 GiB each, nothing"
    )
    assert of(found, "sglang.installed").found.startswith("SGLang 0.5.23 (wheel) at ")
    assert of(found, "baselines.compared").found.startswith("all 4 pairs of arm and workload have one")
    # Nothing is left on the host: not even its folder was made.
    assert not (tmp_path / "work").exists()
    # As it goes to a program, and back.
    assert Examination.model_validate_json(found.model_dump_json()) == found


def test_a_patched_tree_is_named_before_anything_is_measured(box: Callable[..., Rig], tmp_path: Path) -> None:
    found = doctor(box("patched-tree"), tmp_path, "sglang.installed")
    told = of(found, "sglang.installed")
    assert told.state is State.NOTE
    assert ", changed in 1: sglang/srt/" in told.found


def test_wrong_settings_on_the_box(box: Callable[..., Rig], tmp_path: Path) -> None:
    wrong = box(
        sets=(
            "server.args.tp_sizee=8",
            "server.args.max_running_requests=4",
            'server.model_path="/models/gone"',
            "server.nccl.NCCL_P2P_LEVEL=sys",
        )
    )
    found = doctor(wrong, tmp_path, "sglang.arguments", "models", "nccl.settings", "baselines.compared")
    failed = {r.check: r.found for r in found.results if r.state is State.FAIL}
    assert "SGLang 0.5.23 is installed and refuses it" in failed["sglang.arguments"]
    assert failed["models.target"] == "/models/gone: no such file or directory"
    warned = [r.found for r in found.results if r.state is State.WARN]
    assert any('NCCL_P2P_LEVEL = "sys": NCCL ignores "sys" without a word' in words for words in warned)
    assert sum("has no baseline: exit 12; the nearest, " in words for words in warned) == 4


def test_a_host_that_another_gate_holds(tmp_path: Path) -> None:
    rig = load_rig("sglang-cpu", root=ROOT, overrides=(f"host.work_dir={tmp_path / 'work'}",))
    with lease(connect(rig.host), "20261130T120000-mybox"):
        found = doctor(rig, tmp_path, "host.lease", "client.headroom")
    held = of(found, "host.lease")
    assert held.state is State.FAIL
    assert held.found.startswith("20261130T120000-mybox has held it since ")
    assert held.do == "wait until that gate is done, which --wait-for-lease SECONDS does"
    assert of(doctor(rig, tmp_path, "host.lease"), "host.lease").state is State.OK


def test_a_rig_for_another_machine_names_all_that_is_wrong(tmp_path: Path) -> None:
    """Its host.python is missing, too: the rest is looked at all the same."""
    rig = load_rig(
        "kimi-k2.5-8gpu",
        root=ROOT,
        overrides=(
            "host.python=/nowhere/python3",
            "server.python=/nowhere/python3",
            'server.model_path="/nowhere/m"',
        ),
    )
    found = doctor(rig, tmp_path, "sglang", "models")
    failed = {r.check: r.found for r in found.results if r.state is State.FAIL}
    assert failed.keys() == {"host.reached", "sglang.python", "models.target", "models.drafts"}
    assert failed["host.reached"].startswith("no usable Python called '/nowhere/python3' there")
    assert "No such file or directory: '/nowhere/python3'" in failed["sglang.python"]
    # What follows from it is told as following from it.
    assert (
        of(found, "sglang.installed").found
        == "not looked at: server.python does not start; sglang.python says why"
    )
    assert not any("Traceback" in r.found for r in found.results)


def test_a_host_that_cannot_be_reached_is_one_failure(tmp_path: Path) -> None:
    rig = load_rig("sglang-cpu", root=ROOT, overrides=("host.testinfra=ssh://nobody@127.0.0.1:1",))
    found = doctor(rig, tmp_path, "host", "models", "client.plugins")
    assert [r.check for r in found.results if r.state is State.FAIL] == ["host.reached"]
    assert of(found, "host.reached").found.startswith("nothing accepts ssh connections there")
    assert {r.state for r in found.results if r.check.startswith("models.")} == {State.UNKNOWN}
    assert of(found, "client.plugins").state is State.OK


def behind(server: Sshd, **changes: str) -> Rig:
    rig = load_rig("sglang-cpu", root=ROOT)
    host: HostSpec = server.spec(**changes)
    return rig.model_copy(update={"host": host})


@pytest.mark.sshd
def test_a_host_behind_ssh(sshd: Sshd, tmp_path: Path) -> None:
    found = doctor(
        behind(sshd),
        tmp_path,
        "host.tunnel",
        "host.clock",
        "host.work_dir",
        "host.processes",
    )
    # How long a command takes is this machine's business today.
    assert {
        r.check: r.state for r in found.results if r.state is not State.OK and r.check != "host.reached"
    } == {}
    assert of(found, "host.reached").found.startswith(f"ssh://{sshd.user}@127.0.0.1:{sshd.port}: ")
    assert of(found, "host.tunnel").found == "a port of the host answers here through ssh"
    assert of(found, "host.clock").found.startswith("within ")


@pytest.mark.sshd
def test_a_host_that_is_lost_midway_is_at_fault_itself(tmp_path: Path) -> None:
    """Not the rig's server.python, of which nothing is known then."""
    server = Sshd(tmp_path)

    def lose(case: Case) -> Iterator[Remark]:
        server.stop()
        yield from software.python(case)

    checks = [replace(c, ask=lose) for c in CHECKS if c.name == "sglang.python"]
    found = examine(behind(server), root=ROOT, reports=tmp_path, quick=True, checks=checks)
    assert of(found, "sglang.python").state is State.UNKNOWN
    assert not any("server.python" in (r.do or "") for r in found.results)
    (failed,) = [r for r in found.results if r.state is State.FAIL]
    assert failed.check == "host.reached"
    assert "answered at first, and was lost while it was looked at: nothing accepts ssh" in failed.found
    assert failed.do == "start sshd on the host, or correct the port in host.testinfra"
    assert found.exit_code() == 11


@pytest.mark.sshd
def test_a_host_whose_key_has_changed(sshd: Sshd, tmp_path: Path) -> None:
    other = tmp_path / "known_hosts"
    key = Path(f"{sshd.identity}.pub").read_text().split()[1]
    other.write_text(f"[127.0.0.1]:{sshd.port} ssh-ed25519 {key}\n")
    config = tmp_path / "ssh_config"
    config.write_text(sshd.ssh_config.read_text().replace(str(sshd.known_hosts), str(other)))
    found = doctor(behind(sshd, ssh_config=str(config)), tmp_path, "host.clock")
    assert of(found, "host.reached").found.startswith("the host key is not the one this machine knows")
    assert "ssh-keygen -R" in (of(found, "host.reached").do or "")
    assert of(found, "host.clock").state is State.UNKNOWN


@pytest.mark.sshd
def test_a_host_that_forwards_no_port(sshd: Sshd, tmp_path: Path) -> None:
    """The gate would find out after minutes of loading: every request goes through a tunnel."""
    keys = sshd.folder / "authorized_keys"
    allowed = keys.read_text()
    keys.write_text(f"no-port-forwarding {allowed}")
    try:
        found = doctor(behind(sshd), tmp_path, "host.tunnel")
    finally:
        keys.write_text(allowed)
    assert of(found, "host.tunnel").state is State.FAIL
    assert "AllowTcpForwarding" in (of(found, "host.tunnel").do or "")


def test_secrets_of_the_rig_are_nowhere_in_what_is_told(tmp_path: Path) -> None:
    secret = "hf_" + "s3cr3t" * 4
    rig = load_rig(
        "sglang-cpu",
        root=ROOT,
        overrides=(
            f"server.environment.HF_TOKEN={secret}",
            f'server.model_path="/models/{secret}/target"',
            f"host.work_dir={tmp_path / 'work'}",
        ),
    )
    found = doctor(rig, tmp_path, "models", "host.environment")
    assert of(found, "models.target").state is State.FAIL
    assert secret not in json.dumps(found.model_dump(mode="json"))
