"""Help that teaches: every command shows an example, its exit codes where they matter, and what to run next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tokgate.report.visible import wrapped
from tokgate.rig.nearest import nearest_names
from tokgate.rig.repository import repository_of, spelled

WIDTH = 80
HELP_NAMES = {"help_option_names": ["-h", "--help"]}
# Where a line goes on: a shell takes it as it is printed.
GOES_ON = " \\"


def teach(
    *, examples: Sequence[str], codes: Sequence[tuple[int, str]] = (), then: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the arguments beside `cls=Taught` or `cls=TaughtGroup` that make a command's help teach.

    `codes`: exit code and meaning, where they are more than 0 and 4. `then`: what to run next.
    """
    return {"examples": tuple(examples), "codes": tuple(codes), "then": tuple(then)}


class _Teaching(click.Command):
    def __init__(
        self,
        *args: Any,
        examples: tuple[str, ...] = (),
        codes: tuple[tuple[int, str], ...] = (),
        then: tuple[str, ...] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.codes = codes
        self.then = then

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        root = ctx.find_object(Path) or repository_of(Path.cwd())
        if self.examples:
            _section(
                formatter, "Examples", [line for e in self.examples for line in pasted(spelled(e, root))]
            )
        if self.codes:
            _section(
                formatter,
                "Exit codes",
                [line for code, words in self.codes for line in _row(str(code), words)],
            )
        if self.then:
            _section(formatter, "Next", [line for t in self.then for line in pasted(spelled(t, root))])
        super().format_epilog(ctx, formatter)


class Taught(_Teaching):
    pass


class TaughtGroup(_Teaching, click.Group):
    """A group that shows its help when nothing follows, and says what may have been meant by a name it has not."""

    command_class = Taught

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which they were added: the one to begin with comes first."""
        _ = ctx
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.write_commands(ctx, formatter, "Commands", self.list_commands(ctx))

    def write_commands(
        self,
        ctx: click.Context,
        formatter: click.HelpFormatter,
        head: str,
        rows: Sequence[str | tuple[str, str]],
    ) -> None:
        """Write a row each, words never cut; a row that is no command is a line and its words."""
        width = max((len(row) for row in rows if isinstance(row, str)), default=0) + 4
        lines = [line for row in rows for line in self._row(ctx, row, width)]
        formatter.write(f"\n{head}:\n" + "".join(f"{line}\n" for line in lines))

    def _row(self, ctx: click.Context, row: str | tuple[str, str], width: int) -> list[str]:
        if isinstance(row, tuple):
            root = ctx.find_object(Path) or repository_of(Path.cwd())
            return [f"  {spelled(row[0], root)}", *wrapped(row[1], WIDTH, indent=" " * width)]
        command = self.get_command(ctx, row)
        words = command.get_short_help_str(limit=500) if command is not None else ""
        return wrapped(words, WIDTH, first=f"  {row}".ljust(width), indent=" " * width)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            near = nearest_names(name, self.list_commands(ctx), likeness=0.5)
            meant = f"; perhaps {' or '.join(f'`{ctx.command_path} {n}`' for n in near)}" if near else ""
            raise click.UsageError(f"there is no command {name!r}{meant}", ctx)
        return super().resolve_command(ctx, args)


def pasted(command: str) -> list[str]:
    """Return a command as lines that a shell takes, none longer than a terminal."""
    room = WIDTH - 2
    if len(command) <= room:
        return [command]
    lines: list[str] = []
    line = ""
    for word in _words(command):
        if line and len(line) + 1 + len(word) > room - len(GOES_ON):
            lines.append(line + GOES_ON)
            line = "    " + word
        else:
            line = f"{line} {word}".strip() if not lines else f"{line} {word}"
    return [*lines, line]


def _words(command: str) -> list[str]:
    """Split at spaces, quoted parts kept as they are written."""
    lexer = shlex.shlex(command, posix=False, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)


def _section(formatter: click.HelpFormatter, head: str, lines: Sequence[str]) -> None:
    formatter.write(f"\n{head}:\n")
    for line in lines:
        formatter.write(f"  {line}\n")


def _row(head: str, words: str) -> list[str]:
    return wrapped(words, WIDTH - 2, first=f"{head:<4}", indent=" " * 4)
