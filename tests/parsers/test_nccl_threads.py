from __future__ import annotations

from tokgate.parsers.nccl_records import NcclProcess
from tokgate.parsers.nccl_threads import ThreadReader

RANK_0 = NcclProcess(host="box", pid=7, device=0)


def read(*messages: str) -> list[dict[str, int]]:
    reader = ThreadReader()
    for line, message in enumerate(messages, start=1):
        reader.take(line, RANK_0, message)
    return [table.most for table in reader.finished()]


def test_a_pair_of_algorithm_and_protocol_has_its_number() -> None:
    told = read(
        "  Algorithm   | Tree | Ring |",
        "  Protocol    | LL | Simple | LL | Simple |",
        " Max NThreads | 512 | 512 | 256 | 96 |",
    )
    assert told == [{"Tree/LL": 512, "Tree/Simple": 512, "Ring/LL": 256, "Ring/Simple": 96}]


def test_of_a_second_communicator_the_first_table_holds() -> None:
    table = ("  Algorithm   | Ring |", "  Protocol    | LL |")
    assert read(*table, " Max NThreads | 512 |", *table, " Max NThreads | 64 |") == [{"Ring/LL": 512}]


def test_lines_that_do_not_fit_together_say_nothing() -> None:
    assert read(" Max NThreads | 512 |") == []
    assert read("  Algorithm   | Ring |", "  Protocol    | LL | Simple |", " Max NThreads | 512 |") == []
    assert read("  Algorithm   | Ring |", "  Protocol    | LL |", " Max NThreads | many |") == []


def test_other_rows_of_the_table_are_left_to_others() -> None:
    assert not ThreadReader().take(1, RANK_0, "    AllReduce |     7.8/ 141.0 |")
