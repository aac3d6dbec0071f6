"""Which tools there are, and what a client is told of each."""

import anyio
import mcp_types as types
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.tool_name_validation import validate_tool_name

from pflow.catalog.registry import bundled_names
from tests.mcp.talking import BIN, COUNT, PATIENCE, furnished, listed, one_step, until

OWN = ["pflow_list", "pflow_describe", "pflow_check", "pflow_plan", "pflow_run", "pflow_trace"]

RATE = '''
from pflow import Node, flow_safe


@flow_safe
class Rate(Node):
    """Rate a text.

    Interface:
    - Reads: shared["text"]: str [pipe]  # the text
    - Reads: shared["tags"]: list[str] = []  # what it is about
    - Reads: shared["token"]: str = "" [secret]  # who asks
    - Writes: shared["rating"]: dict{stars: int, why: str} [pipe]  # how good it is
    - Writes: shared["key"]: str [secret]  # not to be seen
    - Params: scale: low|high = "low"  # how strict
    """
'''
LOOSE = "import pocketflow\n\nclass Loose(pocketflow.Node):\n    '''Loose.'''\n"
HOSTILE = [";rm -rf ~", "$(touch x)", "a\nb", "\x1b[31mred", "zoë", "--help", "..", "x" * 150, "a.b", "a b", "llm"]


@pytest.fixture(scope="module")
def home(shared_home):
    (shared_home.nodes / "rate.py").write_text(RATE)
    (shared_home.nodes / "loose.py").write_text(LOOSE)
    shared_home.save("look", one_step("read-file"))
    shared_home.save("loose-flow", one_step("loose"))
    shared_home.save("gone", one_step("no-such-node"))
    shared_home.save("broken", "{")
    shared_home.save("closed", {**one_step("loose"), "inputs": {"x": {"type": "int"}}})
    for name in (*HOSTILE, "pflow_run"):
        shared_home.save(name, {**COUNT, "description": f"\x1b]0;{name}\x07 and more"})
    return shared_home


@pytest.fixture(scope="module")
def tools(home):
    return listed(home)


def test_nodes_and_saved_flows_are_tools_beside_pflows_own(tools):
    assert {*OWN, *bundled_names(), "count", "nap", "rate"} <= tools.keys()


def test_an_interface_is_a_schema_without_its_secrets(tools):
    tool = tools["rate"]
    assert tool.description == "Rate a text."
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
    assert set(tool.input_schema["properties"]) == {"file", "read.encoding", "count.check"}
    assert set(tool.output_schema["properties"]) == {"words"}


def test_effects_are_annotations(tools):
    hints = {
        name: [each.read_only_hint, each.destructive_hint, each.idempotent_hint, each.open_world_hint]
        for name, each in ((name, tool.annotations) for name, tool in tools.items())
    }
    assert hints["read-file"] == [True, False, False, False]
    assert hints["write-file"] == [False, True, False, False]
    assert hints["llm"] == [False, None, False, True]
    assert hints["rate"] == [True, False, True, False]
    assert hints["count"] == [False, True, False, False]
    assert hints["pflow_run"] == [False, True, False, True]
    assert hints["pflow_plan"] == [True, False, False, True]


def test_read_only_offers_what_changes_nothing(home):
    tools = listed(home, "--read-only")
    assert {*OWN, "list-files", "read-file", "look", "rate"} - {"pflow_plan"} == tools.keys()  # that asks a model
    assert all(tool.annotations.read_only_hint for tool in tools.values())


def test_names_offer_these_alone(home):
    assert listed(home, "count", "read-file", "pflow_trace").keys() == {"count", "read-file", "pflow_trace"}


def test_what_has_no_interface_is_left_out_and_said(home, tools):
    assert not {"loose", "loose-flow", "gone", "broken"} & tools.keys()
    assert tools["closed"].annotations.destructive_hint
    assert tools["closed"].output_schema is None
    said = (home.place / "said").read_text()
    assert "'loose' is not offered: it declares no interface" in said
    assert "'flow:loose-flow' is not offered: it has steps without an interface, and no inputs of its own" in said
    assert "'flow:gone' is not offered: there is no node 'no-such-node'" in said
    assert "'flow:broken' is not offered: cannot read" in said
    assert "is not offered: its name has white space or characters that cannot be printed" in said
    assert "Traceback" not in said
    assert "\x1b" not in said


def test_whatever_a_flow_is_called_its_tool_has_a_good_name_of_its_own(tools):
    assert all(validate_tool_name(name).is_valid and len(name) <= 64 for name in tools)
    assert {tool.title for tool in tools.values()} >= {"zoë", "--help", "x" * 150, "a.b"}
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
        server = StdioServerParameters(
            command=str(BIN / "pflow"), args=["mcp", "serve"], env=home.environment(), cwd=str(home.place)
        )
        with anyio.fail_after(PATIENCE):
            async with (
                stdio_client(server) as (read, write),
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
