"""Explaining in words: where a value comes from, and pipe syntax in lines that fit a terminal."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pflow.explain.origins import Origin
from pflow.flow.pipe.scan import END, LINK, scan
from pflow.jsontext import encode
from pflow.terminal.columns import cells, clean, shorten

_LONGEST = 60


def origins_text(origins: Iterable[Origin]) -> str:
    """Where a value comes from: the first of these that has one."""
    return ", else ".join(map(origin_text, origins))


def origin_text(origin: Origin) -> str:
    return _WORDS[origin["from"]](origin)


def value_text(value: Any) -> str:
    """A value as JSON, cut where it is long."""
    return shorten(clean(str(encode(value, escape=False), "utf-8")), _LONGEST)


def _store(origin: Origin) -> str:
    paths = " or ".join(map(clean, origin["paths"]))
    if len(origin["paths"]) > 1:
        paths += ", whichever was written last"
    writers = origin["written_by"]
    is_plain = all(_names_writer(origin["paths"], each) for each in writers)
    return paths if is_plain else f"{paths} ({', '.join(map(clean, writers))})"


def _names_writer(paths: list[str], writer: str) -> bool:
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
    parts = ", ".join(dict.fromkeys(map(origin_text, origin["of"])))
    return f"the template {value_text(origin['text'])}" + (f" of {parts}" if parts else "")


def _nothing(origin: Origin) -> str:
    remedy = f" ({origin['remedy']})" if origin.get("remedy") else ""
    return f"nothing: {clean(origin['why'])}{clean(remedy)}" if origin.get("why") else "nothing"


_WORDS: dict[str, Callable[[Origin], str]] = {
    "store": _store,
    "input": _input,
    "template": _template,
    "latest": lambda origin: "the latest of " + ", ".join(map(origin_text, origin["of"])),
    "nothing": _nothing,
    "pipe": lambda origin: "what comes through the pipe",
    "secret": lambda origin: "a secret",
    "constant": lambda origin: value_text(origin["value"]),
    "param": lambda origin: f"the param {value_text(origin['value'])}",
    "default": lambda origin: "unset" if origin["value"] is None else f"the default {value_text(origin['value'])}",
    "item": lambda origin: f"{clean(origin['path'])} of each in {clean(origin['over'])}",
}


def pipe_lines(text: str, width: int) -> list[str]:
    """The lines of pipe syntax, each broken after a separator where it is wider than `width`.

    Quoted text stays as it is: a line may hold a line feed of a value.
    """
    lines: list[str] = []
    line = ""
    for piece in _pieces(text):
        if line and (cells(line + piece.rstrip()) > width or line.endswith("\n")):
            lines.append(line)
            line = "" if line.endswith("\n") else "    "
        line += piece
    return [line.rstrip() for line in [*lines, line]]


def _pieces(text: str) -> Iterator[str]:
    """The parts after which a line may break: they end with a separator and a space, or with their line."""
    start = 0
    for token in scan(text):
        end = token.at + len(token.text)
        is_link = token.kind == LINK and text.startswith(" ", end)
        if is_link or (token.kind == END and token.text == "\n"):
            end += is_link
            yield text[start:end]
            start = end
    yield text[start:]
