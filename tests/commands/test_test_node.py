"""pflow test-node: which node is meant, the values that it is tried with, and what the report says."""

import pytest

from pflow.commands._click import run_click
from pflow.commands.test_node import command
from pflow.conformance.samples import (
    Answer,
    Samples,
    document,
    misfit_of,
    read_answer,
    same,
    value_of,
)
from pflow.errors import PflowError
from pflow.grammar import parse_interface
from pflow.types import fit, parse_type

TYPES = [
    *("str", "int", "float", "bool", "path", "bytes", "list", "dict", "a|b", "list[int]"),
    *("list[list[path]]", "dict{a: str, b: list[a|b]}", "list[dict{x: float}]"),
]


@pytest.mark.parametrize("text", TYPES)
def test_a_sample_is_of_its_type_and_a_misfit_is_not(text):
    type, _ = parse_type(text)
    fit(type, value_of(type))
    with pytest.raises(ValueError):
        fit(type, misfit_of(type))


def interface(*lines):
    return parse_interface("It.\n\nInterface:\n" + "\n".join(f"- {line}" for line in lines))


READS = (
    'Reads: shared["text"]: str [pipe]  # it',
    'Reads: shared["more"]: list[str] = null  # it',
    'Reads: shared["where"]: path [explicit]  # it',
    "Params: count: int  # it",
    "Params: loud: bool = false  # it",
    "Params: token: str = null [secret] [env TOKEN]  # it",
)


def test_what_is_required_is_made_data_in_the_store_and_the_rest_as_flags():
    samples = Samples(interface(*READS), [])
    assert list(samples.members) == ["text"]
    assert samples.words_without() == ["--where=sample.txt", "--count=3"]
    assert samples.all_words(without="text") == ["--where=sample.txt", "--count=3"]


def test_what_the_user_gives_is_taken_instead():
    samples = Samples(
        interface(*READS), ["--text", "given", "--more=a", "--more=b", "--where=x", "--loud", "--retries=2"]
    )
    assert samples.members == {"text": "given", "more": ["a", "b"]}
    assert samples.words_without() == ["--where=x", "--loud", "--retries=2", "--count=3"]


def test_a_secret_is_never_a_flag():
    samples = Samples(interface('Reads: shared["key"]: str [secret]'), [])
    assert (list(samples.members), samples.all_words()) == (["key"], None)


def test_words_that_are_none_of_the_nodes_are_refused():
    with pytest.raises(PflowError) as refused:
        Samples(interface(*READS), ["--txet=a"])
    assert (refused.value.exit, refused.value.hint) == (2, "did you mean --text?")


@pytest.mark.parametrize(
    ("stdout", "noise"),
    [
        (b"%s", b""),
        (b"\n %s\n\n", b""),
        (b"counting\n%s", b"counting\n"),
        (b"%sdone\n", b"done"),
    ],
)
def test_what_stands_beside_a_document_is_noise(stdout, noise):
    answer = read_answer(stdout % document({"a": 1}))
    assert isinstance(answer, Answer)
    assert (answer.members, answer.noise.strip()) == ({"a": 1}, noise.strip())


@pytest.mark.parametrize(
    ("stdout", "why"),
    [
        (b"", "nothing"),
        (b'{"a": 1}', "no document"),
        (b'{"$pflow":{"v":1},\n"a":1,', "at byte"),
        (b'{"$pflow":{"v":2}}', "version 2"),
    ],
)
def test_what_is_no_document_is_said(stdout, why):
    assert why in read_answer(stdout)


@pytest.mark.parametrize(("one", "other", "is_same"), [(1, 1.0, True), (1, True, False), ([0], [False], False)])
def test_numbers_are_the_same_however_they_are_written(one, other, is_same):
    assert same({"a": one}, {"a": other}) is is_same


@pytest.mark.parametrize("seconds", ["0", "nan", "1e300", "soon"])
def test_a_timeout_that_no_run_can_have_is_2(seconds):
    with pytest.raises(PflowError, match=f"'{seconds}' is no time to wait") as caught:
        run_click(command, "test-node", ["read-file", "--only=interface", f"--timeout={seconds}"])
    assert caught.value.exit == 2
