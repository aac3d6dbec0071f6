"""A shell script of pflow's pipes, read as one flow: its pipes one after the other, its arguments as inputs."""

import os
import re
from itertools import pairwise

from pflow.catalog.find import Catalog
from pflow.errors import USAGE, PflowError
from pflow.flow.expressions import INPUT, PARAM
from pflow.flow.flow import Edge, FlowInput, FlowSpec, Input
from pflow.flow.ir import inputs_of_script
from pflow.flow.pipe.compile import compile_flow
from pflow.flow.pipe.read import read_flow, split_chains
from pflow.flow.pipe.scan import END, LINK, Token, fault, scan
from pflow.flow.wired_flow import WiredFlow
from pflow.flow.wiring import lay_out

NO_FLAGS = """[ $# -eq 0 ] || exec pflow-set -n --inputs={} -- "$@\""""
"""The line in an exported script without inputs that lets pflow-set answer any flag."""

_PLAIN = re.compile(r"([A-Za-z_]\w*)=(?:\$[1-9]|\$\{[1-9](?::?-([^$`}\0]*))?\}|([^$`]*))", re.ASCII)
_SET = re.compile(r"set(?: -[Eeux]+| -[Eeux]*o (?:errexit|nounset|pipefail))+")
_STOPS = re.compile(r"(?:#!|set ).*(?:-\w*e|errexit)")
"""A line that makes a shell stop at the first failure."""
_EXPANDED = re.compile(r"~.*|.*\{.*(?:,|\.\.).*\}.*|(?!-).*([*?]|\[.+\]).*", re.DOTALL)
"""An unquoted word that a shell replaces by names of files or by several words. A flag matches no file."""
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\}|\{[^}]*\}?|[@#?*!$-])", re.ASCII)
_WHOLE = re.compile(r"[\w./:,@%+=-]+", re.ASCII)
"""A text that a shell neither splits nor expands."""
_QUIET, _NO_STDIN = re.compile(r"-[nv]*q[nv]*|--quiet"), re.compile(r"-[qrjv]*n[qrjv]*|--no-stdin")


def read_script(text: str, catalog: Catalog) -> FlowSpec:
    """Read a script. Raises PflowError (2), with the line, for anything but pipes, `set -e`, NAME=text and NAME=$1.

    Each pipe of a script has its own store. So that a flow's single store keeps them apart, the steps of all pipes but
    the last write under their ids.
    """
    inputs: dict[str, Input] = {}
    given: dict[str, FlowInput] = {}
    values: dict[str, str] = {}
    pipes: list[list[list[Token]]] = []
    kept: list[Token] = []
    text = text.replace(NO_FLAGS, "").rstrip("\n") + "\n"
    for words in split_chains(scan(text)):
        is_plain = len(words) == 1 and not set("~&<>()") & set(words[0].bare)
        plain = _PLAIN.fullmatch(words[0].loose) if is_plain else None
        # In a shell, setting a variable of the environment changes what programs see; IFS changes how words are split.
        if plain and plain[1] not in {**inputs, **values, **os.environ, "IFS": ""}:
            if plain[3] is not None:
                values[plain[1]] = words[0].text.partition("=")[2]
            else:
                inputs[plain[1]] = Input(plain[1], default=plain[2], has_default=plain[2] is not None)
        elif not _SET.fullmatch(" ".join(word.bare for word in words)):
            words, given = (words, given) if pipes else _without_head(words)
            pipes.append(_stages(text, words))
            for word in words:
                _expand(text, word, values, inputs)
            kept += [*words, Token(END, words[-1].at, [("\n", 0)])]
    for pipe, following in pairwise(pipes):
        if not any(_QUIET.fullmatch(word.bare) for word in pipe[-1]):
            raise fault(text, pipe[0][0].at, "its output would be lost: another pipe follows", "-q prints none")
        if not any(map(_STOPS.match, text[: pipe[0][0].at].splitlines())):
            raise fault(text, following[0][0].at, "a shell would go on here after a failure", "set -e ends it")
    flow, apart = read_flow(text, kept, catalog, is_script=True)
    flow.inputs = inputs | {name: _written(each) for name, each in given.items()}
    heads = [at for at, step in enumerate(flow.steps) if at and all(edge.target != step.id for edge in flow.edges)]
    apart |= {step.id for step in flow.steps[: heads[-1] if heads else 0]}
    _let_overwrite(flow, apart)
    # The flow still has all inputs here: else compiling could take the `$name` of an input for the pipe's value.
    flow = compile_flow(flow, apart)
    flow.inputs = {name: each for name, each in flow.inputs.items() if name in inputs or given[name].declared}
    flow.edges += [Edge(flow.steps[at - 1].id, flow.steps[at].id) for at in heads]
    _check_values(text, lay_out(flow), [stage for pipe in pipes for stage in pipe], heads, {*inputs})
    return flow


def _let_overwrite(flow: FlowSpec, apart: set[str]) -> None:
    """Give the steps that are not apart the keys that they write, in place of those that compiling would choose."""
    # In a pipe of programs, a later stage replaces keys of an earlier one. In pipe syntax, both stages would move.
    for id, wired in lay_out(flow).steps.items():
        if id not in apart and wired.inline is None:
            step = flow.step(id)
            step.output_mappings = {key: key for key in wired.interface.writes} | step.output_mappings


def _without_head(words: list[Token]) -> tuple[list[Token], dict[str, FlowInput]]:
    """Return the first pipe without the `pflow-set` that begins an exported script, and the inputs that it declares."""
    at = next((at for at, word in enumerate(words) if word.kind == LINK), 0)
    said = [word.text for word in words[:at] if word.text not in ("--", "$@", "--store", "-n")]
    if said[:1] != ["pflow-set"] or len(said) > 2 or not all(each.startswith("--inputs=") for each in said[1:]):
        return words, {}
    return words[at + 1 :], inputs_of_script("".join(said[1:]).partition("=")[2] or "{}")


def _written(given: FlowInput) -> Input:
    facts = {name: getattr(given, name) for name in ("required", "default", "has_default")}
    return Input(given.name, type=str(given.type), description=given.doc, **facts)


def _stages(text: str, words: list[Token]) -> list[list[Token]]:
    """Split a pipe into programs. Raises PflowError for another separator, or a program that is not pflow's."""
    stages: list[list[Token]] = [[]]
    for word in words:
        if word.kind != LINK:
            stages[-1].append(word)
        elif word.text != "|" or not stages[-1]:
            raise fault(text, word.at, f"'{word.text}' joins no two programs", "a | b")
        else:
            stages.append([])
    for word in [stage[0] for stage in stages if stage]:
        if not os.path.basename(word.text).startswith("pflow"):
            raise fault(text, word.at, f"'{word.text}' is not one of pflow's programs", _meant(text, word))
    return stages


def _meant(text: str, word: Token) -> str:
    """Return what to write instead of a word that is none of pflow's programs; "" if there is no guess."""
    if word.text == "for":
        return "list-files '*.txt' => ( … ) --each"
    if "=" not in word.bare:
        return ""
    name, is_default, value = text[word.at :].partition("}")[0].partition("=${")
    if is_default and "}" not in word.text:  # it is unquoted, so a blank in the default has ended the word
        return f'{name}="${{{value}}}"'
    return "NAME=$1, NAME=${1:-text} or NAME=text, once, if the environment has no NAME"


def _expand(text: str, word: Token, values: dict[str, str], inputs: dict[str, Input]) -> None:
    """Put the texts of variables into a word, as a shell does; variables that are inputs stay as templates."""
    if _EXPANDED.fullmatch(word.bare):
        hint = "list-files finds files; quotes keep it as it is"
        raise fault(text, word.at, f"a shell would expand '{word.text}'", hint)
    for match in _VARIABLE.finditer(word.text):
        if (match[1] or match[2]) in inputs and not word.loose.startswith("$", match.start()):
            raise fault(text, word.at, f"'{match[0]}' is not the variable here", "rename the variable")
    for match in reversed([*_VARIABLE.finditer(word.loose)]):
        name, (start, end) = match[1] or match[2], match.span()
        if name not in {**values, **inputs}:
            raise fault(text, word.at, f"no line before sets '{match[0]}'", "NAME=$1 or NAME=text does")
        if word.bare.startswith("$", start) and not _WHOLE.fullmatch(values.get(name, "")):
            raise fault(text, word.at, f"a shell would split '{match[0]}'", f'"{match[0]}" keeps it whole')
        # Mark the value as quoted, so that nothing warns of a `$` in it.
        mask = "\0" * len(values.get(name, match[0]))
        word.text = word.text[:start] + values.get(name, match[0]) + word.text[end:]
        word.bare, word.loose = (each[:start] + mask + each[end:] for each in (word.bare, word.loose))


def _check_values(text: str, flow: WiredFlow, stages: list[list[Token]], heads: list[int], names: set[str]) -> None:
    """Refuse a variable that nothing would fill or that has a key's name, and a later pipe that would read stdin."""
    for at, ((id, wired), words) in enumerate(zip(flow.steps.items(), stages, strict=False)):
        by_name = {key for key in wired.interface.reads if not wired.step.fills(key)}
        if same := names & (by_name | {*wired.interface.writes}):
            what = f"cannot take the variable '{min(same)}' as an input: '{id}' has a key of that name"
            raise PflowError(what, hint="rename it", exit=USAGE)
        exprs = [expr for expr in flow.expressions[id] if expr.role in (INPUT, PARAM) and not expr.is_template]
        for match in _VARIABLE.finditer(" ".join(str(expr.written) for expr in exprs)):
            if (match[1] or match[2]) in names:
                hint = f'pflow-shell \'echo "$1"\' "{match[0]}" hands it over'
                raise fault(text, words[0].at, f"nothing fills '{match[0]}' in a command", hint)
        read, has_no_stdin = wired.interface.pipe_read, any(_NO_STDIN.fullmatch(word.bare) for word in words)
        if at in heads and read is not None and not wired.step.fills(read.name) and not has_no_stdin:
            raise fault(text, words[0].at, "it would read the script's stdin", "-n if it takes none")
