"""The llm node: ask a language model."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import BAD_CONFIG, MISSING, PflowError
from pflow.node import Any, Node, Shared

if TYPE_CHECKING:
    from pflow.models.ask import Answer, Request


class Llm(Node):
    """Ask a language model, through the llm library: every provider that has a plugin for it works.

    The text comes after the prompt; bytes go along as an attachment, and so does a PDF, and an SVG where the model
    takes it. Without --model and PFLOW_MODEL it asks llm's default where that was chosen or has a key, else the small
    local model that `pflow models get smollm2` brings. A GGUF file is a model too: --model=./FILE.gguf. An answer that
    reached its token limit counts as one, and stderr says so.

    --continue and --conversation go on with what `llm`, `llm chat` or pflow-llm put into llm's log, with the same model
    unless --model or PFLOW_MODEL names another; in an empty log --continue begins a conversation. Their answers are
    logged too, unless --no-log or `llm logs off` says no. One that cannot be logged is handed on all the same, with a
    warning.

    Interface:
    - Reads: shared["prompt"]: str = null [own] [word]  # what to ask
    - Reads: shared["text"]: any = null [pipe]  # what it is about: text after the prompt, bytes as an attachment
    - Writes: shared["response"]: any [pipe]  # the answer: a text, or with a schema the value
    - Writes: shared["usage"]: dict{model: str, input: int, output: int, cost: float, conversation: str}  # what it took
    - Params: model: str = null [short m] [env PFLOW_MODEL]  # which model: an id, an alias or a GGUF file
    - Params: system: str = null [short s]  # the system prompt
    - Params: temperature: float = null  # how freely the model chooses its words
    - Params: max_tokens: int = null  # how long the answer may get
    - Params: schema: any = null [verbatim]  # the answer's schema: JSON, short ('name, amount int') or a file
    - Params: attachment: list[path] = [] [short a]  # a file or URL that goes along
    - Params: continue: bool = false [short c]  # go on with the last conversation of llm's log
    - Params: conversation: str = null [flag cid]  # go on with the conversation of this ID
    - Params: log: bool = null [env PFLOW_LLM_LOG]  # put question and answer into llm's log
    - Params: option: list[str] = [] [short o pair]  # NAME=VALUE, any other option of the model
    - Effects: network
    - Repeats: yes

    Examples:
        pflow-llm --prompt='Name three trees'
        cat examples/notes.txt | pflow-llm 'Summarize' -s 'Be brief' --max-tokens=200
        cat examples/notes.txt | pflow-llm --prompt='A title for this' --retries=2 --timeout=600 -r
        pflow-llm --prompt='Name a tree' --schema='name, height int: in metres'
        pflow-llm --prompt='Name a tree' --option=seed=1 --option=top_p=0.5
        pflow-llm --prompt='Name three trees' --log && pflow-llm --continue --prompt='Name a fourth'
    """

    version = "1.0.0"

    @staticmethod
    def warm() -> None:
        """Do the slow imports early; what goes wrong here goes wrong again, in words, in exec."""
        try:
            from pflow.models import ask, choose  # noqa: F401

            choose.warm()
        except Exception:
            return

    def cache_parts(self, reads: Shared) -> dict[str, Any]:
        """The model that would be asked, and what decides its answers beside the question."""
        from pflow.models.identity import model_parts

        params = self.params
        if params["continue"] or params["conversation"]:
            raise PflowError("cannot cache what comes in a conversation: what was said before counts", exit=BAD_CONFIG)
        return model_parts(params["model"], params["attachment"] or [], params["schema"])

    def prep(self, shared: Shared) -> Request:
        from pflow.models.ask import Request, parse_options
        from pflow.models.log import is_kept

        places = self.params["attachment"] or []
        prompt, piped = _question(shared.get("prompt"), shared.get("text"), places)
        options: dict[str, Any] = parse_options(self.params["option"] or [])
        options |= {name: self.params[name] for name in ("temperature", "max_tokens") if self.params[name] is not None}
        return Request(
            prompt,
            piped=piped,
            places=places,
            system=self.params["system"],
            options=options,
            schema=self.params["schema"],
            is_logged=is_kept(self.params["log"], goes_on=bool(self.params["continue"] or self.params["conversation"])),
        )

    def exec(self, request: Request) -> Answer:
        from pflow.models.ask import ask
        from pflow.models.log import open_conversation

        params = self.params
        conversation = open_conversation(params["model"], goes_on=params["continue"], id=params["conversation"])
        return ask(conversation, request, self.emit)

    def post(self, shared: Shared, request: Request, answer: Answer) -> None:
        shared["response"] = answer.response
        shared["usage"] = answer.usage
        self.not_kept = answer.flaw


def _question(prompt: Any, text: Any, places: list[str]) -> tuple[str, bytes | None]:
    """The words of the question, and what of the text goes with them: bytes, a PDF or a drawing."""
    from pflow.models.media import media_type
    from pflow.values.jsontext import text_of

    piped = text if isinstance(text, bytes) else None
    if isinstance(text, str) and media_type(text) is not None:
        piped = text.encode()
    words = "\n\n".join(filter(None, (text_of(prompt), "" if piped is not None else text_of(text))))
    if not words and not piped and not places:
        raise PflowError("cannot ask: there is no prompt and no text", hint="--prompt gives one", exit=MISSING)
    return words, piped
