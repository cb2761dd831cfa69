"""How often the numbers of some server runs have been looked at: a function of the runs alone."""

from __future__ import annotations

from collections.abc import Iterable

from tokgate.records import LaunchEvidence


def look_of(launches: Iterable[LaunchEvidence]) -> int:
    """Return 1, and 1 more for each decision of the stop rule that added a run to these.

    Restarts that one decision asked for are measured without a look between them. Give all runs that a comparison
    uses, of both sides: each decision that changed either was a chance to be wrong.
    """
    return 1 + len({evidence.launch.round for evidence in launches if evidence.launch.round})
