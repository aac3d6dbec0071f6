"""Bind each read and param of a node to its source. Only this module knows the order of the rules."""

from __future__ import annotations

import os

from pflow import Any, Collection, Iterator, Mapping
from pflow.binding.flag_value import BoundField
from pflow.binding.sources import Constant, PathSource, Source, TemplateSource, chosen_by_lead, is_blank
from pflow.binding.store import FOUND, INPUT_KEY, OWN, NodeStore, named_place
from pflow.errors import BAD_CONFIG, BAD_DATA, MISSING, Ignoring, PflowError, node_error
from pflow.files.beneath import check_in_bounds, is_confined
from pflow.interface.common import ALLOW_EMPTY
from pflow.interface.interface import Field, Interface, fresh, spell_flag
from pflow.values.jsontext import path_value
from pflow.values.paths import Path, are_nested, write_path
from pflow.values.types import from_text

Places = dict[str, tuple[str, ...]]
"""The places that the value of each read came from; empty for a constant of the flow."""

FLAG, MAPPING, PIPE, STORE, PARAM, DEFAULT, NOTHING = "flag", "mapping", "pipe", "store", "param", "default", "nothing"


def rule_of(field: Field, has: Mapping[str, Collection[str]]) -> str:
    """Return the rule that gives a read: the first whose `has[rule]` names it, else DEFAULT, or NOTHING if required."""
    for rule in (FLAG, MAPPING, PIPE, STORE, PARAM):
        if field.name in has.get(rule, ()) and not (rule == STORE and "explicit" in field.marks):
            return rule
    return NOTHING if field.required else DEFAULT


def nothing_gives(field: Field) -> PflowError:
    about = f" ({field.doc})" if field.doc else ""
    what = "the param " if field.kind == "param" else ""
    return PflowError(
        f"cannot find {what}'{field.name}'{about}: nothing gives it", hint=f"{field.flag}=…", exit=MISSING
    )


def failure_in(node: str, interface: Interface, error: BaseException) -> PflowError:
    """Return the error for an exception in a node; the hint names the flag if a KeyError has a param's name."""
    found, field = node_error(node, error), None
    if isinstance(error, KeyError) and not isinstance(error, PflowError) and error.args:
        field = interface.params.get(str(error.args[0]))
    if field is not None:
        found.hint = f"{field.flag}=… gives the param of that name; {found.hint}"
    return found


_SWITCH = {"1": "true", "0": "false"}
"""Other spellings of a bool in an environment variable."""


def from_environment(field: Field) -> Any:
    """Return the value of a param's `[env]` variable. Raises PflowError (78) if it does not fit the type."""
    text = os.environ[field.env]
    try:
        return from_text(field.type, _SWITCH.get(text, text) if field.type.name == "bool" else text)
    except ValueError as error:
        fault = PflowError(f"cannot take {field.env}='{text}': {error}", exit=BAD_CONFIG)
        if field.is_secret:
            from pflow.values.secrets import masked

            masked(fault, text)
        raise fault from None


def environment(interface: Interface, given: Collection[str]) -> dict[str, Any]:
    """Return the values that environment variables give to params that are not `given`. Raises PflowError (78)."""
    fields = (field for key, field in interface.params.items() if field.env and key not in given)
    return {field.name: from_environment(field) for field in fields if os.environ.get(field.env)}


class Binding:
    """Finds the values of one node's reads and params.

    `flags` and `mappings` are the sources of reads, `carried` of the `[pipe]` read, `params` of params and of the reads
    that they stand in for. `overrides` replace params. The values at `pretended` places are unknown: a dry stage would
    have written them.
    """

    def __init__(
        self, interface: Interface, *, flags: Mapping[str, Source], mappings: Mapping[str, Source],
        params: Mapping[str, Source], carried: PathSource | None = None,
        overrides: Mapping[str, Any] | None = None, pretended: Collection[Path] = (),
    ) -> None:  # fmt: skip
        self.interface = interface
        self.has_secrets = interface.has_secrets
        self.hidden = {field.name for field in interface.reads.values() if "explicit" in field.marks}
        pipe = interface.pipe_read
        feed: dict[str, Source] = {}
        if carried is not None and (fed := interface.read_fed(carried.path[-1])):
            used = [path for source in [*flags.values(), *params.values()] for path in source.paths]
            if carried.path == (fed.name,) and fed is not pipe:
                pass  # the store's own key is found without a source, and may be missing
            elif not any(are_nested(path, carried.path) for path in used):
                feed[fed.name] = carried
            elif fed is pipe:
                self.hidden.add(fed.name)
        self.has: dict[str, Collection[str]] = {FLAG: flags, MAPPING: mappings, PIPE: feed, PARAM: params}
        self.param_sources = params
        self.sources: dict[str, Source] = {**feed, **mappings, **flags}
        self.hidden -= self.sources.keys()
        for key in [key for key, field in interface.reads.items() if "beside" in field.marks]:
            own = self.sources.get(key, PathSource((key,)))
            table = self.sources.get(name := pipe.name if pipe else "rows", PathSource((name,)))
            if key not in flags and {*table.paths} != {(*path[:-1], "rows") for path in own.paths}:
                self.sources.pop(key, None)
                self.hidden.add(key)
        self.pretended = pretended
        self.stored = [key for key in flags if is_stored(interface, key, params)]
        self._refuse_templates()
        self._bind_reads()
        self.params: dict[str, Any] = {}
        self.bound_params: list[BoundField] = []
        self._find_constant_params(params, overrides or {})
        self.stand_ins: dict[str, Any] = {}
        self.late_stand_ins: list[BoundField] = []
        """Params with templates that stand in for reads."""
        for field in interface.reads.values():
            self._set_stand_in(field, params.get(field.name))
        self.bound_fields = {bound.key: bound for bound in [*self.by_name, *self.late_stand_ins, *self.bound_reads]}
        self._check_paths(interface.params, self.params)

    def _refuse_templates(self) -> None:
        """Raise PflowError (65) for a template in a `[verbatim]` read, such as a command."""
        for key, source in self.sources.items():
            if isinstance(source, TemplateSource) and self.interface.is_verbatim(key):
                hint = "values go in as arguments, or on stdin"
                raise PflowError(f"cannot fill '{key}' with a template: it is verbatim", hint=hint, exit=BAD_DATA)

    def _bind_reads(self) -> None:
        reads, sources = self.interface.reads, self.sources
        self.bound_reads = [
            BoundField(key, source, reads.get(key), is_mapped=key in self.has[MAPPING])
            for key, source in sources.items()
            if not self.is_pretended(source.paths)
        ]
        by_name = [field for key, field in reads.items() if key not in sources and not self.is_pretended([(key,)])]
        self.by_name = [
            BoundField(field.name, PathSource((field.name,)), field)
            for field in by_name
            if field.type.name != "any" and field.name not in self.hidden
        ]
        self.needed = [field for field in by_name if field.required]
        self.needed += [reads[key] for key, source in sources.items() if source.is_optional and reads[key].required]

    def is_pretended(self, paths: Collection[Path]) -> bool:
        return any(are_nested(path, place) for path in paths for place in self.pretended)

    def _find_constant_params(self, params: Mapping[str, Source], overrides: Mapping[str, Any]) -> None:
        """Set the params that are known now. Params with a template get their values when the node runs."""
        known = self.interface.params
        found = {**self.interface.defaults(), **environment(self.interface, params)}
        self.params = {key: found[key] for key in known if key in found and key not in params}
        for key, source in params.items():
            if key in overrides or self.is_pretended(source.paths):
                continue
            bound = BoundField(key, source, None if self.interface.open else known.get(key))
            if isinstance(bound.source, Constant):
                self.params[key] = bound.source.value
            else:
                self.bound_params.append(bound)
        self.params.update(overrides)
        missing = [field for key, field in known.items() if field.required and key not in {**self.params, **params}]
        self.unset = missing if self.interface.open else []  # a declared class may set defaults in its code

    def _set_stand_in(self, field: Field, source: Source | None) -> None:
        """Set the value of a read that no earlier rule gives: a param, else its default."""
        if self.interface.fills_no_read(field.name):
            return
        if isinstance(source, Constant):
            self.stand_ins[field.name] = BoundField(field.name, source, field).find({})
        elif source is not None:
            self.late_stand_ins.append(BoundField(field.name, source, field))
        elif not field.required and field.default is not None:
            self.stand_ins[field.name] = fresh(field.default)

    @property
    def is_plain(self) -> bool:
        """True if every value is the store's own key of that name, whatever its type."""
        finds = self.bound_reads or self.bound_params or self.late_stand_ins
        return not (finds or self.hidden or self.by_name or self.stand_ins or self.refuses_empty)

    def is_watched(self, key: str) -> bool:
        """Return True if changing this key's value in place is a write: if the node may write the key, or is open."""
        return self.interface.open or key in self.interface.writes

    def open(self, store: Any) -> NodeStore:
        """Open the store as the node sees it. Raises PflowError: 66 if a value is missing, 65 if it does not fit."""
        found: dict[str, Any] = {}
        for bound in self.bound_reads:
            try:
                found[bound.key] = bound.find(store)
            except PflowError as error:
                if not (bound.source.is_optional and error.exit == MISSING):
                    raise
        for named in self.bound_params:
            if named.key == INPUT_KEY:  # a template names the key to read, so the key is known only now
                key = str(named.find(store))
                self.bound_fields[key] = BoundField(key, PathSource(named_place(key)), None)
                found[key] = self.bound_fields[key].find(store)
        for bound in self.late_stand_ins:
            if bound.key not in found and (bound.key in self.hidden or bound.key not in store):
                found[bound.key] = bound.find(store)
        for bound in self.by_name:  # most values are of exactly their type and need no check
            if bound.key in store and (value := store[bound.key]).__class__ is not bound.exact:
                value = bound.fitted(value)
                if value is not None:
                    found[bound.key] = value
        view = NodeStore(store, found, self.stand_ins, self.hidden)
        for field in self.needed:
            if field.name not in view:
                raise nothing_gives(field)
        for field in self.unset:
            raise nothing_gives(field)
        self._check_paths(self.interface.reads, view)
        if self.refuses_empty:
            self._refuse_empty(view, store)
        return view

    @property
    def refuses_empty(self) -> bool:
        return self.params.get(ALLOW_EMPTY) is False

    def _refuse_empty(self, view: NodeStore, store: Any) -> None:
        """Refuse empty and blank data: the value of the `[pipe]` read, or if it has none, all values in templates.

        A text that a person wrote may be empty. Raises PflowError (66).
        """
        key = self.interface.pipe_read.name if self.interface.pipe_read else ""
        source = self.sources.get(key, PathSource((key,)))
        data: dict[str, Any] = {}
        if not isinstance(source, Constant | TemplateSource) and view.is_given(key):
            data = {source.origin: view.peek(key)}
        else:
            for template in [each.source for each in self.bound_reads if isinstance(each.source, TemplateSource)]:
                data |= {write_path(path): each.find(store) for path, each in template.sources.items()}
        if data and all(map(is_blank, data.values())):
            what = f"'{next(iter(data))}' is empty: did what wrote it fail?"
            raise PflowError(what, hint=f"{spell_flag(ALLOW_EMPTY)} takes it", exit=MISSING)

    def _check_paths(self, fields: Mapping[str, Field], values: Mapping[str, Any]) -> None:
        """Refuse a path that is out of bounds, if the run has bounds. Raises PflowError (77)."""
        if not is_confined():
            return
        for key, field in fields.items():
            if field.type.is_path and key in values:
                check_in_bounds(values[key])

    def data(self, found: dict[str, Any]) -> dict[str, Any]:
        """Return the values of data flags that go into the store, without nulls that leave a read unset."""
        reads = self.interface.reads
        return {
            key: _as_stored(reads.get(key), found[key])
            for key in self.stored
            if key in found and not (found[key] is None and key in reads and reads[key].default is None)
        }

    def secrets(self, store: Any) -> Iterator[Any]:
        """Yield the secrets that the node will find; for a template, also each value in it."""
        for field in self.interface.secrets:
            named = self.param_sources.get(field.name)
            found = self.sources.get(field.name) or PathSource((field.name,)) if field.kind == "read" else None
            for source in filter(None, (named, found)):
                yield from _secrets_in(source, store)
            value = self.params.get(field.name)
            if field.required or value != field.default:  # the help shows defaults, so a default is not secret
                yield value

    def origins(self, view: NodeStore, store: Any) -> Places:
        """Return where each value that the node read, and each param with a template (`params.NAME`), came from."""
        found = {f"params.{bound.key}": bound.origins(store) for bound in self.bound_params}
        bound_reads = self.bound_fields
        for key, rule in view.reads.items():
            if rule == OWN:
                found[key] = (write_path((key,)),)
            else:
                found[key] = bound_reads[key].origins(store) if rule == FOUND and key in bound_reads else ()
        return found

    def origins_in_words(self, keys: Collection[str]) -> dict[str, str]:
        """Return where each read comes from in a store with these keys, without reads that a param or default gives."""
        found = {}
        there = {**self.has, STORE: set(keys) - self.hidden}
        for name, field in self.interface.reads.items():
            rule = rule_of(field, there)
            if rule in (FLAG, MAPPING, PIPE):
                found[name] = self.sources[name].origin
            elif rule == STORE:
                found[name] = name
        return {**found, **{name: source.origin for name, source in self.sources.items() if name not in found}}

    def places(self) -> list[Path]:
        """Return every place that its values may come from."""
        sources = [*self.sources.values(), *self.param_sources.values()]
        return [*(path for source in sources for path in source.paths), *((key,) for key in self.interface.reads)]

    def source_of(self, key: str) -> Source | None:
        """Return the source that the flow, or a flag, gives for a read or a param."""
        return self.sources.get(key) or self.param_sources.get(key)

    def led_by_data(self, key: str) -> str:
        """Return which part of a path or URL data chooses: by a mapping, or a template that begins with a reference."""
        field, source = self.interface.field(key), self.source_of(key)
        leads = source.leads() if isinstance(source, TemplateSource) else source and source.paths
        return chosen_by_lead(field) if leads else ""

    def find_params(self, store: Any) -> Any:
        """Return all params, with templates filled in."""
        found = fresh(self.params)
        for bound in self.bound_params:
            found[bound.key] = bound.find(store)
        self._check_paths(self.interface.params, found)
        return found


def _secrets_in(source: Source, store: Any) -> Iterator[Any]:
    for each in [source, *(source.sources.values() if isinstance(source, TemplateSource) else ())]:
        with Ignoring(PflowError):  # a missing secret stops the node later, with an error that names the place
            yield each.find(store)


def is_stored(interface: Interface, key: str, params: Collection[str]) -> bool:
    """Return True if a data flag also goes into the store. An unknown flag that may be a param does not."""
    field = interface.reads.get(key)
    return key not in params if field is None else field.is_stored


def _as_stored(field: Field | None, value: Any) -> Any:
    """Return a data flag's value as the store holds it: a path that is not UTF-8 becomes bytes."""
    is_path = field is not None and field.type.name == "path" and isinstance(value, str)
    return path_value(value) if is_path else value
