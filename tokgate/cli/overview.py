"""`tokgate` alone: what there is, in the order in which a first hour needs it."""

from __future__ import annotations

import importlib

import click

from tokgate.cli.errors import GateGroup
from tokgate.cli.start import loading

# What stands between the commands and is none of them: the gate itself is pytest's.
_GATE = ("pytest perf_tests -m eagle3 --rig RIG", "The gate: it measures, judges and writes reports/.")
_FIRST_HOUR = ("sim", "rig", "doctor", _GATE, "report", "baseline")
_LATER = ("compare", "history", "bisect", "selftest")
_COMPLETION = 'eval "$(_TOKGATE_COMPLETE=bash_source tokgate)"   # zsh_source, fish_source'


class Overview(GateGroup):
    """The commands, each named as its module is and loaded when it is asked for: all together take most of a second."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of a first hour."""
        _ = ctx
        return [name for name in (*_FIRST_HOUR, *_LATER) if isinstance(name, str)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands and cmd_name in self.list_commands(ctx):
            with loading():
                module = importlib.import_module(f"tokgate.cli.{cmd_name}")
            self.add_command(getattr(module, cmd_name))
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(ctx)
        later = [name for name in names if name not in _FIRST_HOUR]
        first = [one for one in _FIRST_HOUR if not isinstance(one, str) or one in names]
        self.write_commands(ctx, formatter, "The first hour, in this order", first)
        self.write_commands(ctx, formatter, "Later", later)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        formatter.write(
            f"\nTab completes names of commands, rigs, scenarios and runs after:\n  {_COMPLETION}\n"
        )
