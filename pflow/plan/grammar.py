"""The grammar of a plan: the lines of pipe syntax that a model may write for a sentence, as GBNF of llama.cpp."""

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from pflow.errors import result_of
from pflow.flow.pipe.scan import quote
from pflow.flow.wired import item_reader
from pflow.interface.common import ALLOW_EMPTY
from pflow.interface.interface import LIMITS, Interface, Item, spell_flag
from pflow.library.nearest import words
from pflow.plan.declare_inputs import is_named
from pflow.plan.meaning import values

_LINES = r"""
root ::= "cannot: " [^\x00-\x1f\x7f]+ | line
line ::= begin ( sep go4 )? | join ( sep go1 )? | branch
begin ::= first | paths0 sep pathgroup | texts0 sep textgroup | texts0 sep data ( sep data )?
go ::= step | paths1 sep pathgroup | texts1 sep textgroup | texts1 sep data ( sep data )?
then ::= first | step
go4 ::= go ( sep go3 )?
go3 ::= go ( sep go2 )?
go2 ::= go ( sep go1 )?
go1 ::= go ( sep go )?
pathgroup ::= "( " pathitem ( sep pathstep ( sep pathstep ( sep pathstep )? )? )? " ) --each" | pathitem " --each"
textgroup ::= "( " textitem ( sep textstep ( sep textstep )? )? " ) --each" | textitem " --each"
sep ::= " => "
qa ::= [^\x00-\x20\x7f'$>\\=|;:(){}&<-]
da ::= [^\x00-\x20\x7f"$>\\=|;:(){}&<-]
qc ::= [^\x00-\x1f\x7f'$>\\]
dc ::= [^\x00-\x1f\x7f"$>\\]
t0 ::= ( qa qc* )?
t ::= qc*
prose ::= "'" qa qc* "'" | "\"" da dc* "\""
cc ::= [^\x00-\x1f\x7f'=] | "=" [^\x00-\x1f\x7f'>]
command ::= "'" [A-Za-z0-9_./~([{] cc* "'" | "\"" [A-Za-z0-9_./~([{] dc* "\""
sql ::= "'" qa [^\x00-\x1f\x7f'$\\]* "'" | "\"" da [^\x00-\x1f\x7f"$\\]* "\""
short ::= "'" [A-Za-z0-9] [A-Za-z0-9 ,.!?+_-]* "'"
each ::= "'$item'"
name ::= [a-z0-9] [a-z0-9_-]*
end ::= "." [a-z] [a-z0-9]*
"""
"""The rules that are the same for all. A text begins with no separator and has no reference. Below, what names a rule
that the nodes or the sentence do not have is left out."""

_PROSE = frozenset(("prompt", "system", "criteria", "subject", "body", "message", "question", "style", "template",
                    "content", "title", "text"))  # fmt: skip
"""Names of items that take sentences; what another text item takes is in the sentence, or short."""

_ENDS = frozenset(["content", "message", "body"])
"""Names of reads whose text ends up in a file, a mail, a commit: it may be one that the sentence has."""

_PROMPTS = ("prompt", "template")
_UNSAYABLE = frozenset(["schema", "pairs", "types", "beside", "delimiter", "verbatim"])
_FORM = re.compile(r"'?[A-Z]+[=:]")
"""The beginning of what a flag with a form of its own says of itself: `OLD=NEW`."""

_PERSONS = frozenset([*LIMITS, ALLOW_EMPTY, "allow_no_answer", "load_settings", "continue", "conversation"])
"""Items that a person chooses, besides those that a variable of the environment gives."""

_OWN_RULES = {**dict.fromkeys(["to", "cc", "mail", "email", "recipient", "address"], "mail"), "pattern": "glob"}
_OWN_RULES |= {"query": "sql", "sql": "sql"} | {
    name: name for name in ("command", "encoding", "repo", "revision", "channel", "language")
}

_INTO = re.compile(
    r"""(\b(to|into|onto|as|write|save|create|named|called)|\b(write|save|store|put|append|add)\b[^.;]*\bin)
    \s+((an?|the|new|file|it)\s+)*['"`]?$""",
    re.IGNORECASE | re.VERBOSE,
)
"""What stands before a file that is written, unless two are compared or the sentence is a question."""

_PIPED = re.compile(r"\b(pipe[ds]?|stdin|input|comes? in|incoming)\b", re.IGNORECASE)
_MOST_PAIRS = 40
"""How many pairs of answers one step may take; each is a rule."""


def plan_grammar(
    kinds: Mapping[str, Interface], sentence: str, *, is_piped: bool = False, is_strict: bool = True
) -> str:
    """Return the grammar of a plan for a sentence: one line in pipe syntax with these nodes, or "cannot: WHY".

    Without `is_piped` the first step has its data in its flags, unless the sentence speaks of a pipe. With `is_strict`
    a file that the sentence reads is not written, nor the other way round, and of two files each step has an id.
    """
    rules = _Grammar(kinds, sentence, is_piped or _PIPED.search(sentence) is not None, is_strict).rules
    before = 0
    while before != (before := len(rules)):
        kept = {name: [each for each in bodies if rules.keys() >= _names(each)] for name, bodies in rules.items()}
        rules = {name: bodies for name, bodies in kept.items() if bodies}
    return "\n".join(f"{name} ::= {' | '.join(dict.fromkeys(bodies))}" for name, bodies in rules.items()) + "\n"


def _names(body: str) -> set[str]:
    """Return the names of the rules in a body."""
    return {*re.findall(r"[a-z][a-z0-9-]*", re.sub(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]', " ", body))}


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _typed(texts: Iterable[str], bare: str = r"[\w./~#@:%&+,-]+") -> list[str]:
    """Return these values as a person types them, quoted if they are not `bare`; none is a template."""
    plain = [text for text in texts if text.isprintable() and not set(text) & set("$\\")]
    quoted = (f"'{text}'" if "'" not in text else quote(text) for text in plain)
    pairs = zip(plain, quoted, strict=True)
    return [_literal(text if re.fullmatch(bare, text, re.ASCII) else other) for text, other in pairs]


def _value_rules(sentence: str, is_strict: bool) -> dict[str, list[str]]:
    """Return the rules of values: those that a sentence has, by kind, and names of new files."""
    said: dict[str, list[str]] = {"path": [], "url": [], "number": []}
    for kind, text in values(sentence):
        said.setdefault(kind, []).append(text)
    paths = said["path"]
    bare = [word for word in dict.fromkeys(each.strip(".,;:?!()'\"`") for each in sentence.split()) if words(word)]
    numbers = [text.replace(",", "") for text in said["number"]]
    numbers += [str(number) for number in range(13) if is_named(sentence, number)]
    free = [*_typed([*bare, *(word.capitalize() for word in bare if word.isalpha())]), "short"]
    return {
        **{kind: _typed(said[kind]) if kind in said else free for kind in ("mail", "channel")},
        "quoted": _typed(said.get("quoted", []), bare=""),
        "url": _typed(said["url"]),
        "directory": _typed([*paths, *(path.rstrip("/") for path in paths), *bare]),
        "int": _typed(filter(str.isdecimal, numbers)),
        "float": _typed(number for number in numbers if re.fullmatch(r"\d+(\.\d+)?", number)),
        "repo": _typed([*said["url"], *(path for path in paths if re.fullmatch(r"[\w.-]+/[\w.-]+", path))]),
        "revision": ['"HEAD"', *_typed(bare)],
        "encoding": _typed(word for word in bare if result_of(codecs.lookup, word, of=LookupError, otherwise=None)),
        "free": [*free, "quoted"],
        "language": ["[a-z] [a-z]", "free"],
        **_file_rules(sentence, paths, bare, is_strict=is_strict),
    }


def _file_rules(sentence: str, paths: list[str], bare: list[str], *, is_strict: bool) -> dict[str, list[str]]:
    """Return the rules of files that are read or written, of patterns, and of a file for each item of a batch."""
    files = [path for path in paths if not set(path) & set("*?") and path[-1] != "/"]
    is_read = not is_strict or re.search(r"\b(compar|diff|versus)|\?$", sentence, re.IGNORECASE) is not None
    written = [path for path in files if not is_read and _INTO.search(sentence[: sentence.index(path)])]
    read = [path for path in files if path not in written] or files
    plain = [path.rstrip("/") for path in [*paths, *bare] if re.fullmatch(r"[\w./~-]+", path)]
    near = " | ".join(dict.fromkeys(_literal(f"{path}/") for path in plain)) or 'name "/"'
    into = " | ".join(_literal(path) for path in paths if path.endswith("/") and path.rstrip("/") in plain)
    stems = [_literal(path.rpartition(".")[0]) for path in files if "." in path.rpartition("/")[2] and path in plain]
    new = [f'{stem} ( "-" name )? end' for stem in stems] or ["name end"]
    any_glob = f"""\"'" ( {near} )? ( "**/" )? ( name? "*" name? end? | name end ) "'\""""
    return {
        "file": _typed(read or filter(str.isalnum, bare)),
        "attached": _typed(read),
        "written": _typed(written or files) + (new if len(files) < 2 and not written else []),
        "glob": _typed(path for path in paths if set(path) & set("*?")) or [any_glob],
        "itempath": [f"""\"'" ( {into or 'name "/"'} )? "$item_" ( "name" | "stem" ( "-" name )? end ) "'\""""],
    }


class _Grammar:
    """The rules of a grammar: for each name the alternatives. Some may name rules that are not there."""

    def __init__(self, kinds: Mapping[str, Interface], sentence: str, is_piped: bool, is_strict: bool) -> None:
        fixed = (line.split(" ::= ", 1) for line in _LINES.strip().splitlines())
        self.rules = {name: body.split(" | ") for name, body in fixed} | _value_rules(sentence, is_strict)
        self.known = {name for name, bodies in self.rules.items() if bodies}
        self.kinds, self.is_piped = kinds, is_piped
        self.shared: dict[str, str] = {}
        self.keys: dict[str, list[str]] = {}
        self.data = [name for name, each in kinds.items() if _takes_data(each)]
        self.plain = {
            name: each for name, each in kinds.items() if name not in self.data and each.actions[0] == "default"
        }
        for name, interface in self.plain.items():
            if (write := interface.pipe_write) is not None and write.type.name in ("str", "any"):
                self.keys.setdefault(write.name, []).append(name)
        files = [path for path in self.rules["attached"] if f" in {path[1:-1]}" not in sentence]
        self._add_steps(is_many=is_strict and len(files) > 1)
        self._add_texts()
        self._add_branches()

    def add(self, name: str, bodies: Iterable[str]) -> None:
        self.rules[name] = [*self.rules.get(name, ()), *bodies]

    def rule(self, body: str) -> str:
        """Return the name of the rule with this body, which is one for all that have it."""
        name = self.shared.setdefault(body, f"n{len(self.shared)}")
        self.rules[name] = [body]
        return name

    def steps(self, names: Iterable[str], *, id: str = "", is_first: bool = True, over: str = "") -> list[str]:
        """Return the rules of a step with one of these nodes: the first or a later one, or one of a batch."""
        flags = [(name, self.flags(name, is_first=is_first, over=over)) for name in names]
        steps = [f"{_literal(name + id)} {each}".rstrip() for name, each in flags if each is not None]
        return steps if id else [*map(self.rule, steps)]

    def flags(self, name: str, *, is_first: bool, over: str = "", but: Item | None = None) -> str | None:
        """Return the rule of a node's flags: the required ones, then the others; None if it cannot stand there.

        The first step of a batch takes the item. Before all other first steps nothing comes through the pipe.
        """
        interface = self.kinds[name]
        filled, start = _filled(interface, over) if over and is_first else (interface.pipe_read, "")
        if over and filled is None:
            return None
        is_alone = is_first and not over and not self.is_piped
        required, piped, others = [start] if start else [], list[str](), list[str]()
        for item in interface.taken:
            if item is but or (over and is_first and item is filled) or _is_persons(item):
                continue
            is_piped = "pipe" in item.marks and not (is_first and (item.type.is_url or item.name == "prompt"))
            rule = self.piped(item, is_first and not over) if is_piped else _rule_of(item, interface, over)
            is_known = rule[:1] in ("(", '"') or rule in self.known
            flag = f"{_literal(f' {item.flag}=')} {rule}" if rule[:1] != '"' else rule
            is_source = item.name == "path" and "reads files" in interface.effects and is_alone
            is_required = (item.required or item.name == "prompt" or is_source) and (is_alone or not is_piped)
            if is_required and not is_known:
                return None
            if is_required or (is_known and not over):
                (others if not is_required else piped if is_piped else required).append(flag)
        body = " ".join([*required, *piped, *(f"( {flag} )?" for flag in others)])
        return self.rule(body) if body else ""

    def piped(self, item: Item, is_first: bool) -> str:
        """Return the rule of a text that the pipe would bring: any text that ends up somewhere, else a quoted one."""
        if item.type.name not in ("str", "any") or item.name not in _PROSE:
            return ""
        is_end = item.name in _ENDS
        return "prose" if is_end and is_first else "quoted" if is_end or is_first else ""

    def _add_steps(self, *, is_many: bool) -> None:
        """Add the steps of a line by what they take and write; of many files, those that read one have ids."""
        some = [name for name, each in self.plain.items() if not (is_many and _reads_one_file(each))]
        lists = {name: write.type.is_path for name, each in self.plain.items()
                 if (write := each.pipe_write) and write.type.name in ("list", "any")}  # fmt: skip
        self.add("data", self.steps(self.data, is_first=False))
        for at, rule in enumerate(("first", "step")):
            self.add(rule, self.steps(some, is_first=not at))
            for over in ("path", "text"):
                names = [name for name, is_path in lists.items() if is_path == (over == "path")]
                self.add(f"{over}s{at}", self.steps(names, is_first=not at))
                inside = [*self.plain, *self.data] if at else self.plain
                self.add(f"{over}{('item', 'step')[at]}", self.steps(inside, is_first=not at, over=over))

    def _add_texts(self) -> None:
        """Add texts made of earlier answers: of parts of the last one, or of those of steps with ids."""
        ends: list[str] = []
        for name, interface in self.plain.items():
            for item in interface.taken:
                is_end = "pipe" in item.marks and item.name in _ENDS
                flags = self.flags(name, is_first=False, but=item) if is_end or item.name in _PROMPTS else None
                if flags is not None:
                    end = _literal(f" {item.flag}=")
                    self.add("head", [f"{_literal(name)} {flags} {end}"])
                    body = "".join(self.rules.get(flags, ()))
                    ends += [f"{_literal(name)} {body} {end}"] if is_end and " prose" in body else []
        for at, (name, interface) in enumerate(self.plain.items()):
            parts = " | ".join(_literal(f"${{{part}}}") for part in _parts(interface))
            if parts:
                text = f"p{at}"
                self.add(text, [f"""\"'" t0 ( {parts} ) ( t ( {parts} ) )* t "'\""""])
                self.add(
                    f"parts{at}", [f"head {text}", *(f"{end.replace(' prose', f' {text}')} {text}" for end in ends)]
                )
            for into, is_first in (("begin", True), ("go", False)):
                self.add(into, (f"{step} sep parts{at}" for step in self.steps([name], is_first=is_first)))
        for at, (key, names) in enumerate(self.keys.items()):
            self.add(f"a{at}", self.steps(names, id=":a"))
            self.add(f"b{at}", self.steps(names, id=":b", is_first=False))
            self.add(f"x{at}", [_literal(f"${{a.{key}}}")])
            self.add("join", [f"""a{at} sep step sep head "'" t0 x{at} t "'\""""])
        pairs = sorted(product(range(len(self.keys)), repeat=2), key=lambda pair: pair[0] != pair[1])
        for one, two in pairs[:_MOST_PAIRS]:
            text = f"t0 x{one} t {_literal(f'${{b.{[*self.keys][two]}}}')} t"
            self.add("join", [f"""a{one} sep b{two} sep head "'" {text} "'\""""])

    def _add_branches(self) -> None:
        """Add the edges for actions. Behind an `error` the pipe brings nothing: a text names what there is."""
        for at, (name, interface) in enumerate(self.plain.items()):
            for action in [each for each in interface.actions if each != "default" and each.isalnum()]:
                on, then, writes = _literal(f" ={action}=> "), "then", interface.writes.values()
                if action == "error":
                    keys = [write.name for write in writes if write.type.name in ("str", "any")]
                    parts = " | ".join(_literal(f"${{a.{key}}}") for key in ["error.message", *keys])
                    self.add(then := f"error{at}", [f"""head "'" t0 ( {parts} ) t "'\"""", "first"])
                first, later = (self.steps([name], id=":a", is_first=each) for each in (True, False))
                self.add(step := f"fail{at}", [*first, *(f"first sep {each}" for each in later)])
                if action != "error":
                    self.add("begin", (f"{each} {on} then" for each in self.steps([name])))
                    self.add("go", (f"{each} {on} then" for each in self.steps([name], is_first=False)))
                self.add("branch", [f'{step} sep go2 "; a" {on} {then} ( sep go1 )? ( sep "a" )?'])
                self.add("branch", [f'{step} {on} {then} ( sep go1 )? ( "; a" sep go2 )?'])


def _takes_data(interface: Interface) -> bool:
    """Return True for a node that does nothing without rows, an object or bytes from the pipe."""
    read = interface.pipe_read
    return read is not None and read.required and read.type.name in ("list", "dict", "bytes")


def _reads_one_file(interface: Interface) -> bool:
    """Return True for a node whose answer is the content of a file, so that of two files both need a name."""
    paths = [item for item in interface.reads.values() if item.type.name == "path" and item.required]
    return len(paths) == 1 and interface.pipe_read is None and interface.effects == ("reads files",)


def _is_persons(item: Item) -> bool:
    return item.is_secret or bool(item.env) or "." in item.name or item.name in _PERSONS


def _rule_of(item: Item, interface: Interface, over: str) -> str:
    """Return the rule of an item's value, of a switch its flag; "" for an item that a plan leaves out."""
    type, name, members = item.type, item.name, item.type.items
    if choices := type.choices or item.choices:
        return f"( {' | '.join(map(_literal, choices))} )"
    if type.name == "bool":
        return _literal(f" {spell_flag(name, item.default is not True)}")
    is_sayable = name == "command" or not (item.marks & _UNSAYABLE or _FORM.match(item.doc))
    if not is_sayable or type.name in ("dict", "bytes") or (members and members.name not in ("str", "path")):
        return ""
    if type.name in ("int", "float") or "number" in name:
        return type.name if type.name == "float" else "int"
    if type.is_url or name.endswith("url"):
        return "url"
    if type.is_path and name != "pattern":
        if name in ("directory", "repo"):
            return "directory"
        if _is_written(item, interface):
            return {"": "written", "path": "itempath"}.get(over, "")
        return "" if over else "file" if item.required else "attached"
    return "prose" if name in _PROSE else _OWN_RULES.get(name, "" if type.name == "any" else "free")


def _is_written(item: Item, interface: Interface) -> bool:
    is_end = item.name == "destination" or interface.pipe_read is not None
    return item.type.name == "path" and "writes files" in interface.effects and is_end


def _filled(interface: Interface, over: str) -> tuple[Item | None, str]:
    """Return the read that takes the item of a batch over paths or texts, and the flag for it if it needs one."""

    def fits(item: Item) -> bool:
        if over == "path":
            return item.type.name == "path" and item.name == "path" and not _is_written(item, interface)
        return item.type.name in ("str", "any", "url")

    reader = item_reader(interface)
    if reader is not None and fits(reader):
        return reader, f"( {_literal(f' {reader.flag}=')} each )?" if reader.type.is_url else ""
    for item in interface.reads.values():
        is_wanted = over == "path" or item.type.is_url or item.name.endswith("url")
        if is_wanted and fits(item) and "pipe" not in item.marks:
            return item, f"{_literal(f' {item.flag}=')} each"
    return None, ""


def _parts(interface: Interface) -> Iterator[str]:
    """Yield the paths of texts and numbers in a node's answer, besides the one that the pipe carries."""
    for key, write in interface.writes.items():
        if key != "usage" and "pipe" not in write.marks:
            fields = {name: type.name for name, type in write.type.fields.items()}
            yield from (f"{key}.{name}" for name, type in fields.items() if type in ("str", "int"))
            yield from [key] if write.type.name == "str" else []
