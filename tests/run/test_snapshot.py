"""The derived snapshot: overrides and injections, without secrets and without what is too large."""

import hashlib

import pytest

from pflow.jsontext import decode, encode
from pflow.run.snapshot import MOST_PIPED, Snapshot


def test_a_snapshot_has_what_seed_002_prints():
    snapshot = Snapshot()
    snapshot.override("summarise", "temperature", 0.9)
    snapshot.inject(("video_url",), "https://youtu.be/abc123")
    assert snapshot.as_json("ab" * 32) == {
        "flow_hash": "ab" * 32,
        "config_overrides": {"summarise": {"temperature": 0.9}},
        "cli_injections": {"video_url": "https://youtu.be/abc123"},
    }


def test_a_secret_never_gets_into_it():
    snapshot = Snapshot()
    snapshot.override("llm", "key", "hidden", secret=True)
    snapshot.inject(("token",), ["hidden"], secret=True)
    assert snapshot.config_overrides == {"llm": {"key": "***"}}
    assert snapshot.cli_injections == {"token": "***"}


@pytest.mark.parametrize(
    "value", ["é", 0, False, None, [1, {"a": [b"\xff"]}], {"$bytes": "of a user"}, b"", b"\xff\x00"]
)
def test_every_value_comes_back_from_its_json(value):
    snapshot = Snapshot()
    snapshot.inject(("x",), value)
    snapshot.override("step", "x", value)
    read = decode(encode(snapshot.as_json("")))
    assert read["cli_injections"]["x"] == read["config_overrides"]["step"]["x"] == value


def test_a_path_that_is_not_utf_8_is_kept_as_its_bytes():
    snapshot = Snapshot()
    snapshot.inject(("path",), "/x\udcff")
    snapshot.inject(("paths",), ["/x\udcff", {"a": "/x\udcff"}])
    assert snapshot.cli_injections == {"path": b"/x\xff", "paths": [b"/x\xff", {"a": b"/x\xff"}]}


@pytest.mark.parametrize(
    ("piped", "data"),
    [
        ("x" * (MOST_PIPED + 1), b"x" * (MOST_PIPED + 1)),
        (b"\xff" * (MOST_PIPED + 1), b"\xff" * (MOST_PIPED + 1)),
        (["x" * MOST_PIPED], b'["' + b"x" * MOST_PIPED + b'"]'),
    ],
    ids=["text", "bytes", "list"],
)
def test_of_more_only_the_digest_is_kept(piped, data):
    snapshot = Snapshot()
    snapshot.inject_piped(("stdin",), piped)
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert snapshot.cli_injections == {"stdin": {"$digest": digest, "size": len(data)}}
