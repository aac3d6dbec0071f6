"""The select node: one place of what the pipe carries."""

from __future__ import annotations

from pflow.errors import BAD_DATA, USAGE, PflowError, shorten
from pflow.node import Any, Node, Shared, flow_safe
from pflow.values.paths import Path, kind_of, look_inside, look_up, parse_path, write_path


@flow_safe
class Select(Node):
    """Take one place out of what the pipe carries.

    A place is a path, items[0].name: a number counts from 0, from the end where it is negative, and a key with other
    signs is written ["odd key"]. A text that holds an object or a list as JSON is looked into. A missing place is an
    error (66) that says what there is, unless --default is given. --field takes of an object, or of each in a list,
    these members alone.

    Interface:
    - Reads: shared["data"]: any [pipe]  # where to look
    - Reads: shared["place"]: str = "" [explicit] [own] [word]  # the path of what is taken; without it, all
    - Writes: shared["selected"]: any [pipe]  # what is there
    - Params: default: any = null  # instead of what is missing
    - Params: fields: list[str] = [] [flag field]  # the members that an object keeps, in this order

    Examples:
        echo '{"items": [{"name": "Ada"}, {"name": "Bob"}]}' | pflow-select 'items[-1].name' -r
        echo '[{"id": 1, "name": "Ada", "note": ""}]' | pflow-select --field=name --field=id -r
        echo '{"city": "Kiel"}' | pflow-select country --default=unknown -r
    """

    version = "1.0.0"

    def prep(self, shared: Shared) -> tuple[Any, str]:
        return shared["data"], shared.get("place", "")

    def exec(self, prepared: tuple[Any, str]) -> Any:
        data, place = prepared
        try:
            steps = ("data", *(parse_path(place) if place else ()))
        except ValueError as error:
            raise PflowError(f"cannot select '{shorten(place)}': {error}", exit=USAGE) from None
        found = self._find(data, steps, 1)
        if not self.params["fields"]:
            return found
        found = look_inside(found) if isinstance(found, str) else found
        if isinstance(found, list):
            return [self._members(row, (*steps, n)) for n, row in enumerate(found)]
        return self._members(found, steps)

    def post(self, shared: Shared, prepared: object, selected: Any) -> None:
        shared["selected"] = selected

    def _members(self, row: Any, steps: Path) -> dict[str, Any]:
        if not isinstance(row, dict):
            what = f"cannot take fields of {write_path(steps)}: it is {kind_of(row)}, and only objects have fields"
            raise PflowError(what, exit=BAD_DATA)
        return {field: self._find(row, (*steps, field), len(steps)) for field in self.params["fields"]}

    def _find(self, value: Any, steps: Path, at: int) -> Any:
        try:
            return look_up(value, steps, at)
        except PflowError as error:
            if self.params["default"] is not None:
                return self.params["default"]
            # 'rows[0]' is what jq would want of the document: the rows themselves are what the pipe carries.
            if at == 1 and isinstance(value, list) and isinstance(steps[1], str) and not steps[1].isdecimal():
                error.hint = f"the place begins in the list: '{shorten(write_path(steps[2:]) if steps[2:] else '[0]')}'"
            raise error.within(f"cannot select '{shorten(write_path(steps[1:]))}'") from None
