"""The grammar of a plan: the lines of pipe syntax that a model may write for a sentence, as GBNF of llama.cpp.

A small model invents names, flags and values. This grammar, made from the interfaces and the sentence, allows only
lines that parse, with the sentence's files, URLs and numbers. Other forms that were seen in wrong plans are left out.
"""

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pflow.catalog.registry import PACKAGE
from pflow.errors import result_of
from pflow.flow.flow import item_reader
from pflow.flow.rules.answers import ONLY_GIVES
from pflow.interface.common import ALLOW_EMPTY
from pflow.interface.interface import LIMITS, Field, Interface, spell_flag
from pflow.plan.inputs import is_named
from pflow.plan.meaning import languages, values
from pflow.saved_flows.nearest import words

_FIXED = Path(PACKAGE, "plan", "grammar.gbnf")
"""The rules that are the same for all sentences. An alternative that names a missing rule is left out."""

_PROSE = ("prompt", "criteria", "subject", "body", "message", "question", "style", "template", "content", "title",
          "text")  # fmt: skip
"""Names of items whose values are whole sentences. Other texts are words of the sentence, or short."""

_ENDS = ("content", "message", "body")
"""Names of reads whose text ends up in a file, a mail or a commit. The sentence may quote that text."""

_OWN = {name: name for name in ("repo", "revision", "language", "sql", "encoding", "place", "command")}
_OWN |= {"pattern": "glob", "query": "sql", "rename": "pair", "labels": "word", "fields": "word", "unique_by": "word"}
_UNSAYABLE = frozenset(["schema", "pairs", "types", "beside", "delimiter", "verbatim"])
_PERSONS = frozenset([*LIMITS, ALLOW_EMPTY, "allow_no_answer", "load_settings", "continue", "conversation"])
"""Items that only a person chooses. Items with an environment variable are such items too."""

_ALSO = {"append": "extend log below", "diff": "review change", "overwrite": "unless not don isn never keep already"}
"""Words of a sentence that ask for a switch, in addition to the words of its doc."""


def plan_grammar(
    kinds: Mapping[str, Interface], sentence: str, *, shown: str = "", is_piped: bool = False, is_strict: bool = True
) -> str:
    """Return the grammar of a plan for a sentence: one line of pipe syntax with these nodes, or "cannot: WHY".

    `shown` has the examples that the model sees; their flags may be used. Without `is_piped` the first step gets its
    data from flags, unless the sentence speaks of a pipe. With `is_strict` each file is either read or written, as the
    sentence says, and steps that read several files have ids.
    """
    rules, before = _Grammar(kinds, sentence, shown, is_piped, is_strict).rules, 0
    while before != (before := len(rules)):
        kept = {name: [each for each in bodies if rules.keys() >= _names(each)] for name, bodies in rules.items()}
        rules = {name: bodies for name, bodies in kept.items() if bodies}
    return "\n".join(f"{name} ::= {' | '.join(dict.fromkeys(bodies))}" for name, bodies in rules.items()) + "\n"


def _names(body: str) -> set[str]:
    """Return the names of the rules in a body."""
    return {*re.findall(r"[a-z][a-z0-9-]*", re.sub(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]', " ", body))}


class _Grammar:
    """The rules of a grammar: alternatives by name. An alternative that names a missing rule is removed later."""

    def __init__(self, kinds: Mapping[str, Interface], sentence: str, shown: str, is_piped: bool, is_strict: bool):
        fixed = (line.split(" ::= ", 1) for line in _FIXED.read_text(encoding="utf-8").splitlines())
        self.topics, self.names = topics_of(sentence), dict[str, str]()
        self.rules = {name: body.split(" | ") for name, body in fixed} | value_rules(sentence, self.topics, is_strict)
        self.kinds, self.sentence, self.shown, self.is_strict = kinds, sentence, shown, is_strict
        self.said = {*words(sentence)}
        self.name_words = {name: {*words(name.replace("-", " "))} for name in kinds}
        self.is_piped = is_piped or "pipe" in self.topics
        self.plain = {name: each for name, each in kinds.items() if "default" in each.actions and self._is_needed(name)}
        self.begins = self._beginnings() if is_strict else []
        self._add_steps(has_batch=not is_strict or "each" in self.topics)
        self._add_texts()
        self._add_branches()

    def add(self, name: str, bodies: Iterable[str]) -> None:
        self.rules[name] = [*self.rules.get(name, ()), *bodies]

    def rule(self, body: str) -> str:
        """Return the name of the rule with this body. Equal bodies share a rule: else 60 nodes would take 25 kB."""
        self.rules[name := self.names.setdefault(body, f"n{len(self.names)}")] = [body]
        return name

    def steps(self, names: Iterable[str], *, id: str = "", is_first: bool = True, over: str = "") -> list[str]:
        """Return a rule for a step with each of these nodes: a first step, a later one, or one in a batch."""
        flags = [(name, self.flags(name, is_first=is_first, over=over)) for name in names]
        steps = [f"{literal(name + id)} {each}".rstrip() for name, each in flags if each is not None]
        return steps if id else [*map(self.rule, steps)]

    def flags(self, name: str, *, is_first: bool, over: str = "", but: Field | None = None) -> str | None:
        """Return the rule of a node's flags, required ones first; None if the node cannot stand at this place.

        The first step of a batch takes the item. Any other first step gets its data from flags or the piped input.
        """
        interface, urls = self.kinds[name], self.rules["attached"] and self.rules["url"]
        filled, start = _filled(interface, over, urls) if over and is_first else (interface.pipe_read, "")
        if over and filled is None:
            return None
        is_alone = is_first and not over and not self.is_piped
        found = [(0, start)] if start else []
        for field in interface.taken:
            if field is but or (over and is_first and field is filled and field.name != "template"):
                continue
            is_piped = "pipe" in field.marks and not (is_first and (field.type.is_url or field.name == "prompt"))
            rule = _piped_rule(field, is_first and not over) if is_piped else _rule_of(field, interface, over)
            is_of_item = rule == "prose" and over == "text" and is_first
            rule = rule if not is_of_item else "items" if field is filled else "itemprose"
            is_known = rule[:1] in ("(", '"') or bool(self.rules.get(rule))
            is_source = field.name == "path" and "reads files" in interface.effects and is_alone
            is_required = (field.required or field.name == "prompt" or is_source) and (is_alone or not is_piped)
            is_required |= self.is_strict and is_known and rule == "repo"
            if is_required and not is_known:
                return None
            flag = rule if rule[:1] == '"' else f"{literal(f' {field.flag}=')} {rule}"
            is_free = not (self.is_strict and interface.effects and (rule == "free" or rule[:1] == '"'))
            is_said = is_piped or is_free or (field.flag in self.shown and field.name not in _ALSO)
            is_said |= bool(self.said & {*words(f"{field.name} {field.doc} {_ALSO.get(field.name, '')}")})
            if is_required:
                found.append((2 if is_piped else int(rule == "repo"), flag))
            elif is_known and is_said:
                found.append((3, f"( {flag} ){'{0,3}' if field.type.name == 'list' else '?'}"))
        body = " ".join(flag for _, flag in sorted(found, key=lambda each: each[0]))
        return self.rule(body) if body else ""

    def _add_steps(self, *, has_batch: bool) -> None:
        """Add the rules of steps by their reads and writes. If there are several files, each reader gets an id."""
        is_many = self.is_strict and sum("." in path for path in self.rules["attached"]) > 1
        readers = [each for each in self.kinds.values() if each.effects == ("reads files",) and not each.pipe_read]
        some = [name for name, each in self.plain.items() if not (is_many and "path" in each.reads and each in readers)]
        writes = {name: write.type for name, each in self.plain.items() if (write := each.pipe_write)}
        lists = [name for name, type in writes.items() if type.name == "list" or (has_batch and type.name == "any")]
        self.later = [name for name in some if not (self.is_strict and _fetches(self.kinds[name]))]
        for at, (is_first, into, may) in enumerate([(True, "first", self.begins or some), (False, "step", self.later)]):
            self.add(into, self.steps(may, is_first=is_first))
            for over in ("path", "text"):
                names = [name for name in lists if name in may and writes[name].is_path == (over == "path")]
                self.add(f"{over}s{at}", self.steps(names, is_first=is_first))
                self.add(f"{over}{at}", self.steps(self.plain, is_first=is_first, over=over))

    def _is_needed(self, name: str) -> bool:
        """Return False for nodes that small models use without need: file writers, `shell`, nodes for CSV or links."""
        kind, named = self.kinds[name], self.name_words
        runs = [each for each, kind in self.kinds.items() if kind.effects == ("reads files", "runs commands")]
        is_other = "command" in kind.reads and any(self.said >= named[each] for each in runs)
        is_end = any(field.name == "path" and _is_written(field, kind) for field in kind.taken)
        is_form = not kind.effects and kind.pipe_read is not None and kind.pipe_read.type.name == "str"
        is_form = name.startswith("load-") or (is_form and name not in self.shown)
        is_idle = self.is_strict and is_form and self.said.isdisjoint(named[name])
        return not (is_other or is_idle) and (not is_end or bool(self.rules["written"]))

    def _beginnings(self) -> list[str]:
        """Return the nodes that fit a number after its word (`issue 5`), a URL's host, or a repository."""
        behind = {*re.findall(r"(\w+?)s? (?:number )?#?\d", self.sentence.lower().replace("pull request", "pr"))}
        urls, numbered, pages, hubs = {*self.rules["url"]}, list[str](), list[str](), list[str]()
        for name, each in self.plain.items():
            for field in each.taken:
                rule = _rule_of(field, each, "")
                about = {field.flag[2:].split("-")[0], *re.findall("pr", field.doc.replace("pull request", "pr"))}
                numbered += [name] if behind & about and (rule == "issue" or (rule == "int" and field.required)) else []
                pages += [name] if rule in ("url", "issue") and urls & {*self.rules[rule]} else []
                pages += [name] if rule == "command" and urls and "git" in self.topics else []
                hubs += [name] if rule == "repo" and self.rules[rule] and "hub" in self.topics else []
        if numbered or self.rules["attached"]:
            local = [name for name, each in self.plain.items() if {*each.effects} <= {"reads files", "runs commands"}]
            return numbered and numbered + local
        hosts = re.findall(r"//(?:www\.)?(\w{5,})", self.sentence.lower())
        named = [name for name in pages if any(host in f"{name} {self.kinds[name].summary}".lower() for host in hosts)]
        return named or pages or hubs

    def _add_texts(self) -> None:
        """Add texts with references: to parts of the last result, or to the results of steps with ids."""
        ends: list[str] = []
        for name, interface in self.plain.items():
            for field in interface.taken:
                is_end = "pipe" in field.marks and field.name in _ENDS
                is_text = is_end or field.name in ("prompt", "template")
                flags = self.flags(name, is_first=False, but=field) if is_text else None
                if flags is not None:
                    self.add("head", [f"{literal(name)} {flags} {literal(f' {field.flag}=')}"])
                    body = "".join(self.rules.get(flags, ())) if is_end else ""
                    ends += [f"{literal(name)} {body} {literal(f' {field.flag}=')}"] if " prose" in body else []
        keys: dict[str, list[str]] = {}
        for at, (name, interface) in enumerate(self.plain.items()):
            if (write := interface.pipe_write) is not None and write.type.name in ("str", "any"):
                keys.setdefault(write.name, []).append(name)
            if parts := [literal(f"${{{part}}}") for part in _parts(interface)]:
                self.add(f"part{at}", parts)
                self.add(text := f"p{at}", [f"""\"'" t0 part{at} ( t part{at} )* t "'\""""])
                self.add(f"parts{at}", ["head " + text, *(f"{e.replace(' prose', f' {text}')} {text}" for e in ends)])
            for into, is_first in (("begin", True), ("go", False)):
                names = [name] if name in ((self.begins or self.plain) if is_first else self.later) else []
                self.add(into, (f"{step} sep parts{at}" for step in self.steps(names, is_first=is_first)))
        is_more = self.begins or self.rules["url"] or "git" in self.topics or len(self.rules["written"]) > 1
        if self.is_strict and len(self.rules["attached"]) == 1 and not is_more:
            return  # the text of a single file comes through the pipe, without a reference
        urls = [name for name, each in self.plain.items() if any(field.type.is_url for field in each.taken)]
        given = {key for key, names in keys.items() for name in names if name in urls or _fetches(self.kinds[name])}
        for at, (key, names) in enumerate(keys.items()):
            one = literal(f"${{a.{key}}}")
            self.add(f"a{at}", self.steps([name for name in names if name in (self.begins or names)], id=":a"))
            for name in names:
                self.add(f"b{at}", self.steps([name], id=":b", is_first=name in urls))
            self.add(f"c{at}", self.steps(names, is_first=False))
            self.add("join", [f"a{at} sep step ( sep step )? sep says {one} close"])
            for to, other in enumerate(keys):
                last, two = (literal(f"${{{id}{other}}}") for id in ("", "b."))
                self.add("join", [f"a{at} sep c{to} sep says {one} t {last} close"] if "llm" in names else [])
                if at == to or {key, other} <= given:
                    self.add("join", [f"a{at} sep b{to} sep says {one} t {two} close"])

    def _add_branches(self) -> None:
        """Add the edges for actions. After an `error` nothing is piped: the next step needs a text about it."""
        actions = {one for each in self.plain.values() for one in each.actions if one in f"failed {self.sentence}"}
        for at, action in enumerate(sorted({"error", *actions} - {"default"})):
            on, then, step = (
                literal(f" ={action}=> "),
                "error" if action == "error" else "( first | step )",
                f"fail{at}",
            )
            every = action == "error" and "fails" in self.topics
            some = [name for name, each in self.plain.items() if every or action in each.actions]
            for into, begin, is_first in (("begin", "", True), ("go", "first sep ", False)):
                names = [name for name in some if not is_first or name in (self.begins or some)]
                self.add(step, (f"{begin}{each}" for each in self.steps(names, id=":a", is_first=is_first)))
                plain = self.steps(names if action != "error" else [], is_first=is_first)
                self.add(into, (f"{each} {on} {then}" for each in plain))
            self.add("branch", [f'{step} ( sep go ){{1,3}} "; a" {on} {then} ( sep go ){{0,2}} ( sep "a" )?'])
            self.add("branch", [f'{step} {on} {then} ( sep go ){{0,2}} ( "; a" ( sep go ){{1,3}} )?'])


def _fetches(interface: Interface) -> bool:
    """Return True for a node that only fetches something, and reads nothing from the pipe."""
    return interface.pipe_read is None and bool(interface.effects) and ONLY_GIVES.issuperset(interface.effects)


def _piped_rule(field: Field, is_first: bool) -> str:
    """Return the rule of a text that otherwise comes from the pipe; "" if a plan must not write it as a flag."""
    if field.type.name not in ("str", "any") or field.name not in _PROSE:
        return ""
    return "given" if field.name in _ENDS and is_first else "quoted" if field.name in _ENDS or is_first else ""


def _rule_of(field: Field, interface: Interface, over: str) -> str:
    """Return the rule of an item's value, or of a switch's flag; "" for an item that a plan must leave out."""
    type, name = field.type, field.name
    if field.is_secret or field.env or "." in name or name in _PERSONS:
        return ""
    if choices := type.choices or field.choices:
        return f"( {' | '.join(map(literal, choices))} )"
    if type.name == "bool":
        return literal(f" {spell_flag(name, field.default is not True)}")
    is_text = type.name in ("str", "any", "path", "url") or (type.name == "list" and (type.is_path or name in _OWN))
    if type.name == "int" or "number" in name:
        return "int" if type.name == "int" else "issue"
    if not is_text or (field.marks & _UNSAYABLE and name != "command"):
        return ""
    if type.is_url or name.endswith("url"):
        return "url"
    if type.is_path and name != "pattern":
        if name in ("directory", "repo"):
            return "clone" if name == "repo" or field.required else "directory"
        if _is_written(field, interface):
            own = "target" if name != "path" else "added" if over and "append" in interface.params else "written"
            return f"{over and 'item'}{own}"
        return "" if over else "file" if field.required else "attached"
    return "prose" if name in _PROSE else _OWN.get(name, "" if type.name == "any" else "free")


def _is_written(field: Field, interface: Interface) -> bool:
    is_end = field.name == "destination" or interface.pipe_read is not None
    return field.type.name == "path" and "writes files" in interface.effects and is_end


def _filled(interface: Interface, over: str, urls: list[str]) -> tuple[Field | None, str]:
    """Return the read that gets the item of a batch over paths or texts, and the flag that a plan writes for it."""
    reader, names = item_reader(interface), ("path",) if over == "path" else ("path", "url")
    reads = [field for field in interface.reads.values() if field.name in names and not _is_written(field, interface)]
    is_needed = any(field.required for field in reads) and not urls
    if over == "text" and reader is not None and reader.type.name in ("str", "any") and not is_needed:
        return reader, ""
    flag = f"{literal(f' {reads[0].flag}=')} \"'$item'\"" if reads else ""
    return (reads[0], f"( {flag} )?" if reads[0] is reader else flag) if reads else (None, "")


def _parts(interface: Interface) -> Iterator[str]:
    """Yield the paths of texts that a node writes, without the text that the pipe carries."""
    for key, write in interface.writes.items():
        if key != "usage" and "pipe" not in write.marks:
            yield from (f"{key}.{name}" for name, type in write.type.fields.items() if type.name == "str")
            yield from [key] if write.type.name == "str" else []


_END = r"\s+((an?|the|new|it|(\w+ )?file)\s+)*['\"`]?$"
_INTO = re.compile(rf"(?i)\b(to|into|onto|as|write|save|create|named?|call(ed)?){_END}")
_PUT = re.compile(rf"(?i)(\b(write|save|store|put|keep|as)\b[^.;]*|,) in{_END}")
_OF = re.compile(rf"(?i)\b(is|are|not|also|found|only|(of|on|from|with|by|for|to|about|using) the \w+) in{_END}")
"""Words before a file that say that the file is written. They do not count in a comparison or a question. "In" alone
counts only at the end of a sentence, after a thing to fetch: "my changes in a.txt", but not "words found in a.txt"."""

_TOPICS = {
    "hub": r"github|repo(sitory)?|issues?|pull requests?|prs?",
    "git": r"git|clone|diff|commits?|staged|branch(es)?|tags?|my (edits|changes)",
    "pipe": r"pipe[ds]?|stdin|input|comes? in|incoming",
    "each": r"each|every|all|lines?|separately|(url|link|site|page|addresse|file|name)s",
    "open": r"compar\w+|diff\w*|versus|^(?!can|could|would|will).*\?$",
    "saves": "(over)?write|save|put|append|add|convert|create|make|download|copy|move|rename|extend|replace|in place",
    "fails": r"if|unless|or else|otherwise|\w*fail\w*|errors?",
}
"""The words for each topic of a sentence. The topic "open" is a comparison or question, in which each
file may be read and written."""


def literal(text: str) -> str:
    """Return the body of a rule that allows this text alone."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _typed(texts: Iterable[str], bare: str = r"[\w./~#@:%&+,-]+") -> list[str]:
    """Return the rules of values as a person types them: in quotes unless they match `bare`, without templates."""
    plain = (text for text in texts if text.isprintable() and not set(text) & set("$\\'"))
    return [literal(text if re.fullmatch(bare, text, re.ASCII) else f"'{text}'") for text in plain]


def topics_of(sentence: str) -> set[str]:
    """Return the topics of a sentence."""
    return {topic for topic, said in _TOPICS.items() if re.search(rf"\b({said})(?!\w)", sentence, re.IGNORECASE)}


def value_rules(sentence: str, topics: set[str], is_strict: bool) -> dict[str, list[str]]:
    """Return the rules of values by kind: the sentence's values, and names of new files."""
    found = values(sentence)
    paths, urls, quoted = ([text for kind, text in found if kind == own] for own in ("path", "url", "quoted"))
    paths += [text for text in quoted if re.fullmatch(r"[\w ,()-]+ [\w ,()-]*\.[A-Za-z]\w{1,3}", text)]
    numbers = [text.replace(",", "") for kind, text in found if kind == "number"]
    numbers = [*filter(str.isdecimal, numbers), *(n for n in map(str, range(13)) if is_named(sentence, int(n)))]
    bare = [word for word in dict.fromkeys(each.strip(".,;:?!()'\"`") for each in sentence.split()) if words(word)]
    numbers += ["1"] * bool({"last", "latest", "newest"} & {*map(str.lower, bare)})
    repos = [path for path in paths if is_strict and "hub" in topics and re.fullmatch(r"\w[\w-]*/\w[\w-]*", path)]
    named = [word for word in bare if word.isalnum() and (not is_strict or word.isupper() or word[1:].endswith("file"))]
    plain = [path for path in paths if re.fullmatch(r"[\w./~-]+", path, re.ASCII) and path not in repos]
    spoken = [*map(str.capitalize, known := languages(sentence)), *known.values()]
    return {
        "quoted": _typed(quoted, bare=""),
        "given": ["quoted"] if quoted else [] if is_strict else ["prose"],
        "url": _typed(urls),
        "int": _typed(numbers),
        "issue": _typed([*numbers, *filter(re.compile(r".*/(issues|pull)/\d").match, urls)]),
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
        "near": [*(literal(f"{path.rstrip('/')}/") for path in [*plain, *filter(str.isalnum, bare)]), 'name "/"'],
        "into": [literal(path) for path in plain if path.endswith("/")] or ['name "/"'],
        "glob": _typed(path for path in paths if set(path) & set("*?")) or ["pattern"],
        **_file_rules(sentence, [path for path in paths if path not in repos], named, topics, is_strict),
    }


def _file_rules(
    sentence: str, paths: list[str], named: list[str], topics: set[str], is_strict: bool
) -> dict[str, list[str]]:
    """Return the rules of the files that the sentence reads, writes, or makes."""
    files = [path for path in paths if not set(path) & set("*?") and path[-1] != "/"]
    roles = {path: [*_roles(sentence, path)] for path in paths}
    targets = [path for path, each in roles.items() if is_strict and (True in each or len(each) > 1)]
    written = [path for path in files if path in targets and "open" not in topics]
    read = [path for path in files if path not in written or len(roles[path]) > 1]
    saves = not is_strict or bool("//" in sentence or targets or "saves" in topics)
    is_new = saves and len(files) < 2 and not written
    return {
        "attached": _typed(read),
        "file": _typed(read or named),
        "written": _typed(written or (files if saves or len(files) > 1 else [])) + ["name end"] * is_new,
        "target": ["written", *_typed(re.findall(r"\b(?:in|to|into) (?:the |folder )*(\S+/|\w+)(?![\w./])", sentence))],
        "itemwritten": ['"\'" into? itemname "\'"'] if saves else [],
        "itemtarget": ["itemwritten", "into"],
        "itemadded": ["itemwritten", 'written " --append"'],
    }


def _roles(sentence: str, path: str) -> Iterator[bool]:
    """Yield True for each place in a sentence where a path is to be written, False where it is to be read."""
    for at in re.finditer(rf"(?<![\w./-]){re.escape(path)}(?!\w)", sentence):
        before, after = sentence[: at.start()], sentence[at.end() :]
        got = {*topics_of(before), *(kind for kind, _ in values(before))} & {"hub", "git", "pipe", "path", "url"}
        is_put = _PUT.search(before) and not re.search(r"\b(to|into|as) \S*\.\w", after)
        is_in = is_put or (got and not words(after) and re.search(f" in{_END}", before))
        yield from [False] * ("add" in before.lower().split() and not got)  # `add a title to a.md` reads it too
        yield bool(_INTO.search(before) or (is_in and not _OF.search(before)))
