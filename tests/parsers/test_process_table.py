from __future__ import annotations

import pytest

from tokgate.parsers.process_table import read_process_table, read_stat

# Fields 3 to 22 and a few more, as in proc(5).
TAIL = "S 41 4711 4710 0 -1 4194560 1 0 0 0 7 3 0 0 20 0 1 0 987654 1 2 3"


@pytest.mark.parametrize(
    "comm", ["python3", "sglang::schedul", "a) R 1 1 1 (b", "two words", "new\nline", "((", "", "caf\\xe9"]
)
def test_any_name_may_stand_in_a_stat_line(comm: str) -> None:
    stat = read_stat(f"4712 ({comm}) {TAIL}\n")
    assert stat is not None
    assert stat.model_dump() == {
        "pid": 4712,
        "comm": comm,
        "state": "S",
        "ppid": 41,
        "pgid": 4711,
        "sid": 4710,
        "start_ticks": 987654,
    }


@pytest.mark.parametrize(
    "line", ["", "4712", "4712 (x)", "4712 (x) S 1 2", "x (y) " + TAIL, "1 (x) S a b" + " 1" * 30]
)
def test_what_is_no_stat_line_is_none(line: str) -> None:
    assert read_stat(line) is None


def test_a_table_has_its_processes_and_names_what_it_could_not_read() -> None:
    table = read_process_table(
        [
            {
                "stat": f"7 (python3) {TAIL}",
                "cmdline": "python3\0-m\0sglang\0",
                "user": "me",
                "mark": "r1/01-a",
                "started": 1795987200,
                "cgroup": "0::/system.slice/sglang.service",
            },
            {
                "stat": f"8 (sglang::detoken) {TAIL}",
                "cmdline": "sglang::detokenizer\0\0\0\0",
                "user": None,
                "mark": None,
            },
            {"stat": f"9 (kthread) {TAIL}", "cmdline": ""},
            {"cmdline": "vanished"},
            "nonsense",
        ]
    )
    assert [(p.pid, p.cmdline, p.user, p.mark) for p in table.processes] == [
        (7, "python3 -m sglang", "me", "r1/01-a"),
        (8, "sglang::detokenizer", None, None),
        (9, "", None, None),
    ]
    assert table.processes[0].start_ticks == 987654
    assert table.processes[0].started_at == "2026-11-29T21:20:00+00:00"
    assert table.processes[0].within == "systemd unit sglang.service"
    assert (table.processes[1].started_at, table.processes[1].within) == (None, None)
    assert [note.line for note in table.unread] == [4, 5]


@pytest.mark.parametrize("rows", [None, "rows", 7, {"rows": []}])
def test_no_table_is_told_apart_from_an_empty_one(rows: object) -> None:
    assert read_process_table(rows).unread
    assert not read_process_table([]).unread


@pytest.mark.parametrize("odd", [10**30, -(10**30), "soon", 1.5, None, True])
def test_an_odd_start_time_costs_only_itself(odd: object) -> None:
    (process,) = read_process_table([{"stat": f"7 (x) {TAIL}", "started": odd, "cgroup": odd}]).processes
    assert (process.pid, process.within) == (7, None)
    assert process.started_at is None or odd is True


def test_a_command_line_comes_without_its_key() -> None:
    row = {"stat": f"7 (python3) {TAIL}", "cmdline": "python3\0-m\0sglang.launch_server\0--api-key\0k3y\0"}
    (process,) = read_process_table([row]).processes
    assert process.cmdline == "python3 -m sglang.launch_server --api-key [redacted]"
