"""Functions for the commands on packs: show a pack, ask for agreement, try its nodes, and describe it in JSON."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pflow.catalog.node_type import MISSING
from pflow.catalog.packs import Pack, installed_sources
from pflow.commands._output import print_table
from pflow.conformance.conduct import try_node
from pflow.errors import DENIED, FAILED, USAGE, PflowError
from pflow.interface.interface import ANYTHING
from pflow.interface.source import plain
from pflow.packs.account import shadows
from pflow.packs.install import Staged, names_taken
from pflow.process.confine import has_landlock
from pflow.terminal.ask import confirm
from pflow.terminal.columns import AUTO, table, terminal_width
from pflow.terminal.messages import say, write_line
from pflow.text.printable import foreign_line

_WORDS = {"reads files": "files", "writes files": "files", "runs commands": "commands"}
"""The words in --allow for effects that have another name."""

ALLOWED = ("network", "files", "commands", ANYTHING)

_ASPECTS = ("reads", "writes", "effects", "env", "secrets", "withheld", "commands", "hosts", "shadows", "fault")


def show(staged: Sequence[Staged], *, on_stderr: bool) -> None:
    """Print packs and what they declare, a block for each node and flow; on stderr if stdout gets JSON."""
    rows = [row for each in staged for row in _rows(each)]
    if on_stderr:
        write_line("\n".join(table(rows, terminal_width(), indent=0)))
    else:
        print_table(rows, AUTO)
        sys.stdout.flush()


def _rows(staged: Staged) -> Iterator[tuple[str, str, str]]:
    pack = staged.pack
    where = f"{pack.version} from {pack.address}" + f"#{pack.directory}" * bool(pack.directory)
    yield pack.name, "pack", foreign_line(where)
    for entry in _entries(pack):
        none = "none (it declares no interface)" if entry["open"] and entry["kind"] == "node" else "none"
        yield entry["name"], entry["kind"], foreign_line(f"{entry['version']} {entry['summary']}")
        for aspect, value in [(each, entry[each]) for each in _ASPECTS]:
            texts = [f"{key}: {type}" for key, type in value.items()] if isinstance(value, dict) else value
            text = texts if isinstance(texts, str) else ", ".join(texts)
            if text or aspect == "effects":
                yield "", aspect, text or none


def declared_by(pack: Pack) -> dict[str, dict[str, Any]]:
    """Return the declaration of each node and flow of a pack by its path, nodes first."""
    files = sorted(pack.files.items(), key=lambda item: item[0].startswith("flows/"))
    found = {path: about.get("declares") or {} for path, about in files}
    return {path: declared for path, declared in found.items() if {"kind", "name"} <= declared.keys()}


def _entries(pack: Pack) -> list[dict[str, Any]]:
    """Return the account of each node and flow of a pack."""
    declared = declared_by(pack)
    there = shadows(declared, pack.name)
    return [{"path": path, **about, "shadows": there.get(about["name"], [])} for path, about in declared.items()]


def allowed_words(allow: Iterable[str]) -> set[str]:
    """Return the words of --allow=network,files. Raises PflowError (2) for one that is unknown."""
    words = {word for each in allow for word in each.split(",")}
    if unknown := words - {*ALLOWED}:
        hint = f"it takes {', '.join(ALLOWED)}"
        raise PflowError(f"cannot allow '{min(unknown)}': --allow does not know it", hint=hint, exit=USAGE)
    return words


def beyond(staged: Sequence[Staged], allowed: set[str]) -> PflowError | None:
    """Return the error (77) if packs have effects that --allow does not name, so that --yes does not install them."""
    found: dict[str, list[str]] = {}
    for entry in [entry for each in staged for entry in declared_by(each.pack).values()]:
        for effect in entry["effects"]:
            if not {_WORDS.get(effect, effect), ANYTHING} & allowed:
                found.setdefault(effect, []).append(entry["name"])
    what = "; ".join(f"{', '.join(names)}: {effect}" for effect, names in found.items())
    hint = f"--yes --allow={','.join(dict.fromkeys(_WORDS.get(effect, effect) for effect in found))} allows it"
    return PflowError(f"cannot install unasked: {what}", hint=hint, exit=DENIED) if found else None


def agree(question: str, refusal: PflowError | None, *, yes: bool) -> None:
    """Ask a person, unless --yes agrees. Raises PflowError: the refusal, 1 for a no, 2 without a terminal.

    Without a terminal, raise the refusal at once, since --yes would only lead to it.
    """
    if yes and refusal is not None:
        raise refusal
    answer = yes or confirm(question)
    if answer is None:
        raise refusal or PflowError("cannot ask whether to do that", hint="--yes does it without asking", exit=USAGE)
    if not answer:
        raise PflowError("nothing is changed", exit=FAILED)


def try_nodes(program: str, staged: Sequence[Staged], *, force: bool) -> int:
    """Leave out nodes and flows whose name another pack has and, unless forced, nodes that fail their tests or loading.

    Report each of them, and return 1 if any is left out. A flow that cannot run is only reported: the missing parts may
    be installed later.
    """
    if not has_landlock():
        say(program, "the nodes are not tried: this kernel has no Landlock, which would confine them")
    for each in staged:
        taken, gone = names_taken(each, installed_sources()), dict[str, str]()
        for path, about in declared_by(each.pack).items():  # nodes first, since a flow fails if its node is left out
            name, is_flow = about["name"], about["kind"] == "flow"
            if why := taken.get(path, ""):
                say(program, f"{'flow:' * is_flow}{name} is left out: {why}")
            elif is_flow:
                lost = [gone[plain(type)] for type in about.get("steps", ()) if plain(type) in gone]
                if lost or about["fault"]:
                    what = f"needs {', '.join(lost)}, which is left out" if lost else f"cannot run: {about['fault']}"
                    say(program, f"flow:{name} {what}")
            else:
                why = _try_node(program, f"{each.folder}/{path}", about, force=force)
            if why:
                each.left_out[path] = why
                del each.pack.files[path]
                gone[plain(name)] = name
        if not declared_by(each.pack):
            raise PflowError(f"cannot install '{each.pack.name}': all of it is left out", exit=FAILED)
    return int(any(each.left_out for each in staged))


def _try_node(program: str, file: str, about: dict[str, Any], *, force: bool) -> str:
    """Test a node and report the result; return the reason if it is left out, else ""."""
    if fault := about["fault"]:
        is_kept = force or fault.startswith(MISSING)  # the user may install the interpreter later
        say(program, f"{about['name']} cannot be used: {fault}" + "; it is left out" * (not is_kept))
        return "" if is_kept else str(fault)
    if not has_landlock():
        return ""
    verdicts = try_node(file)
    faults = "; ".join(foreign_line(f"{each.check.id}: {each.failed.came}") for each in verdicts if each.failed)
    doubts = "; ".join({each.why: "" for each in verdicts if each.why})
    what = f"does not do as it says: {faults}" if faults else "does as it says" + f" ({doubts})" * bool(doubts)
    say(program, f"{about['name']} {what}" + "; it is left out" * bool(faults and not force))
    return "" if force else faults


def document(staged: Staged, **more: Any) -> dict[str, Any]:
    """Return the document about a pack for --json."""
    pack, members = staged.pack, staged.pack.members()
    del members["files"]
    entries = _entries(pack)
    listed = {f"{kind}s": [each for each in entries if each["kind"] == kind] for kind in ("node", "flow")}
    return {"name": pack.name, "version": pack.version, **members, **listed, "left_out": staged.left_out, **more}
