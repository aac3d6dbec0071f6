"""A shell script of pflow's pipes, read as one flow: its pipes in a row, its plain variables as inputs."""

import re

from pflow.catalog.kinds import Catalog
from pflow.errors import USAGE, PflowError
from pflow.flow.flow import Edge, FlowSpec, Input
from pflow.flow.pipe.chains import split_chains
from pflow.flow.pipe.compile import compile_flow
from pflow.flow.pipe.read import read_flow
from pflow.flow.pipe.scan import END, LINK, Token, fault, scan
from pflow.flow.wiring import wire

NO_FLAGS = """[ $# -eq 0 ] || { echo "$0: cannot take '${1%%=*}': it has no flags" >&2; exit 2; }"""
"""The line of an exported script that has no inputs."""

_PLAIN = re.compile(r"(\w+)=(?:\$[1-9]|\$\{[1-9](?::?-([^$`}\0]*))?\}|(?!~)([^$`]*))", re.ASCII)
_EXPANDED = re.compile(r"~.*|(?!-).*([*?]|\[.+\]|\{.*,.*\}).*", re.DOTALL)
"""A word outside of quotes that a shell replaces by names of files, or by several words. Flags never match."""


def read_script(text: str, catalog: Catalog) -> FlowSpec:
    """Read a script. Raises PflowError (2), with the line, for all but pipes, `set -…`, NAME=text and NAME=$1.

    Each pipe has a store of its own, so the steps of all but the last keep their keys under their ids.
    """
    inputs: dict[str, Input] = {}
    kept: list[Token] = []
    text = text.replace(NO_FLAGS, "").rstrip("\n") + "\n"
    for words in split_chains(scan(text)):
        plain = _PLAIN.fullmatch(words[0].loose) if len(words) == 1 else None
        if plain and plain[1] not in inputs:
            default = plain[2] if plain[3] is None else words[0].text.partition("=")[2]
            inputs[plain[1]] = Input(plain[1], default=default, has_default=default is not None)
        elif words[0].text != "set" or not "".join(word.text for word in words[1:2]).strip("-"):
            ours = [word for word in words if word.text.rpartition("/")[2].startswith("pflow")]
            if words[0] not in ours and not (ours and any(word.kind == LINK for word in words)):
                hint = "list-files '*.txt' => ( … ) --each" if words[0].text == "for" else ""
                raise fault(text, words[0].at, f"'{words[0].text}' is not one of pflow's programs", hint)
            for word in words:
                if _EXPANDED.fullmatch(word.bare):
                    hint = "list-files finds files; quotes keep it as it is"
                    raise fault(text, word.at, f"a shell would expand '{word.text}'", hint)
                if others := {*re.findall(r"\$\{?(\w+|[@#?*!$-])", word.loose)} - {*inputs}:
                    raise fault(text, word.at, f"no line before sets '${min(others)}'", "NAME=$1 or NAME=text does")
                word.loose = re.sub(r"\$(?=[\w{])", "\0", word.loose)  # inputs, so nothing warns of them
            kept += [*words, Token(END, words[-1].at, [("\n", 0)])]
    flow, apart = read_flow(text, kept, catalog)
    flow.inputs = inputs
    heads = [at for at, step in enumerate(flow.steps) if at and all(edge.target != step.id for edge in flow.edges)]
    flow = compile_flow(flow, apart | {step.id for step in flow.steps[: heads[-1] if heads else 0]})
    flow.edges += [Edge(flow.steps[at - 1].id, flow.steps[at].id) for at in heads]
    for id, wired in wire(flow).steps.items():
        by_name = {key for key in wired.interface.reads if not wired.step.fills(key)}
        if same := inputs.keys() & (by_name | {*wired.interface.writes}):
            what = f"cannot take the variable '{min(same)}' as an input: '{id}' has a key of that name"
            raise PflowError(what, hint="rename it", exit=USAGE)
    return flow
