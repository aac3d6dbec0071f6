"""Read what a pack declares and what its texts name, without running it; find clashing names; compare versions."""

from __future__ import annotations

import ast
import difflib
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pflow.catalog.find import find_type, list_nodes, node_called, nodes_of, own_places
from pflow.catalog.lines import UNREADABLE, cannot_read
from pflow.catalog.node_type import BUNDLED, NodeType
from pflow.catalog.packs import Pack, installed_sources
from pflow.catalog.registry import SUFFIX, flow_name, flows_of, is_flow_type, names_in, own_flows
from pflow.errors import BAD_DATA
from pflow.explain.effects import Provenance, effects_of_flow
from pflow.flow.rules import check
from pflow.flow.subflow import FlowCatalog, FlowType
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.interface.interface import ANYTHING, COMMANDS, Field, Interface
from pflow.interface.source import NO_CLASS, plain
from pflow.process.signals import Deadline
from pflow.text.printable import clean, foreign_line
from pflow.values.digest import digest_of
from pflow.values.jsontext import texts_in

Declared = dict[str, dict[str, Any]]
"""The account of each node and flow of a pack, by its path."""

Files = dict[str, dict[str, Any]]
"""The files of a pinned pack (pflow.catalog.packs.Pack): the digest of each, and what it declares."""

_OF_TEXT = ("env", "commands", "hosts")
_NAMED = ("env", "secrets", "withheld", "commands", "hosts")
_SECONDS = 60.0
_LARGEST, _MOST, _LONGEST = 1 << 20, 100, 2_000
"""The most bytes of a file that are searched for names, the most names listed, and the most lines compared."""


def declare(folder: str, paths: Iterable[str]) -> Declared:
    """Return what each node and flow among these paths in a folder declares, and what its text names.

    `withheld` lists the environment variables that the text names but the interface does not declare: a confined node
    does not get them. A node without an interface is `open`: it may have no effects. `fault` says why a node or flow
    cannot be read or used. Names in a helper module in nodes/ count for every node, because each may import it.
    Raises PflowError (65) for a pack that takes too long: nested flows can multiply without end.
    """
    with Deadline(_SECONDS, "a pack", act="cannot read what the pack declares", exit=BAD_DATA):
        return _declare(os.path.abspath(folder), sorted(paths))


def _declare(folder: str, paths: list[str]) -> Declared:
    code = [path for path in paths if path.startswith("nodes/") and not path.endswith(".interface")]
    names = {path: _names_of(os.path.join(folder, path)) for path in code}
    imported = set().union(*(each.get("imports", ()) for each in names.values()))
    declared: Declared = {}
    node_types: dict[str, NodeType] = {}
    for path in [each for each in names if os.path.dirname(each) == "nodes"]:
        node_type = node_called(os.path.join(folder, path))
        entry = node_type and _of_node(node_type)
        is_module = os.path.basename(path).removesuffix(".py") in imported
        if node_type and entry and not (is_module and (node_type.class_fault or entry["fault"].endswith(NO_CLASS))):
            declared[path], node_types[plain(node_type.name)] = entry, node_type
    modules = [each for path, each in names.items() if path not in declared]
    for path, entry in declared.items():
        named = {what: set().union(*(each.get(what, ()) for each in [names[path], *modules])) for what in _OF_TEXT}
        withheld = named["env"] - {*entry["env"], *entry["secrets"]}
        entry |= {"withheld": withheld, "commands": named["commands"], "hosts": named["hosts"]}
    own = {node_type.file: declared[os.path.relpath(node_type.file, folder)] for node_type in node_types.values()}
    catalog = _StagedCatalog(folder, node_types)
    for path in [each for each in paths if os.path.dirname(each) == "flows" and flow_name(os.path.basename(each))]:
        declared[path] = _of_flow(os.path.join(folder, path), catalog, own)
    return {path: _printable(entry, folder) for path, entry in declared.items()}


def _names_of(file: str) -> Names:
    with open(file, "rb") as opened:
        data = opened.read(_LARGEST + 1)
    if b"\0" in data or len(data) > _LARGEST:
        return {"commands": {BINARY}}
    first, text = data.partition(b"\n")[0], data.decode("utf-8", "replace")
    is_python = file.endswith(".py") or (first.startswith(b"#!") and b"python" in first)
    is_shell = first.rstrip().endswith(b"sh") or not first.startswith(b"#!")
    return names_of(text, is_python=is_python, is_shell=is_shell)


def _entry(kind: str, name: str, fault: str = "") -> dict[str, Any]:
    texts = {"kind": kind, "name": name, "version": "", "summary": "", "reads": {}, "writes": {}, "effects": []}
    return {**texts, **{name: [] for name in _NAMED}, "open": False, "fault": fault}


_NOTHING = _entry("", "")


def _of_interface(interface: Interface) -> dict[str, Any]:
    def typed(fields: dict[str, Field]) -> dict[str, str]:
        return {key: str(field.type) for key, field in fields.items()}

    secrets = {field.env or field.name for field in interface.secrets}
    return {
        "summary": foreign_line(interface.summary),
        "reads": typed(interface.reads),
        "writes": typed(interface.writes),
        "effects": [] if interface.open else list(interface.effects),
        "secrets": sorted(secrets),
        "env": sorted({field.env for field in interface.taken if not GIVEN.match(field.env)} - {"", *secrets}),
        "open": interface.open,
    }


def _of_node(node_type: NodeType) -> dict[str, Any]:
    entry = _entry("node", node_type.name, node_type.fault)
    try:
        entry |= {**_of_interface(node_type.interface), "version": node_type.version}
        faults = (node_type.fault, node_type.interface.fault, node_type.class_fault, node_type.interpreter_fault)
        entry["fault"] = next(filter(None, faults), "")
    except UNREADABLE as error:
        entry["fault"] = cannot_read(node_type.file, error)
    return entry


def _of_flow(file: str, catalog: _StagedCatalog, own: Declared) -> dict[str, Any]:
    entry = _entry("flow", flow_name(os.path.basename(file)))
    try:
        node_type = FlowType(file, file, catalog)
        entry |= _of_interface(node_type.interface) | _of_steps(node_type.flow, own)
        entry["fault"] = next((str(each) for each in check(node_type.flow) if not each.is_warning), "")
    except UNREADABLE as error:
        entry["fault"] = cannot_read(file, error)
    return entry


def _of_steps(flow: WiredFlow, own: Declared) -> dict[str, Any]:
    """Return a flow's steps and effects. For nodes of its own pack, include all names in their texts."""
    steps = [step for step in flow.all_steps() if step.subflow is None]
    effects = effects_of_flow(Provenance(flow))
    parts = [_NOTHING | _of_interface(step.interface) for step in steps]
    parts += [own[_file_of(step)] for step in steps if _file_of(step) in own]
    named = {name: {each for part in parts for each in part[name]} for name in _NAMED}
    origins = [origin for each in effects for key, of in each.values.items() if key in COMMANDS for origin in of]
    texts = texts_in([[origin.get("value"), origin.get("text")] for origin in origins])
    named["commands"] |= {each for text in texts for each in commands_in(text)}
    named["hosts"] |= hosts_in("\n".join(texts_in(flow.flow.document)))
    done = dict.fromkeys(each.name for each in effects if each.name != ANYTHING or _file_of(each.step) not in own)
    is_open = any(step.interface.open for step in steps)
    return {**named, "effects": list(done), "open": is_open, "steps": {step.step.type for step in steps}}


def _file_of(step: WiredStep) -> str:
    return step.node_type.file if step.node_type else ""


class _StagedCatalog(FlowCatalog):
    """Finds nodes and flows in a staged pack, then installed ones; it opens no other files."""

    def __init__(self, folder: str, nodes: dict[str, NodeType]) -> None:
        super().__init__()
        self.folder, self.nodes = folder, nodes

    def find(self, type: str) -> NodeType | None:
        if not is_flow_type(type):
            there, name = find_type(type), plain(type)
            if there is not None and there.origin == BUNDLED:
                return there
            return self.nodes.get(name) or self.nodes.get(name.removesuffix("node")) or there
        is_saved = type.startswith("flow:")
        place = f"{self.folder}/flows/{type[5:]}{SUFFIX}" if is_saved else os.path.join(self.directory, type)
        is_ours = os.path.normpath(place).startswith(f"{self.folder}/") and os.path.isfile(place)
        return super().find(os.path.normpath(place)) if is_ours else super().find(type) if is_saved else None


def _printable(value: Any, folder: str) -> Any:
    """Return a value that is safe to print: its texts cleaned, its sets as sorted lists of limited length."""
    if isinstance(value, dict):
        return {clean(key): _printable(each, folder) for key, each in value.items()}
    if isinstance(value, set | list):
        texts = [clean(each) for each in (sorted(value) if isinstance(value, set) else value)]
        more = texts[_MOST:]  # an update may change only the omitted names, which their digest then shows
        return texts[:_MOST] + [f"(and {len(more):,} more, {digest_of(more)[:8]})"] * bool(more)
    return clean(value.replace(f"{folder}/", "")) if isinstance(value, str) else value


def shadows(declared: Declared, pack: str) -> dict[str, list[str]]:
    """Return, for each name in a pack that others have too, who they are and which of them is found by it."""
    there: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for kind, name, words in _names_there(pack):
        there[name_key(kind, name)].append(words)
    mine = Counter(name_key(entry["kind"], entry["name"]) for entry in declared.values())
    found: defaultdict[str, list[str]] = defaultdict(list)
    for entry in declared.values():
        name, kind = entry["name"], entry["kind"]
        key, node = name_key(kind, name), name_key("node", name)
        found[name] += there[key] + [f"the pack has more than one {kind} of this name"] * (mine[key] > 1)
        is_command, is_node = there["command", plain(name)], kind == "flow" and (there[node] or mine[node])
        what, other = "command of pflow" if is_command else "node", f"{'flow:' if kind == 'flow' else 'pflow-'}{name}"
        found[name] += [f"pflow {name} is a {what}; this {kind} is {other}"] * bool(is_command or is_node)
    return {name: [*dict.fromkeys(map(clean, words))] for name, words in found.items() if words}


def _names_there(pack: str) -> Iterator[tuple[str, str, str]]:
    """Yield the kind, name and owner of everything that exists apart from this pack."""
    for folder, kind in (("nodes", "node"), ("store_commands", "tool"), ("commands", "command")):
        for name in names_in(folder):
            yield "command" if kind == "command" else "node", name, f"pflow's own {kind} comes first"
    own = own_places()
    for found in list_nodes():
        is_own = os.path.dirname(found.file) in own
        words = f"your own '{found.file}' comes first" if is_own else f"'{found.file}' comes behind"
        if found.origin != BUNDLED and not found.pack:
            yield "node", found.name, words
    for name in own_flows():
        yield "flow", name, "your own flow of this name comes first"
    for (kind, name), words in owners(each for each in installed_sources() if each.name != pack).items():
        yield kind, name, words


def name_key(kind: str, name: str) -> tuple[str, str]:
    """Return a key that clashing names share. `words` and `WordsNode` clash: a flow may name a node by its class."""
    return kind, plain(name).removesuffix("node" * (kind == "node"))


def owners(packs: Iterable[Pack]) -> dict[tuple[str, str], str]:
    """Return, for the name key of each node and flow of these packs, which pack has the name and how to free it."""
    found: dict[tuple[str, str], str] = {}
    for pack in packs:
        names = [("node", node.name) for node in nodes_of(pack)] + [("flow", name) for name in flows_of(pack)]
        for kind, name in names:
            removal = f"{'pflow' if pack.tree else 'pip'} uninstall {pack.name}"
            words = f"the pack '{pack.name}' has a {kind} of this name; {removal}, then install again"
            found.setdefault(name_key(kind, name), words)
    return found


def widened(before: Files, after: Files) -> list[str]:
    """Return a line for each thing that a node or flow may do in `after` but not in `before`: `words: + network`."""
    return [line for line, is_wider in _changes(before, after) if is_wider]


def differences(before_folder: str, before: Files, after_folder: str, after: Files) -> tuple[list[str], str]:
    """Return lines that say how two versions of a pack differ in what they may do, and a diff of their files."""
    lines = [line for line, _ in _changes(before, after)]
    digests = [{path: about["digest"] for path, about in files.items()} for files in (before, after)]
    diff: list[str] = []
    for path in sorted({path for path, _ in digests[0].items() ^ digests[1].items()}):
        diff += _diff(path, before_folder if path in before else "", after_folder if path in after else "")
    return lines, "".join(f"{clean(line)}\n" for line in diff)


def _changes(before: Files, after: Files) -> Iterator[tuple[str, bool]]:
    """Yield a line for each difference between what two versions declare, and True if the second may do more by it."""
    old, new = (
        {path: each["declares"] for path, each in files.items() if each.get("declares")} for files in (before, after)
    )
    for path in sorted({*old, *new}):
        was, now = old.get(path, _NOTHING), new.get(path, _NOTHING)
        shown = now if path in new else was
        label = clean(f"{'flow:' * (shown['kind'] == 'flow')}{shown['name']}")
        gains, losses = _more(was, now, "now", "+"), _more(now, was, "no longer", "-")
        if path not in old:
            yield f"{label}: new: {', '.join(gains) or 'it touches nothing'}", bool(gains)
        elif path not in new:
            yield f"{label}: gone", False
        else:
            yield from [(f"{label}: {gain}", True) for gain in gains]
            withheld = sorted({*now["withheld"]} - {*was["withheld"]})
            told = [f"names env {each}, which it does not get" for each in withheld]
            told += ["declares no interface any more"] * (now["open"] and not was["open"])
            told += [f"cannot be used: {now['fault']}"] * bool(now["fault"] and not was["fault"])
            yield from [(f"{label}: {each}", False) for each in losses + told]


def _more(less: dict[str, Any], more: dict[str, Any], now: str, sign: str) -> list[str]:
    """Return, in words, what one account has and the other lacks."""
    words = {"effects": "", "env": "env ", "secrets": "secret ", "commands": "command ", "hosts": "host "}
    new = [(word, each) for what, word in words.items() for each in more[what] if each not in less[what]]
    return [clean(f"{now} {each}" if not word and " " in each else f"{sign} {word}{each}") for word, each in new]


def _diff(path: str, *folders: str) -> list[str]:
    """Return the unified diff of a file in two folders ("" if it is missing there), or one line if it is too long."""
    texts = [Path(folder, path).read_bytes() if folder else b"" for folder in folders]
    # Split at newlines only: splitlines() also splits where a Python comment goes on, and could hide a change.
    before, after = (text.decode("utf-8", "surrogateescape").split("\n") for text in texts)
    if any(b"\0" in text for text in texts) or max(len(before), len(after)) > _LONGEST:
        return [f"{path} differs: {' and '.join(f'{len(text):,} bytes' for text in texts)}, not shown"]
    old, new = (f"{side}/{path}" if folder else os.devnull for side, folder in zip("ab", folders, strict=True))
    return [*difflib.unified_diff(before, after, old, new, lineterm="")]


Names = dict[str, set[str]]
"""The names found, by kind: `env`, `commands`, `hosts`, and for Python `imports`."""

BINARY = "(a binary: it cannot be read)"
"""The command that is listed for a file that is not text."""

GIVEN = re.compile(r"(?:PATH|HOME|LANG|LC_\w+|TZ|TMPDIR|TERM|PFLOW_\w+|TRACEPARENT)$")
"""The environment variables that every confined node gets."""

_HOST = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{0,20}://(?:[^\s/@\"'<>]{0,200}@)?([\w.-]{1,253}(?::\d{1,5})?)")
_COMMENT = re.compile(r"(?m)^[ \t]*(?:#|//)[^\n]*")
_VARIABLE = re.compile(
    r"\$\{?(?!ENV\{)([A-Z][A-Z0-9_]*)\b|\b(?:env|ENV|environb?(?:\.\w+)?|getenvb?)\W{1,4}([A-Z][A-Z0-9_]*)\b"
)
_ASSIGNED = re.compile(r"(?m)(?:^|[;&|({\s])(?:for\s+|read\s+(?:-\w+\s+)*)?([A-Z][A-Z0-9_]*)(?=\+?=|\s+in\s|\s*$)")
_SHELLS_OWN = re.compile(
    r"(?:PWD|OLDPWD|IFS|OPT\w+|RANDOM|LINENO|SECONDS|BASH\w*|PPID|E?UID|FUNCNAME|REPLY|PIPESTATUS)$"
)
_FUNCTION = re.compile(r"(?m)^[ \t]*(?:function[ \t]+)?([\w-]+)[ \t]*\(\)|^[ \t]*function[ \t]+([\w-]+)")
_NO_COMMAND = re.compile(
    r"""(?<![^\s;&|()])\#[^\n]* | \\\n | exec\ pflow\ "\$0"\ "\$@" | \$?\(\([^\n]{0,200}?\)\)
    | (?<!<)<<-?[ \t]*\\?(['"]?)(\w+)\1(?P<rest>[^\n<]*).*?(?:\n[ \t]*\2[ \t]*(?=\n|\Z)|\Z)
    | \d*[<>]+&?[ \t]*[^\s;&|()"'<>]*
    | (?P<text>=\([^)]{0,200}\) | \\. | '[^']*'? | "(?P<quoted>(?:[^"\\]|\\.)*)"?)""",
    re.VERBOSE | re.DOTALL,
)
"""Parts of a shell script that contain no command, except between `$(` and `)`: comments, the line with which a node
starts pflow, sums, here documents, redirections, arrays and quoted texts. Repetitions are bounded where a hostile text
could make the search take very long.
"""

_INNER = re.compile(r"\$\([^()]*|`[^`]*`?")
_CASE = re.compile(r"(?:\bin|;;)\s+\(?[^\s()|;&]+(?:[ \t]*\|[ \t]*[^\s()|;&]+)*[ \t]*\)")
_COMMAND = re.compile(
    r"(?:^|[\n;&|()`])(?=[ \t]*(?:(?:if|then|elif|else|while|until|do|[!{]|time|exec|command|nohup|sudo|env|xargs|eval|"
    r"-[\w-]*|\w+\+?=[^\s;&|()`]*)[ \t]+)*([A-Za-z_./][\w./+-]*)(?![^\s;&|)`<>]))"
)
"""The beginning of a command, after words that run another command, such as `sudo`. The group is the command's name."""

_BUILTINS = (
    "fi done esac case for in select function if then elif else while until do time exec command env eval test echo "
    "printf cd read set unset export local return exit shift trap . source true false wait break continue getopts "
    "umask ulimit type alias declare readonly let hash pwd kill jobs pushd popd shopt mapfile typeset builtin"
)
_STARTS = re.compile(r"(?:run|call|Popen|check_output|check_call|system|popen|which|get(?:status)?output|exec[lv]\w*|"
                     r"spawn\w+|posix_spawnp?|create_subprocess_\w+)$")  # fmt: skip


def names_of(text: str, *, is_python: bool = False, is_shell: bool = True) -> Names:
    """Return the names in a file's text: a hint for readers, not a guarantee.

    Python that cannot be parsed has no commands; its fault is shown elsewhere.
    """
    is_shell &= not is_python
    code = _COMMENT.sub("", text)
    variables = {one or other for one, other in _VARIABLE.findall(code)} - {*_ASSIGNED.findall(code * is_shell)}
    env = {each for each in variables if not _SHELLS_OWN.match(each) and not GIVEN.match(each)}
    names = {"env": env, "commands": commands_in(text) if is_shell else set(), "hosts": hosts_in(text)}
    return names | _starts_and_imports(text) if is_python else names


def hosts_in(text: str) -> set[str]:
    return {host.rstrip(".-").lower() for host in _HOST.findall(text)} - {""}


def commands_in(text: str) -> set[str]:
    """Return the first words of commands in a shell script, without the shell's builtins and the script's functions."""
    functions = {one or other for one, other in _FUNCTION.findall(text)}
    return {*_COMMAND.findall(_CASE.sub(";", _NO_COMMAND.sub(_reduce, text)))} - functions - {*_BUILTINS.split()}


def _reduce(found: re.Match[str]) -> str:
    """Return the replacement for a part: the commands inside it, after '' if the part is a word."""
    rest = found["rest"] or "".join(_INNER.findall(found["quoted"] or ""))
    return "''" * bool(found["text"]) + _NO_COMMAND.sub(_reduce, rest)


def _starts_and_imports(text: str) -> Names:
    names: Names = {"commands": set(), "imports": set()}
    try:
        tree = compile(text.removeprefix("\ufeff"), "<node>", "exec", ast.PyCF_ONLY_AST, optimize=0)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return names
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [each.name for each in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            names["imports"] |= {each.partition(".")[0] for each in modules}
        elif isinstance(node, ast.Call) and _STARTS.match(getattr(node.func, "attr", getattr(node.func, "id", ""))):
            first = [*_texts([*getattr(each, "elts", []), each][0] for each in node.args)][:1]
            names["commands"] |= {each for text in first for each in commands_in(text)}
    return names


def _texts(nodes: Iterable[Any]) -> Iterator[str]:
    for node in nodes:
        value = getattr(node, "value", None)
        if isinstance(value, str | bytes):
            yield value if isinstance(value, str) else value.decode("utf-8", "replace")
