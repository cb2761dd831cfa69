"""How ssh is called, and what its failures mean."""

from __future__ import annotations

from dataclasses import dataclass

# ssh notices a dead network by itself after three unanswered questions.
ALIVE_INTERVAL_S = 5
ALIVE_COUNT = 3


@dataclass(frozen=True)
class SshEndpoint:
    """An ssh destination and the options that every connection to it uses."""

    hostname: str
    user: str | None = None
    port: str | None = None
    config: str | None = None
    identity: str | None = None
    connect_timeout_s: int = 10

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        name = f"[{self.hostname}]" if ":" in self.hostname else self.hostname
        return f"ssh://{user}{name}" + (f":{self.port}" if self.port else "")

    def argv(self, *options: str) -> list[str]:
        """Return ssh's argv up to and including the destination.

        Never asks for a password or a passphrase, takes no host whose key is not known, and hands no agent on, whatever
        the user's own ssh_config says. Known keys, multiplexing and jump hosts are that file's business.
        """
        argv = ["ssh", "-T"]
        if self.config:
            argv += ["-F", self.config]
        if self.identity:
            argv += ["-i", self.identity]
        if self.user:
            argv += ["-l", self.user]
        if self.port:
            argv += ["-p", self.port]
        argv += [
            "-o",
            "BatchMode=yes",
            "-o",
            f"ConnectTimeout={self.connect_timeout_s}",
            "-o",
            f"ServerAliveInterval={ALIVE_INTERVAL_S}",
            "-o",
            f"ServerAliveCountMax={ALIVE_COUNT}",
            "-o",
            "StrictHostKeyChecking=yes",
            "-o",
            "ForwardAgent=no",
            "-o",
            "ForwardX11=no",
            *options,
        ]
        return [*argv, "--", self.hostname]


# Long-lived connections stand alone: one that shares a user's multiplexing master would end with it.
ALONE = ("-o", "ControlMaster=no", "-o", "ControlPath=none")

# Words of OpenSSH's client -> (what it means, what to do). First match wins.
_FAILURES = (
    (
        "remote host identification has changed",
        "the host key is not the one this machine knows",
        "find out why the key changed; only then remove the old one with ssh-keygen -R and accept the new one",
    ),
    (
        "host key verification failed",
        "the host key is not known to this machine",
        "connect once by hand and check the key's fingerprint, or add it to known_hosts",
    ),
    (
        "permission denied",
        "the host refused to let us in",
        "make `ssh -o BatchMode=yes` work without a question: put the key into the agent or host.ssh_identity",
    ),
    (
        "too many authentication failures",
        "the host refused to let us in after too many keys",
        "name the one right key in the rig as host.ssh_identity and set IdentitiesOnly in the ssh_config",
    ),
    (
        "could not resolve hostname",
        "the host's name is not known",
        "correct host.testinfra in the rig, or the name service",
    ),
    (
        "connection refused",
        "nothing accepts ssh connections there",
        "start sshd on the host, or correct the port in host.testinfra",
    ),
    ("connection timed out", "the host does not answer", "check the network and that the host is up"),
    ("no route to host", "the host cannot be reached", "check the network and that the host is up"),
    ("network is unreachable", "the host cannot be reached", "check the network and that the host is up"),
    ("banner exchange", "something answers there, but not as sshd", "correct the port in host.testinfra"),
    (
        "bad configuration option",
        "the ssh_config has a line that ssh does not understand",
        "correct the ssh_config that the rig names",
    ),
    (
        "can't open user config file",
        "the ssh_config is missing or unreadable",
        "correct host.ssh_config in the rig",
    ),
    (
        "not responding",
        "the connection died while the command ran",
        "check the network; the command may still be running on the host until its own limit",
    ),
)
_OTHERWISE = (
    "the connection failed or broke off",
    "try the same with ssh by hand, and see what sshd's own log says",
)


def explain(stderr: str) -> tuple[str, str]:
    """Return (what happened, what to do) for the stderr of an ssh that exited with 255."""
    text = stderr.lower()
    for words, found, do in _FAILURES:
        if words in text:
            return found, do
    return _OTHERWISE
