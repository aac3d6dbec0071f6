import csv
import io
import json
import random

import pytest

from pflow.errors import PflowError
from pflow.many.ledger import Entry
from pflow.many.rows import Rows
from pflow.process.signals import ClosedPipe

FORM = {"raw": False, "nul": False, "in_order": True, "errors": None}


class Printed(Rows):
    """Rows that are printed into a list."""

    def __init__(self, form="jsonl", **more):
        self.out = []
        super().__init__(form, **{**FORM, "write": lambda pieces: self.out.extend(map(bytes, pieces)), **more})

    def text(self):
        self.close()
        return b"".join(self.out).decode()


def done(carried="response", /, **outputs):
    return Entry("id", "", 0, "done", 0, outputs, carried if carried in outputs else "")


def failed(error="it broke"):
    return Entry("id", "", 0, "failed", 65, None, "", error, 2)


@pytest.mark.parametrize(
    ("item", "entry", "row"),
    [
        ("a", done(response="A"), {"item": "a", "response": "A"}),
        ({"n": 1}, done(response={"m": 2}), {"n": 1, "response": {"m": 2}}),
        ({"n": 1, "m": 0}, done(n=3), {"n": 3, "m": 0}),
        ({"n": 1}, failed(), {"n": 1, "error": "it broke"}),
        (["a"], failed(), {"item": ["a"], "error": "it broke"}),
        ({"$bad": '{"a":'}, failed(), {"$bad": '{"a":', "error": "it broke"}),
        (b"\xff", done(response="A"), {"item": {"$bytes": "/w=="}, "response": "A"}),
        ({"n": 1, "key": "s3cret"}, done(response="A"), {"n": 1, "response": "A"}),
    ],
)
def test_a_row_has_the_items_members_and_what_the_flow_gives_by_name(item, entry, row):
    rows = Printed(secret={"key"})
    rows.put(0, item, entry)
    assert json.loads(rows.text()) == row


def test_a_record_has_always_the_same_members():
    rows = Printed("record")
    rows.put(0, {"n": 1}, done(response="A"))
    rows.put(1, "b", failed())
    records = [*map(json.loads, rows.text().splitlines())]
    names = ["index", "id", "item", "status", "exit", "outputs", "error", "tries", "usage", "cost", "ms"]
    assert [[*each] for each in records] == [names, names]
    assert [(each["index"], each["status"], each["error"]) for each in records] == [
        (0, "done", None),
        (1, "failed", "it broke"),
    ]


@pytest.mark.parametrize(
    ("nul", "text"),
    [(False, 'a\nb\nb\n\n{"m":1}\n{"x":1,"y":"é"}\n'), (True, 'a\0b\nb\n\0\0{"m":1}\0{"x":1,"y":"é"}\0')],
)
def test_raw_gives_the_carried_value_alone_each_with_its_end(nul, text):
    rows = Printed(raw=True, nul=nul)
    ends = [done(response="a"), failed(), done(response="b\nb\n"), done(response=""), done(response={"m": 1})]
    for index, entry in enumerate([*ends, done(x=1, y="é")]):
        rows.put(index, index, entry)
    assert rows.text() == text


@pytest.mark.parametrize("seed", range(20))
def test_rows_go_out_in_the_order_of_the_items_however_they_end(seed):
    chance, rows, items = random.Random(seed), Printed(), sorted(random.Random(seed).sample(range(1000), 300))
    lost = {*chance.sample(items, 3)}  # the map is stopped before they end
    running = []
    for index in items:
        if chance.random() < 0.1:
            rows.put(index, index, done(response=""))  # is done already
            continue
        rows.expect(index)
        running.append(index)
        if len(running) > 20:
            ended = running.pop(chance.randrange(20))
            if ended not in lost:
                rows.put(ended, ended, done(response=""))
            first = min([*running, *(each for each in lost if each in rows.turns.expected)])
            rows.flush()
            assert all(json.loads(line)["item"] < first for line in b"".join(rows.out).splitlines())
    for index in reversed(running):
        if index not in lost:
            rows.put(index, index, done(response=""))
    lost &= {*rows.turns.expected}
    assert [json.loads(line)["item"] for line in rows.text().splitlines()] == [
        each for each in items if each not in lost
    ]


def test_rows_go_out_as_they_come_where_order_is_not_asked_for():
    rows = Printed(in_order=False)
    rows.expect(0)
    rows.put(1, "b", done(response=""))
    rows.flush()
    assert json.loads(rows.out[0])["item"] == "b"


def test_csv_has_the_columns_of_the_first_row_that_is_done_and_loses_no_value(capfd):
    rows = Printed("csv")
    rows.put(0, {"n": 1, "note": "x,y"}, failed())
    rows.put(1, {"n": 2}, done(response={"team": "Ann", "urgent": True}, list=[1]))
    rows.put(2, {"n": 3}, done(response={"team": None, "why": "w"}))
    rows.put(3, {"n": 4, "a": {"b": 1}, "a.b": 2}, failed())
    table = [*csv.reader(io.StringIO(rows.text()))]
    assert table == [
        ["n", "response.team", "response.urgent", "list", "note", "error"],
        ["1", "", "", "", "x,y", "it broke"],
        ["2", "Ann", "true", "[1]", "", ""],
        ["3", "", "", "", "", 'no column for {"response.why":"w"}'],
        ["4", "", "", "", "", 'it broke; no column for {"a":{"b":1},"a.b":2}'],
    ]
    assert capfd.readouterr().err.count("--format=jsonl has them") == 1


def test_csv_of_failed_items_alone_and_of_none():
    rows = Printed("csv")
    rows.put(0, "a", failed())
    assert rows.text() == "item,error\na,it broke\n"
    assert Printed("csv").text() == ""
    with pytest.raises(PflowError, match="with NUL") as refused:
        Printed("csv", nul=True)
    assert refused.value.exit == 2


def test_the_failed_items_go_to_a_file_of_their_own_as_items_again(tmp_path):
    file = tmp_path / "errors.jsonl"
    rows = Printed(errors=str(file))
    rows.put(0, {"n": 1, "error": "mine"}, failed())
    rows.put(1, "b", done(response="B"))
    assert json.loads(file.read_text()) == {"item": {"n": 1, "error": "mine"}, "error": "it broke"}
    assert json.loads(rows.text()) == {"item": "b", "response": "B"}


def test_the_file_of_failed_items_is_none_of_the_items(tmp_path, monkeypatch):
    file = tmp_path / "items.jsonl"
    file.write_text('{"n": 1}\n')
    monkeypatch.chdir(tmp_path)
    for path, inputs, code in [("items.jsonl", [str(file)], 2), ("no/such/file", [], 73), (str(tmp_path), [], 73)]:
        with pytest.raises(PflowError, match="cannot write the failed items") as refused:
            Printed(errors=path, inputs=["items.csv", *inputs])
        assert refused.value.exit == code
    assert file.read_text() == '{"n": 1}\n'
    full = Printed(errors="/dev/full")
    with pytest.raises(PflowError, match="'/dev/full': no space left"):
        full.put(0, "a", failed())


def test_a_reader_that_is_gone_ends_the_rows():
    def write(pieces):
        raise ClosedPipe

    rows = Printed(write=write)
    rows.put(0, "x", done(response=""))
    with pytest.raises(ClosedPipe):
        rows.put(1, "x" * 70_000, done(response=""))
    rows.flush()  # what was not written is not written again
