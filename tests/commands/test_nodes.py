"""pflow nodes: every node there is, and what it declares, read and never run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pflow.catalog.find import forget_types
from pflow.commands._command import run_command
from pflow.commands.nodes import command
from pflow.errors import PflowError
from pflow.files import reading
from pflow.flow.subflow import FlowCatalog

OWN = '''
import pocketflow

open({marker!r}, "w")


class CountWords(pocketflow.Node):
    """Count the words.

    One by one.

    Interface:
    - Reads: shared["text"]: str [pipe] [flag t]  # the text
    - Writes: shared["words"]: int [pipe]  # how many it has
    - Params: minimum: int = 1 [env MINIMUM]  # letters that make a word
    - Effects: reads files
    """

    version = "2.1.0"
'''
PROGRAM = """\
#!/bin/sh
# Say what the time is.
#
# Interface:
# - Writes: shared["now"]: str [pipe]  # the time
# - Effects: runs commands
# - Version: 1.2.0
touch {marker}
"""
FLOW = {
    "pflow": 1,
    "description": "Save a greeting",
    "nodes": [{"id": "save", "type": "write-file", "inputs": {"path": "o"}, "params": {}}],
    "mappings": {"save": {"input_mappings": {"content": "greeting"}}},
}


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    """A node in Python, a program on PATH and a saved flow, beside those that come with pflow."""
    marker = str(tmp_path / "ran")
    for folder in ("nodes", "bin", "data/pflow/flows"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "nodes" / "count_words.py").write_text(OWN.format(marker=marker))
    (tmp_path / "bin" / "pflow-what-time").write_text(PROGRAM.format(marker=marker))
    (tmp_path / "bin" / "pflow-what-time").chmod(0o755)
    (tmp_path / "data" / "pflow" / "flows" / "greet.pflow.json").write_text(json.dumps(FLOW))
    monkeypatch.setenv("PFLOW_NODES", str(tmp_path / "nodes"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("COLUMNS", "100")
    forget_types()
    yield tmp_path
    forget_types()


@pytest.fixture
def nodes(capfdbinary):
    def run(*words):
        assert run_command(command, list(words)) == 0
        return capfdbinary.readouterr().out.decode()

    return run


def entries(nodes, *words):
    return {entry["name"]: entry for entry in json.loads(nodes("--json", *words))}


def put_program(file, text):
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)


def test_a_node_tells_all_that_it_declares(nodes, own):
    assert nodes("count-words").split("\n") == [
        "count-words 2.1.0: Count the words.",
        "",
        "One by one.",
        "",
        f"From     {own}/nodes/count_words.py (python)",
        "Effects  reads files",
        "Repeats  yes",
        "Actions  default",
        "",
        "Reads",
        "  text  str  required, pipe, --t  the text",
        "",
        "Writes",
        "  words  int  pipe  how many it has",
        "",
        "Params",
        "  minimum  int  default 1, MINIMUM  letters that make a word",
        "",
    ]


@pytest.mark.parametrize("name", ["CountWords", "count_words", "CountWordsNode"])
def test_a_node_goes_by_its_class_name_too(nodes, name):
    assert nodes(name).startswith("count-words 2.1.0")


@pytest.mark.parametrize(
    ("name", "put"),
    [
        ("broken", lambda file: file.write_text("class (")),
        ("nul", lambda file: file.write_bytes(b"\0")),
        ("deep", lambda file: file.write_text("(" * 5000)),
        ("steep", lambda file: file.write_text("-" * 200_000 + "1")),
        ("impure", lambda file: file.write_text(PURE_WITH_EFFECTS)),
    ],
)
def test_a_node_whose_file_cannot_be_read_is_listed_with_its_fault(nodes, own, name, put):
    put(own / "nodes" / f"{name}.py")
    entry = entries(nodes)[name]
    assert (entry["origin"], "reads" in entry) == ("python", False)
    assert f"{name}.py" in entry["fault"]
    assert f"\n  {name} " in nodes().partition("Broken")[2]
    assert nodes(name).startswith(f"{name}: cannot read")
    assert "count-words" in nodes()


PURE_WITH_EFFECTS = '''
from pflow import Node, flow_safe
@flow_safe
class Impure(Node):
    """A node.

    Interface:
    - Effects: network
    """
'''


def test_a_node_in_prose_is_open_and_says_why(nodes, own):
    text = (
        'import pocketflow\nclass Seed(pocketflow.Node):\n    """Old.\n\n    Interface:\n    - Reads: prose\n    """\n'
    )
    (own / "nodes" / "seed.py").write_text(text)
    entry = entries(nodes)["seed"]
    assert (entry["open"], entry["reads"]) == (True, {})
    assert "seed.py" in entry["fault"]
    assert "\n  seed  " in nodes()
    assert "Open     its interface is unknown" in nodes("seed")


def test_what_a_terminal_would_obey_is_escaped(nodes, own):
    put_program(own / "bin" / "pflow-evil", "#!/bin/sh\n# Say \x1b[31mred.\n")
    put_program(own / "bin" / "pflow-worse", "#!/no\x1b[31m\n# Worse.\n")
    put_program(own / "nodes" / "pflow-a\x1b[31m\nb", "#!/bin/sh\n")
    shown = nodes() + nodes("evil") + nodes("--search", "red") + nodes("worse")
    assert "\x1b" not in shown
    assert "  evil       1.0.0  open           Say \\x1b[31mred.\n" in shown
    assert f"  a\\x1b[31m b  {own}/nodes/pflow-a" in shown


def test_who_has_the_name_of_another_is_told_with_that_other(nodes, own, monkeypatch):
    monkeypatch.setenv("PATH", f"{own / 'bin'}:{own / 'late'}")
    for name in ("what-time", "count-words", "llm", "get"):
        put_program(own / "late" / f"pflow-{name}", "#!/bin/sh\n# Late.\n")
    hidden = nodes().partition("Shadowed\n")[2].splitlines()
    assert f"  what-time  {own}/late/pflow-what-time is behind {own}/bin/pflow-what-time" in hidden
    assert f"  count-words  {own}/late/pflow-count-words is behind {own}/nodes/count_words.py" in hidden
    befores = [line.rpartition("/")[2] for line in hidden]
    assert sorted(befores) == ["count_words.py", "get.py", "llm.py", "pflow-what-time"]
    found = json.loads(nodes("--json"))
    assert {entry["name"] for entry in found if "shadowed_by" in entry} == {"what-time", "count-words", "llm", "get"}


@pytest.mark.parametrize(("file", "name"), [("pflow-far-off", "far-off"), ("far_off.py", "far-off")])
def test_a_path_tells_of_a_node_that_no_name_finds(nodes, own, monkeypatch, file, name):
    text = OWN.format(marker=str(own / "ran")) if file.endswith(".py") else PROGRAM.format(marker=own / "ran")
    put_program(own / "elsewhere" / file, text)
    monkeypatch.chdir(own)
    assert nodes(f"./elsewhere/{file}").startswith(f"{name} ")
    assert entries(nodes, f"elsewhere/{file}")[name]["file"] == f"{own}/elsewhere/{file}"
    assert not (own / "ran").exists()


def test_what_cannot_be_a_node_says_why_when_asked_for(nodes, own):
    (own / "nodes" / "pflow-plain").write_text("#!/bin/sh\n")
    for name in ("plain", f"{own}/nodes/pflow-plain"):
        with pytest.raises(PflowError, match="it is not executable") as caught:
            nodes(name)
        assert caught.value.exit == 127


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["words"], ["count-words", "talk"]),
        (["the time"], ["what-time"]),
        (["one by one"], ["count-words"]),
        (["greeting"], ["greet"]),
        (["cannot parse"], ["bad"]),
    ],
)
def test_a_search_finds_what_has_every_word_first_in_its_name(nodes, own, words, names):
    put_program(own / "bin" / "pflow-bad", "#!/bin/sh\n# Interface:\n# - Reads: text\n")
    put_program(own / "bin" / "pflow-talk", "#!/bin/sh\n# Talk, in words, for a time.\n")
    found = [name.removeprefix("flow:") for name in entries(nodes, "--search", *words)]
    assert [name for name in found if name in ("count-words", "what-time", "talk", "greet", "bad")] == names


def same_size(file):
    file.write_text(file.read_text().replace("Say", "Ask"))


def replaced(file):
    put_program(file.parent / "new", file.read_text().replace("Say", "Ask"))
    os.utime(file.parent / "new", ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    os.replace(file.parent / "new", file)


def beside(file):
    (file.parent / f"{file.name}.interface").write_text("Ask what the time is.\n")


@pytest.mark.parametrize("change", [same_size, replaced, beside])
def test_a_file_that_changed_is_read_anew(nodes, own, change):
    file = own / "bin" / "pflow-what-time"
    assert "Say what" in nodes()
    change(file)
    assert "Ask what" in nodes()
    assert "Say what" not in nodes()


def test_a_list_of_what_is_known_loads_nothing_that_takes_long(nodes, own, monkeypatch):
    monkeypatch.setattr(reading, "_MOMENT", 0)
    (own / "data" / "pflow" / "flows" / "greet.pflow.json").unlink()
    whole = nodes()
    script = "import sys\nfrom pflow.commands._dispatch import run\nrun(['nodes'])\n"
    script += "sys.stderr.write(' '.join(sys.modules))"
    script = f"import pflow.files.reading\npflow.files.reading._MOMENT = 0\n{script}"
    environment = {**os.environ, "PYTHONPATH": str(Path(reading.__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=environment, check=True)
    heavy = {"click", "pydantic", "pocketflow", "asyncio", "ast", "re", "json", "typing", "difflib", "shutil"}
    assert heavy & set(done.stderr.decode().split()) == set()
    assert "count-words" in whole
    assert done.stdout.decode() == whole


def test_a_flow_tells_the_flags_that_its_run_takes(nodes):
    from pflow.explain.account import needs

    (flow,) = entries(nodes, "greet").values()
    told = {key: read["flag"] for key, read in flow["reads"].items()}
    assert told == {need["name"]: need["flag"] for need in needs(FlowCatalog().find("flow:greet").flow)}
    assert told


def test_each_read_and_param_tells_its_flag_and_whether_it_must_be_given(nodes):
    (node,) = entries(nodes, "count-words").values()
    assert (node["description"], node["reads"]["text"]["flag"], node["reads"]["text"]["required"]) == (
        "One by one.",
        "--t",
        True,
    )
    assert (node["params"]["minimum"]["flag"], node["params"]["minimum"]["required"]) == ("--minimum", False)
    assert "flag" not in node["writes"]["words"]
