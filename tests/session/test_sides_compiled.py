"""A side that does not compile is known before any server of it is started, with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hosts.side_trees import FILE, change, commit
from tokgate.records import StartCause
from tokgate.records.side import BASE, HEAD

from .opened_sides import OTHER, Open, opened, repository

__all__ = ["opened", "repository"]

SLIP = "def verify(self, batch ScheduleBatch):"


def test_a_slip_of_the_pen_is_told_with_its_place_as_the_server_s_python_sees_it(
    opened: Open, repository: Path
) -> None:
    change(repository, text=SLIP)
    commit(repository, "a slip")

    sides = opened(repository=str(repository), base="HEAD~1", head="HEAD")

    assert set(sides.broken) == {HEAD}
    failure = sides.broken[HEAD]
    assert failure.cause is StartCause.DOES_NOT_COMPILE
    assert failure.headline.startswith("SyntaxError: ")
    assert f"({FILE}, line 4)" in failure.headline
    assert f"mend {FILE}, line 4" in failure.do
    assert SLIP in failure.evidence


def test_what_is_not_committed_is_compiled_too_and_what_a_head_mends_breaks_its_base(
    opened: Open, repository: Path
) -> None:
    change(repository, text="  indented = 1")
    assert set(opened(repository=str(repository), base="HEAD").broken) == {HEAD}
    commit(repository, "broken")
    change(repository, text="mended = 1")
    assert set(opened(repository=str(repository), base="HEAD").broken) == {BASE}


@pytest.mark.parametrize("content", [b"x = 1\x00\n", b"# coding: no-such-encoding\n", b"\xff = 1\n"])
def test_a_source_that_no_python_reads_is_one(opened: Open, repository: Path, content: bytes) -> None:
    (repository / "python/sglang/srt/new.py").write_bytes(content)
    (failure,) = opened(repository=str(repository), base="HEAD").broken.values()
    assert "(python/sglang/srt/new.py, line 1)" in failure.headline


def test_what_is_broken_on_both_sides_or_no_server_imports_stops_nobody(
    opened: Open, repository: Path
) -> None:
    """A template of another Python say: that servers start with it is known from the base."""
    change(repository, OTHER, text="print 'two'")
    commit(repository, "a template")
    change(repository, OTHER, text="print 'three'")
    (repository / "python/sglang/test/test_worker.py").write_text("def :\n")
    (repository / "python/sglang/srt/words.txt").write_text("def :\n")
    change(repository)
    assert opened(repository=str(repository), base="HEAD").broken == {}
