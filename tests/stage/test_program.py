"""A program in any language as a stage: what it is spared, and what becomes of whatever it does wrong."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from pflow.errors import PflowError
from pflow.interface.interface import Interface
from pflow.stage.document import Document
from pflow.stage.program import _Output, program_class
from pflow.stage.visit import runs_confined
from pflow.values.secrets import Secrets
from tests.tools import has_ended, need, need_for

INTERFACE = """#!/bin/sh
# Do something.
#
# Interface:
# - Reads: shared["text"]: str [pipe]  # a text
# - Reads: shared["more"]: any = null  # anything
# - Writes: shared["out"]: any [pipe]  # anything
# - Params: how: str = "plain"  # how
# - Params: token: str = null [secret] [env TOKEN]  # a secret
# - Actions: default, left
# - Version: 2.1.0

"""
GUARD = '[ "${PFLOW_NODE-}" = it ] || exec pflow "$0" "$@"; unset PFLOW_NODE\n'
STORE = '{"$pflow":{"v":1},"out":1}'
FAILED = '{"$pflow":{"v":1,"error":{"step":"x","node":"y","exit":9,"message":"on purpose"}},\n"out":0\n}\n'


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{Path(sys.executable).parent}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PFLOW_NODE", raising=False)
    return tmp_path


def program(body, head=INTERFACE, name="it"):
    """A node on PATH."""
    need_for(body)
    file = Path(f"bin/pflow-{name}")
    file.write_text(head + body + "\n")
    file.chmod(0o755)
    return file


class Ran:
    def __init__(self, *words, stdin="a b", env=None):
        stdin = stdin.encode() if isinstance(stdin, str) else stdin
        environment = {**os.environ, **(env or {})}
        ran = subprocess.run(words, input=stdin, capture_output=True, env=environment, timeout=60, check=False)
        self.exit, self.stdout, self.stderr = ran.returncode, ran.stdout.decode(), ran.stderr.decode()

    @property
    def store(self):
        return json.loads(self.stdout)

    @property
    def header(self):
        return self.store["$pflow"]


def it(*words, **how):
    return Ran("pflow", "it", *words, **how)


def test_raw_input_is_its_pipe_read_and_its_pipe_write_is_carried_on():
    program("jq '.out = (.text | length)'")
    ran = it()
    assert (ran.exit, ran.stderr) == (0, "")
    assert ran.store == {"$pflow": ran.header, "stdin": "a b", "out": 3}
    assert ran.header["last"] == "out"
    (step,) = ran.header["steps"]
    assert (step["node"], step["version"]) == ("it", "2.1.0")
    assert (step["reads"], step["writes"]) == ({"text": ["stdin"]}, {"out": ["out"]})


def test_it_is_given_its_reads_alone_and_other_keys_pass():
    program("tee in | jq '.out = 1'")
    ran = it("--more=5", stdin='{"$pflow":{"v":1,"last":"x"},"x":"y","other":1}')
    assert json.loads(Path("in").read_text()).keys() == {"$pflow", "text", "more"}
    assert ran.store == {"$pflow": ran.header, "x": "y", "other": 1, "more": "5", "out": 1}


@pytest.mark.parametrize(
    ("flag", "part"),
    [
        ("--help", "Data (into the store):\n  --text TEXT "),
        ("--describe", '"name":"it","version":"2.1.0"'),
        ("--version", "pflow-it 2.1.0 (pflow-shell "),
    ],
)
def test_what_it_tells_of_itself_is_told_without_running_it(flag, part):
    program("touch ran")
    ran = it(flag)
    assert (ran.exit, part in ran.stdout, os.path.exists("ran")) == (0, True, False)


@pytest.mark.parametrize(
    ("words", "stdout"),
    [
        (["-r"], "x\n"),
        (["-q"], ""),
        (["-r", "--how=in a way"], "xin a way\n"),
        (["-r", "--text=c", "--how", "$stdin"], "xa b\n"),
    ],
)
def test_the_forms_of_output_and_params_are_those_of_every_stage(words, stdout):
    program('how=; for flag; do how=${flag#--how=}; done; jq --arg how "$how" \'.out = "x" + $how\'')
    assert it(*words).stdout == stdout


def test_a_dry_run_does_not_run_it():
    program("touch ran")
    ran = it("--dry-run")
    assert (ran.exit, ran.header["dry"], os.path.exists("ran")) == (0, ["out"], False)


def test_a_secret_reaches_it_in_the_environment_alone():
    program('cat >/dev/null; echo "$TOKEN $*" >seen; echo \'{"$pflow":{"v":1},"out":1}\'')
    assert it("--token=x").exit == 2
    assert it(env={"TOKEN": "s3cret"}).exit == 0
    assert Path("seen").read_text() == "s3cret \n"


@pytest.mark.parametrize(
    "header", ['.action = "left"', '.steps = [{}] | .action = "left"', '.steps = [{"action": "left"}]']
)
def test_the_action_that_it_names_is_in_the_trace(header):
    program(f"jq '.\"$pflow\" |= ({header}) | .out = 1'")
    assert it().header["steps"][0]["action"] == "left"


@pytest.mark.parametrize(
    ("head", "needed", "spared"),
    [
        (INTERFACE, "pflow.process.children", {"signal", "enum", "threading", "json", "re", "typing", "ast", "click"}),
        (
            "#!/bin/sh\n",
            "pflow.catalog.find",
            {"pflow.interface.grammar", "pflow.stage.stage", "signal"},
        ),
    ],
)
def test_the_driver_loads_no_more_for_it_than_it_needs(head, needed, spared):
    program("jq '.out = 1'", head)
    said = it(stdin="{}", env={"PYTHONPROFILEIMPORTTIME": "1"}).stderr
    loaded = {line.rpartition("|")[2].strip() for line in said.splitlines()}
    assert needed in loaded
    assert loaded.isdisjoint(spared)


def test_a_time_limit_ends_it_and_what_it_has_started():
    program("sleep 60 & echo $! $$ >pids; wait")
    Path("pids").touch()  # it may end before its program begins
    ran = it("--timeout=0.5")
    assert (ran.exit, ran.header["error"]["exit"]) == (124, 124)
    for pid in Path("pids").read_text().split():
        assert has_ended(pid)


@pytest.mark.parametrize(
    ("body", "exit", "message"),
    [
        ("printf '\\377\\376'", 65, "its 2 bytes are not a store"),
        ('printf \'{"$pflow":{"v":1},"out":"\\377"}\'', 65, "cannot take the answer of it: "),
        ('echo \'{"$pflow":{"v":1},"stdin":1}\'', 1, "the node wrote 'stdin'"),
        ("kill -15 $$", 143, "cannot run it: it ended with 143"),
        ("cat >/dev/null", 65, "cannot take the answer of it: its 0 bytes are not a store"),
        ("cat; echo more", 65, "cannot take the answer of it: "),
        ('echo \'{"$pflow":{"v":2}}\'', 65, "cannot take the answer of it: it has version 2"),
        ('echo \'{"$pflow":{"v":1},"out":1,"out":2}\'', 65, "the key 'out' appears twice"),
        ('echo \'{"$pflow":{"v":1},"out":1e999}\'', 65, "1e999"),
        ('printf \'{"$pflow":{"v":1},\\n"out":NaN\\n}\\n\'', 65, "cannot take the answer of it: "),
        ('echo \'{"$pflow":{"v":1},"out":', 2, "it ended with 2"),
        ('echo \'{"$pflow":{"v":1},"out":\'', 65, "cannot take the answer of it: "),
        ('echo \'{"$pflow":{"v":1,"steps":{}},"out":1}\'', 65, "'steps' in its header is not a list"),
        ('echo \'{"$pflow":{"v":1},"other":1}\'', 1, "the node wrote 'other', which its interface does not name"),
        ("jq '.text = \"new\"'", 1, "the node wrote 'text'"),
        (f"cat >/dev/null; printf '{FAILED}'".replace("\n", ""), 9, "on purpose"),
        ('echo \'{"$pflow":{"v":1,"error":{"exit":3,"message":null}}}\'', 3, "pflow-it: it failed"),
        ("kill -9 $$", 137, "cannot run it: it ended with 137"),
        ("no-such-command", 127, "cannot run it: it ended with 127: "),
        ("yes", 65, "bytes are not a store"),
    ],
)
def test_whatever_it_does_wrong_is_said_and_handed_on(body, exit, message):
    program(body)
    ran = it()
    assert ran.exit == exit, ran.stderr
    assert message in ran.stderr
    assert "Traceback" not in ran.stderr
    assert (ran.header["error"]["exit"], ran.store["stdin"]) == (exit, "a b")


@pytest.mark.parametrize(("begins", "is_patient"), [("x", False), ("{", True), ("[", True)])
def test_an_answer_that_does_not_begin_as_a_store_is_taken_for_a_megabyte(begins, is_patient):
    output = _Output("it", Secrets())
    output.take(begins.encode() * (1 << 20))
    with nullcontext() if is_patient else pytest.raises(PflowError, match="its 1,048,577 bytes are not a store"):
        output.take(b"x")


def test_our_process_stays_unconfined_beside_an_installed_program():
    node = program_class("it", "it", Interface())()
    node.confinement = SimpleNamespace(is_on=True)
    assert not runs_confined(node)


def test_an_answer_without_end_ends_it(monkeypatch):
    monkeypatch.setattr("pflow.stage.program._MOST", 100_000)
    file = program("printf '{'; yes '\"a\":1,'")
    node = program_class(str(file.resolve()), "it", Interface())()
    with pytest.raises(PflowError, match="it is longer than 100,000 bytes"):
        node.exec(Document())


def test_it_need_not_read_its_input():
    program(f"exec <&-; echo '{STORE}'")
    assert it(stdin="x" * 5_000_000).exit == 0


def test_a_number_that_a_tool_rounds_is_no_write():
    program('sed \'s/9007199254740993/9007199254740992/; s/"more"/"out":1,&/\'')
    ran = it(stdin='{"$pflow":{"v":1},"text":"a","more":9007199254740993}')
    assert (ran.exit, ran.store["more"], ran.store["out"]) == (0, 9007199254740993, 1)


def not_executable(file):
    file.chmod(0o644)


def foreign(file):
    shutil.copy(file, f"{file}.interface")
    file.write_bytes(b"\x7fELF" + b"\0" * 100)


@pytest.mark.parametrize(
    ("head", "change", "exit", "message"),
    [
        ("#!/no/such/shell", None, 78, "its interpreter '/no/such/shell' is missing; install it"),
        ("#!/usr/bin/env no-such-shell", None, 127, "it ended with 127"),
        ("#!/bin/sh", not_executable, 77, "permission denied; chmod +x"),
        ("#!/bin/sh", foreign, 78, "it is not a program for this machine"),
    ],
)
def test_one_that_does_not_start_says_why(head, change, exit, message):
    file = program("", INTERFACE.replace("#!/bin/sh", head))
    if change:
        change(file)
    ran = Ran("pflow", "bin/pflow-it")
    assert (ran.exit, message in ran.stderr, ran.header["error"]["exit"]) == (exit, True, exit), ran.stderr


@pytest.mark.parametrize(
    ("text", "exit", "message"), [("a\0b", 65, "cannot give --how"), ("x" * 300_000, 65, "its fla")]
)
def test_a_param_that_is_no_argument_is_refused(text, exit, message):
    program("touch ran")
    ran = it("--text=x", "--how=$stdin", stdin=text)
    assert (ran.exit, message in ran.stderr, os.path.exists("ran")) == (exit, True, False)


def test_a_script_without_a_first_line_for_the_system_is_run_by_sh():
    program(f"cat >/dev/null; echo '{STORE}'", INTERFACE.removeprefix("#!/bin/sh\n"))
    assert it("-r").stdout == "1\n"


def test_an_interface_that_does_not_parse_is_65_with_file_and_line():
    program("touch ran", INTERFACE.replace('shared["out"]: any', "out"))
    for words in (["pflow", "it"], ["pflow", "bin/pflow-it"]):
        ran = Ran(*words)
        assert (ran.exit, ran.header["error"]["exit"], os.path.exists("ran")) == (65, 65, False)
        assert "bin/pflow-it:7: " in ran.stderr


def test_a_guard_in_one_without_an_interface_ends_in_its_body():
    for far in ("", "#" * 10_000 + "\n"):  # in a compiled one its text stands anywhere
        program(far + GUARD + "cat", "#!/bin/sh\n")
        assert Ran("pflow-it").stdout == "a b"


@pytest.mark.parametrize("head", [INTERFACE, "#!/bin/sh\n"])
def test_a_guard_with_another_name_does_not_run_for_ever(head):
    program(GUARD.replace("= it", "= that"), head)
    ran = Ran("pflow-it")
    assert (ran.exit, "cannot run it inside itself; its guard must compare PFLOW_NODE with 'it'" in ran.stderr) == (
        78,
        True,
    )


@pytest.mark.parametrize("shell", ["dash", "bash", "zsh"])
@pytest.mark.parametrize(
    "call", ["pflow-it -r", "./bin/pflow-it -r", "cd bin; ./pflow-it -r", "{shell} bin/pflow-it -r"]
)
def test_a_guard_makes_it_a_stage_however_a_shell_starts_it(shell, call):
    need(shell)
    program(GUARD + "jq '.out = .text + \"!\"'")
    assert Ran(shell, "-c", call.replace("{shell}", shell)).stdout == "a b!\n"


@pytest.mark.parametrize("word", ["bin/pflow-it", "./bin/pflow-it", "{here}/bin/pflow-it", "pflow-it"])
def test_it_is_named_by_its_path_too(here, word):
    program("jq '.out = 1'")
    assert Ran("pflow", word.replace("{here}", str(here)), "-r").stdout == "1\n"


def test_a_path_to_what_is_no_node_is_127():
    Path("tool").write_text("#!/bin/sh\ntouch ran\n")
    Path("tool").chmod(0o755)
    assert (Ran("pflow", "./tool").exit, os.path.exists("ran")) == (127, False)


@pytest.mark.parametrize("name", ["a b", "a\nb", "$(touch x)", "", "'q\"", "é", os.fsdecode(b"\xff"), ".it"])
def test_a_file_whose_name_is_no_nodes_is_refused_before_it_runs(name):
    program("touch ran", name=name)
    ran = Ran("pflow", f"bin/pflow-{name}")
    assert (ran.exit, "is not a valid node name; a node's name has" in ran.stderr, os.listdir()) == (65, True, ["bin"])
