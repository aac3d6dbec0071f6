"""The flags of an exported script: what it takes for the flow's inputs, and the shell code that reads them."""

from __future__ import annotations

from pflow.export._names import variable
from pflow.export._sh_words import TEXTS, flag_name, quoted
from pflow.jsontext import encode
from pflow.paths import write_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.wired import FlowInput, WiredFlow

_ESCAPE = """\
# A stage would take a $ in a flag's value for a template: $$ is a dollar.
escape() {
    escaped=
    rest=$1
    while [ "$rest" != "${rest%%\\$*}" ]; do
        escaped=$escaped${rest%%\\$*}\\$\\$
        rest=${rest#*\\$}
    done
    escaped=$escaped$rest
}
"""


class Inputs:
    """The inputs that a script takes: those that are declared, needed, or looked at by a path."""

    def __init__(self, plan: WiredFlow) -> None:
        looked_at = {reference.input for reference in plan.references if reference.input is not None}
        taken = {"word", "escaped", "rest"}
        self.all = [
            given
            for given in plan.inputs.values()
            if (given.declared or given.required or given.name in looked_at) and not given.secret
        ]
        self.verbatim = {
            (id, key)
            for id, wired in plan.steps.items()
            for key, item in wired.interface.reads.items()
            if "verbatim" in item.marks
        }
        self.names = {given.name: variable(given.name, taken) for given in self.all}

    def variables(self, step: str) -> dict[str, str]:
        """By read, the variable that holds what the script was given for this step alone."""
        own = [given for given in self.all if given.step == step]
        return {given.readers[0][1]: self.names[given.name] for given in own}

    def usage(self) -> str:
        parts = [flag_name(given.name) + _metavar(given) for given in self.all]
        return " ".join([part if given.required else f"[{part}]" for part, given in zip(parts, self.all, strict=True)])

    def defaults(self) -> list[str]:
        """The members that inputs have by default."""
        found = [given for given in self.all if given.has_default]
        return [quoted(f"{write_path(given.path)}:={str(encode(given.default), 'utf-8')}") for given in found]

    def code(self) -> Iterator[str]:
        """Reads the flags: what goes into the store becomes the script's arguments, as members for pflow-set."""
        if not self.all:
            yield "[ $# -eq 0 ] || { echo \"$0: cannot take '$1': it has no flags\" >&2; exit 2; }"
            return
        if any(map(self._is_escaped, self.all)):
            yield _ESCAPE
        yield 'fail() {\n    printf \'%s: %s\\n\' "$0" "$2" >&2\n    exit "$1"\n}\n'
        needed = [self.names[given.name] for given in self.all if given.required]
        yield "".join([f"has_{name}=\n" for name in needed]) + "for word; do\n    shift\n    case $word in"
        for given in self.all:
            yield from self._cases(given)
        yield "    *) fail 2 \"cannot take '$word': no such flag\" ;;\n    esac\ndone"
        for given in self.all:
            if given.required:
                doc = f" ({given.doc})" if given.doc else ""
                about = quoted(f"cannot find {given.name}{doc}: nothing gives it; {flag_name(given.name)}=…")
                yield f'[ "$has_{self.names[given.name]}" ] || fail 66 {about}'
        if any(given.step is None and given.type.name not in TEXTS for given in self.all):
            yield 'pflow-set -n -- "$@" >/dev/null || exit  # what is not JSON stops the script here'

    def _is_escaped(self, given: FlowInput) -> bool:
        return given.step is not None and given.readers[0] not in self.verbatim

    def _cases(self, given: FlowInput) -> Iterator[str]:
        name = self.names[given.name]
        flags = [given.name, *given.flags]
        if given.step is not None:
            flags.append(f"{given.step}.{given.readers[0][1]}")
        spelt = dict.fromkeys(form for each in flags for form in (flag_name(each), "--" + each.replace("-", "_")))
        note = f"; has_{name}=1" if given.required else ""
        path = write_path(given.path)
        pattern = " | ".join(f"{quoted(each)}=*" for each in spelt)
        if given.step is not None:
            value = "$escaped" if self._is_escaped(given) else "${word#*=}"
            escape = 'escape "${word#*=}"; ' if self._is_escaped(given) else ""
            yield f"    {pattern}) {escape}{name}={value}{note} ;;"
            return
        if given.type.name == "bool":
            yield f'    {" | ".join(map(quoted, spelt))}) set -- "$@" {quoted(path + ":=true")}{note} ;;'
            off = dict.fromkeys("--no-" + each.removeprefix("--") for each in spelt)
            yield f'    {" | ".join(map(quoted, off))}) set -- "$@" {quoted(path + ":=false")}{note} ;;'
        sign = "=" if given.type.name in TEXTS else ":="
        yield f'    {pattern}) set -- "$@" {quoted(path + sign)}"${{word#*=}}"{note} ;;'


def _metavar(given: FlowInput) -> str:
    if given.type.name == "bool":
        return ""
    if given.type.choices:
        return f"={given.type}"
    return "=JSON" if given.type.name in ("list", "dict") else f"={given.type.name.upper()}"
