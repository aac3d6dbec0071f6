"""The account of a flow as text for a terminal, with the words for where a value comes from."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pflow.explain.origins import Origin
from pflow.flow.pipe.scan import END, scan
from pflow.terminal.columns import PLAIN, Colour, clean, shorten, table, value_text, wrap


def origins_text(origins: Iterable[Origin]) -> str:
    """Where a value comes from: the first of these that has one."""
    return ", else ".join(map(origin_text, origins))


def origin_text(origin: Origin) -> str:
    return _WORDS[origin["from"]](origin)


def _stored(origin: Origin) -> str:
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
    "store": _stored,
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


Account = dict[str, Any]
Rows = list[tuple[str, ...]]

_WIDEST_NAME = 30
"""Columns that the names in a step's lines take at most."""


def account_text(account: Account, width: int, colour: Colour = PLAIN) -> str:
    """All of it: the pipe, the steps, what it touches, needs and gives, the store."""
    title, pipe, *effects = _outside(account, width, colour)
    steps = [step_lines(step, width, colour) for step in account["steps"]]
    store = _section("The store at the end", _store(account), "nothing", colour.name, (width, colour))
    return _joined([title, pipe, *steps, *effects, store, _warnings(account, width, colour)])


def graph_text(account: Account, width: int) -> str:
    """The steps in their order; below each its edges, except the one that just leads to the next step."""
    steps = account["steps"]
    lines = []
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        node = f" ({clean(step['type'])})" if step["type"] != step["id"] else ""
        lines.append(f"{step['number']} {clean(step['id'])}{node}" + ("" if step["reached"] else ", never runs"))
        edges = [edge for edge in step["next"] if edge["to"]]
        if following and not edges:
            lines.append("    the flow ends")
        for edge in edges:
            if not (following and edge["action"] == "default" and edge["to"] == [following["id"]]):
                lines.append(f"    {_action(edge)}: {_edge(edge, step)}")
    return "".join(f"{shorten(line, width)}\n" for line in lines)


def brief_text(account: Account, about: list[str], width: int, colour: Colour = PLAIN) -> str:
    """What it is from outside: the pipe, what it touches, needs and gives. `about` are lines below its title."""
    title, *parts = _outside(account, width, colour)
    return _joined([[*title, *about], *parts, _warnings(account, width, colour)])


def _outside(account: Account, width: int, colour: Colour) -> list[list[str]]:
    look = (width, colour)
    return [
        list(map(colour.heading, _title(account, width))),
        _pipe(account, width, colour),
        _section("It will touch", _touches(account), "nothing: no step has an effect", colour.warning, look),
        _section("It needs", _needs(account), "nothing", colour.name, look),
        _section("It gives", _gives(account), "nothing", colour.name, look),
    ]


def _section(
    title: str, rows: Rows, without: str, first: Callable[[str], str], look: tuple[int, Colour]
) -> list[str]:  # fmt: skip
    width, colour = look
    return [colour.heading(title), *(table(rows, width, first=first) if rows else [f"  {without}"])]


def _joined(parts: list[list[str]]) -> str:
    return "\n".join("\n".join(lines) + "\n" for lines in parts if lines)


def _warnings(account: Account, width: int, colour: Colour) -> list[str]:
    rows = [("", clean(warning)) for warning in account["warnings"]]
    return [colour.warning("Mind"), *table(rows, width)] if rows else []


def _title(account: Account, width: int) -> list[str]:
    parts = [clean(account["name"]), clean(account["description"])]
    return wrap(": ".join(filter(None, parts)), width) if any(parts) else []


def _pipe(account: Account, width: int, colour: Colour) -> list[str]:
    if account["pipe"] is None:
        return wrap(f"Not as a pipe: {clean(account['pipe_fault'])}", width)
    lines = ["\n".join(map(clean, line.split("\n"))) for line in pipe_lines(account["pipe"])]
    return [colour.heading("As a pipe"), *(f"  {line}" for line in lines)]


def _touches(account: Account) -> Rows:
    rows: Rows = []
    before = ""
    for touch in account["touches"]:
        known = {key: origins for key, origins in touch["what"].items() if not _is_unset(origins)}
        what = ", ".join(f"{clean(key)} {origins_text(origins)}" for key, origins in known.items())
        rows.append((touch["effect"] if touch["effect"] != before else "", clean(touch["step"]), what))
        before = touch["effect"]
    return rows


def _is_unset(origins: list[Account]) -> bool:
    return origins in ([{"from": "default", "value": None}], [{"from": "default", "value": []}])


def _needs(account: Account) -> Rows:
    rows: Rows = [
        (clean(need["flag"]), need["type"], _necessity(need), _purpose(need)) for need in account["needs"]
    ]  # fmt: skip
    piped = account["piped"]
    if piped is not None and "step" in piped:
        rows.append(("the pipe", "any", "", f"{clean(piped['step'])} takes it as {clean(piped['key'])}"))
    return rows


def _necessity(need: Account) -> str:
    default = f"default {value_text(need['default'])}" if need.get("default") is not None else "optional"
    text = "required" if need["required"] else default
    return f"{text}, or the pipe" if need["pipe"] else text


def _purpose(need: Account) -> str:
    """What an input is for, and the steps that read it."""
    readers = _names(need["read_by"])
    if not need["doc"]:
        return f"read by {readers}" if readers else ""
    return clean(need["doc"]) + (f" ({readers})" if readers else "")


def _gives(account: Account) -> Rows:
    gives = account["gives"]
    rows: Rows = [
        (clean(name), output["type"], origin_text(output["from"])) for name, output in gives["outputs"].items()
    ]  # fmt: skip
    if gives["carries"] is not None:
        rows.append(("the pipe", "", f"carries {clean(gives['carries'])} on"))
    return rows


def _store(account: Account) -> Rows:
    rows: Rows = [
        (clean(row["path"]), row["type"], _names(row["written_by"]), _names(row["read_by"])) for row in account["store"]
    ]
    return [("path", "type", "written by", "read by"), *rows] if rows else []


def _names(names: list[str]) -> str:
    return ", ".join(map(clean, names))


def step_lines(step: Account, width: int, colour: Colour = PLAIN) -> list[str]:
    """The account of one step: a heading, then its lines below."""
    rows = list(_step_rows(step))
    left = min(max((len(name) for _, name, _ in rows), default=0), _WIDEST_NAME)
    lines = list(map(colour.heading, wrap(_heading(step), width)))
    for bullet, name, text in rows:
        first, *rest = wrap(text, max(width - left - 8, 20))
        painted = colour.warning(bullet) if bullet == "!" else colour.dim(bullet)
        lines.append(f"    {painted} {shorten(name, left):{left}}  {first}".rstrip())
        lines += [" " * (left + 8) + line for line in rest]
    return lines


def _heading(step: Account) -> str:
    node = clean(step["type"]) + (f" {step['version']}" if step["version"] else "")
    summary = f": {clean(step['summary'])}" if step["summary"] else ""
    return f"[{step['number']}] {clean(step['id'])} ({node}){summary}"


def _step_rows(step: Account) -> Iterator[tuple[str, str, str]]:
    """The lines of a step: a bullet, a name, what is to be said of it."""
    if step["fault"]:
        yield "!", "not known", clean(step["fault"])
    elif step["open"]:
        yield "!", "open", "its interface says nothing: it may read and write any key"
    if not step["reached"]:
        yield "!", "never runs", "no edge leads to it"
    if "batch" in step:
        yield "×", "once for each", _batch(step["batch"])
    for read in step["reads"]:
        yield "←", f"{clean(read['key'])}: {_short(read['type'])}", origins_text(read["from"])
    for write in step["writes"]:
        readers = "".join(f", {clean(reader)}" for reader in write["read_by"]).replace(",", ", to", 1)
        yield "→", f"{clean(write['key'])}: {_short(write['type'])}", clean(write["to"]) + readers
    for key, origin in step["params"].items():
        yield "·", clean(key), origin_text(origin)
    yield from (("·", name, text) for name, text in _facts(step))
    for edge in step["next"]:
        yield "·", _action(edge), _edge(edge, step)


def _facts(step: Account) -> Iterator[tuple[str, str]]:
    """How the step runs, as far as the flow says it."""
    if step["has_model"] and "model" not in step["params"]:
        yield "model", "the default one"
    if "steps" in step:
        count = "1 step" if step["steps"] == 1 else f"{step['steps']} steps"
        yield "a flow", f"of {count}, with a store of its own"
    if step["effects"]:
        yield "touches", ", ".join(step["effects"])
    if "asks_version" in step:
        yield "version", f"{clean(step['asks_version'])} at least, and the same major"
    if "retries" in step:
        yield "retries", str(step["retries"]) + (f", {step['wait']:g} s apart" if step.get("wait") else "")
    if "timeout" in step:
        yield "timeout", f"{step['timeout']:g} s"
    if "max_visits" in step:
        yield "visits", f"{step['max_visits']} at most"


def _short(type: str) -> str:
    """A type without the shape of its objects."""
    head, brace, tail = type.partition("{")
    return head + tail.rpartition("}")[2] if brace else type


def _batch(batch: Account) -> str:
    parts = [f"in {origin_text(batch['over'])}, as {clean(batch['as'])}"]
    if batch["jobs"]:
        parts.append(f"{batch['jobs']} at a time")
    if batch["on_error"] == "keep":
        parts.append("those that fail are kept as null")
    return "; ".join(parts)


def _action(edge: Account) -> str:
    return "then" if edge["action"] == "default" else f"on {clean(edge['action'])}"


def _edge(edge: Account, step: Account) -> str:
    targets = ", ".join(map(clean, edge["to"]))
    if not targets:
        return "the flow ends"
    if len(edge["to"]) > 1:
        meet = f"they meet at {clean(edge['meet'])}" if edge["meet"] else "each to its end"
        return f"{targets} at the same time; {meet}"
    if edge["to"] == [step["id"]]:
        return "again"
    return f"back to {targets}" if edge["back"] else targets
