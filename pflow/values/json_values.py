"""How many values JSON text has, estimated before it is parsed: parsed, `[],[],…` takes 25 times its size."""

MOST_VALUES = 5_000_000
"""The most values of JSON that somebody else has written; they take up to 1 GB."""

_OTHERS = bytes({*range(256)} - {*b',[{"\r\n'})
_PART = 1 << 20


def has_too_many_values(data: bytes | bytearray) -> bool:
    """Return True if JSON, or lines that hold some, have more than MOST_VALUES values."""
    most = MOST_VALUES
    if sum(map(data.count, (b",", b"[", b"{"))) <= most:
        return False
    import re

    bare = data.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _OTHERS).replace(b'""', b"")
    string = re.compile(rb'"[^"\r\n]*(?:["\r\n]|\Z)|[\r\n]+')
    opened = b""
    for at in range(0, len(bare), _PART):  # in parts: the pieces of all would fill the memory
        part = opened + bare[at : at + _PART]
        most -= sum(map(len, string.split(part)))
        last = max(part.rfind(b"\n"), part.rfind(b"\r")) + 1
        opened = b'"' if part.count(b'"', last) % 2 else b""  # a string goes on in the next part
    return most < 0
