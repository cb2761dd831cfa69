from __future__ import annotations

import re

from tokgate.report.charts import library

# Of the library in the page, uncompressed: what a chart may cost where a page has two megabytes.
MOST_BYTES = 60_000


def test_the_vendored_files_are_those_that_were_recorded() -> None:
    assert library.hashes() == library.vendored().sha256


def test_the_page_carries_the_licence_of_what_it_carries() -> None:
    assert "Copyright (c) 2022 Leon Sorokin" in library.script()
    assert library.script().startswith("/*\nThe MIT License")
    assert library.vendored().version in library.script()


def test_the_library_is_small_evaluates_nothing_and_cannot_end_its_element() -> None:
    text = library.script() + library.style()
    assert len(text.encode()) < MOST_BYTES
    assert not re.search(r"\beval\b|new Function|import\(|</|url\(|https?://(?!github\.com)", text)
