"""pflow doctor: Find what is missing or broken in this installation.

It examines Python and pflow's requirements, llm with its plugins and settings, the default model and its key, your
prices, the man pages and completions, your own nodes, the installed packs, and the directory of runs: its size, and
that only you can read it.

Each line is ok, advice (something can be added) or broken. The commands it suggests survive an upgrade: uv tool install
with --with, pipx inject, or pip install. It shows no keys, changes nothing, asks no model and runs no node. It loads
the plugins of llm, and starts each shell, without a terminal and for 5 s at most, to ask if it completes pflow-llm.

The exit code is 1 if something is broken, else 0; advice does not count.

\b
pflow doctor
pflow doctor --json | jq -r '.findings[] | select(.state == "broken") | .todo'
"""

from pflow.commands._command import Command
from pflow.commands._output import print_json, print_text
from pflow.errors import FAILED, OK
from pflow.interface.interface import Flag
from pflow.process.streams import Diverted
from pflow.setup.doctor import ADVICE, BROKEN, WELL, Diagnosis, examine
from pflow.terminal.columns import colour_of
from pflow.text.printable import clean


@Command(__doc__, Flag("json", "print one JSON document: ok, and findings with about, state, text and todo"))
def command(json: bool) -> int:
    with Diverted():  # llm's plugins may print when they are loaded
        lines = list(examine())
    is_ok = all(line.state != BROKEN for line in lines)
    if json:
        print_json({"ok": is_ok, "findings": [line._asdict() for line in lines]})
    else:
        _print(lines)
    return OK if is_ok else FAILED


def _print(lines: list[Diagnosis]) -> None:
    colour = colour_of(1)
    paint = {WELL: colour.good, ADVICE: colour.warning, BROKEN: colour.fault}
    text = ""
    for line in lines:
        about, state = colour.name(f"{line.about:8}"), paint[line.state](f"{line.state:8}")
        text += f"{about}{state}{clean('; '.join(filter(None, line[2:])))}\n"
    print_text(text)
