"""The documentation's pages, and every shell command on them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "benchmarks" / "peers" / "README.md",
)
# What a line begins with that somebody is meant to type; `$ ` in front of it is left out.
PROGRAMS = (
    "bash", "cp", "curl", "docker", "git", "make", "mkdocs", "nvidia-smi", "pip", "pytest", "pytest-benchmark", "python",
    "python3", "run.sh", "sbatch", "scp", "ssh", "srun", "tokgate", "tar", "uv", "pipx", "export", "cd", "rsync", "apt-get",
)  # fmt: skip
_FENCE = re.compile(r"^ *(```+|~~~+)\s*(\S*)")
SHELLS = ("", "sh", "bash", "shell", "console")


class Command(NamedTuple):
    page: str  # from the root
    line: int
    text: str  # without the comment behind it

    @property
    def words(self) -> list[str]:
        return self.text.split()

    @property
    def program(self) -> str:
        return self.words[0].rpartition("/")[2]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"


def commands() -> tuple[Command, ...]:
    """Return every command in a block; continued lines are one."""
    return tuple(found for page in PAGES for found in of_page(page))


def of_page(page: Path) -> Iterator[Command]:
    name = str(page.relative_to(ROOT))
    earlier, begun = "", 0
    for number, line in blocks(page.read_text(encoding="utf-8")):
        text = f"{earlier} {line.strip()}".strip()
        if text.endswith("\\"):
            earlier, begun = text[:-1].rstrip(), begun or number
            continue
        at, earlier, begun = begun or number, "", 0
        text = re.sub(r"^\$ ", "", text)
        if re.match(r"\S+ {2,}", text):  # what the gate prints: `tokgate  01-baseline  ready`
            continue
        text = re.split(r"\s+#\s", text)[0].strip()
        # What stands two blanks away is a word about the command, as in a table of them.
        text = re.split(r"(?<=\S) {2,}(?=[\w*])", text)[0].strip()
        if is_command(text):
            yield Command(name, at, text)


def in_text() -> tuple[Command, ...]:
    """Return what is quoted in running text as a command with words behind it: `make gate RIG=sglang-cpu`."""
    found = []
    for page in PAGES:
        name, text = str(page.relative_to(ROOT)), page.read_text(encoding="utf-8")
        in_blocks = {number for number, _ in every_block(text)}
        for number, line in enumerate(text.splitlines(), start=1):
            spans = () if number in in_blocks else re.findall(r"(?<!`)`([^`]+)`(?!`)", line)
            found += [Command(name, number, span) for span in spans if " " in span and is_command(span)]
    return tuple(found)


def is_command(text: str) -> bool:
    words = text.split()
    if not words:
        return False
    if re.match(r"^[\w./-]*/(?:[\w.-]+)$", words[0]) and words[0].startswith(
        (".venv/", ".gpu-host/", ".ci/", "./")
    ):
        return True
    if words[0] not in PROGRAMS:
        return False
    # `make: tried: …` and other output, `python = "…"` of a TOML file.
    return len(words) == 1 or not re.match(r"^[:=]", words[1])


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield number (from 1) and text of the lines of shell blocks: fenced ones, and those indented by four blanks."""
    for number, line, language in _every(text):
        if language in SHELLS:
            yield number, line


def every_block(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of all blocks, whatever their language."""
    for number, line, _ in _every(text):
        yield number, line


def fenced(text: str, language: str) -> list[str]:
    """Return the contents of fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def _every(text: str) -> Iterator[tuple[int, str, str]]:
    fence, language, inside, blank = "", "", False, True
    for number, line in enumerate(text.splitlines(), start=1):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not found[2]:
                fence = ""
            else:
                yield number, line, language
            continue
        if found and not inside:
            fence, language = found[1], found[2]
            continue
        # Behind a line of text an indented line is that paragraph's.
        inside = line.startswith("    ") and (inside or blank)
        if inside:
            yield number, line, ""
        blank = not line.strip() or (blank and inside)
        inside = inside or (blank and not line.strip() and inside)
