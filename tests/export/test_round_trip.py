"""What was exported as Python comes back by `pflow import` as a flow with the same store."""

import pytest

from tests.export.cases import CASES
from tests.export.running import BIN, export, run, store_of

WITH_FLOWS = [name for name, case in CASES.items() if case.sh == "store of its own" or name == "a batch of a flow"]


@pytest.mark.parametrize("name", [name for name in CASES if name not in WITH_FLOWS])
def test_an_exported_flow_is_imported_and_runs_as_it_did(tmp_path, name):
    case = CASES[name]
    file = export("python", case, tmp_path)
    source = file.rename(tmp_path / "flow.py")
    back = tmp_path / "back.pflow.json"
    done = run([str(BIN / "pflow"), "import", "-o", str(back), f"{source}:create_flow"], case, tmp_path)
    assert (done.returncode, done.stdout) == (0, b""), done.stderr.decode()
    assert store_of(run([str(BIN / "pflow"), "run", "-j", str(back), *case.flags], case, tmp_path)) == case.store


@pytest.mark.parametrize("name", WITH_FLOWS)
def test_a_flow_with_a_store_of_its_own_is_not_imported(tmp_path, name):
    file = export("python", CASES[name], tmp_path).rename(tmp_path / "flow.py")
    done = run([str(BIN / "pflow"), "import", f"{file}:create_flow"], CASES[name], tmp_path)
    assert done.returncode == 65
    assert "it is a flow with a store of its own" in done.stderr.decode()
