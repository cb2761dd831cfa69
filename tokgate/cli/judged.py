"""What a run's own session concluded, as its folder holds it."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tokgate.errors import UsageError
from tokgate.records import Verdict
from tokgate.report.visible import one_line
from tokgate.session.plain_files import bytes_of

MOST_BYTES = 64 << 20
_VERDICTS = TypeAdapter(tuple[Verdict, ...])


def judged(run: Path) -> tuple[Verdict, ...] | None:
    """Read verdicts.json of a run folder, headlines made harmless; None where there is none.

    UsageError when it is there and cannot be read.
    """
    path = run / "verdicts.json"
    try:
        found = _VERDICTS.validate_json(bytes_of(path, most=MOST_BYTES))
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        first = (
            error.errors()[0]["msg"] if isinstance(error, ValidationError) else error.strerror or str(error)
        )
        raise UsageError(
            tried=f"reading what {path} concluded",
            found=first,
            do=f"have it written anew: tokgate report {run}",
        ) from error
    return tuple(
        v.model_copy(update={"headline": one_line(v.headline), "check": one_line(v.check)}) for v in found
    )
