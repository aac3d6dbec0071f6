"""Exported scripts: how they look, what they take, how they fail, what they refuse, and the store they end with."""

import json
import subprocess

import pytest
from hypothesis import example, given

from pflow.catalog.find import forget_types
from pflow.errors import PflowError
from pflow.export import exporter
from pflow.flow.load import load_text
from pflow.flow.wiring import wire
from tests.export.cases import CASES, Case, batch, chain, node, reads
from tests.export.hostile import SH, every_place, exported, few, hostile
from tests.export.running import BIN, export, lay_out, run, store_of
from tests.tools import need

LINES = {name: case for name, case in CASES.items() if not case.sh}


def script(flow):
    return exporter("sh").export(wire(load_text(json.dumps(flow), "flow").usable()))


def pipe(flow):
    """The script's last paragraph."""
    return script(flow).rstrip("\n").rpartition("\n\n")[2]


lines = pytest.mark.parametrize("case", LINES.values(), ids=LINES)


@lines
def test_shellcheck_has_nothing_to_say(tmp_path, case):
    need("shellcheck")
    file = export("sh", case, tmp_path)
    done = subprocess.run(["shellcheck", str(file)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)


def test_a_chain_is_a_pipe_of_its_nodes():
    flow = chain(
        node("read", "read-file", inputs={"path": "a b.txt"}),
        node("draft", "llm", inputs={"prompt": "It's"}, params={"temperature": 0.5}, retries=2),
        node("save", "write-file", inputs={"path": "out.md"}),
        mappings=reads(draft={"text": "content"}, save={"content": "draft.response"}),
    )
    assert pipe(flow) == (
        "pflow-read-file -n --path='a b.txt' |\n"
        '    pflow-llm --prompt="It\'s" --temperature=0.5 --map-out=response=draft.response --retries=2 |\n'
        "    pflow-write-file --path=out.md"
    )


def test_a_batch_is_a_run_of_its_step_whose_failing_item_ends_the_script(tmp_path):
    flow = "read-file --each => write-file --path=never.txt --content=x"
    case = Case(flow, {}, stdin=b"a.txt\nnone.txt\n")
    assert "    pflow run 'read-file --id=read-file " in export("sh", case, tmp_path).read_text()
    done = run_script(case, tmp_path)
    assert done.returncode == 66
    assert "item 2 (\"none.txt\"): cannot read 'none.txt': no such file or directory\n" in done.stderr.decode()
    for stdin, why in ((b"", "stdin was empty"), (b'{"a":\n1}', "it begins as JSON and is not a list")):
        done = run_script(Case(flow, {}, stdin=stdin), tmp_path)
        assert (done.returncode, why in done.stderr.decode()) == (66 if not stdin else 65, True)
    assert not (tmp_path / "never.txt").exists()


BATCHES = (
    "say --value='$item' --tone=t --each=l --keep-going --with-item",
    "say --tone='$item_stem' --each=l",
    chain(node("read-file", inputs={"path": "a.txt"}), node("say", inputs={"tone": "$item"}, batch=batch("l"))),
)


@pytest.mark.parametrize("flow", BATCHES)
def test_a_batch_ends_with_the_store_of_the_flow(tmp_path, flow):
    case, items = Case(flow, {}), '--l=["a.b","c"]'
    done = run([str(BIN / "pflow"), "run", lay_out(case, tmp_path), items, "-j"], case, tmp_path)
    assert store_of(run_script(case, tmp_path, items)) == store_of(done)


def test_a_node_with_the_name_of_a_command_is_not_taken_for_it(tmp_path, monkeypatch):
    interface = '# Interface:\n# - Reads: shared["text"]: str [pipe]\n# - Writes: shared["out"]: str [pipe]\n'
    for name in ("check", "pick"):
        (tmp_path / f"pflow-{name}").write_text(f"#!/bin/sh\n{interface}\njq '.out = .text + \"{name}\"'\n")
        (tmp_path / f"pflow-{name}").chmod(0o755)
    monkeypatch.setenv("PFLOW_NODES", str(tmp_path))
    forget_types()
    flow = chain(
        node("check", "check", inputs={"text": "a"}), node("pick", "pick"), mappings=reads(pick={"text": "out"})
    )
    assert pipe(flow) == "pflow pflow-check -n --text=a |\n    pflow pick"


def test_what_the_pipe_carries_needs_no_mapping_and_anything_else_one():
    flow = chain(
        node("read", "read-file", inputs={"path": "a"}),
        node("one", "say", inputs={"tone": "1"}),
        node("two", "say"),
        mappings=reads(one={"value": "content"}, two={"value": "content"}),
    )
    assert pipe(flow).splitlines()[1:] == ["    pflow say --tone=1 |", "    pflow say --map-in=value=content"]


def test_a_template_that_uses_what_the_pipe_carries_leaves_the_read_to_a_mapping():
    flow = chain(
        node("read", "read-file", inputs={"path": "a"}),
        node("say", inputs={"tone": "$content"}),
        mappings=reads(say={"value": "content"}),
    )
    assert pipe(flow).splitlines()[1] == "    pflow say --tone='${content}' --map-in=value=content"


def test_only_a_flow_that_takes_nothing_from_the_pipe_or_its_store_reads_no_stdin():
    assert pipe(chain(node("say"))) == "pflow say"
    assert pipe(chain(node("say", inputs={"value": "x"}))) == "pflow say --value=x"  # the store may have 'tone'
    assert pipe(chain(node("say", inputs={"value": "x", "tone": "y"}))) == "pflow say -n --value=x --tone=y"


def run_script(case, folder, *flags):
    return run(["sh", str(export("sh", case, folder)), *flags], case, folder)


GIVEN = CASES["given inputs"].flow
TYPED = {
    "inputs": {"n": {"type": "int"}, "env": {"type": "a|b"}},
    **chain(node("say", inputs={"value": "${n} ${env}"})),
}


@pytest.mark.parametrize(
    ("flow", "store", "flags", "exit", "said"),
    [
        (GIVEN, None, (), 66, "cannot find 'n' for say, 's' (how) for say, 'l' for say: nothing gives it (PF03)"),
        (GIVEN, None, ("--n=1", "--s=x"), 66, "cannot find 'l' for say: nothing gives it (PF03)"),
        (GIVEN, None, ("--nope=1",), 2, "cannot take --nope: no such flag"),
        (GIVEN, None, ("--n=a", "--s=x", "--l=[]"), 2, "cannot take --n='a': it is not an int"),
        (TYPED, {"n": 7, "env": "a"}, (), 0, "7 a"),
        (TYPED, {"n": 7}, ("--env=b",), 0, "7 b"),
        (TYPED, {"n": 7, "env": "a"}, ("--n=8",), 0, "8 a"),
        (TYPED, {"n": 7, "env": "c"}, (), 65, "cannot take env='c': it is not one of a, b"),
        (TYPED, {"n": "x", "env": "a"}, (), 65, "cannot take n='x': it is not an int"),
        (TYPED, {"n": 7}, ("--env=c",), 2, "cannot take --env='c': it is not one of a, b"),
        (TYPED, {"env": "a"}, (), 66, "cannot find 'n' for say: nothing gives it (PF03)"),
    ],
)
def test_a_script_takes_flags_and_the_store_of_its_pipe_as_the_flow_does(tmp_path, flow, store, flags, exit, said):
    case = Case(flow, {}, stdin=store and json.dumps({"$pflow": {"v": 1}, **store}).encode())
    by_run = run([str(BIN / "pflow"), "run", lay_out(case, tmp_path), *flags, "-j"], case, tmp_path)
    errors = []
    for done in (by_run, run_script(case, tmp_path, *flags)):
        document = json.loads(done.stdout)
        errors.append(error := document["$pflow"].get("error", {}))
        shown = error["message"] if exit else document["said"]["value"]
        assert (done.returncode, error.get("exit", 0), shown) == (exit, exit, said)
    assert errors[0].get("missing") == errors[1].get("missing")


@lines
def test_an_exported_script_is_imported_as_the_flow_that_it_was(tmp_path, case):
    file = export("sh", case, tmp_path)
    again = run([str(BIN / "pflow"), "import", str(file), "-o", "again.pflow.json"], case, tmp_path)
    assert again.returncode == 0, again.stderr.decode()
    done = run([str(BIN / "pflow"), "run", "again.pflow.json", "-j", *case.flags], case, tmp_path)
    assert store_of(done) == case.store


def test_two_inputs_of_a_script_share_no_flag():
    """Nor does a switch turned off: --no-x."""
    two = chain(node("a", "llm", inputs={"prompt": "$question"}), node("b", "llm", inputs={"prompt": "$style"}))
    assert '"flags"' not in script(two)
    assert '"flags":["prompt"]' in script(chain(two["nodes"][0]))
    inputs = {"x": {"type": "bool"}, "no_x": {"type": "str"}}
    with pytest.raises(PflowError, match="two of its inputs have the flag --no-x"):
        script(chain(node("a", "llm", inputs={"prompt": "$x$no_x"}), inputs=inputs))


@pytest.mark.parametrize(
    ("stdin", "flags", "exit"),
    [(b"in", (), 0), (b"in", ("--content=x",), 64), (b"", ("--content=x",), 0), (None, (), 66)],
)
def test_a_flag_of_a_script_leaves_the_data_of_its_pipe_to_others(tmp_path, stdin, flags, exit):
    case = Case(chain(node("save", "write-file", inputs={"path": "o.txt"})), {}, stdin=stdin)
    assert run_script(case, tmp_path, *flags).returncode == exit
    assert exit or (tmp_path / "o.txt").read_text() == ("x" if flags else "in")


def test_a_script_without_inputs_takes_no_flags(tmp_path):
    done = run_script(CASES["one step"], tmp_path, "x")
    assert (done.returncode, json.loads(done.stdout)["$pflow"]["error"]["exit"]) == (2, 2)
    assert "cannot take the bare word 'x'" in done.stderr.decode()


@pytest.mark.parametrize("name", ["a mapping", "a chain by names"])
def test_the_exit_code_is_that_of_the_stage_that_failed(tmp_path, name):
    file = export("sh", CASES[name], tmp_path)
    (tmp_path / "a.txt").unlink()
    done = run(["sh", str(file)], CASES[name], tmp_path)
    assert done.returncode == 66
    assert json.loads(done.stdout)["$pflow"]["error"]["exit"] == 66


NASTY = "$x ${y} $$ `z` \"q\" 'a' \\ \\n * ~ ! # ; | & > < ( ) \t é\n\n"


def test_any_text_arrives_as_it_is(tmp_path):
    flow = chain(node("say", inputs={"value": NASTY.replace("$", "$$")}))
    file = "it's $$HOME.txt"
    save, again = node("save", "write-file", inputs={"path": file}), node("again", "say", inputs={"tone": "$s"})
    flow |= {"nodes": [*flow["nodes"], save, again]}
    flow["mappings"] = reads(save={"content": "value"}, again={"value": "s"})
    done = run_script(Case(flow, {}), tmp_path, f"--s={NASTY}")
    assert store_of(done)["said"] == {"value": NASTY, "tone": NASTY}
    assert (tmp_path / "it's $HOME.txt").read_text() == NASTY


@pytest.mark.parametrize(
    ("flow", "why"),
    [
        (chain(node("judge"), node("say")), "'judge' may return good, which ends the flow there"),
        (chain(node("llm", params={"model": None}, inputs={"prompt": "x"})), "no flag gives 'llm' its 'model'"),
        (chain(node("say"), inputs={"value": {"type": "any", "pipe": True}}), "takes the data from the pipe"),
        (chain(node("llm", params={"system": "a\0b"}, inputs={"prompt": "x"})), "no flag gives that value"),
        (chain(node("write-file", inputs={"path": "$item"}, batch=batch("l"))), "'content': an item would fill it"),
        (chain(node("say", inputs={"value": "$item"}, batch=batch('["/\\u0000"]'))), "a text in it contains NUL"),
    ],
)  # fmt: skip
def test_what_a_stage_cannot_do_is_refused(flow, why):
    with pytest.raises(PflowError) as caught:
        script(flow)
    assert caught.value.exit == 65
    assert why in caught.value.message


@pytest.mark.parametrize(("check", "flag"), [(True, "--check"), (False, "--no-check")])
def test_a_shell_that_may_return_error_is_no_hindrance_for_that_goes_on(check, flag):
    flow = chain(
        node("sh", "shell", inputs={"command": "x"}, params={"check": check}),
        node("say"),
        mappings=reads(say={"value": "stdout"}),
    )
    assert pipe(flow).startswith(f"pflow-shell --command=x {flag} |")


@pytest.fixture(scope="module")
def stubs(tmp_path_factory):
    """A directory with programs in place of the stages: they take what they are given, and do nothing."""
    folder = tmp_path_factory.mktemp("stubs")
    for name in ("pflow", "pflow-set", "pflow-shell"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return folder


@every_place
@few
@given(hostile)
@example(SH)
def test_a_script_runs_nothing_but_its_stages(stubs, here, make, text):
    code, wired = exported("sh", make, text)
    if not code:
        return
    needed = [f"--{name.replace('_', '-')}=x" for name, each in wired.inputs.items() if each.required]
    done = subprocess.run(
        ["/bin/sh", "-s", "--", *needed], input=code.encode(), cwd=here, env={"PATH": str(stubs)},
        capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list(here.iterdir()) == []


OTHERS = {name: case for name, case in CASES.items() if case.sh}


@lines
def test_an_exported_script_ends_with_the_store(tmp_path, case):
    file = export("sh", case, tmp_path)
    need(*["bash"] * bool(case.flags))
    for shell in ("sh", "bash") if case.flags else ("sh",):
        assert store_of(run([shell, str(file), *case.flags], case, tmp_path)) == case.store


@pytest.mark.parametrize("case", OTHERS.values(), ids=OTHERS)
def test_what_no_script_can_do_is_refused_and_why_is_said(tmp_path, case):
    done = run([str(BIN / "pflow"), "export", "--to=sh", lay_out(case, tmp_path)], case, tmp_path)
    assert (done.returncode, done.stdout) == (65, b"")
    assert "pflow: cannot export the flow to sh: " in done.stderr.decode()
    assert case.sh in done.stderr.decode().splitlines()[-1]
