"""The account of a flow as text for a terminal, and the words for the origin of a value."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pflow.errors import shorten
from pflow.explain.effects import Origin
from pflow.flow.pipe.scan import END, scan
from pflow.interface.interface import spell_flag
from pflow.terminal.columns import PLAIN, Colour, table, value_text, wrap
from pflow.text.printable import clean

Account = dict[str, Any]
Rows = list[tuple[str, ...]]

_CHOSEN = {
    ("chooses_directory", True): "which chooses the directory",
    ("chooses_host", True): "which chooses the host",
    ("chooses_host", False): "which is refused: what a step wrote cannot choose the host",
}
_UNSET = ([{"from": "default", "value": None}], [{"from": "default", "value": []}])
_NOTHING, _NO_EFFECT = "nothing", "nothing: no step has an effect"
_WIDEST_NAME = 30
"""The most columns for names in the lines about a step."""


def origins_text(origins: Iterable[Origin]) -> str:
    """Write the origins of a value, in the order in which a run tries them."""
    return ", else ".join(map(origin_text, origins))


def origin_text(origin: Origin) -> str:
    chosen = [text for (name, is_allowed), text in _CHOSEN.items() if origin.get(name) is is_allowed]
    return ", ".join([_WORDS[origin["from"]](origin), *chosen])


def _stored(origin: Origin) -> str:
    paths, writers = origin["paths"], origin["written_by"]
    text = " or ".join(map(clean, paths)) + (", whichever was written last" if len(paths) > 1 else "")
    is_said = all(path.startswith((f"{writer}.", f"{writer}[")) for path in paths for writer in writers)
    return text if is_said or writers == paths else f"{text} ({_names(writers)})"


def _input(origin: Origin) -> str:
    flag, path = origin.get("flag"), clean(origin["path"])
    through = "the pipe, or " if origin.get("pipe") else ""
    if not flag:
        return f"{through}the input {path}"
    is_plain = path == origin["input"] and flag == spell_flag(path)
    return f"{through}{clean(flag)}" + ("" if is_plain else f" ({path})")


def _template(origin: Origin) -> str:
    parts = ", ".join(dict.fromkeys(map(origin_text, origin["of"])))
    return f"the template {value_text(origin['text'])}" + (f" of {parts}" if parts else "")


def _nothing(origin: Origin) -> str:
    remedy = f" ({clean(origin['remedy'])})" if origin.get("remedy") else ""
    return f"nothing: {clean(origin['why'])}{remedy}" if origin.get("why") else "nothing"


_WORDS: dict[str, Callable[[Origin], str]] = {
    "store": _stored,
    "input": _input,
    "template": _template,
    "latest": lambda origin: "the latest of " + ", ".join(map(origin_text, origin["of"])),
    "nothing": _nothing,
    "pipe": lambda origin: "the pipe",
    "secret": lambda origin: "a secret",
    "constant": lambda origin: value_text(origin["value"]),
    "param": lambda origin: f"the param {value_text(origin['value'])}",
    "default": lambda origin: "unset" if origin["value"] is None else f"the default {value_text(origin['value'])}",
    "item": lambda origin: f"{clean(origin['path'])} of each in {clean(origin['over'])}",
}


def account_text(account: Account, width: int, colour: Colour = PLAIN) -> str:
    """Write the whole account: the pipe, the steps, what the flow touches, needs and gives, and the store."""
    title, pipe, *effects = _outside(account, width, colour)
    steps = [step_lines(step, width, colour) for step in account["steps"]]
    store = section(colour.heading("The store at the end"), _store(account), width, colour.name, _NOTHING)
    return joined([title, pipe, *steps, *effects, store, warnings(account, width, colour)])


def brief_text(account: Account, about: list[str], width: int, colour: Colour = PLAIN) -> str:
    """Write the outside view of a flow: the pipe, what it touches, needs and gives. `about` goes below the title."""
    title, *parts = _outside(account, width, colour)
    return joined([[*title, *about], *parts, warnings(account, width, colour)])


def graph_text(account: Account, width: int) -> str:
    """Write the steps in their order, each with its edges below it, except a default edge to the next step."""
    steps = account["steps"]
    lines = []
    for step, following in zip(steps, [*steps[1:], None], strict=False):
        node = f" ({clean(step['type'])})" if step["type"] != step["id"] else ""
        lines.append(f"{step['number']} {clean(step['id'])}{node}" + ("" if step["reached"] else ", never runs"))
        edges = [edge for edge in step["next"] if edge["to"] and not edge["implied"]]
        if following and not edges:
            lines.append("    the flow ends")
        for edge in edges:
            if not (following and edge["action"] == "default" and edge["to"] == [following["id"]]):
                lines.append(f"    {_action(edge)}: {_edge(edge, step)}")
    return "".join(f"{shorten(line, width)}\n" for line in lines)


def pipe_lines(text: str) -> list[str]:
    """Split pipe syntax into lines, but not at a newline inside quotes."""
    ends = [token.at for token in scan(text) if token.kind == END and token.text == "\n"]
    starts = [0, *(end + 1 for end in ends)]
    return [text[start:end] for start, end in zip(starts, [*ends, len(text)], strict=True)]


def _outside(account: Account, width: int, colour: Colour) -> list[list[str]]:
    title = ": ".join(filter(None, [clean(account["name"]), clean(account["description"])]))
    if account["pipe"] is None:
        pipe = wrap(f"Not as a pipe: {clean(account['pipe_fault'])}", width)
    else:
        lines = ["\n".join(map(clean, line.split("\n"))) for line in pipe_lines(account["pipe"])]
        pipe = [colour.heading("As a pipe"), *(f"  {line}" for line in lines)]
    return [
        list(map(colour.heading, wrap(title, width))) if title else [],
        pipe,
        section(colour.heading("It will touch"), effect_rows(account), width, colour.warning, _NO_EFFECT),
        section(colour.heading("It needs"), _needs(account), width, colour.name, _NOTHING),
        section(colour.heading("It gives"), _gives(account), width, colour.name, _NOTHING),
    ]


def section(
    heading: str, rows: Rows, width: int, first: Callable[[str], str] | None = None, without: str = ""
) -> list[str]:  # fmt: skip
    """Return the lines of a table below its heading. Without rows, return the heading and `without`, or no lines."""
    below = table(rows, width, first=first) if rows else [f"  {without}"] if without else []
    return [heading, *below] if below else []


def joined(parts: list[list[str]]) -> str:
    return "\n".join("\n".join(lines) + "\n" for lines in parts if lines)


def warnings(account: Account, width: int, colour: Colour) -> list[str]:
    return section(colour.warning("Mind"), [("", clean(warning)) for warning in account["warnings"]], width)


def effect_rows(account: Account, words: Callable[[list[Origin]], str] = origins_text) -> Rows:
    """Return a row for each effect, the worst first: its name, its step, and the values that say what it acts on."""
    rows: Rows = []
    before = ""
    for touch in account["touches"]:
        what = values_text(touch["what"], words)
        rows.append((touch["effect"] if touch["effect"] != before else "", clean(touch["step"]), what))
        before = touch["effect"]
    return rows


def values_text(what: dict[str, list[Origin]], words: Callable[[list[Origin]], str]) -> str:
    """Write the values that say what an effect acts on, without unset ones: `path "b.txt"`. `words` writes origins."""
    known = [(key, origins) for key, origins in what.items() if origins not in _UNSET]
    return ", ".join(f"{clean(key)} {words(origins)}" for key, origins in known)


def _needs(account: Account) -> Rows:
    rows: Rows = []
    for need in account["needs"]:
        default = f"default {value_text(need['default'])}" if need.get("default") is not None else "optional"
        necessity = ("required" if need["required"] else default) + (", or the pipe" if need["pipe"] else "")
        doc, readers = clean(need["doc"]), _names(need["read_by"])
        purpose = f"{doc} ({readers})" if doc and readers else doc or (f"read by {readers}" if readers else "")
        rows.append((clean(need["flag"]), need["type"], necessity, purpose))
    piped = account["piped"]
    if piped is not None and "step" in piped:
        rows.append(("the pipe", "any", "", f"{clean(piped['step'])} takes it as {clean(piped['key'])}"))
    return rows


def _gives(account: Account) -> Rows:
    outputs, carries = account["gives"]["outputs"], account["gives"]["carries"]
    rows: Rows = [(clean(name), output["type"], origin_text(output["from"])) for name, output in outputs.items()]
    return [*rows, ("the pipe", "", f"carries {clean(carries)}")] if carries is not None else rows


def _store(account: Account) -> Rows:
    rows: Rows = [
        (clean(row["path"]), row["type"], _names(row["written_by"]), _names(row["read_by"])) for row in account["store"]
    ]
    return [("path", "type", "written by", "read by"), *rows] if rows else []


def _names(names: list[str]) -> str:
    return ", ".join(map(clean, names))


def step_lines(step: Account, width: int, colour: Colour = PLAIN) -> list[str]:
    """Return the lines about a step: a heading, then the details."""
    node = clean(step["type"]) + (f" {step['version']}" if step["version"] else "")
    node += clean(f", of {step['pack']['name']} {step['pack']['version']}") if step["pack"] else ""
    summary = f": {clean(step['summary'])}" if step["summary"] else ""
    heading = f"[{step['number']}] {clean(step['id'])} ({node}){summary}"
    rows = [*_problems(step), *_values(step), *(("·", name, text) for name, text in _facts(step))]
    left = min(max((len(name) for _, name, _ in rows), default=0), _WIDEST_NAME)
    lines = list(map(colour.heading, wrap(heading, width)))
    for bullet, name, text in rows:
        first, *rest = wrap(text, max(width - left - 8, 20))
        painted = colour.warning(bullet) if bullet == "!" else colour.dim(bullet)
        lines.append(f"    {painted} {shorten(name, left):{left}}  {first}".rstrip())
        lines += [" " * (left + 8) + line for line in rest]
    return lines


def _problems(step: Account) -> Iterator[tuple[str, str, str]]:
    if step["open"] and step["inferred"]:
        yield "!", "open", "its keys here come from its code; it may read and write any other key"
    elif step["fault"]:
        yield "!", "not known", clean(step["fault"])
    elif step["open"]:
        yield "!", "open", "it declares no interface: it may read and write any key"
    if not step["reached"]:
        yield "!", "never runs", "no edge leads to it"


def _values(step: Account) -> Iterator[tuple[str, str, str]]:
    if "batch" in step:
        yield "×", "once for each", _batch(step["batch"])
    for read in step["reads"]:
        yield "←", f"{clean(read['key'])}: {_short(read['type'])}", origins_text(read["from"])
    for write in step["writes"]:
        readers = f", to {_names(write['read_by'])}" if write["read_by"] else ""
        yield "→", f"{clean(write['key'])}: {_short(write['type'])}", clean(write["to"]) + readers


def _facts(step: Account) -> Iterator[tuple[str, str]]:
    yield from ((clean(key), origin_text(origin)) for key, origin in step["params"].items())
    if step["has_model"] and "model" not in step["params"]:
        yield "model", "the default model"
    if "steps" in step:
        count = "1 step" if step["steps"] == 1 else f"{step['steps']} steps"
        yield "a flow", f"of {count}, with a store of its own"
    if step["effects"]:
        yield "touches", ", ".join(step["effects"])
    if not step["repeats"] and "steps" not in step:
        yield "repeats", "only if you say so"
    if "asks_version" in step:
        yield "version", f"at least {clean(step['asks_version'])}, same major"
    if "retries" in step:
        yield "retries", str(step["retries"]) + (f", {step['wait']:g} s apart" if step.get("wait") else "")
    if "timeout" in step:
        yield "timeout", f"{step['timeout']:g} s"
    if "cache" in step:
        yield "cache", _CACHE[step["cache"]]
    if "max_visits" in step:
        yield "visits", f"at most {step['max_visits']}"
    yield from ((_action(edge), _edge(edge, step)) for edge in step["next"])


_CACHE = {
    True: "its answers are kept and reused",
    False: "its answers are not kept",
    "require": "only kept answers are used",
}


def _short(type: str) -> str:
    head, brace, tail = type.partition("{")
    return head + tail.rpartition("}")[2] if brace else type


def _batch(batch: Account) -> str:
    jobs = f"; {batch['jobs']} at a time" if batch["jobs"] else ""
    kept = "; failed items become null" if batch["on_error"] == "keep" else ""
    beside = "; each result with its item" if batch["keep_item"] else ""
    return f"in {origin_text(batch['over'])}, as {clean(batch['as'])}{jobs}{kept}{beside}"


def _action(edge: Account) -> str:
    return "then" if edge["action"] == "default" else f"on {clean(edge['action'])}"


def _edge(edge: Account, step: Account) -> str:
    if not edge["to"]:
        return "the flow ends"
    targets = _names(edge["to"])
    if len(edge["to"]) > 1:
        meet = f"they meet at {clean(edge['meet'])}" if edge["meet"] else "each to its end"
        return f"{targets} at the same time; {meet}"
    return "again" if edge["to"] == [step["id"]] else f"back to {targets}" if edge["back"] else targets
