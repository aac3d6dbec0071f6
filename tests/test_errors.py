"""Exit codes by what went wrong."""

import errno

import pytest

from pflow.errors import (
    EXIT_CODES,
    Attempt,
    Ignoring,
    PflowError,
    Within,
    exit_code,
    not_written,
    own_error,
    result_of,
    wait_asked,
)


def os_error(number: int) -> OSError:
    return OSError(number, "why")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (os_error(errno.ENOENT), 66),
        (os_error(errno.EACCES), 77),
        (os_error(errno.ENOSPC), 73),
        (os_error(errno.ECONNREFUSED), 69),
        (os_error(errno.ETIMEDOUT), 75),
        (ConnectionError("down"), 69),
        (TimeoutError("slow"), 75),
        (MemoryError(), 71),
        (os_error(errno.ENOMEM), 71),
        (PflowError("no key", exit=77), 77),
        (os_error(errno.EEXIST), 1),
        (ValueError("x"), 1),
    ],
    ids=repr,
)
def test_an_exception_in_a_node_has_its_code(error, code):
    assert exit_code(error) == code


def test_every_code_says_what_it_means():
    assert set(EXIT_CODES) == {0, 1, 2, 64, 65, 66, 69, 70, 71, 73, 75, 77, 78, 79, 124, 127, 141}
    assert all(EXIT_CODES.values())


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        (OSError(errno.EMFILE, "Too many open files", "a.py"), "cannot open 'a.py': too many open files", 1),
        (OSError(errno.ENOSPC, "No space left on device"), "cannot go on: no space left on device", 73),
        (OSError(errno.EBADF, "Bad file descriptor"), "a bug in pflow: OSError: [Errno 9] Bad file descriptor", 70),
    ],
)
def test_what_the_machine_lacks_is_no_bug_of_pflow(error, message, code):
    found = own_error(error)
    assert (found.message, found.exit) == (message, code)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "20.5", "retry-after": "9"}, 0.0205),
        ({"retry-after-ms": "soon", "retry-after": "0.25"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 1970 00:16:40 GMT"}, 30),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_the_wait_that_a_server_asks_for_is_known(monkeypatch, headers, seconds):
    monkeypatch.setattr("time.time", lambda: 970)
    assert wait_asked(headers) == seconds


def test_an_attempt_that_the_system_refuses_names_the_act_and_the_reason():
    for arguments, exit, hint in [
        ({}, 66, ""),
        ({"exit": 78, "hint": "look"}, 78, "look"),
        ({"failure": not_written}, 73, ""),
    ]:
        with pytest.raises(PflowError) as error, Attempt("cannot read 'x'", **arguments):
            raise os_error(errno.ENOENT)
        assert (error.value.message, error.value.exit, error.value.hint) == ("cannot read 'x': why", exit, hint)
    with pytest.raises(ValueError, match="y"), Attempt("cannot read 'x'"):
        raise ValueError("y")
    with pytest.raises(PflowError, match="cannot read 'x': Y"), Attempt("cannot read 'x'", of=ValueError, exit=2):
        raise ValueError("Y")


def test_a_failure_within_a_larger_act_is_its_reason():
    with pytest.raises(PflowError) as error, Within("cannot go"):
        raise PflowError("no way", hint="look", exit=77)
    assert (error.value.message, error.value.exit, error.value.hint) == ("cannot go: no way", 77, "look")
    with pytest.raises(OSError, match="why"), Within("cannot go"):
        raise os_error(errno.ENOENT)


def test_only_an_error_of_these_kinds_is_ignored():
    with Ignoring(OSError, ValueError):
        raise ValueError
    with pytest.raises(KeyError), Ignoring(OSError, ValueError):
        raise KeyError("x")


def test_a_call_has_its_result_or_another_value_if_it_fails_in_a_known_way():
    assert result_of(int, "7", of=ValueError, otherwise=0) == 7
    assert result_of(int, "x", of=ValueError, otherwise=0) == 0
    with pytest.raises(ValueError, match="invalid"):
        result_of(int, "x", otherwise=0)
