"""The store as one node sees it: a dict that notes what the node sets."""

import pytest

from pflow.binding.shared import Shared, check_written
from pflow.errors import PflowError
from pflow.grammar import parse_interface
from pflow.interface import Interface


def test_it_is_a_dict_of_the_reads():
    shared = Shared({"a": 1})
    assert shared == {"a": 1}
    assert isinstance(shared, dict)
    assert shared.written == {}


@pytest.mark.parametrize(
    ("write", "written"),
    [
        (lambda shared: shared.__setitem__("b", 2), {"b": 2}),
        (lambda shared: shared.__setitem__("a", 2), {"a": 2}),
        (lambda shared: shared.update({"b": 2}, c=3), {"b": 2, "c": 3}),
        (lambda shared: shared.update([("b", 2)]), {"b": 2}),
        (lambda shared: shared.__ior__({"b": 2}), {"b": 2}),
        (lambda shared: shared.setdefault("b", 2), {"b": 2}),
        (lambda shared: shared.setdefault("a", 2), {}),
        (lambda shared: shared.setdefault("b"), {"b": None}),
    ],
)
def test_each_way_to_set_a_key_is_noted(write, written):
    shared = Shared({"a": 1})
    write(shared)
    assert shared.written == written
    assert dict(shared) == {"a": 1, **written}


@pytest.mark.parametrize(
    "remove",
    [lambda s: s.__delitem__("b"), lambda s: s.pop("b"), lambda s: s.popitem(), lambda s: s.clear()],
    ids=["del", "pop", "popitem", "clear"],
)
def test_what_was_set_and_removed_again_was_not_written(remove):
    shared = Shared({})
    shared["b"] = 2
    remove(shared)
    assert shared.written == {}


def test_what_a_node_changes_in_place_counts_as_written():
    shared = Shared({"log": [1], "same": [2], "read": [3]})
    shared["log"].append(4)
    shared["read"].append(5)
    shared.note_changes({"log": b"[1]", "same": b"[2]"})
    assert shared.written == {"log": [1, 4]}


def test_a_key_that_the_interface_does_not_name_may_not_be_written():
    interface = parse_interface('Interface:\n- Writes: shared["out"]: str\n- Writes: shared["more"]: str')
    check_written(interface, {"out": 1})
    with pytest.raises(PflowError, match="the node wrote 'other', which its interface does not name") as caught:
        check_written(interface, {"out": 1, "other": 2})
    assert (caught.value.exit, caught.value.hint) == (1, "it names out, more")


def test_stdin_may_never_be_written_not_even_without_an_interface():
    check_written(Interface(), {"anything": 1})
    with pytest.raises(PflowError, match=r"'stdin'.*reserved"):
        check_written(Interface(), {"stdin": 1})
