"""Exit codes by what went wrong (DESIGN.md, section 5)."""

import errno
import json
import urllib.error

import pytest

from pflow.errors import EXIT_CODES, PERMANENT, PflowError, exit_code


def os_error(number: int) -> OSError:
    return OSError(number, "why")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (os_error(errno.ENOENT), 66),
        (os_error(errno.EISDIR), 66),
        (os_error(errno.ENOTDIR), 66),
        (os_error(errno.EACCES), 77),
        (os_error(errno.ENOSPC), 73),
        (os_error(errno.EROFS), 73),
        (os_error(errno.ECONNREFUSED), 69),
        (os_error(errno.EPIPE), 69),
        (os_error(errno.ETIMEDOUT), 75),
        (ConnectionError("down"), 69),
        (TimeoutError("slow"), 75),
        (PflowError("no key", exit=77), 77),
        (os_error(errno.EEXIST), 1),
        (ValueError("x"), 1),
        (json.JSONDecodeError("x", "", 0), 1),
        (urllib.error.HTTPError("u", 404, "no", None, None), 1),  # type: ignore[arg-type]
    ],
    ids=repr,
)
def test_an_exception_in_a_node_has_its_code(error, code):
    assert exit_code(error) == code


def test_every_code_says_what_it_means():
    assert set(EXIT_CODES) == {0, 1, 2, 64, 65, 66, 69, 70, 73, 75, 77, 78, 124, 127, 141}
    assert all(EXIT_CODES.values())


def test_what_could_go_better_next_time_is_not_permanent():
    assert {1, 69, 75}.isdisjoint(PERMANENT)
    assert {2, 64, 66, 77, 78} <= PERMANENT


def test_an_error_carries_what_to_do_and_how_long_to_wait():
    error = PflowError("cannot ask", hint="wait", exit=75, retry_after=2.5)
    assert (str(error), error.hint, error.exit, error.retry_after) == ("cannot ask", "wait", 75, 2.5)
