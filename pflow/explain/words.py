"""Explaining in words: where a value comes from, and the lines of pipe syntax."""

from collections.abc import Callable, Iterable

from pflow.explain.origins import Origin
from pflow.flow.pipe.scan import END, scan
from pflow.terminal.columns import clean, value_text


def origins_text(origins: Iterable[Origin]) -> str:
    """Where a value comes from: the first of these that has one."""
    return ", else ".join(map(origin_text, origins))


def origin_text(origin: Origin) -> str:
    return _WORDS[origin["from"]](origin)


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


def pipe_lines(text: str) -> list[str]:
    """The lines of pipe syntax. A line feed inside quotes does not end one."""
    ends = [token.at for token in scan(text) if token.kind == END and token.text == "\n"]
    starts = [0, *(end + 1 for end in ends)]
    return [text[start:end] for start, end in zip(starts, [*ends, len(text)], strict=True)]
