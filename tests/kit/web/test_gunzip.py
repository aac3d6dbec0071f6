"""What gzip packed, unpacked in small parts."""

import gzip
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.kit.web.gunzip import gunzip

RANDOM = random.Random(1)
CONTENTS = [b"", b"a", bytes(300_000), RANDOM.randbytes(300_000), RANDOM.randbytes(1_000) * 900]
"""Nothing, little, and more than one part of what packs well, badly and in between."""


def unpacked(packed: bytes, size: int) -> bytes:
    return b"".join(gunzip((packed[at : at + size] for at in range(0, len(packed), size)), ValueError))


@settings(max_examples=30)
@given(st.lists(st.sampled_from(CONTENTS), max_size=4), st.sampled_from([997, 16_384, 10_000_000]))
def test_members_come_one_after_the_other_however_they_are_cut_into_parts(members, size):
    assert unpacked(b"".join(map(gzip.compress, members)), size) == b"".join(members)


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("left", [1, 12, -8, -1])
def test_what_has_no_end_is_no_answer(content, left):
    with pytest.raises(ValueError, match="has no end"):
        unpacked(gzip.compress(content)[:left], 16_384)


def test_no_part_is_large():
    assert max(map(len, gunzip([gzip.compress(bytes(10_000_000))], ValueError))) <= 1 << 18


def test_broken_data_is_said():
    with pytest.raises(ValueError, match="broken"):
        unpacked(gzip.compress(b"a") + b"garbage", 16_384)
