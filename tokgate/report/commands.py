"""The commands in a next step, as lines to paste: steps are sentences for people, and hold them in between."""

from __future__ import annotations

import re
import shlex

_PROGRAM = r"(?:\.venv/bin/)?(?:pytest|tokgate|pip|make|grep|tail|git|ps|kill|fuser|nvidia-smi)"
# What a shell would run, expand or redirect is in no step of ours: text that has it came from elsewhere, and ends the command.
_WORD = r"(?:'[^'\n]*'|\"[^\"\n$`\\]*\"|(?:[^\s`;()'\",.:$&|<>\\]|[,.:](?=[^\s`;()'\",.:$&|<>\\]))+)"
_COMMAND = re.compile(rf"(?<![\w/.'\"-])({_PROGRAM}(?: {_WORD})+)")
# A program's name in a sentence ("make the folder writable") is told from a command by the word behind it.
_SECOND = re.compile(
    r"^\S+ (?:-|['\"\d]|perf_tests|install |checkout |(?:report|baseline|compare|history|selftest|rig|doctor|sim|gate|test)\b)"
)
# A command in the middle of a sentence ends where that goes on.
_SENTENCE = re.compile(
    r"((?:'[^'\n]*'|\"[^\"\n]*\"|[^'\"])*?) (?:is|are|and|or|then|again|if|when|includes|judges|prints|lists|makes)(?: .*)?$"
)
# They read or change the machine at hand, which is none of a simulated one's.
_OF_THE_MACHINE = ("nvidia-smi", "kill", "ps", "fuser")
_GAPS = ("GOOD_RUN", '"…"')
_RUN = re.compile(r"(?<![\w-])RUN(?![\w-])")
_IN_RUN = re.compile(r"(?<= )launches/")


def commands(step: str | None, run: str) -> tuple[str, ...]:
    """Return each command in `step` once, in order, as it may be pasted.

    `run`: the run folder, put where a step says RUN and in front of files in it.
    """
    found = (_alone(match[1]) for match in _COMMAND.finditer(step or ""))
    return tuple(dict.fromkeys(_placed(text, run) for text in found if _SECOND.match(text)))


def _alone(command: str) -> str:
    """Return a command without what goes on behind it; a word inside quotes is its own."""
    goes_on = _SENTENCE.match(command)
    return command if goes_on is None else goes_on[1]


def of_the_machine(command: str) -> bool:
    """Say whether a command acts on the machine it is pasted on, rather than on the gate and its files."""
    return command.partition(" ")[0] in _OF_THE_MACHINE


def to_fill_in(command: str) -> str | None:
    """Return what stands for something that only a person knows, a reason or another run; None: it may be run as it is."""
    return next((gap for gap in _GAPS if gap in command), None)


def _placed(command: str, run: str) -> str:
    folder = shlex.quote(run)
    return _IN_RUN.sub(lambda _: f"{folder}/launches/", _RUN.sub(lambda _: folder, command))
