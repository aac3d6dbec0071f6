"""Calls of nodes and saved flows: what goes in is data, what comes out is what is declared."""

import json

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from tests.mcp.talking import NAP, call, one_step, talk, until


@pytest.fixture
def home(shared_home):
    return shared_home


SHOW = 'printf "%s|" "$@"; cat'


def words(result):
    return "\n".join(each.text for each in result.content)


def test_a_flow_gives_its_outputs_as_an_object_and_as_its_text(home):
    result = call(home, "count", {"file": "three.txt"})
    assert not result.is_error
    assert result.structured_content == {"words": "3\n"}
    assert json.loads(words(result)) == result.structured_content
    assert result.meta["pflow/run"]


LIKE_SYNTAX = [
    "$content",
    "${content}",
    "$$",
    "--help",
    "-r",
    "@three.txt",
    "a => b",
    "`id`",
    "$(id)",
    "ü\u2028\x1b",
    "",
]


def test_what_looks_like_a_template_a_flag_or_a_file_is_a_value(home):
    result = call(home, "shell", {"command": SHOW, "args": LIKE_SYNTAX, "input": "$stdin ${x}"})
    assert result.structured_content["stdout"] == "".join(f"{each}|" for each in LIKE_SYNTAX) + "$stdin ${x}"


VALUES = ["$x", "${x}", "--verbatim", "@three.txt", "a=b => c", "007", "line\n", "[1", "ü"]


def echo(*params):
    """A node whose write `got` is what it understood its params as."""
    return (
        "from pflow import Node\n\nclass Echo(Node):\n    '''Echo.\n\n    Interface:\n"
        + "".join(f"    - {each}\n" for each in ('Writes: shared["got"]: any', *params))
        + "    '''\n    def post(self, shared, prep, done):\n"
        "        shared['got'] = {name: repr(value) for name, value in self.params.items()}\n"
    )


def test_so_it_is_in_a_param_of_a_node_and_in_an_input_of_one_step_of_a_flow(home):
    given = {f"say_{number}": value for number, value in enumerate(VALUES)}
    (home.nodes / "echo.py").write_text(echo(*(f'Params: {name}: str = ""' for name in given)))
    home.save("any-command", one_step("shell"))
    home.save("echoing", one_step("echo"))
    command = "cat <<'end'\n" + "\n".join(VALUES) + "\nend"

    async def work(client):
        async def of(tool, write, arguments):
            return (await client.call_tool(tool, arguments)).structured_content[write]

        understood = {name: repr(value) for name, value in given.items()}
        assert await of("echo", "got", given) == understood
        assert await of("echoing", "got", {f"only.{name}": value for name, value in given.items()}) == understood
        assert await of("any-command", "stdout", {"command": command}) == "\n".join(VALUES) + "\n"

    talk(home, work)


PARAMS = [
    ("bytes = null", {"$bytes": "//4="}, b"\xff\xfe"),
    ("bytes = null", "@three.txt", b"@three.txt"),
    ("int = 0", 7.0, 7),
    ("float = 0", 7, 7.0),
    ("bool = true", False, False),
    ("list = []", ["$x", "--y"], ["$x", "--y"]),
    ("dict = null", {"$x": None}, {"$x": None}),
]


def test_a_param_gets_a_value_of_its_type(home):
    (home.nodes / "typed.py").write_text(
        echo(*(f"Params: p{number}: {type}" for number, (type, _, _) in enumerate(PARAMS))).replace("Echo", "Typed")
    )
    given = {f"p{number}": value for number, (_, value, _) in enumerate(PARAMS)}
    got = call(home, "typed", given).structured_content["got"]
    assert got == {f"p{number}": repr(value) for number, (_, _, value) in enumerate(PARAMS)}
    assert "cannot take 'p0': it holds a NUL" in words(call(home, "typed", {"p0": {"$bytes": "AA=="}}))


def test_types_are_kept_on_the_way_in_and_out(home):
    given = {"text": "ü🎉", "none": None, "list": [1, 2.5, True, {"a": None}], "bytes": {"$bytes": "//4="}}
    inputs = {name: {"type": "any"} for name in given}
    outputs = {f"{name}_out": name for name in given}
    home.save("same", {"pflow": 1, "inputs": inputs, "outputs": outputs, "nodes": [LOOK]})
    result = call(home, "same", given).structured_content
    assert result == {f"{name}_out": value for name, value in given.items()}


LOOK = {"id": "look", "type": "list-files", "inputs": {"pattern": "*"}}


def test_a_flow_that_takes_what_is_piped_has_it_as_an_input(home):
    home.save("upper", one_step("shell", command="tr a-z A-Z", input="<$stdin>"))
    mapped = {"only": {"input_mappings": {"input": "stdin"}}}
    home.save("lower", {**one_step("shell", command="tr A-Z a-z"), "mappings": mapped})

    async def work(client):
        given = {"stdin": "Text $x"}
        return [(await client.call_tool(name, given)).structured_content["stdout"] for name in ("upper", "lower")]

    assert talk(home, work) == ["<TEXT $X>", "text $x"]
    assert call(home, "upper", {}).is_error


WRONG = [
    ("count", {}, "'file' is a required property"),
    ("count", {"file": 3}, "'file': 3 is not of type 'string'"),
    ("count", {"file": "x", "count.command": "id"}, "'count.command' was unexpected"),
    ("count", {"file": "x", "$pflow": {"v": 2}}, "'$pflow' was unexpected"),
    ("pflow_run", {"name": "count", "inputs": {"file": 3}}, "'file': 3 is not of type 'string'"),
    ("pflow_run", {}, "'name' is a required property"),
    ("shell", {"command": "x", "input": 1 << 70}, "past 64 bits"),
    ("shell", {"command": "x", "input": {"$bytes": "?"}}, "holds no base64 text"),
    ("pflow_list", {"search": "x " * 10_000}, "is too long"),
    ("pflow_check", {"flow": {"nodes": ["x" * 2_000_000]}}, "it is longer than 1,048,576 bytes"),
    ("read-file", {"path": "x" * 1_000_000}, "file name too long"),
]


def test_arguments_that_do_not_fit_are_said(home):
    async def work(client):
        return [await client.call_tool(tool, arguments) for tool, arguments, _ in WRONG]

    for result, (tool, arguments, said) in zip(talk(home, work), WRONG, strict=True):
        assert result.is_error, (tool, arguments)
        assert said in words(result), (tool, arguments)
        assert len(words(result)) < 10_000


def test_a_failure_is_a_result_with_the_words_the_code_and_the_step(home):
    result = call(home, "count", {"file": "gone.txt"})
    assert result.is_error
    assert "pflow run: read (read-file): cannot read 'gone.txt': no such file" in words(result)
    assert words(result).endswith("exit 66, step 'read' (read-file)")
    assert result.meta["pflow/error"]["exit"] == 66
    assert "cannot read 'gone.txt'" in (home.place / "said").read_text()


def test_a_child_that_is_killed_is_a_failure(home):
    home.save("murder", one_step("shell", command="kill -9 $PPID"))
    result = call(home, "murder", {})
    assert result.is_error
    assert result.meta["pflow/error"]["exit"] == 137


def test_a_tool_that_is_none_is_an_error_of_the_protocol(home):
    async def work(client):
        with pytest.raises(MCPError, match="Unknown tool: gone"):
            await client.call_tool("gone", {})

    talk(home, work)


FLOW_TEXTS = ["read-file --path=a => shell --command=id", "three.txt", "./flow.pflow.json", '{"nodes": []}', "flow:"]


def test_only_what_was_saved_is_run(home):
    (home.place / "flow.pflow.json").write_text(json.dumps(NAP))

    async def work(client):
        return [await client.call_tool("pflow_run", {"name": text}) for text in FLOW_TEXTS]

    for result in talk(home, work):
        assert result.is_error
        assert "no such node or saved flow here" in words(result)
    assert not home.nappers()


def test_what_is_not_offered_is_not_run_by_its_name_either(home):
    result = call(home, "pflow_run", {"name": "shell", "inputs": {"command": "touch made"}}, "--read-only")
    assert "cannot find 'shell'" in words(result)
    assert not (home.place / "made").exists()


def test_each_step_is_progress(home):
    heard = []

    async def hear(*news):
        heard.append(news)

    async def work(client):
        await client.call_tool("count", {"file": "three.txt"}, progress_callback=hear)
        await until(lambda: len(heard) == 4)

    talk(home, work)
    assert heard == [
        (0.5, 2.0, "read (read-file) …"),
        (1.0, 2.0, "read (read-file) done"),
        (1.5, 2.0, "count (shell) …"),
        (2.0, 2.0, "count (shell) done"),
    ]


def test_the_trace_that_was_asked_for_is_written_as_ever(home):
    async def hear(*news):
        pass

    trace = home.place / "trace.jsonl"
    work = lambda client: client.call_tool("count", {"file": "three.txt"}, progress_callback=hear)  # noqa: E731
    talk(home, work, PFLOW_TRACE=str(trace))
    assert [json.loads(line)["event"] for line in trace.read_text().splitlines()] == ["start", "end", "start", "end"]


def test_two_calls_run_at_the_same_time(home):
    """Each waits for what the other does."""
    home.save("ping", one_step("shell", command="touch ping; until test -e pong; do sleep 0.02; done; echo ping"))
    home.save("pong", one_step("shell", command="touch pong; until test -e ping; do sleep 0.02; done; echo pong"))
    results = {}

    async def work(client):
        async def one(name):
            results[name] = (await client.call_tool(name, {})).structured_content["stdout"]

        async with anyio.create_task_group() as both:
            both.start_soon(one, "ping")
            both.start_soon(one, "pong")

    talk(home, work)
    assert results == {"ping": "ping\n", "pong": "pong\n"}


def test_what_is_too_long_is_cut_and_says_so(home):
    result = call(home, "shell", {"command": "head -c 3000000 /dev/zero | tr '\\0' x"})
    assert result.structured_content["stdout"].endswith("… (2,900,000 more characters)")
    assert "were cut" in words(result)
    assert result.meta["pflow/cut"]


def test_what_a_node_prints_is_not_in_the_protocol(home):
    (home.nodes / "loud.py").write_text(
        "import os\nfrom pflow import Node\n\nclass Loud(Node):\n    '''Shout.\n\n    Interface:\n"
        "    - Writes: shared[\"x\"]: int\n    '''\n"
        "    def post(self, shared, prep, done):\n"
        "        print('\\x1b[31mprinted'); os.system('echo from below'); shared['x'] = 1\n"
    )
    home.save("louder", one_step("loud"))

    async def work(client):
        return [(await client.call_tool(name, {})).structured_content for name in ("loud", "louder")]

    assert talk(home, work) == [{"x": 1}, {"x": 1}]
    said = (home.place / "said").read_text()
    assert "\\x1b[31mprinted" in said
    assert "\x1b" not in said


def test_what_breaks_its_promise_is_said(home):
    (home.nodes / "liar.py").write_text(
        "from pflow import Node\n\nclass Liar(Node):\n    '''Lie.\n\n    Interface:\n"
        "    - Writes: shared[\"number\"]: int\n    '''\n"
        "    def post(self, shared, prep, done):\n        shared['number'] = 'seven'\n"
    )
    result = call(home, "liar", {})
    assert result.is_error
    assert "seven" in words(result) or "number" in words(result)


MINT = """
from pflow import Node


class Mint(Node):
    '''Make a key.

    Interface:
    - Writes: shared["key"]: str [secret]  # not to be seen
    - Writes: shared["size"]: int [pipe]  # its length
    '''

    def post(self, shared, prep_res, exec_res):
        shared["key"], shared["size"] = "hush-hush", 9
"""


def _keeping(place, **more):
    return {**one_step("mint"), "mappings": {"only": {"output_mappings": {"key": place}}}, **more}


SECRETIVE = {
    "mint-bare": (one_step("mint"), {"size": 9}),
    "mint-told": (_keeping("a.key", outputs={"k": "a.key", "all": "a", "size": "size"}), {"size": 9}),
    "mint-inner": (one_step("flow:mint-bare"), {"size": 9}),
    "mint-outer": ({**one_step("flow:mint-told"), "outputs": {"x": "k", "n": "size"}}, {"n": 9}),
}


def test_a_secret_that_a_step_of_a_flow_writes_is_no_clients(home):
    (home.nodes / "mint.py").write_text(MINT)
    for name, (flow, _) in SECRETIVE.items():
        home.save(name, flow)
    for name, (_, gives) in SECRETIVE.items():
        result = call(home, name, {})
        assert (name, result.structured_content) == (name, gives)
        assert "hush" not in words(result)
