from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.verdicts.baselines.test_file import IDENTITY, make_baseline
from tokgate.errors import BaselineError
from tokgate.verdicts.baselines.identity import identity_hash
from tokgate.verdicts.baselines.load import load
from tokgate.verdicts.baselines.save import save, save_all


def test_what_was_stored_comes_back(tmp_path: Path) -> None:
    path = save(tmp_path, make_baseline())

    assert path == tmp_path / "baselines/small" / f"{identity_hash(IDENTITY)[:12]}.json"
    assert load(path) == make_baseline()
    assert load(path).by_start("decode_tok_s") == ((44.5,), (44.6, 44.7))


def test_the_file_is_made_for_review(tmp_path: Path) -> None:
    text = save(tmp_path, make_baseline()).read_text()
    keys = list(json.loads(text))

    assert keys == sorted(keys)
    assert text.endswith("}\n")
    assert "44.6,\n" in text


def test_everyone_may_read_it(tmp_path: Path) -> None:
    mode = save(tmp_path, make_baseline()).stat().st_mode

    assert stat.S_IMODE(mode) == 0o644


def test_a_write_that_fails_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    path = save(tmp_path, make_baseline())
    before = path.read_text()
    path.unlink()
    path.mkdir()  # a folder in the file's place: the rename must fail
    (path / "keep").write_text(before)

    with pytest.raises(BaselineError, match="write the baseline"):
        save(tmp_path, make_baseline())
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_of_several_none_is_changed_where_one_cannot_be_written(tmp_path: Path) -> None:
    """The second belongs into a folder that cannot be made."""
    first = save(tmp_path, make_baseline())
    before = first.read_text()
    (tmp_path / "baselines/large").write_text("no folder")
    changed = make_baseline(arm="renamed")

    with pytest.raises(BaselineError, match=r"write the baseline .*/large/"):
        save_all(tmp_path, (changed, make_baseline(rig="large")))
    assert first.read_text() == before
    assert [p.name for p in first.parent.iterdir()] == [first.name]


def test_all_of_several_are_written_in_their_order(tmp_path: Path) -> None:
    both = (make_baseline({**IDENTITY, "args.tp_size": "4"}), make_baseline())

    assert tuple(load(path) for path in save_all(tmp_path, both)) == both


def test_a_link_is_written_through(tmp_path: Path) -> None:
    path = save(tmp_path, make_baseline())
    target = path.rename(tmp_path / "elsewhere.json")
    path.symlink_to(target)
    save(tmp_path, make_baseline(arm="renamed"))

    assert path.is_symlink()
    assert load(path).arm == "renamed"
    assert '"arm": "renamed"' in target.read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["baselines", "elsewhere.json"]


def test_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path, make_baseline())
    path.unlink()
    path.symlink_to(tmp_path / "gone" / "elsewhere.json")

    with pytest.raises(BaselineError, match="No such file"):
        save(tmp_path, make_baseline())
    assert path.is_symlink()
