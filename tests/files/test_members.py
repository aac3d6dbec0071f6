"""Packed members are unpacked in parts, one after another."""

import bz2
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.files.members import HEAD, unpack_members

PACKERS = {
    "gzip": (lambda data: zlib.compress(data, wbits=31), lambda: zlib.decompressobj(wbits=31)),
    "bz2": (bz2.compress, bz2.BZ2Decompressor),
}


def unpack(packed, unpacker, part, ends=lambda data: False):
    parts = [packed[at : at + part] for at in range(0, len(packed), part)]
    begun = []

    def begin(data, is_first):
        begun.append(is_first)
        assert len(data) >= HEAD or data == packed[-len(data) :]
        return None if ends(data) else unpacker()

    found = [*unpack_members(parts, begin)]
    assert begun[:1] == [True] * bool(packed)
    assert True not in begun[1:]
    assert [read for read, _ in found] == sorted(read for read, _ in found)
    assert all(data for _, data in found)
    return b"".join(data for _, data in found), found


@pytest.mark.parametrize("name", PACKERS)
@given(st.lists(st.binary(max_size=40), max_size=3), st.integers(0, 12), st.integers(1, 60))
def test_members_are_unpacked_one_after_another_however_they_come(name, members, zeros, part):
    pack, unpacker = PACKERS[name]
    packed = (b"\0" * zeros).join(map(pack, members)) + (b"\0" * zeros if members else b"")
    assert unpack(packed, unpacker, part)[0] == b"".join(members)


@pytest.mark.parametrize("name", PACKERS)
def test_a_member_comes_in_parts_and_tells_how_much_was_read(name):
    pack, unpacker = PACKERS[name]
    data = b"x" * 2_000_000
    whole, found = unpack(pack(data), unpacker, 1 << 16)
    assert whole == data
    assert max(len(part) for _, part in found) <= 1 << 18
    assert {read for read, _ in found} == {len(pack(data))}


@pytest.mark.parametrize("name", PACKERS)
def test_what_is_cut_or_damaged_is_an_error_and_what_is_no_member_is_left(name):
    pack, unpacker = PACKERS[name]
    packed = pack(b"some text")
    for part in (7, 100):
        with pytest.raises(EOFError):
            unpack(packed[:-1], unpacker, part)
        with pytest.raises(ValueError, match=r".+"):
            unpack(packed[:-8] + b"\0" * 8, unpacker, part)
        assert (
            unpack(packed + b"rest of another kind", unpacker, part, lambda data: data[:4] == b"rest")[0]
            == b"some text"
        )
