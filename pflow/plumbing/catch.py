"""pflow-catch: turn an error document back into a store, on purpose."""

from __future__ import annotations

from pflow import TYPE_CHECKING, errors
from pflow.binding.sources import has
from pflow.errors import PflowError
from pflow.help.usage import Flag, Usage, split_flags
from pflow.paths import meet, parse_path
from pflow.plumbing._tool import HELP_FLAGS, run_tool, set_members, take_store
from pflow.process.streams import write_pieces

if TYPE_CHECKING:
    from pflow.paths import Path
    from pflow.stage.document import Document

USAGE = Usage(
    "pflow-catch",
    "Turn the error document of a stage that failed back into the store as it was before that stage.",
    ("pflow-catch [--set KEY=VALUE | --set KEY:=JSON]…",),
)
USAGE.description = """\
So the pipe goes on, and ends with 0. A store without an error passes as it is. Where what the failed stage was to hand
on is set, the pipe carries that."""
USAGE.flags = [
    Flag(("--set",), "after an error, set a member; KEY:=JSON sets a JSON value", metavar="KEY=VALUE", repeats=True),
    *HELP_FLAGS,
]
USAGE.examples = ("pflow-read-file --path=/nope | pflow-catch --set content='nothing to read' | pflow-get content",)


def work(words: list[str]) -> int:
    flags, others = split_flags(words, USAGE.flags)
    if others:
        raise PflowError(f"cannot take '{others[0]}'", hint=f"--set {others[0]}", exit=errors.USAGE)
    document = take_store().document
    error = document.header.pop("error", None)
    if error is not None:
        members = flags.get("--set", [])
        set_members(document, members)
        _carry(document, [parse_path(member.partition("=")[0].removesuffix(":")) for member in members])
    document.start()
    write_pieces(1, document.pieces())
    return 0


def _carry(document: Document, places: list[Path]) -> None:
    """Where what the failed stage was to hand on was set, the pipe carries that."""
    failed = [step for step in document.header.get("steps", []) if isinstance(step, dict) and "exit" in step]
    carries = failed[-1].get("carries") if failed else None
    if not isinstance(carries, str):
        return
    try:
        place = parse_path(carries)
    except ValueError:
        return
    if any(meet(place, other) for other in places) and has(document, place):
        document.header["last"] = carries


def main() -> None:
    run_tool(USAGE, work)
