"""Why did this server end? Read from its log alone."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence

from .cause_reading import LONGEST, CauseReading, quote, ranks_of
from .crash_rules import HARMLESS, HARMLESS_BLOCK, RULES, CrashCause, Rule
from .deaths import dead_rank, last_words, native_crash
from .hung_stack import hung_stack
from .log_prefix import PrefixedLine, log_lines
from .tracebacks import caught_exception, tracebacks_in, uncaught_exception

READ = 4000  # characters of one line that are looked at

_SHELL = re.compile(
    r"^(?:\S*/)?(?:(?:ba|da|a|z|k)?sh|env): (?:line )?(?:\d+: )?['\u2018]?(?P<program>.+?)['\u2019]?: "
    r"(?P<why>not found|No such file or directory|Permission denied|command not found|cannot execute.*|"
    r"Exec format error)$"
)
_MEMORY_STAGE = re.compile(r"^Memory pool end|^Capture .{0,60}graph begin")


def find_cause(log_text: str) -> CauseReading | None:
    """Return the likeliest root cause that the log tells, None when it tells none.

    A cause that names itself goes before its consequences: eight ranks that report one hang are one
    finding, a child's death goes before the SIGQUIT that follows, an exception before "a rank died".
    """
    lines = _worth_reading(line for _, line in log_lines(log_text))
    return (
        _shell_failure(lines)
        or _by_rule(lines)
        or caught_exception(tracebacks := tracebacks_in(lines))
        or native_crash(lines)
        or dead_rank(lines)
        or uncaught_exception(tracebacks)
        or last_words(lines)
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
                evidence=quote([line]),
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
    ranks = ranks_of(line for line, _ in hits)
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
    return CauseReading(cause=rule.cause, headline=headline[:LONGEST], evidence=quote(evidence), ranks=ranks)


def _fill(headline: str, match: re.Match[str]) -> str:
    found = {name: value or "" for name, value in match.groupdict().items()}
    # What the message did not say leaves no torso behind: "; GPU : free of" or "last heartbeat ".
    text = headline.format_map(found)
    return re.sub(r"(?:; GPU :  free of |, last heartbeat )$", "", text).replace("  ", " ").strip()
