"""A flow as a shell script: real pipes of `pflow-NODE` programs, for flows that are one line of steps."""

from __future__ import annotations

from pflow import __version__
from pflow.binding.sources import Constant, PathSource
from pflow.catalog.kinds import FLOW
from pflow.export.sh_inputs import Inputs
from pflow.export.sh_program import is_bare, refused
from pflow.export.sh_stage import Stage
from pflow.export.sh_state import State
from pflow.export.sh_words import Unsayable, quoted
from pflow.jsontext import encode
from pflow.scanner import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.paths import Path

_HEAD = """\
#!/bin/sh
# {about}
#
# Made with `pflow export --to=sh` (pflow-shell {version}).{jq}
# Usage: {name}{usage}

# shellcheck disable=SC2016  # what stands in single quotes is for the stages
"""
_JQ = """ It needs jq, where the store must lose what a stage would
# keep in it, or the pipe what it carries."""
_OUTPUTS = """
        def at($path): reduce $path[] as $step (.;
            (if type == "string" then fromjson else . end)
            | (if type == "array" then $step | tonumber else $step | tostring end) as $key
            | if has(if type == "array" and $key < 0 then $key + length else $key end) then .[$key] else error end);
        if .["$pflow"].error then . else {{"$pflow"}} + ([
            {}] | add // {{}}) end"""
_CARRIED = '.["$pflow"].last'


def export(plan: WiredFlow) -> str:
    """The text of the script. Raises PflowError (65) that says what a pipe of stages cannot do."""
    try:
        return _Script(plan).text()
    except Unsayable as why:
        raise refused(str(why)) from None


class _Script:
    def __init__(self, plan: WiredFlow) -> None:
        self.plan = plan
        self.order = _one_line(plan)
        self.inputs = Inputs(plan)
        self.commands: list[str] = []
        self.removed: list[str] = []
        """What jq is to take away before the next command."""
        self.takes_pipe = plan.first_read is not None or _names_stdin(plan)
        self.state = State()
        self._begin()
        for wired in self.order:
            self._add(wired)
        self._end()

    def text(self) -> str:
        flow = self.plan.flow
        usage = self.inputs.usage()
        head = _HEAD.format(
            about=" ".join(": ".join(filter(None, [flow.name, flow.description])).split()) or "A flow.",
            version=__version__,
            jq=_JQ if any(command.startswith("jq ") for command in self.commands) else "",
            name=f"{flow.name or 'flow'}.sh",
            usage=f" {usage}" if usage else "",
        )
        return "\n".join([head, *self.inputs.code(), "", " |\n    ".join(self.commands)]) + "\n"

    def _begin(self) -> None:
        """Start the store: with what the script is given, or with what comes through the pipe."""
        if any(given.pipe and given.declared for given in self.plan.inputs.values()):
            raise refused("one of its inputs takes what comes through the pipe", "a mapping from stdin does as well")
        self.state.carried = None if self.takes_pipe else self.state.carried
        in_store = [given for given in self.inputs.all if given.step is None]
        for given in in_store:
            self.state.write(given.path, is_sure=given.required or given.has_default)
        if self.takes_pipe:
            self.state.write(("stdin",), is_sure=False)
        first = self.order[0]
        takes_itself = self.plan.first_read is not None and not _names_stdin(self.plan)
        if in_store or (self.takes_pipe and not takes_itself) or is_bare(first):
            members = [*self.inputs.defaults(), *(['"$@"'] if in_store else [])]
            self._set(members)

    def _set(self, members: list[str]) -> None:
        """Set members of the store, together with those that are just being set."""
        if self.commands and " -- " in self.commands[-1] and not self.removed:
            self.commands[-1] = " ".join([self.commands[-1], *members])
        else:
            self._run(" ".join([f"pflow-set{self._no_stdin()}", *(["--"] if members else []), *members]))

    def _no_stdin(self) -> str:
        """What a first command says when nothing comes through the pipe."""
        return "" if self.commands or self.takes_pipe else " -n"

    def _run(self, command: str) -> None:
        if self.removed:
            self.commands.append("jq -c " + quoted(f"del({', '.join(self.removed)})"))
            self.removed = []
        self.commands.append(command)

    def _add(self, wired: WiredStep) -> None:
        takes_pipe = self.plan.first_read is not None and self.plan.first_read[0] == wired.id
        stage = Stage(wired, self.state, self.inputs.variables(wired.id), takes_pipe=takes_pipe)
        if stage.members:
            self._set(stage.members)
        if stage.is_cleared:
            self.removed.append(_CARRIED)
        program, _, flags = stage.command.partition(" --")
        command = program + self._no_stdin() + (f" --{flags}" if flags else "")
        self._run(command)
        self.removed += [_jq_path(place) for place in stage.dropped]

    def _end(self) -> None:
        """The declared outputs alone, and a last command whose exit code is that of a stage that failed."""
        if self.plan.outputs:
            self._run(f"jq -c {quoted(self._outputs())}")
        if self.removed or self.plan.outputs:
            self._run("pflow-set")

    def _outputs(self) -> str:
        members = []
        for name, source in self.plan.outputs.items():
            if isinstance(source, Constant):
                members.append(f"{quote(name)}: {str(encode(source.value), 'utf-8')}")
            elif isinstance(source, PathSource):
                members.append(f"{quote(name)}: at({str(encode(list(source.path)), 'utf-8')})")
            else:
                raise refused(f"its output '{name}' is no plain path")
        kept = ", ({stdin} | select(.stdin))" if self.takes_pipe else ""
        return _OUTPUTS.format(",\n            ".join([f"({{{member}}})?" for member in members]) + kept)


def _jq_path(place: Path) -> str:
    return "".join([f"[{step}]" if isinstance(step, int) else f"[{quote(step)}]" for step in place]).join([".", ""])


def _one_line(plan: WiredFlow) -> list[WiredStep]:
    """The steps in their order. Raises PflowError (65) for what is not one line of them."""
    order = [plan.steps[id] for id in plan.graph.order()]
    if not order:
        raise refused("it has no steps")
    for wired, following in zip(order, [*order[1:], None], strict=True):
        _check_ways(plan, wired, following)
        step = wired.step
        if step.batch is not None:
            raise refused(f"'{wired.id}' runs once for each item, and a pipe runs each stage once")
        if wired.kind is not None and wired.kind.origin == FLOW:
            raise refused(f"'{wired.id}' is a flow with a store of its own, which no stage has")
    return order


def _check_ways(plan: WiredFlow, wired: WiredStep, following: WiredStep | None) -> None:
    for action, targets in plan.graph.next[wired.id].items():
        if action != "default":
            raise refused(f"'{wired.id}' has an edge for {action}, and a pipe has no branches")
        if len(targets) > 1:
            raise refused(f"'{wired.id}' forks, and a pipe has no branches")
        if following is None or targets[0] != following.id:
            raise refused(f"the edge from '{wired.id}' to '{targets[0]}' leads back, and a pipe has no loops")
    if following is None:
        return
    for action in wired.interface.actions:
        if action != "default" and not _is_ruled_out(wired, action):
            raise refused(f"'{wired.id}' may return {action}, which ends the flow there: a pipe would go on")


_RULED_OUT = {("shell", "error"): ("check", True)}
"""Actions that a node never returns while a param has a value: shell fails where it could return error."""


def _is_ruled_out(wired: WiredStep, action: str) -> bool:
    param, value = _RULED_OUT.get((wired.kind.name if wired.kind else "", action), ("", None))
    if not param:
        return False
    source = wired.params.get(param)
    given = source.value if isinstance(source, Constant) else wired.interface.params[param].default
    return bool(given == value) and (source is None or isinstance(source, Constant))


def _names_stdin(plan: WiredFlow) -> bool:
    """Whether a mapping or a template somewhere looks at what comes through the pipe."""
    found = [path for wired in plan.steps.values() for path in _looked_at(wired)]
    found += [path for source in plan.outputs.values() for path in source.paths]
    return any(path[0] == "stdin" for path in found)


def _looked_at(wired: WiredStep) -> Iterator[Path]:
    for source in [*wired.sources.values(), *wired.params.values()]:
        yield from source.paths
