"""Wiring a flow: finding the place in the store from which each read comes and to which each write goes."""

from __future__ import annotations

from copy import copy

from pflow.binding.sources import AlternativeSource, Constant, Fallback, NameSource, PathSource, Source, TemplateSource
from pflow.errors import BAD_CONFIG, Ignoring, PflowError, result_of
from pflow.flow.expressions import INPUT, MAPPING, OVER, PARAM, Expression, expressions_of_outputs, expressions_of_step
from pflow.flow.flags import name_flags
from pflow.flow.flow import FlowInput, FlowSpec, Step
from pflow.flow.graph import END, Graph, ReachingWrites
from pflow.flow.ir import numbered
from pflow.flow.references import are_there_first, find_writes, resolve, stored_writes, uses, writes_of
from pflow.flow.wired_flow import Reference, WiredFlow, WiredStep
from pflow.interface.interface import Field, Interface, with_keys
from pflow.values.paths import Path, write_path
from pflow.values.templates import expand, is_reference, parse_place
from pflow.values.types import Type, parse_type


def wire(flow: FlowSpec) -> WiredFlow:
    """Wire a flow. No fault stops it: a reference keeps its own `trouble`, and the rules find all other faults.

    A flow inside a step passes on only the value that its pipe carries and the writes that other steps use.
    """
    return _Wiring(flow, _used(flow)).wired


def lay_out(flow: FlowSpec) -> WiredFlow:
    """Resolve the names in a flow of pipe syntax before it is compiled. Values have no sources yet."""
    return _Layout(flow, _used(flow, is_draft=True), is_draft=True).resolved()


def _used(flow: FlowSpec, *, is_draft: bool = False) -> set[tuple[str, str]] | None:
    """Return the writes that are used, as (step, key); None if no step has an inline flow that needs them."""
    if not any(step.flow is not None and not step.flow.outputs for step in flow.steps):
        return None
    # Who uses what is known only once all names are resolved, so a flow with an inline flow inside is laid out twice.
    layout = _Layout(flow, None, is_draft=is_draft).resolved()
    return {(write.step, write.key) for _, _, _, writes in uses(layout) for write in writes}


class _Layout:
    """The first half of wiring: the node type of each step, the place of each write, and the meaning of each name.

    `used` has the writes that flows inside steps may give, as (step, key); None for all. In a draft, the item of each
    batch is mapped to the read that it fills.
    """

    def __init__(self, flow: FlowSpec, used: set[tuple[str, str]] | None, *, is_draft: bool = False) -> None:
        self.flow = flow
        self.used = used
        ids: dict[str, int] = {}
        for step in flow.steps:  # two steps of one id are a finding, and the rules still check both of them
            ids.setdefault(numbered(step.id, ids), 2)
        self.wired = WiredFlow(flow, Graph(list(ids), flow.edges))
        self.steps = self.wired.steps
        self.inputs = self.wired.inputs
        for number, (id, step) in enumerate(zip(ids, flow.steps, strict=True), 1):
            wired = self.steps[id] = self._wired_step(step, number)
            wired.id = id
            if is_draft and step.batch is not None:
                from pflow.flow.pipe.steps import with_item  # flows in files have no drafts, and do not load it

                wired.step = step = with_item(wired)
            self.wired.expressions[id] = list(expressions_of_step(step, wired.interface))
            if step.batch is not None and wired.subflow is not None:  # the flow inside may read the item and its parts
                named = [key for key in step.batch.parts if key in wired.interface.reads and not step.fills(key)]
                self.wired.expressions[id] += [Expression(step.location, MAPPING, key, key) for key in named]
        self.wired.expressions[END] = list(expressions_of_outputs(flow))
        self._set_targets()
        self.wired.writes = {id: writes_of(self.steps[id]) for id in dict.fromkeys([*self.wired.order, *self.steps])}
        self.wired.reaching = ReachingWrites(self.wired.graph, stored_writes(self.wired))
        self.open_steps = [id for id, each in self.steps.items() if each.interface.open and not each.targets]
        for name in flow.inputs:
            self.inputs[name] = _declared(flow, name)

    def _wired_step(self, step: Step, number: int) -> WiredStep:
        catalog, items = self.flow.catalog, (*(self.flow.item_names or ()), step.batch.item if step.batch else "")
        try:
            node_type = catalog.find(step.type) if step.flow is None else catalog.inline(step.flow, items)
            mapped = [*step.input_mappings.values(), *step.output_mappings.values()]
            if node_type and (implied := node_type.interface.implied({**step.inputs, **step.params})):
                step.params = {**step.params, **implied}
            interface = with_keys(node_type.interface, step.params, mapped) if node_type else Interface()
        except PflowError as error:
            if error.exit == BAD_CONFIG:  # damaged packs are not this step's fault, and stop every step
                raise
            wired = WiredStep(step, number, None, Interface())
            wired.fault = error.message
            return wired
        if self.used is not None and step.flow is not None and not step.flow.outputs:
            interface, writes = copy(interface), interface.writes
            kept = {key for id, key in self.used if id == step.id} | step.output_mappings.keys()
            interface.writes = {key: field for key, field in writes.items() if key in kept or "pipe" in field.marks}
        return WiredStep(step, number, node_type, interface)

    def _set_targets(self) -> None:
        """Set the place of each write: where its step maps it, or under the id if a path in the flow says `ID.KEY`."""
        for wired in self.steps.values():
            for key, written in wired.step.output_mappings.items():
                with Ignoring(ValueError):  # PF14 reports what is no path
                    wired.targets[key] = parse_place(written)
        for path in [path for several in self.wired.expressions.values() for expr in several for path in expr.paths]:
            writer = self.steps.get(str(path[0]))
            key = str(path[1]) if len(path) > 1 else ""
            if writer is not None and key in writer.interface.writes and key not in writer.targets:
                writer.targets[key] = (writer.id, key)
                writer.moved.add(key)

    def resolved(self) -> WiredFlow:
        """Return the flow with all references resolved, and no sources."""
        for id, exprs in self.wired.expressions.items():
            for expr in exprs:
                self._refer(expr, self.steps.get(id))
        return self.wired

    def _refer(self, expr: Expression, wired: WiredStep | None) -> list[Reference]:
        """Resolve each path of an expression. A path that no step writes becomes an input of the flow."""
        found = [Reference(wired.id if wired else END, expr, path) for path in expr.paths]
        for reference in found if not expr.fault else ():
            resolve(self.wired, reference, wired)
        is_choice = wired is not None and isinstance(expr.written, list) and self._is_choice(wired, found)
        for reference in found:
            path = reference.path
            self.wired.references.append(reference)
            self.wired.references_of.setdefault(reference.step, []).append(reference)
            if path[1:2] == ("errors",) and path[0] in self.steps:
                self.steps[str(path[0])].uses_errors = True
            self._note_reader(reference, wired, expr, is_choice=is_choice)
        if wired is not None and expr.role == OVER:
            self._set_item_type(wired, found)
        return found

    def _set_item_type(self, wired: WiredStep, over: list[Reference]) -> None:
        """Set the types of a batch's items and of their list. An input without a type becomes a list."""
        wired.over_type = self.wired.type_of(over[-1]) if over else Type("any")
        wired.item_type = wired.over_type.items or Type("any")
        needed = self.inputs.get(str(over[0].path[0])) if over and len(over[0].path) == 1 else None
        if needed is not None and not needed.declared and needed.type.name == "any":
            needed.type = Type("list")

    def _is_choice(self, wired: WiredStep, found: list[Reference]) -> bool:
        """Return True if no path of a list is required on its own: a step writes one of them, or several are inputs."""
        inputs = [each.path for each in found if each.input is not None]
        is_written = any(each.writes and are_there_first(self.wired, wired.id, each.writes) for each in found)
        self.wired.alternatives += [inputs] if len(inputs) > 1 and not is_written else []
        return is_written or len(inputs) > 1

    def _note_reader(self, reference: Reference, wired: WiredStep | None, expr: Expression, *, is_choice: bool) -> None:
        """Note who reads an input of the flow; make the input if the flow does not declare it."""
        name = reference.input
        if name is None or name == "stdin":
            return
        # In a flow inside a step, a template converts its value, so the input needs no type.
        is_typed = self.flow.item_names is None or expr.role == MAPPING
        is_path, is_whole = _is_one_path(expr) and is_typed, len(reference.path) == 1
        field = wired.interface.reads.get(expr.key) if wired and is_path else None
        needed = self._input(name, field if is_whole else None)
        if wired is None:
            return
        needed.secret = needed.secret or wired.is_secret(expr.key)
        flags = [expr.key, *(field.flags if field else [])]
        # A mapping fails without its source even if the read is optional, so the input is required.
        self._add_reader(needed, wired, expr.key, flags if is_path and is_whole else [], is_required=not is_choice)
        is_place = not is_whole and all(isinstance(step, str) for step in reference.path)
        if field is not None and is_place and len(expr.paths) == 1:  # so that the flag of the read fills this place
            path = reference.path
            place = FlowInput(write_path(path), path, field.type, doc=field.doc, secret=needed.secret)
            place = self.wired.places.setdefault(place.name, place)
            self._add_reader(place, wired, expr.key, flags, is_required=not is_choice)

    def _add_reader(
        self, needed: FlowInput, wired: WiredStep, key: str, flags: list[str], *, is_required: bool = True
    ) -> None:
        needed.readers.append((wired.id, key))
        needed.flags += [flag for flag in flags if flag not in needed.flags]
        # An open step may write any key, so after one the input may turn out not to be needed.
        precedes = self.wired.graph.may_precede
        if is_required and not needed.declared and not any(precedes(id, wired.id) for id in self.open_steps):
            needed.required = True
            needed.needed_by.add((wired.id, key))

    def _input(self, name: str, field: Field | None) -> FlowInput:
        if name not in self.inputs:
            self.inputs[name] = FlowInput(name, (name,), field.type if field else Type("any"))
        needed = self.inputs[name]
        if field is not None:
            needed.doc = needed.doc or field.doc
            needed.secret = needed.secret or field.is_secret
            if not needed.declared and needed.type.name == "any":
                needed.type = field.type
        return needed


class _Wiring(_Layout):
    """One wiring: a layout, and the source of every value."""

    def __init__(self, flow: FlowSpec, used: set[tuple[str, str]] | None) -> None:
        super().__init__(flow, used)
        for wired in self.steps.values():
            self._set_sources(wired)
        self._find_pipe_reader()
        for expr in self.wired.expressions[END]:
            self.wired.outputs[expr.key] = self._source(expr, None)
        name_flags(self.wired)

    def _set_sources(self, wired: WiredStep) -> None:
        """Find the source of each expression of a step, then of each read that the flow does not mention."""
        for expr in self.wired.expressions[wired.id]:
            source = self._source(expr, wired)
            if expr.role == OVER:
                wired.over = source
            elif expr.role == PARAM:
                wired.params[expr.key] = source
            # An input comes before a mapping, as a flag does.
            elif expr.role == INPUT or expr.key not in wired.step.inputs:
                wired.sources[expr.key] = source
        for key, field in wired.interface.reads.items():
            mapped = wired.sources.pop(key, None) if key in (wired.step.soft or ()) else None
            if key not in wired.sources:
                self._set_by_name(wired, key, field, is_required=field.required and mapped is None)
            if mapped is not None:
                first = [wired.sources[key]] if key in wired.sources else []
                wired.sources[key] = Fallback(*first, PathSource((key,)), mapped)
        if wired.subflow is not None:
            self._guard_hosts(wired, wired.subflow)
        if wired.over is not None and wired.has_secret_items:
            for path in wired.over.paths:
                if (needed := self.inputs.get(str(path[0]))) is not None:
                    needed.secret = True

    def _source(self, expr: Expression, wired: WiredStep | None) -> Source:
        places: dict[Path, Source] = {}
        from_steps = []
        for reference in self._refer(expr, wired):
            path, source = reference.path, _place_source(reference.places)
            places[path] = NameSource(reference.places[0], reference.item_part) if reference.item_part else source
            places[path].is_directories |= self.flow.item_parts.get(reference.input or "") == "dir"
            if self._is_written(reference, wired):
                from_steps.append(path)
        if expr.is_template and places and not expr.fault:
            template = TemplateSource(expr.written, places)
            template.from_steps = from_steps
            return template
        if expr.is_template or expr.fault or expr.role in (INPUT, PARAM):
            is_text = expr.is_template and not expr.fault
            value = expand(expr.written, lambda path: None) if is_text else expr.written
            return Constant(value, write_path(expr.location))
        if len(places) == 1:
            return next(iter(places.values()))
        chosen = [place for path in expr.paths for place in places[path].paths]
        return _place_source(tuple(dict.fromkeys(chosen)))

    def _is_written(self, reference: Reference, wired: WiredStep | None) -> bool:
        """Return True if a step wrote the value of a reference, or the list that its item comes from."""
        writes = list(reference.writes)
        if reference.is_item and wired is not None and wired.over is not None:
            writes += [write for path in wired.over.paths for _, write in self.wired.writes_at(wired.id, path)]
        return any(not write.is_data for write in writes)

    def _guard_hosts(self, wired: WiredStep, flow: WiredFlow) -> None:
        """Make a subflow refuse a URL that begins with a value that a step wrote.

        The subflow itself cannot tell who wrote the value: wrap the value's source in a template that records that.
        """
        for key in [each for each in wired.interface.reads if flow.begins_url(each)]:
            source = wired.sources.get(key, PathSource((key,)))
            given = self.wired.references_to(wired.id, key)
            writes = [write for path in source.paths for _, write in self.wired.writes_at(wired.id, path)]
            is_written = any(self._is_written(each, wired) for each in given) or not all(w.is_data for w in writes)
            if is_written and not isinstance(source, TemplateSource):
                wired.sources[key] = template = TemplateSource(f"${{{key}}}", {(key,): source})
                template.from_steps, template.is_optional = template.sources, source.is_optional

    def _set_by_name(self, wired: WiredStep, key: str, field: Field, *, is_required: bool) -> None:
        """Give a read the store's key of its name: the place of the latest write of that name, or else an input."""
        if wired.step.batch is not None and key == wired.step.batch.item:
            wired.sources[key] = PathSource((key,))
            return
        if "explicit" in field.marks:
            self._add_input_of_step(wired, key, field)
            return
        found = find_writes(self.wired, wired.id, (key,))
        places = tuple(dict.fromkeys(place for place, write in found if place[: len(write.target)] == write.target))
        if places and places != ((key,),):
            wired.sources[key] = _place_source(places)
            wired.sources[key].is_optional = True
        is_there = found and are_there_first(self.wired, wired.id, [write for _, write in found])
        # A flow that declares inputs has only those: PF03 then reports the read.
        if is_there or (self.flow.inputs and key not in self.flow.inputs):
            return
        is_required = is_required and key not in wired.step.params
        self._add_reader(self._input(key, field), wired, key, field.flags, is_required=is_required)

    def _add_input_of_step(self, wired: WiredStep, key: str, field: Field) -> None:
        """Make an input for an `[explicit]` read that nothing fills; no other step can take it."""
        if key in wired.step.params:
            return
        name = key if key not in self.inputs else f"{wired.id}.{key}"
        needed = self._input(name, field)
        needed.path, needed.required, needed.step, needed.read = wired.data_place(key), field.required, wired.id, key
        self._add_reader(needed, wired, key, field.flags, is_required=False)

    def _find_pipe_reader(self) -> None:
        """Let the `[pipe]` read of the first step take the data from the pipe, if nothing else fills it."""
        first = self.steps.get(self.wired.graph.first or "")
        read = first.interface.pipe_read if first else None
        if first is None or any(each.pipe for each in self.inputs.values()):
            return
        self.wired.runs_over_pipe = first.over is not None and first.over.paths == (("stdin",),)
        if read is None or self.wired.runs_over_pipe:
            return
        # Seed 000 maps a read to its own name; the pipe fills it nevertheless.
        is_named = first.step.params.get("input_key") == read.name
        if first.is_wired(read.name) and not is_named:
            return
        self.wired.first_read = (first.id, read.name)
        if read.name in self.flow.inputs:
            self.inputs[read.name].pipe = True


def _declared(flow: FlowSpec, name: str) -> FlowInput:
    written = flow.inputs[name]
    # PF00 reports a text that is no type.
    type, _ = result_of(parse_type, written.type, of=ValueError, otherwise=(Type("any"), 0))
    said = {fact: getattr(written, fact) for fact in ("required", "pipe", "default", "has_default")}
    return FlowInput(name, (name,), type, doc=written.description, declared=True, **said)


def _is_one_path(expr: Expression) -> bool:
    """Return True if an expression is just one path: then the value there must have the read's type."""
    if expr.role == MAPPING:
        return not expr.is_template
    return expr.role == INPUT and isinstance(expr.written, str) and is_reference(expr.written)


def _place_source(places: tuple[Path, ...]) -> Source:
    return PathSource(places[0]) if len(places) == 1 else AlternativeSource(places)
