"""What a pack declares is read without running it. Names that clash and effects that an update adds are reported."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from pflow.catalog.find import forget_types
from pflow.packs.account import declare, differences, names_of, shadows, widened
from tests.tools import limited, put_pack

NODE = '''
import helper, os
open("it-was-run", "w")
class Send(Node):
    """Send a \\x1b[31mtext.

    Interface:
    - Reads: shared["text"]: str [pipe]
    - Writes: shared["answer"]: dict{id: int} [pipe]
    - Params: token: str [secret] [env SEND_TOKEN]
    - Params: place: str = "" [env SEND_PLACE]
    - Effects: network
    """
    key = os.environ["AWS_KEY"]
'''
HELPER = 'class Client:\n    url = "https://api.x.org/"\n'
PROGRAM = """#!/bin/sh
# Sort.
#
# Interface:
# - Reads: shared["text"]: str [pipe]
# - Effects: runs commands
# - Version: 2.1
"""
FLOW = {"nodes": [{"id": "a", "type": "Send"}, {"id": "b", "type": "shell", "params": {"command": "git log | wc"}}]}


def put(folder: Path, files: dict[str, str | bytes]) -> dict[str, dict]:
    """Write the files of a pack, and return them as they would be pinned."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text if isinstance(text, bytes) else text.encode())
        (folder / path).chmod(0o755)
    declared = declare(str(folder), files)
    return {
        path: {"digest": str(text)} | ({"declares": declared[path]} if path in declared else {})
        for path, text in files.items()
    }


@pytest.fixture
def data(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PFLOW_NODES", str(tmp_path / "own"))
    monkeypatch.chdir(tmp_path)
    forget_types()
    yield tmp_path / "data" / "pflow"
    forget_types()


def test_a_node_declares_what_its_file_says_and_names_what_its_modules_say(data):
    files = put(data, {"nodes/send.py": NODE, "nodes/helper.py": HELPER, "nodes/pflow-sort": PROGRAM + "sort\n"})
    assert [path for path in files if "declares" in files[path]] == ["nodes/send.py", "nodes/pflow-sort"]
    assert files["nodes/send.py"]["declares"] == {
        "kind": "node", "name": "send", "version": "1.0.0", "summary": "Send a \\x1b[31mtext.",
        "reads": {"text": "str"}, "writes": {"answer": "dict{id: int}"}, "effects": ["network"], "env": ["SEND_PLACE"],
        "secrets": ["SEND_TOKEN"], "withheld": ["AWS_KEY"], "commands": [], "hosts": ["api.x.org"], "open": False,
        "fault": "",
    }  # fmt: skip
    program = files["nodes/pflow-sort"]["declares"]
    assert (program["version"], program["effects"], program["commands"]) == ("2.1", ["runs commands"], ["sort"])
    assert not os.path.exists("it-was-run")


def test_a_flow_declares_what_its_steps_do_those_of_its_own_pack_first(data):
    put(data.parents[1], {"own/send.py": "class Send(Node): pass"})  # the user's own, of the same name
    outer = {"nodes": [{"type": "flow:inner"}, {"type": "sort"}]}
    files = {"nodes/send.py": NODE, "nodes/pflow-sort": "#!/bin/sh\ncurl http://y.org\n", "nodes/lib/a.py": HELPER}
    files |= {"nodes/pflow-shell": "#!/bin/sh\nwget z.org\n", "nodes/pflow-x.interface": "[env NOT_NAMED]"}
    flows = {"flows/inner.pflow.json": json.dumps(FLOW), "flows/outer.pflow.json": json.dumps(outer)}
    files = put(data, {**files, **flows})
    inner, outer = (files[path]["declares"] for path in flows)
    for each, commands, is_open in ((inner, ["git", "wc"], False), (outer, ["curl", "git", "wc"], True)):
        assert (each["effects"], each["commands"], each["fault"]) == (["runs commands", "network"], commands, "")
        assert (each["secrets"], each["withheld"], each["open"]) == (["SEND_TOKEN"], ["AWS_KEY"], is_open)
    assert (outer["hosts"], outer["steps"]) == (["api.x.org", "y.org"], ["Send", "shell", "sort"])


@pytest.mark.parametrize(
    ("path", "text", "fault"),
    [
        ("nodes/x.py", "class X(", "cannot read the node 'nodes/x.py': SyntaxError"),
        ("nodes/x.py", "class X: pass", "X does not inherit from pocketflow.Node"),
        ("nodes/pflow-x", "#!/bin/sh\n# Interface:\n# - Reads: ?\n", "cannot parse the interface at nodes/pflow-x:3"),
        ("nodes/pflow-x", "#!/no/sh\n# Interface:\n# - Repeats: yes\n", "its interpreter '/no/sh' is missing"),
        ("flows/x.pflow.json", '{"nodes": [{"type": "no-such"}]}', "PF11: there is no node 'no-such'"),
        ("flows/x.pflow.json", '{"nodes": [{"type": "../../y.pflow.json"}]}', "PF11"),
        ("flows/x.pflow.json", '{"nodes": [{"type": "flow:x"}]}', "it contains itself"),
        ("flows/x.pflow.json", "[", "cannot read the flow 'flows/x.pflow.json'"),
    ],
)
def test_what_cannot_be_used_says_why_without_the_folder(data, path, text, fault):
    (data / "y.pflow.json").parent.mkdir(parents=True, exist_ok=True)
    (data / "y.pflow.json").write_text('{"nodes": [{"type": "read-file"}]}')
    found = put(data / "staged", {path: text})[path]["declares"]["fault"]
    assert fault in found
    assert str(data) not in found


PARTS = ["class X(Node):\n", ' """\n', "Interface:\n", "- Reads: x: str\n", "- Effects: ", "\x1b[2J", "\u202e",
         "#!/bin/sh\n", '{"nodes": [{"type": "', '"}]}', "flow:x", "x", "$A ", "https://a.b ", "\0", "\udcff",
         "(" * 300, "\n"]  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(some.lists(some.sampled_from(PARTS), max_size=12))
def test_the_account_of_any_file_can_be_printed(data, parts):
    text = "".join(parts).encode("utf-8", "surrogatepass")
    files = put(data, {"nodes/x.py": text, "nodes/pflow-x": text, "flows/x.pflow.json": text})
    assert json.dumps(declare(str(data), files), ensure_ascii=False).isprintable()
    diff = differences(str(data), files, str(data), {})
    assert all(line.isprintable() for line in [*widened({}, files), *diff[0], *diff[1].splitlines()])


def test_who_has_a_name_already_is_said_with_who_comes_first(data, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    put(
        tmp_path,
        {"own/mine.py": "class Mine(Node): pass", "bin/pflow-tool": PROGRAM, "data/pflow/flows/f.pflow.json": "{}"},
    )
    put_pack(data, "other", {"nodes/pflow-theirs": PROGRAM, "flows/g.pflow.json": "{}"})
    put_pack(data, "pack", {"nodes/pflow-before": PROGRAM})
    names = ["llm-node", "get", "run", "mine", "tool", "theirs", "before", "f", "fresh"]
    files = {f"nodes/pflow-{name}": PROGRAM for name in names} | {"nodes/fresh.py": NODE}
    files |= {f"flows/{name}.pflow.json": "{}" for name in ("f", "g", "Run")}
    declared = declare(str(tmp_path / "staged"), put(tmp_path / "staged", files))
    assert shadows(declared, "pack") == {
        "llm-node": ["pflow's own node comes first"],
        "get": ["pflow's own tool comes first"],
        "run": ["pflow run is a command of pflow; this node is pflow-run"],
        "mine": [f"your own '{tmp_path}/own/mine.py' comes first"],
        "tool": [f"'{tmp_path}/bin/pflow-tool' comes behind"],
        "theirs": ["the pack 'other' has a node of this name; pflow uninstall other, then install again"],
        "f": ["your own flow of this name comes first", "pflow f is a node; this flow is flow:f"],
        "g": ["the pack 'other' has a flow of this name; pflow uninstall other, then install again"],
        "Run": ["pflow Run is a command of pflow; this flow is flow:Run"],
        "fresh": ["the pack has more than one node of this name"],
    }


def test_an_update_says_what_may_be_done_more_and_less_and_shows_the_code(tmp_path):
    before = {"nodes/pflow-a": PROGRAM + "git log\n", "nodes/b.py": NODE, "nodes/pflow-gone": PROGRAM, "LICENSE": b"\0"}
    before["README"], other_lines = "#\u2028import x".encode() + b"\xff", b"#\nimport x\xfe"
    a = PROGRAM.replace("runs commands", "writes files") + "curl https://x.org?$KEY\n# \x1b[31m\n"
    b = NODE.replace("SEND_TOKEN", "GITHUB_TOKEN").replace("- Effects: network\n", "").replace("SEND_PLACE", "PLACE")
    after = {"nodes/pflow-a": a, "nodes/b.py": b, "LICENSE": b"\0\0", "README": other_lines}
    after |= {"nodes/pflow-new": PROGRAM, "nodes/pflow-b": PROGRAM}
    (old, one), (new, other) = (
        (put(tmp_path / name, files), tmp_path / name) for name, files in (("1", before), ("2", after))
    )
    wider = {
        *("a: now writes files", "a: + command curl", "a: + host x.org", "b: + env PLACE", "b: + secret GITHUB_TOKEN"),
        *("new: new: now runs commands", "b: new: now runs commands"),
    }
    less = {
        *("a: no longer runs commands", "a: - command git", "b: - network", "b: - env SEND_PLACE", "gone: gone"),
        *("b: - secret SEND_TOKEN", "a: names env KEY, which it does not get"),
    }
    assert {*widened(old, new)} == wider
    lines, diff = differences(str(one), old, str(other), new)
    assert {*lines} == wider | less
    assert {"-git log", "+# \\x1b[31m", "--- a/nodes/pflow-gone", "+++ /dev/null"} <= {*diff.splitlines()}
    assert {"-# import x\\udcff", "+#", "+import x\\udcfe"} <= {*diff.splitlines()}
    assert "LICENSE differs: 1 bytes and 2 bytes, not shown" in diff
    assert (widened(new, new), differences(str(one), old, str(one), old)) == ([], ([], ""))


def test_no_name_hides_among_many(tmp_path):
    texts = [PROGRAM + "".join(f"# https://{each}.org\n" for each in (*range(999), last)) for last in "xy"]
    old, new = (put(tmp_path / text[-6], {"nodes/pflow-a": text}) for text in texts)
    assert (len(widened(old, new)), widened(old, old)) == (1, [])


SHELL, PYTHON, OTHER = {"is_shell": True}, {"is_python": True}, {"is_shell": False}

TEXTS = [
    (SHELL, "curl -s https://api.x.org:8443/a | tr a b", "curl tr", "", "api.x.org:8443"),
    (SHELL, 'out=$(git -C "$1" log); FOO=1 /usr/bin/make "$out" &', "git /usr/bin/make", "", ""),
    (SHELL, "if ! jq . <in >out 2>/dev/null; then exec perl -e 1; fi", "jq perl", "", ""),
    (SHELL, "case $1 in a|b) rm x ;; *) : ;; esac; for f in x y; do cat $f; done", "rm cat", "", ""),
    (SHELL, "# don't run $SECRET\ncat <<END | sort\nnot a command\nEND\nuname", "cat sort uname", "", ""),
    (SHELL, "greet() { date; }\ngreet 'a; b'\necho \"`hostname` $(id -u)\"", "date hostname id", "", ""),
    (SHELL, "TOKEN=x; echo $TOKEN ${API_KEY-} $HOME $PFLOW_NODE $PWD; for A in 1; do echo $A; done", "", "API_KEY", ""),
    (SHELL, 'at="$(dirname "$(readlink -f "$0")")"; awk \'{ print }; next\'', "dirname readlink awk", "", ""),
    (SHELL, '[ "${PFLOW_NODE-}" = x ] || exec pflow "$0" "$@"\nunset PFLOW_NODE\n$((1 + n))', "", "", ""),
    (PYTHON, 'os.environ["A"]; os.environ.get("B"); getenv("C"); os.environ["HOME"]', "", "A B C", ""),
    (PYTHON, 'subprocess.run(["git", x]); os.system("ls | wc"); which("gh"); run(x); os.execvp("sh", [])',
     "git ls wc gh sh", "", ""),
    (PYTHON, 'f"https://API.y.org/{x}"; "ftp://u:p@h.z:21/"; "a://"', "", "", "api.y.org h.z:21"),
    (PYTHON, 'class X(: os.environ["A"]', "", "A", ""),
    (OTHER, 'fetch("https://x.org"); process.env.A; process.env["B"]; ENV["C"]; $ENV{D}; git', "", "A B C D", "x.org"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text", "commands", "env", "hosts"), TEXTS)
def test_a_text_names_its_commands_variables_and_hosts(language, text, commands, env, hosts):
    names = names_of(text, **language)
    found = [" ".join(sorted(names[each])) for each in ("commands", "env", "hosts")]
    assert found == [" ".join(sorted(each.split())) for each in (commands, env, hosts)]


def test_no_text_takes_long():
    parts = ("<<a\n", '"\\', '"', "'", "${", "$((", "a=(", "\n", " ", "A ", "x://a@", "env", "case x in ", '"$(',
             "for A in ", "=(", "a |", "A=if ", "if A=", "case x in a|")  # fmt: skip
    for part in parts:
        with limited():
            names_of(part * (100_000 // len(part)))
