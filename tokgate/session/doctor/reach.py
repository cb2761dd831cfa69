"""Can the host be reached, by the way a gate takes? Asked before everything else."""

from __future__ import annotations

import socket
import statistics
import subprocess
import time
from collections.abc import Iterator
from typing import NamedTuple

from tokgate.errors import HostFault, HostLost
from tokgate.hosts.connection import Host, connect
from tokgate.records.doctor import Remark
from tokgate.records.redactor import Redactor
from tokgate.rig.models import Rig
from tokgate.server.tunnel import Tunnel

from .check import Case, Check, NotLooked, behind_ssh

NAME = "host.reached"
# A launch is some dozens of commands one after the other; from here on they add minutes to a session.
_SLOW_S = 1.0
_ROUNDS = 3
_TUNNEL_S = 10.0
# Tried where the rig's own host.python is of no use, so that everything else is looked at all the same.
_ANY_PYTHON = "python3"
_WORD = b"tokgate"
_FORWARDING = "see that sshd there allows TCP forwarding (AllowTcpForwarding, PermitOpen)"
# Says its port, answers whoever connects (a tunnel tries itself first), and is gone after half a minute, whatever happens.
_ANSWERER = f"""
import signal, socket
signal.alarm(30)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    with listener.accept()[0] as line:
        line.sendall({_WORD!r})
"""


class Reached(NamedTuple):
    host: Host | None
    remarks: tuple[Remark, ...]
    why: str = ""  # where there is no host


def reach(rig: Rig, redactor: Redactor) -> Reached:
    """Connect and run something. RigError: the address makes no sense."""
    host = connect(rig.host, redactor=redactor)
    try:
        return Reached(host, (_measured(host),))
    except HostFault as fault:
        failed = Remark.fail(fault.found, fault.do, tried=fault.tried)
        if rig.host.python != _ANY_PYTHON and "Python" in fault.found:
            other = connect(rig.host.model_copy(update={"python": _ANY_PYTHON}), redactor=redactor)
            try:
                _measured(other)
            except HostFault:
                pass
            else:
                return Reached(
                    other, (failed, Remark.note(f"what follows was looked at with {_ANY_PYTHON} instead"))
                )
        return Reached(
            None, (failed,), why=f"{host.name} cannot be used: {fault.found.partition(':')[0]}"[:200]
        )


def lost(host: Host, fault: HostLost) -> Remark:
    """Return what it means that the host, reached at first, did not answer a later check."""
    return Remark.fail(
        f"{host.name} answered at first, and was lost while it was looked at: {fault.found}",
        fault.do,
        tried=fault.tried,
    )


def _measured(host: Host) -> Remark:
    spent = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        answer = host.run("true")
        spent.append(time.perf_counter() - began)
        if answer.rc != 0:
            raise HostFault(
                tried=f"to run a command on {host.name}",
                found=f"`true` ended with {answer.rc}: {answer.stderr.strip()[:200]}",
                do="log in by hand: a login script may end the shell early",
            )
    each = statistics.median(spent)
    words = f"{host.name}: {1000 * each:.0f} ms a command"
    if each > _SLOW_S:
        do = (
            "see with top who computes here: each command starts a Python, which takes some tens of ms on a quiet machine"
            if host.local
            else "see to the network or the host's load; ControlMaster in the ssh_config saves the handshake of each"
        )
        return Remark.warn(f"{words}: a launch is some dozens of them", do)
    return Remark.ok(words)


def tunnel(case: Case) -> Iterator[Remark]:
    """Have something on the host answer through a tunnel, as the server will."""
    host = case.host
    line = host.popen_command([host.spec.python, "-I", "-S", "-c", _ANSWERER])
    with subprocess.Popen(
        line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as there:
        try:
            yield _through(case, there)
        finally:
            there.kill()


def _through(case: Case, there: subprocess.Popen[bytes]) -> Remark:
    port = (there.stdout.readline() if there.stdout else b"").strip()
    if not port.isdigit():
        raise NotLooked("nothing on the host would listen on a port of its own")
    way = Tunnel(case.host, int(port), timeout_s=_TUNNEL_S)
    try:
        with socket.create_connection(("127.0.0.1", way.port), _TUNNEL_S) as line:
            line.settimeout(_TUNNEL_S)
            if line.recv(len(_WORD)) == _WORD:
                return Remark.ok("a port of the host answers here through ssh")
    except OSError as error:
        return Remark.fail(f"no answer came through it: {error}", _FORWARDING)
    finally:
        way.close()
    return Remark.fail("the tunnel opens and carries nothing", _FORWARDING)


CHECKS = (
    Check(
        name="host.tunnel",
        looks="whether ssh carries a port of the host to this machine, as every request to the server goes",
        prevents="a server that is up and cannot be asked",
        ask=tunnel,
        limit_s=40.0,
        applies=behind_ssh,
    ),
)
REACHED = Check(
    name=NAME,
    looks="whether the host takes commands, and how long each takes",
    prevents="a session that cannot begin",
    ask=lambda case: (Remark.ok(case.host.name),),  # made before all others (examine.py)
)
