"""pflow-set: Start a store, or set members of one.

The pipe carries the same value as before; raw input is carried as 'stdin'. A VALUE is text, also the text
of FILE in KEY@FILE, without the newlines at its end. JSON, including that of FILE in KEY:@FILE, is set as written
(below the top level its numbers are formatted anew). Neither is a template. A KEY may be a path: draft.title=… sets
title in the object draft.

\b
pflow-set -n name=Ada year:=1815
pflow-read-file --path=examples/notes.txt | pflow-set draft.title=Notes | pflow-get draft
"""

from pflow import Any
from pflow.binding.sources import find
from pflow.errors import BAD_STDIN, PflowError
from pflow.help.spec import spec_of_command
from pflow.interface.interface import TEXT, TEXTS, Flag, argument
from pflow.process.streams import write_pieces
from pflow.stage.document import EMPTY, RAW, empty_pipe, take_in
from pflow.store_commands._store_command import FROM, HELP_FLAGS, StoreCommand, place, run_store_command, set_members

SPEC = spec_of_command("pflow-set", __doc__, "pflow-set [-n] [KEY=VALUE | KEY:=JSON | KEY@FILE | KEY:@FILE]…")
SPEC.flags = [
    Flag("no_stdin", "start a new store without reading stdin", letter="n"),
    Flag("allow_empty", "treat an empty pipe as an empty text"),
    Flag("store", "take a store or nothing from stdin: no raw input, and an empty pipe is nothing"),
    Flag("inputs", "take the words as flags of these inputs, and check the store by them", type=TEXT, metavar="JSON"),
    Flag(
        "carry",
        "let the pipe carry the value at PATH from here on; nothing if PATH is empty",
        type=TEXT,
        metavar="PATH",
    ),
    FROM,
    *HELP_FLAGS,
]
SPEC.arguments = [argument("KEY=VALUE", name="member", type=TEXTS)]


def work(flags: dict[str, Any], command: StoreCommand) -> int:
    given, members = None, flags["member"]
    if flags["inputs"] is not None:
        from pflow.store_commands._inputs import GivenInputs  # for exported scripts; it loads the driver's inputs

        given, members = GivenInputs(flags["inputs"], members), []
        flags["store"] = flags["store"] or given.carried
    intake = take_in(no_stdin=flags["no_stdin"], source=flags["from"], allow_empty=flags["allow_empty"])
    if intake.kind == EMPTY and not flags["store"]:
        raise empty_pipe("</dev/null if the script needs no input") if given else empty_pipe()
    if intake.kind == RAW and flags["store"]:
        what = f"cannot use stdin: its {len(intake.data):,} bytes are not a store"
        raise PflowError(what, hint="</dev/null leaves stdin to others", exit=BAD_STDIN)
    document = command.open(intake)
    if intake.ended_with is not None:
        write_pieces(1, [intake.data])
        return intake.ended_with or document.exit
    set_members(document, members)
    if given is not None:
        given.put_into(document)
    if path := flags["carry"]:
        find(document, place(path))
        document.header["last"] = path
    elif path == "":
        document.header.pop("last", None)
    document.start()
    write_pieces(1, document.pieces())
    return document.exit


def main() -> None:
    run_store_command(SPEC, work, prints_store=True)
