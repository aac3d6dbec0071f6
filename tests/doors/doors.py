"""The doors: the ways by which a flow and its inputs reach pflow, and what each shows of what leaves it."""

import atexit
import json
import os
import re
import runpy
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from tests.doors.flows import Case, flags_of
from tests.doors.meaning import Outcome

NODES = Path(__file__).parent / "nodes"
BIN = Path(sys.executable).parent
SECRET = "sk-doors-0123456789abcdef"
HANGS = 60
REFUSES = 99
"""The exit code of a door that is a function and refuses the flow."""
FLOW, OUTER, AGAIN = "flow.pflow.json", "outer.pflow.json", "again.pflow.json"
OF_DATA = ("store", "json", "map", "dask", "mcp", "sh")
"""Doors whose values come as data, even if the case is not piped; a script puts its flags into a store."""


class Refused(Exception):
    """The door cannot express the flow, and says why; nothing has run."""


class Unfit(Exception):
    """The door has no way to give this case: it is not drawn for it."""


class Ended(NamedTuple):
    code: int
    stdout: bytes
    stderr: str


class Place:
    """A directory in which a case goes through one door."""

    def __init__(self, case: Case, top: Path) -> None:
        self.case = case
        self.top, self.work, self.log = top, top / "work", top / "ran"
        self.work.mkdir(parents=True)
        outer = {"nodes": [{"id": "inner", "type": f"./{FLOW}"}]}
        for name, flow in {FLOW: case.flow, OUTER: outer, **case.files}.items():
            (self.work / name).write_text(json.dumps(flow))

    def pflow(self, *words: str, stdin: bytes | None = None) -> Ended:
        """Run pflow with these words in a fork of this process."""

        def work() -> None:
            from pflow.commands.main import main

            sys.argv = [str(BIN / "pflow"), *words]
            main()

        return self.forked(work, stdin)

    def run(self, *words: str) -> Ended:
        """Run pflow with these words, and the values of the case as flags or as a store."""
        return self.pflow(*words, *self.flags(), self.form(), stdin=self.stdin())

    def flags(self) -> list[str]:
        return [] if self.case.piped else flags_of(self.case)

    def stdin(self) -> bytes | None:
        return document(self.case) if self.case.piped else None

    def form(self) -> str:
        return "-r" if self.case.raw else "-j"

    def forked(self, work: Callable[[], object], stdin: bytes | None = None) -> Ended:
        files = given, out, err = [self.top / name for name in ("stdin", "stdout", "stderr")]
        given.write_bytes(stdin or b"")
        child = get_context("fork").Process(
            target=self._become, args=(work, [Path(os.devnull), out, err] if stdin is None else files)
        )
        child.start()
        child.join(HANGS)
        if child.exitcode is None:
            os.killpg(child.pid or 0, 9)
            raise AssertionError("it hangs")
        ended = Ended(child.exitcode, out.read_bytes(), err.read_text(errors="replace"))
        assert SECRET not in ended.stdout.decode(errors="replace") + ended.stderr, f"the secret is shown: {ended}"
        return ended

    def _become(self, work: Callable[[], object], files: list[Path]) -> None:
        atexit._clear()
        os.setpgid(0, 0)
        for own, file in enumerate(files):
            os.dup2(os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC if own else os.O_RDONLY), own)
        sys.stdin = open(0, closefd=False)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
        os.chdir(self.work)
        homes = {f"XDG_{name}_HOME": str(self.top / name.lower()) for name in ("STATE", "DATA", "CONFIG")}
        os.environ.update(homes, HOME=str(self.top))
        work()

    def about(self) -> dict[str, Any]:
        """Return how often each step ran, and what steps have written."""
        ran = Counter(self.log.read_text().split()) if self.log.exists() else Counter[str]()
        found = [path for path in self.work.rglob("*.txt") if path.is_file()]
        return {"ran": ran, "files": {str(path.relative_to(self.work)): path.read_text() for path in sorted(found)}}

    def hash(self) -> str | None:
        """Return the flow hash of the newest run; None if there is none."""
        found = sorted((self.top / "state" / "pflow" / "runs").glob("*/snapshot.json"))
        return str(json.loads(found[-1].read_text())["flow_hash"]) if found else None

    def outcome(self, ended: Ended, *, hash: bool = True, form: str = "") -> Outcome:
        """Read what was printed: a document, or what the pipe carries."""
        about = {**self.about(), "hash": self.hash() if hash else None}
        if (form or self.form()) == "-r":
            raw = ended.stdout if ended.code == 0 else None
            return Outcome(ended.code, said(ended.stderr) if ended.code else None, raw=raw, **about)
        try:
            store = json.loads(ended.stdout)
        except ValueError:
            return Outcome(ended.code, f"NO DOCUMENT: {ended.stdout[:80]!r} {ended.stderr[-300:]}", **about)
        header = store.pop("$pflow")
        if "error" in header:
            return Outcome(ended.code, header["error"]["message"], **about)
        carried, last = [store], header.get("last", "")
        for key in last.split("/" if "/" in last else "."):
            carried = [each[key] for each in carried if isinstance(each, dict) and key in each]
        store.pop("stdin", None)
        names = self.case.flow.get("outputs")
        shown = {"store": store} if names is None else {"outputs": {key: store.get(key, "ABSENT") for key in names}}
        return Outcome(ended.code, carried=carried if header else None, **shown, **about)

    def made(self, *words: str) -> bytes:
        """Export, import or save. Raises Refused."""
        ended = self.pflow(*words)
        if ended.code:
            assert not self.log.exists(), f"refused, but it ran: {ended.stderr}"
            raise Refused(said(ended.stderr))
        return ended.stdout


def said(stderr: str) -> str:
    """Return the error in what pflow printed, without its program and step."""
    lines = [line for line in stderr.splitlines() if line.startswith("pflow") and "warning:" not in line]
    return re.sub(r"^pflow[\w .-]*: ([\w./-]+ \([^)]*\): )?", "", lines[-1]) if lines else stderr[-200:]


def tell(store: dict[str, Any], exit: int = 0, message: str = "") -> NoReturn:
    """Print what a function has returned or raised, as a document, and end as a program does."""
    print(json.dumps({"$pflow": {"error": {"message": message}} if exit else {}, **store}))
    sys.exit(exit)


def document(case: Case) -> bytes:
    return json.dumps({"$pflow": {"v": 1}, **case.values}).encode()


def pipe_input(case: Case) -> str:
    """Return the input that takes what the pipe carries."""
    return next((name for name, each in case.flow.get("inputs", {}).items() if each.get("pipe")), "")


def typed_by(door: str, case: Case) -> set[str]:
    """Return the values of a case that a person writes, as flags or in Python."""
    if door in OF_DATA or (case.piped and door not in ("file", "function", "bytes")):
        return set()
    return {*case.values} - ({pipe_input(case)} if door == "bytes" else set[str]())


def by_file(place: Place) -> Outcome:
    return place.outcome(place.pflow("run", FLOW, *flags_of(place.case), place.form()))


def by_store(place: Place) -> Outcome:
    return place.outcome(place.pflow("run", FLOW, place.form(), stdin=document(place.case)))


def by_json(place: Place) -> Outcome:
    if pipe_input(place.case):
        raise Unfit("the whole object is carried, and goes to the input that the pipe fills")
    data = json.dumps(place.case.values).encode()
    return place.outcome(place.pflow("run", FLOW, "--from=json", place.form(), stdin=data))


def by_bytes(place: Place) -> Outcome:
    name = pipe_input(place.case)
    value = place.case.values.get(name)
    kinds = {"int": (int,), "float": (int, float)}.get(place.case.flow["inputs"][name]["type"], ()) if name else ()
    if type(value) in kinds:  # the text of a number that does not fit is refused in words of its own
        value = str(value)
    if not isinstance(value, str) or not value:
        raise Unfit("nothing for the pipe")
    rest = [word for word in flags_of(place.case) if not word.startswith((f"--{name}=", f"--{name}:="))]
    return place.outcome(place.pflow("run", FLOW, *rest, place.form(), stdin=value.encode()))


def by_command(place: Place) -> Outcome:
    place.made("save", "the-flow", FLOW, "--description=x")
    return place.outcome(place.run("the-flow"))


def by_pipe(place: Place) -> Outcome:
    text = place.made("export", "--to=pipe", FLOW).decode().removesuffix("\n")
    return place.outcome(place.run("run", text), hash=False)


def by_python(place: Place) -> Outcome:
    place.made("export", "--to=python", FLOW, "-o", "flow.py")

    def work() -> None:
        sys.argv = ["flow.py", *place.flags(), place.form()]
        runpy.run_path("flow.py", run_name="__main__")

    return place.outcome(place.forked(work, place.stdin()))


def by_sh(place: Place) -> Outcome:
    place.made("export", "--to=sh", FLOW, "-o", "flow.sh")
    if place.case.raw:
        raise Unfit("a script prints its document")
    words = ["sh", "flow.sh", *place.flags()]
    return place.outcome(place.forked(lambda: os.execvp("sh", words), place.stdin()), hash=False)


def by_python_import(place: Place) -> Outcome:
    return imported(place, "python", "flow.py")


def by_sh_import(place: Place) -> Outcome:
    return imported(place, "sh", "flow.sh")


def imported(place: Place, language: str, file: str) -> Outcome:
    """Run the flow of its exported script, which may be refused; but what is exported can be imported."""
    place.made("export", f"--to={language}", FLOW, "-o", file)
    ended = place.pflow("import", file, "-o", AGAIN)
    assert ended.code == 0, f"import: {said(ended.stderr)}"
    return place.outcome(place.run("run", AGAIN), hash=language != "sh")


def by_function(place: Place) -> Outcome:
    def work() -> None:
        import pflow

        try:
            tell(pflow.run(json.loads(Path(FLOW).read_text()), **place.case.values))
        except pflow.PflowError as error:
            tell({}, error.exit, error.message)

    return place.outcome(place.forked(work), hash=False, form="-j")


def by_map(place: Place, *more: str) -> Outcome:
    if not place.case.values:
        raise Unfit("an item gives nothing")
    item = json.dumps(place.case.values).encode()
    ended = place.pflow("map", FLOW, "--format=record", "--progress=none", *more, stdin=item)
    try:
        row = json.loads(ended.stdout)
    except ValueError:
        return Outcome(ended.code, said(ended.stderr), **place.about())
    # a row has the step before the message, and the hint behind it
    message = re.sub(r"^[\w/.-]+: (?=cannot|item |')| \([^()]*\)$", "", row["error"] or "")
    return Outcome(row["exit"], message, outputs=row["outputs"], **place.about())


def by_dask(place: Place) -> Outcome:
    return by_map(place, "--executor=dask", f"--scheduler={os.environ['SCHEDULER']}")


def by_mcp(place: Place) -> Outcome:
    place.made("save", "the-flow", FLOW, "--description=x")

    def work() -> None:
        import anyio

        from pflow.mcp.server.calls import ToolCalls
        from pflow.mcp.server.tools import OfferedTools

        refuse = partial(tell, {}, REFUSES)
        offered_tools = OfferedTools(["flow:the-flow"], is_all=True, read_only=False, reserved=[], say=refuse)
        offered_tools.tools()
        calls = ToolCalls(offered_tools, {}, lambda line: None)
        result = anyio.run(calls.call, "the-flow", place.case.values, None)
        error = (result.meta or {}).get("pflow/error", {})
        tell(result.structured_content or {}, error.get("exit", 0), error.get("message", ""))

    outcome = place.outcome(place.forked(work), form="-j")
    if outcome.exit == REFUSES:
        raise Refused(outcome.message)
    return outcome._replace(store=None)  # it shows what is declared


def by_subflow(place: Place) -> Outcome:
    outcome = place.outcome(place.run("run", OUTER), hash=False)
    return outcome._replace(store=None)  # without outputs it hands on what it carries


def by_resume(place: Place) -> Outcome:
    """Kill the run at a step, and resume it."""
    halt = place.top / "halt"
    halt.write_text(place.case.halt)
    ended = place.run("run", FLOW)
    if ended.code == -9:
        ended = place.pflow("resume", "last", place.form())
    return place.outcome(ended)


def by_replay(place: Place) -> Outcome:
    ended = place.run("run", FLOW)
    if place.hash() is None:  # it never began
        return place.outcome(ended)
    place.log.unlink(missing_ok=True)
    for name in place.about()["files"]:
        (place.work / name).unlink()
    return place.outcome(place.pflow("replay", "last", place.form()))


DOORS: dict[str, Callable[[Place], Outcome]] = {
    name[3:].replace("_", "-"): door for name, door in [*vars().items()] if name.startswith("by_")
}


def go(name: str, case: Case, top: Path) -> Outcome:
    """Take a case through a door. Raises Refused, Unfit, AssertionError."""
    shutil.rmtree(top, ignore_errors=True)
    try:
        return DOORS[name](Place(case, top))
    finally:
        shutil.rmtree(top, ignore_errors=True)
