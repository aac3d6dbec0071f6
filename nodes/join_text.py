"""The join-text node: join texts into one."""

from pflow.errors import BAD_DATA, PflowError
from pflow.node import Any, Node, Shared, flow_safe
from pflow.values.encoding import remedy
from pflow.values.jsontext import text_of
from pflow.values.paths import look_inside, type_name


@flow_safe
class JoinText(Node):
    """Join texts into one.

    For an object, such as the result of a batch over an object, its values are joined. A text with a JSON list or
    object counts as that list or object; any other text stays unchanged. A null becomes an empty text, other values
    their JSON.

    Interface:
    - Reads: shared["texts"]: any [pipe]  # a list or an object of texts
    - Writes: shared["text"]: str [pipe]  # the joined text
    - Params: separator: str = "\\n"  # the text between two texts

    Examples:
        pflow-split-text --size=0 --by=line --strip <examples/notes.txt | pflow-join-text --separator=' / ' -r
        printf 'a\\nb\\n' | pflow 'shell "wc -c" --each => join-text --separator=""' -r
    """

    def prep(self, shared: Shared) -> list[Any]:
        texts = look_inside(shared["texts"])
        if isinstance(texts, dict | list):
            return [*texts.values()] if isinstance(texts, dict) else texts
        if isinstance(texts, str):
            return [texts]
        raise PflowError(f"cannot join 'texts': it is {type_name(texts)}, not a list or an object", exit=BAD_DATA)

    def exec(self, texts: list[Any]) -> str:
        separator: str = self.params["separator"]
        return separator.join([_text(n, value) for n, value in enumerate(texts, 1)])

    def post(self, shared: Shared, texts: list[Any], text: str) -> None:
        shared["text"] = text


def _text(number: int, value: Any) -> str:
    try:
        return str(value, "utf-8") if isinstance(value, bytes) else text_of(value)
    except UnicodeDecodeError:
        what = f"cannot join item {number}: its bytes are not UTF-8"
        raise PflowError(what, hint=remedy(value), exit=BAD_DATA) from None
