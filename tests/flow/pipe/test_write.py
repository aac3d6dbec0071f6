"""Writing pipe syntax: as little as reads back as the same flow."""

import json
import re
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.flow.flow import Batch, Edge, FlowSpec, Step
from pflow.flow.ir import flow_hash
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.pipe.scan import quote
from pflow.flow.pipe.write import write_pipe
from pflow.flow.wiring import wire
from tests.flow.own_nodes import own_nodes

NODES = {
    "judge": """
    - Reads: shared["text"]: any [pipe]  # what to judge
    - Reads: shared["strict"]: bool = false  # how
    - Writes: shared["verdict"]: str [pipe]  # what is to be said of it
    - Writes: shared["score"]: int  # how good it is
    - Params: level: int = 1  # how much is asked for
    - Actions: default, failed, error""",
    "many": """
    - Reads: shared["words"]: list[str] = [] [pipe]  # some
    - Reads: shared["numbers"]: list[int] = []  # some
    - Reads: shared["table"]: dict = {}  # any
    - Reads: shared["score"]: int = 0  # how good
    - Reads: shared["rate"]: float = 1.0  # how fast
    - Reads: shared["loud"]: bool = false  # how
    - Reads: shared["mode"]: fast|slow = "fast" [flag m]  # how
    - Reads: shared["free"]: any = null  # anything
    - Reads: shared["where"]: path = "." [explicit]  # where
    - Reads: shared["code"]: str = "" [verbatim] [own]  # what to run
    - Reads: shared["blob"]: bytes = null  # anything
    - Reads: shared["token"]: str = null [secret]  # who asks
    - Writes: shared["result"]: any [pipe]  # what came of it
    - Writes: shared["score"]: int  # how good it is
    - Params: tags: list[str] = []  # some
    - Params: flat: bool = true  # how deep
    - Params: ratio: float = 0.5  # how much
    - Params: extra: dict = {}  # more""",
    "prose": None,
}


@pytest.fixture(autouse=True, scope="module")
def nodes(tmp_path_factory):
    with own_nodes(tmp_path_factory.mktemp("nodes"), NODES):
        yield


def written(*steps, edges=None, **members):
    """The text of a flow of these steps: a chain, or with these edges."""
    chain = [(one.id, other.id) for one, other in pairwise(steps)]
    flow = FlowSpec(list(steps), [Edge(*edge) for edge in (chain if edges is None else edges)])
    for name, value in members.items():
        setattr(flow, name, value)
    return write_pipe(flow)


def rewritten(text):
    return write_pipe(parse_pipe([text]))


@pytest.mark.parametrize(
    "text",
    [
        "read-file --path=a\n  => llm --prompt='x y'\n  => llm --prompt=Y\n  => write-file --path=o",
        "llm\n  => llm\n  => llm:c",
        "judge:check\n  =failed=> llm:fix\n  => check\ncheck\n  => write-file --path=o",
        "judge:a\n  => llm:b --prompt=x\n  => judge:d\na\n  => llm:c\n  => d",
        "llm:a\njudge:b\n  => a",
        "llm:judge\n  => judge:b",
        "many --loud --words=a --words=b --numbers='[1,2]' --free='$$x' --code='$y' --no-flat",
        "many --words='[]' --free='' --score='$x' --rate='$y'",
        "llm --retries=2 --wait=0.5 --timeout=60",
        "llm --no-repeats\n  => shell --each --as=command --repeats",
        "llm --cache\n  => llm --no-cache\n  => shell --cache=require",
        "llm --id=draft",
        'llm --text:=null --schema:=\'{"type":"object"}\'\n  => many --free:=1\n  => prose --a:=\'[1,"$$b"]\'',
        "llm --map-in=text=a/b --map-in=text=b --map-out=response=x",
        "read-file --path=a\n  => llm --prompt=x --map-in=text= --map-out=response=x",
        "unknown-thing --a=b\n  => prose --a=b",
        'llm --prompt="it\'s"',
        "list-files --pattern='*'\n  => read-file --each --with-item\n  => judge --each --as=x --jobs=4 --keep-going",
        "read-file --each\n  => write-file --each=stdin --path='o/${item_stem}.md'",
        "read-file --path=a\n  => llm --each=topics.list --as=topic --prompt='On ${topic}'",
        "many --each --as=where\n  => many:b --each=where --as='[' --free='${[\"[\"]}'",
        "llm:a\n  => llm:b --prompt='${a.response}'\n  => judge --text='${a.usage.x[0]} ${topic.x}'",
    ],
)
def test_pipe_syntax_is_written_as_one_would_write_it(text):
    assert rewritten(text) == text + "\n"


def test_what_compiling_does_by_itself_is_not_written():
    assert rewritten("read-file --path a >> llm --map-in=text=content") == "read-file --path=a\n  => llm\n"


@pytest.mark.parametrize(
    ("mappings", "given", "words"),
    [
        ({"prompt": "template:Sum up: ${fetch.content}"}, {}, "--prompt='Sum up: ${fetch.content}'"),
        ({}, {"inputs": {"prompt": "Sum up: ${content}"}}, "--prompt='Sum up: ${content}'"),
        ({}, {"inputs": {"prompt": "Sum up"}}, "--prompt='Sum up' --map-in=text="),
        ({}, {"inputs": {"prompt": "Up: ${content}"}, "params": {"input_bindings": {}}}, "--prompt='Up: ${content}'"),
        ({"prompt": "topic"}, {}, "--map-in=prompt=topic --map-in=text="),
        ({"prompt": "fetch.content"}, {}, "--prompt='${fetch.content}'"),
        ({"prompt": "fetch.content", "text": "content"}, {}, "--prompt='${fetch.content}' --map-in=text=content"),
        ({"prompt": "topic", "text": "fetch.content"}, {}, "--map-in=prompt=topic --map-in=text=fetch.content"),
        ({"prompt": "topic", "text": "content"}, {}, "--map-in=prompt=topic"),
        ({"text": "fetch.content"}, {}, "--map-in=text=fetch.content"),
        ({"text": "content"}, {}, ""),
        ({"text": "template:Of ${content}"}, {}, "--map-in='text=template:Of ${content}'"),
        ({"text": "topic"}, {}, "--map-in=text=topic"),
    ],
)
def test_a_flow_from_json_is_written_with_what_a_pipe_would_not_do(mappings, given, words):
    ask = Step("ask", "llm", input_mappings=mappings, **given)
    text = written(Step("fetch", "read-file", inputs={"path": "a"}), ask)
    assert text == f"read-file:fetch --path=a\n  => llm:ask {words}".rstrip() + "\n"


@pytest.mark.parametrize(
    ("targets", "written_as"),
    [
        ({}, ["llm:a --map-out=response=response --map-out=usage=usage"] * 2),
        ({"a": {"response": "x", "usage": "y"}}, ["llm:a --map-out=response=x --map-out=usage=y", "llm:b"]),
        ({"a": {"response": "a.response", "usage": "a.usage"}}, ["llm --id=a", "llm:b"]),
        ({id: {key: f"{id}.{key}" for key in ("response", "usage")} for id in "ab"}, ["llm:a", "llm:b"]),
    ],
)
def test_steps_that_write_one_key_write_it_where_the_flow_says(targets, written_as):
    steps = [Step(id, "llm", input_mappings={"text": "x"}, output_mappings=targets.get(id, {})) for id in "ab"]
    text = written(*steps)
    lines = [re.sub(" (--map-in|--text)=[^ ]*", "", line.removeprefix("  => ")) for line in text.splitlines()]
    assert lines == [line.replace("llm:a", f"llm:{id}", 1) for id, line in zip("ab", written_as, strict=True)]
    flow = FlowSpec(steps, [Edge("a", "b")])
    assert flow_hash(wire(parse_pipe([text]))) == flow_hash(wire(flow))


def test_a_path_that_moves_a_write_stays_in_the_text():
    steps = [Step(id, "llm", inputs={"prompt": id}) for id in "abc"]
    steps[1].input_mappings, steps[2].input_mappings = {"text": "a.response"}, {"text": "a.response"}
    assert written(*steps) == (
        "llm:a --prompt=a --map-out=usage=usage\n"
        "  => llm:b --prompt=b --map-in=text=a.response --map-out=response=response --map-out=usage=usage\n"
        "  => llm:c --prompt=c --map-in=text=a.response --map-out=response=response --map-out=usage=usage\n"
    )


def test_steps_are_met_in_their_order_whatever_the_order_of_the_edges():
    steps = [Step("a", "llm"), Step("b", "judge"), Step("c", "read-file", inputs={"path": "x"})]
    steps[1].input_mappings = {"text": "content"}
    text = written(*steps, edges=[("c", "b"), ("a", "c")])
    assert [step.id for step in parse_pipe([text]).steps] == ["a", "b", "c"]


def test_a_param_in_place_of_a_read_that_no_store_gives_is_its_flag():
    assert written(Step("a", "ask", params={"question": "x"})) == "ask:a --question=x\n"


def test_versions_stand_in_a_comment():
    assert written(Step("llm", "llm", version="1.0.0")) == "# versions: llm 1.0.0\nllm\n"


@pytest.mark.parametrize(
    ("steps", "members", "why"),
    [
        ([], {}, "it has no step"),
        ([Step("a", "llm", batch=Batch("files"))], {}, "it cannot express the read text of 'a'"),
        ([Step("a", "llm")], {"max_visits": 5}, "it has max_visits"),
        ([Step("a", "llm")], {"outputs": {"x": "response"}}, "it has declared outputs"),
        ([Step("a", "llm")], {"edges": [("a", "b")]}, "it has an edge of a step that is not there"),
        ([Step("a", "llm"), Step("a", "llm")], {}, "it has two steps of one name"),
        ([Step("a", "pflow-llm")], {}, "it cannot express the manner of 'a'"),
        ([Step("a", "llm", params={"text": "x"})], {}, "the param text of 'a': its flag is data, not a param"),
        ([Step("a", "prose", params={"b": "x"}), Step("b", "many", params={"mode": "slow"})], {}, "param mode of 'b'"),
        (
            [Step("a", "judge"), Step("b", "many")],
            {"edges": [("a", "b"), ("b", "a", "failed")]},
            "the read text of 'a': it would take 'b.result' and 'stdin', not 'stdin'",
        ),
        ([Step("a", "llm", inputs={"schema": "$x"})], {}, "it cannot express the read schema of 'a'"),
        ([Step("a", "many", inputs={"token": "x"})], {}, "a secret is never a flag"),
        ([Step("a", "unknown", inputs={"debug": "y"})], {}, "every step has a flag of that name"),
        ([Step("a", "many", input_mappings={"code": "template:a$x"})], {}, "it cannot express the read code of 'a'"),
        ([Step("a", "llm", input_mappings={"text": "a..b"})], {}, "has an empty step"),
        (
            [Step("a", "judge"), Step("b", "llm", inputs={"prompt": "$topic"})],
            {},
            "the read prompt of 'b': it would take 'a.verdict', not 'topic'",
        ),
        ([Step("a", "judge"), Step("b", "llm")], {"edges": [("a", "b", "not one")]}, "an edge for 'not one', which"),
    ],
)  # fmt: skip
def test_what_pipe_syntax_cannot_say_is_told(steps, members, why):
    with pytest.raises(PflowError) as caught:
        written(*steps, **members)
    assert caught.value.exit == 65
    assert caught.value.message.startswith("cannot write the flow in pipe syntax: ")
    assert why in caught.value.message


def test_a_loop_back_to_the_first_step_leaves_its_read_to_the_store(tmp_path, monkeypatch):
    for name, read, write in (("Wonder", 'shared["topic"], shared.get("found")', "query"), ("Seek", "0", "found")):
        code = f"prep(self, shared): return {read}\n    def post(self, shared, p, e): shared['{write}'] = p"
        (tmp_path / f"{name.lower()}.py").write_text(
            f"import pocketflow\nclass {name}(pocketflow.Node):\n    def {code}"
        )
    monkeypatch.setenv("PFLOW_NODES", str(tmp_path))
    text = written(Step("a", "wonder"), Step("b", "seek"), edges=[("a", "b"), ("b", "a", "more")])
    assert text.splitlines()[-1] == "  =more=> a"


awkward = st.text(st.sampled_from("ab '\"\\\n\t$|;#=>:<&é—{}[](),.!*~`-_"), max_size=10)
anything = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=10)
references = st.sampled_from([
    "$$", "$x1", "a => b", "$topic", "${topic.sub[0]}", "$response", "$result.x", "${verdict}", "${s0.result}",
    "$content and $stdin", "${s1.response}", "${a", "${}", "$$topic", "true", "007", "[1,2]", '{"a": 1}', "$score",
])  # fmt: skip
texts = awkward | anything | references
names = texts.filter(bool)
items = texts.filter(lambda text: not text.lstrip().startswith("["))
counts = st.integers(-5, 5).map(str)
objects = st.dictionaries(st.text("abé", max_size=3), texts | st.none() | st.booleans(), max_size=2).map(json.dumps)
lists = st.lists(texts, max_size=3).map(lambda value: json.dumps(value, ensure_ascii=False))

FLAGS = {
    "llm": {"prompt": texts, "text": texts, "system": texts, "option": items, "max-tokens": counts},
    "read-file": {"path": names, "encoding": texts},
    "write-file": {"path": names, "content": texts},
    "shell": {"command": texts, "args": items | lists, "input": texts},
    "judge": {"text": texts, "level": counts},
    "many": {
        "words": items | lists, "numbers": counts | st.just("[1,2]"), "table": objects, "where": names, "code": texts,
        "score": counts | st.sampled_from(["$score", "1$score", "${s0.score}"]), "tags": items | lists, "blob": texts,
        "rate": st.sampled_from(["1", "$topic"]), "mode": st.sampled_from(["fast", "$topic"]), "free": texts,
        "ratio": st.sampled_from(["1", "0.25"]), "extra": objects,
    },
    "unknown-thing": {"a": texts, "b": texts},
}  # fmt: skip
WORDS = {"llm": ["prompt"], "read-file": ["path"], "write-file": ["path"], "shell": ["command", "args"]}
SWITCHES = {"many": ["--loud", "--no-flat"], "judge": ["--strict"], "write-file": ["--append"], "shell": ["--no-check"]}
OTHERS = ["--retries=2", "--wait=0.5", "--timeout=9", "--cache", "--no-cache", "--cache=require"]
OTHERS += ["--max-visits=7", "--repeats"]
READS = {"llm": "text", "read-file": "path", "judge": "text", "many": "free", "write-file": "content"}
WRITES = {"llm": "usage", "read-file": "content", "shell": "stdout", "judge": "verdict", "many": "score"}
paths = st.sampled_from(["content", "response", "s0.result", "s1.score", "topic", "a/b", "stdin", 'x.y[0]["odd key"]'])
batches = st.just([]) | st.builds(
    lambda over, others: [over, *others],
    st.sampled_from(["--each", "--each=content", "--each=s0.result", "--each=topic.list"]),
    st.lists(
        st.sampled_from(["--as=free", "--as=x", "--jobs=2", "--keep-going", "--with-item"]),
        unique_by=lambda flag: flag[:4],
    ),
)
signs = st.sampled_from(["=>", ">>", "|", "::", "=failed=>", "=error=>", "\n  =>", "=>\n\n  # why\n", "\n", ";"])


def switch(flag):
    """A flag without its value: a step takes each once."""
    return flag.replace("--no-", "--").partition("=")[0]


@st.composite
def step_words(draw, number):
    """A step with some of its flags, and its name where it has one."""
    type = draw(st.sampled_from(list(FLAGS)))
    chosen = draw(st.lists(st.sampled_from(list(FLAGS[type])), unique=True, max_size=4))
    words = [f"--{name}={draw(FLAGS[type][name])}" for name in chosen]
    words += draw(st.lists(st.sampled_from(SWITCHES.get(type, OTHERS) + OTHERS), unique_by=switch, max_size=2))
    if READS.get(type) not in chosen:  # else nothing in it takes an item
        words += draw(batches)
    words += ["--verbatim"] * (type != "many" and draw(st.integers(0, 4)) == 0)
    key = READS.get(type)
    if key and key not in chosen:
        nowhere = [""] if number and key in ("text", "content") else []
        words += [f"--map-in={key}={path}" for path in draw(st.lists(paths, max_size=2) | st.just(nowhere))]
    if type in WRITES and draw(st.integers(0, 4)) == 0:
        words.append(f"--map-out={WRITES[type]}={draw(st.sampled_from(['out', 'deep.er', 'q/r']))}")
    name = f"s{number}" if draw(st.booleans()) else ""
    if not name and draw(st.integers(0, 4)) == 0:
        words.append(f"--id=apart{number}")
    bare = WORDS.get(type, []) if draw(st.booleans()) else []
    if bare and not set(bare) & set(chosen) and not any(word.startswith("--map-in") for word in words):
        words += ["--", *(draw(names) for _ in bare)]
    return " ".join([f"{type}:{name}" if name else type, *map(quote, words)]), name


@st.composite
def flow_texts(draw):
    """A chain or several, with branches, loops and forks between the steps that have names."""
    steps = [draw(step_words(number)) for number in range(draw(st.integers(1, 5)))]
    text = steps[0][0]
    for step, _ in steps[1:]:
        text += f" {draw(signs)} {step}"
    named = [name for _, name in steps if name]
    for _ in range(draw(st.integers(0, 3)) if named else 0):
        chain = draw(st.lists(st.sampled_from(named), min_size=2, max_size=3))
        text += "; " + f" {draw(st.sampled_from(['=>', '=failed=>', '=error=>']))} ".join(chain)
    return text


def step_of(step, writes):
    """All that decides what a step does, to be compared; `writes` are the places of its writes, or their mappings."""
    batch = step.batch and (
        bool(step.batch.over),  # by whichever of a place's names
        step.batch.item,
        step.batch.jobs,
        step.batch.on_error,
        step.batch.keep_item,
    )
    manner = step.retries, step.wait, step.timeout, step.cache, batch
    return step.id, step.type, step.inputs, step.params, writes, manner


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(flow_texts())
@example("llm --map-out=usage=out --id=a => llm '--prompt=$A' '--text=$B' --map-out=usage=out --id=b")
@example("llm --map-out=usage=out --id=a => llm '--prompt=$A' '--system=$B' --map-out=usage=out --id=b")
@example("llm --id=a\nllm --map-out=usage=out => many '--rate=$topic' --map-out=score=out --id=b")
@example("read-file --id=a => write-file '--content=$A' => write-file --each --path=x")
@example(
    "many:s0 --map-out=score=out => write-file --each=s0.result --verbatim --id=b => many --map-out=score=out --id=c"
)
def test_text_to_flow_to_text_is_a_fixed_point(text):
    try:
        flow = parse_pipe([text])
    except PflowError as error:
        # nothing takes the item or the words, it is a batch of nothing, or a name is one letter off
        unusable = ("--each: nothing", "no single step passes", "nothing writes it", "does not use its arguments")
        assume(not any(each in error.message for each in unusable))
        raise
    said = write_pipe(flow)
    again = parse_pipe([said])
    # A write has the same place, whether a mapping says it or a path that reads it.
    steps, others = wire(flow).steps.values(), wire(again).steps.values()
    assert [step_of(each.step, each.targets) for each in others] == [step_of(each.step, each.targets) for each in steps]
    assert write_pipe(again) == said
