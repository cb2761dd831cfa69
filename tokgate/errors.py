"""One family tree of errors; each says what was tried, what was found, what to do.

GateError
├── UsageError            the person can mend it before any server starts
│   ├── RigError          a rig file: names file, key, value found, value wanted
│   └── BaselineError     a baseline file is corrupt, of another schema, or of another identity
└── BenchFault            the bench, not the code under test, is at fault: outcome `invalid`
    ├── HostFault         a command on the host failed, timed out or made no sense
    │   └── HostLost      the host itself was not reached or did not answer: what was asked of it is not known
    ├── SlateFault        the machine is not clean
    ├── StartFault        the server did not come up
    ├── ServerLost        the server died or hung while it was measured
    ├── StopFault         something of ours is still there after the stop
    ├── LeaseFault        another gate holds the host
    └── SideFault         a side of a change cannot be made, or measuring it would say nothing
"""

from __future__ import annotations

from tokgate.records.server import StartFailure


class GateError(Exception):
    """`tried`, `found` and `do` are sentences without a final full stop."""

    def __init__(self, *, tried: str, found: str, do: str) -> None:
        self.tried = tried
        self.found = found
        self.do = do
        super().__init__(f"tried: {tried}\nfound: {found}\ndo:    {do}")

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments do not survive the default pickling that xdist relies on.
        return (_rebuild, (type(self), self.tried, self.found, self.do))


def _rebuild(kind: type[GateError], tried: str, found: str, do: str) -> GateError:
    return kind(tried=tried, found=found, do=do)


class UsageError(GateError):
    pass


class RigError(UsageError):
    pass


class BaselineError(UsageError):
    pass


class BenchFault(GateError):  # noqa: N818 - "fault" is the word: the bench is at fault, not the code
    pass


class HostFault(BenchFault):
    pass


class HostLost(HostFault):
    pass


class SlateFault(BenchFault):
    pass


class StartFault(BenchFault):
    """`failure` is the same as a record, with the last lines of the server's log."""

    def __init__(self, *, tried: str, found: str, do: str, failure: StartFailure | None = None) -> None:
        self.failure = failure
        super().__init__(tried=tried, found=found, do=do)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_start_fault, (self.tried, self.found, self.do, self.failure))


def _rebuild_start_fault(tried: str, found: str, do: str, failure: StartFailure | None) -> StartFault:
    return StartFault(tried=tried, found=found, do=do, failure=failure)


class ServerLost(BenchFault):
    pass


class StopFault(BenchFault):
    pass


class LeaseFault(BenchFault):
    pass


class SideFault(BenchFault):
    pass
