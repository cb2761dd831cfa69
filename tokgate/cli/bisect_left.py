"""How far a bisection has come: what git reckons is left of it."""

from __future__ import annotations

from pathlib import Path

from tokgate.cli.git import git


def candidates(repository: Path) -> str | None:
    """Return "13 commits may be the first bad one, about 4 steps with this one"; None where git bisects nothing there."""
    terms = [git(repository, "bisect", "terms", f"--term-{which}") for which in ("bad", "good")]
    if None in terms:
        return None
    bad, good = ((term or b"").decode(errors="replace").strip() for term in terms)
    told = git(
        repository, "rev-list", "--bisect-vars", f"refs/bisect/{bad}", "--not", f"--glob=refs/bisect/{good}-*"
    )
    if not told:
        return None
    values = dict(line.split("=", 1) for line in told.decode(errors="replace").splitlines() if "=" in line)
    try:
        left, steps = int(values["bisect_all"]), int(values["bisect_steps"])
    except (KeyError, ValueError):
        return None
    return f"{left} commits may be the first {bad} one, about {steps + 1} step{'s' if steps else ''} with this one"
