"""Where the nodes of one server can meet; runs on each of them, standard library only, Python >= 3.9.

main({"operation": "addresses"}) -> the IPv4 addresses of this host but for the loopback's, in the order of its interfaces.
main({"operation": "free", "port": PORT or null, "block": N}) -> {"port": a port with N - 1 free ones behind it}, or
{"port": null} where the given one is taken or none was found.
main({"operation": "reach", "addresses": [...], "port": PORT, "limit_s": S}) -> {address: null or why it is not reached}.
"""

from __future__ import annotations

import fcntl
import random
import socket
import struct
from typing import Any

SIOCGIFADDR = 0x8915  # linux/sockios.h
TRIES = 200
# Below the kernel's own choice for outgoing connections (32768 and up): nobody is given one of these in between.
LOWEST, HIGHEST = 20000, 32000


def main(argument: dict[str, Any]) -> Any:
    operation = argument["operation"]
    if operation == "addresses":
        return addresses()
    if operation == "free":
        return {"port": free_block(argument["port"], int(argument["block"]))}
    return {
        address: why_not(address, int(argument["port"]), float(argument["limit_s"]))
        for address in argument["addresses"]
    }


def addresses() -> list[str]:
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _, name in socket.if_nameindex():
            try:
                told = fcntl.ioctl(any_socket.fileno(), SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue  # an interface without an address
            address = socket.inet_ntoa(told[20:24])
            if not address.startswith("127.") and address not in found:
                found.append(address)
    return found


def free_block(port: int | None, block: int) -> int | None:
    if port is not None:
        # Asked for by name: what lies behind it is the rig's own business.
        return port if is_free(port) else None
    for _ in range(TRIES):
        first = random.randrange(LOWEST, HIGHEST)  # noqa: S311 - no secret
        if all(is_free(first + n) for n in range(block)):
            return first
    return None


def is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("", port))
        except OSError:
            return False
    return True


def why_not(address: str, port: int, limit_s: float) -> str | None:
    """A port that nobody listens on yet is refused by the machine itself: that is an answer."""
    try:
        socket.create_connection((address, port), limit_s).close()
    except ConnectionRefusedError:
        return None
    except OSError as error:
        return str(error.strerror or error)
    return None
