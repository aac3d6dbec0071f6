"""pflow test-node: the values that a node is tried with, and how its answer is read."""

import pytest

from pflow.commands._command import run_command
from pflow.commands.test_node import command
from pflow.conformance.samples import OutputDocument, Samples, Skipped, document, misfit_of, same, value_of
from pflow.errors import PflowError
from pflow.interface.grammar import parse_interface
from pflow.values.types import fit, parse_type

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


def samples(*words, reads=()):
    lines = [
        'Reads: shared["text"]: str [pipe]',
        'Reads: shared["more"]: list[str] = null',
        'Reads: shared["where"]: path [explicit]',
        "Params: count: int",
        "Params: loud: bool = false",
        "Params: token: str = null [secret] [env TOKEN]",
        *reads,
    ]
    return Samples(parse_interface("It.\n\nInterface:\n" + "\n".join(f"- {line}" for line in lines)), [*words])


def test_what_is_required_is_made_data_in_the_store_and_the_rest_as_flags():
    made = samples()
    assert list(made.members) == ["text"]
    assert made.words_without() == made.all_words(without="text") == ["--where=sample.txt", "--count=3"]


def test_what_the_user_gives_is_taken_instead():
    made = samples("--text", "given", "--more=a", "--more=b", "--where=x", "--loud", "--retries=2")
    assert made.members == {}
    words = ["--text=given", "--more=a", "--more=b", "--where=x", "--loud", "--retries=2", "--count=3"]
    assert made.words_without() == words


def test_a_secret_is_never_a_flag():
    with pytest.raises(Skipped, match="secret"):
        samples(reads=['Reads: shared["key"]: str [secret]']).all_words()


def test_words_that_the_node_does_not_take_are_refused():
    with pytest.raises(PflowError) as refused:
        samples("--txet=a")
    assert (refused.value.exit, refused.value.hint) == (2, "did you mean --text?")


NO_DOCUMENTS = [
    (b"", "nothing"),
    (b'{"a": 1}', "not a document"),
    (b"counting\n" + document({"a": 1}), "not a document"),
    (document({"a": 1}) + b"done\n", "byte"),
    (b'{"$pflow":{"v":1},\n"a":1,', "at byte"),
    (b'{"$pflow":{"v":2}}', "version 2"),
]


@pytest.mark.parametrize(("stdout", "why"), NO_DOCUMENTS)
def test_what_is_no_document_is_said(stdout, why):
    assert why in OutputDocument(stdout).fault


@pytest.mark.parametrize(("one", "other", "is_same"), [(1, 1.0, True), (1, True, False), ([0], [False], False)])
def test_numbers_are_the_same_however_they_are_written(one, other, is_same):
    assert same({"a": one}, {"a": other}) is is_same


@pytest.mark.parametrize("seconds", ["0", "nan", "1e300", "soon"])
def test_a_timeout_that_no_run_can_have_is_2(seconds):
    with pytest.raises(
        PflowError, match=r"cannot take --timeout=.*: it (is not a number|must be from 0\.001)"
    ) as caught:
        run_command(command, ["read-file", "--only=interface", f"--timeout={seconds}"])
    assert caught.value.exit == 2
