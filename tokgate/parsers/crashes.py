"""Why did this server end? Read from its log alone."""

from __future__ import annotations

import itertools
import re
import signal
from collections.abc import Iterable, Sequence

from tokgate.records import Record

from .crash_rules import HARMLESS, HARMLESS_BLOCK, RULES, CrashCause, Rule
from .hung_stack import hung_stack
from .log_prefix import PrefixedLine, log_lines

MOST_EVIDENCE = 6
LONGEST = 500  # characters of one quoted line
READ = 4000  # characters of one line that are looked at

_SHELL = re.compile(
    r"^(?:\S*/)?(?:(?:ba|da|a|z|k)?sh|env): (?:line )?(?:\d+: )?['\u2018]?(?P<program>.+?)['\u2019]?: "
    r"(?P<why>not found|No such file or directory|Permission denied|command not found|cannot execute.*|"
    r"Exec format error)$"
)
_DIED = re.compile(
    r"Rank (?P<rank>\d{1,6}) scheduler died during initialization \(exit code: (?P<code>-?\d{1,6})\)|"
    r"Rank (?P<dead>\d{1,6}) scheduler is dead|^Exit code: (?P<later>-?\d{1,6})|"
    r"^Subprocess (?P<name>\S+) \(pid=\d+\) crashed with exit code (?P<sub>-?\d{1,6})"
)
_SIGQUIT = re.compile(r"Received sigquit from a child proces")
_NATIVE = re.compile(
    r"^(?P<why>Fatal Python error: .{1,200}|terminate called after throwing an instance of .{1,200}|"
    r"Segmentation fault.{0,60}|.{0,200}CUDA error: .{1,200}|Aborted(?: \(core dumped\))?)$"
)
_KILLED = re.compile(r"^(?:\S*sh: line \d+: +\d+ )?Killed\b")
_TRACEBACK = "Traceback (most recent call last):"
_HIT = re.compile(r"\b(?P<who>\w{1,60}) hit an exception: ")
_MEMORY_STAGE = re.compile(r"^Memory pool end|^Capture .{0,60}graph begin")


class CauseReading(Record):
    cause: CrashCause
    headline: str
    evidence: tuple[str, ...]  # lines of the log, as printed
    ranks: tuple[str, ...] = ()  # those that said it, and one whose stack hangs
    suspect: bool = False  # likely, not shown


class _Traceback(Record):
    who: str | None  # "Scheduler", when it was caught and logged under that name
    rank: str | None
    intro: str
    last: str | None  # "RuntimeError: …"; None: the log ends before it


def find_cause(log_text: str) -> CauseReading | None:
    """Return the likeliest root cause that the log tells, None when it tells none.

    A cause that names itself goes before its consequences: eight ranks that report one hang are one
    finding, a child's death goes before the SIGQUIT that follows, an exception before "a rank died".
    """
    lines = _worth_reading(line for _, line in log_lines(log_text))
    return (
        _shell_failure(lines)
        or _by_rule(lines)
        or _caught_exception(tracebacks := _tracebacks(lines))
        or _native(lines)
        or _dead_rank(lines)
        or _uncaught_exception(tracebacks)
        or _last_words(lines)
    )


def _worth_reading(lines: Iterable[PrefixedLine]) -> list[PrefixedLine]:
    kept = []
    in_harmless_block = False
    for line in lines:
        if HARMLESS_BLOCK.search(line.text):
            in_harmless_block = True
        elif line.time_text is not None:
            in_harmless_block = False
        if not in_harmless_block and not HARMLESS.search(line.text):
            kept.append(
                line if len(line.text) <= READ else line.model_copy(update={"text": line.text[:READ]})
            )
    return kept


def _shell_failure(lines: Sequence[PrefixedLine]) -> CauseReading | None:
    # Only as the first words of a log: a running server's helpers may be missing a program as well.
    for line in lines[:1]:
        if match := _SHELL.match(line.text):
            return CauseReading(
                cause=CrashCause.NO_PYTHON,
                headline=f"the shell cannot start {match['program'][:200]}: {match['why']}",
                evidence=_quote([line]),
            )
    return None


def _by_rule(lines: Sequence[PrefixedLine]) -> CauseReading | None:
    for rule in RULES:
        hits = [(line, match) for line in lines if (match := rule.pattern.search(line.text))]
        if not hits and rule.cause is CrashCause.COLLECTIVE_FAILED:
            # NCCL's records are long enough to be wrapped by a terminal or an issue: two lines made one again.
            joined = (
                line.model_copy(update={"text": line.text + after.text})
                for line, after in itertools.pairwise(lines)
                if len(line.text) > 60
            )
            hits = [(line, match) for line in joined if (match := rule.pattern.search(line.text))]
        if hits:
            return _reading(rule, hits, lines)
    return None


def _reading(
    rule: Rule, hits: Sequence[tuple[PrefixedLine, re.Match[str]]], lines: Sequence[PrefixedLine]
) -> CauseReading:
    ranks = _ranks(line for line, _ in hits)
    headline = _fill(rule.headline, hits[0][1])
    evidence = [line for line, _ in hits]
    if rule.cause is CrashCause.DOES_NOT_FIT:
        evidence = [
            line for line in lines if any(r.pattern.search(line.text) for r in RULES if r.cause is rule.cause)
        ]
        starved = [line for line in evidence if "Please try to increase --mem-fraction-static" in line.text]
        if starved and len(starved) < len(evidence):
            headline = "fits at no memory fraction: at one it runs out, at another the KV cache has no room"
        evidence = [line for line in lines if _MEMORY_STAGE.match(line.text)][-2:] + evidence
    if rule.cause is CrashCause.HANG:
        if len(ranks) > 1:
            headline += f" on {len(ranks)} ranks"
        evidence = evidence[:2]
        if stack := hung_stack(lines):
            if stack.words:
                headline += f"; {stack.rank or 'a scheduler'} is in {stack.words}"
            ranks = tuple(sorted({*ranks, *([stack.rank] if stack.rank else [])}))
            evidence += stack.lines
    return CauseReading(cause=rule.cause, headline=headline[:LONGEST], evidence=_quote(evidence), ranks=ranks)


def _fill(headline: str, match: re.Match[str]) -> str:
    found = {name: value or "" for name, value in match.groupdict().items()}
    # What the message did not say leaves no torso behind: "; GPU : free of" or "last heartbeat ".
    text = headline.format_map(found)
    return re.sub(r"(?:; GPU :  free of |, last heartbeat )$", "", text).replace("  ", " ").strip()


def _tracebacks(lines: Sequence[PrefixedLine]) -> list[_Traceback]:
    found = []
    for index, line in enumerate(lines):
        if _TRACEBACK not in line.text:
            continue
        # Frames, source lines and carets are indented; the exception is the first line that is not.
        last = next((later.text for later in lines[index + 1 :] if not later.text[0].isspace()), None)
        hit = _HIT.search(line.text)
        who = hit["who"] if hit else None
        found.append(_Traceback(who=who, rank=line.rank, intro=line.text, last=last))
    return found


def _caught_exception(tracebacks: Sequence[_Traceback]) -> CauseReading | None:
    for trace in tracebacks:
        if trace.who:
            where = f" on {trace.rank}" if trace.rank else ""
            what = trace.last or "the log ends before it says which"
            return CauseReading(
                cause=CrashCause.CRASHED,
                headline=f"{trace.who} hit an exception{where}: {what}"[:LONGEST],
                evidence=tuple(text[:LONGEST] for text in (trace.intro, trace.last) if text),
                ranks=(trace.rank,) if trace.rank else (),
                suspect=trace.last is None,
            )
    return None


def _native(lines: Sequence[PrefixedLine]) -> CauseReading | None:
    hits = [(line, match) for line in lines if (match := _NATIVE.match(line.text))]
    if not hits:
        return None
    return CauseReading(
        cause=CrashCause.CRASHED,
        headline=f"crashed: {hits[0][1]['why']}"[:LONGEST],
        evidence=_quote([line for line, _ in hits]),
        ranks=_ranks(line for line, _ in hits),
    )


def _dead_rank(lines: Sequence[PrefixedLine]) -> CauseReading | None:
    hits = [(line, match) for line in lines if (match := _DIED.search(line.text))]
    if not hits:
        return None
    parts = {name: value for _, match in reversed(hits) for name, value in match.groupdict().items() if value}
    rank = parts.get("rank") or parts.get("dead")
    who = f"rank {rank}" if rank else parts.get("name", "a child process")[:100]
    code = int(parts.get("code") or parts.get("sub") or parts.get("later") or 0)
    return CauseReading(
        cause=CrashCause.RANK_DIED,
        headline=f"{who} died: {_exit_words(code)}",
        evidence=_quote([line for line, _ in hits]),
        ranks=(f"TP{rank}",) if rank else (),
        suspect=code == -signal.SIGKILL,
    )


def _exit_words(code: int) -> str:
    if code == -signal.SIGKILL:
        return "killed by signal 9; suspect the host's out-of-memory killer"
    if code == -signal.SIGQUIT:
        return "ended by SIGQUIT from a sibling; the cause is earlier in the log, in another rank"
    if code < 0:
        try:
            return f"killed by signal {-code} ({signal.Signals(-code).name})"
        except ValueError:
            return f"killed by signal {-code}"
    return f"exit code {code}" if code else "no exit code given"


def _uncaught_exception(tracebacks: Sequence[_Traceback]) -> CauseReading | None:
    last = next((trace.last for trace in reversed(tracebacks) if trace.last), None)
    if last is None:
        return None
    return CauseReading(
        cause=CrashCause.NO_MODULE if last.startswith("ModuleNotFoundError") else CrashCause.CRASHED,
        headline=last[:LONGEST],
        evidence=(last[:LONGEST],),
    )


def _last_words(lines: Sequence[PrefixedLine]) -> CauseReading | None:
    for line in lines:
        if _SIGQUIT.search(line.text):
            return CauseReading(
                cause=CrashCause.RANK_DIED,
                headline="a child process failed and did not say why",
                evidence=_quote([line]),
                suspect=True,
            )
    for line in lines[-3:]:
        if _KILLED.match(line.text):
            return CauseReading(
                cause=CrashCause.RANK_DIED,
                headline="killed by signal 9; suspect the host's out-of-memory killer",
                evidence=_quote([line]),
                suspect=True,
            )
    return None


def _ranks(lines: Iterable[PrefixedLine]) -> tuple[str, ...]:
    return tuple(sorted({line.rank for line in lines if line.rank}))


def _quote(lines: Sequence[PrefixedLine]) -> tuple[str, ...]:
    quoted = [f"[{line.rank}] {line.text}" if line.rank else line.text for line in lines]
    return tuple(dict.fromkeys(text[:LONGEST] for text in quoted))[:MOST_EVIDENCE]
