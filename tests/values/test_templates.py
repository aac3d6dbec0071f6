"""Templates: what is a reference, what is text, and what comes out."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.binding.sources import TemplateSource
from pflow.errors import PflowError
from pflow.values.paths import look_up
from pflow.values.templates import broken_references, expand, parse_template, references
from pflow.values.types import Type

STORE = {
    "name": "Ann",
    "a": "${b}",
    "b": "never",
    "n": 7,
    "f": 1.0,
    "t": True,
    "no": False,
    "null": None,
    "e": "é",
    "zero": "007",
    "list": [1, "two", None, True],
    "ll": [[10, 11]],
    "l": [1],
    "object": {"x": [1], "odd key": "odd", "to-there": "hyphen"},
    "json": '{"deep": "[1, {\\"x\\": 2}]"}',
    "docs": {"doc1.txt": "text"},
    "dollar": "$name ${name} $$",
    "_": "underscore",
    "x1": "digit",
}


def expanded(written):
    return expand(written, lambda path: look_up(STORE, path))


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("$name", "Ann"),
        ("$name.x", "Ann.x"),
        ("$name's", "Ann's"),
        ("${list[1]}", "two"),
        ("${ll[0][1]}", 11),
        ('${object["odd key"]}', "odd"),
        ('${["name"]}', "Ann"),
        ("${object.to-there}", "hyphen"),
        ("${docs/doc1.txt}", "text"),
        ("${json.deep[1].x}", 2),
    ],
)
def test_a_reference_is_replaced(written, value):
    assert expanded(written) == value


@pytest.mark.parametrize("name", ["n", "t", "null", "list", "zero"])
def test_one_whole_reference_keeps_its_type(name):
    value = expanded(f"${name}")
    assert value == STORE[name]
    assert value.__class__ is STORE[name].__class__
    assert expanded(f"${{{name}}}") is value


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("x${n}", "x7"),
        ("x${t}", "xtrue"),
        ("x${null}", "x"),
        ("x${list}", 'x[1,"two",null,true]'),
        ("${l}[0] $l. $l.5 ${l}.x $name.txt", "[1][0] [1]. [1].5 [1].x Ann.txt"),
    ],
)
def test_inside_text_what_is_not_text_is_json_and_null_is_empty(written, text):
    assert expanded(written) == text


@pytest.mark.parametrize(("name", "member"), [("object", ".x1"), ("l", "[0]")])
def test_a_member_of_an_object_needs_braces(name, member):
    why = f"'${name}{member}' is all of {name}, then '{member}'"
    with pytest.raises(PflowError, match=re.escape(why)) as caught:
        expanded(f"of ${name}{member}, $n")
    assert (caught.value.exit, caught.value.hint) == (65, f"${{{name}{member}}} is its member")


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("$$", "$"),
        ("$$name", "$name"),
        ("$${a} ${a}", "${a} ${b}"),
        ("$", "$"),
        ("$5", "$5"),
        ("${", "${"),
        ("${}", "${}"),
        ("${a:-b}", "${a:-b}"),
    ],
)
def test_any_other_dollar_is_a_dollar(written, text):
    assert expanded(written) == text


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("${a.}", "'${a.}' is not a reference: 'a.' has an empty step"),
        ("x ${a[0} y", "is not a reference"),
        ("${a[i]}", "is not a reference"),
        ("${l[${n}].x}", "'${l[${n' holds another reference, and references do not nest"),
        ("${l[$n]}", "references do not nest"),
        ("${a${b}}", "references do not nest"),
        ({"k": ["${a..b}"]}, "has an empty step"),
    ],
)
def test_what_begins_as_a_reference_and_goes_wrong_is_refused(written, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        references(written)


@pytest.mark.parametrize("text", ["${a:-$n}", "${a $n}", "${$n}", "${a and $n", '${["a$n"]}', "$${a.}"])
def test_what_a_shell_means_is_text_around_a_reference(text):
    references(text)


def test_templates_work_inside_lists_and_objects():
    written = {"k": ["$n", "n is $n", {"deep": "${list}"}], "plain": 3, "none": None}
    assert expanded(written) == {"k": [7, "n is 7", {"deep": STORE["list"]}], "plain": 3, "none": None}
    assert list(references(written)) == [("n",), ("n",), ("list",)]


@pytest.mark.parametrize("written", [{"$name": 1}, [{"${name}": 1}]])
def test_a_template_in_an_objects_key_is_refused(written):
    with pytest.raises((PflowError, ValueError)):
        expanded(written)


@pytest.mark.parametrize(
    ("written", "broken"),
    [
        ("${a", ["${a"]),
        ("${}", ["${}"]),
        ("${1x}", ["${1x}"]),
        ("${a b} ${b} ${", ["${a b}", "${"]),
        ("$${a", []),
        ("$$${a", ["${a"]),
        ("${a} $b $ $1 $$", []),
    ],
)
def test_what_looks_like_a_reference_and_is_none_is_named(written, broken):
    assert broken_references(written) == broken


@given(st.text())
def test_a_text_with_its_dollars_doubled_comes_out_as_it_was(text):
    assert expand(text.replace("$", "$$"), look_up) == text


@given(st.text('${}[]".a1_- é\\', max_size=30))
def test_a_template_has_as_many_parts_as_it_can_and_reads_back_the_same(text):
    try:
        parts = parse_template(text)
    except ValueError:
        return
    literals = [part for part in parts if isinstance(part, str)]
    assert all(literals)
    assert not any(isinstance(a, str) and isinstance(b, str) for a, b in pairwise(parts))
    assert list(references(text)) == [part for part in parts if not isinstance(part, str)]


@pytest.mark.parametrize(
    ("written", "text"), [("${a}", "${b}"), ("${a}${b}", "${b}never"), ("<$dollar>", "<$name ${name} $$>")]
)
def test_what_is_brought_in_is_never_expanded_again(written, text):
    assert expanded(written) == text


VALUES = {
    "up": "..", "dot": ".", "deep": "../../x?y=1#z", "all": "a b&c=%/ü~", "n": 7, "none": None, "list": ["a"],
    "bytes": b"\xff", "base": "https://h:80/a", "id": "jNQX", "evil": "evil.example", "at": "u:p@evil",
}  # fmt: skip
URL = Type("url")


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("http://h/a/$deep/x", "http://h/a/..%2F..%2Fx%3Fy%3D1%23z/x"),
        ("http://h/?q=$all#$n", "http://h/?q=a%20b%26c%3D%25%2F%C3%BC~#7"),
        ("http://h?$n=$bytes", "http://h?7=%FF"),
        ("http://h/$none/$list", "http://h//%5B%22a%22%5D"),
        ("http://h/..$up", "http://h/...."),
        ("http://h/?up=$up", "http://h/?up=.."),
        ("$base", "https://h:80/a"),
        ("$base/items/$deep", "https://h:80/a/items/..%2F..%2Fx%3Fy%3D1%23z"),
        ("$base$n", "https://h:80/a7"),
        ("youtu.be/$id", "youtu.be/jNQX"),
        ("/$at", "/u%3Ap%40evil"),
    ],
)
def test_a_value_is_percent_encoded_behind_literal_text(written, url):
    assert TemplateSource(written).find(VALUES, URL) == url
    assert TemplateSource([written]).find(VALUES, Type("list", URL)) == [url]


@pytest.mark.parametrize(
    "written",
    ["http://$evil", "http://$evil/", "http://$at@h/", "http://u:$n@h/", "http://h:$n/", "http://h.$evil/",
     "$none$evil", "ht$n://h/", "http:$base", "//$evil/x", "youtu.$id", "$id.$evil/x", "$id://$evil/", "http:$none//h"],
)  # fmt: skip
def test_a_value_in_scheme_user_host_or_port_is_77(written):
    with pytest.raises(PflowError, match="part of the scheme, user, host or port") as caught:
        TemplateSource(written).find(VALUES, URL)
    assert caught.value.exit == 77


@pytest.mark.parametrize(
    "written", ["http://h/$up", "http://h/a/$up/x", "http://h/.$dot/x", "http://h/%2E$dot", "$base/$dot"]
)
def test_a_value_that_leads_to_another_directory_is_77(written):
    with pytest.raises(PflowError, match=r"'\.' or '\.\.'") as caught:
        TemplateSource(written).find(VALUES, URL)
    assert caught.value.exit == 77


def test_an_address_where_a_path_may_be_given_is_joined_as_one():
    assert TemplateSource(["http://h/$deep"]).find(VALUES, Type("list", Type("path"))) == [
        "http://h/..%2F..%2Fx%3Fy%3D1%23z"
    ]
    with pytest.raises(PflowError) as caught:
        TemplateSource("HTTP://$evil/x").find(VALUES, Type("path"))
    assert caught.value.exit == 77
