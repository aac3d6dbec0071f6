import json
import os
import random
from contextlib import nullcontext
from dataclasses import replace

import pytest

from pflow.errors import PflowError
from pflow.map.ledger import LedgerEntry
from pflow.map.rows import Rows, check_errors


class Printed(Rows):
    """Rows that are printed into a list."""

    def __init__(self, form="jsonl", **more):
        self.out = []
        usual = {"raw": False, "nul": False, "in_order": True, "errors": None, "write": self.out.append}
        super().__init__(form, **{**usual, **more})

    def text(self):
        self.close()
        return b"".join(self.out).decode()


def done(**outputs):
    return LedgerEntry("id", "", 0, "done", 0, outputs, "response" if "response" in outputs else "")


FAILED = LedgerEntry("id", "", 0, "failed", 65, None, "", "it broke", 2)


@pytest.mark.parametrize(
    ("item", "entry", "row"),
    [
        ("a", done(response="A"), {"item": "a", "response": "A"}),
        ({"n": 1}, done(response={"m": 2}), {"n": 1, "response": {"m": 2}}),
        ({"n": 1, "m": 0}, done(n=3), {"n": 3, "m": 0}),
        ({"n": 1}, replace(done(response="A"), error="cut"), {"n": 1, "response": "A", "warning": "cut"}),
        (["a"], FAILED, {"item": ["a"], "error": "it broke"}),
        ({"$bad": '{"a":'}, FAILED, {"$bad": '{"a":', "error": "it broke"}),
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
    rows.put(1, "b", FAILED)
    records = [*map(json.loads, rows.text().splitlines())]
    names = "index id item status exit outputs error warning tries usage cost ms"
    assert [" ".join(each) for each in records] == [names, names]
    assert [(each["index"], each["error"]) for each in records] == [(0, None), (1, "it broke")]


@pytest.mark.parametrize(
    ("nul", "text"),
    [(False, 'a\nb\nb\n\n{"m":1}\n{"x":1,"y":"é"}\n'), (True, 'a\0b\nb\n\0\0{"m":1}\0{"x":1,"y":"é"}\0')],
)
def test_raw_gives_the_carried_value_alone_each_with_its_end(nul, text):
    rows = Printed(raw=True, nul=nul)
    ends = [done(response=each) for each in ("a", "b\nb\n", "", {"m": 1})]
    for index, entry in enumerate([FAILED, *ends, done(x=1, y="é")]):
        rows.put(index, index, entry)
    assert rows.text() == text


@pytest.mark.parametrize("seed", range(20))
def test_rows_go_out_in_the_order_of_the_items_however_they_end(seed):
    chance, rows = random.Random(seed), Printed()
    items = sorted(chance.sample(range(1000), 300))  # of a sample, or a shard
    running, ended = [], []
    for index in items:
        if chance.random() < 0.9:
            rows.expect(index)
            running.append(index)
        else:
            ended.append(index)  # it is done already
            rows.put(index, index, done())
        if len(running) > 20:
            ended.append(running.pop(chance.randrange(20)))
            rows.put(ended[-1], ended[-1], done())
            rows.flush()
            printed = [json.loads(line)["item"] for line in b"".join(rows.out).splitlines()]
            assert printed == sorted(each for each in ended if each < running[0])
    assert [json.loads(line)["item"] for line in rows.text().splitlines()] == sorted(ended)  # the map is stopped


def test_rows_go_out_as_they_come_where_order_is_not_asked_for():
    rows = Printed(in_order=False)
    rows.expect(0)
    rows.put(1, "b", done())
    rows.flush()
    assert json.loads(rows.out[0])["item"] == "b"


def test_csv_has_the_columns_of_the_first_row_that_is_done_and_loses_no_value(capfd):
    rows = Printed("csv")
    rows.put(0, {"n": 1, "note": "x,y"}, FAILED)
    rows.put(1, {"n": 2}, done(response={"team": "Ann", "urgent": True}))
    rows.put(2, {"n": 3}, done(response={"team": None, "why": "w"}))
    rows.put(3, {"n": 4, "a": {"b": 1}, "a.b": 2}, FAILED)
    assert rows.text().splitlines() == [
        "n,response.team,response.urgent,note,error",
        '1,,,"x,y",it broke',
        "2,Ann,true,,",
        '3,,,,"no column for {""response.why"":""w""}"',
        '4,,,,"it broke; no column for {""a"":{""b"":1},""a.b"":2}"',
    ]
    assert capfd.readouterr().err.count("--format=jsonl has them") == 1
    rows = Printed("csv")
    rows.put(0, "a", FAILED)
    assert rows.text() == "item,error\na,it broke\n"


def test_the_failed_items_go_to_a_file_of_their_own_as_items_again(tmp_path):
    file = tmp_path / "errors.jsonl"
    rows = Printed(errors=str(file))
    rows.put(0, {"n": 1, "error": "mine"}, FAILED)
    rows.put(1, "b", done(response="B"))
    assert json.loads(file.read_text()) == {"item": {"n": 1, "error": "mine"}, "error": "it broke"}
    assert json.loads(rows.text()) == {"item": "b", "response": "B"}


FAILURE = '{"item":1,"error":"no"}\n'


@pytest.mark.parametrize(
    ("path", "exit"),
    [
        *(("items", 2), ("link", 2), ("hard", 2), ("l.db", 2), ("./l.db", 2), ("flow", 2), ("notes", 73), ("rows", 73)),
        *(("no/such/file", 73), (".", 73), ("/dev/full", 73), ("new", 0), ("empty", 0), ("earlier", 0), ("torn", 0)),
    ],
)
def test_a_file_of_failed_items_takes_the_place_of_such_a_file_alone(tmp_path, monkeypatch, path, exit):
    monkeypatch.chdir(tmp_path)
    texts = {"items": FAILURE, "flow": "", "notes": "mine\n", "rows": FAILURE + '{"item":2,"text":"b"}\n', "empty": ""}
    texts |= {"earlier": FAILURE * 2, "torn": FAILURE + '{"item":'}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "link").symlink_to("items")
    (tmp_path / "hard").hardlink_to("items")
    refused = pytest.raises(PflowError, match="cannot write the failed items") if exit else nullcontext()
    with refused as error:
        check_errors(path, {"l.db": "it is the ledger", "flow": "it is the flow", str(tmp_path / "items"): "its items"})
        Printed(errors=path).put(0, "a", FAILED)
    if exit:
        assert error.value.exit == exit
        assert {name: (tmp_path / name).read_text() for name in texts} == texts
    else:
        assert (tmp_path / path).read_text() == '{"item":"a","error":"it broke"}\n'


def test_a_file_of_failed_items_keeps_those_of_an_earlier_map_until_one_fails_or_the_map_has_ended(tmp_path):
    file = tmp_path / "errors.jsonl"
    old = os.umask(0)
    Printed(errors=str(file)).close()
    os.umask(old)
    assert file.stat().st_mode & 0o777 == 0o644
    file.write_text(FAILURE)
    rows = Printed(errors=str(file))
    rows.put(0, "a", done(response="A"))
    assert file.read_text() == FAILURE
    rows.close()
    assert file.read_text() == ""
