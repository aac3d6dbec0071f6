"""The meaning of a plan: the values of a sentence, those that no step has, and those that a step invents."""

import json
import os
from pathlib import Path

import pytest

from pflow.flow.pipe.read import parse_pipe
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from pflow.plan.inputs import declare_inputs
from pflow.plan.meaning import doubts, pruned, values
from tests.eval import run
from tests.eval.score import expected_flows


@pytest.fixture(scope="module", autouse=True)
def nodes(tmp_path_factory):
    """The nodes of the eval, and a PATH with two programs."""
    programs = tmp_path_factory.mktemp("programs")
    for name in ("date", "wc"):
        programs.joinpath(name).write_text("#!/bin/sh\n")
        programs.joinpath(name).chmod(0o755)
    with run.node_set():
        os.environ["PATH"] = str(programs)
        yield


def messages(sentence, line):
    return [each.message for each in doubts(wire(parse_pipe([line], FlowCatalog())), sentence)]


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("compare a.txt, ./b/c.md and ~/d; list *.py", "path:a.txt path:./b/c.md path:~/d path:*.py"),
        ("is https://a.org/b?c=1. like x@y.example?", "url:https://a.org/b?c=1 mail:x@y.example"),
        ("post 'all is well' to #dev, “no” to @bob", "quoted:all is well channel:#dev quoted:no channel:@bob"),
        ("save it as 'notes.txt' and say \"hi\"", "path:notes.txt quoted:hi"),
        ("issue #12 of team/repo at 8:30, 1,000 times", "number:12 path:team/repo number:8:30 number:1,000"),
        ("don't touch the boss's files, e.g. those of 3 p.m. and/or v1.2", "number:3"),
        ("lies notizen.txt vor, und zwar 2-mal", "path:notizen.txt"),
    ],
)  # fmt: skip
def test_values_of_a_sentence_are_its_names_numbers_addresses_and_quotes(sentence: str, found: str) -> None:
    assert " ".join(f"{kind}:{text}" for kind, text in values(sentence)) == found


@pytest.mark.parametrize(
    ("sentence", "line", "found"),
    [
        ("summarize a.txt to b.md", "read-file --path=a.txt => llm --prompt='To b.md'", ["'b.md' is in no step"]),
        ("the 5 newest issues of a/b", "github-list-issues --repo=a/b", ["'5' is in no step"]),
        ("the five newest issues of a/b", "github-list-issues --repo=a/b --limit=5", []),
        ("list docs/*.md", "list-files --pattern=*.md --directory=docs", []),
        ("post 'all is well' to #dev", "post-slack --channel=dev --message=ok", [
            "'all is well' is in no step", "'ok' of --message is not in the sentence"]),
        ("what is in a.txt?", "read-file --path=a.txt => write-file --path=out.md", [
            "'out.md' of --path is not in the sentence", "'write-file' has nothing that is in the sentence"]),
        ("get https://a.org", "http --url=https://a.org/b", ["'https://a.org/b' of --url is not in the sentence"]),
        ("convert a.csv to json", "load-csv --path=a.csv => save-results --path=a.json", []),
        ("a.txt into French", "read-file --path=a.txt => translate --language=fr", []),
        ("a.txt into French", "read-file --path=a.txt => translate --language=de", [
            "'french' is in no step", "'de' of --language is not in the sentence"]),
        ("a.txt in German and in French", "read-file --path=a.txt => llm --prompt='In French'", [
            "'german' is in no step"]),
        ("add 'the end' to a.txt", "llm --prompt=x => write-file --path=a.txt --content='$response the end'", []),
        ("tell my mother", "shell --command='echo hi | phone --to=m@a.org'", [
            "'m@a.org' of --command is not in the sentence", "it cannot run here: there is no program 'phone'"]),
        ("how long is it up?", "shell --command='if true; then cd /; X=1 date | wc -l; fi'", []),
        ("a joke into a.txt", "read-file:r --path=./a.txt => llm --prompt='A joke' => write-file:w --path=a.txt", [
            "'w' overwrites 'a.txt', which 'r' reads"]),
        ("count the words of what comes in", "count-words => llm --prompt='Explain this'", [
            "'llm' has nothing that is in the sentence"]),
        ("take me to a hotel on the beach", "flow:weekly-report --directory=beach --to=hotel", [
            "'weekly-report' has nothing that is in the sentence"]),
        ("zähle die Wörter", "count-words => llm --prompt='Explain this'", []),
        ("each page of a.txt in a line", "read-file --path=a.txt => llm --prompt='A line'", ["'each' is in no step"]),
        ("rewrite a.txt until it is good", "read-file --path=a.txt => llm --prompt='Rewrite this'", [
            "'until' is in no step"]),
        ("explain what a.txt says to #dev", "read-file --path=a.txt", [
            "'#dev' is in no step", "'explain' is in no step"]),
        ("read a.txt, otherwise b.txt", "shell --command='wc a.txt || wc b.txt'", []),
        ("summarize a.txt", "read-file --path=a.txt => llm --prompt='In 100 words'", [
            "'100' of --prompt is not in the sentence"]),
        ("mend a.txt (latin-1)", "read-file --path=a.txt => llm --prompt='Mend this'", ["'latin-1' is in no step"]),
        ("mend a.txt (utf-8)", "read-file --path=a.txt => llm --prompt='Mend this'", []),
        ("count the words of this", "count-words => llm --prompt='Count the words'", ["'llm' does again what is done"]),
        ("thaw every x/*.txt", "list-files --pattern='x/*.txt' => ( count-words:a => count-words:b ) --each", [
            "'b' does again what is done"]),
        ("fasse notiz.txt zusammen", "read-file --path=notiz.txt => llm --prompt='Summarize this'", []),
    ],
)  # fmt: skip
def test_what_a_plan_leaves_out_or_invents_is_doubted(sentence, line, found):
    assert messages(sentence, line) == found


def test_a_word_of_which_the_model_was_not_sure_is_doubted():
    flow = parse_pipe(["translate --language=fr"], FlowCatalog())
    flow.guess = "translate"
    assert [each.message for each in doubts(wire(flow), "into French")] == ["'translate' is a guess"]


def test_no_flow_that_is_expected_of_a_sentence_is_doubted():
    entries = json.loads((Path(run.__file__).parent / "sentences.json").read_text())
    flows = [(entry["sentence"], flow) for entry in entries for flow in expected_flows(entry)]
    declared = [(sentence, declare_inputs(wire(flow), sentence)) for sentence, flow in flows]
    found = [each for sentence, flow in declared for each in doubts(flow, sentence) if each.rule != "PL12"]
    assert [each.message for each in found] == ["'10' is in no step"]  # head -n 11


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("read-file:a --path=a.txt => list-files:b --pattern=* => write-file:c --path=c", ["b", "c"]),
        ("read-file:a --path=a.txt => list-files:b --pattern=* => git-log:c => llm:d --prompt=x", ["c", "d"]),
        ("read-file:a --path=a.txt => llm:b --prompt=x => git-log:c => llm:d --prompt=y", ["a", "b", "c", "d"]),
        ("read-file:a --path=a.txt => git-log:b => llm:c --prompt='${a.content} ${b.commits}'", ["a", "b", "c"]),
        ("translate:a --language=fr => list-files:b --pattern=* => join-text:c", ["b", "c"]),
        ("shell:a --command=make => git-log:b => write-file:c --path=c", ["a", "b", "c"]),
        ("llm:a --prompt=x => write-file:b --path=b => read-file:c --path=c", ["a", "b", "c"]),
        ("read-file:a --path=a => run-tests:b; b =failed=> llm:c --prompt=x", ["a", "b", "c"]),
    ],
)  # fmt: skip
def test_steps_that_only_get_what_nothing_takes_are_left_out_of_a_chain(line, left):
    assert [step.id for step in pruned(wire(parse_pipe([line], FlowCatalog()))).steps] == left
