"""The file that a node for data writes: whole or not at all; a pipe or a device is written to."""

from __future__ import annotations

from pflow.atomic import replace
from pflow.errors import BAD_DATA, PflowError
from pflow.file_paths import is_stream, write_failure, write_stream
from pflow.root import hold_below_root


def save(path: str, text: str) -> None:
    """Make a text all that a file holds. Raises PflowError: 73, 77 where that is not allowed, 65 for no text."""
    hold_below_root(path)  # a default that a format ends is known only now
    try:
        data = text.encode()
        if is_stream(path):
            write_stream(path, data)
        else:
            replace(path, data)
    except UnicodeEncodeError:
        raise PflowError(f"cannot write '{path}': a lone surrogate is no character", exit=BAD_DATA) from None
    except OSError as error:
        raise write_failure(f"cannot write '{path}'", error) from error
