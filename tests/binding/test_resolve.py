"""Where each value comes from, the same for a stage, a step, an export and plain pocketflow: the first that has it."""

import copy
import json
import shlex

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pflow.binding.resolve import Binding
from pflow.binding.sources import Constant, TemplateSource, parse_source
from pflow.binding.store import REMOVED, check_changes, is_same
from pflow.catalog.find import find_type, forget_types
from pflow.engine.context import Context
from pflow.engine.engine import Engine
from pflow.errors import PflowError
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from pflow.interface.grammar import parse_interface
from pflow.interface.interface import Interface
from pflow.stage.document import EMPTY, NOTHING, RAW, STORE, Document, Intake, check_stdin
from pflow.stage.flags import flags_of
from pflow.stage.stage import bind
from tests.engine.flows import plan_of
from tests.stage.running import run as run_stage


def node(*lines: str) -> Interface:
    return parse_interface("\n".join(["Interface:", *lines]))


def test_only_what_takes_every_value_by_its_name_and_of_any_type_is_plain():
    def is_plain(line, flags=(), params=()):
        return Binding(node(line), flags=dict(flags), mappings={}, params=dict(params)).is_plain

    assert is_plain('- Reads: shared["a"]: any')
    assert not is_plain('- Reads: shared["a"]: int')
    assert not is_plain('- Reads: shared["a"]: any [explicit]')
    assert not is_plain('- Reads: shared["a"]: any = 1')
    assert not is_plain('- Reads: shared["a"]: any', flags={"a": Constant(1, "--a")})
    assert not is_plain('- Reads: shared["a"]: any', params={"a": TemplateSource("$b")})
    assert not is_plain("- Params: p: any = null", params={"p": TemplateSource("$b")})


def test_a_mapped_text_without_references_is_read_as_a_template_is_and_a_flags_value_stands():
    interface = node('- Reads: shared["n"]: int')
    five = {"n": Constant("5", "it")}
    assert Binding(interface, flags={}, mappings=five, params={}).open({})["n"] == 5
    with pytest.raises(PflowError, match="cannot read 'n' from it"):
        Binding(interface, flags=five, mappings={}, params={})


class Found:
    """What a stage of this interface starts with: values, where they came from, what is stored, params."""

    def __init__(self, interface: Interface, words: list[str], store: dict, last: str | None = None, **header) -> None:
        document = Document({"v": 1, **header} if last is None else {"v": 1, "last": last, **header})
        for key, value in store.items():
            document.set(key, value)
        binding = bind(interface, flags_of(words, interface), document)
        view = binding.open(document)
        self.values = {key: view[key] for key in view if key in interface.reads or key in view.found}
        self.origins = binding.origins_in_words([*document, *(str(place[0]) for place in binding.pretended)])
        self.stored = binding.data(view.found)
        self.params = binding.find_params(document)


find = Found


ORDER = node('- Reads: shared["text"]: str = "default" [pipe]')


STORE_OF_ALL = {"text": "by name", "mapped": "mapped", "other": "carried"}


@pytest.mark.parametrize(
    ("words", "store", "last", "value", "origin"),
    [
        (["--text=flag", "--map-in=text=mapped"], STORE_OF_ALL, "other", "flag", "--text"),
        (["--map-in=text=mapped"], STORE_OF_ALL, "other", "mapped", "mapped"),
        ([], STORE_OF_ALL, "other", "carried", "other"),
        ([], STORE_OF_ALL, None, "by name", "text"),
        (["--map-in=text="], STORE_OF_ALL, "other", "by name", "text"),
        (["--map-in=text="], {"other": "carried"}, "other", "default", None),
        ([], {"other": "x"}, None, "default", None),
    ],
)
def test_the_first_that_has_a_value_gives_it(words, store, last, value, origin):
    inputs = find(ORDER, words, store, last)
    assert inputs.values == {"text": value}
    assert inputs.origins.get("text") == origin


def test_a_read_that_nothing_gives_stops_the_stage_and_names_the_flag():
    interface = node('- Reads: shared["issue_number"]: int [flag issue]  # the number of the issue')
    with pytest.raises(PflowError) as caught:
        find(interface, [], {"issue": 1})
    assert caught.value.exit == 66
    assert caught.value.message == "cannot find 'issue_number' (the number of the issue): nothing gives it"
    assert caught.value.hint == "--issue=…"


@pytest.mark.parametrize("value", ["", 0, False, [], {}])
def test_what_is_empty_or_zero_or_false_is_a_value(value):
    interface = node('- Reads: shared["x"]: any = "default" [pipe]')
    assert find(interface, [], {"x": value}).values == {"x": value}
    assert find(interface, [], {"y": value}, "y").values == {"x": value}
    assert find(interface, ["--map-in=x=y"], {"y": value}).values == {"x": value}
    assert find(interface, ["--x=$y"], {"y": value}).values == {"x": value}


def test_a_mapped_path_that_is_missing_is_never_fallen_through():
    with pytest.raises(PflowError) as caught:
        find(ORDER, ["--map-in=text=mappd"], STORE_OF_ALL, "other")
    assert caught.value.exit == 66
    assert caught.value.message.startswith("cannot find 'mappd': no 'mappd' in the store; it has text,")


def test_only_the_pipe_read_takes_what_the_pipe_carries():
    interface = node('- Reads: shared["prompt"]: str = null', '- Reads: shared["text"]: str [pipe]')
    assert find(interface, [], {"a": {"b": "x"}}, "a.b").values == {"text": "x"}


@pytest.mark.parametrize(
    ("words", "last", "found"),
    [
        ([], None, False),
        ([], "path", False),
        (["--path=x"], None, True),
        (["--map-in=path=path"], None, True),
        (["--path=$path"], None, True),
    ],
)
def test_an_explicit_read_is_never_taken_from_the_store_by_its_name(words, last, found):
    interface = node('- Reads: shared["path"]: str [explicit]')
    if found:
        assert find(interface, words, {"path": "x"}, last).values == {"path": "x"}
    else:
        with pytest.raises(PflowError, match=r"cannot find 'path'.*nothing gives it") as caught:
            find(interface, words, {"path": "x"}, last)
        assert caught.value.exit == 66


def test_a_read_whose_default_is_null_is_left_out_when_nothing_gives_it():
    interface = node('- Reads: shared["a"]: str = null', '- Reads: shared["b"]: any = null')
    assert find(interface, [], {}).values == {}
    assert find(interface, [], {"a": None, "b": None}).values == {"a": None, "b": None}


def test_null_is_no_value_of_a_read_that_is_required():
    with pytest.raises(PflowError, match="cannot read 'a' from a: it is null, not str") as caught:
        find(node('- Reads: shared["a"]: str'), [], {"a": None})
    assert caught.value.exit == 65


@pytest.mark.parametrize("type", ["str", "int", "any", "list", "path"])
def test_a_reference_to_null_leaves_an_optional_read_unset(type):
    inputs = find(node(f'- Reads: shared["a"]: {type} = null'), ["--a=$n"], {"n": None})
    assert inputs.values.get("a") is None
    assert "a" not in inputs.stored


def test_a_value_that_does_not_fit_is_65_and_names_read_place_and_types():
    with pytest.raises(PflowError) as caught:
        find(node('- Reads: shared["n"]: int [pipe]'), [], {"a": {"b": "x"}}, "a.b")
    assert caught.value.exit == 65
    assert caught.value.message == "cannot read 'n' from a.b: it is a str, not int"
    assert caught.value.hint == "--map-in n=PATH takes another place"


@pytest.mark.parametrize("text", ["name,age\n", b"\xff"])
def test_a_text_where_rows_are_wanted_names_what_makes_some(text):
    with pytest.raises(PflowError) as caught:
        find(node('- Reads: shared["rows"]: list[dict] [pipe]'), [], {"a": text}, "a")
    assert caught.value.hint == "load-csv, load-json or load-jsonl makes rows of a text"


def test_a_str_read_takes_the_json_text_of_what_is_no_text():
    interface = node('- Reads: shared["t"]: str [pipe]')
    for value, text in ((1.5, "1.5"), (True, "true"), ([1], "[1]"), ({"a": None}, '{"a":null}'), ("é".encode(), "é")):
        assert find(interface, [], {"x": value}, "x").values == {"t": text}


def test_a_mapping_that_may_lead_nowhere_leaves_the_read_to_the_next_rule_but_no_wrong_type():
    def value(store):
        source = parse_source("mapped")
        source.is_optional = True
        return Binding(node('- Reads: shared["n"]: int'), flags={}, mappings={"n": source}, params={}).open(store)

    assert value({"n": 1})["n"] == 1
    assert value({"n": 1, "mapped": 2})["n"] == 2
    for store, exit in (({}, 66), ({"n": 1, "mapped": "x"}, 65)):
        with pytest.raises(PflowError) as caught:
            value(store)
        assert caught.value.exit == exit


@pytest.mark.parametrize(
    ("type", "word", "value"),
    [("str", '{"a": 1}', '{"a": 1}'), ("dict", '{"a": 1}', {"a": 1}), ("str", "$l", '["a"]'), ("list", "$l", ["a"])],
)
def test_only_a_list_or_an_object_is_taken_apart(type, word, value):
    assert find(node(f'- Reads: shared["t"]: {type}'), [f"--t={word}"], {"l": ["a"]}).values == {"t": value}


# The pipe read, and templates that use what the pipe carries.

LLM = node('- Reads: shared["prompt"]: str = null [own]', '- Reads: shared["text"]: any = null [pipe]')


CARRYING = {"a": {"b": [1, 2], "c": 3}, "text": "by name", "other": 4}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--prompt=x"], [1, 2]),
        (["--prompt=$other"], [1, 2]),
        (["--prompt=${a.c}"], [1, 2]),
        (["--prompt=$text"], [1, 2]),
        (["--prompt=about ${a.b}"], None),
        (["--prompt=${a.b[0]}"], None),
        (["--prompt=$a"], None),
        (["--prompt=$$a ${a"], [1, 2]),
        (["--prompt=${a.b}", "--verbatim"], [1, 2]),
        (["--prompt=${a.b}", "--text=given"], "given"),
        (["--prompt=${a.b}", "--map-in=text=other"], 4),
        (["--map-in=prompt=a.b"], [1, 2]),
    ],
)
def test_a_template_that_uses_what_the_pipe_carries_leaves_the_pipe_read_at_its_default(words, text):
    assert find(LLM, words, CARRYING, "a.b").values.get("text") == text


def test_a_required_pipe_read_whose_carried_value_a_template_uses_is_missing():
    interface = node('- Reads: shared["text"]: str [pipe]', "- Params: model: str = null")
    with pytest.raises(PflowError, match="cannot find 'text'"):
        find(interface, ["--model=$x"], {"x": "m"}, "x")


def test_an_origin_names_the_flag_and_what_it_refers_to():
    inputs = find(LLM, ["--prompt=${a.c} of $other"], CARRYING, "a.b")
    assert inputs.origins == {"prompt": "--prompt (a.c, other)", "text": "a.b"}


def test_a_reference_that_is_missing_stops_the_stage_and_says_what_there_is():
    with pytest.raises(PflowError) as caught:
        find(LLM, ["--prompt=$othr"], CARRYING, "a.b")
    assert caught.value.exit == 66
    assert caught.value.message.endswith("no 'othr' in the store; it has a, text, other (did you mean other?)")


# What goes into the store.


def test_a_data_flag_goes_into_the_store_but_a_default_a_param_and_an_own_read_do_not():
    interface = node(
        '- Reads: shared["a"]: str',
        '- Reads: shared["b"]: str = "default"',
        '- Reads: shared["c"]: str = null [own]',
        "- Params: d: str = null",
    )
    inputs = find(interface, ["--a=$x", "--c=c", "--d=d"], {"x": "from x"})
    assert inputs.stored == {"a": "from x"}
    assert inputs.values == {"a": "from x", "b": "default", "c": "c"}
    assert inputs.params == {"d": "d"}


def test_a_data_flag_of_a_read_that_may_be_unset_and_a_path_that_is_not_utf_8_are_stored():
    assert find(node('- Reads: shared["a"]: str = null'), ["--a=x"], {}).stored == {"a": "x"}
    assert find(node('- Reads: shared["p"]: path'), ["--p=b\udcff"], {}).stored == {"p": b"b\xff"}


# Params.


def test_a_param_comes_from_its_flag_else_from_its_variable_else_from_its_default(monkeypatch):
    interface = node("- Params: n: int = 1 [env PFLOW_TEST_N]")
    monkeypatch.delenv("PFLOW_TEST_N", raising=False)
    assert find(interface, [], {"n": 9}).params == {"n": 1}
    monkeypatch.setenv("PFLOW_TEST_N", "")
    assert find(interface, [], {}).params == {"n": 1}
    monkeypatch.setenv("PFLOW_TEST_N", "2")
    assert find(interface, [], {}).params == {"n": 2}
    assert find(interface, ["--n=3"], {}).params == {"n": 3}
    two = node("- Params: a: int = 1", "- Params: b: int = 2")
    assert find(two, ["--a=5"], {}).params == {"a": 5, "b": 2}
    given = {"a": Constant(7, "a"), "b": Constant(8, "b")}
    assert Binding(two, flags={}, mappings={}, params=given, overrides={"a": 9}).params == {"a": 9, "b": 8}


def test_a_variable_that_does_not_convert_is_bad_configuration_and_a_secret_one_is_not_shown(monkeypatch):
    monkeypatch.setenv("PFLOW_TEST_N", "hush")
    with pytest.raises(PflowError, match="cannot take PFLOW_TEST_N='hush': it is not an int") as caught:
        find(node("- Params: n: int = 1 [env PFLOW_TEST_N]"), [], {})
    assert caught.value.exit == 78
    with pytest.raises(PflowError, match="PFLOW_TEST_N") as caught:
        find(node("- Params: n: int = 1 [env PFLOW_TEST_N] [secret]"), [], {})
    assert "hush" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize(
    ("mappings", "is_hidden"),
    [
        ({}, False),
        ({"rows": "a.rows"}, True),
        ({"rows": "a.rows", "columns": "a.columns"}, False),
        ({"columns": "a.columns"}, True),
    ],
)
def test_columns_are_taken_only_beside_the_rows_that_they_describe(mappings, is_hidden):
    table = node('- Reads: shared["rows"]: any', '- Reads: shared["columns"]: any = null [beside]')
    sources = {key: parse_source(path) for key, path in mappings.items()}
    found = Binding(table, flags={}, mappings=sources, params={})
    assert ("columns" in found.hidden, "columns" in found.sources) == (is_hidden, len(mappings) == 2)


def test_the_secrets_of_a_node_are_those_of_its_reads_and_params_wherever_they_come_from():
    login = node(
        '- Reads: shared["key"]: str [secret]', '- Reads: shared["other"]: str [secret]',
        '- Reads: shared["text"]: str', "- Params: token: str = null [secret] [env TOKEN]",
        "- Params: free: str = null [secret] [env FREE]",
    )  # fmt: skip
    store = {"key": "k", "vault": {"a": "v", "b": "w"}, "token": "not it", "text": "public"}
    where = {
        "flags": {},
        "mappings": {"other": parse_source("vault.a")},
        "params": {"token": parse_source("template:x ${vault.b}")},
    }
    found = Binding(login, **where)
    assert [each for each in found.secrets(store) if each is not None] == ["k", "v", "x w", "w"]


def test_a_variable_is_no_template(monkeypatch):
    monkeypatch.setenv("PFLOW_TEST_N", "$x")
    assert find(node("- Params: n: str = null [env PFLOW_TEST_N]"), [], {"x": 1}).params == {"n": "$x"}


def test_a_node_without_an_interface_gets_each_flag_as_value_and_param():
    inputs = find(Interface(), ["--a=1", "--b=$x"], {"x": [2]})
    assert inputs.values == inputs.params == {"a": "1", "b": [2]}


# A store that dry stages wrote.


def test_what_a_dry_stage_would_write_counts_as_present():
    interface = node('- Reads: shared["a"]: str', '- Reads: shared["b"]: int [pipe]', '- Reads: shared["c"]: int')
    inputs = find(interface, ["--c=$x"], {}, "out.y", dry=["a", "out.y", "x"])
    assert inputs.values == {}
    assert inputs.origins == {"a": "a", "b": "out.y", "c": "--c (x)"}


def test_what_no_dry_stage_would_write_is_still_missing():
    with pytest.raises(PflowError, match="cannot find 'a'") as caught:
        find(node('- Reads: shared["a"]: str'), [], {}, dry=["b"])
    assert caught.value.exit == 66


# What stdin was.

PIPED = node('- Reads: shared["text"]: str [pipe]', '- Reads: shared["more"]: str = null')


UNPIPED = node('- Reads: shared["more"]: str = null')


def stdin_outcome(interface: Interface, words: list[str], kind: str, size: int = 0) -> int:
    try:
        check_stdin(interface, flags_of(words, interface), Intake(Document(), kind, b"x" * size))
    except PflowError as error:
        return error.exit
    return 0


@pytest.mark.parametrize(
    ("interface", "words", "kind", "code"),
    [
        (PIPED, [], RAW, 0),
        (PIPED, ["--text=x"], RAW, 64),
        (PIPED, ["--map-in=text=a"], RAW, 64),
        (PIPED, ["--map-in=text="], RAW, 64),
        (PIPED, ["--map-in=text=stdin"], RAW, 0),
        (PIPED, ["--text=x", "--map-in=more=stdin"], RAW, 0),
        (PIPED, ["--text=about $stdin"], RAW, 0),
        (PIPED, ["--text=${stdin[0].x}"], RAW, 0),
        (PIPED, ["--text=$stdin", "--verbatim"], RAW, 64),
        (PIPED, ["--text=$$stdin"], RAW, 64),
        (PIPED, ["--text=x", "--more=$stdin"], RAW, 0),
        (UNPIPED, [], RAW, 64),
        (UNPIPED, ["--more=$stdin"], RAW, 0),
        (node('- Reads: shared["stdin"]: str'), [], RAW, 0),
        (Interface(), [], RAW, 0),
        (PIPED, [], EMPTY, 66),
        (PIPED, ["--allow-empty"], EMPTY, 0),
        (PIPED, ["--text=x"], EMPTY, 0),
        (PIPED, ["--map-in=text=a"], EMPTY, 0),
        (UNPIPED, [], EMPTY, 0),
        (PIPED, [], NOTHING, 0),
        (PIPED, ["--text=x"], STORE, 0),
        (UNPIPED, [], STORE, 0),
    ],
)
def test_raw_input_that_nothing_takes_is_64_and_an_empty_pipe_that_is_wanted_is_66(interface, words, kind, code):
    assert stdin_outcome(interface, words, kind, size=10 if kind == RAW else 0) == code


@pytest.mark.parametrize("other", [1, True, "1", "two", [], [1], [2], {"a": 1}, {"a": 2}, {"b": 1}, {"a": 1, "b": 1}])
def test_two_values_are_the_same_when_their_json_is(other):
    for one in (1, "two", [1], {"a": 1}):
        assert is_same(one, other) is (json.dumps(one) == json.dumps(other))
        assert is_same(json.loads(json.dumps(one)), one)


def test_a_large_integer_that_a_tool_has_rounded_is_the_same_where_that_counts():
    assert is_same(2**53, 2**53 + 1, is_rounded=True)
    assert not is_same(2**53, 2**53 + 1)
    assert not is_same(1, 2, is_rounded=True)
    assert not is_same(2, 1, is_rounded=True)


@pytest.mark.parametrize(("value", "did"), [("x", "wrote"), (REMOVED, "removed")])
def test_what_a_node_changes_its_interface_names(value, did):
    interface = node('- Reads: shared["r"]: str', '- Writes: shared["w"]: str')
    check_changes(interface, {"w": value})
    with pytest.raises(PflowError, match=f"the node {did} 'other', which its interface does not name"):
        check_changes(interface, {"other": value})


def test_an_inferred_pipe_goes_first_to_the_read_of_what_it_carries():
    plain = node('- Reads: shared["a"]: str', '- Reads: shared["b"]: str')
    assert find(plain, [], {"a": "A", "m": {"b": "B"}}, "m.b").values == {"a": "A", "b": "B"}
    assert find(plain, [], {"b": "B", "x": "X"}, "x").values == {"a": "X", "b": "B"}
    assert find(plain, ["--a=$b"], {"b": "B"}, "b").values == {"a": "B", "b": "B"}


KEYS = "abcd"


NODE = '''
import json

from pflow import Node


class {title}(Node):
    """Do what its param says to the store.
    {interface}"""

    def post(self, shared, prepared, result):
        for act, key, value in json.loads(self.params["todo"]):
            if act == "set":
                shared[key] = value
            elif act == "append" and isinstance(shared.get(key, []), list):
                shared.setdefault(key, []).append(value)
            elif act == "append":
                shared[key] = [value]
            elif act == "nest" and isinstance(shared.get(key), dict):
                shared[key]["n"] = value
            elif act == "pop":
                shared.pop(key, None)
            elif act == "del" and key in shared:
                del shared[key]
            elif act == "look":
                seen = {{each: shared[each] for each in "abcd" if each in shared and each != key}}
                shared[key] = json.dumps([seen, shared.get("a", 0)])
'''


READS = "\n".join(f'    - Reads: shared["{key}"]: any = null' for key in KEYS)


WRITES = "\n".join(f'    - Writes: shared["{key}"]: any' for key in KEYS)


PARAM = '- Params: todo: str = "[]"\n    '


INTERFACES = {
    "open": "",
    "writes": f"\n    Interface:\n{WRITES}\n    {PARAM}",
    "both": f"\n    Interface:\n{READS}\n{WRITES}\n    {PARAM}",
}


scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "x", "$a", "${b}", "é"])


values = scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.sampled_from("mn"), scalars, max_size=2)


stores = st.dictionaries(st.sampled_from(KEYS), values, max_size=4)


acts = st.tuples(st.sampled_from(["set", "append", "nest", "pop", "del", "look"]), st.sampled_from(KEYS), values)


steps = st.tuples(st.sampled_from(list(INTERFACES)), st.lists(acts, max_size=4))


unread_flows = st.lists(steps.filter(lambda step: step[0] != "both"), min_size=1, max_size=3)


flows = st.lists(steps, min_size=1, max_size=3)


quick = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nodes")
    for name, interface in INTERFACES.items():
        (folder / f"do_{name}.py").write_text(NODE.format(title=f"Do{name.title()}", interface=interface))
    patch = pytest.MonkeyPatch()
    patch.setenv("PFLOW_NODES", str(folder))
    forget_types()
    yield folder
    patch.undo()
    forget_types()


def ir_of(flow):
    """The flow as a file says it; its `$` stand for themselves."""
    nodes = [
        {"id": f"s{n}", "type": f"do-{name}", "params": {"todo": json.dumps(acts).replace("$", "$$")}}
        for n, (name, acts) in enumerate(flow)
    ]
    return {"nodes": nodes}


def in_pocketflow(flow, store):
    store = copy.deepcopy(store)
    for name, acts in flow:
        node = find_type(f"do-{name}").node_class()()
        node.set_params({"todo": json.dumps(acts)})
        node._run(store)
    return store


def in_stages(flow, store, nodes, *, has_ids=False):
    document = b"".join(
        [b'{"$pflow":{"v":1}', *(f",\n{json.dumps(k)}:{json.dumps(v)}".encode() for k, v in store.items())]
    )
    document += b"\n}\n"
    for n, (name, acts) in enumerate(flow):
        words = [f"--todo={json.dumps(acts)}", "--verbatim", *([f"--id=s{n}"] if has_ids else [])]
        ended = run_stage(str(nodes / f"do_{name}.py"), words, document, name=f"do-{name}")
        assert ended.code == 0, ended.err
        document = ended.out
    return {key: value for key, value in json.loads(document).items() if key != "$pflow"}


def in_the_engine(flow, store, *, is_traced=False, isolate=False):
    store = copy.deepcopy(store)
    context = Context(write=(lambda line: None) if is_traced else None, isolate=isolate)
    Engine(plan_of(ir_of(flow)), context).run(store)
    return store


@quick
@given(flows, stores)
def test_a_flow_leaves_the_store_of_plain_pocketflow_as_stages_and_as_steps(nodes, flow, store):
    wanted = in_pocketflow(flow, store)
    assert in_the_engine(flow, store, is_traced=True) == wanted
    assert in_the_engine(flow, store) == wanted
    assert in_the_engine(flow, store, isolate=True) == wanted
    assert in_stages(flow, store, nodes) == wanted


@quick
@given(
    st.lists(st.tuples(st.sampled_from(["open", "writes"]), st.lists(acts, max_size=4)), min_size=1, max_size=3), stores
)
def test_with_the_same_ids_a_shell_pipe_and_pipe_syntax_leave_the_same_store(nodes, flow, store):
    steps = [
        f"do-{name} --todo={shlex.quote(json.dumps(acts))} --verbatim --id=s{n}" for n, (name, acts) in enumerate(flow)
    ]
    by_run = copy.deepcopy(store)
    Engine(wire(parse_pipe([" => ".join(steps)], FlowCatalog("."))), Context()).run(by_run)
    assert by_run == in_stages(flow, store, nodes, has_ids=True)


READS_TEXT = node('- Reads: shared["text"]: str [pipe]', "- Params: allow_empty: bool = false")


@pytest.mark.parametrize(
    ("words", "store", "empty"),
    [
        ([], {"text": ""}, "text"),
        ([], {"text": " \n"}, "text"),
        ([], {"text": "a"}, None),
        (["--allow-empty"], {"text": ""}, None),
        (["--text="], {"text": ""}, None),
        (["--map-in=text=other"], {"text": "a", "other": ""}, "other"),
        (["--text=see $other"], {"other": ""}, "other"),
        (["--text=$one $other"], {"one": "", "other": " "}, "one"),
        (["--text=$one $other"], {"one": "", "other": "a"}, None),
        (["--text=see $other", "--allow-empty"], {"other": ""}, None),
    ],
)
def test_empty_data_is_refused_unless_a_person_wrote_or_allowed_it(words, store, empty):
    if empty is None:
        assert find(READS_TEXT, words, store, "text" if "text" in store else None).values.keys() == {"text"}
        return
    with pytest.raises(PflowError, match=f"'{empty}' is empty: did what wrote it fail") as caught:
        find(READS_TEXT, words, store, "text" if "text" in store else None)
    assert (caught.value.exit, caught.value.hint) == (66, "--allow-empty takes it")
