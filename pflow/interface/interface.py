"""A node's interface: its reads, writes, params, actions and effects."""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any, Collection, Iterable, Mapping
from pflow.values.types import Type

if TYPE_CHECKING:
    from typing import Self

UNDECLARED = object()
"""The `default` of a field that has none."""

UNLESS = "unless "
"""The beginning of a Repeats line that depends on a param."""

IS = " is "
"""The separator in that line between the param and the values."""

ONE_OF = "one of "
"""The beginning of an Actions line whose actions are the items of the list in a read."""

IMPLIES = "implies "
"""The beginning of a mark by which a flag for the field sets another param too: `implies method=POST`."""

FORMS = ("schema", "sql", "place", "regex", "positive", "natural", "delimiter", "pairs", "types", "web")
"""Marks of values that have a form: a constant of a flow is checked before it runs."""

AS_IT_IS = "as it is"
"""The mark of a flow's read that converts only flags: other values go unchanged to reads of different types."""

COMMANDS = ("command", "allowed_tools", "expect", "load_settings")
"""Names of reads and params that decide which commands a node runs."""

LIMITS = ("model", "max_budget")
"""Names of params that decide which model a node asks, and for how much."""


ANYTHING = "anything"
"""The effect of a node that may have any effect, such as a node without an interface."""

READ, WRITE, PARAM, INPUT, REFUSED = "read", "write", "param", "input", "refused"
OPTION, COMMON_FLAG, ARGUMENT = "option", "common", "argument"
"""The kinds of fields. A node or flow has reads, writes, params, inputs, and fields that only say why a flag is
refused. A command has its own flags (OPTION), those of every stage or run (COMMON_FLAG), and bare words (ARGUMENT)."""


class Field:
    """One read, write, param or flag: its name, type, default (UNDECLARED without one), marks and description.

    `letter` is its short flag; with the mark `pairs`, a name and a value follow it as two words. `metavar` names its
    value. A switch with `word` also takes that word after an = (in capitals, it stands for any text); a list with
    `word` may also have no value. `least` and `most` are the range of a number. `tab` and `choices` tell TAB what its
    value may be, if its type does not. `excludes` are the flags that cannot be used with it. `refused` is set if the
    flag is always an error: the words after "cannot take --NAME", and the hint.
    """

    letter = env = doc = metavar = word = tab = typed = ""
    default: Any = UNDECLARED
    choices: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    refused: tuple[str, str] | None = None
    least: float | None = None
    most: float | None = None
    is_declared = False
    """True for an input that a flow declares: other data is converted as the text of its flag is."""

    def __init__(self, kind: str, name: str, type: Type, **facts: Any) -> None:
        self.kind = kind
        self.name = name
        self.type = type
        self.marks: set[str] = set()
        self.flags: list[str] = []
        if facts:  # attributes are read faster than members of a second dict
            self.__dict__.update(facts)

    def but(self, **facts: Any) -> Self:
        """Return a copy in which these facts replace its own."""
        made = object.__new__(self.__class__)
        made.__dict__ = {**self.__dict__, **facts}
        return made

    @property
    def required(self) -> bool:
        return self.default is UNDECLARED

    @property
    def is_secret(self) -> bool:
        """True if no message, log or page shows its value."""
        return "secret" in self.marks

    @property
    def is_stored(self) -> bool:
        """True if the value of its flag goes into the store."""
        return not (self.is_secret or "own" in self.marks)

    @property
    def is_textual(self) -> bool:
        """True if it takes any text, so that a template of one reference equals the path in it."""
        return self.type.name in ("str", "any", "path", "bytes", "choice")

    @property
    def is_template(self) -> bool:
        """True for a template that the node only fills and passes on: nothing later would notice a mistake in it."""
        return self.name == "template" and not self.is_stored

    @property
    def decides_effect(self) -> bool:
        """True if its value decides what a node touches."""
        is_named = self.name in ("url", *COMMANDS, *LIMITS) or "GET" in self.type.choices
        return (self.type.is_path or self.type.is_url or is_named) and not self.is_secret

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its flag as typed, its letter first; for a secret, which has no flag, its plain name."""
        if self.is_secret:
            return (self.name,)
        letter = (f"-{self.letter}",) if self.letter else ()
        return letter + tuple(map(spell_flag, [self.name, *self.flags])) if self.kind != ARGUMENT else ()

    @property
    def flag(self) -> str:
        """The flag that a person would type: `typed` if set, else the shortest name."""
        return self.typed or spell_flag(min([self.name, *self.flags], key=len))


SWITCH, TEXT, COUNT, NUMBER, TEXTS = Type("bool"), Type("str"), Type("int"), Type("float"), Type("list")
PATH = Type("path")
PATHS = Type("list", items=PATH)


class Flag(Field):
    """A flag that belongs to no node: one of a command, of every stage, or of every run.

    `of` says who takes a common flag in a flow, `fd` which stream the flag is about (0 or 1).
    """

    of = ""
    fd: int | None = None

    def __init__(self, name: str, doc: str = "", *, kind: str = OPTION, type: Type = SWITCH, **facts: Any) -> None:
        super().__init__(kind, name, type, **{"default": None, "doc": doc, **facts})


def argument(metavar: str, tab: str = "", *, name: str = "", required: bool = False, **facts: Any) -> Flag:
    """Return the field for a bare word of a command, or for several (a list), named as in the synopsis."""
    about = {"type": TEXT, "default": UNDECLARED if required else None, "marks": {"word"}, **facts}
    return Flag(name or metavar.lower(), kind=ARGUMENT, metavar=metavar, tab=tab, **about)


def choice(*choices: str) -> Type:
    return Type("choice", choices=choices)


def by_name(fields: Iterable[Field]) -> dict[str, Field]:
    """Return the fields by each name of their flags."""
    return {name.replace("-", "_"): field for field in fields for name in [field.name, *field.flags]}


def spell_flag(name: str, on: bool = True) -> str:
    """Spell a name as a flag: `max_visits` as `--max-visits`, or as `--no-max-visits` unless it is `on`."""
    return ("--" if on else "--no-") + name.replace("_", "-")


def flag_word(name: str, value: Any) -> str:
    """Write a flag with its value as one word: `--x`, `--no-x`, or `--x=VALUE`."""
    return spell_flag(name, value) if isinstance(value, bool) else f"{spell_flag(name)}={value}"


class Interface:
    """The declarations of a node.

    `repeats` says if the node may run again without harm: `yes`, `no`, `unless PARAM` (if the param is not set) or
    `unless PARAM is VALUE, VALUE` (if it has another value). An interface is `open` if the docstring declares none: any
    key and param may pass, and the fields here come from the code. `fault` is an ignored error in the docstring's
    interface. `inferred` is True if the `[pipe]` marks, or all fields, were inferred.
    """

    def __init__(self) -> None:
        self.summary = ""
        self.description = ""
        self.reads: dict[str, Field] = {}
        self.writes: dict[str, Field] = {}
        self.params: dict[str, Field] = {}
        self.actions: tuple[str, ...] = ("default",)
        self.declares_actions = False
        self.actions_doc = ""
        self.effects: tuple[str, ...] = ()
        self.repeats = "no"
        self.version = ""
        self.flow_safe = False
        self.examples: tuple[str, ...] = ()
        self.open = True
        self.inferred = False
        self.fault = ""

    @property
    def pipe_read(self) -> Field | None:
        return piped(self.reads)

    @property
    def pipe_write(self) -> Field | None:
        return piped(self.writes)

    @property
    def may_carry_any(self) -> bool:
        """True if only a run shows what the node writes, and so what the pipe carries after it."""
        return self.open and not self.writes

    @property
    def may_take_stdin(self) -> bool:
        """True if the node may use stdin although no read takes it, since its reads are not known."""
        return self.open and self.pipe_read is None

    def read_fed(self, key: Any) -> Field | None:
        """Return the read that the pipe fills from a key: the `[pipe]` read; if inferred, one named so comes first."""
        named = self.reads.get(key) if self.inferred else None
        return named if named is not None and "explicit" not in named.marks else self.pipe_read

    @property
    def touches(self) -> tuple[str, ...]:
        """The effects; `anything` for an open interface, which declares none."""
        return (ANYTHING,) if self.open else self.effects

    @property
    def taken(self) -> list[Field]:
        """The reads and params."""
        return [*self.reads.values(), *self.params.values()]

    @property
    def fields(self) -> dict[str, Field]:
        """The reads and params, by each name of their flags."""
        return by_name(self.taken)

    def field(self, key: str) -> Field | None:
        """Return the read of this name, else the param, else None."""
        return self.reads.get(key) or self.params.get(key)

    def fills_no_read(self, key: str) -> bool:
        """Return True if a param of this name fills no read. An open node's code handles an absent optional key."""
        return key not in self.reads or (self.open and not self.reads[key].required)

    def is_verbatim(self, key: str) -> bool:
        """Return True if the read or param of this name takes no template."""
        field = self.field(key)
        return field is not None and "verbatim" in field.marks

    @property
    def secrets(self) -> list[Field]:
        """The reads and params that are secret."""
        return [field for field in self.taken if field.is_secret]

    @property
    def secret_flags(self) -> set[str]:
        """All names and flags of the secrets that the node takes."""
        return {name for field in self.secrets for name in (field.name, *field.flags)}

    @property
    def secret_writes(self) -> set[str]:
        """The keys of the secrets that the node writes."""
        return {field.name for field in self.writes.values() if field.is_secret}

    @property
    def has_secrets(self) -> bool:
        return bool(self.secrets or self.secret_writes)

    @property
    def effect_fields(self) -> dict[str, Field]:
        """The params and reads whose values decide what the node touches."""
        return {name: field for name, field in {**self.params, **self.reads}.items() if field.decides_effect}

    def default_of(self, field: Field, params: Mapping[str, Any]) -> Any:
        """Return the default of a field; `$NAME` at its end becomes that choice param's value, or its first choice."""
        before, name = self.split_default(field)
        return before + (params.get(name) or self.params[name].type.choices[0]) if name else field.default

    def split_default(self, field: Field) -> tuple[str, str]:
        """Split a default before the choice param at its end; return two empty texts if it has none."""
        before, _, name = field.default.rpartition("$") if isinstance(field.default, str) else ("", "", "")
        return (before, name) if name in self.params and self.params[name].type.choices else ("", "")

    def carried_of(self, writes: Iterable[str]) -> str | None:
        """Return the written key that the pipe carries on: the `[pipe]` write, or if that is a guess, the first one."""
        field, guesses = self.pipe_write, self.may_carry_any or self.inferred
        if field is not None and field.name in writes:
            return field.name
        stored = (key for key in writes if key not in self.writes or self.writes[key].is_stored)
        return next(stored, None) if guesses else None

    def may_repeat(self, params: Mapping[str, Any]) -> bool:
        """Return True if the node may run again without harm with these params."""
        if not self.repeats.startswith(UNLESS):
            return self.repeats == "yes"
        name, is_value, values = self.repeats.removeprefix(UNLESS).partition(IS)
        value = params.get(name)
        if not is_value:
            return not value
        return value in self.params[name].type.choices and value not in values.split(", ")

    @property
    def repeats_in_words(self) -> str:
        if self.repeats == "no":
            return "no: after it was cut short, it may do harm to run it again"
        name, *values = self.repeats.replace(UNLESS, "yes, unless --").split(IS)
        return f"{IS.join([name.replace('_', '-'), *values])}: after it was cut short, it is safe to run it again"

    def implied(self, given: Mapping[str, Any]) -> dict[str, str]:
        """Return the params that given reads and params imply, by name; null and an empty list imply nothing."""
        fields = {**self.params, **self.reads}
        marks = [fields[key].marks for key in given if key in fields and given[key] not in (None, [])]
        implied = [mark.removeprefix(IMPLIES).split("=") for mark in set().union(*marks) if mark.startswith(IMPLIES)]
        return {name: value for name, value in implied if name in self.params and name not in given}

    def defaults(self) -> dict[str, Any]:
        """Return the declared defaults of params; inferred ones are left to the code."""
        known = {} if self.open else self.params
        return {name: fresh(field.default) for name, field in known.items() if not field.required}

    def infer_pipe(self) -> None:
        """If no field has the mark [pipe], mark the first write and the first required read.

        In an interface inferred from code the read may be optional.
        """
        if self.pipe_read or self.pipe_write:
            return
        reads = [field for field in self.reads.values() if field.is_stored and "explicit" not in field.marks]
        required = [field for field in reads if field.required]
        writes = [field for field in self.writes.values() if field.is_stored]
        for item in [*(required or (reads if self.open else ()))[:1], *writes[:1]]:
            item.marks.add("pipe")
            self.inferred = True


def fresh(value: Any) -> Any:
    """Copy a JSON value, so that changing it leaves the default alone."""
    if isinstance(value, list):
        return [item if item.__class__ in _FLAT else fresh(item) for item in value]
    if isinstance(value, dict):
        return {key: item if item.__class__ in _FLAT else fresh(item) for key, item in value.items()}
    return value


_FLAT = frozenset([str, int, float, bool, None.__class__])
"""Types that need no copy: skipping the call for their values takes half the time."""


def piped(fields: dict[str, Field]) -> Field | None:
    return next((field for field in fields.values() if "pipe" in field.marks), None)


def word_reads(reads: Mapping[str, Field]) -> list[Field]:
    """Return the reads that bare words fill, in order; a list is last and takes the rest."""
    return list({field.name: field for field in reads.values() if "word" in field.marks}.values())


def with_keys(interface: Interface, params: Mapping[str, Any], mapped: Collection[Any] = ()) -> Interface:
    """Add to an open interface the keys that its params name: `input_key` and `output_key`, or the members of
    `input_bindings` and `output_bindings`. Their names become flags too, unless the key is `mapped` already.

    The first read and write get the mark [pipe] unless another item has it.
    """
    if not interface.open:
        return interface
    made = Interface()
    made.__dict__.update(interface.__dict__, reads={**interface.reads}, writes={**interface.writes}, inferred=True)
    for kind, fields, way in (("read", made.reads, "input"), ("write", made.writes, "output")):
        bound = params.get(f"{way}_bindings")
        for flag, key in {"": params.get(f"{way}_key"), **(bound if isinstance(bound, dict) else {})}.items():
            is_key = isinstance(key, str) and (key.isidentifier() or (kind == "write" and "$" not in key and not flag))
            if is_key and key not in fields and not (flag and key in mapped):
                marks, flags = set() if piped(fields) else {"pipe"}, [flag] if flag not in ("", key) else []
                fields[key] = Field(kind, key, Type("any"), marks=marks, flags=flags)
    is_more = len(made.reads) + len(made.writes) > len(interface.reads) + len(interface.writes)
    return made if is_more else interface
