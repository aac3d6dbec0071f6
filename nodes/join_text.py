"""The join-text node: one text of many."""

from __future__ import annotations

from pflow.errors import BAD_DATA, PflowError
from pflow.node import Any, Node, Shared, flow_safe
from pflow.values.jsontext import text_of
from pflow.values.paths import kind_of, look_inside


@flow_safe
class JoinText(Node):
    """Join texts into one.

    Of an object its values are joined, as a batch over an object leaves them. A text that holds a list or an object as
    JSON is that; any other stays as it is. null is an empty text, any other item that is no text its JSON.

    Interface:
    - Reads: shared["texts"]: any [pipe]  # a list of texts, or an object of them
    - Writes: shared["text"]: str [pipe]  # one text
    - Params: separator: str = "\\n"  # what stands between two of them

    Examples:
        pflow-split-text --size=0 --by=line --strip <examples/notes.txt | pflow-join-text --separator=' / ' -r
        printf 'a\\nb\\n' | pflow 'shell "wc -c" --each => join-text --separator=""' -r
    """

    version = "1.0.0"

    def prep(self, shared: Shared) -> list[Any]:
        texts = shared["texts"]
        texts = look_inside(texts) if isinstance(texts, str) else texts
        if isinstance(texts, dict | list):
            return [*texts.values()] if isinstance(texts, dict) else texts
        if isinstance(texts, str):
            return [texts]
        raise PflowError(f"cannot join 'texts': it is {kind_of(texts)}, and neither list nor object", exit=BAD_DATA)

    def exec(self, texts: list[Any]) -> str:
        separator: str = self.params["separator"]
        return separator.join([_text(n, value) for n, value in enumerate(texts, 1)])

    def post(self, shared: Shared, texts: list[Any], text: str) -> None:
        shared["text"] = text


def _text(number: int, value: Any) -> str:
    try:
        return str(value, "utf-8") if isinstance(value, bytes) else text_of(value)
    except UnicodeDecodeError:
        raise PflowError(f"cannot join item {number}: it is bytes, and they are not UTF-8", exit=BAD_DATA) from None
