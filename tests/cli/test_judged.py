from __future__ import annotations

from pathlib import Path

import pytest

from tokgate.cli.judged import judged
from tokgate.errors import UsageError
from tokgate.records import Outcome, Verdict


def test_what_a_session_concluded_comes_back_harmless(tmp_path: Path) -> None:
    verdict = Verdict(check="lossless", outcome=Outcome.PASS, headline="fine\x1b[2J\nand more")
    (tmp_path / "verdicts.json").write_text(f"[{verdict.model_dump_json()}]")
    (found,) = judged(tmp_path) or ()

    assert (found.check, found.outcome) == ("lossless", Outcome.PASS)
    assert "\x1b" not in found.headline
    assert "\n" not in found.headline


def test_a_session_that_never_ended_concluded_nothing(tmp_path: Path) -> None:
    assert judged(tmp_path) is None


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"\xff", b'[{"check": "lossless"}]'])
def test_a_damaged_file_is_an_error_that_tells_how_to_mend_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "verdicts.json").write_bytes(content)

    with pytest.raises(UsageError, match="tokgate report"):
        judged(tmp_path)
