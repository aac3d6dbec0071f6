"""One item of a map: where its values go, and what comes back."""

import pytest

from pflow.catalog.find import forget_types
from pflow.driver.driver import parse
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from pflow.map.item import ItemFlow
from pflow.values.secrets import Secrets
from tests.tools import need_for


def flow_of(text, *flags):
    wired = wire(parse_pipe([text], FlowCatalog(), ("item",)))
    return ItemFlow(parse(wired, list(flags))[1], Secrets(), run_id="RUN")


@pytest.mark.parametrize(
    ("text", "item", "outputs"),
    [
        ("template 'Hi $name'", {"name": "Bo", "age": 4}, {"text": "Hi Bo"}),
        ("template '$item'", "a.txt", {"text": "a.txt"}),
        ("template '${item.age}'", {"age": 4}, {"text": "4"}),
        ("template '$item_dir $item_name $item_stem'", "b/a.txt", {"text": "b a.txt a"}),
        ("shell cat", "through the pipe", {"stdout": "through the pipe"}),
        ("shell cat", {"no": "input"}, {"stdout": '{"no":"input"}\n'}),
        ("shell 'cat' => shell:b 'tr a-z A-Z'", "x", {"stdout": "X"}),
        ("template 'to $item' => shell cat", "x", {"stdout": "to x"}),
    ],
)
def test_the_members_of_an_object_fill_inputs_and_anything_else_goes_where_an_item_goes(text, item, outputs):
    result = flow_of(text).run("ID", item)
    assert (result["status"], result["error"], result["outputs"]) == ("done", "", outputs)
    assert list(outputs) == [result["carried"]]


def test_a_flag_goes_over_an_items_member_and_a_missing_input_is_named():
    flow = flow_of("template '$name $town'", "--town=Oslo")
    assert flow.run("ID", {"name": "Bo", "town": "Rome"})["outputs"] == {"text": "Bo Oslo"}
    result = flow.run("ID", {"nane": "Bo"})
    assert (result["status"], result["exit"]) == ("failed", 66)
    assert "cannot find 'name' for the item: nothing gives it (its members are nane)" in result["error"]
    assert flow.run("ID", {})["error"].endswith("nothing gives it (it has no members)")
    how = """nothing gives it (it is not an object: jq -cR '{"name": .}' makes one of it)"""
    assert how in flow_of("template 'Hi $name'").run("1", "Bo")["error"]


def test_each_item_has_a_store_of_its_own():
    flow = flow_of("read-file => template 'was ${content}'")
    assert flow.run("A", "/dev/null/nothing")["status"] == "failed"
    assert flow.run("B", "/dev/null")["outputs"] == {"text": "was "}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("shell:s 'grep -v b' --each=xs --as=input --keep-going", "s: 1 of 2 items failed; the first, item 2"),
        ("( shell:s 'grep -v b' --each=xs --as=input --keep-going ):g => template bye", "s: 1 of 2 items failed"),
        ("shell:s 'grep -v b' --each=xs --as=input --keep-going => template '${s.errors}'", ""),
    ],
)
def test_an_item_whose_batch_has_failures_that_nothing_takes_failed_with_its_outputs(text, why):
    need_for(text)
    result = flow_of(text).run("ID", {"xs": ["a", "b"]})
    assert (result["status"], result["exit"]) == (("failed", 1) if why else ("done", 0))
    assert why in result["error"]
    assert result["outputs"]


def test_declared_outputs_come_by_name():
    spec = parse_pipe(["template:a 'A $item' => template:b 'B'"], FlowCatalog(), ("item",))
    spec.outputs = {"one": "a.text", "two": "b.text"}
    result = ItemFlow(parse(wire(spec), [])[1], Secrets()).run("ID", "x")
    assert (result["outputs"], result["carried"]) == ({"one": "A x", "two": "B"}, "two")


def test_a_step_that_does_not_repeat_is_told_before_it_begins(tmp_path):
    told = []
    flow = flow_of(f"shell 'cat >>{tmp_path}/log' --no-repeats")
    flow.run("ID", "x", lambda name, about: told.append((name, about, (tmp_path / "log").exists())))
    assert told == [("start", "ID", False)]


def test_a_file_that_another_item_has_written_is_refused_before_it_is_opened(tmp_path):
    flow = flow_of(f"write-file {tmp_path}/out")
    first = flow.run("A", "one", lambda name, about: "A")
    second = flow.run("B", "two", lambda name, about: "A")
    assert (first["status"], second["exit"]) == ("done", 73)
    assert "the item A writes it too" in second["error"]
    assert (tmp_path / "out").read_text() == "one"


def test_a_secret_that_a_result_repeats_is_masked_for_its_item_alone(tmp_path, monkeypatch):
    (tmp_path / "tell.py").write_text(TELL)
    monkeypatch.setenv("PFLOW_NODES", str(tmp_path))
    monkeypatch.setenv("TELL_TOKEN", "canary-77")
    forget_types()
    flow = flow_of("tell")
    said = [flow.run("ID", {"name": name, "key": "sesame"})["outputs"]["said"] for name in ("a", "canary-77", "x77")]
    assert said == ["a *** ***", "*** *** ***", "***"]
    assert flow.run("ID", {"name": "sesame", "key": ""})["outputs"] == {"said": "sesame *** "}


TELL = '''
from pflow import Node


class Tell(Node):
    """Tell.

    Interface:
    - Reads: shared["name"]: str [pipe]  # who
    - Reads: shared["key"]: str [secret]  # a key
    - Params: token: str = "" [secret] [env TELL_TOKEN]  # a token
    - Writes: shared["said"]: any [pipe]  # all of it
    """

    def prep(self, shared):
        return shared["name"], self.params["token"], shared["key"]

    def post(self, shared, given, done):
        shared["said"] = {given[1]: 1} if given[0] == "x77" else " ".join(given)
'''
