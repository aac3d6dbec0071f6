"""What may stand at the cursor, asked as the shims ask it: of the lines and the home that a user has."""

import fcntl
import json
import os
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.catalog.find import forget_types
from pflow.completion import shells
from pflow.completion.line import quoted, split
from pflow.completion.shells import answer
from pflow.models import choose
from pflow.models.known import keep_models
from pflow.record.log import LOCK
from pflow.record.records import JOURNAL

ODD_TEXT = 'it\'s "q" [b] a:b $HOME `touch ran` $(touch ran) \\n \\ %B100%% {x} * ~ !!'
ODD = f"""#!/bin/sh
# Interface:
# - Reads: shared["one"]: str  # {ODD_TEXT}
# - Reads: shared["issue_number"]: int = 1 [flag issue]  # which
# - Params: four: bool = false [short F]  # a switch
# - Params: kind: files|some|all = "all"  # which kind
# - Params: list: list[str] = []  # any of them
# - Params: path: path = ""  # where
# - Params: model: str = ""  # which model
# - Params: token: str = "" [secret] [env TOKEN]  # a secret
touch ran
"""
MARKED = """#!/bin/sh
# Interface:
# - Reads: shared["what"]: files|some = "some" [word]  # which
# - Reads: shared["paths"]: list[path] = [] [word]  # where
# - Writes: shared["result"]: list  # what came of it
# - Params: model: str = "" [short m]  # which model
# - Params: option: list[str] = [] [short o] [pairs]  # any of its
# - Params: bare: bool = false [short b]  # a switch
touch ran
"""
FLOW = {
    "pflow": 1,
    "name": "fix-issue",
    "description": "Fix an issue",
    "inputs": {"issue_number": {"type": "int", "description": "its number"}, "draft": {"type": "bool"}},
    "nodes": [{"id": "say", "type": "shell"}],
}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("CACHE", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/nowhere")
    monkeypatch.delenv("PFLOW_NODES", raising=False)
    for folder in ("bin", "docs/sub", "data/pflow/nodes", "data/pflow/flows"):
        Path(folder).mkdir(parents=True)
    for name in ("pflow-odd", "pflow-x.interface", "pflow-$(touch ran)", "pflow-a b"):
        Path("bin", name).write_text(ODD)
        Path("bin", name).chmod(0o755)
    Path("bin/pflow-plain").write_text(ODD)
    Path("bin/pflow-marked").write_text(MARKED)
    Path("bin/pflow-marked").chmod(0o755)
    Path("docs/a file.txt").touch()
    Path("docs/own.gguf").touch()
    Path("docs/it's").touch()
    Path("docs/.hidden").touch()
    Path("docs/new\nline").touch()
    Path("data/pflow/flows/fix-issue.pflow.json").write_text(json.dumps(FLOW))
    keep_models([("ollama/llama3:8b", ODD_TEXT), ("gpt-9", "new\n\x1b[2J"), ("a\nb", "")])
    forget_types()
    yield tmp_path
    forget_types()
    assert not Path("ran").exists()


def offered(line: str) -> list[str]:
    return [each.value for each in answer(split(line)).candidates]


FLAGS = ["--one=", "--issue-number=", "--four", "--no-four", "--kind=", "--list=", "--path=", "--model="]


def test_flags_come_in_their_groups_data_first():
    found = answer(split("pflow-odd --")).candidates
    assert [each.value for each in found][: len(FLAGS)] == FLAGS
    assert list(dict.fromkeys(each.group for each in found)) == ["data", "params", "common"]
    assert found[0].about == f"{ODD_TEXT} [required; from the pipe]"
    assert "--token=" not in [each.value for each in found]


LINES = {
    "pflow-odd --mo": ["--model="],
    "pflow map 'odd a' docs/o": ["own.gguf"],
    "pflow map odd docs/o": ["own.gguf"],
    "pflow map odd --kind so": ["some"],
    "pflow merge docs/o": ["own.gguf"],
    "pflow-odd --issue_n": ["--issue_number="],
    "pflow-odd --no-f": ["--no-four"],
    "pflow-odd --four --fo": [],
    "pflow-odd --no-four --fo": [],
    "pflow-odd --list=a --li": ["--list="],
    "pflow-odd --one --four --fo": ["--four"],
    "pflow-odd -q --qu": [],
    "pflow-odd -- --": [],
    "pflow-odd --unknown=": [],
    "pflow-odd --kind=": ["files", "some", "all"],
    "pflow-odd --kind f": ["files"],
    "pflow-odd --four=": ["true", "false"],
    "pflow-odd --four t": [],
    "pflow-odd --one=": [],
    "pflow-odd --model g": ["gpt-9"],
    "pflow-odd --model=./docs/": ["own.gguf", "sub/"],
    "pflow-odd --path=do": ["docs/"],
    "pflow-odd --path=docs/": ["a file.txt", "it's", "own.gguf", "sub/"],
    "pflow-odd --path=docs/.h": [".hidden"],
    "pflow-odd --path ~/do": ["docs/"],
    "pflow-odd --path=nowhere/": [],
    "pflow-marked ": ["files", "some"],
    "pflow-marked some do": ["docs/"],
    "pflow-marked some a do": ["docs/"],
    "pflow-marked --what=some do": ["docs/"],
    "pflow-marked some --wh": [],
    "pflow-marked -- so": ["some"],
    "pflow-marked -b": ["-b"],
    "pflow-marked --no-b": ["--no-bare"],
    "pflow-marked -m g": ["gpt-9"],
    "pflow-marked -mg": ["gpt-9"],
    "pflow-marked -rbm g": ["gpt-9"],
    "pflow-marked -b --ba": [],
    "pflow-marked -o name so": [],
    "pflow-marked -o name value so": ["some"],
    "pflow-marked --option=name=value --op": ["--option="],
    "pflow-llm --schema=do": ["docs/"],
    "pflow-marked --what@do": ["docs/"],
    "pflow-marked --model@docs/o": ["own.gguf"],
    "pflow-marked --model@a --mo": [],
    "pflow-marked --bare@": [],
    "pflow-marked --retries@": [],
    "pflow-marked --what:=": [],
    "pflow-marked --ea": [],
    "pflow-marked --map-in ": ["what=", "paths="],
    "pflow-marked --map-out=r": ["result="],
    "pflow 'marked => odd --ea": ["--each"],
    "pflow-odd --issue=1 --iss": [],
    "pflow 'marked => odd --path=x/$": ["result", "stdin"],
    "pflow 'marked => odd \"see $r": ["result"],
    "pflow run marked :: odd '$r": ["result"],
    "pflow 'marked => odd --each --path=$i": ["item", "item_name", "item_stem", "item_dir"],
    "pflow 'marked => odd costs 5$, $5-": [],
    'pflow "marked => odd $r': [],
    "pflow marked :: odd $r": [],
    "pflow 'marked => odd \"${r": ["result}"],
    "pflow 'marked => odd \"${marked.": ["marked.result}"],
    "pflow-get resp": ["response"],
    "pflow 'marked => odd --each=": ["marked.result"],
    "pflow run marked :: odd --each=": ["marked.result"],
    "pflow 'odd --each --jo": ["--jobs="],
    "pflow 'summarize ": [],
    "pflow 'odd --each --ea": [],
    "pflow 'marked:a; marked => odd --map-in=one=": ["one=a.result", "one=marked.result"],
    "pflow 'marked so": ["some"],
    "pflow run marked some do": ["docs/"],
    "pflow 'odd --one@do": ["docs/"],
    "pflow fix-issue --issue-number@do": ["docs/"],
    "VAR=x pflow-odd --mo": ["--model="],
    "./bin/pflow-odd --mo": ["--model="],
    "pflow ru": ["run", "runs"],
    "pflow help ru": ["run", "runs"],
    "pflow help ex": ["exit", "explain", "export", "export-dashboard"],
    "pflow --vers": ["--version"],
    "pflow od": ["odd"],
    "pflow ge": ["get"],
    "pflow fix": ["fix-issue"],
    "pflow odd --mo": ["--model="],
    "pflow get --nu": ["--null"],
    "pflow fix-issue --iss": ["--issue-number="],
    "pflow fix_issue --dr": ["--draft", "--dry-run"],
    "pflow fix-issue --jo": ["--jobs="],
    "pflow trace --st": ["--store"],
    "pflow nodes od": ["odd"],
    "pflow export --to=mer": ["mermaid"],
    "pflow plan --edit fix": ["fix-issue"],
    "pflow show ": ["fix-issue"],
    "pflow remove a fix": ["fix-issue"],
    "pflow mcp re": ["refresh", "remove"],
    "pflow find --by=w": ["words"],
    "pflow save na": [],
    "pflow save name fix": ["fix-issue"],
    "pflow save name odd --mo": ["--model="],
    "pflow run do": ["docs/"],
    "pflow run odd --jo": ["--jobs="],
    "pflow run --jobs 1 odd --fo": ["--four"],
    "pflow run odd :: fl": ["flow:fix-issue"],
    "pflow run flow:fi": ["flow:fix-issue"],
    "pflow help flow:": ["flow:fix-issue"],
    "pflow install --allow=ne": ["network"],
    "pflow run read-file '=>' od": ["odd"],
    "pflow read-file =failed=\\> pflow-odd:draft --mo": ["--model="],
    "pflow 'od": ["odd"],
    "pflow 'a => odd --kind=f": ["files"],
    'pflow run "a --x=\\$y | odd:id --mo': ["--model="],
    "pflow 'a; odd --mo": ["--model="],
    "pflow 'a\nodd --mo": ["--model="],
    'pflow \'odd --one="a => b" --mo': ["--model="],
    "pflow 'odd --one=\"a => od": [],
    "pflow plan 'odd --mo": ["--model="],
    "pflow 'fix": ["fix-issue"],
    "pflow 'fix-issue --iss": ["--issue-number="],
    "pflow 'odd --ret": ["--retries="],
    "pflow 'odd --rep": ["--repeats"],
    "pflow 'odd --js": [],
    "pflow odd :: odd --js": ["--json"],
    "pflow odd :: odd --des": [],
    "pflow 'odd:check => che": ["check"],
    "pflow odd:check :: odd:other :: o": ["other", "odd"],
    "pflow 'odd --one=a => odd' --odd-2.ki": ["--odd-2.kind="],
    "pflow 'odd --one=a => odd' --ki": [],
    "pflow run 'odd => plain' --ki": ["--kind="],
    "pflow run 'odd => plain' --odd.fo": ["--odd.four"],
    "pflow run 'odd => plain' --no-odd.f": ["--no-odd.four"],
    "pflow run 'odd => llm --prompt=x' --pro": ["--prompt="],
    "pflow 'fix-issue --say.command=": [],
    "pflow run 'odd --one=a => odd' --odd-2.kind=s": ["some"],
    "pflow run fix-issue --iss": ["--issue-number="],
    "pflow run data/pflow/flows/fix-issue.pflow.json --iss": ["--issue-number="],
    "pflow check fix-issue --s": ["--strict", "--schema"],
    "pflow check odd --o": ["--one="],
    "pflow test-node od": ["odd"],
    "pflow test-node -k dr": ["dry-run"],
    "pflow models get s": ["smollm2"],
    "pflow test-node ./do": ["docs/"],
    "pflow 'say it' --al": ["--allow=", "--allow-empty"],
    "pflow 'say it' --allow=co": ["commands"],
    "pflow 'say it' --show": ["--show-store"],
    "pflow 'odd => odd' --al": ["--allow-empty"],
    "pflow nowhere --": [],
    "pflow $(touch ran) --mo": [],
    "pflow SENT": [],
}


@pytest.mark.parametrize("line", LINES)
def test_what_is_typed_decides_what_may_follow(line):
    assert offered(line) == LINES[line]


def test_a_flow_on_stdin_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("pflow.flow.subflow.read_text", None)
    assert offered("pflow run - --js") == ["--json"]


def test_the_newest_run_is_the_last_too():
    assert "last" not in offered("pflow trace ")
    for letter in "AB":
        run = Path(f"state/pflow/runs/01JD000000000000000000000{letter}")
        run.mkdir(parents=True)
        (run / "trace.jsonl").touch()
    assert offered("pflow trace ") == ["last", "01JD000000000000000000000B", "01JD000000000000000000000A"]
    assert offered("pflow trace l") == ["last"]
    steps = {"nodes": [{"id": "draft", "type": "llm"}, {"id": "save", "type": "write-file"}]}
    (run / "flow.pflow.json").write_text(json.dumps(steps))
    assert offered("pflow why l") == ["last"]
    assert offered("pflow why last ") == offered("pflow why 01JD000000000000000000000B ") == ["draft", "save"]
    assert offered("pflow why last draft --against=l") == ["last"]
    assert offered("pflow-odd --cache=") == ["require"]


def test_the_steps_of_a_run_are_known_where_one_is_named():
    for letter, id in (("A", "ask"), ("B", "act")):
        run = Path(f"state/pflow/runs/01JD000000000000000000000{letter}")
        run.mkdir(parents=True)
        (run / "trace.jsonl").touch()
        (run / JOURNAL).write_text("begun")
        (run / "flow.pflow.json").write_text(f'{{"nodes": [{{"id": "{id}", "type": "llm"}}]}}')
    assert offered("pflow resume @2 --redo=") == offered("pflow resume 01JD000000000000000000000A --only ") == ["ask"]
    assert offered("pflow resume --skip=a") == ["act"]
    assert offered("pflow resume nope --from=") == []
    assert offered("pflow resume l") == offered("pflow trace l") == ["last"]
    assert offered("pflow cancel 0") == []
    with open(run / LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert offered("pflow cancel 0") == ["01JD000000000000000000000B"]
    (run / JOURNAL).unlink()
    assert offered("pflow resume ") == ["01JD000000000000000000000A"]
    assert offered("pflow trace ")[:2] == ["last", "01JD000000000000000000000B"]


@pytest.mark.parametrize("text", ["#!/bin/sh\n", "#!/bin/sh\n# Interface:\n# - Reads: nonsense\n"])
def test_a_node_without_a_sound_interface_has_the_flags_of_every_stage(text):
    Path("bin/pflow-odd").write_text(text)
    assert offered("pflow-odd --from=s") == ["store"]


def test_where_the_shell_says_what_stands_before_the_pipe_its_keys_come_after_pflow_get(monkeypatch):
    monkeypatch.setenv("PFLOW_LINE", "cat a | pflow-marked 'a | b' | pflow-get r")
    assert offered("pflow-get ") == ["result"]


def test_models_that_can_be_asked_come_before_those_without_a_key(monkeypatch):
    models = {
        name: SimpleNamespace(
            model_id=name, needs_key=needed, get_key=lambda name=name: "x" if name == "with" else None
        )
        for name, needed in (("without", "one"), ("with", "two"), ("local", None))
    }
    monkeypatch.setattr(choose.settings, "load_models", lambda: models)
    choose.all_models()
    assert offered("pflow-odd --model=") == ["local", "with", "without"]


@pytest.mark.parametrize("spoil", [lambda file: file.chmod(0o666), lambda file: (file.unlink(), os.mkfifo(file))])
def test_a_list_of_models_that_others_may_write_is_not_read(spoil):
    assert offered("pflow-odd --model=g") == ["gpt-9"]
    spoil(Path("cache/pflow/completion/models"))
    assert offered("pflow-odd --model=g") == []


def test_without_a_home_there_is_only_less(monkeypatch):
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name)
    assert offered("pflow-odd --model=") == offered("pflow trace 0") == offered("pflow fix") == []
    assert offered("pflow ru") == ["run", "runs"]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), min_size=1))
def test_a_line_is_taken_apart_as_a_shell_does(words):
    line = split(f"{shlex.join(words)} 'x y")
    assert (line.words, line.word, line.quote) == (words, "x y", "'")


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), st.sampled_from(["", "'", '"']))
def test_a_value_is_read_back_as_it_was_quoted(text, quote):
    line = split(quote + quoted(text, quote))
    assert (line.words, line.word, line.quote) == ([], text, quote)


@pytest.fixture
def told(capfdbinary):
    """Asks as the shim of a shell does: the lines of the answer."""

    def ask(*words: str) -> list[str]:
        assert shells.main([*words]) == 0
        return capfdbinary.readouterr().out.decode("utf-8", "surrogateescape").split("\n")[:-1]

    return ask


OPEN, ENDED = "-o nospace", "+o nospace"
REDIRECTED = [
    *("<d", "< d", "2>d", "2> d", "&>d", "&>> d", ">|d", ">| d", "<<< d", ">&d", "1<> d", "--kind=some>d"),
    *("<a <d", "<a\\ b 2>&1 >d", "<'a b' >\"d e", "--path $(cat <a b) >d", "<(cat d", "$(cat 'a b' d", ">( tee d"),
]
PASSED_OVER = ["<a", "2>&1", "&>'a b'", ">| a\\ b", "--one=x>a", "<(cat a b)", "> >(tee a)", "--one $(echo '(' a)"]


def of_bash(line: str, *, type: str = "9", breaks: str = " \t\n\"'><=;|&(:") -> list[str]:
    return ["bash", type, "60", breaks, line]


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        ("pflow-odd --mo", [OPEN, "--model="]),
        ("pflow-odd --model=oll", [ENDED, "ollama/llama3:8b"]),
        ("pflow-odd --model ollama/llama3:", [ENDED, "8b"]),
        ("pflow-odd --model='oll'", [ENDED, "'oll'ama/llama3:8b"]),
        ("pflow-odd --kind=s", [ENDED, "some"]),
        ("pflow run flow:fi", [ENDED, "fix-issue"]),
        ('pflow-odd --kind="', [OPEN, "files", "some", "all"]),
        ("pflow-odd --path=docs/a", [ENDED, "docs/a\\ file.txt"]),
        ("pflow-odd --path 'docs/i", [ENDED, "docs/it'\\''s"]),
        ("pflow-odd --path 'do", [OPEN, "docs/", "docs/ "]),
        ("pflow 'a => odd --mo", [OPEN, "a => odd --model=", "a => odd --model= "]),
        ("pflow 'odd --kind=\"f", [OPEN, 'odd --kind="files" ', 'odd --kind="files"  ']),
        ('pflow "odd --path=docs/a', [OPEN, "odd --path=docs/a\\\\ file.txt ", "odd --path=docs/a\\\\ file.txt  "]),
        ("pflow nowhere --", []),
        *((f"pflow-odd {typed}$HOME/d", ["-o default"]) for typed in ("", "--path=", '--path="')),
        *((f"pflow-odd {typed}", ["-o default"]) for typed in REDIRECTED),
        *((f"pflow-odd {typed} --mo", [OPEN, "--model="]) for typed in PASSED_OVER),
    ],
)
def test_bash_gets_what_readline_puts_in_the_place_of_its_word(told, line, reply):
    assert told(*of_bash(line)) == reply


def test_bash_lists_what_is_said_of_each_cut_to_the_terminal(told):
    lines = told(*of_bash("pflow-odd --is", type="63"))
    assert [line.rstrip() for line in lines] == [OPEN, "--issue-number=  (data) which [default 1]"]
    assert told(*of_bash("pflow-odd --o", type="63"))[1] == f"--one=  (data) {ODD_TEXT}"[:58] + "…"


def test_fish_gets_whole_words_with_their_groups(told):
    assert told("fish", "pflow-odd --mo") == ["--model=\t[params] which model"]
    assert told("fish", "pflow 'a => odd --kind=\"f") == [f'a => odd --kind="files"{end}\t' for end in (" ", "  ")]
    assert told("fish", "pflow 'a => odd --path=docs/a\\\\ f")[0] == "a => odd --path=docs/a\\ file.txt \t"
    assert told("fish", "pflow fix") == ["fix-issue\t[flow] Fix an issue"]


def test_zsh_gets_groups_and_where_the_word_begins(told):
    kept, data, *_ = told("zsh", "80", "0", "pflow-odd --")
    tag, title, suffix, how, value, text, *_ = data.split("\t")
    assert (kept, tag, title, suffix, how, value) == ("0", "data", "Data (into the store)", "-qS=", "-l", "--one")
    assert (text[:6], text[-1], len(text)) == ("--one ", "…", 79)
    assert ODD_TEXT[:40] in text
    assert told("zsh", "80", "1", "pflow 'a => odd --kind=f") == ["16", "values\tValues\t-qS \t\tfiles\tfiles"]


def test_nothing_that_moves_a_cursor_reaches_a_terminal(told):
    lines = [*told("fish", "pflow-odd --model="), *told(*of_bash("pflow-odd --model=", type="63"))]
    assert all(line.replace("\t", "").isprintable() for line in lines)
    assert "ran" not in os.listdir()


def test_the_shims_are_short():
    root = Path(__file__).parent.parent.parent / "completions"
    shims = [root / "bash" / "pflow", root / "zsh" / "_pflow", root / "fish" / "pflow.fish"]
    assert sum(len(file.read_text().splitlines()) for file in shims) <= 75
    assert {len(file.read_text().splitlines()) for file in (root / "bash").iterdir() if file not in shims} == {1}


@pytest.mark.parametrize("text", ['{"inputs": []}', "[]", "", "{", '{"a": "\\ud800"}'])
def test_a_broken_flow_has_the_flags_of_a_run(text):
    Path("data/pflow/flows/fix-issue.pflow.json").write_text(text)
    assert "--jobs=" in offered("pflow fix-issue --")


def test_an_input_goes_by_the_flag_that_means_it():
    flow = {"inputs": {"jobs": {"type": "path"}}, "nodes": [{"id": "read", "type": "read-file"}]}
    flow["mappings"] = {"read": {"input_mappings": {"path": "jobs"}}}
    Path("data/pflow/flows/fix-issue.pflow.json").write_text(json.dumps(flow))
    assert offered("pflow fix-issue --read.p") == ["--read.path="]
    assert offered("pflow fix-issue --read.path=do") == ["docs/"]
