"""The failure that an answer's status means has the server's words, in whatever form they come."""

import pytest

from pflow.errors import BAD_DATA, DENIED, FAILED, MISSING, TRY_AGAIN, PflowError
from pflow.web.reasons import meaning_of_status
from pflow.web.response import Response, check, decode_body


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


LABELS = """“q” cp1252 iso-8859-1 Latin1 us-ascii "ISO_8859-1:1987" windows-1252
①② cp932 Shift_JIS x-sjis windows-31j
朱镕基 gbk gb2312 GB_2312-80 'gbk'
朱𠀀 gb18030 gb2312 gb18030
똠방각하 cp949 euc-kr ks_c_5601-1987 windows-949
ไทย… cp874 windows-874 tis-620 iso-8859-11
①日本 euc_jis_2004 euc-jp
日本ｱ iso2022_jp_ext iso-2022-jp csISO2022JP
中文 big5 big5 big5-hkscs
Ж cp866 ibm866
é mac-roman macintosh
Ї koi8-u koi8-u
한글 iso2022_kr iso-2022-kr
Ú cp850 cp850
ä utf-16-le utf-16 unicode
ä utf-8 UTF8 x-nonsense
é\x81 latin-1 iso-8859-1
\ufeffä utf-8 iso-8859-1 shift_jis utf-16
\ufeffä utf-16-be iso-8859-1 utf-8 utf-16"""
"""A text, its codec in Python, and labels. Browsers refuse iso-2022-kr, and do not know cp850."""


@pytest.mark.parametrize("row", LABELS.split("\n"))
def test_a_label_is_read_as_browsers_read_it(row):
    text, codec, *labels = row.split()
    for label in labels:
        kind = f"Text/Plain;x=y; Charset = {label} ;z"
        assert decode_body(text.encode(codec), kind) == text.removeprefix("\ufeff"), label


@pytest.mark.parametrize(
    ("page", "kind", "text"),
    [
        (b"<META Charset=windows-1251>\xc6", "text/html", "Ж"),
        (b"<meta http-equiv=x content='text/html; charset=Shift_JIS'>\x87\x40", "text/html", "①"),
        (b"<!-- <meta charset=koi8-r> --><meta charset='latin1'>\x93", "text/html", "“"),
        (b"<html><meta charset=latin1>\x93", "", "“"),
        (b"<meta charset=iso-2022-jp>\x1b$BF|\x1b(B", "text/html", "日"),
        (b"<meta charset=utf-16>a", "text/html", "a"),
        (b"<meta charset=koi8-r>\xc3\xa4", "text/html", "ä"),
        (b"<meta charset=koi8-r>\x93", "text/html; charset=iso-8859-1", "“"),
        (b"\xef\xbb\xbf<meta charset=koi8-r>\xc3\xa4", "text/html; charset=koi8-r", "ä"),
        (b"<?xml version='1.0' encoding='windows-1251'?>\xc6", "application/rss+xml", "Ж"),
        (b"<?xml version='1.0' encoding=''?>\xc3\xa4", "text/xml", "ä"),
        (b"\x93\xff", "text/plain; charset=utf8", None),
        ("Äpfel, “Öl”".encode("cp1252"), "text/plain", "Äpfel, “Öl”"),
        ("名前,価格".encode("cp932"), "text/csv", None),
        ("ąęśćó, żółw".encode("latin2"), "text/html", None),
        (b"plain", "text/plain", "plain"),
        (b"<p>\xe4", "application/xml", None),
        (b"abcdefgh\0\xe4", "text/plain", None),
        (b"a +ADw-b", "text/plain; charset=utf-7", "a +ADw-b"),
        (b"\x80", "text/plain; charset=x-nonsense", None),
        (b"\x89PNG\r\n\xff", "image/png; charset=iso-8859-1", None),
        (b"\x1f\x8b\x08\0\xff", "text/csv; charset=iso-8859-1", None),
        (b"\x01\xff", "application/octet-stream; charset=iso-8859-1", None),
    ],
)
def test_the_charset_in_a_page_counts_where_nothing_better_tells(page, kind, text):
    found = decode_body(page, kind)
    assert found == page if text is None else found[-1] == text[-1]
