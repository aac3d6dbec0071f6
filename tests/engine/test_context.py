"""What a step runs in: the names of its visits and of the items of a batch."""

from pflow.engine.context import Context, name_items


def test_an_item_is_called_by_its_value_and_which_of_its_equals_it_is():
    names = name_items([1, 1.0, 1, "1", True, {"a": 1}, {"a": 1}])
    digests, numbers = zip(*(name.split(".") for name in names), strict=True)
    assert len(set(digests)) == 5
    assert (digests[0], numbers) == (digests[2], ("0", "0", "1", "0", "0", "0", "1"))
    assert names[:3] == name_items([1, 1.0, 1])


def test_a_visit_is_known_by_its_path():
    context = Context(run_id="R")
    context.visits["outer"], context.item = 2, "[D.0]"
    inner = context.inside("outer")
    inner.visits["step"] = 3
    assert (context.visit_path("outer"), inner.visit_path("step")) == ("outer@2[D.0]", "outer@2[D.0]/step@3")
