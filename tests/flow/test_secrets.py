"""Each secret that stands in a flow is found where a node takes it."""

from pflow.catalog.kinds import forget_kinds
from pflow.flow.load import load_document
from pflow.flow.secrets import masked_ir
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire

KEYED = """
import pocketflow

class Keyed(pocketflow.Node):
    '''Take a key.

    Interface:
    - Reads: shared["key"]: str [secret]  # who asks
    - Reads: shared["plain"]: str = ""  # what for
    - Params: token: str = null [secret] [env KEYED]  # who asks
    '''
"""


def test_each_secret_of_a_flow_is_masked_where_it_stands(tmp_path, monkeypatch):
    (tmp_path / "keyed.py").write_text(KEYED)
    monkeypatch.setenv("PFLOW_NODES", str(tmp_path))
    forget_kinds()
    said = {"params": {"token": "hush-1"}, "inputs": {"key": "hush-2", "plain": "said"}}
    document = {
        "inputs": {"key": {"type": "str", "default": "hush-3"}},
        "nodes": [{"id": id, "type": "keyed", **(said if id == "b" else {})} for id in "zabc"],
        "mappings": {"c": {"input_mappings": {"key": "template:hush-4 $key"}}},
    }
    inside = {"id": "inner", "nodes": [{"id": "d", "type": "keyed", **said}], "mappings": document["mappings"]}
    inside = {**inside, "nodes": [*inside["nodes"], {"id": "c", "type": "keyed"}]}
    of_seed_2 = {
        "id": "e",
        "type": "keyed",
        "config": {"token": "hush-5"},
        "input_bindings": {"key": "template:hush-6"},
    }
    document["nodes"] += [inside, of_seed_2]
    ir = masked_ir(wire(load_document(document, "flow", FlowCatalog())))
    forget_kinds()
    assert "hush" not in str(ir)
    assert ir["nodes"][2] == {
        "id": "b",
        "type": "keyed",
        "params": {"token": "***"},
        "inputs": {"key": "***", "plain": "said"},
    }
    assert ir["mappings"]["c"]["input_mappings"] == {"key": "template:***"}
    assert ir["inputs"]["key"]["default"] == "***"
    assert ir["nodes"][4]["nodes"][0] == {**ir["nodes"][2], "id": "d"}
    assert ir["nodes"][4]["mappings"] == {"c": ir["mappings"]["c"]}
