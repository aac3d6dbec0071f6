"""What fish offers at TAB, asked of a real fish by `complete -C`, with files made from the usages of this checkout."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pflow.commands._usages import typed, usages
from pflow.docs.completion.fish import files
from pflow.help.usage import CHOICE, COMMON, DATA, FILE, MODEL, PARAMS, RUN, Argument, Flag, Usage

pytestmark = pytest.mark.skipif(shutil.which("fish") is None and "CI" not in os.environ, reason="fish is not installed")

HOSTILE = """a "q" 'p' `touch hurt` $(touch hurt) (touch hurt) $HOME [x]: {a,b} \\ * ; | & <x> ~ %self"""
RUNS = ["01JD10000000000000000000AA", "01JD9000000000000000000000", "01JDA000000000000000000000"]


def odd_node() -> Usage:
    usage = Usage("pflow-odd", "Odd.")
    usage.is_node = True
    usage.flags = [
        Flag(("--zeta", "--zed"), HOSTILE, group=DATA, metavar="TEXT"),
        Flag(("--alpha",), "a switch", group=PARAMS),
        Flag(("--model",), "which model", group=PARAMS, metavar="TEXT", values=MODEL),
        Flag(("--hue",), "which", group=PARAMS, metavar="x", values=CHOICE, choices=("re'd", "$blue", "(green)")),
        Flag(("--file",), "which file", group=PARAMS, metavar="PATH", values=FILE),
        Flag(("secret",), "is no flag", group=PARAMS, metavar="TEXT", is_typed=False),
        Flag(("-b", "--brief"), "say less", group=COMMON),
    ]
    return usage


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with completions, lists, nodes, flows, runs and files."""
    completions = tmp_path / ".config" / "fish" / "completions"
    lists = tmp_path / ".cache" / "pflow" / "completion"
    own = tmp_path / ".local" / "share" / "pflow"
    for folder in (completions, lists, own / "nodes", own / "flows", tmp_path / "bin", tmp_path / "docs" / "sub"):
        folder.mkdir(parents=True)
    for name, text in files([*typed(), odd_node()]).items():
        (completions / name).write_text(text)
    for name in ("pflow", "pflow-llm", "pflow-odd", "pflow-write-file", "pflow-get", "pflow-trap", "pflow-x.interface"):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/hurt\n")
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "bin" / "pflow-plain").write_text("no program")
    (own / "nodes" / "word_stats.py").touch()
    (own / "nodes" / "_shared.py").touch()
    (own / "flows" / "fix-issue.pflow.json").touch()
    for run in RUNS:
        (tmp_path / ".local" / "state" / "pflow" / "runs" / run).mkdir(parents=True)
    (tmp_path / ".local" / "state" / "pflow" / "runs" / ".hidden").mkdir()
    (tmp_path / "docs" / "a file.txt").touch()
    (lists / "models").write_text(f"gpt-4\t{HOSTILE}\n$odd`x`\tanother\n")
    (lists / "nodes").write_text("llm\tAsk a model\ngone\tIt was removed\nword-stats\tCount\n")
    return tmp_path


def offered_for(lines: list[str], home: Path, **environment: str) -> list[list[list[str]]]:
    """What TAB offers after each of these lines: pairs of value and description."""
    path = {"PATH": f"{home}/bin", "HOME": str(home), "TERM": "dumb", "XDG_CONFIG_HOME": f"{home}/.config"}
    script = "for line in $argv; complete -C $line; echo =====; end"
    run = subprocess.run(
        [str(shutil.which("fish")), "-c", script, "--", *lines],
        cwd=home,
        env={**path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stderr == ""
    assert not (home / "hurt").exists()
    answers = run.stdout.split("=====\n")[:-1]
    return [[(each + "\t").split("\t")[:2] for each in answer.splitlines()] for answer in answers]


def offered(line: str, home: Path, **environment: str) -> list[list[str]]:
    return offered_for([line], home, **environment)[0]


def values(line: str, home: Path, **environment: str) -> list[str]:
    return [value for value, _ in offered(line, home, **environment)]


def test_flags_are_offered_in_their_groups_data_first(home):
    assert offered("pflow-odd --", home) == [
        ["--zeta=", f"[data] {HOSTILE}"],
        ["--zed=", f"[data] {HOSTILE}"],
        ["--alpha", "[params] a switch"],
        ["--no-alpha", "[params] not: a switch"],
        ["--model=", "[params] which model"],
        ["--hue=", "[params] which"],
        ["--file=", "[params] which file"],
        ["--brief", "[common] say less"],
    ]
    assert values("pflow-odd -", home)[-1] == "-b"


VALUES = {
    "pflow-llm --mod": ["--model="],
    "pflow-odd --model=": ["--model=gpt-4", "--model=$odd`x`"],
    "pflow-odd --model g": ["gpt-4"],
    "pflow-odd --hue=": ["--hue=re'd", "--hue=$blue", "--hue=(green)"],
    "pflow-odd --hue=\\$b": ["--hue=$blue"],
    "pflow-odd --zeta=": [],
    "pflow-odd --alpha=t": ["--alpha=true"],
    "pflow-odd --alpha t": [],
    "pflow-odd --zeta --al": [],
    "pflow-odd --zeta x --al": ["--alpha"],
    "pflow-odd --file=do": ["--file=docs/"],
    "pflow-odd --file=docs/a": ["--file=docs/a file.txt"],
    "pflow-odd --file 'docs/a f": ["docs/a file.txt"],
    "pflow-odd --file ~/do": ["~/docs/"],
    "pflow list-files --directory=docs/": ["--directory=docs/sub/"],
    "pflow write-file --path=docs/s": ["--path=docs/sub/"],
    "pflow llm --sys": ["--system="],
    "pflow odd --al": ["--alpha"],
    "pflow get --nu": ["--null"],
    "pflow ru": ["run", "runs"],
    "pflow nodes wo": ["word-stats"],
    "pflow nodes llm od": ["odd"],
    "pflow export --to=m": ["--to=mermaid"],
    "pflow export --to m": ["mermaid"],
    "pflow --vers": ["--version"],
    "pflow fix": ["fix-issue"],
    "pflow run fix": ["fix-issue"],
    "pflow run do": ["docs/"],
    "pflow run --jobs 3 odd --alp": ["--alpha"],
    "pflow run odd --jo": ["--jobs="],
    "pflow help ru": ["run", "runs"],
    "pflow plan --model=": ["--model=gpt-4", "--model=$odd`x`"],
    "pflow plan --edit fix": ["fix-issue"],
    "pflow plan 'odd --al": ["odd --alpha"],
    "pflow show ": ["fix-issue"],
    "pflow remove fix-issue f": ["fix-issue"],
    "pflow mcp ": ["serve"],
    "pflow mcp serve fi": ["fix-issue"],
    "pflow find --by=w": ["--by=words"],
    "pflow save fi": [],
    "pflow save 'a b": [],
    "pflow save name fi": ["fix-issue"],
    "pflow save name odd --alp": ["--alpha"],
    "pflow save name 'odd --alp": ["odd --alpha"],
    "pflow 'say it' --al": ["--allow=", "--allow-empty"],
    "pflow 'say it' --allow=c": ["--allow=commands"],
    "pflow 'say it' --allow docs/": ["docs/sub/"],
    "pflow 'say it' --show": ["--show-store"],
    "pflow 'odd => odd' --allow": ["--allow-empty"],
}


def test_what_stands_there_decides_what_is_offered(home):
    answers = offered_for(list(VALUES), home)
    found = {line: [value for value, _ in pairs] for line, pairs in zip(VALUES, answers, strict=True)}
    assert found == VALUES


STEPS = {
    "pflow run llm :: od": ["odd"],
    "pflow run llm :: fl": ["flow:fix-issue"],
    "pflow llm --model=x :: odd --hue=\\(": ["--hue=(green)"],
    "pflow odd :: llm:draft --sys": ["--system="],
    "pflow run 'od": ["odd"],
    "pflow 'llm => od": ["llm => odd"],
    'pflow \'llm --prompt="a => b" | odd --al': ['llm --prompt="a => b" | odd --alpha'],
    'pflow "llm >> odd --model=g': ["llm >> odd --model=gpt-4"],
    "pflow check 'llm =failed=> odd:again --al": ["llm =failed=> odd:again --alpha"],
    "pflow run 'llm; odd --file=docs/s": ["llm; odd --file=docs/sub/"],
    "pflow 'llm --prompt=\"a => od": [],
    "pflow 'llm => odd --model=$(touch hurt) --al": ["llm => odd --model=$(touch hurt) --alpha"],
}


def test_steps_of_a_flow_are_completed_with_and_without_quotes(home):
    answers = offered_for(list(STEPS), home)
    found = {line: [value for value, _ in pairs] for line, pairs in zip(STEPS, answers, strict=True)}
    assert found == STEPS


def test_every_first_word_says_what_it_is(home):
    about = dict(offered("pflow ", home))
    assert about["run"].startswith("[command] Run a flow")
    assert about["get"].startswith("[tool] Print what")
    assert about["llm"] == "[node] Ask a model"
    assert about["word-stats"] == "[node] Count"
    assert about["odd"] == about["trap"] == "[node] "
    assert about["fix-issue"] == "[flow] "
    assert about.keys().isdisjoint({"gone", "plain", "x.interface", "x", "_shared", "-shared"})


@pytest.mark.parametrize("count", [3, 300])
def test_a_list_from_another_day_hides_nothing_and_adds_nothing(home, count: int):
    for number in range(count):
        (home / "bin" / f"pflow-new{number}").write_text("")
        (home / "bin" / f"pflow-new{number}").chmod(0o755)
        (home / "bin" / f"pflow-no{number}").write_text("")
    gone = "".join(f"a-gone{number}\twas a node\nz{number}\talso\n" for number in range(count))
    (home / ".cache" / "pflow" / "completion" / "nodes").write_text(f"{gone}llm\tAsk $1 \\1\nnew2\t2\n")
    about = dict(offered("pflow nodes ", home))
    named = {f"new{number}": "" for number in range(count)}
    assert about == {
        "llm": "Ask $1 \\1",
        "fix-issue": "",
        "odd": "",
        "trap": "",
        "word-stats": "",
        "write-file": "",
        **named,
        "new2": "2",
    }


def test_runs_are_offered_newest_first_with_what_was_said_of_them_last(home):
    assert values("pflow trace ", home) == [*sorted(RUNS, reverse=True), "last"]
    said = "".join(f"{run}\tit began\n{run}\tdone\n" for run in sorted(RUNS))
    (home / ".cache" / "pflow" / "completion" / "runs").write_text(said)
    assert offered("pflow trace ", home)[:-1] == [[run, "done"] for run in sorted(RUNS, reverse=True)]
    assert values("pflow trace 01JD10", home) == [RUNS[0]]


def test_a_directory_of_pflow_nodes_has_nodes(home):
    (home / "more").mkdir()
    (home / "more" / "from_there.py").touch()
    assert values("pflow from", home, PFLOW_NODES=f"{home}/none:{home}/more") == ["from-there"]


def test_without_lists_and_runs_the_rest_is_still_offered(home):
    nowhere = {"XDG_CACHE_HOME": f"{home}/none", "XDG_STATE_HOME": f"{home}/none", "XDG_DATA_HOME": "not/absolute"}
    assert offered("pflow od", home, **nowhere) == [["odd", "[node] "]]
    assert values("pflow-odd --model=", home, **nowhere) == []
    assert values("pflow trace 01", home, **nowhere) == []
    assert "fix-issue" not in values("pflow fix", home, **nowhere)


def test_a_node_without_completions_has_what_every_stage_has(home):
    assert "--no-stdin" in values("pflow trap --", home)
    assert values("pflow word-stats --fr", home) == ["--from="]


def test_a_nodes_file_depends_on_that_node_alone_and_the_drivers_on_no_node():
    all_of_them = usages()
    made = files(all_of_them)
    for usage in all_of_them:
        if usage.is_node:
            assert files([usage]) == {f"{usage.name}.fish": made[f"{usage.name}.fish"]}
    assert files([each for each in all_of_them if not each.is_node])["pflow.fish"] == made["pflow.fish"]


def test_each_command_is_completed_once_however_often_its_file_is_read(home):
    folder = home / ".config" / "fish" / "completions"
    script = f"""
        complete -C 'pflow llm --' >/dev/null; complete -C 'pflow-llm --' >/dev/null; complete -C 'pflow ' >/dev/null
        source {folder}/pflow.fish; source {folder}/pflow-llm.fish; complete -c pflow; complete -c pflow-llm"""
    environment = {"PATH": f"{home}/bin", "HOME": str(home), "TERM": "dumb"}
    run = subprocess.run(
        [str(shutil.which("fish")), "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.count("__pflow_complete") == 2


def test_a_name_with_every_sign_is_data(home):
    usage = Usage("pflow-a$(touch hurt)'b", "odd")
    usage.flags = [Flag(("--x",), "an x")]
    usage.arguments = [Argument("RUN", RUN)]
    (text,) = files([usage]).values()
    (home / ".config" / "fish" / "completions" / "pflow-odd.fish").write_text(text)
    assert offered("pflow-odd ", home) is not None
