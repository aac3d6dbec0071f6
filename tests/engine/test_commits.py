"""What a step does with files is in the journal before its end, and no more than that."""

import os
from types import SimpleNamespace

import pytest

from pflow.catalog.node_type import BUNDLED, FLOW, PROGRAM, PYTHON
from pflow.engine.commits import FileWatch, StepFiles
from pflow.interface.grammar import parse_interface
from pflow.record.records import MISSING, FileStates, file_key
from pflow.values.digest import bytes_digest

PATH = '- Reads: shared["path"]: path  # a file'


def step_files(*effects, origin=PYTHON, is_open=False):
    interface = parse_interface(
        "\n".join(["It.", "", "Interface:", PATH, *([f"- Effects: {', '.join(effects)}"] if effects else [])])
    )
    interface.open = is_open
    return StepFiles(SimpleNamespace(interface=interface, node_type=SimpleNamespace(origin=origin)))


@pytest.mark.parametrize(
    ("files", "reads", "changes"),
    [
        (step_files(), True, False),
        (step_files("reads files"), True, False),
        (step_files("network"), True, False),
        (step_files("writes files"), False, True),
        (step_files("reads files", "writes files"), True, True),
        (step_files("runs commands"), True, True),
        (step_files("anything"), True, True),
        (step_files(origin=PROGRAM), True, True),
        (step_files("network", origin=PROGRAM), True, False),
        (step_files("reads files", origin=FLOW), False, False),
        (step_files(is_open=True), True, True),
    ],
)
def test_by_its_effects_a_step_reads_the_files_that_it_names_and_changes_any(files, reads, changes):
    assert (files.reads, files.changes) == (reads, changes)


def test_the_paths_of_any_node_name_files_but_those_of_a_flow_do_not():
    named = {origin: [field.name for field in step_files(origin=origin).fields] for origin in (BUNDLED, PROGRAM, FLOW)}
    assert named == {BUNDLED: ["path"], PROGRAM: ["path"], FLOW: []}


class Steps:
    """Visits of steps that name one file each, and the records that they keep."""

    def __init__(self, *read_before, inside=""):
        self.records = []
        self.states = FileStates()
        for file in read_before:
            self.states.add({"read": f"{inside}a@1", "files": {file_key(str(file)): "D"}})

    def visit(self, file, act=lambda: None, *, files=None, item="", prefix="", at="b@1"):
        """Visit a step; return the records that it kept."""
        coordinator = SimpleNamespace(ask=lambda name, record: self.records.append(record), files=self.states)
        context = SimpleNamespace(coordinator=coordinator, prefix=prefix, item=item)
        self.records.clear()
        with FileWatch(files, context, at, SimpleNamespace(params={}), FakeView(path=str(file))):
            act()
        return self.records


class FakeView(dict):
    peek = dict.__getitem__


def state(text):
    return bytes_digest(text.encode())


READS, WRITES, BOTH = step_files(), step_files("writes files"), step_files("reads files", "writes files")


def test_a_file_that_a_step_reads_is_noted_as_it_was_before(tmp_path):
    file = tmp_path / "a"
    file.write_text("old")
    assert Steps().visit(file, files=READS) == [{"read": "b@1", "files": {file_key(str(file)): state("old")}}]
    assert Steps().visit(file, files=None) == []
    assert Steps().visit(tmp_path, files=READS) == []  # nobody knows the state of a folder
    gone = file_key(str(tmp_path / "gone"))
    assert Steps().visit(tmp_path / "gone", files=READS) == [{"read": "b@1", "files": {gone: MISSING}}]


def test_a_file_that_a_step_makes_is_its_own_work_and_was_not_read(tmp_path):
    file = tmp_path / "new"
    assert Steps().visit(file, lambda: file.write_text("x"), files=BOTH) == [
        {"left": {file_key(str(file)): state("x")}}
    ]


def test_a_file_that_a_step_may_change_is_unknown_until_its_end(tmp_path):
    read, other = tmp_path / "read", tmp_path / "other"
    key = file_key(str(read))
    read.write_text("old")
    changed = Steps(read).visit(read, lambda: read.write_text("new"), files=WRITES)
    assert changed == [{"left": {key: None}}, {"left": {key: state("new")}}]
    named = Steps(read).visit(other, lambda: read.write_text("newer"), files=WRITES)
    assert named == [{"left": {file_key(str(other)): None}}, {"left": {key: state("newer")}}]
    assert Steps().visit(read, lambda: read.write_text("x"), files=WRITES) == []  # no visit has read it
    assert Steps(read).visit(read, lambda: read.write_text("y"), files=READS)[0].keys() == {"read", "files"}


def test_a_file_that_nobody_changed_is_not_noted():
    assert Steps(os.__file__).visit("/other", files=WRITES)[1:] == []


def test_an_item_of_a_batch_changes_only_what_it_names_and_a_flow_what_was_read_inside_it(tmp_path):
    read = tmp_path / "read"
    read.write_text("old")

    def left(*arguments, inside="", **named):
        records = Steps(read, inside=inside).visit(*arguments, lambda: read.write_text("new"), files=WRITES, **named)
        return any(file_key(str(read)) in record["left"] for record in records)

    assert not left(tmp_path / "other", item="[x]")
    assert left(read, item="[x]")
    assert left(tmp_path / "other", inside="flow@1/", prefix="flow@1/")
    assert not left(tmp_path / "other", inside="flow@2/", prefix="flow@1/")
    assert left(tmp_path / "other", inside="flow@2/")
