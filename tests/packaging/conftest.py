"""One build and one environment for all that is asked of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from .built import Built, Environment, Repository, build


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="session")
def environment(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("installed") / "venv", built.wheel)


@pytest.fixture
def repository(tmp_path: Path, environment: Environment) -> Repository:
    """An empty folder of somebody's, outside any git repository."""
    return Repository(tmp_path, environment)
