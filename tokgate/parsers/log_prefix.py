"""What containers, launchers and loggers put in front of a line, taken off.

A SGLang server's output reaches a file through some of: docker compose, kubectl, journald, Ray, mpirun,
a terminal's colours, a progress bar that never ended its line. Each of them is known here by its form;
what is not known stays in the text, so that a reader behind this one can still say what it met, unless
SGLang's own stamp stands behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tokgate.records import Record

from .foreign_json import writable

# CSI ("ESC [ 31 m"), OSC ("ESC ] 8;;http… BEL"), and the two-character escapes.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)|[ -/]*[0-~])")
# A torn escape leaves its tail; NULs are what a log truncated under its writer begins with.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

_CLOCK = r"\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?"
_DAY = r"\d{4}-\d{2}-\d{2}"

# One alternative each; tried again until none fits, because they nest in any order.
_WRAPPERS = (
    # docker compose: the name padded to the longest service, so at least two blanks before the bar. NCCL's
    # own matrix ("ReduceScatter | 1 0 0") has one.
    re.compile(r"(?P<source>[A-Za-z0-9][\w.@-]{0,127}) {2,60}\|(?: |$)"),
    # kubectl logs --prefix
    re.compile(r"\[(?P<source>pod/[^\]\s]{1,253})\] "),
    # journalctl, short and short-iso
    re.compile(
        rf"(?:[A-Z][a-z]{{2}} [ \d]\d {_CLOCK}|{_DAY}T{_CLOCK}[+-]\d{{2}}:?\d{{2}}) [\w.-]{{1,253}} "
        r"(?P<source>[\w.@/-]{1,128})(?:\[\d{1,10}\])?: "
    ),
    # docker logs --timestamps, and the CRI files under /var/log/pods
    re.compile(rf"{_DAY}T{_CLOCK}(?:Z|[+-]\d{{2}}:?\d{{2}}) (?:std(?:out|err) [FP] )?"),
    # Ray puts "(SchedulerActor pid=123, ip=192.0.2.7) "
    re.compile(r"\((?P<source>[\w.:]{0,128}) ?pid=(?P<pid>\d{1,10})(?:, ip=[\d.a-f:]{2,45})?\) ?"),
    # mpirun --tag-output, torchrun --tee, srun --label
    re.compile(r"\[\d{1,5},\d{1,5}\]<std(?:out|err)>: ?"),
    re.compile(r"\[(?P<torchrun>default\d{1,5})\]: ?"),
    re.compile(r"\d{1,5}: (?=\[)"),
    # mpirun's bare "[0] ", only in front of something that has a form of its own
    re.compile(r"\[\d{1,5}\] (?=\S{1,255}:\d{1,10}:\d{1,10} \[|\[\d{2})"),
)

# The innermost: the logger of the process itself. At most one.
_LOGGERS = (
    # SGLang: "[2026-08-24 15:56:11 DP0 TP0] "; its first bracket is lost where a file was cut or rotated
    re.compile(
        rf"(?P<open>\[?)(?P<time>(?:{_DAY}|\d{{2}}-\d{{2}}) {_CLOCK})"
        r"(?: (?P<rank>[A-Za-z_][\w .:-]{0,80}(?:\[\d{1,5}\])?))?\](?: |$)"
    ),
    # a logging config with pid and place puts "2025-12-04 20:35:53 INFO 151972 [scheduler.py:287] "
    re.compile(
        rf"(?P<time>{_DAY} {_CLOCK}) (?P<level>[A-Z]{{4,8}}) (?:(?P<pid>\d{{1,10}}) )?"
        r"(?:\[[\w./-]{1,200}:\d{1,7}\] )?"
    ),
    # flashinfer puts "2025-03-27 21:33:31,320 - INFO - flashinfer.jit: "
    re.compile(rf"(?P<time>{_DAY} {_CLOCK}) - (?P<level>[A-Z]{{4,8}}) - (?:[\w.]{{1,128}}: )?"),
    # vLLM, which SGLang once imported, puts "INFO 03-29 18:12:39 __init__.py:190] "
    re.compile(
        rf"(?P<level>[A-Z]{{4,8}}) (?P<time>\d{{2}}-\d{{2}} {_CLOCK}) \[?[\w./-]{{1,200}}:\d{{1,7}}\] "
    ),
    # torch puts "[rank1]:[W115 13:56:53.633401730 compiler_depend.ts:207] "
    re.compile(
        r"(?:\[(?P<rank>rank\d{1,5})\]:)?\[?(?P<level>[IWEF])(?P<time>\d{3,4} \d{2}:\d{2}:\d{2}\.\d{1,9}) "
        r"(?:\d{1,10} )?[\w./-]{1,200}:\d{1,7}\] "
    ),
    # torch's excepthook: "[rank1]: Traceback (most recent call last):"
    re.compile(r"\[(?P<rank>rank\d{1,5})\]: ?"),
)

# In front of SGLang's stamp, a container's or collector's prefix of no known form: "sgl-0 sglang ", "0|sglang  | ",
# "> ". Never a quote, a bracket or "=", so that a logged prompt is not taken for one.
_UNKNOWN_PREFIX = re.compile(
    rf"(?:[^'\"`(){{}}=\\]{{0,63}}[\s>|:])?(?=\[(?:{_DAY}|\d{{2}}-\d{{2}}) {_CLOCK}[ \]])"
)

# tqdm ends with "10.83it/s]" and no newline when something else writes to the same file.
_PROGRESS_END = re.compile(r"(?<=it/s\]|s/it\])(?=[^\r\n])")

MAX_LINE = 65_536  # characters of one line that are looked at; log records of a server are far below


class PrefixedLine(Record):
    """One line without its prefixes; every part is as printed, None where none was printed."""

    text: str
    rank: str | None = None  # "TP0", "DP5 TP5", "rank1"
    time_text: str | None = None  # of the process's own logger, in whichever format it has
    source: str | None = None  # the container, pod, unit or actor whose output this is; or an unknown prefix
    level: str | None = None
    pid: int | None = None
    damaged: bool = False  # the logger's own prefix had lost its opening bracket


def strip_prefixes(line: str) -> PrefixedLine:
    """Take everything off the front of `line` that is known not to be its message.

    >>> strip_prefixes("sglang-1  | [2026-08-24 15:56:11 DP5 TP5] Watchdog timeout").rank
    'DP5 TP5'
    """
    text = plain(line)
    found: dict[str, str | None] = {}
    peeled = True
    while peeled:
        peeled = False
        for wrapper in _WRAPPERS:
            if match := wrapper.match(text):
                found.update({k: v for k, v in match.groupdict().items() if v})
                text = text[match.end() :]
                peeled = True
                break
    parts: dict[str, str | None] = {"rank": found.get("torchrun"), "pid": found.get("pid")}
    text, damaged = _take_logger(text, parts)
    source = found.get("source")
    if match := _UNKNOWN_PREFIX.match(text):
        # Also right behind another stamp: a launcher's logger repeats the server's line as its own message.
        source = source or match[0].strip() or None
        text, damaged = _take_logger(text[match.end() :], parts)
    return PrefixedLine(
        text=text,
        rank=parts.get("rank"),
        time_text=parts.get("time"),
        source=source,
        level=parts.get("level"),
        pid=_pid(parts.get("pid")),
        damaged=damaged,
    )


def _take_logger(text: str, parts: dict[str, str | None]) -> tuple[str, bool]:
    """Return `text` behind its logger's prefix, and whether that was damaged; what it told goes to `parts`."""
    for logger in _LOGGERS:
        if match := logger.match(text):
            told = match.groupdict()
            parts.update({name: value for name, value in told.items() if value})
            return text[match.end() :], told.get("open") == ""
    return text, False


def log_lines(text: str) -> Iterator[tuple[int, PrefixedLine]]:
    """Yield (line number from 1, line) of a whole log.

    A progress bar's rewritings, and what another process wrote behind a bar that had not ended its
    line, come out as lines of their own under the same number. Empty lines are passed over.
    """
    # Not str.splitlines: a prompt in a log may hold U+2028 or a form feed, which end no line in a file.
    for number, raw in enumerate(text.split("\n"), start=1):
        for overwritten in raw[:MAX_LINE].split("\r"):
            for index, piece in enumerate(_PROGRESS_END.split(overwritten)):
                # Indentation means something in stack texts, but not behind a progress bar.
                line = strip_prefixes(piece.lstrip(" ") if index else piece)
                if line.text.strip():
                    yield number, line


def plain(line: str) -> str:
    """Return `line` without escape codes and control characters; tabs stay, and all can be written as UTF-8."""
    return writable(_CONTROLS.sub("", _ESCAPES.sub("", line[:MAX_LINE])).rstrip("\r\n"))


def _pid(digits: str | None) -> int | None:
    return int(digits) if digits else None
