"""An origin in words: where a value comes from, as a line for people."""

from __future__ import annotations

from pflow.jsontext import encode
from pflow.terminal.columns import clean, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from pflow.explain.origins import Origin

_LONGEST = 60


def said(origins: Iterable[Origin]) -> str:
    """Where a value comes from: the first of these that has one."""
    return ", else ".join(map(say, origins))


def say(origin: Origin) -> str:
    return _SAYINGS[origin["from"]](origin)


def value_text(value: Any) -> str:
    """A value as JSON, cut where it is long."""
    return shorten(clean(str(encode(value, escape=False), "utf-8")), _LONGEST)


def _store(origin: Origin) -> str:
    paths = " or ".join(map(clean, origin["paths"]))
    if len(origin["paths"]) > 1:
        paths += ", whichever was written last"
    writers = origin["written_by"]
    is_plain = all(_is_plain(origin["paths"], each) for each in writers)
    return paths if is_plain else f"{paths} ({', '.join(map(clean, writers))})"


def _is_plain(paths: list[str], writer: str) -> bool:
    """Whether the paths say already who wrote them."""
    return all(path == writer or path.startswith((f"{writer}.", f"{writer}[")) for path in paths)


def _input(origin: Origin) -> str:
    flag, path = origin.get("flag"), clean(origin["path"])
    through = "what comes through the pipe, or " if origin.get("pipe") else ""
    if not flag:
        return f"{through}the input {path}"
    name = origin["input"].replace("_", "-")
    return f"{through}{clean(flag)}" + ("" if flag == f"--{name}" and path == origin["input"] else f" ({path})")


def _template(origin: Origin) -> str:
    parts = ", ".join(dict.fromkeys(map(say, origin["of"])))
    return f"the template {value_text(origin['text'])}" + (f" of {parts}" if parts else "")


def _latest(origin: Origin) -> str:
    return "the latest of " + ", ".join(map(say, origin["of"]))


def _nothing(origin: Origin) -> str:
    remedy = f" ({origin['remedy']})" if origin.get("remedy") else ""
    return f"nothing: {clean(origin['why'])}{clean(remedy)}" if origin.get("why") else "nothing"


def _pipe(origin: Origin) -> str:
    return "what comes through the pipe"


def _secret(origin: Origin) -> str:
    return "a secret"


_SAYINGS: dict[str, Callable[[Origin], str]] = {
    "store": _store,
    "input": _input,
    "template": _template,
    "latest": _latest,
    "nothing": _nothing,
    "pipe": _pipe,
    "secret": _secret,
    "constant": lambda origin: value_text(origin["value"]),
    "param": lambda origin: f"the param {value_text(origin['value'])}",
    "default": lambda origin: "unset" if origin["value"] is None else f"the default {value_text(origin['value'])}",
    "item": lambda origin: f"{clean(origin['path'])} of each in {clean(origin['over'])}",
}
