"""Digests of files."""

import hashlib
import os

import pytest

from pflow.files.reading import file_digest


def test_a_file_counts_by_its_bytes(tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"x" * (3 << 20))
    assert file_digest(str(file)) == hashlib.sha256(b"x" * (3 << 20)).hexdigest()


def test_what_is_no_regular_file_is_refused_unread(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "fifo", "/dev/zero"):
        with pytest.raises(OSError, match="not a regular file"):
            file_digest(str(path))
