"""What SGLang sets over the shell line, as read in the sources of its releases."""

from __future__ import annotations

import pytest

from tokgate.parsers.overwritten import newest_read, read_overwritten

DETERMINISTIC = {"enable_deterministic_inference": True}


@pytest.mark.parametrize(
    ("version", "arguments", "variable", "words"),
    [
        ("0.5.23", {}, "CUDA_DEVICE_MAX_CONNECTIONS", "8 (engine.py)"),
        ("0.5.3.post3", {}, "CUDA_DEVICE_MAX_CONNECTIONS", "4 (engine.py)"),
        ("v0.5.23", {}, "SGLANG_RUN_ID", "a fresh id (engine.py)"),
        # Until 0.5.3 the shell's value was lost in any case; since 0.5.6 only where an argument asks for it.
        ("0.5.2", {}, "NCCL_CUMEM_ENABLE", "1 with --enable-symm-mem, otherwise 0 (engine.py)"),
        ("0.5.23", {}, "NCCL_CUMEM_ENABLE", None),
        ("0.5.23", {"enable_symm_mem": False}, "NCCL_CUMEM_ENABLE", None),
        (
            "0.5.23",
            {"enable_symm_mem": True},
            "NCCL_CUMEM_ENABLE",
            "1 because of --enable-symm-mem (engine.py)",
        ),
        ("0.5.16", {}, "CUDA_MODULE_LOADING", "AUTO (engine.py)"),
        ("0.5.23", {}, "CUDA_MODULE_LOADING", None),
        # Deterministic inference takes the rig's NCCL tuning away, but not on one GPU.
        ("0.5.16", {**DETERMINISTIC, "tp_size": 1}, "NCCL_ALGO", None),
        ("0.5.16", DETERMINISTIC, "NCCL_ALGO", None),
        ("0.5.16", {**DETERMINISTIC, "tp_size": "8"}, "NCCL_MAX_NCHANNELS", None),
        ("0.5.6", {}, "NCCL_ALGO", None),
    ],
)
def test_by_version_and_arguments(
    version: str, arguments: dict[str, object], variable: str, words: str | None
) -> None:
    reading = read_overwritten(version, arguments)
    assert reading.variables.get(variable) == words
    assert reading.unread == ()


@pytest.mark.parametrize("size", [{"tp_size": 8}, {"tp_size": "8"}, {"tensor_parallel_size": 2}, {"tp": 2}])
def test_deterministic_inference_takes_the_nccl_tuning_of_a_rig_away(size: dict[str, object]) -> None:
    variables = read_overwritten("0.5.23", {**DETERMINISTIC, **size}).variables
    assert {"NCCL_ALGO", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"} <= set(variables)
    assert "allreduce:tree" in variables["NCCL_ALGO"]


@pytest.mark.parametrize(
    ("version", "taken_from"),
    [
        ("0.5.4", "taken from 0.5.3.post3 and 0.5.6"),
        ("0.6.0", "taken from 0.5.23"),
        ("0.3.6", "taken from 0.4.8"),
        ("0.5.23.post1", "taken from 0.5.23"),
        ("0.5.11.dev20260512", "taken from 0.5.11"),
    ],
)
def test_a_version_that_nobody_has_read_says_so(version: str, taken_from: str) -> None:
    reading = read_overwritten(version, {})
    assert reading.variables
    assert taken_from in reading.unread[0].why


@pytest.mark.parametrize("version", [None, "", "main", "0.5", "\x00"])
def test_no_version_is_no_knowledge(version: str | None) -> None:
    reading = read_overwritten(version, {})
    assert reading.variables == {}
    assert len(reading.unread) == 1


def test_values_are_told_where_they_are_known() -> None:
    reading = read_overwritten("0.5.23", {**DETERMINISTIC, "tp_size": 8})
    assert reading.values["NCCL_ALGO"] == "allreduce:tree"
    assert reading.values["CUDA_DEVICE_MAX_CONNECTIONS"] == "8"
    assert "NCCL_MAX_NCHANNELS" not in reading.values  # one of SGLang's own variables decides
    assert set(reading.values) <= set(reading.variables)


@pytest.mark.parametrize(
    ("version", "arguments", "filled"),
    [
        ("0.5.23", {}, {"NCCL_CUMEM_ENABLE": "0", "NCCL_NVLS_ENABLE": "0"}),
        ("0.5.16", {"enable_nccl_nvls": True}, {"NCCL_CUMEM_ENABLE": "0"}),
        ("0.5.16", {"enable_symm_mem": True}, {}),
        ("0.5.2", {}, {}),  # there it overwrites them
    ],
)
def test_what_is_filled_in_where_the_shell_line_leaves_it_unset(
    version: str, arguments: dict[str, object], filled: dict[str, str]
) -> None:
    reading = read_overwritten(version, arguments)
    assert reading.filled == filled
    assert not set(reading.filled) & set(reading.variables)


def test_the_newest_version_read() -> None:
    assert read_overwritten(newest_read(), {}).unread == ()
