"""Calls of nodes and saved flows: what goes in is data, what comes out is what is declared."""

import json
import os

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from tests.mcp.server.talking import NAP, call, call_all, furnished, one_step, talk, until, words


@pytest.fixture
def home(shared_home):
    return shared_home


def test_a_flow_gives_its_outputs_as_an_object_and_as_its_text(home):
    result = call(home, "count", {"file": "three.txt"})
    assert not result.is_error
    assert result.structured_content == {"words": "3\n"} == json.loads(words(result))
    assert result.meta["pflow/run"]


LIKE_SYNTAX = [
    "$x",
    "${x}",
    "$$",
    "--help",
    "-r",
    "@three.txt",
    "a => b",
    "`id`",
    "$(id)",
    "007",
    "[1",
    "ü\u2028\x1b",
    "",
]


def test_what_looks_like_a_template_a_flag_or_a_file_is_a_value(home):
    given = {"command": 'printf "%s|" "$@"; cat', "args": LIKE_SYNTAX, "input": "$stdin ${x}"}
    result = call(home, "shell", given)
    assert result.structured_content["stdout"] == "".join(f"{each}|" for each in LIKE_SYNTAX) + "$stdin ${x}"


ECHO = "shared['got'] = {name: repr(value) for name, value in self.params.items()}"


def test_so_it_is_in_a_param_of_a_node_and_in_an_input_of_one_step_of_a_flow(home):
    given = {f"say_{number}": value for number, value in enumerate(LIKE_SYNTAX)}
    home.node("echo", 'Writes: shared["got"]: any', *(f'Params: {name}: str = ""' for name in given), post=ECHO)
    home.save("echoing", one_step("echo"))
    home.save("any-command", one_step("shell"))
    node, flow, shell = call_all(
        home,
        ("echo", given),
        ("echoing", {f"only.{name}": value for name, value in given.items()}),
        ("any-command", {"command": "cat <<'end'\n$x ${x} @three.txt\nend"}),
    )
    understood = {name: repr(value) for name, value in given.items()}
    assert node.structured_content["got"] == flow.structured_content["got"] == understood
    assert shell.structured_content["stdout"] == "$x ${x} @three.txt\n"


def test_the_warning_of_an_answer_is_in_the_result_of_a_node_and_of_a_flow(home):
    post = "self.warning, shared['got'] = 'the answer stops', 1"
    home.node("cut", 'Writes: shared["got"]: int', post=post)
    home.save("cutting", one_step("cut"))
    batch = {"over": "list.stdout"}
    steps = [{"id": "list", "type": "shell", "inputs": {"command": "echo '[1, 2]'"}}]
    home.save("cutting-all", {"pflow": 1, "nodes": [*steps, {"id": "each", "type": "cut", "batch": batch}]})
    node, flow, all_flow = call_all(home, ("cut", {}), ("cutting", {}), ("cutting-all", {}))
    assert all_flow.structured_content["warning"] == "each: the answer stops"
    assert node.structured_content == {"got": 1, "warning": "the answer stops"}
    assert flow.structured_content == {"got": 1, "warning": "only: the answer stops"}


PARAMS = [
    ("bytes = null", {"$bytes": "//4="}, b"\xff\xfe"),
    ("int = 0", 7.0, 7),
    ("float = 0", 7, 7.0),
    ("bool = true", False, False),
    ("list = []", ["$x", "--y"], ["$x", "--y"]),
    ("dict = null", {"$x": None}, {"$x": None}),
]


def test_a_param_gets_a_value_of_its_type(home):
    params = [f"Params: p{number}: {type}" for number, (type, _, _) in enumerate(PARAMS)]
    home.node("typed", 'Writes: shared["got"]: any', *params, post=ECHO)
    result = call(home, "typed", {f"p{number}": value for number, (_, value, _) in enumerate(PARAMS)})
    got = {f"p{number}": repr(value) for number, (_, _, value) in enumerate(PARAMS)}
    assert result.structured_content["got"] == got
    assert "holds a NUL" in words(call(home, "typed", {"p0": {"$bytes": "AA=="}}))


def test_types_are_kept_on_the_way_in_and_out(home):
    given = {"text": "ü🎉", "none": None, "list": [1, 2.5, True, {"a": None}], "bytes": {"$bytes": "//4="}}
    inputs, outputs = {name: {"type": "any"} for name in given}, {f"{name}_out": name for name in given}
    home.save("same", {**one_step("list-files", pattern="*"), "inputs": inputs, "outputs": outputs})
    result = call(home, "same", given).structured_content
    assert result == {f"{name}_out": value for name, value in given.items()}


WRONG = [
    ("count", {}, "cannot find 'file' (the file) for read-file: nothing gives it"),
    ("pflow_run", {"name": "count", "inputs": {}}, "cannot find 'file' (the file) for read-file: nothing gives it"),
    ("count", {"file": 3}, "cannot take 'file': it is an int, not path"),
    ("count", {"file": "x", "count.command": "id"}, "'count.command' was unexpected"),
    ("count", {"file": "x", "$pflow": {"v": 2}}, "'$pflow' was unexpected"),
    ("pflow_run", {"name": "count", "inputs": {"file": 3}}, "cannot take 'file': it is an int, not path"),
    ("staged", {"env": "foo"}, "cannot take env='foo': it is not one of staging, production"),
    ("pflow_run", {}, "'name' is a required property"),
    ("pflow_list", {"search": "x " * 10_000}, "is too long"),
    ("pflow_check", {"flow": {"nodes": ["x" * 2_000_000]}}, "it is longer than 1,048,576 bytes"),
    ("pflow_trace", {"run": "../../etc"}, "cannot find the run '../../etc'"),
    ("shell", {"command": "x", "input": 1 << 70}, "does not fit in 64 bits"),
    ("shell", {"command": "x", "input": {"$bytes": "?"}}, "does not hold base64"),
    ("read-file", {"path": "x" * 1_000_000}, "file name too long"),
]


def test_arguments_that_do_not_fit_are_said(home):
    home.save("staged", {**one_step("template", template="$env"), "inputs": {"env": {"type": "staging|production"}}})
    results = call_all(home, *((tool, arguments) for tool, arguments, _ in WRONG))
    for result, (tool, arguments, said) in zip(results, WRONG, strict=True):
        assert result.is_error, (tool, arguments)
        assert said in words(result), (tool, arguments)
        assert len(words(result)) < 10_000


def test_a_failure_is_a_result_with_the_words_the_code_and_the_step(home):
    home.save("murder", one_step("shell", command="kill -9 $PPID"))
    missing, killed = call_all(home, ("count", {"file": "gone.txt"}), ("murder", {}))
    assert missing.is_error
    assert "pflow run: read (read-file): cannot read 'gone.txt': no such file" in words(missing)
    assert words(missing).endswith("exit 66, step 'read' (read-file)")
    assert missing.meta["pflow/error"]["exit"] == 66
    assert "cannot read 'gone.txt'" in home.said()
    assert (killed.is_error, killed.meta["pflow/error"]["exit"]) == (True, 137)


SINKS = {"save-csv": {"rows": [{"a": 1}]}, "save-results": {"results": "x"}, "export-dashboard": {"report": "x"}}


def test_the_files_of_nodes_and_flows_are_held_below_the_root(tmp_path):
    home = furnished(tmp_path / "home")
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "in.txt").write_text("one two three\n")
    (root / "in.gguf").touch()
    (root / "sub" / "a.txt").touch()
    (tmp_path / "secret.txt").write_text("secret")
    (root / "link").symlink_to(tmp_path)
    for link in ("file", "results.json"):
        (root / link).symlink_to(tmp_path / "secret.txt")
    home.node("log", 'Writes: shared["got"]: str', "Params: log: path = null", "Effects: writes files")
    home.save("outer", {**one_step("flow:count"), "inputs": {"file": {"type": "path"}}})
    home.save("fixed", one_step("read-file", path="/etc/hostname"))
    home.save("chosen", one_step("write-file", path="$to/x", content="x"))
    secret = str(tmp_path / "secret.txt")
    held = [
        *(("read-file", {"path": path}) for path in (secret, "../secret.txt", "link/secret.txt", "file", "/dev/fd/0")),
        *(("write-file", {"path": path, "content": "x"}) for path in ("../new.txt", "link/new.txt", "file")),
        *(("list-files", {"pattern": pattern}) for pattern in ("/etc/*", "../*", "link/*")),
        ("list-files", {"pattern": "*", "directory": ".."}),
        *((flow, {"file": path}) for flow in ("count", "outer") for path in (secret, "file")),
        ("fixed", {}),
        ("chosen", {"to": "link"}),
        ("log", {"log": "../log"}),
        ("llm", {"prompt": "x", "schema": secret, "model": "in.gguf"}),
        ("llm", {"prompt": "x", "model": "../x.gguf"}),
        *((node, {"path": "../secret.txt"}) for node in ("load-csv", "load-json", "load-jsonl", "delete-file")),
        *((node, {"path": "file", "destination": "new.txt"}) for node in ("copy-file", "move-file")),
        *((node, {"path": "in.txt", "destination": "link/"}) for node in ("copy-file", "move-file")),
        *((node, {"path": "results.json", **data}) for node, data in SINKS.items()),
        ("save-results", {"results": "x"}),
        *((f"git-{act}", {"repo": ".."}) for act in ("status", "log", "diff", "push")),
        ("git-commit", {"message": "x", "paths": ["../secret.txt"]}),
        ("claude-code", {"prompt": "x", "directory": ".."}),
    ]

    async def work(client):
        good = [
            await client.call_tool(*each) for each in (("read-file", {"path": "in.txt"}), ("count", {"file": "in.txt"}))
        ]
        listing = await client.call_tool("list-files", {"pattern": "*/*.txt"})
        assert listing.structured_content == {"files": ["sub/a.txt"]}
        return good, [await client.call_tool(tool, arguments) for tool, arguments in held]

    good, refused = talk(home, work, "--all", "--root", str(root))
    assert [each.structured_content for each in good] == [{"content": "one two three\n"}, {"words": "3\n"}]
    for result, (tool, arguments) in zip(refused, held, strict=True):
        assert result.is_error, (tool, arguments)
        assert result.meta["pflow/error"]["exit"] == 77, (tool, arguments, words(result))
        assert "is not below" in words(result)
    assert sorted(os.listdir(tmp_path)) == ["home", "root", "secret.txt"]
    assert (tmp_path / "secret.txt").read_text() == "secret"


def test_no_client_writes_what_is_run(tmp_path):
    home = furnished(tmp_path)
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "link").symlink_to(".git")
    places = [".git/config", "link/hooks/pre-commit", "sub/.GIT/config", "sub/.git"]
    places += [".local/share/pflow/flows/new.pflow.json", ".local/share/pflow/nodes/new.py"]
    results = call_all(home, *(("write-file", {"path": place, "content": "x"}) for place in places))
    for result, place in zip(results, places, strict=True):
        assert result.meta["pflow/error"]["exit"] == 77, place
        assert words(result).partition(": ")[2].startswith(f"cannot use '{place}': "), words(result)
    assert not [place for place in places if (tmp_path / place).exists()]


VARIABLES = [
    ("http", {"url": "http://127.0.0.1:9", "header": ["X: env:HOME"]}, 77),
    ("web", {"only.header": ["Authorization: Bearer env:HOME"]}, 77),
    ("yt-transcript", {"url": "jNQXAC9IVRw", "proxy": "env:HOME"}, 77),
    ("web", {}, 69),  # what was saved is read, and nobody is there
    ("http", {"url": "http://127.0.0.1:9", "method": "POST", "body": "env:HOME", "header": ["X: y"]}, 69),
    ("ask", {"question": "Who?"}, 66),  # there is no terminal, and what the client says is no answer
]


def test_a_client_cannot_have_a_variable_of_the_environment_sent(home):
    flow = one_step("http", url="http://127.0.0.1:9")
    flow["nodes"][0]["params"] = {"header": ["Authorization: Bearer env:HOME"]}
    home.save("web", flow)
    results = call_all(home, *((tool, arguments) for tool, arguments, _ in VARIABLES))
    for result, (tool, arguments, code) in zip(results, VARIABLES, strict=True):
        assert result.meta["pflow/error"]["exit"] == code, (tool, arguments, words(result))
        assert ("names a variable of the environment" in words(result)) == (code == 77)


def test_an_unknown_tool_is_an_error_of_the_protocol(home):
    with pytest.raises(MCPError, match="Unknown tool: gone"):
        call(home, "gone", {})


FLOW_TEXTS = ["read-file --path=a => shell --command=id", "three.txt", "./flow.pflow.json", '{"nodes": []}', "flow:"]


def test_only_what_was_saved_is_run(home):
    (home.place / "flow.pflow.json").write_text(json.dumps(NAP))
    for result in call_all(home, *(("pflow_run", {"name": text}) for text in FLOW_TEXTS)):
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


def test_two_calls_run_at_the_same_time(home):
    """Each waits for what the other does."""
    for own, other in (("ping", "pong"), ("pong", "ping")):
        command = f"touch {own}; until test -e {other}; do sleep 0.02; done; echo {own}"
        home.save(own, one_step("shell", command=command))
    results = {}

    async def work(client):
        async def one(name):
            results[name] = (await client.call_tool(name, {})).structured_content["stdout"]

        async with anyio.create_task_group() as both:
            both.start_soon(one, "ping")
            both.start_soon(one, "pong")

    talk(home, work)
    assert results == {"ping": "ping\n", "pong": "pong\n"}


LONG = [
    ("head -c 3000000 /dev/zero | tr '\\0' x", "… (2,900,000 more characters)"),
    ("seq 300000", "more characters)"),
    ("head -c 900000 /dev/zero", "more characters)"),
]


@pytest.mark.parametrize(("command", "end"), LONG)
def test_what_is_too_long_is_cut_and_says_so(home, command, end):
    result = call(home, "shell", {"command": command})
    assert result.structured_content["stdout"].endswith(end)
    assert result.structured_content["exit_code"] == 0
    assert "were cut" in words(result)
    assert result.meta["pflow/cut"]


def test_what_is_too_long_to_hold_is_an_error_and_the_child_is_ended(home):
    result = call(home, "shell", {"command": "echo $$ >>nap.pid; yes | head -c 70000000"})
    assert result.meta["pflow/error"]["exit"] == 73
    assert "cannot take its output: it is longer than 67,108,864 bytes" in words(result)
    assert not home.napping()


def test_what_a_node_prints_is_not_in_the_protocol(home):
    post = "print('\\x1b[31mprinted'); os.system('echo from below'); shared['x'] = 1"
    home.node("loud", 'Writes: shared["x"]: int', post=post, before="import os")
    home.save("louder", one_step("loud"))
    for result in call_all(home, ("loud", {}), ("louder", {})):
        assert result.structured_content == {"x": 1}
    assert "\\x1b[31mprinted" in home.said()
    assert "\x1b" not in home.said()


def test_what_breaks_its_promise_is_said(home):
    home.node("liar", 'Writes: shared["number"]: int', post="shared['number'] = 'seven'")
    result = call(home, "liar", {})
    assert result.is_error
    assert "number" in words(result)


def test_a_result_that_no_client_could_read_is_an_error(home):
    deep = "shared['got'] = functools.reduce(lambda inner, _: [inner], range(self.params['levels'] - 1), [])"
    home.node("deep", 'Writes: shared["got"]: any', "Params: levels: int = 1", post=deep, before="import functools\n")
    good, *bad = call_all(home, *(("deep", {"levels": levels}) for levels in (100, 180, 400)))
    assert str(good.structured_content["got"]).count("[") == 100
    assert [(each.is_error, each.meta["pflow/error"]["exit"]) for each in bad] == [(True, 65)] * 2


def keeping(place, **more):
    return {**one_step("mint"), "mappings": {"only": {"output_mappings": {"key": place}}}, **more}


SECRETIVE = {
    "mint": (None, {"size": 9}),
    "mint-bare": (one_step("mint"), {"size": 9}),
    "mint-told": (keeping("a.key", outputs={"k": "a.key", "all": "a", "size": "size"}), {"size": 9}),
    "mint-inner": (one_step("flow:mint-bare"), {"size": 9}),
    "mint-outer": ({**one_step("flow:mint-told"), "outputs": {"x": "k", "n": "size"}}, {"n": 9}),
}


def test_a_secret_that_a_step_of_a_flow_writes_is_not_for_clients(home):
    writes = ('Writes: shared["key"]: str [secret]', 'Writes: shared["size"]: int [pipe]')
    home.node("mint", *writes, post="shared['key'], shared['size'] = 'hush-hush', 9")
    for name, (flow, _) in SECRETIVE.items():
        if flow:
            home.save(name, flow)
    results = call_all(home, *((name, {}) for name in SECRETIVE))
    for result, (name, (_, gives)) in zip(results, SECRETIVE.items(), strict=True):
        assert (name, result.structured_content) == (name, gives)
        assert "hush" not in words(result)


def test_a_secret_in_a_failure_is_not_for_clients(home):
    home.node(
        "fail", 'Params: token: str = "" [secret] [env FAIL_TOKEN]', post="raise ValueError(self.params['token'])"
    )
    home.save("failing", one_step("fail"))

    async def work(client):
        return [await client.call_tool(tool, {}) for tool in ("fail", "failing")]

    for result in talk(home, work, FAIL_TOKEN="hush-hush"):
        assert "cannot run fail: ValueError: ***" in words(result)
        assert "hush" not in str(result)
    assert "hush" not in home.said()
