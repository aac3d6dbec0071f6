"""What completes pflow in zsh is made of usages (DESIGN.md, section 5)."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from pflow.commands._usages import typed
from pflow.docs.completion.zsh import ENGINE, files
from pflow.help.usage import COMMON, DATA, FILE, OPTIONS, PARAMS, RUN, Argument, Flag, Usage

ENGINE_FILES = {f"_pflow_{name}" for name in ENGINE}


def node(name: str, *flags: Flag) -> Usage:
    usage = Usage(f"pflow-{name}", f"Do {name}.")
    usage.is_node = True
    usage.flags = list(flags)
    return usage


def test_a_node_makes_one_file_of_its_own_usage_alone():
    odd = node("odd", Flag(("--path",), "what to read", group=DATA, metavar="PATH", values=FILE))
    made = files([odd])
    assert list(made) == ["_pflow-odd"]
    assert made["_pflow-odd"].startswith("#compdef pflow-odd\n")
    assert "  data '--path' file '' 'what to read'\n" in made["_pflow-odd"]
    assert files([Usage("pflow", "Run."), odd])["_pflow-odd"] == made["_pflow-odd"]


def test_the_driver_brings_its_commands_the_tools_and_the_engine_and_names_no_node():
    trace = Usage("pflow trace", "Print it.")
    trace.arguments = [Argument("RUN", RUN)]
    tool = Usage("pflow-get", "Get it.")
    made = files([Usage("pflow", "Run."), trace, tool])
    assert set(made) == {"_pflow", "_pflow-get", *ENGINE_FILES}
    assert "  'trace' 'Print it.'\n" in made["_pflow"]
    assert "  'get' 'Get it.'\n" in made["_pflow"]
    assert "  trace)\n    flags=(\n    )\n    arguments=(run)\n    ;;\n" in made["_pflow"]
    assert files([Usage("pflow", "Run."), trace, tool, node("odd")])["_pflow"] == made["_pflow"]


@pytest.mark.parametrize(
    ("flag", "row"),
    [
        (Flag(("--to",), "x", choices=("a", "b c"), metavar="a|b c"), "options '--to' choice 'a|b c' 'x'"),
        (Flag(("-o", "--output"), "x", metavar="FILE", values=FILE), "options '-o --output' file '' 'x'"),
        (Flag(("--set",), "x", metavar="KEY=VALUE", repeats=True), "options '--set' text+ '' 'x'"),
        (Flag(("--json",), "x", group=COMMON), "common '--json' switch '' 'x'"),
        (Flag(("--check",), "x", group=PARAMS, notes=("default true",)), "params '--check' bool '' 'x [default true]'"),
    ],
)
def test_a_flag_is_a_row_of_group_names_kind_choices_and_text(flag: Flag, row: str):
    assert f"  {row}\n" in files([node("odd", flag)])["_pflow-odd"]


def test_a_secret_is_no_flag():
    assert "--token" not in files([node("odd", Flag(("--token",), "x", is_typed=False))])["_pflow-odd"]


@pytest.mark.parametrize("name", ["a b", "../x", "$(touch x)", "a'b", "a\nb", "="])
def test_a_name_that_zsh_might_take_for_something_else_makes_no_file(name: str):
    assert files([node(name)]) == {}


def test_groups_stand_in_their_order():
    made = files([node("odd", *(Flag((f"--{group}",), "", group=group) for group in (COMMON, PARAMS, OPTIONS, DATA)))])
    rows = [line.split()[0] for line in made["_pflow-odd"].splitlines() if line.startswith("  ")]
    assert rows == [DATA, PARAMS, OPTIONS, COMMON]


@pytest.fixture(scope="module")
def zsh() -> str:
    path = shutil.which("zsh")
    if path is None and not os.environ.get("CI"):
        pytest.skip("zsh is not installed")
    assert path is not None
    return path


@pytest.mark.parametrize("options", ["extendedglob", "rcquotes", "cshjunkiequotes", "ksharrays", "globsubst"])
@pytest.mark.parametrize(
    "text",
    ["it's", "''", "'", "$HOME `id` $(id) \\ \\n", "[a] {b} (c) a:b ~ * ? ! # % =ls", "é 漢字", "a;b|c&d<e>f", '"', ""],
)
def test_zsh_reads_a_text_as_it_was_written(zsh: str, text: str, options: str):
    script = files([node("odd", Flag(("--one",), text, group=DATA))])["_pflow-odd"]
    script = script.replace("\n_pflow_stage\n", '\nprint -rN -- "${flags[@]}"\n')
    seen = subprocess.run(
        [zsh, "-f", "-c", f"_comp_options=(extendedglob)\nsetopt {options}\n{script}"], capture_output=True, check=True
    )
    assert seen.stdout.decode().split("\0") == ["data", "--one", "bool", "", text, ""]
    assert seen.stderr == b""


def test_what_would_move_a_terminals_cursor_is_a_blank():
    assert "'a  [2J b'" in files([node("odd", Flag(("--one",), "a\x1b\r[2J\nb"))])["_pflow-odd"]


def test_zsh_finds_no_fault_in_any_file(zsh: str):
    for name, text in files(typed()).items():
        seen = subprocess.run([zsh, "-f", "-n", "-c", text], capture_output=True, check=False)
        assert (name, seen.returncode, seen.stderr) == (name, 0, b"")
