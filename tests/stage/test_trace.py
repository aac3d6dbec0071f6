"""The span that a stage is in a wider trace."""

import os

import pytest

from pflow.stage.document import Document
from pflow.stage.trace import enter_span

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"


def span_of(traceparent: str) -> list[str]:
    return traceparent.split("-")


@pytest.mark.parametrize("place", ["header", "environment"])
def test_a_stage_is_a_new_span_of_the_same_trace_and_hands_it_on_in_both(monkeypatch, place):
    document = Document()
    other = "00-" + "1" * 32 + "-" + "2" * 16 + "-00"
    monkeypatch.setenv("TRACEPARENT", TRACEPARENT if place == "environment" else other)
    if place == "header":
        document.header["traceparent"] = TRACEPARENT
    enter_span(document)
    version, trace, span, sampled = span_of(document.header["traceparent"])
    assert (version, trace, sampled) == ("00", TRACE, "01")
    assert span != PARENT
    assert len(span) == 16
    assert os.environ["TRACEPARENT"] == document.header["traceparent"]


@pytest.mark.parametrize(
    "odd",
    [
        None,
        "",
        "nonsense",
        1,
        [],
        "00-x-y-01",
        TRACEPARENT[:-3],
        TRACEPARENT.replace("a", "g"),
        f"00-{'0' * 32}-{'1' * 16}-01",
    ],
)
def test_what_is_no_traceparent_is_left_alone(monkeypatch, odd):
    monkeypatch.delenv("TRACEPARENT", raising=False)
    document = Document() if odd is None else Document({"v": 1, "traceparent": odd})
    enter_span(document)
    assert document.header.get("traceparent") == odd
    assert "TRACEPARENT" not in os.environ
