"""What `tokgate doctor` prints: 80 columns, the worst last, then the next command; foreign text cannot move a cursor."""

from __future__ import annotations

from typing import Any

from tokgate.records.doctor import Examination, Examined, State
from tokgate.report.examination import WIDTH, render
from tokgate.report.visible import columns

GROUPS = {"host": "The host", "gpus": "Its GPUs", "models": "The models"}


def one(check: str, state: State, found: str, do: str | None = None) -> Examined:
    return Examined(check=check, state=state, tried=f"to see {check}", found=found, do=do)


def examined(*results: Examined, **changes: Any) -> Examination:
    whole: dict[str, Any] = {
        "rig": "mybox",
        "simulated": False,
        "host": "ssh://root@box",
        "at": "2026-11-30T12:00:00+00:00",
        "quick": False,
        "seconds": 4.21,
        "results": results,
    }
    return Examination(**(whole | changes))


BAD = examined(
    one("host.reached", State.OK, "ssh://root@box: 40 ms a command"),
    one("host.numa", State.NOTE, "2 nodes", "sysctl kernel.numa_balancing=0"),
    one(
        "gpus.clean",
        State.FAIL,
        "GPU 3: 1894 MiB are allocated, held by pid 71 " + "of a long command " * 20,
        "end it",
    ),
    one("gpus.persistence", State.WARN, "off", "nvidia-smi -pm 1"),
    one("models.target", State.FAIL, "/models/gone: no such file or directory", "correct the path"),
    one("models.heads", State.UNKNOWN, "not looked at: no config.json"),
    one("models.memory", State.UNKNOWN, "not looked at: no config.json"),
)


def test_every_line_fits_the_terminal() -> None:
    assert all(columns(line) <= WIDTH for line in render(BAD, GROUPS).splitlines()[:-1])


def test_every_line_fits_a_narrow_terminal_and_has_room_for_words() -> None:
    lines = render(BAD, GROUPS, width=40).splitlines()[:-1]
    assert all(columns(line) <= 40 for line in lines)
    assert "          ssh://root@box: 40 ms a" in lines


def test_what_is_to_be_mended_stands_last_and_the_worst_behind_everything() -> None:
    text = render(BAD, GROUPS)
    mend = text.partition("To mend, the worst last\n")[2]
    order = [
        mend.index(name)
        for name in (
            "2 checks could not look, for the reasons above: models.heads",
            "gpus.persistence",
            "gpus.clean",
            "models.target",
        )
    ]
    assert order == sorted(order)
    assert "host.numa" not in mend
    assert "do: sysctl kernel.numa_balancing=0" in text.partition("To mend")[0]
    assert (
        "    tried  to see models.target\n    found  /models/gone: no such file or directory\n    do     correct"
        in mend
    )
    assert text.splitlines()[-3:] == [
        "7 checks in 4.2 s: 1 ok, 1 note, 2 unknown, 1 warning, 2 failures",
        "Not ready: a gate started now would end with exit code 11.",
        "next: mend the last one above, then tokgate doctor --rig mybox",
    ]


def test_checks_that_are_blind_for_one_reason_share_a_line() -> None:
    (line,) = [row for row in render(BAD, GROUPS).partition("To mend")[0].splitlines() if "2 checks" in row]
    assert "heads, memory: not looked at: no config.json" in line


def test_a_rig_that_is_ready_ends_with_the_gates_own_command() -> None:
    text = render(
        examined(one("host.reached", State.OK, "local")), GROUPS, overrides=("host.work_dir=/tmp/a b",)
    )
    assert "To mend" not in text
    assert text.splitlines()[-2:] == [
        "Ready: nothing was found that would keep a gate from being judged.",
        "next: pytest perf_tests -m eagle3 --rig mybox --rig-set 'host.work_dir=/tmp/a b'",
    ]


def test_the_gates_command_is_spelled_for_where_it_is_run() -> None:
    text = render(
        examined(one("host.reached", State.OK, "local")), GROUPS, promises="--pyargs tokgate.perf_tests"
    )
    assert text.splitlines()[-1] == "next: pytest --pyargs tokgate.perf_tests -m eagle3 --rig mybox"


def test_strict() -> None:
    warned = examined(one("gpus.persistence", State.WARN, "off", "nvidia-smi -pm 1"))
    assert "Ready: " in render(warned, GROUPS)
    assert "Not ready: with --strict, warnings and unknowns end with exit code 11." in render(
        warned, GROUPS, strict=True
    )
    assert (warned.exit_code(), warned.exit_code(strict=True)) == (0, 11)


def test_a_simulated_rig_says_so_first() -> None:
    found = examined(one("host.reached", State.OK, "local"), simulated=True, rig="sim-8gpu")
    assert render(found, GROUPS).startswith("SIMULATED  rig sim-8gpu: ")


def test_foreign_text_moves_no_cursor() -> None:
    hostile = examined(
        one("gpus.clean", State.FAIL, "held by \x1b[2J\x1b]0;title\x07evil\r\nok \u202e", "end \x1b[1A it")
    )
    text = render(hostile, GROUPS, colour=False)
    assert not any(c in text for c in "\x1b\x07\r\u202e")


def test_colours_are_asked_for() -> None:
    assert "\x1b[31;1mfail   \x1b[0m" in render(BAD, GROUPS, colour=True)
    assert "\x1b" not in render(BAD, GROUPS)


def test_a_host_out_of_reach_has_its_blind_checks_counted_by_group() -> None:
    blind = [one(f"{g}.c{n}", State.UNKNOWN, "no way there") for g in ("host", "gpus") for n in range(9)]
    mend = render(examined(*blind), GROUPS).partition("To mend, the worst last\n")[2]
    assert "18 checks could not look, for the reasons above: host 9, gpus 9" in mend
    assert "host.c1" not in mend
