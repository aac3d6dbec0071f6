"""A shell script: `pflow-NODE` programs in a pipe, for flows that are one line of steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pflow import __version__
from pflow.binding.sources import Constant, PathSource
from pflow.catalog.kinds import FLOW
from pflow.export._sh_flags import Inputs, Unsayable, json_text, quoted, refused
from pflow.export._sh_stage import Stage, State, is_bare
from pflow.flow.wired import WiredFlow, WiredStep
from pflow.jsontext import quote

if TYPE_CHECKING:
    from pflow.paths import Path

IS_PROGRAM = True

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


def export(wired: WiredFlow) -> str:
    """The text of the script. Raises PflowError (65) that says what a pipe of stages cannot do."""
    try:
        return _Script(wired).text()
    except Unsayable as why:
        raise refused(str(why)) from None


class _Script:
    def __init__(self, wired: WiredFlow) -> None:
        self.wired = wired
        self.order = _one_line(wired)
        self.inputs = Inputs(wired)
        self.commands: list[str] = []
        self.removed: list[str] = []
        """What jq is to take away before the next command."""
        self.takes_pipe = wired.first_read is not None or _names_stdin(wired)
        self.state = State()
        self._begin()
        for step in self.order:
            self._add(step)
        self._end()

    def text(self) -> str:
        flow, usage = self.wired.flow, self.inputs.usage()
        head = _HEAD.format(
            about=" ".join(": ".join(filter(None, [flow.name, flow.description])).split()) or "A flow.",
            version=__version__,
            jq=_JQ if any(command.startswith("jq ") for command in self.commands) else "",
            name=f"{flow.name or 'flow'}.sh",
            usage=f" {usage}" if usage else "",
        )
        return "\n".join([head, self.inputs.code(), "", " |\n    ".join(self.commands)]) + "\n"

    def _begin(self) -> None:
        """Start the store: with what the script is given, or with what comes through the pipe."""
        if any(needed.pipe and needed.declared for needed in self.wired.inputs.values()):
            raise refused("one of its inputs takes what comes through the pipe", "a mapping from stdin does as well")
        if self.takes_pipe:
            self.state.carried = None
            self.state.places[("stdin",)] = False
        in_store = [needed for needed in self.inputs.all if needed.step is None]
        for needed in in_store:
            self.state.places[needed.path] = needed.required or needed.has_default
        if in_store or (self.takes_pipe and _names_stdin(self.wired)) or is_bare(self.order[0]):
            self._set([*self.inputs.defaults(), *(['"$@"'] if in_store else [])])

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

    def _add(self, step: WiredStep) -> None:
        takes_pipe = self.wired.first_read is not None and self.wired.first_read[0] == step.id
        stage = Stage(step, self.state, self.inputs.variables(step.id), takes_pipe=takes_pipe)
        if stage.members:
            self._set(stage.members)
        if stage.is_cleared:
            self.removed.append(_CARRIED)
        program, dashes, flags = stage.command.partition(" --")
        self._run(program + self._no_stdin() + dashes + flags)
        self.removed += [_jq_path(place) for place in stage.dropped]

    def _end(self) -> None:
        """The declared outputs alone, and a last command whose exit code is that of a stage that failed."""
        if self.wired.outputs:
            self._run(f"jq -c {quoted(self._outputs())}")
        if self.removed or self.wired.outputs:
            self._run("pflow-set")

    def _outputs(self) -> str:
        members = []
        for name, source in self.wired.outputs.items():
            if not isinstance(source, Constant | PathSource):
                raise refused(f"its output '{name}' is no plain path")
            value = json_text(source.value) if isinstance(source, Constant) else f"at({json_text(list(source.path))})"
            members.append(f"({{{quote(name)}: {value}}})?")
        kept = ", ({stdin} | select(.stdin))" if self.takes_pipe else ""
        return _OUTPUTS.format(",\n            ".join(members) + kept)


def _jq_path(place: Path) -> str:
    return "." + "".join([f"[{step if isinstance(step, int) else quote(step)}]" for step in place])


def _one_line(wired: WiredFlow) -> list[WiredStep]:
    """The steps in their order. Raises PflowError (65) for what is not one line of them."""
    order = [wired.steps[id] for id in wired.graph.order()]
    if not order:
        raise refused("it has no steps")
    for step, following in zip(order, [*order[1:], None], strict=True):
        _check_edges(wired, step, following)
        if step.step.batch is not None:
            raise refused(f"'{step.id}' runs once for each item, and a pipe runs each stage once")
        if step.kind is not None and step.kind.origin == FLOW:
            raise refused(f"'{step.id}' is a flow with a store of its own, which no stage has")
    return order


def _check_edges(wired: WiredFlow, step: WiredStep, following: WiredStep | None) -> None:
    for action, targets in wired.graph.next[step.id].items():
        if action != "default":
            raise refused(f"'{step.id}' has an edge for {action}, and a pipe has no branches")
        if len(targets) > 1:
            raise refused(f"'{step.id}' forks, and a pipe has no branches")
        if following is None or targets[0] != following.id:
            raise refused(f"the edge from '{step.id}' to '{targets[0]}' leads back, and a pipe has no loops")
    for action in step.interface.actions if following is not None else ():
        if action != "default" and not _is_ruled_out(step, action):
            raise refused(f"'{step.id}' may return {action}, which ends the flow there: a pipe would go on")


_RULED_OUT = {("shell", "error"): ("check", True)}
"""Actions that a node never returns while a param has a value: shell fails where it could return error."""


def _is_ruled_out(step: WiredStep, action: str) -> bool:
    param, value = _RULED_OUT.get((step.kind.name if step.kind else "", action), ("", None))
    if not param:
        return False
    source = step.params.get(param, Constant(step.interface.params[param].default, ""))
    return isinstance(source, Constant) and source.value == value


def _names_stdin(wired: WiredFlow) -> bool:
    """Whether a mapping or a template somewhere looks at what comes through the pipe."""
    steps = [each for step in wired.steps.values() for each in (*step.sources.values(), *step.params.values())]
    return any(path[0] == "stdin" for source in [*steps, *wired.outputs.values()] for path in source.paths)
