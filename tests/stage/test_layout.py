"""Finding a store's members: by line where one of ours wrote it, by parsing where another did."""

import json

import pytest

from pflow.errors import PflowError
from pflow.stage.layout import Misfit, is_marked, parse_whole, split_lines

HEADER = '{"v":1,"by":"x"}'


def by_line(text: str):
    """The header and the members that splitting at newlines finds."""
    header, members = split_lines([text.encode()])
    return header.decode(), {key: member.value().decode() for key, member in members.items()}


def by_parsing(text: str):
    header, members = parse_whole(text.encode())
    return header and header.decode(), {key: member.value().decode() for key, member in members.items()}


def lines(*members: str) -> str:
    return ",\n".join([f'{{"$pflow":{HEADER}', *members]) + "\n}\n"


@pytest.mark.parametrize(
    ("chunks", "marked"),
    [
        ([], False),
        ([b""], False),
        ([b"text"], False),
        ([b'"$pflow"'], False),
        ([b' {"$pflow":{}}'], False),
        ([b'\xef\xbb\xbf{"$pflow":{}}'], False),
        ([b'{"a":1}'], False),
        ([b"{'$pflow':{}}"], False),
        ([b'{"pflow":{}}'], False),
        ([b'{"$pflow":{}}'], True),
        ([b'{"a":{"$pflow":{}}}'], True),
        ([b'{"a":"$pflow"}'], True),
        ([b"{" + b" " * 100, b'"$pflow"'], True),
        ([b'{     "$p', b'flow":{}}'], True),
        ([b'{       "', b'$pflow":{}}'], True),
        ([b'{"$pflow', b'": {}}   '], True),
    ],
)
def test_a_mark_is_an_object_that_holds_the_bytes_wherever_the_chunks_part(chunks, marked):
    assert is_marked(chunks) is marked


@pytest.mark.parametrize(
    ("members", "found"),
    [
        ([], {}),
        (['"a":1'], {"a": "1"}),
        (['"a":1.10', '"b":1e2', '"c":-0', '"d":true'], {"a": "1.10", "b": "1e2", "c": "-0", "d": "true"}),
        (['"a":"x,\\n"', '"b":""'], {"a": '"x,\\n"', "b": '""'}),
        (['"a":{}', '"b":[]', '"c":[1, {"x": "}"}]'], {"a": "{}", "b": "[]", "c": '[1, {"x": "}"}]'}),
        (['"":0', '"é 😀":0', '"a:b":0'], {"": "0", "é 😀": "0", "a:b": "0"}),
        (['"\\u0061\\"\\\\":0', '"\\ud83d\\ude00":[]'], {'a"\\': "0", "😀": "[]"}),
    ],
)
def test_one_member_a_line_is_found_by_line_and_by_parsing_alike(members, found):
    assert by_line(lines(*members)) == by_parsing(lines(*members)) == (HEADER, found)
    json.loads(lines(*members))


def test_a_value_that_no_line_break_cuts_is_not_looked_at():
    assert by_line(lines('"a":[nonsense]', '"b":"\\x"'))[1] == {"a": "[nonsense]", "b": '"\\x"'}


DOCUMENT = lines('"a":1', '"b":"x"')

OTHER_LAYOUTS = {
    "spaced": DOCUMENT.replace('{"$pflow":', '{ "$pflow": '),
    "CRLF": DOCUMENT.replace("\n", "\r\n"),
    "an indented line": DOCUMENT.replace('"a"', '  "a"'),
    "a space after a key": DOCUMENT.replace('"a":', '"a": '),
    "a space before a comma": DOCUMENT.replace("1,", "1 ,"),
    "no final newline": DOCUMENT[:-1],
    "an empty line": DOCUMENT.replace(",\n", ",\n\n", 1),
    "one line": DOCUMENT.replace("\n", ""),
    "a brace at the end of a line": DOCUMENT.replace("\n}", "}"),
    "a value over two lines": DOCUMENT.replace("1,", "[1,\n2],"),
    "an object over two lines": DOCUMENT.replace("1,", '{"x":{},\n"y":1},'),
    "a key over two lines": DOCUMENT.replace('"a":1', '"a":\n1'),
    "a long number": DOCUMENT.replace("1,", "1" * 500 + ","),
    "a header over two lines": DOCUMENT.replace('1,"by"', '1,\n"by"'),
    "the header at the end": '{"a":1,\n"$pflow":{"v":1}\n}\n',
    "more after it": DOCUMENT + "\n",
    "a key of 5000 letters": lines(f'"{"k" * 5000}":1'),
    "the lone header with an empty line": '{"$pflow":{"v":1}\n\n}\n',
    "cut": DOCUMENT[:-2],
    "cut in a value": DOCUMENT[:-6],
    "cut in the header": DOCUMENT[:10],
    "another member on the header's line": DOCUMENT.replace(",\n", ", ", 1),
}


@pytest.mark.parametrize("name", OTHER_LAYOUTS)
def test_any_other_layout_is_left_to_the_parser(name):
    text = OTHER_LAYOUTS[name]
    with pytest.raises(Misfit):
        by_line(text)


@pytest.mark.parametrize("name", OTHER_LAYOUTS)
def test_the_parser_finds_in_any_layout_what_json_finds(name):
    text = OTHER_LAYOUTS[name]
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(PflowError) as caught:
            by_parsing(text)
        assert caught.value.exit == 65
        return
    header, members = by_parsing(text)
    assert json.loads(header) == expected.pop("$pflow")
    assert {key: json.loads(value) for key, value in members.items()} == expected
    assert not any("\n" in value or "\r" in value for value in members.values())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1.10 }', "1.10"),
        ('{"a" :\t1e2\n}', "1e2"),
        ('{"a":\r\n{\r\n  "x" : [ 1,\r\n2 ]\r\n}}', '{"x" : [ 1,2 ]}'),
        ('{"a": "two  spaces\\n"}', '"two  spaces\\n"'),
        ('{"a": "\u2028\u0085"}', '"\u2028\u0085"'),
        ('{"a":[{"k":1,"k":2}]}', '[{"k":1,"k":2}]'),
        ('{"a":123456789012345678901234567890}', "123456789012345678901234567890"),
        ('{"a":' + "9" * 5000 + "}", "9" * 5000),
    ],
)
def test_a_value_keeps_its_bytes_but_for_line_breaks_and_indentation(text, value):
    assert by_parsing(text) == (None, {"a": value})


def test_a_key_keeps_its_bytes_too():
    member = parse_whole(b'{ "\\u0061\\/" : 1 }')[1]["a/"]
    assert b"".join(member.pieces) == b'"\\u0061\\/":1'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it ends early, at byte 0"),
        ("{", "it ends early, at byte 1"),
        ('{"a"', "it ends early, at byte 4"),
        ('{"a":', "it ends early, at byte 5"),
        ('{"a":1', "it ends early, at byte 6"),
        ('{"a":1,', "it ends early, at byte 7"),
        ('{"é":1,x', 'no " here, at byte 8'),
        ('{"a":1 "b":2}', "no , here, at byte 7"),
        ('{"a" 1}', "no : here, at byte 5"),
        ("{'a':1}", 'no " here, at byte 1'),
        ('{"a":1,}', 'no " here, at byte 7'),
        ('{"a":1} x', "something follows the document, at byte 7"),
        ('{"a":tru}', "a value does not parse, at byte 5"),
        ('{"a":NaN}', "a value does not parse, at byte 5"),
        ('{"\\ud800":1}', "a key does not parse, at byte 1"),
        ('{"\\x":1}', "a key does not parse, at byte 2"),
        ('{"a":"\n"}', "a value does not parse, at byte 6"),
        ("[1]", "no { here, at byte 0"),
        ('{"a":1,"a":2}', "the key 'a' stands in it twice"),
        ('{"a":1,"\\u0061":2}', "the key 'a' stands in it twice"),
        ('{"$pflow":{},"$pflow":{}}', "the key '$pflow' stands in it twice"),
        ('{"a":' + "[" * 5000 + "]" * 5000 + "}", "nested too deeply"),
    ],
)
def test_what_does_not_parse_is_refused_with_the_place(text, why):
    with pytest.raises(PflowError) as caught:
        by_parsing(text)
    assert why in caught.value.message
    assert caught.value.exit == 65


def test_bytes_that_are_not_utf_8_are_refused_with_the_place():
    with pytest.raises(PflowError, match="it is not UTF-8, at byte 6") as caught:
        parse_whole(b'{"a":"\xff"}')
    assert caught.value.exit == 65


def test_a_key_that_stands_twice_is_refused_by_line_too():
    with pytest.raises(PflowError, match="'a' stands in it twice"):
        by_line(lines('"a":1', '"\\u0061":2'))
