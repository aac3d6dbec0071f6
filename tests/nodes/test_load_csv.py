"""load-csv: rows of CSV of many kinds, and what is wrong with it, with the place."""

import pytest

from pflow.nodes.load_csv import LoadCsv
from pflow.nodes.load_json import LoadJson
from pflow.nodes.load_jsonl import LoadJsonl
from tests.nodes.rows import load, refused


@pytest.mark.parametrize(
    ("data", "params", "rows"),
    [
        ("a,b\n1,2\n", {}, [{"a": "1", "b": "2"}]),
        ("a;b,c;d\n1;2;3\n", {}, [{"a": "1", "b,c": "2", "d": "3"}]),
        ("a\tb\r\n1\t2\r\n", {}, [{"a": "1", "b": "2"}]),
        ("a|b\n1|2", {}, [{"a": "1", "b": "2"}]),
        ('"a;b;c",d\n1,2\n', {}, [{"a;b;c": "1", "d": "2"}]),
        ("a:b\n1:2\n", {"delimiter": ":"}, [{"a": "1", "b": "2"}]),
        ("a\tb;c;d\n1\t2\n", {"delimiter": "tab"}, [{"a": "1", "b;c;d": "2"}]),
        ('a,b\n"x\r\ny","say ""no"""\n', {}, [{"a": "x\r\ny", "b": 'say "no"'}]),
        ('a,b\n5" pipe,"\n', {"quotes": False}, [{"a": '5" pipe', "b": '"'}]),
        ("a\r1\r\r2\r", {}, [{"a": "1"}, {"a": "2"}]),
        ("a\u2028b,c\n\x0b,\x1c\n", {}, [{"a\u2028b": "\x0b", "c": "\x1c"}]),
        ("a\n\0\n", {}, [{"a": "\0"}]),
        ("\ufeffa,b\n1,2\n", {}, [{"a": "1", "b": "2"}]),
        ("ä\n€\n".encode("cp1252"), {"encoding": "cp1252"}, [{"ä": "€"}]),
        ("sep=;\nä;b\n€;\n".encode("utf-16"), {"encoding": "utf-16"}, [{"ä": "€", "b": ""}]),
        ("a,b\n", {}, []),
        ("1,2\n3,4\n", {"header": False}, [{"c1": "1", "c2": "2"}, {"c1": "3", "c2": "4"}]),
        ("", {"header": False}, []),
        ("a,a,a_2,a\n1,2,3,4\n", {}, [{"a": "1", "a_3": "2", "a_2": "3", "a_4": "4"}]),
        ("a,b\n1\n\n2,3\n", {"ragged": True, "infer": True}, [{"a": 1, "b": None}, {"a": 2, "b": 3}]),
        ("a,b\n1,2,3,4\n5,6\n", {"rest": "c"}, [{"a": "1", "b": "2", "c": ["3", "4"]}, {"a": "5", "b": "6"}]),
        ("a;b;c;d\n1,5;2,0;1.5;x\n;-3;2,5;1,5\n", {"decimal": ","},
         [{"a": "1.5", "b": "2.0", "c": "1.5", "d": "x"}, {"a": "", "b": "-3", "c": "2,5", "d": "1,5"}]),
        ("a;b\n1,5;2\n0,25;\n", {"decimal": ",", "infer": True}, [{"a": 1.5, "b": 2}, {"a": 0.25, "b": None}]),
        ("a;b;c\n1.234;0,5;1.2.2024\n;n/a;\n", {"decimal": ",", "infer": True},
         [{"a": "1.234", "b": "0,5", "c": "1.2.2024"}, {"a": None, "b": "n/a", "c": None}]),
        ("a\n" + "x" * 200_000, {}, [{"a": "x" * 200_000}]),
    ],
)  # fmt: skip
def test_csv_of_many_kinds_is_read(tmp_path, data, params, rows):
    assert load(data, tmp_path, **params) == rows


@pytest.mark.parametrize(
    ("data", "params", "exit", "words"),
    [
        ("a,b\n1,2\n3\n", {}, 65, "line 3, column 2 ('b'): it is missing; --ragged"),
        ("a,b\n1\n1,2,3\n", {"ragged": True}, 65, "line 3, column 3: it has no name"),
        ("a,b\n", {"rest": "b"}, 2, "it has a column 'b'"),
        ("a", {"decimal": ";"}, 2, "it is . or ,"),
        ('a,b\n"x\ny",2\n1,2,3\n', {}, 65, "line 4, column 3: it has no name"),
        ('a,b\n"x\ny",2\n3,"z\n', {}, 65, "line 4, column 3: this quote is not closed"),
        ('a,b\n1,"x"y\n', {}, 65, "line 2, column 6: something follows a closing quote"),
        ('a\n"b', {}, 65, "line 2, column 1: this quote is not closed; --no-quotes"),
        (b"a,b\n1,\xff\n", {}, 65, "line 2, byte 3: it is not UTF-8; --encoding="),
        ("ä\n".encode("utf-16"), {}, 65, "--encoding=utf-16"),
        ("a", {"encoding": "nonsense"}, 2, "no such encoding"),
        ("a", {"encoding": "hex"}, 2, "it is not a text encoding"),
        ("a", {"delimiter": "::"}, 2, "--delimiter takes one character"),
        ("", {}, 66, "it is empty"),
        ("\ufeff\n\n", {}, 66, "it is empty"),
    ],
)
def test_what_is_wrong_in_csv_is_named_with_its_place(tmp_path, data, params, exit, words):
    path = tmp_path / "a.csv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    code, said = refused(LoadCsv, {"path": str(path)}, **params)
    assert (code, words in said) == (exit, True), said
    assert said.startswith("cannot ")


def test_a_column_that_decimal_commas_do_not_fit_is_named(tmp_path, capfd):
    load('a;b;c;d;e\n\n"";"x\ny";1,5;1.2.2024;9,00 €\n1.234,5;0,5;n/a;x;5,4-\n', tmp_path, decimal=",", infer=True)
    assert [line.partition(": ")[2] for line in capfd.readouterr().err.splitlines()] == [
        f"column '{column}' stays text: '{value}' in line {line} is not a number with a decimal comma"
        for column, value, line in [("a", "1.234,5", 5), ("b", "x\\ny", 4), ("c", "n/a", 5), ("e", "9,00 €", 4)]
    ]


@pytest.mark.parametrize("kind", [LoadCsv, LoadJson, LoadJsonl])
def test_what_is_no_file_and_no_text_is_refused(kind, tmp_path):
    assert refused(kind, {})[0] == 66
    assert refused(kind, {"path": str(tmp_path / "none")})[0] == 66
    assert refused(kind, {"path": str(tmp_path)})[0] == 66
    assert refused(kind, {"path": "nul\0"})[0] == 65
    assert refused(kind, {"text": [1]})[0] == 65
    assert "--each --as=path" in refused(kind, {"text": ["a.csv", "b.csv"]})[1]
    (tmp_path / "a").write_text("a")
    assert "--as=path" in refused(kind, {"text": str(tmp_path / "a")})[1]


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1", "-2", ""], [1, -2, None]),
        (["18446744073709551615", "0"], [(1 << 64) - 1, 0]),
        (["18446744073709551616", "0"], ["18446744073709551616", "0"]),
        (["1" * 30, "2"], ["1" * 30, "2"]),
        (["007", "1"], ["007", "1"]),
        (["+1", "1"], ["+1", "1"]),
        (["1_0", "\u0661"], ["1_0", "\u0661"]),
        ([" 1", "2"], [" 1", "2"]),
        (["1", "2.50", "-1e3", ".5"], [1.0, 2.5, -1000.0, 0.5]),
        (["9007199254740993", "0.5"], [9007199254740993, 0.5]),
        (["1e999", "1"], ["1e999", "1"]),
        (["nan", "1.5"], ["nan", "1.5"]),
        (["true", "FALSE"], [True, False]),
        (["true", "1"], ["true", "1"]),
        (["", ""], [None, None]),
        (["x", ""], ["x", None]),
    ],
)
def test_a_column_gets_the_type_that_all_its_texts_have(tmp_path, texts, values):
    rows = load("a,b\n" + "".join(f"{text},x\n" for text in texts), tmp_path, infer=True)
    found = [row["a"] for row in rows]
    assert (found, [*map(type, found)]) == (values, [*map(type, values)])
