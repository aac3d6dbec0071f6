"""Which tools there are, what a client is told of each, and what pflow's own tools never do."""

import json

import anyio
import mcp_types as types
import pytest
from mcp import ClientSession
from mcp.client.stdio import stdio_client
from mcp.shared.tool_name_validation import validate_tool_name

from pflow.catalog.lines import entry
from pflow.catalog.registry import names_in
from pflow.driver.arguments import spec_of_run
from pflow.explain.account import needs
from pflow.flow.subflow import FlowCatalog
from pflow.mcp.server.tools import OfferedTool
from pflow.node import declared_interface, load_bundled
from tests.mcp.server.talking import COUNT, NAP, PATIENCE, call, call_all, furnished, listed, one_step, until, words
from tests.peers.openai_server import OpenAIServer

OWN = ["pflow_list", "pflow_describe", "pflow_check", "pflow_plan", "pflow_run", "pflow_trace"]
RATE = (
    'Reads: shared["text"]: str [pipe]  # the text',
    'Reads: shared["tags"]: list[str] = []  # what it is about',
    'Reads: shared["token"]: str = "" [secret]  # who asks',
    'Writes: shared["rating"]: dict{stars: int, why: str} [pipe]  # how good it is',
    'Writes: shared["key"]: str [secret]  # not to be seen',
    'Params: scale: low|high = "low"  # how strict',
)
HOSTILE = [";rm -rf ~", "$(touch x)", "a\nb", "\x1b[31mred", "zoë", "..", "x" * 150, "a.b", "a b"]


@pytest.fixture(scope="module")
def home(shared_home):
    shared_home.node("rate", *RATE, before="@flow_safe")
    (shared_home.nodes / "loose.py").write_text(
        "import pocketflow\n\nclass Loose(pocketflow.Node):\n    '''Loose.'''\n"
    )
    shared_home.save("look", one_step("read-file"))
    shared_home.save("loose-flow", one_step("loose"))
    shared_home.save("agent", one_step("claude-code", prompt="Mend it"))
    shared_home.save("gone", one_step("no-such-node"))
    shared_home.save("broken", "{")
    shared_home.save("closed", {**one_step("loose"), "inputs": {"x": {"type": "int"}}, "outputs": {"y": "only.y"}})
    for name in (*HOSTILE, "--help", "llm", "pflow_run"):
        shared_home.save(name, {**COUNT, "description": f"\x1b]0;{name}\x07 and more"})
    return shared_home


@pytest.fixture(scope="module")
def tools(home):
    return listed(home)


def test_nodes_and_saved_flows_are_tools_beside_pflows_own(tools):
    assert {*OWN, *names_in("nodes"), "count", "nap", "rate"} <= tools.keys()


def test_an_interface_is_a_schema_without_its_secrets(tools):
    tool = tools["rate"]
    assert tool.description == "Rate."
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "the text"},
            "tags": {"type": "array", "items": {"type": "string"}, "description": "what it is about", "default": []},
            "scale": {"type": "string", "enum": ["low", "high"], "description": "how strict", "default": "low"},
        },
        "required": ["text"],
        "additionalProperties": False,
    }
    shape = {"type": "object", "properties": {"stars": {"type": "integer"}, "why": {"type": "string"}}}
    rating = {**shape, "description": "how good it is"}
    assert tool.output_schema == {"type": "object", "properties": {"rating": rating}}


def test_a_flow_has_its_inputs_its_outputs_and_the_params_of_its_steps(tools):
    tool = tools["count"]
    assert tool.description == COUNT["description"]
    assert tool.input_schema["required"] == ["file"]
    assert set(tool.input_schema["properties"]) == {"file", "read.encoding", "count.check", "count.max_output"}
    assert set(tool.output_schema["properties"]) == {"words"}


def test_which_commands_a_saved_flow_may_run_is_not_for_clients(tools):
    own, saved = (set(tools[name].input_schema["properties"]) for name in ("claude-code", "agent"))
    assert {"prompt", "directory", "model", "expect", "allowed_tools", "load_settings"} <= own
    assert {"only.directory", "only.model"} <= saved
    assert not {"only.expect", "only.allowed_tools", "only.load_settings", "only.prompt"} & saved


def faults_for_strict_clients(schema, place=""):
    """Yield what VS Code, OpenAI, openai-agents and Gemini refuse in a schema, the whole request with it."""
    if not isinstance(schema, dict):
        yield from (
            fault for each in schema if isinstance(each, dict) for fault in faults_for_strict_clients(each, place)
        )
        return
    if schema.get("type") == "array" and not isinstance(schema.get("items"), dict):
        yield f"{place}: an array without items"
    if not isinstance(schema.get("type", ""), str):
        yield f"{place}: several types"
    if schema.get("additionalProperties", False) is not False:
        yield f"{place}: an object with any members"
    yield from (f"{place}: {each}" for each in {"$ref", "$defs", "allOf", "oneOf", "prefixItems", "not"} & {*schema})
    for name, each in schema.get("properties", {}).items():
        yield from faults_for_strict_clients(each, f"{place}/{name}")
    yield from faults_for_strict_clients([schema.get("items"), *schema.get("anyOf", [])], f"{place}[]")


def test_no_strict_client_refuses_a_schema(home):
    reads = [f'Reads: shared["{name}"]: {type} = null' for name, type in zip("abcde", TYPES, strict=True)]
    home.node("rows", *reads, "Effects: writes files")
    home.save("rows-flow", {**one_step("rows"), "inputs": {"x": {"type": "list"}, "y": {"type": "any"}}})
    tools = listed(home)
    assert {"rows", "rows-flow", *OWN} <= tools.keys()
    for name, tool in tools.items():
        assert "'items': {}" not in str(tool.input_schema), name
        for schema in filter(None, (tool.input_schema, tool.output_schema)):
            assert schema["type"] == "object"
            assert [*faults_for_strict_clients(schema)] == [], name


TYPES = ("list", "any", "dict{a: list, b: any}", "list[list]", "list[dict{a: list[any]}]")

HINTS = {
    "read-file": [True, False, True, False],
    "write-file": [False, True, False, False],
    "llm": [False, None, False, True],
    "http": [False, None, False, True],
    "github-get-issue": [False, None, False, True],
    "github-add-comment": [False, None, False, True],
    "git-push": [False, True, False, True],
    "git-status": [True, False, True, False],
    "git-commit": [False, True, True, False],
    "copy-file": [False, True, True, False],
    "delete-file": [False, True, False, False],
    "claude-code": [False, True, False, True],
    "ask": [True, False, True, False],
    "rate": [True, False, True, False],
    "count": [False, True, False, False],
    "pflow_run": [False, True, False, True],
    "pflow_plan": [True, False, False, True],
}


def test_effects_are_annotations(tools):
    for name, hints in HINTS.items():
        told = tools[name].annotations
        assert [told.read_only_hint, told.destructive_hint, told.idempotent_hint, told.open_world_hint] == hints, name


def test_read_only_offers_what_changes_nothing(home):
    tools = listed(home, "--read-only")
    harmless = {
        name for name in names_in("nodes") if set(declared_interface(load_bundled(name)).effects) <= {"reads files"}
    }
    assert harmless > {"list-files", "read-file"}
    assert {*OWN, *harmless, "look", "rate"} - {"pflow_plan"} == tools.keys()  # that asks a model
    assert all(tool.annotations.read_only_hint for tool in tools.values())


def test_unasked_it_offers_what_only_reads_and_saved_flows(home, tools):
    offered = listed(home, "--root=.")
    others = {name for name, tool in tools.items() if not tool.annotations.read_only_hint and name not in OWN}
    assert {"shell", "delete-file"} <= others - offered.keys() <= {*names_in("nodes"), "flow_llm"}
    assert offered.keys() >= tools.keys() - others
    assert "nap" in offered  # a saved flow that runs a command


def test_names_offer_these_alone(home):
    assert listed(home, "count", "read-file", "pflow_trace").keys() == {"count", "read-file", "pflow_trace"}


def test_what_cannot_be_a_tool_is_left_out_and_said(home, tools):
    assert not {"loose", "loose-flow", "gone", "broken", *HOSTILE} & tools.keys()
    assert tools["closed"].annotations.destructive_hint
    assert set(tools["closed"].output_schema["properties"]) == {"y"}
    said = home.said()
    assert "'loose' is not offered: it declares no interface" in said
    assert "'flow:loose-flow' is not offered: it has steps without an interface, and does not declare" in said
    assert "'flow:gone' is not offered: there is no node 'no-such-node'" in said
    assert "'flow:broken' is not offered: cannot read" in said
    assert "'flow:zoë' is not offered: a tool's name has letters, digits, - and _" in said
    assert "Traceback" not in said
    assert "\x1b" not in said


def test_whatever_a_flow_is_called_its_tool_has_a_good_name_of_its_own(tools):
    assert all(validate_tool_name(name).is_valid and len(name) <= 64 for name in tools)
    assert {"flow_--help", "--help"} & tools.keys()
    assert tools["flow_llm"].title == "llm"
    assert tools["flow_pflow_run"].title == "pflow_run"
    assert tools["pflow_run"].title != "pflow_run"
    texts = "".join(f"{tool.title}{tool.description}" for tool in tools.values())
    assert all(char.isprintable() for char in texts if char != "\n")


def test_a_client_hears_of_a_flow_that_was_saved_or_removed(tmp_path):
    home, changes = furnished(tmp_path), []

    async def hear(message):
        if isinstance(message, types.ToolListChangedNotification):
            changes.append(message)

    async def names(client):
        return {tool.name for tool in (await client.list_tools()).tools}

    async def whole():
        with anyio.fail_after(PATIENCE):
            async with (
                stdio_client(home.server()) as (read, write),
                ClientSession(read, write, message_handler=hear) as client,
            ):
                started = await client.initialize()
                assert started.capabilities.tools.list_changed
                assert "new" not in await names(client)
                home.save("new", COUNT)
                ran = await client.call_tool("pflow_run", {"name": "new", "inputs": {"file": "three.txt"}})
                assert not ran.is_error  # the server has seen it, and the client no list
                await until(lambda: len(changes) == 1)
                assert "new" in await names(client)
                (home.flows / "new.pflow.json").unlink()
                assert "new" not in await names(client)

    anyio.run(whole)


def test_the_list_tells_what_each_is_for_and_touches(home):
    tools = {each["name"]: each for each in call(home, "pflow_list", {}).structured_content["tools"]}
    assert tools["flow:count"] == {
        "name": "flow:count",
        "tool": "count",
        "kind": "flow",
        "summary": "Count the words of a file.",
        "effects": ["reads files", "runs commands"],
        "read_only": False,
    }
    assert {"flow:nap", *names_in("nodes")} <= tools.keys()
    nearest = call(home, "pflow_list", {"search": "ask a model"}).structured_content["tools"][0]
    assert nearest["name"] == "llm"


def test_a_description_has_the_schema_and_of_a_flow_its_steps(home, tools):
    about = call(home, "pflow_describe", {"name": "count"}).structured_content
    assert about["input_schema"] == tools["count"].input_schema
    assert about["ir"]["nodes"] == COUNT["nodes"]
    assert "shell:count --command='wc -w'" in about["pipe"]
    assert str(home.place) not in json.dumps(about)


CHECKED = [
    ("read-file --path=a.txt => llm --prompt='Sum up'", True, ""),
    (COUNT, True, ""),
    (json.dumps(COUNT), True, ""),
    ("flow:count --file=a.txt => llm --prompt=x", True, ""),
    ("flow:outer --file=three.txt => llm --prompt=x", True, ""),
    ("red-file --path=a.txt => llm --prompt='Sum up'", False, "did you mean read-file?"),
    ("{", False, "cannot read"),
    ({"nodes": [{"type": "llm", "params": {"hot": 1}}]}, False, "PF13"),
    ({"nodes": [{"type": "secret.pflow.json"}]}, False, "PF11"),
    ({"nodes": [{"type": "./secret.pflow.json"}]}, False, "PF11"),
    ({"nodes": [{"name": "/etc/passwd"}]}, False, "PF11"),
    ("read-file --path=a => ./secret.pflow.json", False, "PF11"),
    ("./secret.pflow.json => read-file --path=a", False, "PF"),
    ("pflow run ./secret.pflow.json | pflow-llm --prompt=x", False, "PF"),
    ("[[" * 100_000, False, "nested"),
]


def test_a_flow_is_checked_and_no_file_that_it_names_is_opened(home):
    secret = json.dumps({"pflow": 1, "inputs": {"hidden-word": {"type": "int"}}, "nodes": NAP["nodes"]})
    (home.place / "secret.pflow.json").write_text(secret)
    home.save("outer", {"pflow": 1, "nodes": [{"id": "in", "type": "./count.pflow.json"}]})
    results = call_all(home, *(("pflow_check", {"flow": flow}) for flow, _, _ in CHECKED))
    for result, (flow, is_ok, said) in zip(results, CHECKED, strict=True):
        assert not result.is_error, words(result)
        assert result.structured_content["ok"] == is_ok, (flow, words(result))
        assert said in words(result), (flow, words(result))
        assert "hidden" not in words(result)
        assert "root" not in words(result)
    assert not home.nappers()


@pytest.mark.parametrize("name", ["three.txt", "gone.txt"])
def test_no_flag_takes_its_value_from_a_file(home, name):
    for tool, argument in (("pflow_check", "flow"), ("pflow_plan", "sentence")):
        result = call(home, tool, {argument: f"llm --prompt@{name} => write-file o"})
        assert result.is_error
        assert "cannot take --prompt@FILE: no file may be opened here" in words(result)


def test_a_file_that_is_there_is_a_plans_word_like_any_other(home):
    there, gone = (words(call(home, "pflow_plan", {"sentence": name})) for name in ("three.txt", "seven.txt"))
    assert there.replace("three", "seven") == gone


def test_pipe_syntax_is_planned_without_a_model_and_not_run(home):
    result = call(home, "pflow_plan", {"sentence": "shell --command='touch made' => write-file --path=b.txt"})
    assert [step["type"] for step in result.structured_content["ir"]["nodes"]] == ["shell", "write-file"]
    assert "write-file --path=b.txt" in result.structured_content["pipe"]
    assert not (home.place / "made").exists()


def test_a_sentence_is_planned_by_the_model_and_not_run(home):
    (home.place / "server").mkdir()
    (home.place / "a.txt").write_text("a")
    with OpenAIServer(home.place / "server") as server:
        about = {"LLM_USER_PATH": str(server.llm_user_path), "PFLOW_MODEL": "planner", "NO_PROXY": "127.0.0.1"}
        result = call(home, "pflow_plan", {"sentence": "copy a.txt to b.txt"}, **about)
    assert not result.is_error, words(result)
    assert [step["type"] for step in result.structured_content["ir"]["nodes"]] == ["read-file", "write-file"]
    assert not (home.place / "b.txt").exists()


def test_a_sentence_without_a_capable_model_is_said(home):
    result = call(home, "pflow_plan", {"sentence": "copy a.txt to b.txt"}, LLM_USER_PATH=str(home.place))
    assert result.is_error
    assert result.meta["pflow/error"]["exit"] == 78


def test_the_trace_of_a_run_tells_its_steps_and_no_values(home):
    (home.place / "three.txt").write_text("hush hush hush")
    made = call(home, "count", {"file": "three.txt"})
    for run in ("last", "@1", made.meta["pflow/run"]):
        result = call(home, "pflow_trace", {"run": run, "store": True})
        told = result.structured_content
        assert told["run"] == made.meta["pflow/run"]
        steps = [(step["step"], step["state"]) for step in told["execution_trace"]]
        assert steps == [("read", "done"), ("count", "done")]
        assert told["store"]["count"]["type"] == "dict"
        assert "hush" not in words(result)
        assert "three.txt" not in words(result)


DECLARED = {
    "a": {"type": "int"},
    "b": {"type": "x|y", "default": "x"},
    "c": {"type": "list[str]", "required": False},
    "folder": {},
    "host": {"type": "str", "default": "example.org"},
    "unread": {"type": "float", "default": 1},
}
USES = """{"id": "t", "type": "template", "inputs": {"template": "$a $b $c"}},
    {"id": "w", "type": "write-file", "inputs": {"path": "${folder}/o"}},
    {"id": "h", "type": "http", "inputs": {"url": "$host/x"}}"""
BARE = '{"id": "l", "type": "list-files"}, {"id": "s", "type": "shell", "inputs": {"command": "wc"}}'


@pytest.mark.parametrize(("nodes", "inputs"), [(USES, DECLARED), (BARE, {})])
def test_explain_nodes_help_and_a_client_are_told_the_same_inputs(tmp_path, nodes, inputs):
    file = tmp_path / "it.pflow.json"
    file.write_text(json.dumps({"inputs": inputs, "nodes": json.loads(f"[{nodes}]")}))
    kind = FlowCatalog().find(str(file))
    told = {each["name"]: (each["type"], each["required"], each.get("default")) for each in needs(kind.flow)}
    in_list = entry(kind)["reads"].items()
    assert {name: (each["type"], each["required"], each.get("default")) for name, each in in_list} == told
    in_help = [flag for flag in spec_of_run(kind.flow).flags if flag.name in told]
    assert {flag.name: (str(flag.type), flag.required, flag.default) for flag in in_help if not flag.required} == {
        name: about for name, about in told.items() if not about[1]
    }
    kind.name = "it"  # a path is no name of a tool
    schema = OfferedTool(kind, ()).tool.input_schema
    for name, (_, is_required, default) in told.items():
        assert (name in schema.get("required", ()), schema["properties"][name].get("default")) == (is_required, default)
    if not inputs:
        assert [told[name] for name in ("directory", "args")] == [("path", False, "."), ("list[str]", False, [])]
