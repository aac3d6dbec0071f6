"""The grammar of a plan: the lines of pipe syntax that a model may write for a sentence, as GBNF of llama.cpp."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from pflow.flow.pipe.scan import quote
from pflow.flow.wired import item_reader
from pflow.interface.common import ALLOW_EMPTY
from pflow.interface.interface import LIMITS, ONE_OF, Interface, Item, spell_flag
from pflow.library.nearest import words
from pflow.plan.declare_inputs import is_named
from pflow.plan.meaning import values

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
sql ::= "\"" [A-Za-z] dc* "\"" | "'" [A-Za-z] [^\x00-\x1f\x7f'$\\]* "'"
short ::= "'" [A-Za-z0-9] [A-Za-z0-9 ,.!?+_-]* "'"
place ::= [a-z_]+ ( "." [a-z_]+ | "[" [0-9] "]" )*
name ::= [a-z0-9] [a-z0-9_-]*
end ::= "." [a-z] [a-z0-9]*
"""
"""The rules that are the same for all sentences. A text begins with no separator and has no reference."""

_CANNOT = r'"cannot: " [^\x00-\x1f\x7f]+'
_SENTENCES = "prompt system criteria subject body message question style template content title text query"
_PROSE = frozenset(_SENTENCES.split())
"""Names of items that take sentences; what another text item takes is in the sentence, or short."""

_ENDS = frozenset(["content", "message", "body"])
"""Names of reads whose text ends up in a file, a mail, a commit: it may be one that the sentence has."""

_UNSAYABLE = frozenset(["schema", "pairs", "types", "beside", "delimiter", "verbatim"])
"""Marks of items that take JSON, or a form of their own."""

_PERSONS = frozenset([*LIMITS, ALLOW_EMPTY, "allow_no_answer", "load_settings", "continue", "conversation"])
"""Items that a person chooses, besides those that a variable of the environment gives."""

_FORM = re.compile(r"'?[A-Z]+[=:]")
"""The beginning of what a flag with a form of its own says of itself: `OLD=NEW`."""

_MAIL = frozenset(["to", "cc", "mail", "email", "recipient", "address"])
_PLAIN_NODES = "llm shell read-file write-file list-files http summarize-text"
_PLAIN = frozenset(_PLAIN_NODES.split())
_MOST_STEPS = 6
_MOST_PAIRS = 40
"""How many pairs of unlike answers one step may take; each is a rule."""


def plan_grammar(kinds: Mapping[str, Interface], sentence: str) -> str:
    """Return the grammar of a plan for a sentence: one line in pipe syntax with these nodes, or "cannot: WHY"."""
    return str(_Grammar(kinds, sentence))


def vocabulary(kinds: Mapping[str, Interface], sentence: str) -> dict[str, Interface]:
    """Return the nodes that the plan of a sentence is likely to need: the plain ones, and those that share a word."""
    said = {*words(sentence)}
    return {
        name: interface
        for name, interface in kinds.items()
        if name in _PLAIN or said & {*words(f"{name.replace('_', ' ')} {interface.summary}")}
    }


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _either(bodies: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(filter(None, bodies)))


def _typed(texts: Iterable[str]) -> str:
    """Return the alternatives of these values as a person types them; a template or an escape has none."""
    plain = [text for text in texts if text.isprintable() and not set(text) & set("$\\")]
    bare = re.compile(r"[\w./~#@:%&+,-]+", re.ASCII)
    return _either(_literal(text if bare.fullmatch(text) else quote(text)) for text in plain)


def _sentence_rules(sentence: str) -> dict[str, str]:
    """Return a rule for each kind of value that a sentence has, and those of new files and of patterns."""
    said: dict[str, list[str]] = {}
    for kind, text in values(sentence):
        said.setdefault(kind, []).append(text)
    paths = said.get("path", [])
    globs = [path for path in paths if set(path) & set("*?")]
    files = [path for path in paths if path not in globs and not path.endswith("/")]
    bare = [word for word in dict.fromkeys(each.strip(".,;:?!()'\"`") for each in sentence.split()) if words(word)]
    numbers = [text.replace(",", "") for text in said.get("number", [])]
    numbers += [str(number) for number in range(13) if is_named(sentence, number)]
    folders = [path for path in paths if path.endswith("/")]
    rules = {
        "url": _typed(said.get("url", [])),
        "mail": _typed(said.get("mail", [])),
        "channel": _typed(said.get("channel", [])),
        "quoted": _typed(said.get("quoted", [])),
        "attached": _typed(files),
        "file": _typed(files or [word for word in bare if word.isalnum()]),
        "directory": _typed([*paths, *(path.rstrip("/") for path in folders), *bare]),
        "int": _typed(number for number in numbers if number.isdecimal()),
        "float": _typed(number for number in numbers if re.fullmatch(r"\d+(\.\d+)?", number)),
        "repo": _typed([*said.get("url", []), *(path for path in paths if re.fullmatch(r"[\w.-]+/[\w.-]+", path))]),
        "revision": _either(['"HEAD"', _typed(bare)]),
        "free": _either(
            [
                _typed([*bare, *(word.capitalize() for word in bare if word.isalpha())]),
                "quoted" * ("quoted" in said),
                "short",
            ]
        ),
    }
    return {
        **{name: body for name, body in rules.items() if body},
        **_new_rules(globs, files, folders, [*paths, *bare]),
    }


def _new_rules(globs: list[str], files: list[str], folders: list[str], places: list[str]) -> dict[str, str]:
    """Return the rules of patterns, and of the files that a plan may name itself: those it writes."""
    stems = [
        _literal(file.rpartition(".")[0]) + ' ( "-" name )? end' for file in files if "." in file.rpartition("/")[2]
    ]
    near = _either(_literal(f"{each.rstrip('/')}/") for each in places if re.fullmatch(r"[\w./~-]+", each))
    into = _either(_literal(each) for each in folders if re.fullmatch(r"[\w./~-]+", each))
    return {
        "glob": _typed(globs)
        or f"""\"'" ( {near or 'name "/"'} )? ( "**/" )? ( name? "*" name? end? | name end ) "'\"""",
        "written": _typed(files) if len(files) > 1 else _either([_typed(files), *stems]) or "name end",
        "itempath": f"""\"'" ( {into or 'name "/"'} )? "$item_" ( "name" | "stem" ( "-" name )? end ) "'\"""",
    }


def _rule_of(item: Item, interface: Interface, over: str) -> str:
    """Return the name of the rule for an item's value, or its choices; "" for an item that a plan leaves out."""
    type, name, members = item.type, item.name, item.type.items
    if choices := type.choices or item.choices:
        return f"( {_either(map(_literal, choices))} )"
    if name == "command":
        return "command"
    if (
        item.marks & _UNSAYABLE
        or type.name in ("dict", "bytes")
        or (members and members.name not in ("str", "path"))
        or _FORM.match(item.doc)
    ):
        return ""
    if type.name in ("int", "float") or "number" in name:
        return type.name if type.name == "float" else "int"
    if type.is_url or name.endswith("url"):
        return "url"
    if name == "pattern":
        return "glob"
    if type.is_path:
        return _path_rule(item, interface, over)
    if name in _PROSE or type.name == "any":
        return "sql" if "sql" in item.marks else "prose" if name in _PROSE else ""
    by_name = {"sql": "sql", "repo": "repo", "revision": "revision", "channel": "channel", "place": "place"}
    return by_name.get(name, "mail" if name in _MAIL else "free")


def _path_rule(item: Item, interface: Interface, over: str) -> str:
    is_written = "writes files" in interface.effects and (
        item.name == "destination" or (item.name != "repo" and interface.pipe_read is not None)
    )
    if is_written and item.type.name == "path":
        return {"": "written", "path": "itempath"}.get(over, "")
    if item.name in ("directory", "repo") or item.name.endswith("_directory"):
        return "directory"
    return "" if over else "file" if item.required else "attached"


def _is_left_out(item: Item) -> bool:
    return item.is_secret or bool(item.env) or "." in item.name or item.name in _PERSONS


class _Grammar:
    """The rules of a grammar by name. Equal bodies of flags are one rule."""

    def __init__(self, kinds: Mapping[str, Interface], sentence: str) -> None:
        self.kinds = kinds
        self.said = _sentence_rules(sentence)
        self.rules = {"root": _CANNOT}
        self._names: dict[str, str] = {}
        if self.add("first", self.steps(kinds, is_first=True)):
            self.rules["root"] += " | line"
            self._add_lines()
            self.rules |= self.said

    def __str__(self) -> str:
        return "\n".join(f"{name} ::= {body}" for name, body in self.rules.items()) + _TEXTS

    def add(self, name: str, body: str) -> str:
        """Add a rule and return its name; "" for an empty body, which can have none."""
        if body:
            self.rules[name] = body
        return name if body else ""

    def flag(self, item: Item, interface: Interface, over: str, prose: str = "prose") -> str:
        """Return a flag with its value; "" if a plan leaves it out, or the sentence has no value for it."""
        if item.type.name == "bool":
            return _literal(f" {spell_flag(item.name, item.default is not True)}")
        rule = _rule_of(item, interface, over)
        rule = "free" if rule in ("mail", "channel") and rule not in self.said else rule
        if not rule or not (rule in self.said or rule[0] == "(" or f"\n{rule} ::=" in _TEXTS):
            return ""
        return f"{_literal(f' {item.flag}=')} {prose if rule == 'prose' else rule}"

    def flags(
        self, name: str, *, is_first: bool, over: str = "", but: Item | None = None, prose: str = "prose"
    ) -> str | None:
        """Return the flags of a node: the required ones, then the others; None if the node cannot stand there.

        `is_first`: nothing comes through the pipe; of a batch `over` paths or texts, the step that takes the item.
        """
        interface = self.kinds[name]
        filled, said = _filled(interface, over) if over and is_first else (None, "")
        takes = interface.pipe_read
        if over and (filled if is_first else takes) is None:
            return None
        if (
            is_first
            and not over
            and takes is not None
            and takes.required
            and takes.type.name in ("list", "dict", "bytes")
        ):
            return None
        required, others = [said] if said else [], list[str]()
        for item in interface.taken:
            if item in (filled, but) or _is_left_out(item):
                continue
            is_piped = "pipe" in item.marks and not (is_first and item.type.is_url)
            is_required = (item.required and not is_piped) or (item.name == "prompt" and is_first >= is_piped)
            if is_piped and item.name != "prompt":
                flag = self.piped(item, is_first=is_first and not over, prose=prose)
            else:
                flag = self.flag(item, interface, over, prose)
            if is_required and not flag:
                return None
            if flag:
                (required if is_required else others).append(flag)
        body = " ".join([*required, *(f"( {flag} )?" for flag in others)])
        return self.shared(body) if body else ""

    def piped(self, item: Item, *, is_first: bool, prose: str) -> str:
        """Return the flag of a read that the pipe fills: with a text of the sentence, or at first with any text."""
        if item.type.name not in ("str", "any") or item.name not in _PROSE:
            return ""
        if is_first and item.name in _ENDS:
            return f"{_literal(f' {item.flag}=')} {prose}"
        is_quoted = "quoted" in self.said and (is_first or item.name in _ENDS)
        return f"{_literal(f' {item.flag}=')} quoted" if is_quoted else ""

    def steps(self, names: Iterable[str], *, is_first: bool, id: str = "", over: str = "") -> str:
        """Return the alternatives of a step with one of these nodes, named by an id if there is one."""
        flags = {name: self.flags(name, is_first=is_first, over=over) for name in names}
        steps = [f"{_literal(name + id)} {rule}".rstrip() for name, rule in flags.items() if rule is not None]
        return _either(steps if id else map(self.shared, steps))

    def shared(self, body: str) -> str:
        """Return the name of the rule with this body."""
        return self._names.get(body) or self._names.setdefault(body, self.add(f"n{len(self._names)}", body))

    def _add_lines(self) -> None:
        """Add what a line may be: steps, batches, branches, and texts made of several answers."""
        self.add("step", self.steps(self.kinds, is_first=False))
        self.add("head", _either(self._heads("prose")))
        for name, is_first in (("first", True), ("step", False)):
            forms = (
                *self._batches(is_first=is_first),
                *self._fields(is_first=is_first),
                *self._failing(is_first=is_first),
            )
            self.add(f"{name}s", _either([name, *forms]))
        for left in range(_MOST_STEPS):
            self.add(f"s{left}", f"( {'steps' if left else 'step'} )" + f" ( sep s{left - 1} )?" * (left > 0))
        if "head" in self.rules:
            self.add("join", _either(self._joins()))
        ends = [f"firsts ( sep s{_MOST_STEPS - 2} )?", "join ( sep s1 )?" if "join" in self.rules else ""]
        self.rules["line"] = _either([*ends, *self._branches()])

    def _heads(self, prose: str) -> Iterator[str]:
        """Yield each step up to the text that its last flag takes: a prompt, or what ends up in a file or a mail."""
        for name, interface in self.kinds.items():
            for item in interface.taken:
                is_end = "pipe" in item.marks and item.name in _ENDS
                if item.name in ("prompt", "template") or is_end:
                    flags = self.flags(name, is_first=False, but=item, prose=prose if is_end else "prose")
                    if flags is not None:
                        yield " ".join(filter(None, [_literal(name), flags, _literal(f" {item.flag}=")]))

    def _batches(self, *, is_first: bool) -> Iterator[str]:
        """Yield a step that writes a list, and the batch over it."""
        lists: dict[str, list[str]] = {}
        for name, interface in self.kinds.items():
            if (write := interface.pipe_write) is not None and write.type.name == "list":
                lists.setdefault("path" if write.type.is_path else "text", []).append(name)
        for over, names in lists.items():
            item = self.add(f"{over}item", self.steps(self.kinds, is_first=True, over=over))
            inside = self.add(f"{over}step", self.steps(self.kinds, is_first=False, over=over))
            lister = self.add(f"{over}s{int(is_first)}", self.steps(names, is_first=is_first))
            if item and lister:
                more = f" ( sep {inside} ( sep {inside} ( sep {inside} )? )? )?" if inside else ""
                group = self.add(f"{over}group", f'"( " {item}{more} " ) --each" | {item} " --each"')
                yield f"{lister} sep {group}"

    def _fields(self, *, is_first: bool) -> Iterator[str]:
        """Yield a step whose answer has parts, and one whose texts take some of them."""
        for at, (name, interface) in enumerate(self.kinds.items()):
            parts = [*_parts(interface)]
            step = self.steps([name], is_first=is_first)
            if parts and step and "head" in self.rules:
                self.add(f"part{at}", _either(_literal(f"${{{part}}}") for part in parts))
                text = self.add(f"parts{at}", f"""prose | "'" t0 part{at} ( t part{at} )* t "'\"""")
                heads = _either(
                    ["head", *(head for head in self._heads(text) if f" {text}" in self.rules.get(head.split()[1], ""))]
                )
                yield f"{step} sep ( {heads} ) {text}"

    def _failing(self, *, is_first: bool) -> Iterator[str]:
        """Yield a step that may fail with an action, and the step that is for it."""
        for action, names in self._actions().items():
            steps = self.add(f"{action}{int(is_first)}", self.steps(names, is_first=is_first))
            if steps:
                yield f"{steps} {_literal(f' ={action}=> ')} first"

    def _actions(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, interface in self.kinds.items():
            for action in interface.actions:
                if action != "default" and action.isalpha():
                    found.setdefault(action, []).append(name)
        return found

    def _joins(self) -> Iterator[str]:
        """Yield steps with ids, and a step whose text takes their answers, or the first one's behind another step."""
        is_many = any(self.said.get(kind, "").count(" | ") > 1 for kind in ("attached", "url", "int"))
        keys: dict[str, list[str]] = {}
        for name, interface in self.kinds.items():
            if (write := interface.pipe_write) is not None and write.type.name in ("str", "any"):
                keys.setdefault(write.name, []).append(name)
        for at, names in enumerate(keys.values()):
            for id in "abc" if is_many else "ab":
                self.add(f"{id}{at}", self.steps(names, is_first=id == "a", id=f":{id}"))
        for at, key in enumerate(keys):
            one, two, three = (_literal(f"${{{id}.{key}}}") for id in "abc")
            if f"a{at}" in self.rules:
                yield f"""a{at} sep step sep head "'" t0 {one} t "'\""""
                yield f"""a{at} sep b{at} sep head "'" t0 {one} t {two} t "'\""""
            if f"c{at}" in self.rules:
                yield f"""a{at} sep b{at} sep c{at} sep head "'" t0 {one} t {two} t {three} t "'\""""
        pairs = [(one, two) for one, two in product(range(len(keys)), repeat=2) if one != two]
        for at, next_at in pairs[:_MOST_PAIRS]:
            if {f"a{at}", f"b{next_at}"} <= self.rules.keys():
                one, two = _literal(f"${{a.{[*keys][at]}}}"), _literal(f"${{b.{[*keys][next_at]}}}")
                yield f"""a{at} sep b{next_at} sep head "'" t0 {one} t {two} t "'\""""

    def _branches(self) -> Iterator[str]:
        """Yield a step with an id and two edges, of which one may lead back to it."""
        for action, names in self._actions().items():
            step = self.add(f"{action}a", self.steps(names, is_first=False, id=":a"))
            on = _literal(f" ={action}=> ")
            if step:
                yield f'( first sep )? {step} sep s2 "; a" {on} first ( sep s1 )? ( sep "a" )?'
                yield f'( first sep )? {step} {on} first ( sep s1 )? "; a" sep s2'
        for name, interface in self.kinds.items():
            read = interface.reads.get(interface.actions[0].removeprefix(ONE_OF))
            if read is not None:
                flags = " ".join(f"{read.flag}={word}" for word in ("yes", "no"))
                step = _literal(f"{name}:a {flags} =yes=> ")
                yield f'( first sep )? {step} first ( sep s1 )? "; a =no=> " first ( sep s1 )?'


def _filled(interface: Interface, over: str) -> tuple[Item | None, str]:
    """Return the read that takes the item of a batch over paths or texts, and the flag for it if it needs one."""

    def fits(item: Item) -> bool:
        return item.type.name == "path" if over == "path" else item.type.name in ("str", "any", "url")

    reader = item_reader(interface)
    if reader is not None and fits(reader):
        return reader, ""
    for item in interface.reads.values():
        is_page = item.type.is_url or item.name.endswith("url")
        if fits(item) and (item.name == "path" if over == "path" else is_page) and "pipe" not in item.marks:
            return item, _literal(f" {item.flag}='$item'")
    return None, ""


def _parts(interface: Interface) -> Iterator[str]:
    """Yield the paths of texts and numbers in a node's answer, besides the one that the pipe carries."""
    for key, write in interface.writes.items():
        if key == "usage" or "pipe" in write.marks:
            continue
        if write.type.fields:
            fields = {name: type.name for name, type in write.type.fields.items()}
            yield from (f"{key}.{name}" for name, type in fields.items() if type in ("str", "int"))
        elif write.type.name == "str":
            yield key
