"""`tokgate sim`: play with the simulated box. Its scenarios; sim_box.py has the box that stands."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tokgate.cli.checkout import pass_root
from tokgate.cli.folding import width
from tokgate.cli.handed_over import handed_over
from tokgate.cli.help import Taught, TaughtGroup, teach
from tokgate.cli.sim_box import down, mend, smi, status, up
from tokgate.cli.sim_break import break_
from tokgate.cli.sim_complete import scenarios_to_complete
from tokgate.cli.sim_program import HEALTHY, Played, drawn, environment, home, names_in, scenario, scenarios
from tokgate.cli.sim_serve import serve
from tokgate.errors import UsageError
from tokgate.records import EXIT_CODES, Outcome
from tokgate.report import simulated
from tokgate.report.visible import visible, wrapped
from tokgate.rig.repository import promises_in
from tokgate.rig.shipped import DEFAULT

_WIDTH = 80
_NARROW = 60
_WORDS = {code: outcome.value for outcome, code in EXIT_CODES.items() if code}
_OTHER_CODES = {
    1: "an unclassified failure",
    2: "interrupted",
    3: "pytest broke",
    4: "usage error",
    5: "no tests",
}
_SELECTING = ("-m", "-k")
_LISTING = {"--collect-only", "--co"}  # nothing is played, and nothing concluded


@click.group(
    "sim",
    cls=TaughtGroup,
    **teach(
        examples=("tokgate sim list", "tokgate sim run incident", "tokgate sim up", "tokgate sim smi"),
        then=("tokgate sim run incident", "tokgate rig init mybox"),
    ),
)
def sim() -> None:
    """Play with the simulated box: 8 GPUs, a SGLang server, and dozens of ways to break them.

    No GPU and no model are behind it. Everything it says is SIMULATED, and is never compared with anything real.
    """


@sim.command(
    "list",
    cls=Taught,
    **teach(
        examples=("tokgate sim list", "tokgate sim list nccl", "tokgate sim list regressed"),
        then=("tokgate sim show incident", "tokgate sim run incident"),
    ),
)
@click.argument("word", required=False)
def list_scenarios(word: str | None) -> None:
    """List the scenarios: what each plants, and what the gate should conclude.

    With WORD only those that have it in their name, what they plant, or the conclusion.
    """
    found = [
        one
        for one in (scenario(HEALTHY), *scenarios())
        if word is None or word.lower() in f"{one.name} {one.title} {one.gate}".lower()
    ]
    if not found:
        raise UsageError(
            tried=f"listing the scenarios with {word!r}",
            found="there is none",
            do="tokgate sim list has all of them",
        )
    room = min(width(), _WIDTH)
    names = max(len(one.name) for one in found) + 2
    below = room < _NARROW  # a name on a line of its own leaves room for words
    indent = " " * (4 if below else names)
    for one in found:
        if below:
            click.echo(one.name)
        for line in (
            *wrapped(one.title, room, first=indent if below else one.name.ljust(names), indent=indent),
            *wrapped(f"-> {one.gate}", room, indent=indent),
        ):
            click.echo(line)


@sim.command(
    "show",
    cls=Taught,
    **teach(
        examples=("tokgate sim show incident",),
        then=("tokgate sim run incident", "tokgate sim break incident"),
    ),
)
@click.argument("name", shell_complete=scenarios_to_complete)
def show(name: str) -> None:
    """Show a scenario: what it plants, what the gate should conclude, and its file."""
    one = scenario(name)
    for head, text in (("plants", one.title), ("the gate", one.gate), ("named by", one.layer)):
        for line in wrapped(text, min(width(), _WIDTH), first=f"{head:<10}", indent=" " * 10):
            click.echo(line)
    if one.text:
        click.echo("\n" + visible(one.text.rstrip()))
    click.echo(f"\ntokgate sim run {shlex.quote(name)}")


@sim.command(
    "run",
    cls=Taught,
    **teach(
        examples=(
            "tokgate sim run healthy",
            "tokgate sim run incident",
            "tokgate sim run heat,cut-streams --sim-seed 7",
            "tokgate sim run verify-slow -m verify -q",
        ),
        codes=(
            (0, "pass or improved"),
            (10, "inconclusive"),
            (11, "invalid"),
            (12, "no-baseline"),
            (13, "regressed"),
        ),
        then=("tokgate report reports/latest", "tokgate baseline diff reports/latest"),
    ),
    context_settings={"ignore_unknown_options": True, "help_option_names": ["-h", "--help"]},
)
@click.argument("name", shell_complete=scenarios_to_complete)
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
@click.option("--print", "print_", is_flag=True, help="Print the command, and run nothing.")
@pass_root
def run(root: Path, name: str, pytest_args: Sequence[str], print_: bool) -> None:
    """Run the gate on a fresh simulated box that plays a scenario.

    NAME is one, several with commas between, a file's path, or `healthy`. What follows goes to pytest; without -m it is
    -m eagle3. The gate is not told what is played. Two minutes on two quiet cores, up to five where restarts are
    needed; the exit code is the gate's own.
    """
    played = [scenario(one) for one in names_in([name])]
    if not played:
        raise UsageError(tried="running a scenario", found="no name", do="tokgate sim list has them")
    home()
    words = [*promises_in(root).split(), *_selection(pytest_args)]
    if not any(a == "--rig" or a.startswith("--rig=") for a in pytest_args):
        words += ["--rig", DEFAULT]
    names = [one for one in names_in([name]) if one != HEALTHY]
    # Without a scenario a seed alone puts up a fresh box.
    words += ["--sim-scenario", ",".join(names)] if names else []
    if not names and not any(a.startswith("--sim-seed") for a in pytest_args):
        words += ["--sim-seed", "0"]
    words += pytest_args
    click.echo(simulated.banner(DEFAULT))
    click.echo("$ " + shlex.join(["pytest", *words]))
    if print_:
        return
    done = handed_over(
        [sys.executable, "-m", "tokgate.fixtures.run_tests", *words], cwd=root, env=environment()
    )
    if _LISTING.isdisjoint(pytest_args):
        for line in _told(played, done, names, pytest_args):
            click.echo(line)
    raise SystemExit(done)


# Behind those above: first what needs no box that stands.
for _command in (up, status, smi, serve, break_, mend, down):
    sim.add_command(_command)


def _selection(given: Sequence[str]) -> list[str]:
    return [] if any(a.startswith(_SELECTING) for a in given) else ["-m", "eagle3"]


def _told(
    played: Sequence[Played], code: int, names: Sequence[str], pytest_args: Sequence[str]
) -> Iterator[str]:
    """Yield what was planted beside what the gate made of it, with the size of what was drawn."""
    yield ""
    sized = drawn(names, _seed(pytest_args)) if any("[random]" in one.text for one in played) else []
    for one in played:
        yield from wrapped(f"{one.name}: {one.title}", _WIDTH, first="planted   ", indent=" " * 10)
        yield from wrapped(one.gate, _WIDTH, first="expected  ", indent=" " * 10)
    for line in sized:
        yield from wrapped(line, _WIDTH, first="drawn     ", indent=" " * 10)
    if sized:
        kept = _value(pytest_args, "--sim-state")
        truth = f"{kept}/runs/" if kept else "what the box did, step by step, is kept with --sim-state FOLDER"
        yield from wrapped(truth, _WIDTH, first="truth     ", indent=" " * 10, whole=True)
    word = _WORDS.get(code) or _OTHER_CODES.get(code) or "pass or improved"
    yield f"ended     {word}, exit code {code}"
    expected = {one.outcome for one in played}
    # One that was broken off has concluded nothing.
    if code in EXIT_CODES.values() and len(expected) == 1 and not _agrees(next(iter(expected)), code):
        yield from wrapped(
            "not what was planted for: on a busy machine the box itself is late, and the gate says so as inconclusive or "
            "invalid; run it again alone",
            _WIDTH,
            indent=" " * 10,
        )


def _seed(pytest_args: Sequence[str]) -> int:
    said = _value(pytest_args, "--sim-seed") or "0"
    return int(said) if said.lstrip("-").isdigit() else 0  # what is none, pytest has refused


def _value(words: Sequence[str], option: str) -> str | None:
    """Return what an option of pytest's was given, `--option VALUE` or `--option=VALUE`."""
    for word, following in zip(words, (*words[1:], ""), strict=True):
        if word == option:
            return following
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
    return None


def _agrees(expected: str, code: int) -> bool:
    if expected not in {o.value for o in Outcome}:
        return True  # it depends on what was drawn, or nothing is expected
    return EXIT_CODES[Outcome(expected)] == code
