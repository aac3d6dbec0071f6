"""The meaning of a plan: the values of a sentence."""

import pytest

from pflow.plan.meaning import values


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
