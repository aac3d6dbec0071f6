"""The format-json node: write a value as JSON text."""

from pflow.errors import USAGE, PflowError
from pflow.node import Any, Node, Shared, flow_safe


@flow_safe
class FormatJson(Node):
    """Write a value as JSON text, with a newline at its end.

    A text that begins with a brace or a bracket must be JSON (65); any other text becomes a JSON string.

    Interface:
    - Reads: shared["data"]: any [pipe]  # the value
    - Writes: shared["text"]: str [pipe]  # the JSON text
    - Params: indent: int = 2 [natural]  # the spaces for each level; 0 writes one line
    - Params: sort: bool = false  # sort the members of objects by their keys
    - Params: lines: bool = false  # write each item of a list on its own line: JSON lines

    Examples:
        echo '{"name": "Ada", "born": 1815}' | pflow-format-json -r
        pflow-list-files 'examples/*.txt' | pflow-format-json --indent=0 -r
        echo '[{"n": 1}, {"n": 2}]' | pflow-format-json --lines | pflow-write-file rows.jsonl -q
    """

    def prep(self, shared: Shared) -> Any:
        if not 0 <= self.params["indent"] <= 16:
            raise PflowError(f"cannot indent by {self.params['indent']} spaces", hint="give 0 to 16", exit=USAGE)
        return shared["data"]

    def exec(self, data: Any) -> str:
        from pflow.values.fast_json import encode_each, write_json
        from pflow.values.json_input import parse_text
        from pflow.values.jsontext import BLANK

        if isinstance(data, str) and data.lstrip(BLANK).startswith(("{", "[")):
            data = parse_text(data)
        is_list, sort = self.params["lines"] and isinstance(data, list), self.params["sort"]
        if is_list and not sort:
            return str(encode_each(data, escape=False), "utf-8")
        indent = 0 if self.params["lines"] else self.params["indent"]
        return "".join(
            [write_json(row, indent=indent, sort=sort, escape=False) for row in (data if is_list else [data])]
        )

    def post(self, shared: Shared, data: Any, text: str) -> None:
        shared["text"] = text
