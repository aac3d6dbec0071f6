"""The failure that an answer's status means has the server's words, in whatever form they come."""

import pytest

from pflow.errors import BAD_DATA, DENIED, FAILED, MISSING, TRY_AGAIN, PflowError
from pflow.web.answer import Response, check
from pflow.web.reasons import meaning_of_status


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        ("application/json", b'{"message": "no oak"}', ": no oak"),
        ("application/problem+json", b'{"title": "no", "detail": "no oak"}', ": no: no oak"),
        ("application/json; charset=utf-8", b'{"error": {"message": "no\\noak"}}', ": no oak"),
        ("application/json", b'{"detail": [{"loc": ["body", "a"], "msg": "missing"}]}', ": body.a: missing"),
        ("application/json", b'[{"error": "no oak"}]', ": no oak"),
        ("application/json", b'{"error": true, "id": 7}', ""),
        ("application/json", b'{"error', ""),
        ("application/json", '{"message": "no öak"}'.encode("utf-16"), ": no öak"),
        ("application/json; charset=iso-8859-1", b'{"message": "no \xf6ak"}', ": no öak"),
        ("text/plain; charset=utf-8", b"no\noak", ": no oak"),
        ("text/html", b"<title>no oak</title>", ""),
    ],
)
def test_a_failure_has_the_servers_words(kind, body, said):
    with pytest.raises(PflowError) as caught:
        check(Response(400, "Bad Request", {"content-type": kind}, body, "GET", "http://a.example/b"))
    assert caught.value.message == f"cannot GET 'http://a.example/b': 400 Bad Request{said}"


@pytest.mark.parametrize(
    ("status", "exit", "kind"),
    [(401, DENIED, "key"), (404, MISSING, "model"), (418, BAD_DATA, "other"), (429, TRY_AGAIN, "busy"),
     (451, DENIED, "other"), (503, TRY_AGAIN, "down"), (600, FAILED, "other")],
)  # fmt: skip
def test_a_status_means_one_thing_to_all_who_ask(status, exit, kind):
    assert meaning_of_status(status) == (exit, kind)
    with pytest.raises(PflowError) as caught:
        check(Response(status, "", {}, b"", "GET", "http://a.example/b"))
    assert caught.value.exit == exit
