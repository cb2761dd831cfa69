"""Bytes as seen in /proc/PID/environ of real processes, cut short."""

from __future__ import annotations

import pytest

from tokgate.parsers.environ import read_environ


def test_an_intact_environment_proves_absence() -> None:
    reading = read_environ(b"PATH=/usr/bin\0NCCL_ALGO=Ring\0EMPTY=\0TWO=a=b\0LINES=a\nb\0SPT_NOENV=1\0")
    assert reading.variables == {
        "PATH": "/usr/bin",
        "NCCL_ALGO": "Ring",
        "EMPTY": "",
        "TWO": "a=b",
        "LINES": "a\nb",
        "SPT_NOENV": "1",
    }
    assert not reading.damaged
    assert reading.reason is None
    assert reading.unread == ()


@pytest.mark.parametrize(
    ("raw", "left", "reason"),
    [
        pytest.param(b"\0" * 98, {}, "98 bytes are blanked out", id="setproctitle, all gone"),
        pytest.param(
            b"\0" * 75 + b"LANG=C.UTF-8\0Z1=1\0",
            {"LANG": "C.UTF-8", "Z1": "1"},
            "75 bytes are blanked out",
            id="setproctitle after os.environ['LANG'] was set: the tail is left",
        ),
        pytest.param(
            b"duler_TP0_EP0\0" + b"\0" * 20 + b"Z1=1\0",
            {"Z1": "1"},
            "20 bytes are blanked out, 1 pieces are no variables",
            id="a title longer than the command line was",
        ),
        pytest.param(b"A=1\0B=2\0\0C=3\0", {"A": "1", "B": "2", "C": "3"}, "1 bytes", id="a hole"),
        pytest.param(b"A=1\0B=2", {"A": "1", "B": "2"}, "the end is cut off", id="cut off"),
        pytest.param(b"=x\0A=1\0", {"A": "1"}, "1 pieces are no variables", id="no name"),
        pytest.param(b"", {}, "zombie", id="empty"),
    ],
)
def test_a_damaged_environment_proves_nothing(raw: bytes, left: dict[str, str], reason: str) -> None:
    reading = read_environ(raw)
    assert reading.damaged
    assert reading.variables == left
    assert reading.reason is not None
    assert reason in reading.reason


def test_odd_bytes_and_repeated_names_are_kept_and_told() -> None:
    reading = read_environ(b"BAD=\xff\xfe\0A=1\0A=2\0A=1\0")
    assert reading.variables == {"BAD": "\\xff\\xfe", "A": "1"}
    assert not reading.damaged
    assert [(note.text, note.why) for note in reading.unread] == [("A=2", "the name came before")]
    assert reading.model_dump_json()
