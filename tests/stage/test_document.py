"""The store document: what is read is what was written, in any layout, and what is broken is refused."""

import json
import os
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.errors import PflowError
from pflow.interface.grammar import parse_interface
from pflow.stage import WRITER
from pflow.stage.document import BASE32, EMPTY, Document, new_run_id, read_document, read_json, take_in

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
KEYS = TEXTS.filter(lambda key: not key.startswith("$"))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
    | st.binary(max_size=8),
    lambda values: (
        st.lists(values, max_size=3)
        | st.dictionaries(TEXTS | st.sampled_from(["$pflow", "$bytes", "$$bytes"]), values, max_size=3)
    ),
    max_leaves=12,
)
STORES = st.dictionaries(KEYS, VALUES, max_size=5)


def written(store: dict, header: dict | None = None) -> bytes:
    document = Document({"v": 1, **(header or {})})
    for key, value in store.items():
        document.set(key, value)
    return output(document)


def output(document: Document) -> bytes:
    return b"".join(document.pieces())


def values(document: Document) -> dict:
    return dict(document)


def read(data: bytes | str) -> Document:
    document = read_document(data.encode() if isinstance(data, str) else data)
    assert document is not None
    return document


LAYOUTS = {
    "as it is": lambda document: json.dumps(document, ensure_ascii=False),
    "like jq .": lambda document: json.dumps(document, indent=2, ensure_ascii=False) + "\n",
    "like json.tool": lambda document: json.dumps(document, indent=4) + "\n",
    "a token a line": lambda document: json.dumps(document, indent=0, separators=("\n,\n", "\n:\n")),
    "CRLF": lambda document: json.dumps(document, indent=2).replace("\n", "\r\n"),
    "like mlr --json": lambda document: f"[\n{json.dumps(document)}\n]\n",
    "backwards": lambda document: json.dumps(dict(reversed(document.items()))),
}


@given(STORES)
def test_any_store_is_read_as_it_was_written(store):
    data = written(store, {"run": "r"})
    document = read(data)
    assert values(document) == store
    assert list(document.keys()) == list(store)
    assert output(document) == data


@given(STORES, st.sampled_from(sorted(LAYOUTS)))
def test_any_store_is_read_in_any_layout(store, layout):
    data = LAYOUTS[layout](json.loads(written(store, {"run": "r"})))
    document = read(data)
    assert values(document) == store
    assert document.header == {"v": 1, "run": "r", "by": WRITER, "members": len(store)}


@given(STORES)
def test_a_document_is_json_with_the_header_first_and_one_member_a_line(store):
    data = written(store)
    assert list(json.loads(data)) == ["$pflow", *store]
    assert data.endswith(b"\n}\n")
    assert data.count(b"\n") == len(store) + 2


def test_the_layout_is_the_one_in_the_design():
    document = Document({"v": 1, "by": "", "run": "01JD", "last": "response"})
    document.set("prompt", "Summarize")
    document.set("response", "é")
    assert output(document).decode() == (
        f'{{"$pflow":{{"v":1,"by":"{WRITER}","run":"01JD","last":"response","members":2}},\n'
        '"prompt":"Summarize",\n"response":"é"\n}\n'
    )


MEMBERS = (
    b'"n":1.10',
    b'"e":1e2',
    b'"big":123456789012345678901234567890',
    b'"emoji":"\xf0\x9f\x98\x80"',
    b'"nul":"\\u0000"',
    b'"escaped":"\\u00e9\\/"',
    b'"key":[1, {"a":  2}]',
    b'"broken":[nonsense]',
    b'"surrogate":"\\ud800"',
)


def test_what_nobody_decodes_passes_byte_for_byte_and_in_its_place():
    start = b'{"$pflow":{"v":1,"by":"' + WRITER.encode() + b'","members":9}'
    data = b",\n".join([start, *MEMBERS]) + b"\n}\n"
    document = read(data)
    assert output(document) == data
    document.set("emoji", 1)
    document.set("new", [])
    changed = [b'"emoji":1' if member.startswith(b'"emoji"') else member for member in MEMBERS]
    start = start.replace(b"9", b"10")
    assert output(document) == b",\n".join([start, *changed, b'"new":[]']) + b"\n}\n"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("NaN", "NaN"),
        ("18446744073709551616", "64 bits"),
        ("1e999", "does not fit in a float"),
        ('"\\ud800"', "surrogate"),
        ('{"\\ud800":1}', "surrogate"),
        ('{"$bytes":"%"}', "base64"),
        ("[1,]", ""),
        ('["a" "b"]', ""),
        ("[" * 5000 + "]" * 5000, "deep"),
    ],
)
def test_what_is_refused_is_refused_where_it_is_decoded_and_not_before(value, why):
    if value == "NaN":
        value = "[NaN]"
    document = read(f'{{"$pflow":{{"v":1}},\n"ok":1,\n"bad":{value}\n}}\n')
    assert document["ok"] == 1
    with pytest.raises(PflowError, match=f"cannot read 'bad' of the store: .*{why}") as caught:
        document["bad"]
    assert caught.value.exit == 65


RAW = [
    b"",
    b'"$pflow"',
    b' {"$pflow":{"v":1}}',
    b'\n{"$pflow":{"v":1}}',
    b'{"a":1}',
    b"{not json",
    b'\xef\xbb\xbf{"a":1}',
    b'{"a":{"$pflow":{"v":1}}}',
    b'{"a":"$pflow"}',
    b'["$pflow"]',
    b'[{"a":{"$pflow":{"v":1}}}]',
    b'[{"a":1},{"$pflow":{"v":1}}]',
    b'[see {"$pflow":{"v":1}}]',
    b' [{"$pflow":{"v":1}}]',
    b"\xff\xfe",
]


@pytest.mark.parametrize("data", RAW)
def test_what_is_no_store_is_raw(data):
    assert read_document(data) is None


def test_a_store_is_read_behind_a_byte_order_mark():
    for text in ('{"$pflow":{"v":1},\n"a":1\n}\n', '{"a": 1, "$pflow": {"v": 1}}'):
        document = read_document(b"\xef\xbb\xbf" + text.encode())
        assert (document.keys(), document["a"]) == (["a"], 1)


BROKEN = [
    ('{"$pflow":{"v":1}', "a comma or bracket is missing, at byte 17"),
    ('{"$pflow":{"v":1},\n"a":"x', "at byte"),
    ('{"$pflow":{"v":1},\n}\n', "read the document"),
    ('{"a":{"$pflow":1}', "at byte"),
    ('{"$pflow":{"v":1},\n"a":1\n}\n{"b":2}\n', "follows the document"),
    ('{"$pflow":{"v":1},\n"a":1,\n"a":2\n}\n', "the key 'a' appears twice"),
    ('{"$pflow":{"v":1},"a":1,"\\u0061":2}', "the key 'a' appears twice"),
    ('{"$pflow":{"v":1},"$pflow":{"v":1}}', "the key '$pflow' appears twice"),
    ('{"$pflow":{"v":1},\n"$pflow":{"v":1}\n}\n', "'$pflow'"),
    ('{"$pflow":{"v":1},\n"\\u0024x":1\n}\n', "'$x' begins with a $"),
    ('{"$schema":"x", "$pflow":{"v":1}}', "'$schema' begins with a $"),
    ('{"$pflow":{"v":1},"é":1,x', "a key in double quotes is missing, at byte 25"),
    ('{"$pflow":{"v":1},"a":1 "b":2}', "a comma or bracket is missing, at byte 24"),
    ('[{"$pflow":{"v":1}},{"$pflow":{"v":1}}]', "a list of several"),
    ('[{"$pflow":{"v":1}},', "a list of several"),
    ('[{"$pflow":{"v":1}}', "a bracket is missing, at byte 19"),
    ('[{"$pflow":{"v":1', "bracket is missing, at byte 17"),
    ('[{"$pflow":{"v":1}}]]', "follows the document"),
    ('[{"$pflow":{"v":2}}]', "has version 2"),
    ('{"$pflow":{}}', "it has no version"),
    ('{"$pflow":{"v":1},"a" 1}', "a colon is missing, at byte 22"),
    ('{"$pflow":{"v":1},"a":tru}', "no JSON value, at byte 22"),
    ('{"$pflow":{"v":1},"a":NaN}', "NaN is not JSON"),
    ('{"$pflow":{"v":1,"steps":[{"iD":1,"iD":2}]}}', "the key 'iD' appears twice"),
    ('{"$pflow":{"v":1,"x":18446744073709551616}}', "64 bits"),
    ('{"$pflow":{"v":1,"by":"\\ud800"}}', "surrogate"),
    ('{"$pflow":{"v":1,"x":' + "[" * 5000 + "]" * 5000 + "}}", "deep"),
]


@pytest.mark.parametrize(("text", "why"), BROKEN)
def test_a_store_that_is_broken_is_an_error_and_never_raw(text, why):
    with pytest.raises(PflowError) as caught:
        read_document(text.encode())
    assert caught.value.exit == 65
    assert why in caught.value.message


@pytest.mark.parametrize("version", ["2", "1.5", '"1"', "true", "null"])
def test_another_version_is_refused_and_both_and_the_writer_are_named(version):
    ours, other = '{"$pflow":{"v":VERSION,"by":"pflow 9"}\n}\n', '{ "$pflow": {"by": "pflow 9", "v": VERSION}}'
    for text in (ours.replace("VERSION", version), other.replace("VERSION", version)):
        with pytest.raises(PflowError, match=f"written by pflow 9; this is {WRITER}, which reads version 1") as caught:
            read_document(text.encode())
        assert caught.value.exit == 65
        assert f"version {json.loads(version)!r}" in caught.value.message


@pytest.mark.parametrize(
    "member",
    [
        *('"run":1', '"last":null', '"last":"a..b"', '"steps":{}', '"dry":"a"', '"dry":[1]', '"dry":["a..b"]'),
        *('"error":1', '"error":{}', '"error":{"exit":0}', '"error":{"exit":256}', '"error":{"exit":"66"}'),
    ],
)
def test_a_header_of_an_odd_shape_is_refused_before_anything_uses_it(member):
    with pytest.raises(PflowError) as caught:
        read(f'{{"$pflow":{{"v":1,{member}}}}}')
    assert caught.value.exit == 65


@pytest.mark.parametrize(
    "member",
    ['"error":{"exit":66.0,"step":1}', '"by":null', '"steps":[1,{"id":[]}]', '"traceparent":1', '"é":{"$bytes":"x"}'],
)
def test_what_else_a_header_holds_passes_as_it_is(member):
    header = json.loads(f'{{"v":1,{member}}}')
    document = read(f'{{"$pflow":{{"v":1,{member}}}}}')
    assert json.loads(output(document))["$pflow"] == {**header, "by": WRITER, "members": 0}


# Below: a document that is damaged. What comes out of it must be what json finds in it, or an error.

SAMPLE = (
    '{"$pflow":{"v":1,"by":"pflow-shell 0.1.0","run":"R","last":"a","steps":[{"id":"x"}],"members":7},\n'
    '"a":{"b":[1, {"c":{}, "d":{}}], "e":{}},\n'
    '"é":"x\\n, \\"y\\"",\n'
    '"n":1.10,\n'
    '"o":{"a":"b"},\n'
    '"l":["k", "v"],\n'
    '"m":[],\n'
    '"s":"end"\n'
    "}\n"
).encode()


def outcome(data: bytes):
    """What reading gives: None for raw, an error's code, or the document."""
    try:
        return read_document(data)
    except PflowError as error:
        return error.exit


def members_by_json(data: bytes) -> dict | None:
    """The store that json finds in a text; None where it finds none."""
    try:
        found = json.loads(data)
    except ValueError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("$pflow"), dict) else None


@pytest.mark.parametrize("layout", ["ours", *LAYOUTS])
def test_a_document_that_is_cut_is_refused_at_every_byte(layout):
    data = SAMPLE if layout == "ours" else LAYOUTS[layout](json.loads(SAMPLE)).encode()
    whole = data.rstrip()
    assert whole.endswith((b"}", b"]"))
    for end in range(len(whole)):
        expected = 65 if b'"$pflow"' in data[:end] else None
        assert outcome(data[:end]) == expected, data[:end]
    for end in range(len(whole), len(data) + 1):
        assert values(read(data[:end])) == values(read(data))


def damaged():
    """The sample with each single byte changed to each of several others."""
    for at in range(len(SAMPLE)):
        for byte in b'\n\r \t",:{}[]\\x0$\x00\x1f\x7f\x80\xff':
            yield SAMPLE[:at] + bytes([byte]) + SAMPLE[at + 1 :]


def test_a_document_with_any_byte_changed_is_an_error_or_passes_on_with_the_same_members():
    for data in damaged():
        document = outcome(data)
        if document is None or isinstance(document, int):
            assert document in (None, 65), data
            continue
        expected = members_by_json(data)
        if expected is not None:
            passed = json.loads(output(document))
            ours = {"by": "", "members": 7}
            assert {**passed, "$pflow": {**passed["$pflow"], **ours}} == {
                **expected,
                "$pflow": {**expected["$pflow"], **ours},
            }, data


DOCUMENT = '{"$pflow":{"v":1},\n"a":1,\n"b":"x"\n}\n'
NEARLY_OURS = {
    "spaced": DOCUMENT.replace('{"$pflow":', '{ "$pflow": '),
    "an indented line": DOCUMENT.replace('"a"', '  "a"'),
    "a space after a key": DOCUMENT.replace('"a":', '"a": '),
    "no final newline": DOCUMENT[:-1],
    "one line": DOCUMENT.replace("\n", ""),
    "a brace at the end of a line": DOCUMENT.replace("\n}", "}"),
    "an object over two lines": DOCUMENT.replace("1,\n", '{"x":{},\n"y":1},\n'),
    "a key over two lines": DOCUMENT.replace('"a":1', '"a":\n1'),
    "the header at the end": '{"a":1,\n"$pflow":{"v":1}\n}\n',
    "more after it": DOCUMENT + "\n",
    "a key of 5000 letters": DOCUMENT.replace('"a"', f'"{"k" * 5000}"'),
    "the lone header with an empty line": '{"$pflow":{"v":1}\n\n}\n',
    "two objects on a line": '{"$pflow":{"v":1,"members":3},\n"a":{}, "b":{},\n"c":1\n}\n',
}


@pytest.mark.parametrize("name", NEARLY_OURS)
def test_a_layout_that_is_nearly_ours_has_the_members_that_json_finds(name):
    expected = json.loads(NEARLY_OURS[name])
    expected.pop("$pflow")
    assert values(read(NEARLY_OURS[name])) == expected


# What is done with a store.


@pytest.mark.parametrize("key", ["", "é", "a\nb", '"', "\\", "a:b"])
def test_a_key_may_be_any_text(key):
    document = Document()
    document.set(key, key)
    assert values(read(output(document))) == {key: key}


@pytest.mark.parametrize("key", ["$", "$pflow", "$x", "\ud800"])
def test_a_key_that_no_store_can_hold_is_refused(key):
    document = Document()
    with pytest.raises(PflowError, match="cannot write") as caught:
        document.set(key, 1)
    assert caught.value.exit == 65
    assert not values(document)


def test_a_value_is_put_below_objects_that_are_made_on_the_way():
    document = Document()
    document.put(("draft", "text"), 1)
    document.put(("draft", "deep", "x"), 2)
    assert values(read(output(document))) == {"draft": {"text": 1, "deep": {"x": 2}}}


def test_the_first_stage_makes_a_run_and_later_ones_keep_it():
    document = Document()
    document.start()
    run = document.header["run"]
    assert re.fullmatch(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", run)
    again = read(output(document))
    again.start()
    assert again.header["run"] == run


@given(STORES)
def test_an_object_of_a_users_is_carried_and_its_members_are_keys(store):
    plain = json.loads(written(store))
    plain["$schema"] = plain.pop("$pflow")["v"]
    document = read_json(b" \n" + json.dumps(plain, indent=1).encode() + b"\n")
    assert values(document) == {**store, "stdin": {**store, "$schema": 1}}
    assert document.header == {"v": 1, "last": "stdin"}


@pytest.mark.parametrize("value", ["[]", "[1, [2]]", '[{"a":{"$pflow":1}}]', '"x\\ny"', "0", "1.50", "false", "null"])
def test_a_value_of_a_users_is_carried_as_it_is_written(value):
    document = read_json(b"\n" + value.encode() + b" \n")
    assert output(document).endswith(b'\n"stdin":' + value.encode() + b"\n}\n")
    assert document["stdin"] == json.loads(value)
    assert document.header["last"] == "stdin"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b" \n", "no JSON value"),
        (b"nonsense", "no JSON value"),
        (b"NaN", "NaN is not JSON"),
        (b"[1,", "no JSON value"),
        (b'{"a":1', "a comma or bracket is missing"),
        (b'{"a":1} {"a":2}', "more than one value"),
        (b"1\n2\n", "more than one value"),
        (b'{"a":1,"a":2}', "twice"),
        (b'{"$pflow":{"v":1}}', "it is a store"),
        (b'[{"$pflow":{"v":1}}]', "it is a store"),
        (b'[{"$pflow":{"v":1}},1]', "a list of several"),
        (b'{"a":"\xff"}', "UTF-8"),
    ],
)
def test_what_is_not_one_value_of_a_users_is_refused_on_demand(data, why):
    with pytest.raises(PflowError) as caught:
        read_json(data)
    assert caught.value.exit == 65
    assert why in caught.value.message


def test_what_a_node_cannot_load_early_it_tells_later():
    reads, writes = os.pipe()

    def warm():
        os.close(writes)
        raise ImportError("no such library")

    before = os.dup(0)
    os.dup2(reads, 0)
    try:
        assert take_in(warm=warm).kind == EMPTY
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(reads)


def test_a_run_is_named_by_its_millisecond_and_80_random_bits():
    begun, names, ended = time.time(), [new_run_id() for _ in range(200)], time.time()
    numbers = [sum(BASE32.index(letter) << 5 * at for at, letter in enumerate(reversed(name))) for name in names]
    assert {len(name) for name in names} == {26}
    assert all(int(begun * 1000) <= number >> 80 <= int(ended * 1000) for number in numbers)
    ones, zeros = 0, (1 << 80) - 1
    for number in numbers:
        ones, zeros = ones | number, zeros & number
    assert (ones % (1 << 80), zeros) == ((1 << 80) - 1, 0)


@pytest.mark.parametrize(("inferred", "there", "fed"), [(False, True, True), (True, True, False), (True, False, True)])
def test_a_read_that_is_inferred_to_take_the_pipe_takes_its_own_key_first(inferred, there, fed):
    interface = parse_interface('Interface:\n- Reads: shared["text"]: str [pipe]')
    interface.inferred = inferred
    document = Document({"v": 1, "last": "stdin"})
    document.set("stdin", "x")
    if there:
        document.set("text", "y")
    assert document.carried_to(interface) == (("stdin",) if fed else None)
    assert Document().carried_to(interface) is None
