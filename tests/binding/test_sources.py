"""Where a read comes from: a path, a template, one of several paths, a constant."""

import pytest

from pflow.binding.sources import (
    Constant,
    NameSource,
    NotThere,
    PathSource,
    TemplateSource,
    check_place,
    parse_source,
    remove,
    without_newline,
)
from pflow.errors import PflowError
from pflow.values.types import Type

STORE = {"a": {"b": [1, 2.5, True, None, {"c": "é"}]}, "text": "x", "json": '{"n": {"m": [7]}}', "dollar": "${text}"}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("text", "x"),
        ("a.b[0]", 1),
        ("a.b[-1].c", "é"),
        ("a/b/4/c", "é"),
        ("json.n.m[0]", 7),
        ("dollar", "${text}"),
        ("template:$text", "x"),
        ("template:${a.b}", [1, 2.5, True, None, {"c": "é"}]),
        ("template:x${a.b[4]}", 'x{"c":"é"}'),
        ("template:", ""),
    ],
)
def test_what_a_mapping_names_is_found(written, value):
    found = parse_source(written).find(STORE)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("written", "paths", "origin"),
    [
        ("a.b[0]", [("a", "b", 0)], "a.b[0]"),
        ("a/b.c", [("a", "b.c")], 'a["b.c"]'),
        ("template:$text and ${a.b} and $text", [("text",), ("a", "b")], "template of text, a.b"),
        ("template:plain", [], "template"),
        (["a.b", "text"], [("a", "b"), ("text",)], "a.b or text"),
    ],
)
def test_a_source_tells_which_places_it_may_look_at(written, paths, origin):
    source = parse_source(written)
    assert (list(source.paths), source.origin) == (paths, origin)


PATHS = {
    "up": "..",
    "dot": ".",
    "deep": "a/b",
    "nul": "a\0b",
    "none": None,
    "n": 7,
    "file": b"f\xff",
    "list": ["a", "/b"],
}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("out/$n.txt", "out/7.txt"),
        ("out/$file", "out/f\udcff"),
        ("out/x$up", "out/x.."),
        ("../$n", "../7"),
        ("$deep/$n", "a/b/7"),
        ("$deep.out", "a/b.out"),
        ("$up/x", "../x"),
        ("$none$deep", "a/b"),
        (["$deep", "o/$n"], ["a/b", "o/7"]),
    ],
)
def test_in_a_path_a_reference_after_text_brings_in_one_name(written, value):
    assert TemplateSource(written).find(PATHS, Type("path")) == value


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("out/$up", "up is '..'"),
        ("out/$up/x", "up is '..'"),
        ("$deep/$up", "up is '..'"),
        ("out/.$dot", "dot is '.'"),
        ("out/$dot$dot", "dot is '.'"),
        ("x$deep", "deep is 'a/b'"),
        ("out/$nul", "nul is 'a\0b'"),
        ("out/${none}x", "none is ''"),
        ("$none/x", "none is ''"),
        ("out/$list", 'list is \'["a","/b"]\''),
        (["$deep", "o/$deep"], "deep is 'a/b'"),
    ],
)
def test_what_would_lead_a_path_elsewhere_is_77(written, why):
    with pytest.raises(PflowError) as caught:
        TemplateSource(written).find(PATHS, Type("path"))
    assert caught.value.exit == 77
    assert why in caught.value.message


@pytest.mark.parametrize(
    ("path", "name", "stem", "directories"),
    [
        ("src/a.txt", "a.txt", "a", "src"),
        ("./x//y/a.tar.gz", "a.tar.gz", "a.tar", "x/y"),
        (".rc", ".rc", ".rc", ""),
        ("d/", "d", "d", ""),
        (b"x/\xff.t", "\udcff.t", "\udcff", "x"),
    ],
)
def test_the_parts_of_a_path_are_its_last_component_and_the_directories_before(path, name, stem, directories):
    assert [NameSource(("p",), part).find({"p": path}) for part in ("name", "stem", "dir")] == [name, stem, directories]
    with pytest.raises(PflowError, match="cannot take the name of p: 'p' is an int, not a path"):
        NameSource(("p",), "name").find({"p": 1})


@pytest.mark.parametrize(
    ("path", "written", "value"),
    [
        ("a/b/x", "out/$d/$n", "out/a/b/x"),
        ("x", "out/$d/$n", "out/x"),
        ("x", "$d/$n", "x"),
        ("x", "$d", ""),
        ("a/x", "o$d.d/$n", "oa.d/x"),
        ("/a/x", "out/$d/$n", None),
        ("a/../x", "$d/$n", None),
    ],
)
def test_the_directories_of_a_path_lead_below_and_take_the_slash_with_them(path, written, value):
    parts = {("d",): NameSource(("p",), "dir"), ("n",): NameSource(("p",), "name")}
    source = TemplateSource(written, {each: part for each, part in parts.items() if f"${each[0]}" in written})
    if value is not None:
        assert source.find({"p": path}, Type("path")) == value
        return
    with pytest.raises(PflowError, match="is not a path below") as caught:
        source.find({"p": path}, Type("path"))
    assert caught.value.exit == 77


@pytest.mark.parametrize("written", ["gone", "a.gone", "a.b[5]", "text.x", "template:${a.gone}", ["gone", "a.gone"]])
def test_what_is_missing_is_66_and_a_key_error(written):
    with pytest.raises(NotThere) as caught:
        parse_source(written).find(STORE)
    assert caught.value.exit == 66
    assert isinstance(caught.value, KeyError)


def test_of_several_places_the_one_written_last_counts():
    source = parse_source(["draft", "fix", "gone"])
    source.written_at = {("draft",): 5, ("fix",): 3, ("gone",): 9}.__getitem__
    assert source.find({"draft": "d", "fix": "f"}) == "d"
    assert source.find({"fix": "f"}) == "f"
    assert source.places({"draft": "d", "fix": "f"}) == (("draft",),)


def test_of_several_places_the_first_counts_where_nobody_knows_when_and_is_named_where_none_is_there():
    assert parse_source(["draft", "fix"]).find({"draft": "d", "fix": "f"}) == "d"
    with pytest.raises(NotThere, match="'draft'"):
        parse_source(["draft", "fix"]).find({})


def test_a_reference_of_a_template_may_stand_for_another_place():
    source = TemplateSource("<$text>", {("text",): PathSource(("a", "b", 0))})
    assert source.find(STORE) == "<1>"
    assert source.paths == (("a", "b", 0),)


def test_a_template_of_several_places_looks_at_the_latest():
    inner = parse_source(["draft", "fix"])
    inner.written_at = {("draft",): 1, ("fix",): 2}.__getitem__
    source = TemplateSource("<$it>", {("it",): inner})
    assert source.find({"draft": "d", "fix": "f"}) == "<f>"
    assert source.places({"draft": "d", "fix": "f"}) == (("fix",),)


def test_a_constant_looks_at_nothing():
    source = Constant([1], "nodes[0].inputs.x")
    assert (source.find({}), source.paths, source.origin) == ([1], (), "nodes[0].inputs.x")


@pytest.mark.parametrize("path", [("a",), ("new", "b"), ("o", "x"), ("o", "new", "y")])
def test_something_can_be_put_where_no_value_stands_in_the_way(path):
    store = {"a": 1, "o": {}}
    check_place(store, path)
    with pytest.raises(PflowError, match="cannot write") as caught:
        check_place(store, ("a", *path))
    assert caught.value.exit == 65


def test_what_stands_at_a_path_is_removed_alone():
    store = {"a": {"b": {"c": 1, "d": 2}, "e": 3}, "b": 4}
    for path in (("a", "b", "c"), ("a", "e"), ("b",)):
        remove(store, path)
    assert store == {"a": {"b": {"d": 2}}}


@pytest.mark.parametrize(
    ("places", "value", "found"),
    [
        ([("stdin",)], "name\n", "name"),
        ([("a", "stdout")], "name\n", "name"),
        ([("stdin",)], "name", "name"),
        ([("stdin",)], "one\ntwo\n", "one\ntwo\n"),
        ([("stdin",)], "\n", ""),
        ([("stdin",)], b"name\n", b"name\n"),
        ([("text",)], "name\n", "name\n"),
        ([("stdin",), ("stdout",)], "name\n", "name\n"),
    ],
)
def test_one_line_that_a_program_printed_is_taken_without_its_newline(places, value, found):
    assert without_newline(places, value) == found
