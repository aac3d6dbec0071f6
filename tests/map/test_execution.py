"""A map as the installed program runs it: its rows, what it says, how it ends, and how it goes on."""

import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from pflow.map.execution import MapExecution

ITEMS = ["items", "--from=lines"]
LOG = 'shell "echo $1 >>log; test -e ready" $item --repeats'
WHY = "shell: cannot finish '{}': exit code 1 (with --no-check it goes on with the action error)"
BAD = WHY.format("[ $1 != 2 ]")


@pytest.fixture
def run(warm, tmp_path):
    """Run pflow; return its exit code, its stdout, and its stderr with ID for each run."""
    (tmp_path / "items").write_text("1\n2\n3\n4\n")
    places = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "STATE", "CACHE", "DATA")}
    env = {**os.environ, **places, "HOME": str(tmp_path), "NO_COLOR": "1"}
    pflow = str(Path(sys.executable).parent / "pflow")

    def run(*words, items=""):
        done = warm.run([pflow, *words], input=items, cwd=tmp_path, env=env)
        said = re.sub(r"\b0[0-9A-Z]{25}", "ID", done.stderr).replace("pflow map: ", "")
        return done.returncode, done.stdout, said

    return run


def test_a_map_runs_what_is_left_of_its_ledger_and_says_how_much_that_is(run, tmp_path):
    words = ['shell "[ $1 != 2 ] || test -e ready" $item --repeats', *ITEMS, "--ledger=l.db", "-j1"]
    told = f"1 failed like this: {WHY.format('[ $1 != 2 ] || test -e ready')}\n1 of 4 items failed: pflow trace ID"
    told += " lists them; pflow resume ID --failed tries them again\n"
    assert run("map", *words, "--estimate") == (0, "0 done, 4 to do\n", "")
    assert run("map", *words, "-r") == (1, "\n\n\n", f"0 done, 4 to do\n{told}")
    assert run("map", *words, "--estimate")[1].startswith("3 done, 1 to do")
    assert run("map", *words, "-q") == (1, "", told)
    (tmp_path / "ready").touch()
    assert run("map", *words, "-r") == (0, "\n\n\n\n", "3 done, 1 to do\n")
    assert run("map", *words, "-r") == (0, "\n\n\n\n", "4 done, 0 to do\n")
    other = run("map", 'shell "[ $1 != 3 ]" $item', *words[1:])
    assert (other[0], "its map had other 'flow'; --accept-changes goes on anyway" in other[2]) == (78, True)
    assert run("map", 'shell "[ $1 != 3 ]" $item', *words[1:], "--accept-changes", "-r")[:2] == (0, "\n\n\n\n")


def test_a_shard_a_limit_and_a_sample_take_some_of_the_items(run):
    every = [run("map", "template $item", *ITEMS, f"--shard={number}/3", "-r") for number in (1, 2, 3)]
    assert [said for _, _, said in every] == [f"0 done, {out.count(chr(10))} to do\n" for _, out, _ in every]
    assert sorted("".join(out for _, out, _ in every).split()) == ["1", "2", "3", "4"]
    assert run("map", "template $item", *ITEMS, "--limit=2", "-r", "--progress=none") == (0, "1\n2\n", "")
    code, out, said = run("map", "template $item", *ITEMS, "--sample=3", "-r")
    assert (code, len({*out.split()}), said) == (0, 3, "0 done, 3 to do\n")


@pytest.mark.parametrize(
    ("words", "items", "code", "out", "said"),
    [
        (['template "<$item>"', "-r"], "a\nb\n", 0, "<a>\n<b>\n", ""),
        (["template $item", *ITEMS, "-q"], "", 0, "", ""),
        (["template $item", "--allow-empty"], "", 0, "", ""),
        (["template $item"], "", 66, "", "stdin was empty"),
        (["template $name"], '{"name":"Bo"}\n', 0, '{"name":"Bo","text":"Bo"}\n', ""),
        (["template $item", "--format=csv", *ITEMS], "", 0, "item,text,error\n1,1,\n2,2,\n3,3,\n4,4,\n", "4 to do"),
        (["template $item", "-n"], "", 2, "", "the items come from stdin"),
        (["template $item", *ITEMS, "--jobs=5000"], "", 2, "", "each item of this flow has a process of its own"),
        (["template $item", *ITEMS, "--no-journal"], "", 2, "", "cannot take --no-journal for a map"),
        (["template $item", *ITEMS, "--errors=items"], "", 2, "", "to 'items': the items come from it"),
        (["template $item", *ITEMS, "--errors=l", "--ledger=l"], "", 2, "", "to 'l': it is the ledger"),
        (["template $item", *ITEMS, "--dry-run"], "", 0, "", "would run template"),
        (["template $item", "--dry-run"], "", 66, "", "stdin was empty"),
        (["nothing-like-it", *ITEMS], "", 65, "", "nothing-like-it"),
        (['shell "[ $1 != 2 ]" $item', *ITEMS, "-j1", "-q"], "", 1, "", f"1 failed like this: {BAD}"),
        (['shell "[ $1 != 2 ]" $item', *ITEMS, "-j1", "-q"], "", 1, "", "1 of them have begun a step that does not"),
    ],
)
def test_a_map_ends_with_its_code_and_says_why(run, words, items, code, out, said):
    ended = run("map", *words, items=items)
    assert ended[:2] == (code, out)
    assert said in ended[2]
    assert ended[2] == "" or said


def test_items_that_failed_in_a_map_before_count_too():
    noted = []
    items = SimpleNamespace(check_end=lambda: None, is_stdin=False, before=SimpleNamespace(header={"failed": 3}))
    execution = SimpleNamespace(
        map=SimpleNamespace(is_resumed=False, items=items), resume_command="pflow resume ID", run_id="ID",
        output=SimpleNamespace(note_failed=noted.append),
    )  # fmt: skip
    loop, progress = SimpleNamespace(causes=list, stopped=None, ledger=SimpleNamespace(changed=0)), SimpleNamespace
    assert MapExecution._report_end(execution, loop, progress(failed=1, done=2, begun_items=0)) == 1
    assert noted == [4]


def test_the_number_of_all_items_counts_those_done_failed_and_to_do():
    found = SimpleNamespace(is_most=False, done=1, failed=2, to_do=3, cost=None, words=str)
    chosen = SimpleNamespace(are_read_once=False)
    map = SimpleNamespace(chosen=chosen, estimate=lambda *_, **__: found, say=str, asks_nothing=True)
    assert MapExecution._announce(SimpleNamespace(map=map, options=SimpleNamespace(limit=None)), None) == 6


def test_a_map_that_was_stopped_goes_on_from_a_pipe_that_brings_its_items(run, tmp_path):
    code, out, said = run("map", LOG, "-j1", "--halt=now,fail=2", items="1\n2\n3\n")
    assert (code, out.count('"error":')) == (1, 2)
    assert said.endswith("2 of 2 items failed, which --halt takes as the end; … | pflow resume ID goes on\n")
    (tmp_path / "ready").touch()
    missed = "1 items that were not done have not come again; … | pflow resume ID takes them\n"
    assert run("resume", "last", "-r", items="1\n") == (1, "\n", missed)
    code, out, said = run("resume", "last")
    assert (code, out, "now none came; pipe them again: … | pflow resume ID" in said) == (64, "", True)
    assert run("resume", "last", "-r", items="1\n2\n3\n") == (0, "\n\n\n", "1 done before in this ledger\n")
    assert (tmp_path / "log").read_text().split() == ["1", "2", "1", "2", "3"]
    code, out, said = run("resume", "last", items="1\n")
    assert (code, out, "cannot resume" in said) == (1, "", True)


def test_the_same_map_again_goes_on_if_it_was_not_finished_and_that_is_wanted(run, tmp_path):
    words = [LOG, *ITEMS, "-j1", "-q", "--halt=now,fail=3"]
    (tmp_path / "ready").touch()
    assert run("map", *words, "--limit=2") == (0, "", "")
    (tmp_path / "ready").unlink()
    code, _, said = run("map", *words)
    assert (code, said.count("pflow resume ID goes on")) == (1, 1)
    (tmp_path / "ready").touch()
    resumed = run("map", *words[:4], "--halt=now,fail=3", "--resume", "-r")
    assert resumed[:2] == (0, "\n" * 4)
    assert "resuming the run ID" in resumed[2]
    assert "0 done, 4 to do" in resumed[2]
    assert run("map", *words, "--resume") == (0, "", "")  # it is done since, so that this one begins anew
    assert (tmp_path / "log").read_text().split() == [*"12", *"123", *"1234", *"1234"]


def test_what_a_map_has_done_is_said_before_another_begins_anew(run, tmp_path):
    flow = 'shell "echo $1 >>log; [ $1 != 3 ] || test -e ready" $item --repeats'
    run("map", flow, *ITEMS, "-j1", "-q", "--halt=now")
    (tmp_path / "ready").touch()
    told = "2 of 4 are done in the run ID: pflow resume ID; this map begins anew, --resume goes on\n"
    assert run("map", flow, *ITEMS, "-j1", "-q") == (0, "", told)
    assert run("map", flow, *ITEMS, "-j1", "-q") == (0, "", "")
    assert (tmp_path / "log").read_text().split() == [*"123", *"1234", *"1234"]


def test_the_run_of_a_map_is_kept_with_its_ledger_and_how_it_ended(run, tmp_path):
    run("map", 'shell "[ $1 != 2 ]" $item', *ITEMS, "-j1", "-q", "--max-calls=7")
    (kept,) = (tmp_path / "STATE" / "pflow" / "runs").iterdir()
    about = json.loads(run("runs", "--json")[1])[0]
    assert (about["status"], about["exit"]) == ("finished with failures", 1)
    assert about["items"] == {"total": 4, "done": 3, "failed": 1, "left": 0}
    shown = run("trace", "last")[1]
    assert "items: done 3" in shown
    assert kept.name == about["run"]
