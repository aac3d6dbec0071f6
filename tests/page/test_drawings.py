"""The graph of a flow, drawn: no box on another, and no edge that is lost."""

from hypothesis import given
from hypothesis import strategies as st

from pflow.page.drawings import BOX, Drawing, draw, shape_of


def drawn(ids: list[str], edges: list[tuple[str, str, str]]) -> Drawing:
    members = [dict(zip(("from", "to", "action"), edge, strict=True)) for edge in edges]
    return draw(shape_of({"nodes": [{"id": id} for id in ids], "edges": members}))


ids = st.lists(st.sampled_from("abcdefghij"), min_size=1, unique=True)


@given(ids, st.data())
def test_boxes_never_meet_and_every_edge_is_drawn_inside_the_whole(ids, data):
    edge = st.tuples(st.sampled_from(ids), st.sampled_from(ids), st.sampled_from(["default", "error"]))
    edges = data.draw(st.lists(edge, max_size=15, unique=True))
    drawing = drawn(ids, edges)
    assert drawing.boxes.keys() == {*ids}
    assert len(drawing.lines) == len(edges)
    for one, (x, y) in drawing.boxes.items():
        assert 0 <= x <= drawing.width - BOX[0]
        assert 0 <= y <= drawing.height - BOX[1]
        others = [place for other, place in drawing.boxes.items() if other != one]
        assert all(abs(x - to_x) >= BOX[0] or abs(y - to_y) >= BOX[1] for to_x, to_y in others)


def test_a_chain_goes_straight_down_and_a_fork_side_by_side():
    boxes = drawn(["a", "b", "c", "d"], [("a", b, "default") for b in "bc"] + [(b, "d", "default") for b in "bc"]).boxes
    assert boxes["a"][0] == boxes["d"][0]
    assert boxes["a"][1] < boxes["b"][1] == boxes["c"][1] < boxes["d"][1]
    assert boxes["b"][0] < boxes["a"][0] < boxes["c"][0]
