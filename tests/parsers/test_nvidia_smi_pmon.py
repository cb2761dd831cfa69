from __future__ import annotations

from tokgate.parsers.nvidia_smi_pmon import read_pmon

HEAD = """# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command
# Idx           #    C/G      %      %      %      %      %      %    name
"""


def test_samples_follow_one_another_and_a_dash_is_no_number() -> None:
    sample = """    0      10291     C      -      -      -      -      -      -    memhog
    0      10309     C     99      7      -      -      -      -    gpu burn
    1          -     -      -      -      -      -      -      -    -
"""
    told = read_pmon(HEAD + sample + HEAD + sample)
    assert [(r.gpu_index, r.pid, r.kind, r.sm, r.mem, r.command) for r in told.rows] == [
        (0, 10291, "C", None, None, "memhog"),
        (0, 10309, "C", 99.0, 7.0, "gpu burn"),
    ] * 2
    assert told.unread == ()


def test_the_older_layout_is_read_by_its_own_header() -> None:
    told = read_pmon(
        "# gpu        pid  type    sm   mem   enc   dec   command\n"
        "# Idx          #   C/G     %     %     %     %   name\n"
        "    0       1234     G     3     1     0     0   Xorg\n"
    )
    assert [(r.pid, r.kind, r.sm, r.command) for r in told.rows] == [(1234, "G", 3.0, "Xorg")]


def test_what_is_no_row_is_told() -> None:
    told = read_pmon("    0      10291     C      -\nNo devices were found\n" + HEAD + "    x   y\n")
    assert told.rows == ()
    assert [note.line for note in told.unread] == [1, 2, 5]
