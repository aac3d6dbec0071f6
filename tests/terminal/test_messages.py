"""What is said on stderr: in words, in one harmless line, painted where a terminal shows it."""

import builtins
import errno
from unittest.mock import Mock

import pytest

from pflow.errors import PflowError, node_error, own_error
from pflow.terminal import messages
from pflow.terminal.messages import say, say_error


@pytest.mark.parametrize(
    ("error", "message", "exit"),
    [
        (FileNotFoundError(2, "No such file or directory", "a b"), "no such file or directory: 'a b'", 66),
        (PermissionError(13, "Permission denied", b"caf\xe9"), "permission denied: 'caf\udce9'", 77),
        (OSError(28, "No space left on device"), "no space left on device", 73),
        (FileNotFoundError(2, 1), "1", 66),
        (ConnectionError("down"), "ConnectionError: down", 69),
        (TimeoutError("slow"), "TimeoutError: slow", 75),
        (ValueError("odd"), "ValueError: odd", 1),
        (SystemExit(3), "it called exit(3)", 1),
    ],
    ids=repr,
)
def test_what_a_node_raises_is_told_in_words_with_its_code(error, message, exit):
    told = node_error("zap", error)
    assert (told.message, told.exit) == (f"cannot run zap: {message}", exit)


def test_what_pflow_can_explain_is_left_as_it_is():
    error = PflowError("cannot ask", exit=75)
    assert node_error("zap", error) is error


def test_a_bug_says_that_it_is_one():
    told = own_error(IndexError("out of range"))
    assert (told.message, told.exit) == ("a bug in pflow: IndexError: out of range", 70)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("cannot read 'é 😀'", "cannot read 'é 😀'"),
        ("two\nlines\r\n and\ttabs ", "two lines and tabs"),
        ("an \x1b[31mescape\x07", "an \\x1b[31mescape\\x07"),
        ("caf\udce9", "caf\\udce9"),
        ("\u202egnirts", "\\u202egnirts"),
        ("", ""),
        ("cannot read 'o2.csv\n': no such file", "cannot read 'o2.csv\\n': no such file"),
        ("it said:\n  one\n  two", "it said: one two"),
        ("no 'a  b' in\tthe users' files", "no 'a  b' in the users' files"),
        ("cannot take --x='it's\r\n': no", "cannot take --x='it's\\r\\n': no"),
    ],
)
def test_a_text_becomes_one_harmless_line_and_keeps_white_space_in_quoted_names(capfd, text, line):
    say("pflow-zap", text)
    assert capfd.readouterr().err == f"pflow-zap: {line}\n"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (PflowError("cannot read 'a'"), "cannot read 'a'"),
        (PflowError("cannot read 'a'", hint="pflow-b writes it"), "cannot read 'a'; pflow-b writes it"),
        (PflowError("was it empty?", hint="-n if so"), "was it empty? -n if so"),
    ],
)
def test_an_error_is_what_failed_and_then_what_to_do(capfd, error, line):
    say_error("pflow-zap", error, debug=False)
    assert capfd.readouterr().err == f"pflow-zap: {line}\n"


def test_only_debug_shows_a_traceback(capfd):
    try:
        raise PflowError("cannot") from ValueError("the " + "cause")
    except PflowError as error:
        say_error("pflow-zap", error, debug=True)
    err = capfd.readouterr().err
    assert "ValueError" in err
    assert "the cause" not in err
    assert err.endswith("pflow-zap: cannot\n")


XTERM = {"TERM": "xterm-256color"}
FORCED = {"CLICOLOR_FORCE": "1"}
NO = {"NO_COLOR": "1"}


@pytest.mark.parametrize(
    ("variables", "is_terminal", "said"),
    [
        (XTERM, True, "\x1b[1mpflow-llm:\x1b[0m words\n"),
        (XTERM, False, "pflow-llm: words\n"),
        (XTERM | NO, True, "pflow-llm: words\n"),
        (FORCED, False, "\x1b[1mpflow-llm:\x1b[0m words\n"),
    ],
)
def test_who_says_a_line_on_stderr_is_painted_by_the_same_rules(environment, monkeypatch, variables, is_terminal, said):
    environment(variables, is_terminal=is_terminal)
    lines = []
    monkeypatch.setattr(messages, "write_stderr", lines.append)
    messages.say("pflow-llm", "words")
    assert lines == [said]


def test_a_failure_is_told_where_no_descriptor_is_left_for_a_module(capfd, monkeypatch):
    monkeypatch.setattr(builtins, "__import__", Mock(side_effect=OSError(errno.EMFILE, "too many open files")))
    say("pflow", "cannot open 'a\x1b': too many open files")
    monkeypatch.undo()
    assert capfd.readouterr().err == "pflow: cannot open 'a\\x1b': too many open files\n"
