"""How pipe syntax is refused: with 2, a message and a hint."""

import pytest

from pflow.errors import PflowError
from pflow.flow.pipe.read import parse_pipe


def refusal(*words: str) -> str:
    """What is said of these words, which are refused: `MESSAGE; HINT`."""
    with pytest.raises(PflowError) as caught:
        parse_pipe(words)
    assert caught.value.exit == 2
    return f"{caught.value.message}; {caught.value.hint}"
