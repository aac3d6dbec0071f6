"""pflow.Node: a pocketflow.Node that starts from its docstring."""

import pocketflow
import pytest

import pflow
from pflow import Node, PflowError, flow_safe
from pflow.node import interface_of


class CountWords(Node):
    """Count the words of a text.

    Interface:
    - Reads: shared["text"]: str [pipe]  # the text
    - Writes: shared["words"]: int [pipe]  # how many words it has
    - Params: minimum: int = 1  # letters that make a word
    - Params: names: list[str] = []
    - Params: language: str
    """

    def prep(self, shared):
        return shared["text"]

    def exec(self, text):
        return sum(len(word) >= self.params["minimum"] for word in text.split())

    def post(self, shared, text, words):
        shared["words"] = words


def test_a_node_runs_under_plain_pocketflow_with_a_plain_dict():
    shared = {"text": "a bb ccc"}
    assert CountWords().run(shared) is None
    assert shared == {"text": "a bb ccc", "words": 3}


def test_params_that_are_set_lie_over_the_defaults():
    node = CountWords()
    node.set_params({"minimum": 2})
    assert node.params == {"minimum": 2, "names": []}


class Greet(Node):
    """Greet somebody.

    Interface:
    - Reads: shared["name"]: str [pipe]
    - Reads: shared["greeting"]: str = "Hello"
    - Reads: shared["title"]: str = null
    - Writes: shared["name"]: str [pipe]
    """

    def post(self, shared, prepared, done):
        assert ("title" in shared) == ("title" in self.params)
        shared["name"] = f"{shared['greeting']} {shared.get('title', '')}{shared['name']}"


@pytest.mark.parametrize(
    ("params", "store", "said"),
    [
        ({"name": "Ada"}, {}, "Hello Ada"),
        ({"name": "Ada", "title": "Dr "}, {"greeting": "Hi"}, "Hi Dr Ada"),
        ({"name": "Ada"}, {"name": ""}, "Hello "),
        ({"name": "Ada", "greeting": None}, {}, "Hello Ada"),
    ],
)
def test_a_param_and_then_the_default_stand_in_for_a_read_that_is_not_there(params, store, said):
    node, shared = Greet(), dict(store)
    node.set_params(params)
    node.run(shared)
    assert shared == {**store, "name": said}
    mapped = {}
    node.run(pflow.NodeAwareSharedStore(mapped, output_mappings={"name": "out.name"}))
    assert mapped == {"out": {"name": f"Hello {params.get('title', '')}Ada"}}


def test_a_read_that_nothing_gives_is_a_key_that_is_not_there():
    with pytest.raises(KeyError, match="name"):
        Greet().run({})


def test_a_nodes_params_name_paths_of_the_store_as_they_do_in_a_flow():
    class Copy(Node):
        def post(self, shared, prepared, done):
            shared[self.params["output_key"]] = shared[self.params["input_key"]] + "!"

    def copied(source, target, shared):
        node = Copy()
        node.set_params({"input_key": source, "output_key": target})
        node.run(shared)
        return shared

    assert copied("a/b.c", "d/e", {"a": {"b.c": "x"}}) == {"a": {"b.c": "x"}, "d": {"e": "x!"}}
    assert copied("a", "b", {"a": "x"}) == {"a": "x", "b": "x!"}
    assert copied("a.b", "a.c", {"a.b": "x", "a": {}}) == {"a.b": "x", "a": {"c": "x!"}}


def test_a_node_is_called_after_its_class_until_it_is_called_otherwise():
    named = {"LLMNode": "llm", "YTTranscript": "yt-transcript", "ReadFileNode": "read-file", "Node": "node"}
    assert {name: type(name, (Node,), {})().id for name in named} == named
    node = CountWords()
    node.id = "draft"
    assert (node.id, CountWords.id) == ("draft", "count-words")


def test_a_plain_flow_takes_no_default_away():
    shared = {"text": "a bb ccc"}
    flow = pocketflow.Flow(CountWords())
    flow.set_params({"minimum": 2})
    flow.run(shared)
    assert shared["words"] == 2


def test_who_changes_a_param_changes_it_for_no_other_node():
    CountWords().params["names"].append("x")
    assert CountWords().params["names"] == []


def test_an_emitted_part_goes_nowhere_under_plain_pocketflow_and_to_whoever_listens():
    node, heard = CountWords(), []
    node.emit("lost")
    node.sink = heard.append
    node.emit("a")
    node.emit(b"b")
    assert heard == ["a", b"b"]


def test_an_interface_is_the_classes_own():
    class Silent(CountWords):
        pass

    class Louder(CountWords):
        """Shout.

        Interface:
        - Params: volume: int = 11
        """

    assert interface_of(Silent).open
    assert list(interface_of(Louder).params) == ["volume"]
    assert list(interface_of(CountWords).params) == ["minimum", "names", "language"]


def test_prose_in_place_of_an_interface_opens_it_and_says_why():
    class LLMNode(pocketflow.Node):
        """General-purpose LLM processing.

        Interface:
        - Reads: shared["prompt"] - prompt to send to LLM
        - Writes: shared["response"] - LLM's response
        - Params: model (default gpt-4), temperature (default 0.7), system
        """

    interface = interface_of(LLMNode)
    assert interface.open
    assert "prompt to send to LLM" in interface.fault
    assert not interface.params


def test_in_a_node_that_comes_with_pflow_prose_is_an_error():
    class Bundled(Node):
        """Do.

        Interface:
        - Reads: shared["a"] - prose
        """

    Bundled.__module__ = "pflow.nodes.bundled"
    with pytest.raises(PflowError, match="prose") as caught:
        interface_of(Bundled)
    assert caught.value.exit == 65


def test_flow_safe_contradicts_effects():
    class Impure(Node):
        """Do.

        Interface:
        - Effects: network
        """

    with pytest.raises(PflowError, match="'Impure' flow_safe: its interface has effects") as caught:
        flow_safe(Impure)
    assert caught.value.exit == 65


@pytest.mark.parametrize("base", [pocketflow.Node, pocketflow.BatchNode, pocketflow.AsyncNode])
def test_a_class_straight_from_pocketflow_can_be_flow_safe(base):
    assert flow_safe(type("Pure", (base,), {"__doc__": "Pure."})).flow_safe


def test_the_package_gives_its_names_and_no_others():
    assert {name: getattr(pflow, name).__name__ for name in pflow.__all__} == {name: name for name in pflow.__all__}
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        pflow.nonsense  # noqa: B018


def test_a_node_run_by_itself_keeps_to_its_declaration_and_no_file_is_read_for_it(monkeypatch):
    monkeypatch.setattr("pflow.interface.source.read_class", None)
    seen = []

    class Plain(Node):
        def prep(self, shared):
            seen.append(shared.get("prompt", self.params["prompt"]))

    node = Plain()
    node.set_params({"prompt": "a param"})
    store = {}
    node.run(store)
    assert (seen, store) == (["a param"], {})


def test_a_variable_gives_an_env_param_wherever_a_node_runs_unless_the_param_is_set(monkeypatch):
    class Ask(pflow.Node):
        """Ask.

        Interface:
        - Writes: shared["seen"]: list  # what each visit saw
        - Params: model: str = null [env ASK_MODEL]  # a model
        - Params: token: str = null [secret] [env ASK_TOKEN]  # a key
        """

        def post(self, shared, prepared, done):
            shared["seen"] = [*shared.get("seen", []), self.params["model"], self.params["token"]]

    def made(model=..., later=None):
        node = Ask()
        node.params |= {"model": later} if later else {}
        if model is not ...:
            node.set_params({"model": model})
        return node

    def in_flow(node, shared):
        flow = pflow.Flow(node)
        flow.set_params({"other": 1})
        flow.run(shared)

    runs = (
        lambda node, shared: node.run(shared),
        lambda node, shared: pflow.Flow(node).run(shared),
        in_flow,
        lambda node, shared: pflow.Flow(pflow.step(node)).run(shared),
        lambda node, shared: pocketflow.Flow(node).run(shared),  # it takes away what was set on a node
    )
    monkeypatch.setenv("ASK_TOKEN", "s3cret")
    for value, found in (("theirs", "theirs"), ("", None)):
        monkeypatch.setenv("ASK_MODEL", value)
        mine = ["mine"] * 4 + [found]
        for said, wanted in (
            ({}, [found] * 5),
            ({"model": None}, [None] * 3 + [found] * 2),
            ({"model": "mine"}, mine),
            ({"later": "mine"}, mine),
        ):
            for run, model in zip(runs, wanted, strict=True):
                node, shared = made(**said), {}
                run(node, shared)
                assert shared["seen"] == [model, "s3cret"]
                assert "s3cret" not in repr(vars(node))
