"""`tokgate sim serve`: a server of the box in the foreground, to be talked to by hand."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click

from tokgate.cli.checkout import pass_root
from tokgate.cli.complete import arms_to_complete
from tokgate.cli.help import Taught, teach
from tokgate.cli.sim_box import need_standing, state_option
from tokgate.cli.sim_program import environment, state_of
from tokgate.cli.terminated import terminated
from tokgate.errors import UsageError
from tokgate.report import simulated
from tokgate.rig.load import load_rig
from tokgate.rig.nearest import known_names
from tokgate.rig.shipped import DEFAULT
from tokgate.server.command_line import launch_line

_PORT = 30000
# What the gate adds to a line so that it can find its own processes again; nobody's here.
_LEFT_OUT = ("TOKGATE_MARK",)


@click.command(
    "serve",
    cls=Taught,
    **teach(
        examples=("tokgate sim serve", "tokgate sim serve --arm baseline --port 30010"),
        codes=((0, "it was stopped: Ctrl-C"),),
        then=("curl -s http://127.0.0.1:30000/server_info", "tokgate sim smi"),
    ),
)
@click.option(
    "--arm",
    default="eagle3-2step",
    show_default=True,
    shell_complete=arms_to_complete,
    help="The arm of sim-8gpu.",
)
@click.option("--port", type=click.IntRange(1, 65535), default=_PORT, show_default=True, help="On 127.0.0.1.")
@state_option
@pass_root
def serve(root: Path, arm: str, port: int, state: Path | None) -> None:
    """Start a server on the box that stands, in the foreground; Ctrl-C stops it.

    It is the line of the rig sim-8gpu, and plays what the box plays.
    """
    folder = state_of(root, state)
    need_standing(folder)
    rig = load_rig(DEFAULT, root=root, overrides=("server.api_key=none",))
    names = [a.name for a in rig.arms]
    if arm not in names:
        raise UsageError(
            tried=f"serving the arm {arm!r}",
            found=f"{DEFAULT} has none; {known_names(arm, names)}",
            do="name one of its arms",
        )
    _refuse_taken(port)
    passed = {**environment(folder), **rig.host.environment, "SIMBOX_STATE": str(folder)}
    launched = launch_line(
        rig, rig.arm(arm), port=port, api_key=None, mark="by-hand", log="LOG", pass_environment=passed
    )
    variables = {k: v for k, v in launched.line.environment.items() if k not in _LEFT_OUT}
    click.echo(simulated.banner(rig.name))
    click.echo(f"$ {shlex.join([*(f'{k}={v}' for k, v in variables.items()), *launched.line.argv])}\n")
    server: subprocess.Popen[bytes] | None = None
    code = 0
    try:
        with terminated():
            for line in _how_to_ask(port):
                click.echo(line)
            # Ctrl-C in the middle of it would leave a server that nobody knows.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
            try:
                # In a session of its own: of a terminal's Ctrl-C its processes, still loading, would each print a traceback.
                server = subprocess.Popen(
                    launched.line.argv,
                    env={**launched.environment, **variables},
                    start_new_session=True,
                    preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before),  # noqa: PLW1509 - no other thread is there
                )
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            code = server.wait()
    except KeyboardInterrupt:
        if server is not None:
            server.terminate()
            _stopped(server)
        code = 0
    raise SystemExit(0 if code in (0, -2, -15, 130, 143) else code if code > 0 else 128 - code)


_ENDS = (signal.SIGINT, signal.SIGTERM)


def _stopped(server: subprocess.Popen[bytes]) -> None:
    """Wait for the end, ten seconds at most: it finishes what it is generating first."""
    with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
        server.wait(timeout=10)
    # Where it had not begun yet, or a second Ctrl-C came, what it has started is left.
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()


def _refuse_taken(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise UsageError(
                tried=f"serving on port {port}",
                found=error.strerror or str(error),
                do="name another one: --port 30010",
            ) from None


def _how_to_ask(port: int) -> Iterator[str]:
    url = f"http://127.0.0.1:{port}"
    yield "when it says that it is ready, from another terminal:"
    yield f"  curl -s {url}/server_info"
    yield f"  curl -s {url}/generate -H 'Content-Type: application/json' \\"
    yield '    -d \'{"text": "hello", "sampling_params": {"max_new_tokens": 32}}\''
    yield "  tokgate sim smi"
    yield ""
