"""pflow.Flow is PocketFlow's, and runs its steps in pflow's engine."""

from __future__ import annotations

import asyncio
import copy
import json
import random
import signal
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pocketflow
import pytest

import pflow
from pflow import Flow, PflowError, load_node, step
from pflow.catalog.find import forget_types
from pflow.flow.from_pocketflow import flow_from
from pflow.flow.wiring import wire
from pflow.nodes.read_file import ReadFile
from tests.engine import flows


@pytest.fixture(autouse=True)
def no_kinds_of_others():
    yield
    forget_types()


class Note(pocketflow.Node):
    def post(self, shared, prepared, result):
        shared.setdefault("seen", []).append(dict(self.params))
        self.mark = True
        return self.params.get("action")


def node(**params):
    made = Note()
    made.set_params(params)
    return made


def test_nodes_keep_their_params_and_the_flows_own_go_over_them():
    a, b = node(x=1, y=1), node(x=2)
    a >> b
    shared = {}
    flow = Flow(start=a)
    flow.run(shared)
    flow.set_params({"x": 5})
    flow.run(shared)
    assert shared["seen"] == [{"x": 1, "y": 1}, {"x": 2}, {"x": 5, "y": 1}, {"x": 5}]


class Ran(pocketflow.Node):
    def post(self, shared, prepared, result):
        shared["ran"] = shared.get("ran", "") + type(self).__name__[0]


class Undeclared(Ran):
    def post(self, shared, prepared, result):
        super().post(shared, prepared, result)
        return "error"


class Declared(Undeclared):
    """Return an action.

    Interface:
    - Reads: shared["ran"]: str = ""
    - Writes: shared["ran"]: str
    - Actions: default, error
    """


@pytest.mark.parametrize("as_node", [lambda node: node, lambda node: Flow(start=node)])
def test_an_error_that_the_class_declares_goes_on_by_the_default_edge_where_it_has_none(as_node, capfd):
    def ran(first, action):
        first = as_node(first)
        first.next(Ran(), action)
        shared = {}
        Flow(start=first).run(shared)
        return shared["ran"]

    assert (ran(Declared(), "error"), capfd.readouterr().err) == ("DR", "")
    assert ran(Declared(), "default") == "DR"
    assert "returned error, which has no edge: the default one is taken" in capfd.readouterr().err
    with pytest.warns(UserWarning, match="'error' not found"):
        assert ran(Undeclared(), "default") == "U"


def test_it_goes_on_in_the_inner_flow_first_and_as_a_step_alike():
    for as_node in (lambda node: node, step):
        first, after, other = as_node(Declared()), as_node(Ran()), as_node(Declared())
        first >> after
        inner = Flow(start=first)
        inner - "error" >> other
        inner - "default" >> as_node(Ran())
        shared = {}
        Flow(start=inner).run(shared)
        assert shared["ran"] == "DRR"


class Shout(pocketflow.Node):
    """Write in capitals.

    Interface:
    - Reads: shared["text"]: str [pipe]
    - Writes: shared["loud"]: str [pipe]
    - Params: end: str = "!"
    """

    def post(self, shared, prepared, done):
        shared["loud"] = shared["text"].upper() + self.params.get("end", "!")


def test_steps_take_inputs_params_templates_and_mappings():
    one = step(Shout, "one", inputs={"text": "$wish"}, params={"end": "?"})
    two = step(Shout, "two", input_mappings={"text": "one.loud"}, output_mappings={"loud": "out.loud"})
    one >> two
    shared = {"wish": "go"}
    Flow(start=one, outputs={"said": "out.loud"}).run(shared)
    assert shared["one"]["loud"] == "GO?"
    assert shared["out"] == {"loud": "GO?!"}
    assert shared["said"] == "GO?!"


def test_what_a_flow_declares_of_its_inputs_holds_for_a_dict():
    flow = Flow(start=step("template", inputs={"template": "$n"}), inputs={"n": {"type": "int"}})
    flow.run(shared := {"n": "7"})
    assert shared == {"n": 7, "text": "7"}
    for shared, exit, said in (({}, 66, "cannot find 'n' .*nothing gives it"), ({"n": "x"}, 65, "cannot take n='x'")):
        with pytest.raises(PflowError, match=said) as caught:
            flow.run(shared)
        assert caught.value.exit == exit


def test_two_edges_for_one_action_make_a_fork():
    start, left, right, end = (step(Shout, name, inputs={"text": name}) for name in ("start", "left", "right", "end"))
    start >> left >> end
    start >> right >> end
    end.ir["inputs"] = {"text": "${left.loud} ${right.loud}"}
    shared = {}
    Flow(start=start).run(shared)
    assert shared["loud"] == "LEFT! RIGHT!!"


def test_a_step_runs_in_a_flow_of_pocketflows():
    one, two = step(Shout, inputs={"text": "a"}), step(Shout, "two", input_mappings={"text": "loud"})
    one >> two
    shared = {}
    pocketflow.Flow(start=one).run(shared)
    assert shared["loud"] == "A!!"


def test_what_a_dict_says_reaches_an_explicit_read(tmp_path):
    (tmp_path / "a").write_text("hello")
    shared = {"path": str(tmp_path / "a")}
    Flow(start=step(ReadFile)).run(shared)
    assert shared["content"] == "hello"


def test_a_flow_with_outputs_of_its_own_is_no_part_of_another():
    first, inner = step(Shout), Flow(start=step(Shout, "inner"), outputs={"x": "loud"})
    first >> inner
    with pytest.raises(PflowError, match="a flow inside a flow cannot have inputs or outputs"):
        Flow(start=first).run({"text": "a"})


def test_a_node_is_loaded_from_its_file(tmp_path):
    (tmp_path / "hi.py").write_text("from pocketflow import Node\nclass Hi(Node):\n    pass\n")
    assert load_node(str(tmp_path / "hi.py")).__name__ == "Hi"
    with pytest.raises(PflowError) as caught:
        load_node(str(tmp_path / "ho.py"))
    assert caught.value.exit == 66


def test_classes_of_one_name_are_two_nodes():
    def made(text):
        class Say(pocketflow.Node):
            def post(self, shared, prepared, done):
                shared["said"] += text

        return Say

    one, two = step(made("a")), step(made("b"))
    one >> two
    shared = {"said": ""}
    for _ in range(2):
        Flow(start=one).run(shared)
    assert shared["said"] == "abab"


def test_a_class_that_no_file_holds_is_a_step_too():
    said = {}
    names = {"__name__": "typed_in", "Node": pocketflow.Node}
    exec("class Mixin: pass\nclass Typed(Mixin, Node):\n    def post(self, shared, *rest): shared['typed'] = 1", names)
    Flow(start=step(names["Typed"])).run(said)
    assert said == {"typed": 1}


def test_an_instance_gives_its_params_and_tries():
    made = Shout(max_retries=3)
    made.set_params({"end": "$"})
    shared = {"text": "x"}
    flow = Flow(start=step(made))
    flow.run(shared)
    assert shared["loud"] == "X$"
    assert flow_from(flow, is_run_here=True).steps[0].retries == 2


def test_a_flow_has_its_nodes_in_the_order_in_which_they_are_reached_each_with_an_id_of_its_own():
    first, second, inner, last = node(), Shout(), Flow(start=node()), step(Shout, "last")
    first >> second >> first
    first - "more" >> inner >> last
    flow = Flow(start=first)
    assert flow.nodes == [first, second, inner, last]
    assert [each.id for each in flow.nodes] == ["note", "shout", "flow", "last"]
    assert [each.id for each in Flow(start=step(Shout)).nodes + Flow(start=step("flow:fix")).nodes] == ["shout", "fix"]
    again = Shout()
    second - "again" >> again
    assert [each.id for each in flow.nodes] == ["note", "shout", "flow", "shout-2", "last"]
    assert (Flow().nodes, Flow().run({})) == ([], None)


def test_in_a_flow_too_a_param_stands_in_for_a_read():
    loud = Shout()
    loud.set_params({"text": "go"})
    shared = {}
    Flow(start=loud).run(shared)
    assert shared == {"loud": "GO!"}


class Say(pocketflow.Node):
    def __init__(self, words):
        super().__init__()
        self.words = words

    def post(self, shared, prepared, done):
        shared["said"] = shared.get("said", "") + self.words + self.params.get("end", ".")


def test_what_the_constructor_of_a_steps_node_was_given_counts():
    one, two = step(Say("a")), step(Say("b"), params={"end": "!"})
    one >> two >> Say("c")
    for _ in range(2):
        shared = {}
        Flow(start=one).run(shared)
        assert shared["said"] == "a.b!c."


def test_a_flow_that_breaks_a_rule_does_not_run():
    with pytest.raises(PflowError) as caught:
        Flow(start=step(ReadFile, params={"nope": 1})).run({})
    assert caught.value.exit == 65


OURS = SimpleNamespace(**{**vars(pocketflow), "Node": pflow.Node, "Flow": pflow.Flow})
ACTIONS = ["default", "default", "a", "b", "", None]


def note(shared, entry):
    shared["log"].append(entry)
    if len(shared["log"]) > 60:
        raise RuntimeError("it goes round and round")


class Work:
    """Fails as often as it is told, then gives back its item. Its lists are one for all copies of a node."""

    def __init__(self, name, fails, is_saved, items, actions, max_retries):
        super().__init__(max_retries)
        self.name, self.is_saved, self.items = name, is_saved, items
        self.failures, self.actions = list(range(fails)), actions

    def begin(self, shared):
        note(shared, [self.name, dict(self.params), hasattr(self, "was_here")])
        return self.items

    def work(self, item):
        if self.failures:
            raise ValueError(f"{self.name} fails, {self.failures.pop()} more to come")
        return [self.name, item]

    def save(self, prepared, error):
        if not self.is_saved:
            raise error
        return ["saved", prepared, str(error), self.cur_retry]

    def end(self, shared, prepared, done):
        self.was_here = True
        shared["done"] = {**shared.get("done", {}), self.name: done}
        return self.actions.pop() if self.actions else "stop"


class Sync(Work):
    prep, exec, exec_fallback, post = Work.begin, Work.work, Work.save, Work.end


class Async(Work):
    async def prep_async(self, shared):
        return self.begin(shared)

    async def exec_async(self, item):
        await asyncio.sleep(0)
        return self.work(item)

    async def exec_fallback_async(self, prepared, error):
        return self.save(prepared, error)

    async def post_async(self, shared, prepared, done):
        return self.end(shared, prepared, done)


class Drawing:
    """Flows of one house's classes. The same lots make the same flow of another's."""

    def __init__(self, seed, house, *, as_steps=False):
        self.draw = random.Random(seed)
        self.house = house
        self.as_steps = as_steps

    def root(self):
        is_async = self.draw.random() < 0.4
        start = self.start(is_async, "", 0)
        flow = self.house.AsyncFlow(start) if is_async else self.house.Flow(start)
        flow.set_params({} if self.as_steps or self.draw.random() < 0.5 else {"of": "root"})
        return flow

    def start(self, is_async, name, depth):
        """The first node of some, and edges between them."""
        nodes = [self.node(is_async, f"{name}n{number}", depth) for number in range(self.draw.randint(1, 4))]
        for _ in range(self.draw.randint(0, 2 * len(nodes))):
            source, target, action = self.draw.choice(nodes), self.draw.choice(nodes), self.draw.choice(ACTIONS[1:4])
            if action not in source.successors:
                source.next(target, action)
        return nodes[0]

    def node(self, is_async, name, depth):
        if depth < 2 and self.draw.random() < 0.25:
            return self.flow(is_async, name, depth)
        bases = ["Node", "Node", "BatchNode"]
        if is_async or self.draw.random() < 0.02:  # in a Flow that is not, it is an error
            bases += ["AsyncNode", "AsyncBatchNode", "AsyncParallelBatchNode"]
        base = self.draw.choice(bases)
        made = type(base, (Async if "Async" in base else Sync, getattr(self.house, base)), {})(
            name,
            fails=self.draw.choice([0, 0, 0, 1, 2]),
            is_saved=self.draw.random() < 0.7,
            items=self.draw.choice([[], [1], [1, 2, 3], None]),
            actions=self.draw.choices(ACTIONS, k=self.draw.randint(0, 3)),
            max_retries=self.draw.randint(1 if self.as_steps else 0, 3),
        )
        return pflow.step(made, name) if self.as_steps and self.house is OURS else made

    def flow(self, is_async, name, depth):
        bases = ["Flow", "Flow"] if self.as_steps else ["Flow", "Flow", "BatchFlow"]
        if is_async:
            bases += ["AsyncFlow"] if self.as_steps else ["AsyncFlow", "AsyncBatchFlow", "AsyncParallelBatchFlow"]
        base = self.draw.choice(bases)
        params = [{"of": number} for number in range(self.draw.randint(0, 2))]

        def prep(self, shared):
            note(shared, [name, dict(self.params)])
            return params

        async def prep_async(self, shared):
            return prep(self, shared)

        own = {"prep": prep, "prep_async": prep_async} if "Batch" in base else {}
        return type(base, (getattr(self.house, base),), own)(self.start("Async" in base, name, depth + 1))


def ended(flow):
    """How a flow ends on a new store: its action or what it raises, the store, and what is warned of."""
    shared = {"log": []}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            is_async = isinstance(flow, pocketflow.AsyncNode)
            outcome = asyncio.run(flow.run_async(shared)) if is_async else flow.run(shared)
        except Exception as error:
            outcome = error
    return outcome, shared, [str(each.message) for each in warned]


@pytest.mark.parametrize("start", range(0, 500, 100))
def test_actions_loops_retries_fallbacks_batches_and_flows_in_flows_are_the_same(start):
    for seed in range(start, start + 100):
        plain, ours = (ended(Drawing(seed, house).root()) for house in (pocketflow, OURS))
        assert repr(ours) == repr(plain), seed


def test_in_steps_they_are_too_where_no_batch_of_flows_is(monkeypatch):
    """An engine of pflow's awaits what is to be awaited, in any Flow."""
    monkeypatch.setattr("pflow.driver.flow.say", lambda *words: None)
    for seed in range(80):
        forget_types()
        action, shared, _ = ended(Drawing(seed, pocketflow, as_steps=True).root())
        got, store, _ = ended(pflow.Flow(Drawing(seed, OURS, as_steps=True).root().start_node))
        if not isinstance(action, Exception):
            assert (got or None, store) == (action or None, shared), seed
        elif not isinstance(action, RuntimeError):
            assert isinstance(got, pflow.PflowError), seed
    forget_types()


class Greet(pocketflow.Node):
    """Ask for a tone in each way, in the store and in the params."""

    def prep(self, shared):
        return [shared.get("tone"), "tone" in shared, dict(self.params), self.params.get("tone") or shared.get("tone")]

    def post(self, shared, found, done):
        shared["found"] = found
        return "end"


class Answer(pocketflow.Node):
    """Count its visits, and answer with an action that pocketflow takes, though it is no text."""

    def post(self, shared, found, done):
        shared["visits"] = shared.get("visits", 0) + 1
        return shared["answers"][shared["visits"] - 1]


@pytest.mark.filterwarnings("ignore:Flow ends")
@pytest.mark.parametrize(
    ("kind", "params", "store"),
    [
        (Greet, {"tone": "dry"}, {}),
        (Greet, {"tone": "dry"}, {"tone": "warm"}),
        (Greet, {"tone": ""}, {"tone": "warm"}),
        (Answer, {}, {"answers": [0, False, "", 1]}),
        (Answer, {}, {"answers": [True]}),
    ],
)
def test_params_beside_keys_and_actions_that_are_no_texts_do_what_pocketflow_does(kind, params, store):
    node = kind()
    node.next(node)
    node - "1" >> Greet()
    flow = pocketflow.Flow(start=node)
    flow.set_params(params)
    plain = copy.deepcopy(store)
    flow.run(plain)
    assert pflow.run(flow, **store) == plain
    watched = flows.Ran(wire(flow_from(flow, is_run_here=True)), dict(store))  # as `pflow run`, with a trace
    assert (watched.store, watched.error) == (plain, None)


def test_edges_that_are_overwritten_and_nodes_that_are_run_alone_are_warned_of_alike():
    said = []
    for house in (pocketflow, OURS):
        one, two = house.Node(), house.Node()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            assert (one >> two, one - "a" >> two, one >> one) == (two, two, one)
            assert one.run({}) is None
        said.append([str(each.message) for each in warned])
        with pytest.raises(TypeError, match="Action must be a string"):
            one - 5
    assert said[0] == said[1]
    assert len(said[0]) == 2


@pytest.mark.filterwarnings("ignore:Flow ends")
def test_each_visit_gets_its_params_anew_with_the_lists_in_them():
    class Count(pflow.Node):
        """Count.

        Interface:
        - Writes: shared["seen"]: list  # what each visit saw
        - Params: step: int = 0  # a number
        - Params: all: list = []  # a list
        - Params: of: dict = {}  # an object
        """

        def post(self, shared, prepared, done):
            self.params["step"] += 1
            self.params["all"].append(self.params["step"])
            self.params["of"]["deep"].append(1)
            shared["seen"] = [*shared.get("seen", []), [*self.params["all"], *self.params["of"]["deep"]]]
            return "again" if len(shared["seen"]) % 3 else "stop"

    of = {"deep": []}
    for house, make in ((pflow, Count), (pocketflow, Count), (pflow, lambda: step(Count, params={"of": of}))):
        node, shared = make(), {}
        node - "again" >> node
        flow = house.Flow(node)
        for params in ({"of": of}, {"of": of}):
            if make is Count:
                flow.set_params(params)
            flow.run(shared)
        assert shared["seen"] == [[1, 1]] * 6, house
        assert of == {"deep": []}


class Later(pocketflow.AsyncNode):
    async def prep_async(self, shared):
        await asyncio.sleep(0)
        shared["later"] = True


def test_run_takes_any_flow_and_gives_its_store(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    upper = {"nodes": [{"type": "shell", "inputs": {"command": "tr a-z A-Z", "input": "$word"}}]}
    (tmp_path / "up.pflow.json").write_text(json.dumps(upper))
    (tmp_path / "a.txt").write_text("hello")
    for flow in (upper, "shell 'tr a-z A-Z' --input='$word'", "./up.pflow.json"):
        assert pflow.run(flow, word="hi")["stdout"] == "HI"
    assert pflow.run(Flow(start=step(Shout)), text="hi", end="?")["loud"] == "HI?"
    shared = pflow.run("read-file a.txt => template '$content, $language'", language="French")
    assert (shared["text"], capfd.readouterr()) == ("hello, French", ("", ""))
    assert pflow.run("template '$stdin'", stdin="piped")["text"] == "piped"
    assert pflow.run("read-file", path=tmp_path / "a.txt")["content"] == "hello"
    for value in ("piped", b"\xff", ["a"], "", None):
        assert pflow.run("select", stdin=value) == {"stdin": value, "selected": value}
    ir = {"inputs": {"n": {"type": "int", "pipe": True}}, "nodes": [{"type": "template", "inputs": {"template": "$n"}}]}
    assert pflow.run(ir, stdin="4\n") == {"stdin": "4\n", "n": 4, "text": "4"}
    assert pflow.run({"nodes": [{"type": "shell", "inputs": {"command": "cat"}}]}, input="x")["stdout"] == "x"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ({"languge": "French"}, "cannot take --languge: no such flag", "did you mean --language?"),
        ({"jobs": 2}, "cannot take --jobs: no such flag", "a step of a flow takes it: "),
        ({"zzz": 1}, "cannot take --zzz: no such flag", "flags: --language, "),
        ({"size": "big"}, "cannot take size='big': it is not an int", ""),
        ({"size": -1}, "cannot take --size=-1: it must be 0 or more", ""),
        ({"size": 2.5}, "cannot take 'size': it is a float, not int", ""),
        ({"size": {1}}, "cannot take 'size': it is a set, not int", ""),
        ({"by": "yard"}, "cannot take by='yard': it is not one of paragraph, line, sentence, word, character", ""),
    ],
)
def test_run_refuses_what_a_flag_would_be_refused_for(given, message, hint):
    with pytest.raises(PflowError) as caught:
        pflow.run("template '$language' => split-text", **{"language": "French", **given})
    assert (caught.value.message, caught.value.exit) == (message, 2)
    assert caught.value.hint.startswith(hint)


def test_run_raises_what_pflow_run_exits_with(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    taken = "read-file a => shell cat --input='$content'"
    typed = "./typed.pflow.json"
    node = {"type": "template", "inputs": {"template": "$n"}}
    (tmp_path / typed).write_text(json.dumps({"inputs": {"n": {"type": "int"}}, "nodes": [node]}))
    given = {taken: {"content": "b"}, "ask x": {"stdin": "y"}, typed: {"n": None}}
    cases = [(64, "ask x"), (66, "read-file"), (65, "raed-file a"), (5, "shell 'exit 5'")]
    for exit, flow in [*cases, (2, 5), (2, taken), (2, typed)]:
        with pytest.raises(PflowError) as caught:
            pflow.run(flow, **given.get(flow, {}))
        assert caught.value.exit == exit


def test_run_works_in_any_thread_and_loop_and_leaves_no_handler():
    async def cell():
        return pflow.run(Flow(start=Later()))

    before = [signal.getsignal(each) for each in signal.valid_signals()]
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(pflow.run, "shell 'echo hi' --timeout=60").result()["stdout"] == "hi\n"
    assert asyncio.run(cell()) == {"later": True}
    assert pflow.run("shell 'echo hi' --timeout=60")["stdout"] == "hi\n"
    assert [signal.getsignal(each) for each in signal.valid_signals()] == before


def test_dir_shows_what_is_public_and_each_has_a_docstring():
    assert {"Flow", "Node", "flow_safe", "run", "step"} < set(dir(pflow)) == {*pflow.__all__, "__version__"}
    assert all(getattr(pflow, name).__doc__ for name in pflow.__all__)


@pytest.mark.parametrize("order", [("text", "any"), ("any", "text")])
def test_each_step_of_a_group_takes_what_its_own_read_says(order):
    steps = {"text": {"id": "text", "type": "split-text"}, "any": {"id": "any", "type": "select"}}
    group = {
        "id": "group",
        "type": "flow",
        "nodes": [steps[id] for id in order],
        "mappings": {id: {"input_mappings": {read: "found"}} for id, read in (("text", "text"), ("any", "data"))},
        "outputs": {"chunks": "text.chunks", "same": "any.selected"},
    }
    parse = {"id": "parse", "type": "parse-json", "inputs": {"text": '{"a": 1}'}}
    mapped = {"group": {"input_mappings": {"found": "parse.data"}}}
    store = pflow.run({"nodes": [parse, group], "mappings": mapped})
    assert (store["chunks"], store["same"]) == (['{"a":1}'], {"a": 1})
