"""The frozen records that all rooms exchange."""

from .generation import Generation, GenerationStatus, ServerCounters, SpecCounters
from .host import (
    CleanSlate,
    CommandResult,
    Difference,
    Finding,
    Fingerprint,
    GpuHolder,
    GpuSeen,
    ProcessSeen,
)
from .record import Record, Unread
from .run import ClientLoad, LaunchEvidence, LeftOut, RunEvidence, RunInfo
from .sample import Sample, Summary
from .sampling import SamplingStep
from .server import (
    Addition,
    CommandLine,
    EnvironmentTruth,
    Launch,
    Liveness,
    NodeRun,
    Role,
    ServerRun,
    StartCause,
    StartFailure,
    StopRecord,
    VariableState,
    VariableTruth,
)
from .verdict import EXIT_CODES, PRECEDENCE, Outcome, Reference, Verdict, worst

__all__ = [
    "EXIT_CODES",
    "PRECEDENCE",
    "Addition",
    "CleanSlate",
    "ClientLoad",
    "CommandLine",
    "CommandResult",
    "Difference",
    "EnvironmentTruth",
    "Finding",
    "Fingerprint",
    "Generation",
    "GenerationStatus",
    "GpuHolder",
    "GpuSeen",
    "Launch",
    "LaunchEvidence",
    "LeftOut",
    "Liveness",
    "NodeRun",
    "Outcome",
    "ProcessSeen",
    "Record",
    "Reference",
    "Role",
    "RunEvidence",
    "RunInfo",
    "Sample",
    "SamplingStep",
    "ServerCounters",
    "ServerRun",
    "SpecCounters",
    "StartCause",
    "StartFailure",
    "StopRecord",
    "Summary",
    "Unread",
    "VariableState",
    "VariableTruth",
    "Verdict",
    "worst",
]
