"""The lock file: what is held to it, what counts as a difference, and how each is named."""

import json

import pytest

from pflow.catalog.find import forget_types
from pflow.errors import PflowError
from pflow.flow.lock import drift, lock_file, lock_text
from pflow.flow.subflow import load_named
from pflow.flow.wiring import wire

NODE = '''import _limit
from pflow import Node


class Cut(Node):
    """Cut a text.

    Interface:
    - Reads: shared["text"]: str [pipe]  # what
    - Writes: shared["cut"]: str [pipe]  # the rest
    - Params: size: int = 3 [env CUT_SIZE]  # how much
    """

    version = "1.0.0"

    def post(self, shared, prepared, result):
        shared["cut"] = shared["text"][: self.params["size"]]
'''
INNER = {
    "inputs": {"text": {"type": "str", "default": "abc"}},
    "nodes": [
        {"id": "cut", "type": "cut", "params": {"size": 2}, "description": "of no account"},
        {"id": "end", "type": "shell", "inputs": {"command": "tr a b", "args": ["$text"]}},
    ],
}
OUTER = {
    "outputs": {"end": "last.cut"},
    "nodes": [{"id": "in", "type": "./inner.pflow.json"}, {"id": "last", "type": "cut"}],
    "mappings": {"last": {"input_mappings": {"text": "in.cut"}}},
}


class Place:
    """A flow with a flow within, and their node."""

    def __init__(self, folder):
        self.folder = folder
        self.file = str(folder / "outer.pflow.json")
        self.write("_limit.py", "LIMIT = 3\n")
        self.write("cut.py", NODE)
        self.write("inner.pflow.json", json.dumps(INNER))
        self.write("outer.pflow.json", json.dumps(OUTER))

    def write(self, name, text):
        (self.folder / name).write_text(text)
        forget_types()

    def edit(self, name, old, new):
        text = (self.folder / name).read_text()
        assert old in text
        self.write(name, text.replace(old, new))

    def wired(self):
        return wire(load_named([self.file]).usable())

    def lock(self):
        self.write("outer.lock.json", lock_text(self.wired()))

    def drift(self):
        return [each.message for each in drift(self.wired())]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("PFLOW_NODES", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place = Place(tmp_path)
    place.lock()
    return place


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("cut.py", "    def post", "    # a comment\n    def post"),
        ("cut.py", "Cut a text.", "Cut any text."),
        ("cut.py", "# how much", "# how many letters"),
        ("_limit.py", "LIMIT = 3", "LIMIT = 3  # as always"),
        ("inner.pflow.json", "of no account", "of some account"),
        ("inner.pflow.json", '{"id": "cut", "type": "cut"', '{"type": "cut",\r\n\r\n"id": "cut"'),
        ("outer.pflow.json", "{", "{ "),
        ("outer.lock.json", "\n", "\r\n"),
        ("outer.lock.json", '"pflow_lock": 1', '"pflow_lock":\t1'),
    ],
)
def test_what_says_the_same_is_no_difference(place, file, old, new):
    place.edit(file, old, new)
    assert place.drift() == []


def test_neither_is_another_order_or_another_directory(place, tmp_path, monkeypatch):
    facts = json.loads((tmp_path / "outer.lock.json").read_text())
    place.write("outer.lock.json", json.dumps(dict(reversed(facts.items()))))
    moved = tmp_path / "moved"
    moved.mkdir()
    for file in [*tmp_path.glob("*.py"), *tmp_path.glob("*.json")]:
        file.rename(moved / file.name)
    monkeypatch.setenv("PFLOW_NODES", str(moved))
    place.file = str(moved / "outer.pflow.json")
    forget_types()
    assert place.drift() == []


@pytest.mark.parametrize(
    ("file", "old", "new", "found"),
    [
        ("_limit.py", "3", "4", ["code _limit.py of 'in/cut' is", "code _limit.py of 'last' is"]),
        ("inner.pflow.json", '"size": 2', '"size": true', ["param size of 'in/cut' is true, was 2"]),
        ("inner.pflow.json", "tr a b", "tr a c", ["input command of 'in/end' is"]),
        ("inner.pflow.json", "$text", "$cut", ["flow hash is", "flow hash of 'in' is", "input args of 'in/end' is"]),
        ("inner.pflow.json", '"abc"', '"abcd"', ['input text of \'in\' is "str = \\"abcd\\" [optional]", was']),
        (
            "outer.pflow.json",
            '"text": "in.cut"',
            '"text": "template:${in.cut}!"',
            ["flow hash is", 'input mapping text of \'last\' is "template:${in.cut}!", was "in.cut"'],
        ),
        ("outer.pflow.json", "last.cut", "in.cut", ["flow hash is", 'output end is "in.cut", was "last.cut"']),
        (
            "outer.pflow.json",
            '{"id": "in"',
            '{"id": "more", "type": "cut", "inputs": {"text": "x"}}, {"id": "in"',
            ["flow hash is", "'more' was not there"],
        ),
    ],
)
def test_each_difference_is_named(place, file, old, new, found):
    place.edit(file, old, new)
    messages = place.drift()
    assert [message[: len(start)] for message, start in zip(messages, found, strict=True)] == found


def test_another_version_and_a_renamed_param_are_named_with_what_they_were(place):
    for old, new in (("1.0.0", "1.1.0"), ("- Params: size: int = 3", "- Params: width: int = 4")):
        place.edit("cut.py", old, new)
    of_last = [message for message in place.drift() if "'last'" in message and not message.startswith("code")]
    assert of_last == [
        "interface's param size of 'last' is gone, and was \"int = 3 [env CUT_SIZE]\"",
        "interface's param width of 'last' is \"int = 4 [env CUT_SIZE]\", and was not there",
        'version of \'last\' is "1.1.0", was "1.0.0"',
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no lock file '.*outer.lock.json'"),
        ("", "cannot read the lock file '.*outer.lock.json': line 1"),
        ("{", "cannot read the lock file '.*outer.lock.json': line 1"),
        ('{"pflow_lock": 1, "pflow_lock": 1}', "cannot read the lock file '.*"),
        ("[1]", "'.*outer.lock.json' is not a lock file: it is a list, not a dict"),
        ("{}", "'.*outer.lock.json' is not a lock file: 'pflow_lock' is missing"),
        (
            '{"pflow_lock": 1, "steps": {"a": 2}}',
            "'.*outer.lock.json' is not a lock file: 'steps.a' is an int, not a dict",
        ),
        ('{"pflow_lock": 2, "more": []}', "'.*outer.lock.json' has version 2, but this pflow reads version 1"),
        ('{"pflow_lock": true}', "'.*outer.lock.json' has version true, but this pflow reads version 1"),
    ],
)
def test_a_lock_file_that_is_none_is_one_finding_that_says_what_to_type(place, tmp_path, text, message):
    (tmp_path / "outer.lock.json").unlink()
    if text is not None:
        place.write("outer.lock.json", text)
    (found,) = drift(place.wired())
    with pytest.raises(PflowError, match=message):
        raise PflowError(found.message)
    assert (found.rule, found.location, found.remedy) == ("PF17", (), f"pflow lock {place.file}")


def test_a_flow_in_no_file_has_no_lock_file():
    with pytest.raises(PflowError, match="not in a file") as none:
        lock_file(load_named(["shell ls"]))
    assert none.value.exit == 2


def test_a_lock_file_has_a_fact_a_line_in_one_order(place, tmp_path):
    text = (tmp_path / "outer.lock.json").read_text()
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert max(map(len, text.split("\n"))) < 120
    assert str(tmp_path) not in text
