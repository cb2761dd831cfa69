"""A start that failed, told so that the next step is clear: which known cause, the lines that show it, what to do."""

from __future__ import annotations

from tokgate.errors import StartFault
from tokgate.parsers.cause_reading import CauseReading
from tokgate.parsers.crashes import find_cause
from tokgate.records import StartCause, StartFailure

from .events import Exit
from .readiness import GaveUp

TAIL_LINES = 20
LONGEST = 500  # characters of one shown line
# The shell's own: found but not executable, not found.
NOT_STARTED = (126, 127)

_DO = {
    StartCause.PORT_TAKEN: 'end the process that has the port, or say port = "free" in the rig; with that a new '
    "start gets a new port",
    StartCause.DOES_NOT_FIT: "see that nothing else holds GPU memory; then make less of it: more GPUs (tp_size), a "
    "smaller context or fewer running requests; moving mem_fraction_static trades weights against KV cache and helps "
    "in one direction only, whatever the log advises",
    StartCause.KERNEL_MISSING: "the software does not fit this GPU, driver or shape: look at the evidence, choose "
    "another attention or quantization backend or tp_size, or a build for this architecture",
    StartCause.RANK_DIED: "look further up in the log for another rank's error; where the kernel's out-of-memory "
    "killer is suspected, `dmesg -T | grep -i oom` on the host tells",
    StartCause.CRASHED: "read the traceback in server.log; the same start by hand is `tokgate rig show --arm`",
    StartCause.NO_PYTHON: "correct server.python in the rig: it must be an executable on the host",
    StartCause.NO_MODULE: "install SGLang for server.python, or correct server.python or server.module in the rig",
    StartCause.NO_MODEL: "correct the path in the rig (server.model_path, or the arm's draft_model_path), as the host "
    "sees it",
    StartCause.BAD_ARGUMENT: "correct the argument in the rig; names change between SGLang versions",
    StartCause.LOG_NOT_WRITABLE: "make host.work_dir in the rig a folder that the login user may write on the host",
    StartCause.EMPTY_LOG: "start the same line by hand (`tokgate rig show --arm`): a wrapper may swallow the output, "
    "or the file system may hang",
    StartCause.SILENT: "see with py-spy or /proc/PID/stack on the host where it hangs; a slow model load needs a larger "
    "server.silence_timeout_s",
    StartCause.NOT_READY: "read server.log; a slow start needs a larger server.start_timeout_s",
    StartCause.WRONG_SERVER: 'end the other server, or say port = "free" in the rig',
    StartCause.NO_SUPERVISOR: "see that host.python in the rig is a Python >= 3.9 on the host and that ssh to it works",
    StartCause.DOES_NOT_COMPILE: "mend the file that is named: no server that imports it would start",
}  # fmt: skip


def describe(gave_up: GaveUp, log_text: str, *, evidence: tuple[str, ...] = ()) -> StartFailure:
    """Return the failure as a record. `log_text` must be cleaned of secrets already."""
    reading = find_cause(log_text)
    cause, headline = _cause(gave_up, reading, log_text)
    told = reading.evidence if reading and (gave_up.cause is None or cause is not gave_up.cause) else ()
    return StartFailure(
        cause=cause,
        headline=headline[:LONGEST],
        do=_DO[cause],
        rc=_code(gave_up.exit),
        evidence=(*evidence, *told),
        log_tail=tuple(line[:LONGEST] for line in log_text.splitlines()[-TAIL_LINES:]),
    )


def start_fault(failure: StartFailure, *, tried: str) -> StartFault:
    return StartFault(
        tried=tried, found=f"{failure.cause.value}: {failure.headline}", do=failure.do, failure=failure
    )


def _cause(gave_up: GaveUp, reading: CauseReading | None, log_text: str) -> tuple[StartCause, str]:
    known = _known(reading)
    if gave_up.cause is StartCause.WRONG_SERVER and reading and known is StartCause.PORT_TAKEN:
        return known, f"{reading.headline}: {gave_up.detail}"
    if gave_up.cause is not None:
        # It still runs, or never ran: what the log says is a hint, not the cause.
        hint = f"; the log says: {reading.headline}" if reading else ""
        return gave_up.cause, gave_up.detail + hint
    ended = str(gave_up.exit or "ended")
    if reading and known:
        return known, reading.headline if known is not StartCause.CRASHED else f"{reading.headline} ({ended})"
    if gave_up.exit and gave_up.exit.rc in NOT_STARTED:
        return StartCause.NO_PYTHON, f"the shell could not start it ({ended})"
    if not log_text.strip():
        return StartCause.EMPTY_LOG, f"it {ended} and had written nothing"
    if gave_up.exit and gave_up.exit.signal == 9:
        return StartCause.CRASHED, "it was killed by signal 9; suspect the host's out-of-memory killer"
    return StartCause.CRASHED, f"it {ended} and the log does not say why"


def _known(reading: CauseReading | None) -> StartCause | None:
    if reading is None:
        return None
    try:
        return StartCause(reading.cause.value)
    except ValueError:  # a hang or a failed collective, ended by the server itself
        return StartCause.CRASHED


def _code(exit_: Exit | None) -> int | None:
    """Return the exit code as Popen has it: minus the signal's number for a death by signal."""
    if exit_ is None:
        return None
    return exit_.rc if exit_.signal is None else -exit_.signal
