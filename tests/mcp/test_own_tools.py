"""The tools that are always there: what they tell, and what they never do."""

import json

import pytest

from pflow.mcp.own_tools import CHECK, PLAN
from tests.mcp.talking import COUNT, NAP, call, listed, talk
from tests.peers.openai_server import OpenAIServer


@pytest.fixture
def home(shared_home):
    return shared_home


def words(result):
    return "\n".join(each.text for each in result.content)


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
    assert tools.keys() == {"flow:count", "flow:nap", "list-files", "llm", "read-file", "shell", "write-file"}


def test_a_description_has_the_schema_and_of_a_flow_its_steps(home):
    about = call(home, "pflow_describe", {"name": "count"}).structured_content
    assert about["input_schema"] == listed(home)["count"].input_schema
    assert about["ir"]["nodes"] == COUNT["nodes"]
    assert "shell:count --command='wc -w'" in about["pipe"]
    assert str(home.place) not in json.dumps(about)


CHECKED = [
    ("read-file --path=a.txt => llm --prompt='Sum up'", True, ""),
    (COUNT, True, ""),
    (json.dumps(COUNT), True, ""),
    ("flow:count --file=a.txt => llm --prompt=x", True, ""),
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

    async def work(client):
        return [await client.call_tool(CHECK, {"flow": flow}) for flow, _, _ in CHECKED]

    for result, (flow, is_ok, said) in zip(talk(home, work), CHECKED, strict=True):
        assert not result.is_error, words(result)
        assert result.structured_content["ok"] == is_ok, (flow, words(result))
        assert said in words(result), (flow, words(result))
        assert "hidden" not in words(result)
        assert "root" not in words(result)
    assert not home.nappers()


def test_a_saved_flow_may_hold_the_file_of_another(home):
    home.save("outer", {"pflow": 1, "nodes": [{"id": "in", "type": "./count.pflow.json"}]})
    result = call(home, CHECK, {"flow": "flow:outer --file=three.txt => llm --prompt=x"})
    (home.flows / "outer.pflow.json").unlink()
    assert result.structured_content["ok"], words(result)


def test_pipe_syntax_is_planned_without_a_model_and_not_run(home):
    result = call(home, PLAN, {"sentence": "shell --command='touch made' => write-file --path=b.txt"})
    assert [step["type"] for step in result.structured_content["ir"]["nodes"]] == ["shell", "write-file"]
    assert "write-file --path=b.txt" in result.structured_content["pipe"]
    assert not (home.place / "made").exists()


def test_a_sentence_is_planned_by_the_model_and_not_run(home):
    (home.place / "server").mkdir()
    (home.place / "a.txt").write_text("a")
    with OpenAIServer(home.place / "server") as server:
        about = {"LLM_USER_PATH": str(server.llm_user_path), "PFLOW_MODEL": "planner", "NO_PROXY": "127.0.0.1"}
        result = call(home, PLAN, {"sentence": "copy a.txt to b.txt"}, **about)
    assert not result.is_error, words(result)
    assert [step["type"] for step in result.structured_content["ir"]["nodes"]] == ["read-file", "write-file"]
    assert not (home.place / "b.txt").exists()


def test_a_sentence_without_a_capable_model_is_said(home):
    result = call(home, PLAN, {"sentence": "copy a.txt to b.txt"}, LLM_USER_PATH=str(home.place))
    assert result.is_error
    assert result.meta["pflow/error"]["exit"] == 78


@pytest.mark.parametrize("run", ["last", "@1", None])
def test_the_trace_of_a_run_tells_its_steps_and_no_values(home, run):
    (home.place / "three.txt").write_text("hush hush hush")

    async def work(client):
        made = await client.call_tool("count", {"file": "three.txt"})
        word = made.meta["pflow/run"] if run is None else run
        return made, await client.call_tool("pflow_trace", {"run": word, "store": True})

    made, traced = talk(home, work)
    told = traced.structured_content
    assert told["run"] == made.meta["pflow/run"]
    assert [(step["step"], step["state"]) for step in told["execution_trace"]] == [("read", "done"), ("count", "done")]
    assert told["store"]["count"]["type"] == "dict"
    assert "hush" not in words(traced)
    assert "three.txt" not in words(traced)


def test_a_run_that_is_none_is_said(home):
    result = call(home, "pflow_trace", {"run": "../../etc"})
    assert result.is_error
    assert "cannot find the run '../../etc'" in words(result)
