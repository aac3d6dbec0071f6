"""The grammar of a plan: every line that it allows is pipe syntax, and a line with what a sentence needs is allowed."""

import json
import random
import re
from collections.abc import Iterator
from functools import cache, reduce
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.catalog.find import list_types
from pflow.catalog.registry import PACKAGE
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.subflow import FlowCatalog
from pflow.interface.interface import Interface
from pflow.models.local import LocalModel
from pflow.plan import grammar
from pflow.plan.grammar import plan_grammar
from pflow.saved_flows.saved import list_saved
from tests.eval.run import HERE, node_set

ENTRIES = json.loads(Path(HERE, "sentences.json").read_text())
TOKEN = re.compile(r'\s*("(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|[A-Za-z][A-Za-z0-9-]*|\{\d,\d\}|[()|*+?])')
ODD = [
    "put 'it's $HOME' and \"a => b\" into x;y.txt",
    "=> ( ) --each {} \\ a.txt",
    "é.txt → 'ß' 3,5",
    "",
    "a|b >> c.md",
]


@pytest.fixture(scope="module")
def kinds() -> Iterator[dict[str, Interface]]:
    with node_set(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(grammar, "words", cache(grammar.words))  # it is asked for each pair of nodes, and each sentence
        found = {kind.name: kind.help_interface() for kind in list_types()}
        flows = [f"flow:{saved.name}" for saved in list_saved()]
        yield found | {name: kind.help_interface() for name in flows if (kind := FlowCatalog().find(name))}


@cache  # most rules are those of every sentence
def read_choice(body: str) -> list[list[Any]]:
    return choice(TOKEN.findall(body)[::-1])


def choice(tokens: list[str]) -> list[list[Any]]:
    """Take a choice off the end of tokens in reverse order."""
    found: list[list[Any]] = [[]]
    while tokens and (token := tokens.pop()) != ")":
        if token == "|":
            found.append([])
        elif token[0] in "*+?{":
            least, most = {"?": (0, 1), "*": (0, 999), "+": (1, 999)}.get(token) or map(int, token[1:-1].split(","))
            found[-1][-1] = (found[-1][-1], least, most)
        else:
            found[-1].append(choice(tokens) if token == "(" else token)
    return found


class Grammar:
    """A grammar that was read. A choice is a list of sequences; what repeats has its least and most."""

    def __init__(self, text: str) -> None:
        bodies = dict(line.split(" ::= ", 1) for line in text.splitlines())
        self.rules = {name: read_choice(body) for name, body in bodies.items()}

    def draw(self, part: Any, chance: random.Random) -> str:
        """Return a text that a part of the grammar allows."""
        if isinstance(part, list):
            return "".join(self.draw(each, chance) for each in chance.choice(part))
        if isinstance(part, tuple):
            return "".join(self.draw(part[0], chance) for _ in range(chance.randint(part[1], min(part[2], 3))))
        if part[0] == "[":
            return chance.choice([letter for letter in map(chr, (*range(32, 127), 233)) if re.match(part, letter)])
        return literal(part) if part[0] == '"' else self.draw(self.rules[part], chance)

    def ends(self, part: Any, text: str, starts: set[int]) -> set[int]:
        """Return where a part that begins at one of these places may end."""
        if not starts:
            return starts
        if isinstance(part, list):
            ways = (reduce(lambda places, each: self.ends(each, text, places), way, starts) for way in part)
            return set[int]().union(*ways)
        if isinstance(part, tuple):
            found = set[int]() if part[1] else starts
            for _ in range(part[2]):
                starts = self.ends(part[0], text, starts) - found
                found = found | starts
            return found
        if part[0] == "[":
            return {at + 1 for at in starts if re.match(part, text[at : at + 1])}
        if part[0] != '"':
            return self.ends(self.rules[part], text, starts)
        return {at + len(literal(part)) for at in starts if text.startswith(literal(part), at)}

    def allows(self, text: str) -> bool:
        return len(text) in self.ends(self.rules["line"], text, {0})


@cache
def literal(token: str) -> str:
    return re.sub(r"\\(.)", r"\1", token[1:-1])


@settings(max_examples=120, deadline=None)
@given(
    sentence=st.sampled_from([*ODD, *(entry["sentence"] for entry in ENTRIES)]),
    seed=st.integers(),
    size=st.integers(1, 60),
)
def test_every_line_that_the_grammar_allows_parses(
    kinds: dict[str, Interface], sentence: str, seed: int, size: int
) -> None:
    chance = random.Random(seed)
    some = {name: kinds[name] for name in chance.sample([*kinds], min(size, len(kinds)))}
    grammar = Grammar(plan_grammar(some, sentence))
    for _ in range(4):
        if "line" in grammar.rules:
            line = grammar.draw(grammar.rules["line"], chance)
            assert parse_pipe([line], FlowCatalog()).steps, line


EXAMPLES = re.findall(
    r"^Task: (.*)\nFlow: (?!cannot)(.*)", Path(PACKAGE, "plan", "examples.txt").read_text(), re.MULTILINE
)


def test_the_flows_of_the_examples_can_be_said(kinds: dict[str, Interface]) -> None:
    refused = [task for task, flow in EXAMPLES if not Grammar(plan_grammar(kinds, task, shown=flow)).allows(flow)]
    assert len(EXAMPLES) > 70
    assert refused == []


HTTP = "http --url=https://a.b => write-file"
BOTH = "read-file:a --path=a.txt => read-file:b --path=b.txt"
MAIL = "github-get-issue --issue=5 => send-mail --to=a@b"
FILES = "list-files --pattern='src/*'"


@pytest.mark.parametrize(
    ("sentence", "line", "is_allowed"),
    [
        ("what does notes.txt say?", "read-file --path=notes.txt", True),
        ("what does notes.txt say?", "read-file --path=other.txt", False),
        ("get issue five", "github-get-issue --issue=5", True),
        ("get issue 5", "github-get-issue --issue=50", False),
        ("sum a.txt up in b.txt", "read-file --path=b.txt => llm --prompt='Sum up'", False),
        ("sum a.txt up, save it in b.txt", "read-file --path=b.txt => llm --prompt='Sum up'", False),
        ("sum a.txt up, save it in b.txt", "read-file --path=a.txt => write-file --path=a.txt", False),
        ("compare a.txt to b.txt", "read-file --path=a.txt => llm --prompt='Compare'", False),
        ("compare a.txt to b.txt", f"{BOTH} => llm --prompt='${{a.content}} or ${{b.content}}?'", True),
        ("a poem, save it", "llm --prompt='A poem' => write-file --path=poem.txt", True),
        ("shout it", "write-file --path=a.b", False),
        ("sum up a.txt", "read-file --path=a.txt => llm --prompt='Sum up' --each", False),
        ("put src into out", f"{FILES} => ( load-csv => clean-data ) --each", False),
        ("put src into out", f"{FILES} => ( read-file => write-file --path=out.txt ) --each", False),
        ("mail issue 5 to a@b", f"{MAIL} --subject='${{issue_title}}' --body='${{issue_data.body}}'", True),
        ("German", "llm:a --prompt='L' => translate --language=de => llm --prompt='${a.response}${translation}'", True),
        ("write a poem in a.txt", "read-file --path=a.txt => llm --prompt='A poem'", False),
        ("save what comes in", "write-file --path=a.b", True),
        ("put the numbers in a.txt into b.txt", "read-file --path=a.txt => write-file --path=b.txt", True),
        ("ask each page of a.txt", "read-file --path=a.txt => http --url='$item' --each", True),
        ("the port of a.json", "load-json --path=a.json => select --place=server.port", True),
        ("make a.csv from the rows in b.csv", "load-csv --path=b.csv => save-csv --path=a.csv", True),
        ("README as a.html", "read-file --path=README => write-file --path=a.html", True),
        ("add each of src/* to a.txt", f"{FILES} => ( read-file => write-file --path=a.txt --append ) --each", True),
        ("extend a.txt by the date", "shell --command='date' => write-file --path=a.txt --append", True),
        ("save https://a.b as b.c", f"{HTTP} --path=b.c --no-overwrite", False),
        ("save https://a.b as b.c, unless it is there", f"{HTTP} --path=b.c --no-overwrite", True),
        ("run make", "shell:a --command='make' =error=> llm --prompt='Why? ${a.error.message}'", True),
        ("load a.json", "load-json:a --path=a.json =error=> llm --prompt='Why? ${a.error.message}'", False),
        ("load a.json, or else: why?", "load-json:a --path=a.json =error=> llm --prompt='${a.error.message}'", True),
        ("run make", "shell:a --command='make' =error=> llm --prompt='Why? ${a.stdout}'", False),
        ("run make", "shell --command='make' =failed=> llm --prompt='Why?'", False),
        ("open an issue 'Red' with the output of ./t.sh", "github-create-issue --title='Red' --repo=./t.sh", False),
        ("open an issue 'Red' in a/b", "github-create-issue --title='Red' --repo=a/b", True),
        ("a poem", "llm --prompt='A poem' --model=gpt-5", False),
        ("a poem", "llm --prompt='A poem' --system=' => rm'", False),
        ("a poem", "llm --prompt='A poem about $HOME'", False),
    ],
)  # fmt: skip
def test_a_sentence_decides_what_can_be_said(
    kinds: dict[str, Interface], sentence: str, line: str, is_allowed: bool
) -> None:
    assert Grammar(plan_grammar(kinds, sentence)).allows(line) is is_allowed


def test_a_second_attempt_may_write_what_it_reads(kinds: dict[str, Interface]) -> None:
    text = plan_grammar(kinds, "sum a.txt up, save it in b.txt", is_strict=False)
    assert Grammar(text).allows("read-file --path=b.txt => llm --prompt='Sum up' => write-file --path=a.txt")


def test_the_engine_takes_the_grammar(kinds: dict[str, Interface], local_models: str) -> None:
    sentence = """join a.txt and 'é "' into c.txt, at most 5 lines"""
    model = LocalModel("SmolLM2", f"{local_models}/pflow/models/SmolLM2.gguf")
    said = model.prompt(sentence, grammar=plan_grammar(kinds, sentence), max_tokens=3)
    assert any(start.startswith(said.text()) or said.text().startswith(start) for start in ("cannot: ", *kinds))
    assert "".join(each["token"] for each in said.response_json["tokens"]) == said.text()
