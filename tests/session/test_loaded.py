"""A run folder is parsed once, and anew as soon as anything in it has changed."""

from __future__ import annotations

from pathlib import Path

from tests.session.generations import generation
from tests.session.test_run_folder import LAUNCH, written
from tokgate.records import LaunchEvidence
from tokgate.session.loaded import load_once


def test_a_folder_is_read_again_only_where_it_has_changed(tmp_path: Path) -> None:
    folder = written(tmp_path)
    folder.write_launch(LaunchEvidence(launch=LAUNCH))
    folder.append_generations(LAUNCH.id, (generation(index=0),))
    first = load_once(tmp_path)
    assert load_once(tmp_path) is first

    folder.append_generations(LAUNCH.id, (generation(index=1),))
    assert len(load_once(tmp_path)[0].launches[0].generations) == 2
