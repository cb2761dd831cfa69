from __future__ import annotations

from tokgate.parsers.nvidia_smi_list import read_gpu_list


def test_instances_belong_to_their_gpu_under_old_and_new_ids() -> None:
    told = read_gpu_list(
        "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-a)\n"
        "  MIG 3g.40gb     Device  0: (UUID: MIG-b)\n"
        "  MIG 1g.10gb     Device  1: (UUID: MIG-c)\n"
        "GPU 1: A100-SXM4-40GB (UUID: GPU-d)\n"
        "  MIG 3g.20gb Device 0: (UUID: MIG-GPU-d/1/0)\n"
        "GPU 2: A100-SXM4-40GB (UUID: GPU-e)\n"
    )
    assert [(g.index, g.name, g.uuid) for g in told.gpus] == [
        (0, "NVIDIA H100 80GB HBM3", "GPU-a"),
        (1, "A100-SXM4-40GB", "GPU-d"),
        (2, "A100-SXM4-40GB", "GPU-e"),
    ]
    assert [[(i.profile, i.device, i.uuid) for i in g.instances] for g in told.gpus] == [
        [("3g.40gb", 0, "MIG-b"), ("1g.10gb", 1, "MIG-c")],
        [("3g.20gb", 0, "MIG-GPU-d/1/0")],
        [],
    ]
    assert told.unread == ()


def test_prose_is_no_gpu() -> None:
    told = read_gpu_list("Failed to initialize NVML: Unknown Error\n  MIG 1g.5gb Device 0: (UUID: MIG-x)\n")
    assert told.gpus == ()
    assert [note.line for note in told.unread] == [1, 2]
