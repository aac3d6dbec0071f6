"""pflow-set: start a store, or set members of one."""

from __future__ import annotations

from pflow.plumbing._tool import Tool, set_members, source_in, split_flags
from pflow.stage.intake import EMPTY, empty_pipe, take_in
from pflow.stage.stdout import write_pieces

HELP = """\
Usage: pflow-set [-n] [KEY=VALUE | KEY:=JSON]…

Set members of the store on stdin, or of a new one, and write it. What the pipe carries stays what it was; raw input
is carried as 'stdin'. A VALUE is text, and JSON is set as it is written (in a path, its numbers anew); neither
is a template.

  -n, --no-stdin      read nothing: start a new store
  --allow-empty       take an empty pipe as an empty text
  --from auto|store|text|json   what stdin holds
  --help, --version

A KEY may be a path: draft.title=… sets title in the object draft.
"""
_SWITCHES = {"-n": "no-stdin", "--no-stdin": "no-stdin", "--allow-empty": "allow-empty"}


def work(words: list[str]) -> int:
    flags, members = split_flags(words, _SWITCHES, ("--from",))
    intake = take_in(no_stdin="no-stdin" in flags, source=source_in(flags), allow_empty="allow-empty" in flags)
    if intake.kind == EMPTY:
        raise empty_pipe()
    document = intake.document
    if "error" in document.header:
        write_pieces(1, list(intake.chunks))
        return int(document.header["error"]["exit"])
    set_members(document, members)
    document.start()
    write_pieces(1, document.pieces())
    return 0


def main() -> None:
    Tool("set", HELP, work).main()
