"""The grammar of a plan: the lines of pipe syntax that a model may write for a sentence, as GBNF of llama.cpp."""

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import permutations

from pflow.errors import result_of
from pflow.flow.pipe.scan import quote
from pflow.flow.wired import item_reader
from pflow.interface.common import ALLOW_EMPTY
from pflow.interface.interface import LIMITS, ONE_OF, Interface, Item, spell_flag
from pflow.library.nearest import words
from pflow.plan.declare_inputs import is_named
from pflow.plan.meaning import values

_LINES = r"""
root ::= "cannot: " [^\x00-\x1f\x7f]+ | line
line ::= begin ( sep go4 )? | join ( sep go1 )? | branch
begin ::= first | form
go ::= step | form
go4 ::= go ( sep go3 )?
go3 ::= go ( sep go2 )?
go2 ::= go ( sep go1 )?
go1 ::= go ( sep go )?
form ::= paths sep pathgroup | texts sep textgroup | data sep dataend | data sep datastep sep dataend
pathgroup ::= "( " pathitem " ) --each" | pathitem " --each" | "( " pathitem inpaths " ) --each"
textgroup ::= "( " textitem " ) --each" | textitem " --each" | "( " textitem intexts " ) --each"
inpaths ::= sep pathstep ( sep pathstep ( sep pathstep )? )? | sep dataend ( sep pathstep )?
intexts ::= sep textstep ( sep textstep )?
"""
"""What a line is made of; what names a rule that a sentence or the nodes do not have, is left out."""

_TEXTS = r"""
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
sql ::= "\"" select dc* "\"" | "'" select [^\x00-\x1f\x7f'$\\]* "'"
each ::= "'$item'"
select ::= "SELECT " | "select " | "WITH " | "with "
short ::= "'" [A-Za-z0-9] [A-Za-z0-9 ,.!?+_-]* "'"
place ::= [a-z_]+ ( "." [a-z_]+ | "[" [0-9] "]" )*
name ::= [a-z0-9] [a-z0-9_-]*
end ::= "." [a-z] [a-z0-9]*
"""
"""The rules of texts. None begins with a separator, and none has a reference."""

_SENTENCES = "prompt system criteria subject body message question style template content title text query"
_PROSE = frozenset(_SENTENCES.split())
"""Names of items that take sentences; what another text item takes is in the sentence, or short."""

_ENDS = frozenset(["content", "message", "body"])
"""Names of reads whose text ends up in a file, a mail, a commit: it may be one that the sentence has."""

_UNSAYABLE = frozenset(["schema", "pairs", "types", "beside", "delimiter", "verbatim"])
_FORM = re.compile(r"'?[A-Z]+[=:]")
"""The beginning of what a flag with a form of its own says of itself: `OLD=NEW`."""

_PERSONS = frozenset([*LIMITS, ALLOW_EMPTY, "allow_no_answer", "load_settings", "continue", "conversation"])
"""Items that a person chooses, besides those that a variable of the environment gives."""

_OWN_RULES = {
    **{name: name for name in ("sql", "place", "encoding", "repo", "revision", "channel", "language")},
    **dict.fromkeys(["to", "cc", "mail", "email", "recipient", "address"], "mail"),
    "pattern": "glob",
}
"""The rules of items by their names."""

_MOST_PAIRS = 24
"""How many pairs of unlike answers one step may take; each is a rule."""

_PLAIN_NODES = "llm shell read-file write-file list-files http summarize-text"
_PLAIN = frozenset(_PLAIN_NODES.split())


def plan_grammar(kinds: Mapping[str, Interface], sentence: str) -> str:
    """Return the grammar of a plan for a sentence: one line in pipe syntax with these nodes, or "cannot: WHY"."""
    rules, before = _Grammar(kinds, sentence).rules, 0
    while before != (before := len(rules)):
        known = {*rules, *_STATIC}
        kept = {name: [each for each in bodies if known.issuperset(_names(each))] for name, bodies in rules.items()}
        rules = {name: bodies for name, bodies in kept.items() if bodies}
    return "\n".join(f"{name} ::= {' | '.join(dict.fromkeys(bodies))}" for name, bodies in rules.items()) + _TEXTS


def vocabulary(kinds: Mapping[str, Interface], sentence: str) -> dict[str, Interface]:
    """Return the nodes that the plan of a sentence is likely to need: the plain ones, and those that share a word."""
    said = {*words(sentence)}
    return {
        name: interface
        for name, interface in kinds.items()
        if name in _PLAIN or said & {*words(f"{name.replace('_', ' ')} {interface.summary}")}
    }


def _names(body: str) -> list[str]:
    """Return the names of rules in a body."""
    return _NAME.findall(_TERMINAL.sub(" ", body))


_STATIC = frozenset(line.partition(" ")[0] for line in _TEXTS.strip().splitlines())
_TERMINAL = re.compile(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]')
_NAME = re.compile(r"[a-z][a-z0-9-]*")


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _typed(texts: Iterable[str], bare: str = r"[\w./~#@:%&+,-]+") -> list[str]:
    """Return these values as a person types them, quoted if they are not `bare`; none is a template."""
    plain = [text for text in texts if text.isprintable() and not set(text) & set("$\\")]
    quoted = (f"'{text}'" if "'" not in text else quote(text) for text in plain)
    pairs = zip(plain, quoted, strict=True)
    return [_literal(text if re.fullmatch(bare, text, re.ASCII) else other) for text, other in pairs]


def _value_rules(sentence: str) -> dict[str, list[str]]:
    """Return the rules of values: those that a sentence has, by kind, and names of new files."""
    said: dict[str, list[str]] = {}
    for kind, text in values(sentence):
        said.setdefault(kind, []).append(text)
    paths, urls = said.get("path", []), said.get("url", [])
    globs = [path for path in paths if set(path) & set("*?")]
    files = [path for path in paths if path not in globs and not path.endswith("/")]
    bare = [word for word in dict.fromkeys(each.strip(".,;:?!()'\"`") for each in sentence.split()) if words(word)]
    numbers = [text.replace(",", "") for text in said.get("number", [])]
    numbers += [str(number) for number in range(13) if is_named(sentence, number)]
    free = [*bare, *(word.capitalize() for word in bare if word.isalpha())]
    rules = {
        **{kind: _typed(said.get(kind, [])) for kind in ("url", "mail", "channel")},
        "quoted": _typed(said.get("quoted", []), bare=""),
        "attached": _typed(files),
        "file": _typed(files or filter(str.isalnum, bare)),
        "directory": _typed([*paths, *(path.rstrip("/") for path in paths), *bare]),
        "int": _typed(filter(str.isdecimal, numbers)),
        "float": _typed(number for number in numbers if re.fullmatch(r"\d+(\.\d+)?", number)),
        "repo": _typed([*urls, *(path for path in paths if re.fullmatch(r"[\w.-]+/[\w.-]+", path))]),
        "revision": ['"HEAD"', *_typed(bare)],
        "encoding": _typed(word for word in bare if result_of(codecs.lookup, word, of=LookupError, otherwise=None)),
        "free": [*_typed(free), "short", *(["quoted"] if "quoted" in said else [])],
        "language": ["[a-z] [a-z]", "free"],
    }
    rules |= {kind: ["free"] for kind in ("mail", "channel") if not rules[kind]}
    return {**rules, **_path_rules(globs, files, paths, bare)}


def _path_rules(globs: list[str], files: list[str], paths: list[str], bare: list[str]) -> dict[str, list[str]]:
    """Return the rules of patterns, of a file that is written, and of one for each item of a batch."""
    plain = [path.rstrip("/") for path in [*paths, *bare] if re.fullmatch(r"[\w./~-]+", path)]
    near = " | ".join(dict.fromkeys(_literal(f"{path}/") for path in plain))
    into = " | ".join(_literal(path) for path in paths if path.endswith("/") and path.rstrip("/") in plain)
    stems = [_literal(path.rpartition(".")[0]) for path in files if "." in path.rpartition("/")[2] and path in plain]
    others = [f'{stem} ( "-" name )? end' for stem in stems] or ["name end"]
    return {
        "glob": _typed(globs)
        or [f"""\"'" ( {near or 'name "/"'} )? ( "**/" )? ( name? "*" name? end? | name end ) "'\""""],
        "written": [*_typed(files), *(others if len(files) < 2 else [])],
        "itempath": [f"""\"'" ( {into or 'name "/"'} )? "$item_" ( "name" | "stem" ( "-" name )? end ) "'\""""],
    }


class _Grammar:
    """The rules of a grammar: for each name the alternatives. Some may name rules that are not there."""

    def __init__(self, kinds: Mapping[str, Interface], sentence: str) -> None:
        self.rules = {}
        for line in _LINES.strip().splitlines():
            name, _, body = line.partition(" ::= ")
            self.rules[name] = body.split(" | ")
        self.rules |= {name: bodies for name, bodies in _value_rules(sentence).items() if any(bodies)}
        self.known = {*self.rules, *_STATIC}
        self.shared: dict[str, str] = {}
        self.kinds = kinds
        self.plain = [name for name, each in kinds.items() if not (_takes_data(each) or _choice_of(each))]
        self._add_steps()
        self._add_parts()
        self._add_joins()
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

    def flags(
        self, name: str, *, is_first: bool, over: str = "", but: Item | None = None, prose: str = "prose"
    ) -> str | None:
        """Return the rule of a node's flags: the required ones, then the others; None if it cannot stand there.

        The first step of a batch takes the item. Before all other first steps nothing comes through the pipe.
        """
        interface = self.kinds[name]
        filled, start = _filled(interface, over) if over and is_first else (interface.pipe_read, "")
        if (over and filled is None) or (is_first and not over and _takes_data(interface)):
            return None
        required, others = [start] if start else [], list[str]()
        for item in interface.taken:
            if item is but or (over and is_first and item is filled) or _is_persons(item):
                continue
            is_piped = "pipe" in item.marks and not (is_first and (item.type.is_url or item.name == "prompt"))
            rule = self.piped(item, is_first and not over) if is_piped else _rule_of(item, interface, over)
            is_known = rule[:1] in ("(", '"') or rule in self.known
            flag = f"{_literal(f' {item.flag}=')} {prose if rule == 'prose' else rule}"
            flag = _literal(f" {spell_flag(item.name, item.default is not True)}") if item.type.name == "bool" else flag
            is_required = not is_piped and (item.required or item.name == "prompt")
            if is_required and not is_known:
                return None
            if is_required or is_known:
                (required if is_required else others).append(flag)
        body = " ".join([*required, *(f"( {flag} )?" for flag in others)])
        return self.rule(body) if body else ""

    def piped(self, item: Item, is_first: bool) -> str:
        """Return the rule of a text that the pipe would bring: any text that ends up somewhere, else a quoted one."""
        if item.type.name not in ("str", "any") or item.name not in _PROSE:
            return ""
        is_end = item.name in _ENDS
        return "prose" if is_end and is_first else "quoted" if is_end or is_first else ""

    def heads(self, prose: str = "prose") -> Iterator[str]:
        """Yield the steps up to the text of their last flag: a prompt, or what ends up in a file, a mail, a commit."""
        for name in self.plain:
            for item in self.kinds[name].taken:
                is_end = "pipe" in item.marks and item.name in _ENDS
                if is_end or item.name in ("prompt", "template"):
                    flags = self.flags(name, is_first=False, but=item, prose=prose if is_end else "prose")
                    if flags is not None and (prose == "prose" or f" {prose}" in "".join(self.rules.get(flags, ()))):
                        yield f"{_literal(name)} {flags} {_literal(f' {item.flag}=')}"

    def _add_steps(self) -> None:
        """Add the steps of a line by what they take and write."""
        writes = {name: write.type for name, each in self.kinds.items() if (write := each.pipe_write)}
        takers = [name for name, each in self.kinds.items() if _takes_data(each)]
        lists = [name for name, type in writes.items() if type.name in ("list", "any")]
        self.add("first", self.steps(self.plain))
        self.add("step", self.steps(self.plain, is_first=False))
        self.add("paths", self.steps(name for name in lists if writes[name].is_path))
        self.add("texts", self.steps(name for name in lists if not writes[name].is_path))
        self.add("data", self.rules["texts"])
        self.add("dataend", self.steps(takers, is_first=False))
        self.add("datastep", self.steps((name for name in takers if name in lists), is_first=False))
        for over in ("path", "text"):
            self.add(f"{over}item", self.steps(self.plain, over=over))
            self.add(f"{over}step", self.steps(self.plain, is_first=False, over=over))
        self.add("head", self.heads())

    def _add_parts(self) -> None:
        """Add each step whose answer has parts, with one whose texts take some of them."""
        for at, (name, interface) in enumerate(self.kinds.items()):
            if parts := [*_parts(interface)]:
                self.add(f"part{at}", (_literal(f"${{{part}}}") for part in parts))
                self.add(text := f"parts{at}", ["prose", f"""\"'" t0 part{at} ( t part{at} )* t "'\""""])
                self.add(f"ends{at}", ["head", *self.heads(text)])
                self.add("form", (f"{step} sep ends{at} {text}" for step in self.steps([name])))

    def _add_joins(self) -> None:
        """Add steps with ids, and one whose text takes their answers, or the first one's behind another step."""
        keys: dict[str, list[str]] = {}
        for name in self.plain:
            write = self.kinds[name].pipe_write
            if write is not None and write.type.name in ("str", "any"):
                keys.setdefault(write.name, []).append(name)
        for at, (key, names) in enumerate(keys.items()):
            for id in "abc":
                self.add(f"{id}{at}", self.steps(names, id=f":{id}", is_first=id == "a"))
            one, two, three = (_literal(f"${{{id}.{key}}}") for id in "abc")
            both = f"""a{at} sep b{at} sep head "'" t0 {one} t {two}"""
            self.add("join", [f"""a{at} sep step sep head "'" t0 {one} t "'\"""", f"""{both} t "'\""""])
            self.add("join", [f"""{both.replace("head", f"c{at} sep head")} t {three} t "'\""""])
        for (at, one), (behind, two) in [*permutations(enumerate(keys), 2)][:_MOST_PAIRS]:
            texts = f"t0 {_literal(f'${{a.{one}}}')} t {_literal(f'${{b.{two}}}')} t"
            self.add("join", [f"""a{at} sep b{behind} sep head "'" {texts} "'\""""])

    def _add_branches(self) -> None:
        """Add the edges for actions. Behind an `error` the pipe brings nothing: a text names what there is."""
        for name, interface in self.kinds.items():
            for action in [each for each in interface.actions if each != "default" and each.isalnum()]:
                on, then = _literal(f" ={action}=> "), "first"
                if action == "error":
                    writes = [write.name for write in interface.writes.values() if write.type.name in ("str", "any")]
                    parts = " | ".join(_literal(f"${{a.{key}}}") for key in ["error.message", *writes])
                    then = f"""head "'" t0 ( {parts} ) t "'\""""
                for step in self.steps([name], id=":a", is_first=False):
                    self.add("begin", [f"{step} {on} {then}"])
                    back = f'( first sep )? {step} sep go2 "; a" {on} {then} ( sep go1 )? ( sep "a" )?'
                    self.add("branch", [back, f'( first sep )? {step} {on} {then} ( sep go1 )? "; a" sep go2'])
                self.add("form", (f"{step} {on} first" for step in self.steps([name])))
            if flag := _choice_of(interface):
                yes = _literal(f"{name}:a {flag}=yes {flag}=no =yes=> ")
                self.add("branch", [f'( first sep )? {yes} first ( sep go1 )? "; a =no=> " first ( sep go1 )?'])


def _takes_data(interface: Interface) -> bool:
    """Return True for a node that does nothing without rows, an object or bytes from the pipe."""
    read = interface.pipe_read
    return read is not None and read.required and read.type.name in ("list", "dict", "bytes")


def _choice_of(interface: Interface) -> str:
    """Return the flag whose values are the actions of a node, "" for others."""
    action = interface.actions[0]
    return interface.reads[action.removeprefix(ONE_OF)].flag if action.startswith(ONE_OF) else ""


def _is_persons(item: Item) -> bool:
    return item.is_secret or bool(item.env) or "." in item.name or item.name in _PERSONS


def _rule_of(item: Item, interface: Interface, over: str) -> str:
    """Return the rule of an item's value; "" for one that a plan leaves out."""
    type, name, members = item.type, item.name, item.type.items
    if choices := type.choices or item.choices:
        return f"( {' | '.join(map(_literal, choices))} )"
    if name == "command":
        return name
    if item.marks & _UNSAYABLE or _FORM.match(item.doc) or type.name in ("dict", "bytes"):
        return ""
    if members and members.name not in ("str", "path"):
        return ""
    if type.name in ("int", "float") or "number" in name:
        return type.name if type.name == "float" else "int"
    if type.is_url or name.endswith("url"):
        return "url"
    if type.is_path and name != "pattern":
        return _path_rule(item, interface, over)
    if "sql" in item.marks:
        return "sql"
    return "prose" if name in _PROSE else _OWN_RULES.get(name, "" if type.name == "any" else "free")


def _path_rule(item: Item, interface: Interface, over: str) -> str:
    if item.name in ("directory", "repo"):
        return "directory"
    if _is_written(item, interface):
        return {"": "written", "path": "itempath"}.get(over, "")
    return "" if over else "file" if item.required else "attached"


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
