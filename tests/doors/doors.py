"""The doors: the ways by which a flow and its inputs reach pflow, and what each shows of what leaves it."""

import atexit
import json
import os
import re
import runpy
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from tests.doors.flows import Case, flags_of
from tests.doors.meaning import Outcome

NODES = Path(__file__).parent / "nodes"
BIN = Path(sys.executable).parent
SECRET = "sk-doors-0123456789abcdef"
HANGS = 60
FLOW = "flow.pflow.json"
BUG, REFUSES = 70, -1
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
        self.top = top
        self.work = top / "work"
        self.work.mkdir(parents=True)
        self.log = top / "ran"
        for name, flow in {FLOW: case.flow, **case.files}.items():
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

    def forked(self, work: Callable[[], object], stdin: bytes | None = None) -> Ended:
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write(stdin or b"")
            given.seek(0)
            null = os.open(os.devnull, os.O_RDONLY)
            pid = os.fork()
            if pid == 0:
                self._become(work, null if stdin is None else given.fileno(), out.fileno(), err.fileno())
            os.close(null)
            code = _wait(pid)
            out.seek(0), err.seek(0)
            ended = Ended(code, out.read(), err.read().decode(errors="replace"))
            assert SECRET not in ended.stdout.decode(errors="replace") + ended.stderr, f"the secret is shown: {ended}"
            return ended

    def _become(self, work: Callable[[], object], *files: int) -> NoReturn:
        atexit._clear()
        try:
            os.setpgid(0, 0)
            for own, fd in enumerate(files):
                os.dup2(fd, own)
            sys.stdin = open(0, closefd=False)
            sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
            os.chdir(self.work)
            os.environ["HOME"] = str(self.top)
            for name in ("STATE", "DATA", "CONFIG"):
                os.environ[f"XDG_{name}_HOME"] = str(self.top / name.lower())
            work()
            sys.stdout.flush()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(BUG)

    def about(self) -> dict[str, Any]:
        """Return how often each step ran, and what steps have written."""
        ran = Counter(self.log.read_text().split()) if self.log.exists() else Counter[str]()
        found = [path for path in self.work.rglob("*.txt") if path.is_file()]
        return {"ran": ran, "files": {str(path.relative_to(self.work)): path.read_text() for path in sorted(found)}}

    def hash(self) -> str | None:
        """Return the flow hash of the newest run; None if there is none."""
        found = sorted((self.top / "state" / "pflow" / "runs").glob("*/snapshot.json"))
        return str(json.loads(found[-1].read_text())["flow_hash"]) if found else None

    def form(self) -> str:
        return "-r" if self.case.raw else "-j"

    def outcome(self, ended: Ended, *, hash: bool = True) -> Outcome:
        """Read what pflow printed: a document, or what the pipe carries."""
        about = {**self.about(), "hash": self.hash() if hash else None}
        if self.case.raw:
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
        return Outcome(ended.code, carried=carried, **self._shown(store), **about)

    def told(self, ended: Ended, *, hash: str | None = None) -> Outcome:
        """Read what a function has returned. Raises Refused."""
        try:
            code, message, store = json.loads(ended.stdout)
        except ValueError:
            return Outcome(BUG, f"NO RESULT: {ended.stderr[-300:]}")
        if code == REFUSES:
            raise Refused(message)
        shown = {"message": message} if code else self._shown(store)
        return Outcome(code, hash=hash, **shown, **self.about())

    def _shown(self, store: dict[str, Any]) -> dict[str, Any]:
        names = self.case.flow.get("outputs")
        return {"store": store} if names is None else {"outputs": {key: store.get(key, "ABSENT") for key in names}}

    def made(self, *words: str) -> bytes:
        """Export, import or save. Raises Refused."""
        ended = self.pflow(*words)
        if ended.code:
            assert not self.log.exists(), f"refused, but it ran: {ended.stderr}"
            raise Refused(said(ended.stderr))
        return ended.stdout


def _wait(pid: int) -> int:
    until, pause = time.monotonic() + HANGS, 0.001
    while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
        if time.monotonic() > until:
            os.killpg(pid, 9)
            os.waitpid(pid, 0)
            raise AssertionError("it hangs")
        time.sleep(pause := min(pause * 1.5, 0.02))
    return os.waitstatus_to_exitcode(ended[1])


def said(stderr: str) -> str:
    """Return the error in what pflow printed, without its program and step."""
    lines = [line for line in stderr.splitlines() if line.startswith("pflow") and "warning:" not in line]
    return re.sub(r"^pflow[\w .-]*: ([\w./-]+ \([^)]*\): )?", "", lines[-1]) if lines else stderr[-200:]


def tell(exit: int, message: str, value: Any) -> None:
    """Print what a function has returned, for Place.told."""
    print(json.dumps([exit, message, value]))


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
    if type(value) is int and place.case.flow["inputs"][name]["type"] == "int":
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


def by_python_import(place: Place) -> Outcome:
    place.made("export", "--to=python", FLOW, "-o", "flow.py")
    place.made("import", "flow.py", "-o", "again.pflow.json")
    return place.outcome(place.run("run", "again.pflow.json"))


def by_function(place: Place) -> Outcome:
    def work() -> None:
        import pflow

        try:
            tell(0, "", pflow.run(json.loads(Path(FLOW).read_text()), **place.case.values))
        except pflow.PflowError as error:
            tell(error.exit, error.message, None)

    return place.told(place.forked(work))


def by_sh(place: Place) -> Outcome:
    place.made("export", "--to=sh", FLOW, "-o", "flow.sh")
    if place.case.raw:
        raise Unfit("a script prints its document")
    words = ["sh", "flow.sh", *place.flags()]
    return place.outcome(place.forked(lambda: os.execvp("sh", words), place.stdin()), hash=False)


def by_sh_import(place: Place) -> Outcome:
    place.made("export", "--to=sh", FLOW, "-o", "flow.sh")
    if (imported := place.pflow("import", "flow.sh", "-o", "again.pflow.json")).code:
        raise AssertionError(f"import: {said(imported.stderr)}")
    return place.outcome(place.run("run", "again.pflow.json"), hash=False)


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
        from pflow.mcp.server.catalogue import Catalogue

        refusals: list[str] = []
        only = ["flow:the-flow"]
        catalogue = Catalogue(only, is_all=True, read_only=False, reserved=[], say=refusals.append)
        if not catalogue.tools():
            return tell(REFUSES, refusals[0], None)
        calls = ToolCalls(catalogue, {}, lambda line: None)
        result = anyio.run(calls.call, "the-flow", place.case.values, None)
        error = (result.meta or {}).get("pflow/error", {})
        return tell(error.get("exit", 0), error.get("message", ""), result.structured_content)

    outcome = place.told(place.forked(work), hash=place.hash())
    return outcome._replace(store=None)  # it shows what is declared


def by_subflow(place: Place) -> Outcome:
    outer = {"nodes": [{"id": "inner", "type": f"./{FLOW}"}]}
    (place.work / "outer.pflow.json").write_text(json.dumps(outer))
    outcome = place.outcome(place.run("run", "outer.pflow.json"), hash=False)
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
