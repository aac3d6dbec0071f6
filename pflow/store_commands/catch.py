"""pflow-catch: Turn an error document back into a store.

The document becomes the store before the stage that failed. The pipe goes on, and ends with 0. The store of a flow that
finished with failures stays as it is. A store without an error passes unchanged. If --set sets the key that the
failed stage should have passed on, the pipe carries that key.

\b
pflow-read-file --path=/nope | pflow-catch --set content='nothing to read' | pflow-get content
"""

from pflow import Any
from pflow.help.spec import spec_of_command
from pflow.interface.interface import TEXTS, Flag
from pflow.process.streams import write_pieces
from pflow.store_commands._store_command import HELP_FLAGS, StoreCommand, run_store_command, set_members, take_store
from pflow.values.paths import write_path

_SET = "after an error, set a member: KEY=VALUE, KEY:=JSON, KEY@FILE or KEY:@FILE, as pflow-set does"
SPEC = spec_of_command("pflow-catch", __doc__, "pflow-catch [--set KEY=VALUE]…")
SPEC.flags = [
    Flag("set", _SET, type=TEXTS, metavar="KEY=VALUE"),
    *HELP_FLAGS,
]


def work(values: dict[str, Any], command: StoreCommand) -> int:
    intake = take_store("auto")
    if intake.ended_with == 0:
        write_pieces(1, [intake.data])
        return 0
    document = command.open(intake)
    document.header.pop("failed", None)
    error = document.header.pop("error", None)
    if error is not None:
        places = set_members(document, values["set"])
        failed = [step for step in document.header.get("steps", []) if isinstance(step, dict) and "exit" in step]
        carries = str(failed[-1].get("carries")) if failed else ""
        if carries in map(write_path, places):  # later stages expect the key of the failed stage
            document.header["last"] = carries
    document.start()
    write_pieces(1, document.pieces())
    return 0


def main() -> None:
    run_store_command(SPEC, work, prints_store=True)
