"""The select node: select one value."""

from pflow.errors import BAD_DATA, USAGE, Attempt, PflowError, shorten
from pflow.node import Any, Node, Shared, flow_safe
from pflow.values.paths import Path, look_inside, look_up, parse_path, type_name, write_path


@flow_safe
class Select(Node):
    """Select one value from the data in the pipe.

    The place is a path, such as items[0].name: numbers count from 0, negative ones from the end, and a key with other
    characters is written ["odd key"]. A path may lead into a text with a JSON object or list. A missing place is an
    error (66) that says what is there, unless --default is given. --field keeps only these members of an object, or of
    each object in a list.

    Interface:
    - Reads: shared["data"]: any [pipe]  # the data to select from
    - Reads: shared["place"]: str = "" [explicit] [own] [word] [place]  # the path of the value; without it, all
    - Writes: shared["selected"]: any [pipe]  # the value
    - Params: default: any = null  # the value if the place is missing
    - Params: fields: list[str] = [] [flag field]  # a member to keep, in this order

    Examples:
        echo '{"items": [{"name": "Ada"}, {"name": "Bob"}]}' | pflow-select 'items[-1].name' -r
        echo '[{"id": 1, "name": "Ada", "note": ""}]' | pflow-select --field=name --field=id -r
        echo '{"city": "Kiel"}' | pflow-select country --default=unknown -r
    """

    def prep(self, shared: Shared) -> tuple[Any, str]:
        return shared["data"], shared.get("place", "")

    def exec(self, prepared: tuple[Any, str]) -> Any:
        data, place = prepared
        with Attempt(f"cannot select '{shorten(place)}'", of=ValueError, exit=USAGE):
            steps = ("data", *(parse_path(place) if place else ()))
        found = self._find(data, steps, 1)
        if not self.params["fields"]:
            return found
        found = look_inside(found)
        if isinstance(found, list):
            return [row if row is None else self._members(row, (*steps, n)) for n, row in enumerate(found)]
        return self._members(found, steps)

    def post(self, shared: Shared, prepared: object, selected: Any) -> None:
        shared["selected"] = selected

    def _members(self, row: Any, steps: Path) -> dict[str, Any]:
        if not isinstance(row, dict):
            what = f"cannot select fields of {write_path(steps)}: it is {type_name(row)}, and only objects have fields"
            raise PflowError(what, exit=BAD_DATA)
        return {field: self._find(row, (*steps, field), len(steps)) for field in self.params["fields"]}

    def _find(self, value: Any, steps: Path, at: int) -> Any:
        try:
            return look_up(value, steps, at)
        except PflowError as error:
            if self.params["default"] is not None:
                return self.params["default"]
            # 'rows[0]' would be right for jq on the document, but here the pipe carries the rows themselves.
            if at == 1 and isinstance(value, list) and isinstance(steps[1], str) and not steps[1].isdecimal():
                error.hint = f"the place begins in the list: '{shorten(write_path(steps[2:]) if steps[2:] else '[0]')}'"
            raise error.within(f"cannot select '{shorten(write_path(steps[1:]))}'") from None
