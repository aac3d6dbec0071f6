"""pflow find: Find the saved flows nearest to some words, best first.

The words are compared with each flow's name, description, inputs and steps (BM25), without their endings. If you
configure an embedding model, with `llm embed-models default NAME` or PFLOW_EMBEDDING_MODEL, meanings are compared
instead. The model gets each name and description once, and the words each time; its answers are cached. If it fails,
stderr says so, and the words decide.

A number from 0 to 100 after each name says how near the flow is. The exit code is 1 if no flow is near.

\b
pflow save sum-up 'read-file --path=examples/notes.txt => llm --prompt=Summarize' --description='Summarize notes'
pflow find a summary of my notes
pflow find summary --json | jq -r '.[0].name'
"""

from itertools import islice

from pflow.commands._command import COLOR, Command
from pflow.commands._output import print_json, print_table
from pflow.errors import BAD_CONFIG, FAILED, USAGE, PflowError, shorten
from pflow.interface.interface import COUNT, TEXTS, Flag, argument, choice
from pflow.models.embed import configured
from pflow.saved_flows.nearest import nearest, nearest_by_meaning, nearest_by_words, target_of_flow
from pflow.saved_flows.saved import SavedFlow, list_saved, readable
from pflow.text.printable import clean


@Command(
    __doc__,
    Flag("most", "show at most N flows; the default is 5", letter="n", type=COUNT, default=5, metavar="N", least=1),
    Flag(
        "by",
        "compare words, without a model, or meaning, which fails if the embedding model does",
        type=choice("meaning", "words"),
    ),
    Flag("json", "print a JSON list"),
    COLOR,
    argument("WORD…", name="words", type=TEXTS, required=True),
)
def command(words: list[str], most: int, by: str | None, json: bool, color: str) -> None:
    text = " ".join(words)
    if not text.strip():
        raise PflowError("cannot find a flow: the words are missing", hint="pflow list shows all", exit=USAGE)
    saved = {each.name: each for each in readable(list_saved(), "pflow find")}
    found = [(saved[name], round(100 * score)) for name, score in islice(_matches(text, saved, by).items(), most)]
    if not found:
        hint = "pflow list shows all" if saved else "pflow save keeps a flow"
        raise PflowError(f"cannot find a saved flow about '{shorten(text, 60)}'", hint=hint, exit=FAILED)
    if json:
        print_json([_flow_in_json(flow, near) for flow, near in found])
    else:
        print_table([(clean(flow.name), f"{near:3}", clean(flow.description)) for flow, near in found], color)


def _matches(text: str, saved: dict[str, SavedFlow], by: str | None) -> dict[str, float]:
    """Rank the saved flows. Raises PflowError for --by=meaning: 78 without a model, and the errors of the model."""
    abouts = [target_of_flow(each) for each in saved.values()]
    if by == "words":
        return nearest_by_words(text, abouts)
    if by is None:
        return nearest(text, abouts)
    model = configured()
    if model is None:
        hint = "`llm embed-models default NAME` configures one, `llm embed-models` lists them"
        raise PflowError("cannot find by meaning: no embedding model is configured", hint=hint, exit=BAD_CONFIG)
    return nearest_by_meaning(text, abouts, model)


def _flow_in_json(flow: SavedFlow, near: int) -> dict[str, object]:
    return {"name": flow.name, "description": flow.description, "near": near, "file": flow.file}
