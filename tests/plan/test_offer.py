"""A saved flow that does what a sentence asks: by its own sentence with other values, or by what it is about."""

from __future__ import annotations

import json

import pytest

from pflow.flow.load import load_text
from pflow.plan.show.offer import find_offer
from pflow.plan.show.settled import Settled
from tests.plan.test_view import COPY


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """Saves a flow under a name."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    folder = tmp_path / "pflow" / "flows"
    folder.mkdir(parents=True)

    def save(name, ir):
        (folder / f"{name}.pflow.json").write_text(ir if isinstance(ir, str) else json.dumps(ir))

    return save


def both(description="copy a.txt to b.txt", **more):
    given = {"source": {"type": "path", "default": "a.txt"}, "target": {"type": "path", "default": "b.txt"}, **more}
    return {**COPY, "description": description, "inputs": given}


@pytest.mark.parametrize(
    ("sentence", "values"),
    [
        ("copy a.txt to b.txt", {"source": "a.txt", "target": "b.txt"}),
        ("  Copy c.md\n TO sub/d.md ", {"source": "c.md", "target": "sub/d.md"}),
        ("copy ../x to /etc/y", {"source": "../x", "target": "/etc/y"}),
    ],
)
def test_its_own_sentence_with_other_values_is_the_same_job(saved, sentence, values):
    saved("copier", both())
    offer = find_offer(sentence)
    assert (offer.is_same, offer.saved.name, offer.values) == (True, "copier", values)


@pytest.mark.parametrize(
    "sentence",
    ["copy a.txt to b.txt and c.txt", "copy a.txt to 7", "move a.txt to b.txt", "do not copy a.txt to b.txt"],
)
def test_any_other_sentence_is_not(saved, sentence):
    saved("copier", both())
    offer = find_offer(sentence)
    assert offer is None or not offer.is_same


def test_a_value_that_stands_in_the_flow_for_good_cannot_be_another(saved):
    saved("copier", {**COPY, "inputs": {"source": {"type": "path", "default": "a.txt"}}})
    assert find_offer("copy c.txt to b.txt").values == {"source": "c.txt"}
    assert not getattr(find_offer("copy a.txt to c.txt"), "is_same", False)


@pytest.mark.parametrize("default", ["data.txt", None])
def test_a_flow_that_was_changed_does_not_do_what_its_description_still_says(saved, default):
    given = {"type": "path"} if default is None else {"type": "path", "default": default}
    saved("copier", both(source=given))
    assert not getattr(find_offer("copy a.txt to b.txt"), "is_same", False)


def test_a_home_directory_in_the_sentence_is_that_of_the_flow(saved, monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    saved("copier", both("copy ~/a.txt to b.txt", source={"type": "path", "default": "/home/ada/a.txt"}))
    assert find_offer("copy ~/c.txt to b.txt").values == {"source": "/home/ada/c.txt", "target": "b.txt"}
    assert find_offer("copy ~/a.txt to b.txt").is_same


def test_a_value_may_stand_among_words_of_a_step(saved):
    count = {"id": "count", "type": "shell", "inputs": {"command": "head -n 5 a.txt"}}
    saved("head", {"description": "show the first 5 lines of a.txt", "nodes": [count]})
    assert find_offer("show the first 5 lines of a.txt").is_same


def test_one_value_of_two_inputs_cannot_become_two(saved):
    saved("copier", {**both("copy a.txt to a.txt"), "inputs": {n: {"default": "a.txt"} for n in ("source", "target")}})
    assert not getattr(find_offer("copy a.txt to c.txt"), "is_same", False)


def test_numbers_become_numbers(saved):
    saved("first", both("show the first 10 lines", count={"type": "int", "default": 10}))
    assert find_offer("show the first 25 lines").values == {"count": 25}
    assert not getattr(find_offer("show the first 2.5 lines"), "is_same", False)


def test_the_command_is_what_a_person_would_type(saved):
    saved("copier", both())
    assert find_offer("copy 'my notes.txt' to b.txt").command == "pflow copier '--source=my notes.txt' --target=b.txt"


def test_flows_without_words_and_broken_ones_are_passed_over(saved):
    saved("bare", {**COPY, "description": ""})
    saved("broken", "{")
    assert find_offer("copy a.txt to b.txt") is None


@pytest.mark.parametrize(("name", "flag"), [("path", "--path"), ("append", "--read.path"), ("raw", "--read.path")])
def test_each_flag_of_the_command_gives_its_input(saved, name, flag):
    flow = {**COPY, "inputs": {name: {"type": "path", "default": "a.txt"}}}
    flow["mappings"] = {**COPY["mappings"], "read": {"input_mappings": {"path": name}}}
    saved("copier", flow)
    command = find_offer("copy c.txt to b.txt").command
    assert command == f"pflow copier {flag}=c.txt"
    given = Settled(load_text(json.dumps(flow), "copier").usable(), command.split()[2:])
    assert given.values == {name: "c.txt"}
