"""The names that TAB offers: commands, nodes, saved flows, runs, models, files, and flags. TAB runs none of them."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING, Container, Iterable
from pflow.catalog.registry import saved_flow, saved_flows
from pflow.completion.line import split
from pflow.errors import PflowError, result_of
from pflow.flow.pipe.scan import closes, separates
from pflow.help import spec as kinds
from pflow.help.spec import SENTENCE, CommandSpec, spec_of_node
from pflow.interface.common import OF_FLOWS
from pflow.interface.interface import COMMON_FLAG, Field, Flag, Interface
from pflow.values.jsontext import decode
from pflow.values.types import Type

if TYPE_CHECKING:
    from pflow.catalog.find import NodeType

COMMANDS, NODES, STORE_COMMANDS, FLOWS = "commands", "nodes", "tools", "flows"
VALUES, FILES, RUNS, MODELS, STEPS, KEYS = "values", "files", "runs", "models", "steps", "keys"
SERVERS, PACKS = "servers", "packs"
"""The groups of candidates that are not flags."""

TABLE = "commands.json"
"""The file beside this module with the specs of the driver, its commands and the store commands, so that TAB need not
import them. `make generate` writes it. By name it has a list: the summary, the flags, and the other words. Each flag
and word is the arguments of `Flag`, with the name of its type."""

# bash-completion looks for a file with the name of the command, so each command has one.
LOADER = '. "${{BASH_SOURCE[0]%/*}}/pflow" && complete -F _pflow {name}\n'

MOST = 99
"""The most candidates that readline lists without asking: its completion-query-items is 100."""


class Candidate:
    """A text that TAB offers: the group in which it is shown, its value, its description."""

    def __init__(self, group: str, value: str, about: str = "") -> None:
        self.group = group
        self.value = value
        self.about = about

    @property
    def is_open(self) -> bool:
        """True if the next letter follows the text without a blank."""
        return self.group == KEYS or self.value.endswith(("=", "/"))


def read_table(wanted: Iterable[str] = ()) -> dict[str, CommandSpec]:
    """Read the specs by command: `pflow`, `pflow runs`, `pflow-get`. Only the `wanted` commands have flags and words.

    Making the flags of all commands takes longer than a person waits for TAB.
    """
    with open(os.path.join(os.path.dirname(__file__), TABLE), "rb") as file:
        rows = decode(file.read())
    table = {name: CommandSpec(name, summary) for name, (summary, _, _) in rows.items()}
    for name in rows.keys() & set(wanted):
        both = rows[name][1:]
        declared: list[list[Field]] = [[Flag(**{**row, "type": Type(row["type"])}) for row in each] for each in both]
        table[name].flags, table[name].arguments = declared
    return table


def commands() -> list[Candidate]:
    table = read_table().items()
    return [
        Candidate(COMMANDS, name[6:], each.summary) for name, each in table if name[:6] == "pflow " and name != SENTENCE
    ]


def store_commands() -> list[Candidate]:
    table = read_table().items()
    return [Candidate(STORE_COMMANDS, name[6:], each.summary) for name, each in table if name[:6] == "pflow-"]


def nodes() -> list[Candidate]:
    from pflow.catalog.lines import node_lines

    return [Candidate(NODES, line.name, line.summary) for line in node_lines() if line.is_there]


def flows(prefix: str = "") -> list[Candidate]:
    """Return the saved flows; steps name them with the prefix `flow:`."""
    return [Candidate(FLOWS, prefix + name, _description(saved_flow(name) or "")) for name in saved_flows()]


def _description(file: str) -> str:
    try:
        with open(file, "rb") as source:
            return str(decode(source.read()).get("description") or "")
    except (OSError, ValueError, AttributeError):
        return ""


def servers() -> list[Candidate]:
    from pflow.mcp.client.servers import list_servers

    return [Candidate(SERVERS, name) for name in result_of(list_servers, of=PflowError, otherwise=[])]


def packs() -> list[Candidate]:
    from pflow.catalog.packs import Pack, installed_packs

    installed = result_of(installed_packs, of=PflowError, otherwise=dict[str, Pack]())
    return [Candidate(PACKS, pack.name, pack.version) for pack in installed.values()]


def confined() -> list[Candidate]:
    from pflow.catalog.find import nodes_of
    from pflow.catalog.packs import Pack, installed_sources

    found = result_of(installed_sources, of=PflowError, otherwise=list[Pack]())
    inside = [Candidate(NODES, node_type.name, pack.label) for pack in found for node_type in nodes_of(pack)]
    return [*(Candidate(PACKS, pack.name, pack.version) for pack in found), *inside]


def runs(kind: str = kinds.RUN) -> list[Candidate]:
    """Return the newest runs of a kind, newest first, and `last`, which stands for the newest of all runs."""
    import time

    from pflow.record.runs import FINISHED, RUNNING, list_runs

    listed = list_runs(MOST - 1)
    flags_named = [*(("last", run) for run in listed[:1]), *((run.id, run) for run in listed)]
    return [
        Candidate(RUNS, name, f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(run.begun))}  {run.status}  {run.name}")
        for name, run in flags_named
        if kind == kinds.RUN
        or (run.status == RUNNING if kind == kinds.RUNNING else run.is_resumable or run.status == FINISHED)
    ]


def steps_of(run: str) -> list[Candidate]:
    from pflow.record.log import FLOW
    from pflow.record.runs import find_run

    try:
        return [Candidate(STEPS, step["id"], step["type"]) for step in find_run(run).read_json(FLOW)["nodes"]]
    except (KeyError, TypeError, PflowError):
        return []


def models() -> list[Candidate]:
    from pflow.models.known import read_models

    return [Candidate(MODELS, model, about) for model, about in read_models()]


def files(typed: str, wanted: str) -> list[Candidate]:
    """Return the files in the typed directory, with a / after directories.

    `wanted` is the ending of files, or `/` for directories alone.
    """
    folder, _, begun = typed.rpartition("/")
    folder = os.path.expanduser(folder) or ("/" if typed.startswith("/") else ".")
    try:
        with os.scandir(folder) as entries:
            found = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries)
    except OSError:
        return []
    shown = [name for name in found if name.startswith(begun or ".") == bool(begun)]
    return [Candidate(FILES, name) for name in shown if name.isprintable() and name.endswith((wanted, "/"))]


def spec_of_type(name: str) -> CommandSpec:
    """Return the spec of a node, a store command or a saved flow; an empty one if it cannot be read."""
    from pflow.catalog.find import STORE_COMMAND, find_node

    found = find_node(name)
    if found is None:
        return spec_of_flow(name) if saved_flow(name) else CommandSpec(name, "")
    if found.origin == STORE_COMMAND:
        name = f"pflow-{found.name}"
        spec = read_table([name])[name]
        for each in spec.arguments:
            each.choices = each.choices and (tuple(_keys_of_pipe()) or each.choices)
        return spec
    interface = _interface_of(found)
    return _with_places(spec_of_node(found.name, interface), interface, [])


def spec_of_flow(word: str) -> CommandSpec:
    """Return the spec of running a flow. Its inputs are missing if it is faulty, or in Python, which would be run."""
    from pflow.driver.arguments import spec_of_run
    from pflow.flow.subflow import load_named, python_source
    from pflow.flow.wiring import wire

    is_code = word == "-" or python_source(word) is not None
    try:
        spec = spec_of_run(None if is_code else wire(load_named([word])))
    except PflowError:
        spec = spec_of_run()
    spec.arguments = []
    return spec


def spec_of_step(name: str, before: list[str]) -> CommandSpec:
    """Return the spec of a step: the flags of its type's interface, and the common flags that apply to one step.

    `before` are the words of the steps before it.
    """
    from pflow.flow.pipe.steps import OF_STEPS
    from pflow.flow.subflow import FlowCatalog

    (type, _), *_ = steps_in([name])
    node_type = FlowCatalog().find(type)
    if node_type is None and not closes(name):  # perhaps the first word of a sentence
        return CommandSpec(type, "")
    interface = _interface_of(node_type)
    spec = spec_of_node(type, interface)
    own = [each for each in spec.flags if each.kind != COMMON_FLAG]
    spec.flags = [*own, *OF_FLOWS.values(), *flags_named(spec.flags, OF_STEPS)]
    return _with_places(spec, interface, before)


def steps_in(words: list[str]) -> list[tuple[str, str | None]]:
    """Return the type of each step, and its id if it has one."""
    from pflow.flow.pipe.scan import full_type, split_name

    firsts = [word for at, word in enumerate(words) if at == 0 or separates(words[at - 1])]
    found = [split_name(word.removeprefix("pflow-")) for word in firsts if not separates(word)]
    return [(full_type(type), id) for type, id in found]


def _with_places(spec: CommandSpec, interface: Interface, before: list[str]) -> CommandSpec:
    """Give the common flags their choices: the keys of the step, and the places that the earlier steps write."""
    places = _places(before)
    choices = {
        "each": (*places,),
        "map_in": tuple([f"{key}={place}" for key in interface.reads for place in ("", *places)]),
        "map_out": tuple([f"{key}=" for key in interface.writes]),
    }
    spec.flags = [
        flag.but(choices=choices[flag.name]) if flag.kind == COMMON_FLAG and flag.name in choices else flag
        for flag in spec.flags
    ]
    return spec


def _places(before: list[str]) -> list[str]:
    """Return the place, ID.KEY, of each write of the steps in the words `before`."""
    from pflow.flow.pipe.scan import free_id
    from pflow.flow.subflow import FlowCatalog

    places: dict[str, None] = {}
    ids: dict[str, int] = {}
    for type, id in steps_in(before):
        id = id or free_id(type, ids)
        ids.setdefault(id, 2)
        places.update(dict.fromkeys(f"{id}.{key}" for key in _interface_of(FlowCatalog().find(type)).writes))
    return [*places]


def keys(before: list[str], step: list[str], *, in_braces: bool) -> list[Candidate]:
    """Return the keys after a $ in a step's text: those that the earlier steps write, stdin, and those of items."""
    items = ["item", "item_name", "item_stem", "item_dir"] * any(each.startswith("--each") for each in step)
    places = _places(before)
    found = [*(place.partition(".")[2] for place in places), "stdin", *items]
    if in_braces:
        found = [f"{path}}}" for path in [*found, *places]]
    return [Candidate(KEYS, key) for key in dict.fromkeys(found)]


def _keys_of_pipe() -> list[str]:
    """Return the keys that the stages before the cursor write; empty if the shell does not pass on the whole line."""
    words = split(os.environ.get("PFLOW_LINE", ""), is_flow=True).words
    end = max([at for at, word in enumerate(words) if word == "|"], default=0)
    return [*dict.fromkeys(place.partition(".")[2] for place in _places(words[:end]))]


def _interface_of(node_type: NodeType | None) -> Interface:
    """Return the interface of a node or a flow; an empty one if it cannot be read, such as unfinished code."""
    try:
        return node_type.interface if node_type else Interface()
    except Exception:
        return Interface()


def flags_named(flags: Iterable[Field], wanted: Container[str]) -> list[Field]:
    return [each for each in flags if each.kind == COMMON_FLAG and each.name in wanted]
