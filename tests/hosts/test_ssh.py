from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest

from tokgate.hosts.remote_runner import RemoteRunner
from tokgate.hosts.ssh import SshEndpoint, explain


@pytest.mark.parametrize(
    ("stderr", "found"),
    [
        ("me@gpu7: Permission denied (publickey).\r\n", "refused to let us in"),
        ("Received disconnect from 1.2.3.4 port 22:2: Too many authentication failures\n", "too many keys"),
        (
            "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.\n",
            "not the one",
        ),
        ("No ED25519 host key is known for gpu7 …\nHost key verification failed.\n", "host key is not known"),
        ("ssh: Could not resolve hostname gpu7: Name or service not known\n", "name is not known"),
        ("ssh: connect to host gpu7 port 22: Connection refused\n", "nothing accepts"),
        ("ssh: connect to host gpu7 port 22: Connection timed out\n", "does not answer"),
        ("ssh: connect to host gpu7 port 22: No route to host\n", "cannot be reached"),
        (
            "Connection timed out during banner exchange\nConnection to 127.0.0.1 port 1 timed out\n",
            "does not answer",
        ),
        (
            "kex_exchange_identification: banner exchange: Connection to 127.0.0.1: invalid format\n",
            "not as sshd",
        ),
        ("Timeout, server gpu7 not responding.\r\n", "died while the command ran"),
        ("Can't open user config file /x: No such file or directory\n", "ssh_config is missing"),
        ("/x: line 1: Bad configuration option: foo\n", "does not understand"),
        ("client_loop: send disconnect: Broken pipe\n", "failed or broke off"),
        ("", "failed or broke off"),
    ],
)
def test_what_ssh_says_is_explained(stderr: str, found: str) -> None:
    told, do = explain(stderr)
    assert found in told
    assert do


def test_what_ssh_ends_its_own_lines_with_is_not_shown() -> None:
    runner = RemoteRunner("gpu7", "python3", SshEndpoint("gpu7"))
    said = b"Timeout, server gpu7 not responding.\r\nclosed\r\n"
    assert "\r" not in runner._silence(255, b"", said, 1.0).found


def test_an_odd_hostname_is_no_option() -> None:
    argv = SshEndpoint("-oProxyCommand=touch /tmp/x").argv()
    assert argv[-2:] == ["--", "-oProxyCommand=touch /tmp/x"]


def test_every_setting_of_the_rig_reaches_ssh() -> None:
    endpoint = SshEndpoint("fe80::1", user="me", port="2222", config="/c", identity="/i", connect_timeout_s=3)
    argv = endpoint.argv("-N")
    for pair in (("-l", "me"), ("-p", "2222"), ("-F", "/c"), ("-i", "/i"), ("-o", "ConnectTimeout=3")):
        assert pair in set(itertools.pairwise(argv))
    assert str(endpoint) == "ssh://me@[fe80::1]:2222"


@pytest.mark.parametrize(
    "setting", ["StrictHostKeyChecking=yes", "ForwardAgent=no", "ForwardX11=no", "BatchMode=yes"]
)
def test_keys_are_checked_and_nothing_is_handed_on_whatever_the_ssh_config_says(
    tmp_path: Path, setting: str
) -> None:
    """What ssh itself makes of a config that allows everything: the first value counts, and ours come first."""
    config = tmp_path / "ssh_config"
    config.write_text(
        "Host *\n  StrictHostKeyChecking no\n  ForwardAgent yes\n  ForwardX11 yes\n  BatchMode no\n"
    )
    argv = SshEndpoint("gpu7", config=str(config)).argv()
    told = subprocess.run(["ssh", "-G", *argv[1:]], capture_output=True, text=True, check=True).stdout
    name, _, value = setting.partition("=")
    written = {"yes": ("yes", "true"), "no": ("no", "false")}[value]
    values = dict(line.split(maxsplit=1) for line in told.splitlines() if " " in line)
    assert values[name.lower()] in written
