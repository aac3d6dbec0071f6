"""The choose node: choose an edge by a word."""

from pflow.errors import BAD_DATA, PflowError, shorten
from pflow.node import Node, Shared, flow_safe


@flow_safe
class Choose(Node):
    """Choose the edge to follow by a word, such as a model's yes or no.

    The action is the word that equals the text. White space around the text, a full stop at its end and case do not
    count. Any other text fails (65), which takes the edge for the action error if there is one. The text stays in the
    pipe.

    Interface:
    - Reads: shared["text"]: str [pipe]  # the text to compare with the words
    - Reads: shared["words"]: list[str] [explicit] [own] [word]  # the words, each an action
    - Actions: one of words  # the word that equals the text, as it is written in words

    Examples:
        echo 'Yes.' | pflow-choose yes no | pflow-get stdin
        echo no | pflow 'choose yes no =no=> shell "echo stop"' -r
    """

    def prep(self, shared: Shared) -> tuple[str, list[str]]:
        return shared["text"], shared["words"]

    def exec(self, prepared: tuple[str, list[str]]) -> str:
        text, words = prepared
        found = [word for word in words if _plain(word) == _plain(text)]
        if not found:
            what = f"cannot choose: '{shorten(text.strip())}' is none of {', '.join(words)}"
            raise PflowError(what, hint="the text must be one of the words, and nothing else", exit=BAD_DATA)
        return found[0]

    def post(self, shared: Shared, prepared: object, word: str) -> str:
        return word


def _plain(text: str) -> str:
    return text.strip().removesuffix(".").rstrip().casefold()
