"""What a stage writes, in the form that its flags and its stdout choose."""

import json
import os
from collections import UserDict
from types import SimpleNamespace

import pytest

from pflow.errors import PflowError
from pflow.stage.document import Document, read_document
from pflow.stage.output import DOCUMENT, NOTHING, RAW, TERMINAL, Destinations, Output, targets_in_words
from pflow.terminal import messages


@pytest.fixture(autouse=True)
def stdout(monkeypatch):
    """Stdout is what it was before, after an Output has taken it."""
    saved = os.dup(1)
    monkeypatch.setattr(messages, "unfinished", messages.unfinished)
    yield
    os.dup2(saved, 1)
    os.close(saved)


def test_an_error_document_is_the_store_as_it_was_with_the_error_in_its_header(capfdbinary):
    document = read_document(b'{"$pflow":{"v":1,"run":"R"},\n"a":1.10,\n"b":"x"\n}\n')
    Output([]).write_error(document, "draft", "llm", PflowError("cannot ask 'é'", hint="not in it", exit=75))
    data = capfdbinary.readouterr().out
    header = json.loads(data)["$pflow"]
    assert header["error"] == {"step": "draft", "node": "llm", "exit": 75, "message": "cannot ask 'é'"}
    assert header["run"] == "R"
    assert data.endswith(b'},\n"a":1.10,\n"b":"x"\n}\n')


@pytest.mark.parametrize("exit", [1, 2, 66, 124, 143, 255])
def test_an_error_document_can_be_read_by_the_next_stage(exit, capfdbinary):
    document = Document()
    Output([]).write_error(document, "s", "n", PflowError("cannot read 'caf\udce9'", exit=exit))
    again = read_document(capfdbinary.readouterr().out)
    assert again.header["error"]["exit"] == exit
    assert again.header["run"] == document.header["run"]


@pytest.mark.parametrize(
    ("flags", "is_terminal", "form", "is_streamed"),
    [
        ({}, False, DOCUMENT, False),
        ({}, True, TERMINAL, True),
        ({"json": True}, True, DOCUMENT, False),
        ({"raw": True}, False, RAW, False),
        ({"raw": True}, True, RAW, True),
        ({"raw": True, "stream": True}, False, RAW, True),
        ({"quiet": True}, True, NOTHING, False),
        ({"quiet": True, "raw": True}, False, NOTHING, False),
        ({"stream": True}, True, TERMINAL, True),
    ],
)
def test_flags_and_the_kind_of_stdout_choose_the_form(monkeypatch, flags, is_terminal, form, is_streamed):
    output = Output([])
    monkeypatch.setattr(os, "isatty", lambda fd: is_terminal and fd == output.fd)
    output.choose_form(**{"quiet": False, "raw": False, "json": False} | flags)
    assert (output.form, output.is_streamed) == (form, is_streamed)


def test_a_document_is_not_streamed():
    with pytest.raises(PflowError, match="cannot take --stream") as caught:
        Output([]).choose_form(quiet=False, raw=False, json=True, stream=True)
    assert caught.value.exit == 2


@pytest.mark.parametrize(
    ("form", "begun", "shows", "exact", "out"),
    [
        (RAW, None, True, False, b"text\n"),
        (RAW, None, False, False, b"text\n"),
        (RAW, None, True, True, b"text"),
        (RAW, "te", True, False, b"te\n"),
        (RAW, "te", True, True, b"te"),
        (RAW, "te\n", True, False, b"te\n"),
        (TERMINAL, None, True, False, b"text\n"),
        (TERMINAL, None, True, True, b"text\n"),
        (TERMINAL, None, False, False, b""),
        (TERMINAL, "te", True, False, b"te\n"),
        (TERMINAL, "te\n", True, False, b"te\n"),
        (NOTHING, None, True, False, b""),
        (DOCUMENT, None, True, False, b'"a":"text"\n}\n'),
    ],
)
def test_what_the_pipe_carries_is_printed_once_and_ends_its_line(
    monkeypatch, capfdbinary, form, begun, shows, exact, out
):
    output = Output([])
    monkeypatch.setattr(os, "isatty", lambda fd: fd == output.fd)  # a part that shows is only known of on a terminal
    messages.note_output(output.fd)
    output.form, output.is_exact = form, exact
    if begun is not None:
        output.emit(begun)
    output.finish(read_document(b'{"$pflow":{"v":1,"last":"a"},\n"a":"text"\n}\n'), shows=shows)
    written = capfdbinary.readouterr().out
    assert written.endswith(out) if form == DOCUMENT else written == out


def test_a_document_that_carries_nothing_prints_nothing_raw(capfdbinary):
    output = Output([])
    output.form = RAW
    output.finish(Document(), shows=True)
    assert capfdbinary.readouterr().out == b""


def test_a_skipped_store_says_why_and_passes_on_marked(capfd):
    output = Output([])
    assert output.skip("pflow-x", Document(), {"id": "x"}, is_told=True) == 0
    out, err = capfd.readouterr()
    assert (json.loads(out)["$pflow"]["skipped"], "nothing to do: nothing comes through the pipe" in err) == (
        True,
        True,
    )
    output.skip("pflow-x", Document(), {"id": "x"}, is_told=False)
    assert capfd.readouterr().err == ""


def test_what_a_step_touches_is_said_if_it_is_known():
    values = {"path": "a\x1b", "none": None, "empty": [], "url": ..., "n": 0}
    assert targets_in_words(values, {"path": "its directory", "n": ""}) == {
        "path": "a\\x1b, whose its directory data chooses",
        "url": "not known yet",
        "n": "0",
    }


def test_a_dry_run_names_the_values_that_a_node_would_get_with_its_defaults():
    fields = {
        name: SimpleNamespace(default=default) for name, default in {**dict.fromkeys("abcd", "m"), "e": [1]}.items()
    }
    interface = SimpleNamespace(
        effect_fields=fields, default_of=lambda field, params: f"the default with {params['b']}"
    )
    binding = SimpleNamespace(
        data=lambda _: {}, stored=[], led_by_data={"a": "directory"}.get, is_pretended=lambda paths: paths == ["later"],
        find_params=lambda _: {"a": "no", "b": "l", "c": "n", "e": [1]},
        source_of=lambda name: {"b": SimpleNamespace(paths=["now"]), "d": SimpleNamespace(paths=["later"])}.get(name),
    )  # fmt: skip
    view = UserDict({"a": "m", "d": "x"})
    view.found = {}
    targets = Destinations(Document(), SimpleNamespace(interface=interface), binding, view)._targets()
    default = "the default with l"
    assert targets == {
        "a": f"{default}, whose directory data chooses", "b": "l", "c": "n", "d": "not known yet", "e": default,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "given", "id"),
    [
        ([], None, "llm"),
        ([], "draft", "draft"),
        ([{"id": "read-file"}], None, "llm"),
        ([{"id": "llm"}], None, "llm-2"),
        ([{"id": "llm"}, {"id": "llm-2"}], None, "llm-3"),
        ([{"id": "llm-2"}], None, "llm"),
        ([{"id": "llm"}, {"id": "llm-3"}], None, "llm-2"),
        ([{"id": "draft"}], "draft", "draft"),
        (["odd", 1, None, {}], None, "llm"),
        ([{"id": []}, {"id": {}}, {"id": 1}], None, "llm"),
    ],
)
def test_a_step_is_called_as_a_person_said_else_like_its_node_with_a_number_when_that_is_taken(steps, given, id):
    assert Document({"v": 1, "steps": steps}).step_id("llm", given) == id
