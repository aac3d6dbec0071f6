"""Canaries: a secret stands on no surface, and no data becomes code, markup or a way out, whatever a flow does."""

import base64
import html
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shlex import quote
from typing import Any
from urllib.parse import quote as percent

from pflow.errors import Ignoring
from tests.faults.points import Point, processes, spread
from tests.faults.programs import Ended, run, run_warm
from tests.mcp.client.remote_server import Hostile
from tests.mcp.client.remote_server import Server as HostileServer
from tests.peers.openai_server import OpenAIServer

NEEDS: tuple[str, ...] = ()
WEIGHT = 150

NODE = '''
import logging
import os
import threading

from pflow import Node
from pflow.errors import PflowError


class Tell(Node):
    """Hand a text on, or fail and tell all.

    Interface:
    - Reads: shared["text"]: any [pipe]  # the text
    - Reads: shared["pass"]: str = "" [secret]  # a secret
    - Writes: shared["told"]: any [pipe]  # the text
    - Params: token: str = "" [secret] [env MY_TOKEN]  # another secret
    - Repeats: yes
    """

    def prep(self, shared):
        return shared["text"], shared["pass"]

    def exec(self, given):
        try:
            self.leak(*given)
        except ExceptionGroup:
            logging.getLogger("a library").exception("no %s", given[1])
        other = threading.Thread(target=self.leak, args=given)
        other.start()
        other.join()
        if os.path.exists("fails"):
            raise PflowError(f"no {given[1]} {self.params['token']!r} for {given[0]}", exit=69)

    def leak(self, text, secret):
        secrets = [ValueError(f"not {each!r}\\nbut {each}") for each in (secret, self.params["token"])]
        raise ExceptionGroup(secret, secrets)

    def post(self, shared, given, done):
        shared["told"] = [given, self.params["token"]] if os.path.exists("repeats") else given[0]
'''

FLOW = {
    "pflow": 1,
    "name": "told",
    "inputs": {"text": {"type": "any"}, "pass": {"type": "str"}},
    "nodes": [
        {"id": "tell", "type": "tell", "cache": True},
        {"id": "show", "type": "shell", "repeats": True, "inputs": {"command": 'printf %s "$1"', "args": ["$told"]}},
    ],
    "mappings": {"tell": {"input_mappings": {"text": "text", "pass": "pass"}}},
}

TEXT_SURFACES = {
    "trace": "pflow trace last",
    "store": "pflow trace last --store",
    "runs": "pflow runs",
    "why": "pflow why last tell",
    "item": "pflow why last #0",
    "replay": "pflow replay last --dry-run",
    "check": "pflow check told.pflow.json",
    "explain": "pflow explain told.pflow.json",
    "cache": "pflow cache",
    "diff": "pflow trace last last",
}
JSON_SURFACES = {
    "json": "pflow trace last --json",
    "chrome": "pflow trace last --chrome",
    "otlp": "pflow trace last --otlp",
    "runs-json": "pflow runs --json",
    "why-json": "pflow why last tell --json",
}
PAGES = {"page": "pflow trace last --html", "list": "pflow runs --html"}
"""What shows a run, each a command; of what does not fit it (a map has no store) it says so."""


def surfaces(of: dict[str, str]) -> Iterator[tuple[str, Ended]]:
    for name, line in of.items():
        yield name, run_warm(*line.split(" "))


def prepare() -> None:
    nodes = Path("nodes")
    nodes.mkdir()
    (nodes / "tell.py").write_text(NODE)
    for name in ("traces", "server"):
        Path(name).mkdir()
    os.environ |= {"PFLOW_NODES": str(nodes.absolute()), "PFLOW_TRACE": f"{Path('traces').absolute()}/"}
    Path("told.pflow.json").write_text(json.dumps(FLOW))


def piped(given: dict[str, Any]) -> str:
    return json.dumps({"$pflow": {"v": 1, "by": "a test", "last": next(iter(given))}, **given})


def stage(given: dict[str, Any]) -> Ended:
    return run("pflow", "tell", "-j", input=piped(given))


def flow(given: dict[str, Any], *flags: str) -> Ended:
    return run("pflow", "run", "told.pflow.json", "-j", *flags, input=piped(given))


def kept(given: dict[str, Any]) -> Ended:
    return flow(given, "--keep-store")


def replayed(given: dict[str, Any]) -> Ended:
    flow(given)
    return run("pflow", "replay", "last", "-j", *_again(given), input=piped(given))


def resumed(given: dict[str, Any]) -> Ended:
    Path("fails").touch()
    failed = flow(given)
    assert failed.code == 69, failed
    Path("fails").unlink()
    return run("pflow", "resume", "last", "-j", *_again(given), input=piped(given))


def _again(given: dict[str, Any]) -> list[str]:
    """A secret is given anew, from a file."""
    Path("pass").write_text(given["pass"])
    return ["--pass@pass"]


def failed(given: dict[str, Any]) -> Ended:
    Path("fails").touch()
    stage(given)
    return flow(given)


def mapped(given: dict[str, Any]) -> Ended:
    Path("items").write_text(json.dumps(given) + "\n" + json.dumps({**given, "text": "other"}) + "\n")
    return run(
        "pflow", "map", "told.pflow.json", "items", "--from=jsonl", "--cache", "--format=record", "--ledger=l.db"
    )


def map_failed(given: dict[str, Any]) -> Ended:
    Path("fails").touch()
    return mapped(given)


def map_repeats(given: dict[str, Any]) -> Ended:
    Path("repeats").touch()
    mapped(given)
    return mapped(given)


def batched(given: dict[str, Any]) -> Ended:
    tell = {"id": "tell", "type": "tell", "inputs": {"text": "${at.text}", "pass": "${at.pass}"}}
    batch = {"over": "all", "as": "at", "jobs": 2, "on_error": "keep"}
    ir = {"pflow": 1, "name": "told", "inputs": {"all": {"type": "list"}}, "nodes": [{**tell, "batch": batch}]}
    Path("told.pflow.json").write_text(json.dumps(ir))
    items = [given, {**given, "text": "other"}]
    return run("pflow", "run", "told.pflow.json", "-j", input=piped({"all": items}))


def batch_failed(given: dict[str, Any]) -> Ended:
    Path("fails").touch()
    return batched(given)


ACTS: dict[str, Callable[[dict[str, Any]], Ended]] = {
    each.__name__.replace("_", "-"): each
    for each in (stage, flow, kept, replayed, resumed, failed, mapped, map_failed, map_repeats, batched, batch_failed)
}


def asked(given: dict[str, Any]) -> Ended:
    """Ask a model whose server says the key in its refusal."""
    with OpenAIServer(Path("server")) as server:
        os.environ |= {"LLM_USER_PATH": str(server.llm_user_path), "NO_PROXY": "127.0.0.1"}
        (server.llm_user_path / "keys.json").write_text(json.dumps({"peer": given["pass"]}))
        run("pflow", "map", "llm '$item' -m unauthorized", "-q", "--ledger=l.db", input="Hi\n")
        ended = run("pflow", "run", "llm Hi -m unauthorized --cache", "-n", "-j")
    assert ended.code == 77, ended
    return ended


def added(given: dict[str, Any]) -> Ended:
    """Add a server that tells the header that it got, where the SDK cannot read it; its tools can be read once."""
    with HostileServer(("127.0.0.1", 0), Hostile) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"--url=http://127.0.0.1:{server.server_port}"
        failed, ended = (
            run("pflow", "mcp", "add", way, f"{url}/{way}", "--header=Key: env:MY_TOKEN") for way in ("teller", "told")
        )
        said = [run("pflow", "mcp", act, "told") for act in ("test", "refresh")]
        server.shutdown()
    assert (ended.code, [each.code for each in said]) == (0, [69, 69]), said
    return Ended(0, "", "".join(each.stderr for each in (failed, ended, *said)))


SECRETS = {
    "plain": "canary-4711-xyz",
    "quotes": "can\"ary'4711\\xyz",
    "markup": "canary<4711>&xyz",
    "letters": "canäry-4711-ß",
    "spaces": "canary 4711\txyz",
    "long": "canary" * 40,
}


def forms(secret: str) -> set[str]:
    """List how a secret would look: as it is, in JSON, in a URL, in HTML, in Python and in base64."""
    coded = {base64.b64encode(("x" * pad + secret).encode()).decode()[4:-4] for pad in range(3)}
    spelled = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1]}
    return {*spelled, *coded, html.escape(secret), percent(secret), percent(secret, safe="")}


class Watch(threading.Thread):
    """Notes the words of all processes of a point, while something is done."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seen: set[str] = set()
        self.is_over = False

    def run(self) -> None:
        while not self.is_over:
            for pid in processes(os.environ["FAULT_POINT"]):
                with Ignoring(OSError):  # it has ended
                    self.seen.add(Path(f"/proc/{pid}/cmdline").read_text())
            time.sleep(0.05)


OURS = ("items", "pass", "keys.json")
"""Files that a person has filled with secrets, and that no surface is."""


def secrets(seed: int) -> Iterator[Point]:
    for act_name, act in {**ACTS, "asked": asked, "added": added}.items():
        for name, secret in SECRETS.items():
            if act is added and not (secret.isascii() and secret.isprintable()):
                continue  # no header holds it

            def check(directory: Path, act: Callable[[dict[str, Any]], Ended] = act, secret: str = secret) -> None:
                prepare()
                os.environ["MY_TOKEN"] = secret
                watch = Watch()
                watch.start()
                ended = act({"text": "a text", "pass": secret})
                del os.environ["MY_TOKEN"]
                watch.is_over = True
                shown = {"stdout": _without_own(ended.stdout), "stderr": ended.stderr}
                for surface, said in surfaces({**TEXT_SURFACES, **JSON_SURFACES, **PAGES}):
                    shown[surface] = said.stdout + said.stderr
                shown |= {"arguments": "\n".join(watch.seen)}
                _check_nowhere(secret, shown, directory)

            yield Point(f"canaries/secret/{act_name}/{name}", check)


def _without_own(stdout: str) -> str:
    """Leave out what a document or a row passes on of what it was given: that is the pipe, and no surface."""
    documents = _values(stdout)
    for each in documents:
        for key in ("pass", "all", "item"):
            each.pop(key, None)
    return json.dumps(documents)


def _check_nowhere(secret: str, shown: dict[str, str], directory: Path) -> None:
    wanted = forms(secret)
    for name, text in shown.items():
        found = [each for each in wanted if each in text]
        assert not found, f"{name} has {found[0]!r}: …{text[max(text.index(found[0]) - 200, 0) :][:400]}"
    for file in directory.rglob("*"):
        if file.is_file() and file.name not in OURS:
            data = file.read_bytes()
            assert not any(each.encode() in data for each in wanted), f"{file} has it"


INJECTIONS = {
    "command": "$(touch PWNED)",
    "backticks": "`touch PWNED`",
    "quotes": "'; touch PWNED; '\"; touch PWNED; \"",
    "newline": "a\ntouch PWNED\n#",
    "script": "<script>alert(1)</script>",
    "image": "</script><img src=x onerror=alert(1)>",
    "comment": "--> <script>alert(1)</script> <!--",
    "style": "</style></title></textarea><script>alert(1)</script>",
    "attribute": "\" onmouseover=\"alert(1)\" ' onmouseover='alert(1)' <b id=x>",
    "jinja": "{{ 7 * 7 }}{% raw %}<b id=x>",
    "ansi": "\x1b[2J\x1b]0;PWNED\x07x",
    "c1": "\x9b2J\x9d0;PWNED\x9cx",
    "return": "good\rPWNED\x08\x08",
    "bidi": "\u202egnp.exe\u2066",
    "nul": "a\0touch PWNED",
    "path": "../../PWNED",
    "flag": "--help",
    "template": "${HOME} $text ${tell.told}",
    "store": '{"$pflow":{"v":1,"by":"x"}}',
    "sql": "'); DROP TABLE items; --",
}


def injections(seed: int) -> Iterator[Point]:
    for act_name, act in ACTS.items():
        for name, text in INJECTIONS.items():

            def check(directory: Path, act: Callable[[dict[str, Any]], Ended] = act, text: str = text) -> None:
                prepare()
                ended = act({"text": text, "pass": "unsaid"})
                _check_shown("stderr", ended.stderr)
                if ended.code == 0 and ended.stdout:
                    assert json.dumps(text)[1:-1] in json.dumps(_values(ended.stdout)), f"another text: {ended.stdout}"
                for surface, said in surfaces(TEXT_SURFACES):
                    _check_shown(surface, said.stdout + said.stderr)
                for surface, said in surfaces(JSON_SURFACES):
                    _check_shown(surface, said.stdout + said.stderr)
                    assert not said.stdout or _values(said.stdout), f"{surface} is no JSON"
                for surface, said in surfaces(PAGES):
                    assert said.code == 0 or act is stage, said
                    _check_page(surface, said.stdout, text)
                assert not list(directory.rglob("PWNED*")), "it was executed, or led away"

            yield Point(f"canaries/injection/{act_name}/{name}", check)


def _values(text: str) -> list[Any]:
    """Return a JSON document, or one a line."""
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


CONTROLS = {*map(chr, range(32)), *map(chr, range(127, 160)), "\u202e", "\u2066"} - {"\n", "\t"}


def _check_shown(surface: str, text: str) -> None:
    """See that nothing in a text controls the terminal."""
    found = CONTROLS & {*text}
    assert not found, f"{surface} has {found}: {text!r}"


def _check_page(surface: str, page: str, text: str) -> None:
    """See that data is text in a page, and nothing of it markup."""
    for markup in ("<script>alert", "<img src=x", 'onmouseover="alert', "onmouseover='alert", "<b id=x"):
        assert markup not in page, f"{surface} has {markup}"
    _check_shown(surface, page)
    assert "<" not in text or text not in page, surface


TARGETS = ("sh", "python", "json", "pipe", "mermaid", "dot")


def exports(seed: int) -> Iterator[Point]:
    """A flow with the text in a value, and an export of it, give the same; nothing in it becomes code."""
    for target in TARGETS:
        for name, text in INJECTIONS.items():

            def check(directory: Path, target: str = target, text: str = text) -> None:
                prepare()
                tell = {"id": "tell", "type": "tell", "inputs": {"text": text.replace("$", "$$")}}
                Path("value.pflow.json").write_text(json.dumps({"pflow": 1, "description": text, "nodes": [tell]}))
                wanted = run_warm("pflow", "run", "value.pflow.json", "-n", "-r")
                exported = run_warm("pflow", "export", f"--to={target}", "value.pflow.json")
                _check_shown("stderr", exported.stderr)
                if exported.code == 0:
                    Path("exported").write_text(exported.stdout)
                    ended = run_export(target, exported.stdout)
                    assert ended is None or (ended.code, ended.stdout.strip("\n")) == (0, wanted.stdout.strip("\n")), (
                        ended
                    )
                else:
                    assert exported.code in (1, 65, 78), exported
                assert not list(directory.rglob("PWNED*")), "it was executed, or led away"

            yield Point(f"canaries/export/{target}/{name}", check)


def run_export(target: str, text: str) -> Ended | None:
    if target == "sh":
        return run("sh", "-c", "sh ./exported </dev/null | pflow-get told")
    if target == "python":
        return run("python", "exported", "-n", "-r")
    if target == "json":
        return run("sh", "-c", "pflow run ./exported -n -r")
    if target == "pipe" and "\0" not in text:  # which no word can hold
        return run("sh", "-c", f"pflow run {quote(text.strip())} -n -r")
    return None


def paths(seed: int) -> Iterator[Point]:
    """A text as a name of a file leads nowhere else."""
    for name, text in INJECTIONS.items():

        def check(directory: Path, text: str = text) -> None:
            prepare()
            Path("items").write_text(json.dumps({"name": text}) + "\n")
            ended = run(
                "pflow", "map", "write-file 'out/$name' --content=x", "items", "--from=jsonl", "--format=record"
            )
            assert ended.code in (0, 1), ended
            _check_shown("stderr", ended.stderr)
            found = {each.resolve() for each in directory.rglob("*") if each.is_file() and each.read_bytes() == b"x"}
            assert all(each.parent == Path("out").resolve() for each in found), found
            assert not list(directory.rglob("PWNED")), "it was executed, or led away"

        yield Point(f"canaries/path/{name}", check)


def points(share: int, seed: int) -> Iterator[Point]:
    for name in ("pflow.map.execution", "pflow.commands.trace", "pflow.commands.why"):
        __import__(name)  # once, before the forks
    kinds = [[*kind(seed)] for kind in (secrets, injections, exports, paths)]
    for kind in kinds:
        random.Random(seed).shuffle(kind)
    return spread(share, *kinds)
