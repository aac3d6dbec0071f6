"""The parse-json node: parse a JSON text."""

from pflow.node import Any, Node, Shared, flow_safe
from pflow.values.json_input import parse_lines, parse_text


@flow_safe
class ParseJson(Node):
    """Parse a JSON text.

    The text is JSON, or has JSON in a fence of ```, as models write it; a fence marked json is taken first.
    Invalid JSON is an error (65) with line and column; nothing is guessed, rounded or repaired.

    Interface:
    - Reads: shared["text"]: str [pipe]  # the JSON text
    - Writes: shared["data"]: any [pipe]  # the value
    - Params: lines: bool = false  # parse JSON lines: a list with the value of each line that is not blank

    Examples:
        echo '{"name": "Ada"}' | pflow-parse-json | pflow-select name -r
        printf '%s\\n' 'Here it is:' '```json' '[1, 2]' '```' | pflow-parse-json -r
        printf '{"n": %d}\\n' 1 2 3 | pflow-parse-json --lines -r
    """

    def prep(self, shared: Shared) -> str:
        return str(shared["text"])

    def exec(self, text: str) -> Any:
        return parse_lines(text) if self.params["lines"] else parse_text(text)

    def post(self, shared: Shared, text: str, data: Any) -> None:
        shared["data"] = data
