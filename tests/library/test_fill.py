"""The values that a sentence gives the inputs of a flow."""

import pytest

from pflow.library.fill import fill


def an(type, description="", **more):
    return {"type": type, "description": description, **more}


IN_OUT = {"path": an("path", "what is read"), "out": an("path", "where it goes", default="out.md")}


@pytest.mark.parametrize(
    ("inputs", "sentence", "values"),
    [
        ({"issue_number": an("int")}, "fix issue 1234", {"issue_number": 1234}),
        ({"issue_number": an("str")}, "fix issue 1234", {"issue_number": "1234"}),
        ({"issue_number": an("int"), "limit": an("int", default=5)}, "fix issue 1234", {"issue_number": 1234}),
        ({"n": an("int", "how many lines")}, "keep 5 lines", {"n": 5}),
        (IN_OUT, "summarize notes.txt into out/a.md", {"path": "notes.txt", "out": "out/a.md"}),
        (IN_OUT, "write b.md from notes.txt", {"path": "notes.txt", "out": "b.md"}),
        (IN_OUT, "read data.txt, summarize it, write summary.md", {"path": "data.txt", "out": "summary.md"}),
        (IN_OUT, "summarize notes.txt", {"path": "notes.txt"}),
        (IN_OUT, "summarize 'my notes.txt' into \"a b.md\"", {"path": "my notes.txt", "out": "a b.md"}),
        ({"source": an("path"), "target": an("path")}, "copy a.txt to b.txt", {"source": "a.txt", "target": "b.txt"}),
        ({"target": an("path"), "source": an("path")}, "copy a.txt to b.txt", {"source": "a.txt", "target": "b.txt"}),
        ({"old": an("path"), "new": an("path")}, "compare a.txt and b.txt", {"old": "a.txt", "new": "b.txt"}),
        ({"paths": an("list[path]")}, "merge a.pdf, b.pdf and c.pdf", {"paths": ["a.pdf", "b.pdf", "c.pdf"]}),
        (
            {"paths": an("list[path]"), "out": an("path")},
            "merge a.pdf and b.pdf into all.pdf",
            {"paths": ["a.pdf", "b.pdf"], "out": "all.pdf"},
        ),
        ({"paths": an("list[path]"), "out": an("path")}, "merge a.pdf and b.pdf", {"paths": ["a.pdf", "b.pdf"]}),
        ({"url": an("str"), "lines": an("int", default=3)}, "get https://x.y/a?b=1.", {"url": "https://x.y/a?b=1"}),
        ({"width": an("int"), "height": an("int")}, "width 300 and height 200", {"width": 300, "height": 200}),
        ({"width": an("int"), "height": an("int")}, "a height of 200, width 300", {"width": 300, "height": 200}),
        ({"count": an("int"), "ratio": an("float")}, "take 5 with ratio 0.5", {"count": 5, "ratio": 0.5}),
        ({"style": an("short|long")}, "make a short one", {"style": "short"}),
        ({"text": an("str"), "channel": an("str")}, 'post "hi" to channel "ops"', {"text": "hi", "channel": "ops"}),
        ({"anything": {}}, 'say "hi"', {"anything": "hi"}),
        (IN_OUT, "don't touch a.txt, summarize b.txt", {"path": "b.txt"}),
        (IN_OUT, "summarize notes.txt but not into out.md", {"path": "notes.txt"}),
        (IN_OUT, "summarize notes.txt and mail it to bob@example.com", {"path": "notes.txt"}),
        ({"paths": an("list[path]")}, "merge a.pdf and b.pdf into all.pdf", {"paths": ["a.pdf", "b.pdf"]}),
        ({"paths": an("list[path]")}, "merge a.pdf and b.pdf, not c.pdf", {"paths": ["a.pdf", "b.pdf"]}),
        ({"ids": an("list[int]")}, "close 12, 13 in 2 days", {"ids": [12, 13]}),
        ({"width": an("int", "in pixels")}, "make 40 images 300 pixels wide", {"width": 300}),
        ({"width": an("int")}, "a width of 300 pixels", {"width": 300}),
        ({"width": an("int"), "height": an("int")}, "scale to 300 x 200", {"width": 300, "height": 200}),
        ({"format": an("json|csv")}, "convert data.json to csv", {"format": "csv"}),
        ({"level": an("1|2|3")}, "take 3 files at level 2", {"level": "2"}),
        ({"page": an("str", "page to fetch")}, "fetch https://x.y", {"page": "https://x.y"}),
    ],
)
def test_a_value_goes_where_its_type_and_its_words_say(inputs, sentence, values):
    assert fill(inputs, sentence).values == values


@pytest.mark.parametrize(
    ("inputs", "sentence", "unused"),
    [
        ({"path": an("path")}, "compare a.txt and b.txt", "a.txt b.txt"),
        ({"width": an("int"), "height": an("int")}, "scale to 300", "300"),
        ({"limit": an("int", default=20)}, "fix issue 1234", "1234"),
        ({"style": an("short|long")}, "short or long", ""),
        ({"a": an("short|long"), "b": an("short|wide")}, "short", ""),
        ({"count": an("int")}, "take 0.5", "0.5"),
        ({"count": an("int")}, "take 99999999999999999999999", "99999999999999999999999"),
        ({"is_loud": an("bool")}, "be true", ""),
        ({"text": an("str")}, "summarize notes.txt of https://x.y", "notes.txt https://x.y"),
        ({"a": an("nonsense["), "b": an(3), "c": {"type": None, "description": 5}}, "take 5", "5"),
        ({}, "read a.txt", "a.txt"),
        (IN_OUT, "store notes.txt summary in summary.md", "notes.txt summary.md"),
        ({"path": an("path", "file to read")}, "write the summary to a.txt", "a.txt"),
        ({"path": an("path", "file to write")}, "summarize a.txt", "a.txt"),
        ({"keep": an("path"), "remove": an("path")}, "do not remove a/", "a/"),
        ({"old": an("path"), "new": an("path")}, "compare new.txt with old.txt", "new.txt old.txt"),
        ({"issue_number": an("int")}, "summarize in 3 sentences", "3"),
        ({"issue_number": an("int")}, "in 2 days fix the issue", "2"),
        ({"issue_number": an("int")}, "fix issues 12, 13 and 14", "12 13 14"),
        ({"issue_number": an("int")}, "anything but not issue 12", "12"),
        ({"width": an("int"), "height": an("int")}, "40 images at 300", "40 300"),
        ({"temperature": an("float")}, "what is the temperature in 5 cities", "5"),
        ({"count": an("int")}, "one file, 1,234 lines", ""),
        ({"channel": an("str"), "text": an("str")}, "post 'hi' in 'ops'", "hi ops"),
        ({"tags": an("list[str]")}, "tag with 'a' and 'b' the file 'c'", "a b c"),
        ({"text": an("str", "text of the file")}, "summarize notes.txt", "notes.txt"),
        ({"body": an("str", "text of a page")}, "summarize https://x.y", "https://x.y"),
        ({"style": an("short|long")}, "do not make it short", ""),
        ({"lang": an("de|en|it")}, "summarize it", ""),
        ({"format": an("json|csv")}, "read data.csv", "data.csv"),
        ({"level": an("1|2|3")}, "take 3 files", "3"),
        (IN_OUT, "", ""),
    ],
)
def test_nothing_is_guessed_and_what_is_left_is_told(inputs, sentence, unused):
    found = fill(inputs, sentence)
    assert (found.values, [value.text for value in found.unused]) == ({}, unused.split())


def test_what_no_input_takes_is_left_beside_what_one_does():
    found = fill(IN_OUT, "summarize notes.txt in 3 sentences")
    assert (found.values, [value.text for value in found.unused]) == ({"path": "notes.txt"}, ["3"])


def test_many_values_are_quick_to_leave_out():
    inputs = {f"input_{number}": an("path") for number in range(20)}
    sentence = " ".join(f"file{number}.txt" for number in range(2_000))
    assert fill(inputs, sentence).values == {}


def test_a_home_directory_is_written_out_as_a_shell_does(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    assert fill({"path": {"type": "path"}}, "read ~/a.txt").values == {"path": "/home/ada/a.txt"}
