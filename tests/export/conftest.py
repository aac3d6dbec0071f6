"""Every flow here may use the nodes beside these tests."""

import pytest

from pflow.catalog.find import forget_types
from tests.export.cases import NODES


@pytest.fixture(autouse=True)
def own_nodes(monkeypatch):
    monkeypatch.setenv("PFLOW_NODES", str(NODES))
    forget_types()
    yield
    forget_types()


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A directory in which nothing may be left."""
    return tmp_path_factory.mktemp("here")
