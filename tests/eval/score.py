"""Judging a flow by what it leaves: files, what it sends, its answer. Fakes stand in for models, the web and GitHub.

Each file and each answer of a fake holds marks, which tell what fed it, whatever the words around them.
"""

import hashlib
import json
import multiprocessing
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import chdir, suppress
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from posixpath import normpath
from typing import Any

from pflow.binding.sources import find, has
from pflow.catalog import find as catalog
from pflow.driver.inputs import RunInputs
from pflow.engine.context import Context
from pflow.engine.engine import Engine
from pflow.errors import PflowError
from pflow.explain.pipe_form import with_literals
from pflow.flow.flow import FlowSpec
from pflow.flow.ir import flow_to_ir, load_document
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from pflow.node import Node, declared_interface
from pflow.plan.meaning import values
from pflow.stage.document import RAW, Document, Intake

REAL = (
    "analyze choose clean-data copy-file count-words csv-to-json custom-analysis delete-file export-dashboard"
    " extract-links format-json join-text list-files load-csv load-json load-jsonl move-file parse-json read-file"
    " save-csv save-results select shell split-text template write-file"
)
"""Nodes that do no harm in a directory of their own. All others are fakes."""
PROGRAMS = (
    "cat cp cut diff echo egrep false fgrep find grep head jq ls mkdir mv nl paste printf rev rm sort tac tail tee"
    " touch tr true uniq wc"
)
"""Programs that do no harm there either, with paths below it."""
SENDS = "send-mail post-slack claude-code git-commit git-push git-tag git-checkout github-add-comment github-create-*"
THOUGHTS = ("llm", "summarize-text", "summarise-text", "claude-code")
PAGES = ("http", "fetch-url", "fetch-page")
FREE = ("prompt", "system", "criteria", "subject", "style")
"""Reads and params whose words are the model's own, unless the sentence has them: only what feeds them counts."""
APART = ("comments", "diff", "links", "format")
"""Params of fakes that change how much is in an answer, and not whence it comes."""
LANGUAGES = {"de": "German", "en": "English", "es": "Spanish", "fr": "French", "it": "Italian", "nl": "Dutch"}
"""The names of languages, which `translate` knows by their codes, too."""
LOG = "../calls.jsonl"
SECONDS = 600
HOME = os.path.expanduser("~")

Entry = dict[str, Any]


def expected_flows(entry: Entry) -> list[FlowSpec]:
    """The flows of an entry of sentences.json, each pipe syntax."""
    return [parse_pipe([flow], FlowCatalog()) for flow in entry["flows"]]


def is_right(flow: FlowSpec, entry: Entry) -> bool:
    """Return True for one of the flows that are expected, and for one that leaves what one of them leaves."""
    expected = expected_flows(entry)
    if _document(flow) in map(_document, expected):  # run, it would leave the same
        return True
    left = outcome(flow, entry)
    return any(left == outcome(each, entry) for each in expected)


def _document(flow: FlowSpec) -> dict[str, Any] | str:
    """Return the IR of a flow without its name and description, or why it has none."""
    try:
        document = flow_to_ir(with_literals(wire(flow), {}))
        return {member: value for member, value in document.items() if member not in ("name", "description")}
    except PflowError as error:  # an input that is one of several sources
        return str(error)


def outcome(flow: FlowSpec, entry: Entry) -> str:
    """What a flow leaves where all goes well, where tests and judges fail, and where the `absent` files are not there.

    Paths that lead out of the sandbox lead into it, and a command that may do harm is a fake, too.
    """
    document = _document(flow)
    if isinstance(document, str):
        return document
    _node_types()  # here, or each process would find them anew
    for node in document["nodes"]:
        _tame(node)
    worlds = [(True, []), (False, []), *([(True, entry["absent"])] if "absent" in entry else [])]
    context = multiprocessing.get_context("fork")
    made, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send([_leave(document, entry, *world) for world in worlds]))
    process.start()
    sender.close()
    try:
        return json.dumps(made.recv()) if made.poll(SECONDS) else "it does not end"
    finally:
        process.kill()  # a SIGTERM would raise in it, and might be dropped
        process.join()


@cache
def _node_types() -> dict[str, catalog.NodeType]:
    return {kind.name: kind for kind in catalog.list_types() if kind.interface}


def _tame(node: dict[str, Any]) -> None:
    """Keep a step, or each step of a group, to the sandbox."""
    if node.get("type") in REAL.split():
        for values in (node.get("params", {}), node.get("inputs", {})):
            values.update({key: _inside(value) for key, value in values.items()})
    if node.get("type") == "shell" and not _is_harmless(str(node.get("inputs", {}).get("command"))):
        node["type"] = "command"
    for each in node.get("nodes", []):
        _tame(each)


def _inside(value: Any) -> Any:
    """A value whose paths stay below the working directory."""
    if isinstance(value, list):
        return [_inside(each) for each in value]
    text = re.sub(r"(?<![\w.~*$/:}])~?/(?!dev/null)(?=[\w*])", "root/", value) if isinstance(value, str) else value
    return re.sub(r"\.\.(?=/|$)", "up", text) if isinstance(value, str) else value


def _is_harmless(command: str) -> bool:
    """Whether a command is programs of the list alone, whose output depends on their input and files alone."""
    lexer = shlex.shlex(command.replace("\n", " & "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    with suppress(ValueError):
        words = list(lexer)
        programs = [word for sign, word in zip(["|", *words], words, strict=False) if sign in ("|", "||", "&&", ";")]
        has_more = any(re.search(r"`|\$\D|^[/~](?!dev/null)|^-(exec|ok|delete|printf|f$)", word) for word in words)
        has_more |= any(
            set(word) <= set("();<>|&") and word not in ("|", "||", "&&", ";", ">", ">>", "<") for word in words
        )
        tells_more = "ls" in programs and any(word.startswith("-") for word in words)  # sizes, dates
        is_there = all(each in PROGRAMS.split() and shutil.which(each, path=os.defpath) for each in programs)
        return is_there and not has_more and not tells_more
    return False


def _leave(document: dict[str, Any], entry: dict[str, Any], is_good: bool, absent: list[str]) -> list[Any]:
    """Run a flow in a fresh directory, in a process of its own; the files that changed, what was sent, the answer."""
    os.dup2(os.open(os.devnull, os.O_RDWR), 2)
    with tempfile.TemporaryDirectory() as home, chdir(home):
        os.mkdir("work")
        os.chdir("work")
        os.environ.update(HOME=home, PATH=os.defpath.lstrip(":"), LC_ALL="C.UTF-8")
        for name, content in _contents(entry):
            if name not in absent:
                os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
                Path(name).write_bytes(content)
        before = _files()
        for name, kind in {**_node_types(), "command": _node_types()["shell"]}.items():
            if name not in REAL.split():
                catalog._found[name] = _fake(kind, name, entry["sentence"].casefold(), is_good)
        answer, after = _run(document, entry["sentence"]), _files()
        calls = [json.loads(line) for line in Path(LOG).read_text().splitlines()] if Path(LOG).exists() else []
    sent = [call for call in calls if call["is_sent"]]
    changed = [name for name in sorted(before | after) if before.get(name) != after.get(name)]
    files = {name: form(after[name], is_file=True) if name in after else None for name in changed}
    told = json.dumps([sent, files])  # what stands there already is no further answer
    is_told = all(json.dumps(each)[1:-1] in told for each in marks(answer) or [answer])
    return [files, [call["got"] for call in sent], "" if is_told else answer]


def _run(document: dict[str, Any], sentence: str) -> str:
    """Run a flow; its answer, which the pipe carries at its end."""
    context, shared = Context(), dict[str, Any]()
    try:
        inputs = RunInputs(wire(load_document(document, "plan", FlowCatalog()).usable()))
        if re.search("pipe|stdin|comes in", sentence):
            piped = Document({"last": "stdin"})
            shared["stdin"] = f"{mark('stdin', 1)}\n{mark('stdin', 2)}"
            piped.set("stdin", shared["stdin"])
            inputs = inputs.with_pipe(Intake(piped, RAW, shared["stdin"].encode()), allow_empty=False)
        Engine(inputs.wired, context, inputs.params, inputs.fill(shared)).run(shared)
    except Exception as error:  # a flow that fails is as right as one that fails in the same way
        return f"fails with {getattr(error, 'exit', error)}"
    path = context.carried
    return form(find(shared, path)) if path and has(shared, path) else ""


def _contents(entry: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """The files of an entry, and those that its sentence names: of a pattern two, of a directory two of each kind."""
    named = [each.text.rstrip("/") for each in values(entry["sentence"]) if each.kind == "path"]
    encoding = "latin-1" if "latin-1" in entry["sentence"] else "utf-8"
    for name, text in {**dict.fromkeys(named), **entry.get("files", {})}.items():
        is_file = "." in name.lstrip("./") or text is not None
        wanted = [name] if is_file else [f"{name}/*.{suffix}" for suffix in ("txt", "md", "csv", "png", "jpg")]
        for file in [_inside(each).replace("*", letter) for each in wanted for letter in "ab"]:
            yield file, _content(normpath(file), text, encoding)


def _content(file: str, text: str | None, encoding: str) -> bytes:
    """A content with a mark for each {}; by default one of the file's kind."""
    rows = [{"name": "{}", "amount": 2}, {"name": "{}", "amount": 1}]
    kind = {".csv": "name,amount\n{},2\n{},1\n", ".json": json.dumps(rows), ".png": "\x89PNG{}", ".jpg": "\xff\xd8{}"}
    plain = "{} is the first é\n{} is another\n{} is the last\n"
    parts = (kind.get(os.path.splitext(file)[1], plain) if text is None else text).split("{}")
    found = sorted((mark(file, number) for number in range(len(parts) - 1)), reverse=True)
    whole = "".join(part + each for part, each in zip(parts, [*found, ""], strict=True))
    return whole.encode("latin-1" if file.endswith((".png", ".jpg")) else encoding)


def _files() -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in Path().rglob("*") if file.is_file()}


def mark(*parts: Any) -> str:
    return "mk" + hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]


def marks(value: Any) -> list[str]:
    return re.findall("mk[0-9a-f]{8}", _text(value))


def _text(value: Any) -> str:
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    return text if isinstance(text, str) else json.dumps(text, default=lambda data: data.decode("latin-1"))


def form(value: Any, *, is_file: bool = False) -> str:
    """What a value holds: JSON, or the marks of a text in their order; without marks its words."""
    is_lines = isinstance(value, list) and not is_file and all(isinstance(each, str) for each in value)
    text = "\n".join(value) if is_lines else _text(value)
    with suppress(ValueError):
        if text.lstrip()[:1] in ("[", "{"):
            return json.dumps(json.loads(text, parse_int=str, parse_float=str), sort_keys=True)
    words = sorted({word.removeprefix("./") for word in re.findall(r"[^\s\"'|,]+", text.casefold())})
    return " ".join(["<html>"] * ("<html>" in text) + marks(text) or words)


def _fake(kind: catalog.NodeType, name: str, sentence: str, is_good: bool) -> catalog.NodeType:
    facts = {"_pflow_interface": kind.interface, "name": name, "sentence": sentence, "is_good": is_good}
    made = catalog.NodeType(kind.name, catalog.PYTHON, kind.file)
    made._class, made._interface, made._version = type("Fake", (Fake,), facts), kind.interface, "1.0.0"
    return made


class Fake(Node):
    """Stands in for a node: notes what it gets, and answers with marks that tell what fed it."""

    name = sentence = ""
    is_good = True

    def prep(self, shared: Any) -> dict[str, Any]:
        interface = declared_interface(type(self))
        items = {**interface.params, **interface.reads}
        reads = {key: shared[key] if item.required else shared.get(key) for key, item in interface.reads.items()}
        got = {**self.params, **reads}
        return {key: got[key] for key in items if got[key] not in (None, items[key].default)}

    def exec(self, got: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
        said = sorted((key, self._said(key, value)) for key, value in got.items() if key not in APART)
        said = [each for each in said if each[1]]
        if self.name not in THOUGHTS:
            return mark("page" if self.name in PAGES else self.name, said), said
        files = [Path(file).read_bytes() for file in got.get("attachment", []) if Path(file).is_file()]
        fed = [got.get("prompt"), got.get("system"), got.get("text"), *files]
        words = form(fed[2]) if fed[2] and not marks(fed[2]) else ""
        return mark("thought", sorted({*marks(fed)}), words, any(isinstance(each, bytes) for each in fed)), said

    def _said(self, key: str, value: Any) -> str:
        """A value as it counts: its marks; else its text, which may be the model's own unless the sentence has it."""
        if found := marks(value):
            return " ".join(sorted(set(found)))
        text = _text(value).strip().rstrip(";").replace(HOME, "~")  # a plan's inputs have it in full
        if (self.name, key) == ("command", "command"):
            words = re.findall(r"\d+|[^\W\d][\w./:#-]+", text.casefold())
            return " ".join([*text.split()[:1], *sorted(word for word in words if word in self.sentence)])
        text = LANGUAGES.get(text, text) if (self.name, key) == ("translate", "language") else text
        text = (normpath(text) if "/" in text else text).casefold()
        return "" if key in FREE and text not in self.sentence else text

    def post(self, shared: Any, got: dict[str, Any], made: tuple[str, list[tuple[str, str]]]) -> str:
        answer, said = made
        is_sent = any(fnmatch(self.name, each) for each in SENDS.split()) or got.get("method", "GET") != "GET"
        with open(LOG, "a+", encoding="utf-8") as log:
            log.seek(0)
            is_first = f'"name": "{self.name}"' not in log.read()
            call = {"name": self.name, "is_sent": is_sent, "got": [self.name, said], "answer": answer}
            log.write(json.dumps(call) + "\n")
        interface = declared_interface(type(self))
        for name, item in interface.writes.items():
            is_text = item is interface.pipe_write and item.type.name in ("str", "any", "bytes")
            shared[name] = self._answer(answer, got) if is_text else _value(item.type, answer, name.rpartition("_")[2])
        return "failed" if "failed" in interface.actions and is_first and not self.is_good else "default"

    def _answer(self, answer: str, got: dict[str, Any]) -> str | bytes:
        """The text of a fake: an image, a page with links, an issue of its parts, or the mark alone."""
        if self.name == "resize-image":
            return b"\x89PNG" + answer.encode()
        if self.name in PAGES and str(got.get("url")).endswith(".json"):
            return json.dumps([{"name": mark(answer, 1)}, {"name": mark(answer, 2)}])
        if self.name in PAGES:
            links = "" if self.name == "fetch-page" and not got.get("links") else f"https://example.com/{answer[2:]}"
            return f"{'' if self.name == 'fetch-page' else '<html>'} {answer} {links}-1 {links}-2"
        if self.name in ("github-get-issue", "github-get-pr"):
            more = [] if self.params.get("comments") is False else [mark(answer, "comments")]
            return " ".join([mark(answer, "title"), mark(answer, "body"), *more])
        return answer


def _value(type: Any, answer: str, name: str) -> Any:
    """A value of a type, with marks that tell its own place."""
    if type.fields:
        return {key: _value(each, answer, key) for key, each in type.fields.items()}
    text = mark(answer, name)
    lists = [_value(type.items, answer, name)] if type.items else [text]
    plain = {"int": 1, "float": 1.0, "bool": False, "dict": {"name": text}, "bytes": text.encode(), "list": lists}
    return plain.get(type.name, text)
