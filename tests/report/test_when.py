"""When a session ran, as a person reads it."""

from __future__ import annotations

import pytest

from tokgate.report.when import when


@pytest.mark.parametrize(
    ("started", "finished", "said"),
    [
        (
            "2026-11-30T13:54:31+00:00",
            "2026-11-30T14:00:18+00:00",
            "2026-11-30 13:54:31 to 14:00:18 UTC, 5 min 47 s",
        ),
        (
            "2026-11-30T23:59:00+00:00",
            "2026-12-01T00:01:00+00:00",
            "2026-11-30 23:59:00 to 2026-12-01 00:01:00 UTC, 2 min 00 s",
        ),
        ("2026-11-30T13:54:31+00:00", None, "2026-11-30 13:54:31 UTC, its end is not known"),
        ("yesterday", "today", "yesterday to today"),
    ],
)
def test_begin_end_and_what_it_took(started: str, finished: str | None, said: str) -> None:
    assert when(started, finished) == said
