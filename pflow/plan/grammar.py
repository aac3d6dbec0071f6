"""The grammar of a plan: the lines of pipe syntax that a model may write for a sentence, as GBNF of llama.cpp."""

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping

from pflow.errors import result_of
from pflow.flow.rules.answers import ONLY_GIVES
from pflow.flow.wired import item_reader
from pflow.interface.common import ALLOW_EMPTY
from pflow.interface.interface import LIMITS, Interface, Item, spell_flag
from pflow.library.nearest import words
from pflow.plan.declare_inputs import is_named
from pflow.plan.meaning import languages, values

_LINES = r"""
root ::= "cannot: " [^\x00-\x1f\x7f]+ | line
line ::= begin ( sep go ){0,4} | join ( sep go ){0,2} | branch
begin ::= first | paths0 sep pathgroup | texts0 sep textgroup
go ::= step | paths1 sep pathgroup | texts1 sep textgroup
then ::= first | step
error ::= head "'" t0 failure t "'" | first
failure ::= "${a.error.message}"
pathgroup ::= "( " path0 ( sep path1 ){0,3} " ) --each" | path0 " --each"
textgroup ::= "( " text0 ( sep text1 ){0,2} " ) --each" | text0 " --each"
sep ::= " => "
qa ::= [^\x00-\x20\x7f'$>\\=|;:(){}&<-]
da ::= [^\x00-\x20\x7f"$>\\=|;:(){}&<-]
qc ::= [^\x00-\x1f\x7f'$>\\{}]
dc ::= [^\x00-\x1f\x7f"$>\\{}]
t0 ::= ( qa qc* )?
t ::= qc*
qz ::= [^\x00-\x20\x7f'$>\\{}]
dz ::= [^\x00-\x20\x7f"$>\\{}]
prose ::= "'" qa ( qc* qz )? "'" | "\"" da ( dc* dz )? "\""
cc ::= [^\x00-\x1f\x7f'=] | "=" [^\x00-\x1f\x7f'>]
command ::= "'" [A-Za-z0-9_./~([{] cc* "'" | "\"" [A-Za-z0-9_./~([{] [^\x00-\x1f\x7f"$>\\]* "\""
sql ::= "'" qa [^\x00-\x1f\x7f'$\\]* "'" | "\"" da [^\x00-\x1f\x7f"$\\]* "\""
short ::= "'" [A-Za-z0-9] [A-Za-z0-9 ,.!?+_-]* "'"
name ::= [a-z0-9] [a-z0-9_-]*
end ::= "." [a-z] [a-z0-9]*
pattern ::= "'" near? "**/"? globbed "'"
globbed ::= name? "*" name? end? | name end
place ::= [A-Za-z0-9_] [A-Za-z0-9_.-]*
itemname ::= "$item_name" | "$item_stem" end | "$item_stem-" name end
"""
"""The rules that are the same for all. What names a rule that the nodes or the sentence do not have is left out later.
A text begins with no separator and has no reference, but those that are written here or below."""

_PROSE = frozenset(("prompt", "system", "criteria", "subject", "body", "message", "question", "style", "template",
                    "content", "title", "text"))  # fmt: skip
"""Names of items that take sentences; what another text item takes is in the sentence, or short."""

_ENDS = ("content", "message", "body")
"""Names of reads whose text ends up in a file, a mail, a commit: it may be one that the sentence has."""

_OWN = {name: name for name in ("repo", "revision", "language", "sql", "encoding", "place")}
_OWN |= {"pattern": "glob", "query": "sql", "rename": "pair", "labels": "word", "fields": "word", "unique_by": "word"}
_UNSAYABLE = frozenset(["schema", "pairs", "types", "beside", "delimiter", "verbatim"])
_PERSONS = frozenset([*LIMITS, ALLOW_EMPTY, "allow_no_answer", "load_settings", "continue", "conversation"])
"""Items that a person chooses, besides those that a variable of the environment gives."""

_INTO = re.compile(
    r"""(\b(to|into|onto|as|write|save|create|named?|call(ed)?) | (\b(write|save|store|put|keep)\b[^.;]*|,)\ in)
    \s+((an?|the|new|file|it)\s+)*['"`]?$""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words before a file that say it is written; they do not count in a comparison or a question."""

_IN = re.compile(r"(?<!is|re|ot|so|nd|ly) in\s+['\"`]?$")
"""The same, behind what is got, at the end of a sentence: "my changes in a.txt", but not "words found in a.txt"."""

_TOPICS = {
    "hub": r"github|repo(sitory)?|issues?|pull requests?|prs?",
    "git": r"git|diff|commits?|staged|branch(es)?|tags?|my (edits|changes)",
    "pipe": r"pipe[ds]?|stdin|input|comes? in|incoming",
    "each": r"each|every|all|lines?|separately|(url|link|site|page|addresse)s",
    "open": r"compar\w+|diff\w*|versus|.*\?$",
    "saves": "write|save|store|put|keep|append|add|convert|create|make|turn|download|copy|move|rename|call|backup",
    "keeps": r"unless|not|\w+n['’]?t|never|keep|already",
}
"""Words for what a sentence speaks of. A comparison is open: it may read and write each file."""

_FOLDER = re.compile(r"\b(?:to|into|in|folder|directory)(?: the)? (\w+)(?![\w./])")
"""Words before a directory that something is put into."""


def plan_grammar(
    kinds: Mapping[str, Interface], sentence: str, *, is_piped: bool = False, is_strict: bool = True
) -> str:
    """Return the grammar of a plan for a sentence: one line in pipe syntax with these nodes, or "cannot: WHY".

    Without `is_piped` the first step has its data in its flags, unless the sentence speaks of a pipe. With `is_strict`
    a file that the sentence reads is not written, nor the other way round, and of two files each step has an id.
    """
    rules, before = _Grammar(kinds, sentence, is_piped, is_strict).rules, 0
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
    """Return these values as a person types them, in quotes if they are not `bare`; none is a template."""
    plain = (text for text in texts if text.isprintable() and not set(text) & set("$\\'"))
    return [_literal(text if re.fullmatch(bare, text, re.ASCII) else f"'{text}'") for text in plain]


def _topics(sentence: str) -> set[str]:
    return {topic for topic, said in _TOPICS.items() if re.search(rf"\b({said})(?!\w)", sentence, re.IGNORECASE)}


def _is_target(sentence: str, path: str) -> bool:
    before, _, after = sentence.partition(path)
    got = {*_topics(before), *(kind for kind, _ in values(before))} & {"hub", "git", "pipe", "path", "url"}
    return bool(_INTO.search(before) or (got and not words(after) and _IN.search(before)))


def _value_rules(sentence: str, topics: set[str], is_strict: bool) -> dict[str, list[str]]:
    """Return the rules of values: those that a sentence has, by kind, and names of new files."""
    said: dict[str, list[str]] = {"path": [], "url": [], "number": [], "quoted": []}
    for kind, text in values(sentence):
        said.setdefault(kind, []).append(text)
    paths, urls = said["path"], said["url"]
    bare = [word for word in dict.fromkeys(each.strip(".,;:?!()'\"`") for each in sentence.split()) if words(word)]
    numbers = [text.replace(",", "") for text in said["number"]]
    numbers += [str(number) for number in range(13) if is_named(sentence, number)]
    repos = [path for path in paths if is_strict and "hub" in topics and re.fullmatch(r"\w[\w-]*/\w[\w-]*", path)]
    files = [path for path in paths if not set(path) & set("*?") and path[-1] != "/" and path not in repos]
    targets = [path for path in paths if is_strict and _is_target(sentence, path)]
    written = [path for path in files if path in targets and "open" not in topics]
    read = [path for path in files if path not in written]
    saves = not is_strict or bool(urls or targets or "saves" in topics)
    folders = [path for path in paths if path[-1] == "/" or path in written] + _FOLDER.findall(sentence)
    named = [word for word in bare if word.isalnum() and (not is_strict or word.isupper() or word[1:].endswith("file"))]
    plain = [path for path in paths if re.fullmatch(r"[\w./~-]+", path, re.ASCII) and path not in repos]
    spoken = [*map(str.capitalize, known := languages(sentence)), *known.values()]
    return {
        "quoted": _typed(said["quoted"], bare=""),
        "given": ["quoted"] if said["quoted"] else [] if is_strict else ["prose"],
        "url": _typed(urls),
        "int": _typed(filter(str.isdecimal, numbers)),
        "repo": _typed(repos or [path for path in paths if re.fullmatch(r"\w[\w.-]*/[\w.-]+", path)]),
        "language": _typed(spoken) if is_strict else [*_typed(bare), "[a-z] [a-z]"],
        "word": _typed([*bare, *(word[:-1] for word in bare if word[2:].endswith("s"))]),
        "pair": ['word "=" name'],
        "rev": ['"HEAD"', '"HEAD~" int', "word"],
        "revision": ['rev ( ".." rev? )?'],
        "free": [*_typed(word.capitalize() for word in bare if word.isalpha()), "word", "short", "quoted"],
        "directory": [*_typed([*paths, *(path.rstrip("/") for path in paths)]), "word"],
        "clone": _typed(path for path in paths if path not in repos) + ["word"] * (not is_strict),
        "encoding": _typed(word for word in bare if result_of(codecs.lookup, word, of=LookupError, otherwise=None)),
        "near": [*(_literal(f"{path.rstrip('/')}/") for path in [*plain, *filter(str.isalnum, bare)]), 'name "/"'],
        "into": [_literal(path) for path in plain if path.endswith("/")] or ['name "/"'],
        "glob": _typed(path for path in paths if set(path) & set("*?")) or ["pattern"],
        "attached": _typed(read),
        "file": _typed(read if files else named),
        "written": _typed(written or (files if saves or len(files) > 1 else []))
        + (["name end"] if saves and len(files) < 2 and not written else []),
        "target": ["written", *_typed(folders)],
        "itemwritten": ['"\'" into? itemname "\'"'] if saves else [],
        "itemtarget": ["itemwritten", "into"],
    }


class _Grammar:
    """The rules of a grammar: for each name the alternatives. Some may name rules that are not there."""

    def __init__(self, kinds: Mapping[str, Interface], sentence: str, is_piped: bool, is_strict: bool) -> None:
        fixed = (line.split(" ::= ", 1) for line in _LINES.strip().splitlines())
        self.topics = _topics(sentence)
        self.rules = {name: body.split(" | ") for name, body in fixed} | _value_rules(sentence, self.topics, is_strict)
        self.names: dict[str, str] = {}
        self.kinds, self.sentence, self.is_strict, self.said = kinds, sentence, is_strict, {*words(sentence)}
        self.is_piped = is_piped or "pipe" in self.topics
        usable = [name for name in kinds if not is_strict or self._is_needed(name)]
        self.plain = {name: kinds[name] for name in usable if "default" in kinds[name].actions}
        self.begins = self._beginnings() if is_strict else []
        self._add_steps(has_batch=not is_strict or "each" in self.topics)
        self._add_texts()
        self._add_branches()

    def add(self, name: str, bodies: Iterable[str]) -> None:
        self.rules[name] = [*self.rules.get(name, ()), *bodies]

    def rule(self, body: str) -> str:
        """Return the name of the rule with this body, which is one for all that have it."""
        self.rules[name := self.names.setdefault(body, f"n{len(self.names)}")] = [body]
        return name

    def steps(self, names: Iterable[str], *, id: str = "", is_first: bool = True, over: str = "") -> list[str]:
        """Return a step with each of these nodes: the first one or a later one, or one of a batch."""
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
        found = [(0, start)] if start else []
        for item in interface.taken:
            if item is but or (over and is_first and item is filled):
                continue
            is_piped = "pipe" in item.marks and not (is_first and (item.type.is_url or item.name == "prompt"))
            rule = _piped_rule(item, is_first and not over) if is_piped else _rule_of(item, interface, over)
            is_known = rule[:1] in ("(", '"') or bool(self.rules.get(rule))
            is_source = item.name == "path" and "reads files" in interface.effects and is_alone
            is_required = (item.required or item.name == "prompt" or is_source) and (is_alone or not is_piped)
            is_required |= self.is_strict and is_known and rule == "repo"
            if is_required and not is_known:
                return None
            flag = rule if rule[:1] == '"' else f"{_literal(f' {item.flag}=')} {rule}"
            is_said = is_piped or self._is_said(item, rule, interface)
            if is_required:
                found.append((1 if is_piped or rule == "repo" else 0, flag))
            elif is_known and is_said and (not over or item.type.name == "bool"):
                found.append((2, f"( {flag} ){'{0,3}' if item.type.name == 'list' else '?'}"))
        body = " ".join(flag for _, flag in sorted(found, key=lambda each: each[0]))
        return self.rule(body) if body else ""

    def _is_said(self, item: Item, rule: str, interface: Interface) -> bool:
        """Return False for a switch, or a text of any words, that has effects and that nobody speaks of."""
        is_free = not (self.is_strict and interface.effects and (rule == "free" or rule[:1] == '"'))
        is_kept = "--no-" in rule and "keeps" in self.topics
        return is_free or is_kept or not self.said.isdisjoint(words(f"{item.name} {item.doc}"))

    def _add_steps(self, *, has_batch: bool) -> None:
        """Add the steps of a line by what they take and write; of several files, those that read one have ids."""
        files = [path for path in self.rules["attached"] if f" in {path[1:-1]}" not in self.sentence]
        is_many = self.is_strict and len(files) > 1
        readers = [each for each in self.kinds.values() if each.effects == ("reads files",) and not each.pipe_read]
        some = [name for name, each in self.plain.items() if not (is_many and "path" in each.reads and each in readers)]
        writes = {name: write.type for name, each in self.plain.items() if (write := each.pipe_write)}
        lists = [name for name, type in writes.items() if type.name == "list" or (has_batch and type.name == "any")]
        for at, is_first in enumerate((True, False)):
            later = [name for name in some if not (self.is_strict and _only_gives(self.kinds[name]))]
            self.add(("first", "step")[at], self.steps(self.begins or some if is_first else later, is_first=is_first))
            for over in ("path", "text"):
                names = [name for name in lists if writes[name].is_path == (over == "path")]
                names = [name for name in names if name in ((self.begins or names) if is_first else later)]
                self.add(f"{over}s{at}", self.steps(names, is_first=is_first))
                self.add(f"{over}{at}", self.steps(self.plain, is_first=is_first, over=over))

    def _is_needed(self, name: str) -> bool:
        """Return False for a node that saves what nobody wants saved, and for `shell` where `run-tests` is named."""
        others = [each for each, kind in self.kinds.items() if "runs commands" in kind.effects and each != name]
        is_end = any(item.name == "path" and _is_written(item, self.kinds[name]) for item in self.kinds[name].taken)
        named = [each for each in others if self.said.issuperset(words(each.replace("-", " ")))]
        return not ("command" in self.kinds[name].reads and named) and (not is_end or bool(self.rules["written"]))

    def _beginnings(self) -> list[str]:
        """Return the nodes that take a number behind their word (`issue 5`), else the sentence's URL or repository.

        Of those that take a URL, the ones whose summary names its host come alone: YouTube's.
        """
        some = [(name, item) for name, each in self.plain.items() for item in each.taken]
        some = [(name, item) for name, item in some if item.required or item.name == "repo"]
        takes = [(name, item.flag[2:].split("-")[0], _rule_of(item, self.kinds[name], "")) for name, item in some]
        behind = {*re.findall(r"(\w+?)s? (?:number )?#?\d", self.sentence.lower())}
        numbered = [name for name, word, rule in takes if rule == "int" and word in behind]
        if numbered or self.rules["attached"]:
            return numbered
        pages, hubs = ([name for name, _, rule in takes if rule == own and self.rules[own]] for own in ("url", "repo"))
        hosts = re.findall(r"//(?:www\.)?(\w{5,})", self.sentence.lower())
        named = [name for name in pages if any(host in self.kinds[name].summary.lower() for host in hosts)]
        return named or pages or hubs * ("hub" in self.topics)

    def _add_texts(self) -> None:
        """Add texts made of earlier answers: of parts of the last one, or of those of steps with ids."""
        ends: list[str] = []
        for name, interface in self.plain.items():
            for item in interface.taken:
                is_end = "pipe" in item.marks and item.name in _ENDS
                is_text = is_end or item.name in ("prompt", "template")
                flags = self.flags(name, is_first=False, but=item) if is_text else None
                if flags is not None:
                    self.add("head", [f"{_literal(name)} {flags} {_literal(f' {item.flag}=')}"])
                    body = "".join(self.rules.get(flags, ())) if is_end else ""
                    ends += [f"{_literal(name)} {body} {_literal(f' {item.flag}=')}"] if " prose" in body else []
        keys: dict[str, list[str]] = {}
        for at, (name, interface) in enumerate(self.plain.items()):
            if (write := interface.pipe_write) is not None and write.type.name in ("str", "any"):
                keys.setdefault(write.name, []).append(name)
            if parts := [_literal(f"${{{part}}}") for part in _parts(interface)]:
                self.add(f"part{at}", parts)
                self.add(text := f"p{at}", [f"""\"'" t0 part{at} ( t part{at} )* t "'\""""])
                self.add(f"parts{at}", ["head " + text, *(f"{e.replace(' prose', f' {text}')} {text}" for e in ends)])
            for into, is_first in (("begin", True), ("go", False)):
                may_stand = name in (self.begins or [name]) if is_first else not _only_gives(interface)
                names = [name] if may_stand or not self.is_strict else []
                self.add(into, (f"{step} sep parts{at}" for step in self.steps(names, is_first=is_first)))
        if self.is_strict and len(self.rules["attached"]) == 1:
            return  # the text of one file goes through the pipe
        asked = next((at for at, names in enumerate(keys.values()) if "llm" in names), -1)
        for at, (key, names) in enumerate(keys.items()):
            one, two = _literal(f"${{a.{key}}}"), _literal(f"${{b.{key}}}")
            self.add(f"a{at}", self.steps([name for name in names if name in (self.begins or names)], id=":a"))
            self.add(f"b{at}", self.steps(names, id=":b", is_first=False))
            self.add(f"c{at}", self.steps(names, is_first=False))
            both = f"t0 {_literal(f'${{a.{[*keys][asked]}}}')} t {_literal(f'${{{key}}}')} t"
            self.add("join", [f"""a{asked} sep c{at} sep head "'" {both} "'\""""] if asked >= 0 else [])
            self.add("join", [f"""a{at} sep step sep head "'" t0 {one} t "'\""""])
            self.add("join", [f"""a{at} sep b{at} sep head "'" t0 {one} t {two} t "'\""""])

    def _add_branches(self) -> None:
        """Add the edges for actions. Behind an `error` the pipe brings nothing: a text says what failed."""
        actions = [(name, one) for name, each in self.plain.items() for one in each.actions if one != "default"]
        for at, (name, action) in enumerate(actions):
            on, then, step = _literal(f" ={action}=> "), "error" if action == "error" else "then", f"fail{at}"
            if then == "error" or action == "failed" or action in self.sentence:
                for into, begin, is_first in (("begin", "", True), ("go", "first sep ", False)):
                    names = [name] if not is_first or name in (self.begins or [name]) else []
                    self.add(step, (f"{begin}{each}" for each in self.steps(names, id=":a", is_first=is_first)))
                    plain = self.steps(names, is_first=is_first) if then == "then" else []
                    self.add(into, (f"{each} {on} then" for each in plain))
            self.add("branch", [f'{step} ( sep go ){{1,3}} "; a" {on} {then} ( sep go ){{0,2}} ( sep "a" )?'])
            self.add("branch", [f'{step} {on} {then} ( sep go ){{0,2}} ( "; a" ( sep go ){{1,3}} )?'])


def _only_gives(interface: Interface) -> bool:
    """Return True for a node that only gets something, whatever the step before it gives."""
    return interface.pipe_read is None and bool(interface.effects) and ONLY_GIVES.issuperset(interface.effects)


def _piped_rule(item: Item, is_first: bool) -> str:
    """Return the rule of a text that the pipe would bring: one that ends up somewhere may be invented, if need be."""
    if item.type.name not in ("str", "any") or item.name not in _PROSE:
        return ""
    return "given" if item.name in _ENDS and is_first else "quoted" if item.name in _ENDS or is_first else ""


def _rule_of(item: Item, interface: Interface, over: str) -> str:
    """Return the rule of an item's value, of a switch its flag; "" for an item that a plan leaves out."""
    type, name = item.type, item.name
    if item.is_secret or item.env or "." in name or name in _PERSONS:
        return ""
    if choices := type.choices or item.choices:
        return f"( {' | '.join(map(_literal, choices))} )"
    if type.name == "bool":
        return _literal(f" {spell_flag(name, item.default is not True)}")
    if name == "command":
        return name
    is_text = type.name in ("str", "any", "path", "url") or (type.name == "list" and (type.is_path or name in _OWN))
    if type.name == "int" or "number" in name:
        return "int"
    if not is_text or item.marks & _UNSAYABLE:
        return ""
    if type.is_url or name.endswith("url"):
        return "url"
    if type.is_path and name != "pattern":
        if name in ("directory", "repo"):
            return "clone" if name == "repo" or item.required else "directory"
        if _is_written(item, interface):
            return "" if over == "text" else f"{over and 'item'}{'written' if name == 'path' else 'target'}"
        return "" if over else "file" if item.required else "attached"
    return "prose" if name in _PROSE else _OWN.get(name, "" if type.name == "any" else "free")


def _is_written(item: Item, interface: Interface) -> bool:
    is_end = item.name == "destination" or interface.pipe_read is not None
    return item.type.name == "path" and "writes files" in interface.effects and is_end


def _filled(interface: Interface, over: str) -> tuple[Item | None, str]:
    """Return the read that takes the item of a batch over paths or texts, and the flag for it."""
    reader, reads = item_reader(interface), interface.reads.values()
    if over == "path":
        named = [item for item in reads if item.name == "path" and not _is_written(item, interface)]
    elif reader is not None and reader.type.name in ("str", "any"):
        return reader, ""
    else:
        named = [item for item in reads if item.type.is_url or item.name.endswith("url")]
    flag = f"{_literal(f' {named[0].flag}=')} \"'$item'\"" if named else ""
    return (named[0], f"( {flag} )?" if named[0] is reader else flag) if named else (None, "")


def _parts(interface: Interface) -> Iterator[str]:
    """Yield the paths of texts in a node's answer, besides the one that the pipe carries."""
    for key, write in interface.writes.items():
        if key != "usage" and "pipe" not in write.marks:
            yield from (f"{key}.{name}" for name, type in write.type.fields.items() if type.name == "str")
            yield from [key] if write.type.name == "str" else []
