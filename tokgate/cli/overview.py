"""`tokgate` alone: what there is, in the order in which a first hour needs it."""

from __future__ import annotations

import click

from tokgate.cli.errors import GateGroup

# What stands between the commands and is none of them: the gate itself is pytest's.
_GATE = ("pytest perf_tests -m eagle3 --rig RIG", "The gate: it measures, judges and writes reports/.")
_FIRST_HOUR = ("sim", "rig", "doctor", _GATE, "report", "baseline")
_LATER = ("compare", "history", "selftest")
_COMPLETION = 'eval "$(_TOKGATE_COMPLETE=bash_source tokgate)"   # zsh_source, fish_source'


class Overview(GateGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of a first hour."""
        known = [name for name in (*_FIRST_HOUR, *_LATER) if isinstance(name, str)]
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: known.index(name) if name in known else len(known))

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
