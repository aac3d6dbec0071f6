"""The files that complete pflow in bash: what they hold, and what bash makes of a line with them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pflow.commands._usages import typed
from pflow.docs.completion.bash import files, quote
from pflow.help import usage as kinds
from pflow.help.usage import Argument, Flag, Usage

ODD = 'it\'s "odd" [a:b] (c) $HOME ${x} $(touch hit) `touch hit` \\n !! * ~ # é — 世'

ASK = """
PATH=bin::more:bin:/nowhere
source ./pflow && source ./pflow-odd && source ./pflow-get
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=$2 COMP_CWORD=0 COMP_WORDS=() COLUMNS=60 COMP_WORDBREAKS=${3-$COMP_WORDBREAKS}
set -u
_pflow "${1%% *}"
((${#COMPREPLY[@]} == 0)) || printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not shutil.which("bash"):
        pytest.skip("bash is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "PFLOW_NODES"):
        monkeypatch.delenv(name, raising=False)
    for name, text in files([_driver(), *_commands(), _node()]).items():
        Path(name).write_text(text)


def _driver() -> Usage:
    usage = Usage("pflow", "run it")
    usage.arguments = [Argument("WORD", kinds.WORD)]
    return usage


def _node() -> Usage:
    node = Usage("pflow-odd", ODD)
    node.is_node = True
    node.flags = [
        Flag(("-q", "--quiet"), "print nothing", group=kinds.COMMON),
        Flag(("--model",), ODD, group=kinds.PARAMS, metavar="TEXT", values=kinds.MODEL),
        Flag(("--hidden",), "see all", group=kinds.PARAMS),
        Flag(("--issue-number", "--issue"), "which", group=kinds.DATA, metavar="N"),
        Flag(("--path",), "where", group=kinds.DATA, metavar="PATH", values=kinds.FILE, repeats=True),
        Flag(("--kind",), "what", group=kinds.PARAMS, metavar="a|b", choices=("files", "*", "all")),
        Flag(("--token",), "a secret", group=kinds.PARAMS, metavar="TEXT", is_typed=False),
    ]
    return node


def _commands() -> list[Usage]:
    runs = {"run": kinds.FLOW, "trace": kinds.RUN, "nodes": kinds.NODE}
    made = []
    for name, values in runs.items():
        made.append(Usage(f"pflow {name}", f"do {name}"))
        made[-1].arguments = [Argument(name.upper(), values)]
        made[-1].flags = [Flag(("-n",), "how many", metavar="N"), Flag(("--json",), "print JSON")]
    return [*made, Usage("pflow-get", "get it")]


def ask(line: str, *, listing: bool = False, breaks: str | None = None, before: str = "") -> list[str]:
    """What bash is told for a TAB at the end of a line, or for a listing; before, it does what else it is told."""
    words = [
        "bash",
        "--norc",
        "-c",
        before + ASK,
        "ask",
        line,
        "63" if listing else "9",
        *([] if breaks is None else [breaks]),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    assert not Path("hit").exists()
    return done.stdout.splitlines()


def offer(kind: str, *lines: str) -> None:
    file = Path(".cache/pflow/completion", kind)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(line + "\n" for line in lines))


def test_a_command_has_a_file():
    assert set(files([_driver(), *_commands(), _node()])) == {"pflow", "pflow-get", "pflow-odd"}


def test_a_nodes_file_depends_on_nothing_but_the_node():
    assert files([_node()])["pflow-odd"] == files([_driver(), *_commands(), _node()])["pflow-odd"]


def test_the_drivers_file_names_no_node():
    assert files([_driver(), *_commands(), _node()])["pflow"] == files([_driver(), *_commands()])["pflow"]
    assert "odd" not in files([_driver(), _node()])["pflow"]


def test_a_secret_is_no_flag():
    assert "token" not in files([_node()])["pflow-odd"]


@pytest.mark.parametrize("text", [ODD, "", "'", "''\\'", "-n", "two\nlines"])
def test_a_quoted_text_is_one_word_as_it_is(text: str):
    done = subprocess.run(["bash", "-c", f"printf '<%s>' {quote(text)}"], capture_output=True, text=True, check=True)
    assert done.stdout == f"<{text}>".replace("\n", " ")


def test_flags_are_listed_data_first_with_their_groups():
    lines = [line.rstrip() for line in ask("pflow-odd --", listing=True)]
    assert lines[:2] == ["--issue-number=  (data) which", "--path=          (data) where"]
    assert [line.split()[0] for line in lines[2:]] == ["--model=", "--hidden", "--no-hidden", "--kind=", "--quiet"]
    assert [line.split()[1] for line in lines[2:]] == ["(params)"] * 4 + ["(common)"]


def test_a_steps_flags_come_before_those_of_the_run():
    names = [line.split()[0] for line in ask("pflow run odd --", listing=True)]
    assert (names[0], names[-1]) == ("--issue-number=", "--json")


def test_a_description_is_shown_as_it_is_and_cut_to_the_terminal():
    line = ask("pflow-odd --m", listing=True)[0]
    assert line == f"--model=  (params) {ODD}"[:58] + "…"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pflow-odd --mo", ["--model="]),
        ("pflow-odd --iss", ["--issue-number="]),
        ("pflow-odd --issue_n", ["--issue_number="]),
        ("pflow-odd --no-", ["--no-hidden"]),
        ("pflow-odd --hidden --h", []),
        ("pflow-odd --no-hidden --h", []),
        ("pflow-odd --issue=1 --iss", []),
        ("pflow-odd --path=a --pa", ["--path="]),
        ("pflow-odd --model --hidden --h", ["--hidden"]),
        ("pflow-odd -q --q", []),
        (
            "pflow-odd -",
            ["--issue-number=", "--path=", "--model=", "--hidden", "--no-hidden", "--kind=", "-q", "--quiet"],
        ),
        ("pflow-odd -- --", []),
        ("pflow-odd ", []),
        ("pflow-odd --unknown=", []),
        ("pflow-odd --kind=", ["files", "\\*", "all"]),
        ("pflow-odd --kind f", ["files"]),
        ("pflow ru", ["run"]),
        ("pflow g", ["get"]),
        ("pflow trace --j", ["--json"]),
        ("pflow odd --mo", ["--model="]),
        ("pflow run odd --path=a :: odd --mo", ["--model="]),
        ("pflow run odd --mo", ["--model="]),
        ("pflow run -n 1 odd --path=a --js", ["--json"]),
        ("pflow run odd ", []),
        ("pflow-odd -- --model=x --mo", []),
        ("pflow odd --path='=> ::' --mo", ["--model="]),
        ("pflow nowhere --mo", []),
        ("pflow $(touch hit) --mo", []),
        ("pflow 'a[$(touch hit)]' --mo", []),
        ("pflow-odd --a[$(touch hit)]=1 --mo", ["--model="]),
    ],
)
def test_a_line_is_completed(line: str, words: list[str]):
    assert ask(line) == words


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("pflow 'odd --mo", "odd --model="),
        ("pflow run 'x => odd --mo", "x => odd --model="),
        ('pflow run "x => odd:id --kind=f', "x => odd:id --kind=files "),
        ("pflow run 'x =failed=> odd --mo", "x =failed=> odd --model="),
        ("pflow run 'x; odd --mo", "x; odd --model="),
        ("pflow run 'x | pflow-odd --mo", "x | pflow-odd --model="),
        ("pflow run 'x\nodd --mo", "x\nodd --model="),
        ("pflow 'odd --kind=\"f", 'odd --kind="files" '),
        ('pflow "odd --kind=\\"f', 'odd --kind=\\"files\\" '),
        ("pflow 'odd --path=it", "odd --path=it\\'\\'\\'s "),
    ],
)
def test_pipe_syntax_in_a_quote_is_completed_and_the_quote_stays_open(line: str, word: str):
    Path("it's").touch()
    assert "\n".join(ask(line)) == f"{word}\n{word} ".replace("it\\'\\'\\'s", "it\\'\\''s")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pflow-odd --model=oll", ["ollama/llama3:8b"]),
        ("pflow-odd --model ollama/llama3:", ["8b"]),
        ("pflow-odd --model=a", ["a\\ b", "a@c"]),
        ("pflow-odd --model=a@", ["@c"]),
        ("pflow-odd --model='a ", ["a b"]),
        ("pflow-odd --model='oll'", ["'oll'ama/llama3:8b"]),
        ('pflow-odd --model="d', ["d\\$e"]),
        ("pflow-odd --model=d", ["d\\$e"]),
    ],
)
def test_a_model_is_completed_behind_what_readline_takes_for_a_words_break(line: str, words: list[str]):
    offer("models", "ollama/llama3:8b\tcolons", "a b\t", "a@c\t", "d$e\t")
    assert ask(line) == words


def test_a_word_is_whole_where_the_breaks_are_taken_away():
    offer("models", "ollama/llama3:8b\tcolons")
    assert ask("pflow-odd --model=ollama/llama3:", breaks=" ") == ["--model=ollama/llama3:8b"]


def test_models_are_listed_with_what_is_said_of_them():
    offer("models", "a:1\t" + "$(touch hit) 'b' [c]", "b\t")
    assert [line.rstrip() for line in ask("pflow-odd --model=", listing=True)] == ["a:1  $(touch hit) 'b' [c]", "b"]


def test_runs_come_newest_first():
    runs = [f"01JD{n:022}" for n in range(3)]
    for run in runs:
        Path(".local/state/pflow/runs", run).mkdir(parents=True)
    Path(".local/state/pflow/runs/.hidden").mkdir()
    offer("runs", f"{runs[1]}\ttoday")
    assert ask("pflow trace ") == runs[::-1]
    assert [line.rstrip() for line in ask("pflow trace ", listing=True)] == [runs[2], f"{runs[1]}  today", runs[0]]


def test_nodes_and_flows_of_ones_own_are_offered():
    nodes, flows = Path(".local/share/pflow/nodes"), Path(".local/share/pflow/flows")
    nodes.mkdir(parents=True)
    flows.mkdir()
    for name in ("my_node.py", "_no.py", "pflow-tool", "pflow-text.interface", "pflow-$(touch hit)"):
        (nodes / name).write_text("touch hit\n")
        (nodes / name).chmod(0o755)
    (flows / "my flow.pflow.json").touch()
    assert ask("pflow my") == ["my-node", "my\\ flow"]
    assert ask("pflow nodes ") == ["my-node", "tool", "my\\ flow"]


def test_nodes_on_the_path_are_offered_once_each_and_never_run():
    for name in (
        "bin/pflow-b",
        "bin/pflow-get",
        "more/pflow-a",
        "more/pflow-b",
        "more/pflow-a.interface",
        "pflow-here",
    ):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("touch hit\n")
        Path(name).chmod(0o755)
    for name in ("more/pflow-$(touch hit)", "more/pflow-c d", "more/pflow-`touch hit`", "more/pflow-new\nline"):
        Path(name).write_text("touch hit\n")
        Path(name).chmod(0o755)
    Path("more/pflow-text").touch(0o644)
    Path("more/pflow-directory").mkdir()
    assert ask("pflow nodes ") == ["b", "a"]
    assert ask("pflow 'x => pflow-") == ["x => pflow-b", "x => pflow-a"]
    assert ask("pflow a") == ["a"]
    assert ask("pflow a --") == []


def test_many_nodes_are_offered_without_what_is_none():
    for folder, letter in (("bin", "y"), ("more", "x")):
        Path(folder).mkdir()
        for name in (*(f"{letter}{n:03}" for n in range(150)), "get", "z.interface", "c d", "$(touch hit)", ""):
            Path(folder, f"pflow-{name}").touch(0o755)
    assert ask("pflow nodes ") == [f"{letter}{n:03}" for letter in "yx" for n in range(150)]
    assert ask("pflow 'x => pflow-x") == [f"x => pflow-x{n:03}" for n in range(150)]
    assert ask("pflow x14") == [f"x14{n}" for n in range(10)]


def test_a_list_with_any_names_in_it_says_what_it_says():
    offer("nodes", "", "\tno name", "@\tat", "*\tstar", "]\tbracket", "a[$(touch hit)]\tx", "mine\tmy own")
    Path("bin").mkdir()
    for name in ("mine", "other"):
        Path("bin", f"pflow-{name}").touch(0o755)
    assert [line.rstrip() for line in ask("pflow nodes ", listing=True)] == ["mine   my own", "other"]


def test_a_model_of_many_is_listed_with_what_is_said_of_it():
    offer("models", *(f"m{n:03}\tmodel {n}" for n in range(150)))
    assert [line.rstrip() for line in ask("pflow-odd --model=m14", listing=True)] == [
        f"m14{n}  model 14{n}" for n in range(10)
    ]


@pytest.mark.parametrize("options", ["", "-s nullglob"])
@pytest.mark.parametrize(
    "line", ["pflow ", "pflow nodes ", "pflow trace ", "pflow 'x => odd --path=", "pflow 'x => no/"]
)
def test_a_pattern_that_nothing_matches_offers_nothing_and_no_option_is_changed_meanwhile(line: str, options: str):
    look = f'shopt {options}; before=$(shopt); compopt() {{ [[ $(shopt) == "$before" ]] || echo changed; }}\n'
    for name in ("bin", "more", ".local/share/pflow/nodes", ".local/share/pflow/flows", ".local/state/pflow/runs"):
        Path(name).mkdir(parents=True)
    assert [word for word in ask(line, before=look) if "*" in word or word == "changed"] == []


def test_more_names_than_fit_a_screen_are_listed_without_what_is_said_of_them():
    offer("models", *(f"m{n}\tmodel {n}" for n in range(100)))
    assert ask("pflow-odd --model=", listing=True)[-1] == "m99"


def test_without_a_home_there_is_only_less(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("HOME")
    assert ask("pflow ") == ["run", "trace", "nodes", "get"]
    assert ask("pflow-odd --model=") == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pflow plan --model=a", ["a-model"]),
        ("pflow plan --edit fi", ["fix-issue"]),
        ("pflow plan 'odd --mo", ["odd --model=", "odd --model= "]),
        ("pflow show ", ["fix-issue"]),
        ("pflow remove fix-issue fi", ["fix-issue"]),
        ("pflow mcp ", ["serve"]),
        ("pflow mcp serve fi", ["fix-issue"]),
        ("pflow find --by=w", ["words"]),
        ("pflow save na", []),
        ("pflow save 'na", []),
        ("pflow save name fi", ["fix-issue"]),
        ("pflow save name odd --mo", ["--model="]),
        ("pflow save name 'odd --mo", ["odd --model=", "odd --model= "]),
        ("pflow 'say it' --al", ["--allow=", "--allow-empty"]),
        ("pflow 'say it' --allow=c", ["commands"]),
        ("pflow 'say it' --allow c", ["commands"]),
        ("pflow 'say it' --model=", ["a-model"]),
        ("pflow 'say it' --show", ["--show-store"]),
        ("pflow 'odd => odd' --al", ["--allow-empty"]),
        ("pflow SENT", []),
    ],
)
def test_what_plans_and_keeps_flows_is_completed(line: str, words: list[str]):
    Path("pflow").write_text(files(typed())["pflow"])
    flows = Path(".local/share/pflow/flows")
    flows.mkdir(parents=True)
    (flows / "fix-issue.pflow.json").touch()
    Path("fix.txt").touch()
    offer("models", "a-model\t")
    assert ask(line) == words
