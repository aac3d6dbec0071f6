"""The llm node: ask a language model."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import BAD_CONFIG, MISSING, USAGE, PflowError
from pflow.node import Any, Node, Shared

if TYPE_CHECKING:
    from pflow.models.ask import ModelAnswer, ModelRequest


class Llm(Node):
    """Ask a language model, through the llm library and the providers of its plugins.

    The text is sent first, then an empty line and the prompt. Bytes are sent as an attachment, and so are a PDF and, if
    the model accepts it, an SVG. Without --model and PFLOW_MODEL it uses llm's default if that was chosen or has a key,
    else the newest local model. --model=./FILE.gguf asks a file, --model='http://HOST/v1#NAME' a server.

    An answer that reached its token limit still counts, with a warning on stderr, and is not cached. Reasoning is taken
    out. An answer without text fails: 65 if the tokens went into reasoning or it calls a tool, else 75;
    --allow-no-answer takes it. The small model writes a text of at most 200 tokens unless --max-tokens sets another
    limit.

    With a schema the answer is a value: the whole answer, or what stands in a Markdown fence or by itself among words.
    If no value in it fits, the model is asked once more, with the schema and the reason in the prompt; `usage` counts
    both `calls`. If that does not fit either, it is bad data (65), and each of --retries asks once more.

    --continue and --conversation continue a conversation of `llm`, `llm chat` or pflow-llm in llm's log, with its
    model unless --model or PFLOW_MODEL names another; in an empty log --continue begins one, with a warning. Their
    answers are logged too, unless --no-log or `llm logs off` says otherwise. An answer that cannot be logged is
    kept, with a warning.

    Interface:
    - Reads: shared["prompt"]: str = null [own] [word]  # the prompt
    - Reads: shared["text"]: any = null [pipe]  # the input: text is sent before the prompt, bytes are attached
    - Writes: shared["response"]: any [pipe]  # the answer: a text, or with a schema a value
    - Writes: shared["usage"]: dict{model: str, input: int, output: int, cost: float, conversation: str, calls: int}
    - Params: model: str = null [short m] [env PFLOW_MODEL]  # the model: an ID, alias, GGUF file or address
    - Params: system: str = null [short s]  # the system prompt
    - Params: temperature: float = null  # how freely the model chooses its words
    - Params: max_tokens: int = null [positive]  # the maximum number of tokens in the answer
    - Params: schema: any = null [verbatim] [schema]  # the answer's schema: JSON, short ('name, amount int') or a file
    - Params: schema_multi: any = null [verbatim] [schema]  # the schema of each of any number of `items`
    - Params: attachment: list[path] = [] [short a]  # a file or URL to attach
    - Params: at: list[str] = [] [flag attachment_type] [verbatim] [pairs] [types]  # PATH=TYPE, attached as that type
    - Params: continue: bool = false [short c]  # continue the last conversation in llm's log
    - Params: conversation: str = null [flag cid]  # continue the conversation with this ID
    - Params: log: bool = null [env PFLOW_LLM_LOG]  # record question and answer in llm's log; --no-log: do not
    - Params: allow_empty: bool = false  # ask even if the text, or all that a template takes, is empty
    - Params: allow_no_answer: bool = false  # take an answer without text as an empty text
    - Params: option: list[str] = [] [short o] [pairs]  # NAME=VALUE, another option; stream=false turns streams off
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

    waits = tells_budget = True

    @staticmethod
    def warm() -> None:
        """Do the slow imports early; exec reports their failures."""
        from pflow.models import ask, choose  # noqa: F401

        choose.warm()

    def cache_parts(self, reads: Shared) -> dict[str, Any]:
        """Return the model, and everything but the question that decides its answer."""
        from pflow.models.identity import model_parts

        params = self.params
        if params["continue"] or params["conversation"]:
            raise PflowError("cannot cache an answer in a conversation: it depends on earlier ones", exit=BAD_CONFIG)
        return model_parts(params["model"], params["attachment"] or [], self._schema, [*self._types])

    @property
    def _schema(self) -> Any:
        if self.params["schema"] is not None and self.params["schema_multi"] is not None:
            raise PflowError("cannot take both --schema and --schema-multi", hint="choose one", exit=USAGE)
        return self.params["schema" if self.params["schema_multi"] is None else "schema_multi"]

    @property
    def _types(self) -> dict[str, str]:
        from pflow.text.naming import read_types

        return read_types("--at", self.params["at"] or [])

    def looks_at(self, reads: Shared) -> list[str]:
        """Return the schema's file, and those of --at."""
        from pflow.values.types import names_schema_file

        schema = self._schema
        return [*self._types, *([schema] if isinstance(schema, str) and names_schema_file(schema) else [])]

    def prep(self, shared: Shared) -> ModelRequest:
        from pflow.models.ask import ModelRequest
        from pflow.models.log import is_logged
        from pflow.models.request_form import parse_options

        places, types = self.params["attachment"] or [], self._types
        text = shared.get("text")
        text = text.encode() if "-" in types and isinstance(text, str) else text
        prompt, piped = _question(shared.get("prompt"), text, [*places, *types])
        options = parse_options(self.params, "temperature", "max_tokens")
        return ModelRequest(
            prompt,
            piped=piped,
            places=places,
            types=types,
            system=self.params["system"],
            options=options,
            schema=self._schema,
            is_multi=self.params["schema_multi"] is not None,
            calls=self.calls,
            allows_no_answer=self.params["allow_no_answer"],
            is_logged=is_logged(
                self.params["log"], goes_on=bool(self.params["continue"] or self.params["conversation"])
            ),
        )

    def exec(self, request: ModelRequest) -> ModelAnswer:
        from pflow.models.ask import ask
        from pflow.models.log import open_conversation

        params = self.params
        conversation = open_conversation(params["model"], goes_on=params["continue"], id=params["conversation"])
        return ask(conversation, request, self.emit)

    def post(self, shared: Shared, request: ModelRequest, answer: ModelAnswer) -> None:
        shared["response"] = answer.value
        shared["usage"] = answer.usage
        self.not_kept, self.warning = answer.flaw, answer.warning


def _question(prompt: Any, text: Any, places: list[str]) -> tuple[str, bytes | None]:
    """Return the question as text, and a piped attachment: bytes, a PDF or a drawing."""
    from pflow.models.attach import is_file
    from pflow.values.jsontext import text_of

    piped = text if isinstance(text, bytes) else None
    if isinstance(text, str) and is_file(text):
        piped = text.encode()
    words, asked = "" if piped is not None else text_of(text), text_of(prompt)
    if words and asked:
        words = words.rstrip("\n") + "\n\n"
    words += asked
    if not words and not piped and not places:
        raise PflowError("cannot ask: there is no prompt and no text", hint="--prompt gives one", exit=MISSING)
    return words, piped
