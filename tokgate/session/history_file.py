"""The history of a rig's runs on the disk: JSON lines, appended whole, read past whatever is damaged.

It lies in reports/history/<rig>.jsonl, beside the run folders that it tells of: it is output of sessions, not a decision,
so it is not committed. In baselines/ every session would leave the working tree dirty, and the commit that the next one
records would say so.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from tokgate.session.plain_files import bytes_of
from tokgate.verdicts.baselines.history import Entry

FOLDER = "history"
COPY = "history.jsonl"  # in a run folder: what its verdicts were told beside
MOST_BYTES = 64 << 20  # some 20 000 sessions
MOST_LINE = 1 << 20
_MOST_NAMED = 20  # damaged lines that are named one by one


class History(NamedTuple):
    entries: tuple[Entry, ...]
    damaged: tuple[str, ...]  # which lines were skipped, and why


def history_path(reports: Path, rig: str) -> Path:
    return reports / FOLDER / f"{rig}.jsonl"


def append(path: Path, entry: Entry) -> None:
    """Add one line, whole or not at all for a reader; OSError when that fails.

    Two sessions may end together: the lock keeps their lines apart. Half a line of one that was killed ends here.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without O_NONBLOCK opening a pipe waits for its reader.
    opened = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        size = os.fstat(opened).st_size
        torn = size > 0 and os.pread(opened, 1, size - 1) != b"\n"
        line = entry.model_dump_json().encode("utf-8", "replace") + b"\n"
        written = os.write(opened, b"\n" + line if torn else line)
        if written < len(line):
            os.truncate(opened, size)  # a full disk: what was there stays as it was
            raise OSError(28, "no room for the whole line")
        os.fsync(opened)
    finally:
        os.close(opened)


def read(path: Path) -> History:
    """Return the entries in the order of the file; none where there is no file. OSError: it cannot be read."""
    try:
        content = bytes_of(path, most=MOST_BYTES)
    except FileNotFoundError:
        return History((), ())
    entries, damaged = [], []
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        if len(line) > MOST_LINE:
            damaged.append(f"{path}, line {number}: {len(line)} bytes")
            continue
        try:
            entries.append(Entry.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "no entry"
            damaged.append(f"{path}, line {number}: {where}: {first['msg']}")
    if len(damaged) > _MOST_NAMED:
        damaged = [*damaged[:_MOST_NAMED], f"and {len(damaged) - _MOST_NAMED} more damaged lines"]
    return History(tuple(entries), tuple(damaged))


def copied(path: Path, folder: Path) -> History:
    """Return the history as this run folder has it, copied there when it is first asked for; () where there is none.

    A verdict that is judged again is told beside what was known on its day, not beside what came later.
    """
    target = folder / COPY
    if not target.exists():
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = target.with_name(f".{COPY}.{os.getpid()}")
            if path.is_file():
                shutil.copyfile(path, temporary)
            else:
                temporary.write_bytes(b"")
            # Whoever of several workers is first: a link fails where the name is taken.
            try:
                os.link(temporary, target)
            except FileExistsError:
                pass
            finally:
                temporary.unlink(missing_ok=True)
        except OSError:
            return History((), ())
    return stored(folder)


def stored(folder: Path) -> History:
    """Return what a run folder has of its history; nothing of it can keep a run from being judged."""
    try:
        return read(folder / COPY)
    except OSError as error:
        return History((), (f"{folder / COPY}: {error.strerror or error}",))
