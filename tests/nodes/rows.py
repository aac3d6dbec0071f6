"""What the tests of the nodes for rows do with a node."""

from pathlib import Path

import pytest

from pflow.errors import PflowError
from pflow.nodes.load_csv import LoadCsv

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(kind, shared, **params):
    """What a node leaves in a store."""
    node = kind()
    node.set_params(params)
    node.run(shared)
    return shared


def refused(kind, shared, **params):
    with pytest.raises(PflowError) as caught:
        run(kind, shared, **params)
    return caught.value.exit, f"{caught.value.message}; {caught.value.hint}"


def load(data, tmp_path, **params):
    """The rows of a CSV file."""
    path = tmp_path / "a.csv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return run(LoadCsv, {"path": str(path)}, **params)["rows"]
