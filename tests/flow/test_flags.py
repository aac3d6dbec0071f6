"""The flags of a flow: what each may set, which are refused and why, and what becomes of their texts."""

import pytest

from pflow.driver.inputs import RunInputs
from pflow.errors import PflowError
from pflow.flow.flags import FlowFlags
from pflow.stage.words import take_words
from tests.engine.flows import plan_of
from tests.engine.nodes import nodes as nodes


def given_by(ir, *words):
    plan = plan_of(ir)
    flags = FlowFlags(plan)
    return RunInputs(plan, flags.values(take_words(list(words), flags.fields(), is_open=flags.is_open)))


def refused(ir, *words):
    with pytest.raises(PflowError) as caught:
        given_by(ir, *words)
    assert caught.value.exit == 2
    return f"{caught.value.message}; {caught.value.hint}"


TYPED = '''from pflow import Node


class Typed(Node):
    """Take everything.

    Interface:
    - Reads: shared["text"]: str = null [flag t]  # a text
    - Reads: shared["number"]: int = null  # a number
    - Reads: shared["on"]: bool = null  # a switch
    - Reads: shared["names"]: list[str] = null  # a list of texts
    - Reads: shared["key"]: str = null [secret]  # a secret
    - Writes: shared["done"]: bool [pipe]  # true
    - Params: level: int = 1  # how much
    - Params: token: str = null [secret] [env THE_TOKEN]  # another secret
    """
'''
SAYS = '''from pflow import Node


class Says(Node):
    """Say a word.

    Interface:
    - Params: word: str = "a"  # what to say
    """
'''
OPEN = '''import pocketflow


class Open(pocketflow.Node):
    """Does what it likes."""
'''
ONE = {"nodes": [{"id": "one", "type": "typed"}]}
TWO = {"nodes": [{"id": "one", "type": "typed"}, {"id": "two-b", "type": "typed", "inputs": {"text": "own"}}]}


@pytest.fixture(autouse=True)
def more_nodes(request):
    nodes = request.getfixturevalue("nodes")
    (nodes / "typed.py").write_text(TYPED)
    (nodes / "says.py").write_text(SAYS)
    (nodes / "open.py").write_text(OPEN)


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["--text=$x ${y}"], "text", "$x ${y}"),
        (["--t=007"], "text", "007"),
        (["--number=007"], "number", 7),
        (["--no-on"], "on", False),
        (["--names=1", "--names=b"], "names", ["1", "b"]),
    ],
)
def test_the_declared_type_decides_what_a_text_is(words, name, value):
    found = given_by(ONE, *words).values
    assert found == {name: value}
    assert type(found[name]) is type(value)


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("--number=abc", "it is not an int"),
        ("--txet=a", "no such flag; did you mean --text?"),
        ("--one.levle=2", "no such flag; did you mean --one.level?"),
        ("--key=x", "a secret is never a flag; it comes from the store"),
        ("--token=x", "a secret is never a flag; set THE_TOKEN"),
        ("word", "cannot take the bare word 'word'"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(word, why):
    assert why in refused(ONE, word)


def test_what_is_an_input_as_it_is_goes_by_the_flag_of_the_input_and_by_its_own():
    step = {"id": "one", "type": "typed", "inputs": {"text": "${words}"}, "params": {"level": "$level"}}
    ir = {"inputs": {"words": {"type": "str"}, "level": {"type": "int"}}, "nodes": [step]}
    for flag, values in (
        *((f"{flag}=x", {"words": "x"}) for flag in ("--words", "--text", "--one.text")),
        *((f"{flag}=3", {"level": 3}) for flag in ("--level", "--one.level")),
    ):
        assert given_by(ir, flag).values == values


def test_a_param_that_holds_more_than_an_input_has_a_flag_of_its_own():
    ir = {"inputs": {"word": {"type": "str"}}}
    ir["nodes"] = [{"id": "one", "type": "says", "params": {"word": "Be $word"}}, {"id": "two", "type": "says"}]
    given = given_by(ir, "--word=kind", "--one.word=whole", "--two.word=other")
    assert (given.values, given.params) == ({"word": "kind"}, {"one": {"word": "whole"}, "two": {"word": "other"}})


def test_two_names_of_one_flag_are_that_flag_twice():
    assert "cannot take --t: --text gives the same" in refused(ONE, "--text=a", "--t=b")
    assert "cannot take --one.level: --level gives the same" in refused(ONE, "--level=2", "--one.level=3")
    assert "twice" in refused(ONE, "--text=a", "--text=b")


def test_a_flag_that_fits_several_steps_needs_one_named():
    assert refused(TWO, "--level=2").endswith("it fits several steps (PF02); --one.level or --two-b.level")
    assert given_by(TWO, "--two-b.level=2").params == {"two-b": {"level": 2}}
    assert given_by(TWO, "--two_b.level=2").params == {"two-b": {"level": 2}}


def test_a_bare_word_is_offered_to_a_flag_that_fits_one_step():
    flow = {"nodes": [{"id": "load", "type": "load-csv"}, {"id": "save", "type": "save-results"}]}
    assert refused(flow, "a.csv").endswith("it takes flags only; --load.path='a.csv'")
    kinds = {"env": {"type": "a|b"}, "n": {"type": "int", "default": 3}, "who": {"type": "str", "default": "Bo"}}
    flow = {"inputs": kinds, "nodes": [{"type": "template", "inputs": {"template": "$env $n $who"}}]}
    for word, flag in (("a", "env"), ("3", "n"), ("Ann", "who")):
        assert refused(flow, word).endswith(f"it takes flags only; --{flag}='{word}'")


def test_a_flag_to_a_source_is_for_every_read_that_has_it():
    ir = {
        "nodes": [{"id": "a", "type": "text"}, {"id": "b", "type": "echo"}],
        "mappings": {
            "a": {"input_mappings": {"text": "topic"}},
            "b": {"input_mappings": {"value": "topic"}, "output_mappings": {"echoed": "b.echoed"}},
        },
    }
    for word in ("--topic=x", "--text=x", "--value=x", "--a.text=x", "--b.value=x"):
        assert given_by(ir, word).values == {"topic": "x"}


def test_what_an_earlier_step_writes_no_flag_gives():
    ir = {"nodes": [{"id": "e", "type": "echo"}, {"id": "f", "type": "echo"}]}
    ir["mappings"] = {"f": {"input_mappings": {"value": "e.echoed"}}}
    assert "'f' takes it from e.echoed (PF01)" in refused(ir, "--f.value=x")
    ir = {"nodes": [{"id": "c", "type": "count"}, {"id": "d", "type": "count"}]}
    assert "an earlier step writes 'n' (PF07)" in refused(ir, "--d.n=5")


def test_a_step_that_may_take_any_key_takes_any_flag_as_data_and_as_a_param():
    ir = {"nodes": [{"id": "a", "type": "open"}, {"id": "b-2", "type": "open"}]}
    given = given_by(ir, "--any=x")
    assert (given.values, given.params) == ({"any": "x"}, {"a": {"any": "x"}, "b-2": {"any": "x"}})
    given = given_by(ir, "--b-2.any=x")
    assert (given.values, given.params, given.data) == ({}, {"b-2": {"any": "x"}}, {"b-2": {"any": "x"}})
    assert "cannot take --c.any: no such flag" in refused(ir, "--c.any=x")
    assert given_by(ir, "--any:=[1]").values == {"any": [1]}


def test_a_flow_that_declares_its_inputs_takes_no_other_flag_though_a_step_would():
    ir = {"inputs": {"topic": {}}, "nodes": [{"id": "a", "type": "open"}]}
    assert given_by(ir, "--topic:=2").values == {"topic": 2}
    assert "did you mean --topic?" in refused(ir, "--topik=x")
    assert "no such flag" in refused(ir, "--colour=red")
