"""One fixture per story; two of them share a stand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fleet.namespaces import why_not
from tests.fleet.stand import Stand

from . import stories
from .stories import Played


@pytest.fixture(scope="session")
def two_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with stories.joined(tmp_path_factory.mktemp("nodes")) as made:
        yield made


@pytest.fixture(scope="session")
def whole(two_hosts: Stand) -> Played:
    """A gate in which nothing happens."""
    return stories.Playing(two_hosts, instrumented=True).over()


@pytest.fixture(scope="session")
def refused(two_hosts: Stand, whole: Played) -> Played:
    """A gate whose node 1 cannot start its ranks."""
    return stories.refuse_on_node_1(two_hosts)


@pytest.fixture(scope="session")
def lost(two_hosts: Stand, refused: Played) -> Played:
    """A gate that loses node 1's server in its first launch, and node 1's network in its second."""
    return stories.lose_node_1(two_hosts)


@pytest.fixture(scope="session")
def no_sshd(two_hosts: Stand, lost: Played) -> Played:
    """A gate that loses node 1's sshd."""
    return stories.lose_sshd(two_hosts)


@pytest.fixture(scope="session")
def killed(two_hosts: Stand, no_sshd: Played) -> dict[str, object]:
    """A gate that is killed itself."""
    return stories.kill_gate(two_hosts)
