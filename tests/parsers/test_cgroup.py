from __future__ import annotations

import pytest

from tokgate.parsers.cgroup import read_cgroup

ID = "3f2a0c1b9d8e" + "7" * 52
POD = "0f8a1c2e-1111-2222-3333-444455556666"


@pytest.mark.parametrize(
    ("text", "home"),
    [
        (f"0::/system.slice/docker-{ID}.scope\n", "docker container 3f2a0c1b9d8e"),
        (f"12:devices:/docker/{ID}\n1:name=systemd:/docker/{ID}\n", "docker container 3f2a0c1b9d8e"),
        (f"0::/docker/{ID}/init.scope\n", "docker container 3f2a0c1b9d8e"),
        (
            f"0::/kubepods.slice/kubepods-pod{POD.replace('-', '_')}.slice/cri-containerd-{ID}.scope\n",
            f"kubernetes pod {POD}, container 3f2a0c1b9d8e",
        ),
        (f"4:memory:/kubepods/besteffort/pod{POD}/{ID}\n", f"kubernetes pod {POD}, container 3f2a0c1b9d8e"),
        (f"0::/kubepods/pod{POD}/crio-{ID}\n", f"kubernetes pod {POD}, container 3f2a0c1b9d8e"),
        (
            f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope/container\n",
            "podman container 3f2a0c1b9d8e",
        ),
        (
            f"0::/system.slice/containerd.service/default:cri-containerd:{ID}\n",
            "containerd container 3f2a0c1b9d8e",
        ),
        ("0::/lxc.payload.gpu-box/init.scope\n", "lxc container gpu-box"),
        ("8:pids:/lxc/gpu-box\n", "lxc container gpu-box"),
        ("0::/machine.slice/systemd-nspawn@build.service/payload\n", "nspawn container build"),
        ("9:freezer:/slurm/uid_1000/job_71/step_0/task_0\n", "slurm job 71 step 0"),
        ("0::/system.slice/slurmstepd.scope/job_71/step_batch/user/task_0\n", "slurm job 71 step batch"),
        ("0::/system.slice/sglang.service\n", "systemd unit sglang.service"),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.service\n", "systemd unit x.service"),
        ("0::/user.slice/user-1000.slice/session-3.scope\n", "login session 3 of uid 1000"),
        # Seen from inside another container, a neighbour has no root of its own.
        (f"0::/../cri-containerd-{ID}.scope\n", "containerd container 3f2a0c1b9d8e"),
        (f"0::/../{ID}\n", "container 3f2a0c1b9d8e"),
        (f"0::/ecs/task/{ID} (deleted)\n", "container 3f2a0c1b9d8e"),
        # The controllers may disagree; the longest path says most.
        (f"2:cpu:/\n1:name=systemd:/docker/{ID}\n0::/\n", "docker container 3f2a0c1b9d8e"),
        ("0::/\n", None),
        ("12:devices:/\n1:name=systemd:/\n", None),
        ("0::/init.scope\n", None),
        ("", None),
        ("nonsense", None),
    ],
)
def test_the_innermost_home_is_named(text: str, home: str | None) -> None:
    assert read_cgroup(text) == home


def test_a_long_name_stays_short() -> None:
    assert len(read_cgroup(f"0::/system.slice/{'x' * 5000}.service\n") or "") < 150
