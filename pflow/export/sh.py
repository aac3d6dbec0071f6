"""A shell script: `pflow-NODE` programs in a pipe, for one line of steps; a step with a batch becomes `pflow run`."""

from pflow import __version__
from pflow.binding.sources import PathSource
from pflow.export._sh_stage import ShellStage, StoreFacts, refused, word_of
from pflow.flow.flow import FlowInput
from pflow.flow.graph import ERROR
from pflow.flow.pipe.scan import quote
from pflow.flow.pipe.script import NO_FLAGS
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.interface.interface import spell_flag
from pflow.text.printable import clean
from pflow.values.jsontext import compact
from pflow.values.paths import are_nested, write_path

IS_PROGRAM = True

_HEAD = """\
#!/bin/sh
# {about}
#
# Made with `pflow export --to=sh` (pflow-shell {version}).
# Usage: {usage}

# shellcheck disable=SC2016  # text in single quotes is for the stages
"""


def export(wired: WiredFlow) -> str:
    """Write the script. Raises PflowError (65) if a pipe of stages cannot do the same."""
    return _Script(wired).text()


class _Script:
    def __init__(self, wired: WiredFlow) -> None:
        self.wired = wired
        self.order = _one_line(wired)
        looked_at = {reference.input for reference in wired.references if reference.input is not None}
        own = {key for each in self.order if each.interface.inferred for key in each.interface.reads}
        looked_at |= {name for name in own if name in wired.inputs and wired.inputs[name].step is None}
        self.inputs = [
            each
            for each in [*wired.inputs.values(), *wired.places.values()]
            if (each.declared or each.required or each.name in looked_at) and not each.secret
        ]
        self.piped = next((each for each in self.inputs if wired.first_read in each.readers), None)
        """The input that the pipe fills unless a flag does."""
        asked = [each for each in wired.asked() if each.required and not wired.is_given_by_pipe(each)]
        self.required = [each for each in self.inputs if each in asked]
        self.flags = _flags_of(self.inputs)
        self.commands: list[str] = []
        self.takes_pipe = wired.first_read is not None or wired.maps_stdin
        is_by_name = any(each.step is None for each in wired.inputs.values())
        self.takes_store = self.takes_pipe or is_by_name or any(each.interface.open for each in self.order)
        self.state = StoreFacts()
        self._begin()
        for step in self.order:
            self._add(step)

    def text(self) -> str:
        flow = self.wired.flow
        flags = [(f"{spell_flag(each.name)}={each.type.name.upper()}", each in self.required) for each in self.inputs]
        usage = [f"{flow.name or 'flow'}.sh", *(flag if is_required else f"[{flag}]" for flag, is_required in flags)]
        about = " ".join(": ".join(filter(None, [flow.name, flow.description])).split()) or "A flow."
        head = _HEAD.format(about=clean(about), version=__version__, usage=clean(" ".join(usage)))
        text = "\n".join([head, *([] if self.inputs else [NO_FLAGS, ""]), " |\n    ".join(self.commands)]) + "\n"
        if "\0" in text + "".join(
            self.flags
            # A program's argument cannot have a NUL. In JSON it is escaped, but in a flag's name it is not.
        ):
            raise refused("a text in it contains NUL, which a script cannot")
        return text

    def _begin(self) -> None:
        """Start the store with the script's flags, or with the data from the pipe."""
        if any(each.pipe for each in self.inputs):
            raise refused("one of its inputs takes the data from the pipe")
        if self.takes_store:
            self.state.carried = None
        if self.takes_pipe:
            self.state.places[("stdin",)] = False
        for each in self.inputs:
            if each.step is not None:
                self._refuse_early(each, each.step)
                self.wired.steps[each.step].sources[each.read] = PathSource(each.path)
            word_of(each.path)
            self.state.places[each.path] = each in self.required or each.has_default
        # pflow-set parses the flags: shell code could neither check types nor pass on an error document.
        if self.inputs or self.wired.maps_stdin:
            words = [f"--inputs={quote(self._declarations())}", '-- "$@"'] if self.inputs else []
            intake = [] if self.takes_pipe else ["--store"] if self.takes_store else ["-n"]
            self.commands.append(" ".join(["pflow-set", *intake, *words]))

    def _declarations(self) -> str:
        """Return the JSON from which pflow-set knows the script's flags, and how to check the store."""
        lines = []
        for each in self.inputs:
            facts = {name: getattr(each, name) for name in ("doc", "declared", "has_default", "default")}
            facts |= {"type": str(each.type), "at": write_path(each.path), "flags": self.flags[each.name][1:]}
            facts |= {"required": each in self.required, "pipe": each is self.piped}
            facts |= {"reader": self.wired.reader_of(each)}
            usual = {**vars(FlowInput), "type": "any", "at": each.name, "flags": [], "reader": "the flow"}
            said = {name: value for name, value in facts.items() if value != usual[name]}
            lines.append(f"{compact(each.name)}: {compact(said)}")
        return "{" + ",\n    ".join(lines) + "}"

    def _refuse_early(self, given: FlowInput, id: str) -> None:
        """Raise PflowError (65) if other steps could read a step's flag, since the script stores it at its start."""
        key, wired = given.read, self.wired
        if not wired.steps[id].interface.reads[key].is_stored:
            raise refused(f"the store does not keep the '{key}' that a flag gives '{id}'")
        places = [write.target for writes in wired.writes.values() for write in writes]
        places += [path for source in wired.sources() for path in source.paths]
        places += [each.path for each in wired.inputs.values() if each is not given]
        places += [(name,) for each in wired.steps.values() if each.id != id for name in each.interface.reads]
        if any(are_nested(given.path, place) for place in places):
            raise refused(f"the flag for '{id}' and its '{key}' is for this step alone, but others use that place")

    def _add(self, step: WiredStep) -> None:
        takes_pipe = self.wired.first_read is not None and self.wired.first_read[0] == step.id
        stage = ShellStage(step, self.state, takes_pipe=takes_pipe)
        stage.program += "" if self.commands or self.takes_store else " -n"
        self.commands.append(stage.command)


def _flags_of(inputs: list[FlowInput]) -> dict[str, list[str]]:
    """Return each input's flags: its own name, and aliases that no other input has. Raises PflowError (65)."""

    def spelled(each: FlowInput, *names: str) -> set[str]:
        return {spell_flag(name, value) for name in names for value in (True, each.type.name != "bool")}

    own = [flag for each in inputs for flag in spelled(each, each.name)]
    if shared := [flag for flag in own if own.count(flag) > 1]:
        raise refused(f"two of its inputs have the flag {shared[0]}")
    every = [flag for each in inputs for flag in spelled(each, each.name, *each.flags)]
    return {
        each.name: [each.name, *(name for name in each.flags if every.count(spell_flag(name)) == 1)] for each in inputs
    }


def _one_line(wired: WiredFlow) -> list[WiredStep]:
    """Return the steps in order. Raises PflowError (65) if they are not one line."""
    order = [wired.steps[id] for id in wired.order]
    if wired.outputs:
        raise refused("it declares outputs, but a pipe ends with the whole store")
    for step, following in zip(order, [*order[1:], None], strict=True):
        _check_edges(wired, step, following)
    return order


def _check_edges(wired: WiredFlow, step: WiredStep, following: WiredStep | None) -> None:
    for action, targets in wired.graph.next[step.id].items():
        if action != "default":
            raise refused(f"'{step.id}' has an edge for {action}, but a pipe has no branches")
        if len(targets) > 1:
            raise refused(f"'{step.id}' forks, but a pipe has no branches")
        if following is None or targets[0] != following.id:
            raise refused(f"the edge from '{step.id}' to '{targets[0]}' leads back, but a pipe has no loops")
    for action in step.actions if following is not None else ():
        if action not in ("default", ERROR):  # an error without an edge takes the default one
            raise refused(f"'{step.id}' may return {action}, which ends the flow there, but a pipe would go on")
