"""An exported flow as a command: its inputs as flags, its store on stdout, its failure as one line and an exit code."""

from __future__ import annotations

import os
import stat
import sys

from pflow.binding.given import Given, as_written
from pflow.binding.places import assign, has
from pflow.errors import MISSING, USAGE, PflowError, node_error
from pflow.jsontext import encode
from pflow.types import Type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.export.runtime.flow import Flow, Input


def run_script(flow: Flow) -> None:
    """Run a flow with the flags and the stdin of this process, print its store as JSON, and exit."""
    name = os.path.basename(sys.argv[0])
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))  # flows may stand deep inside one another
    try:
        if "--help" in sys.argv[1:]:
            print(usage(flow, name), end="")
            sys.exit(0)
        values = read_flags(flow, [word for word in sys.argv[1:] if word != "--debug"])
        shared = flow.begin({key: value for key, value in values.items() if key in flow.inputs})
        open_values = {key: value for key, value in values.items() if key not in flow.inputs}
        shared.update(open_values)
        flow.set_open_params(open_values)
        _take_stdin(flow, shared, values)
        _check_inputs(flow, shared, values)
        _run(flow, shared)
    except PflowError as error:
        if "--debug" in sys.argv[1:]:
            import traceback  # which finds the lines of what stands inside this file

            traceback.print_exc()
        print(f"{name}: {error.message}" + (f"; {error.hint}" if error.hint else ""), file=sys.stderr)
        sys.exit(error.exit)
    except KeyboardInterrupt:
        sys.exit(130)


def _run(flow: Flow, shared: dict[str, Any]) -> None:
    """Run it; what its nodes print goes to stderr, so that stdout carries the store alone."""
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        flow.run(shared)
    except PflowError:
        raise
    except Exception as error:
        raise node_error("the flow", error) from error
    finally:
        sys.stdout.flush()
        os.dup2(stdout, 1)
    sys.stdout.buffer.write(encode(flow.results(shared) if flow.outputs else shared) + b"\n")


def read_flags(flow: Flow, words: list[str]) -> dict[str, Any]:
    """The value of each input that `--name=value`, `--name` or `--no-name` gives. Raises PflowError (2)."""
    names = {flag.replace("-", "_"): name for name, needed in flow.inputs.items() for flag in _names(name, needed)}
    switches = {spelt: name for spelt, name in names.items() if flow.inputs[name].type.name == "bool"}
    offs = {f"no_{spelt}": name for spelt, name in switches.items() if f"no_{spelt}" not in names}
    is_open = flow.is_open()
    texts: dict[str, list[str | bool]] = {}
    for word in words:
        flag, equals, text = word.partition("=")
        spelt = flag.removeprefix("--").replace("-", "_")
        name = names.get(spelt) or (None if equals else offs.get(spelt))
        if not flag.startswith("--") or (name is None and not is_open):
            raise PflowError(f"cannot take '{word}': no such flag", hint="--help lists them", exit=USAGE)
        texts.setdefault(name or spelt, []).append(text if equals else spelt not in offs)
    return {name: _value(flow, name, given) for name, given in texts.items()}


def _names(name: str, needed: Input) -> list[str]:
    """Every name of an input's flag."""
    return [name, *needed.flags, *([".".join(needed.read)] if needed.read else [])]


def _value(flow: Flow, name: str, texts: list[str | bool]) -> Any:
    flag = _flag(name)
    type = flow.inputs[name].type if name in flow.inputs else Type("any")
    if texts == [True] and type.name != "bool":
        raise PflowError(f"cannot take {flag}: it needs a value", hint=f"{flag}=…", exit=USAGE)
    return Given(flag, type, as_written(flag, type, texts, True), verbatim=True).value


def _take_stdin(flow: Flow, shared: dict[str, Any], values: dict[str, Any]) -> None:
    """Put what comes through a pipe or from a file into the store, where the flow takes it and no flag goes before."""
    taking = [flow.place_of(name) for name, needed in flow.inputs.items() if needed.pipe and name not in values]
    if not (taking or flow.takes_stdin()) or not _is_readable():
        return
    data = sys.stdin.buffer.read()
    if not data:
        raise PflowError("stdin was empty: did the command before it fail?", exit=MISSING)
    try:
        value: str | bytes = data.decode()
    except UnicodeDecodeError:
        value = data
    shared["stdin"] = value
    for place in taking:
        assign(shared, place, value)


def _is_readable() -> bool:
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return False
    if stat.S_ISREG(mode):
        return os.lseek(0, 0, os.SEEK_CUR) == 0
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _check_inputs(flow: Flow, shared: dict[str, Any], values: dict[str, Any]) -> None:
    for name, needed in flow.inputs.items():
        if needed.required and name not in values and not has(shared, flow.place_of(name)):
            about = f" ({needed.doc})" if needed.doc else ""
            raise PflowError(f"cannot find '{name}'{about}: nothing gives it", hint=f"{_flag(name)}=…", exit=MISSING)


def usage(flow: Flow, name: str) -> str:
    lines = [f"Usage: {name} [FLAG]…", "", "Run the flow and print its store as JSON.", ""]
    lines += [f"  {_flag(each)}={needed.type}  {needed.doc}".rstrip() for each, needed in flow.inputs.items()]
    return "\n".join(lines) + "\n"


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
