"""The values of a sentence as rules of a plan's grammar: files by what is done with them, numbers, names, words."""

import codecs
import re
from collections.abc import Iterable, Iterator

from pflow.errors import result_of
from pflow.plan.declare_inputs import is_named
from pflow.plan.meaning import languages, values
from pflow.saved_flows.nearest import words

_END = r"\s+((an?|the|new|it|(\w+ )?file)\s+)*['\"`]?$"
_INTO = re.compile(rf"(?i)\b(to|into|onto|as|write|save|create|named?|call(ed)?){_END}")
_PUT = re.compile(rf"(?i)(\b(write|save|store|put|keep|as)\b[^.;]*|,) in{_END}")
_OF = re.compile(rf"(?i)\b(is|are|not|also|found|only|(of|on|from|with|by|for|to|about|using) the \w+) in{_END}")
"""Words before a file that say it is written; they do not count in a comparison or a question. "In" alone counts at
the end of a sentence, behind what is got: "my changes in a.txt", but not "words found in a.txt"."""

_TOPICS = {
    "hub": r"github|repo(sitory)?|issues?|pull requests?|prs?",
    "git": r"git|clone|diff|commits?|staged|branch(es)?|tags?|my (edits|changes)",
    "pipe": r"pipe[ds]?|stdin|input|comes? in|incoming",
    "each": r"each|every|all|lines?|separately|(url|link|site|page|addresse|file|name)s",
    "open": r"compar\w+|diff\w*|versus|^(?!can|could|would|will).*\?$",
    "saves": "(over)?write|save|put|append|add|convert|create|make|download|copy|move|rename|extend|replace|in place",
    "fails": r"if|unless|or else|otherwise|\w*fail\w*|errors?",
}
"""Words for what a sentence speaks of. A comparison is open: it may read and write each file."""


def literal(text: str) -> str:
    """Return the body of a rule that allows this text alone."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _typed(texts: Iterable[str], bare: str = r"[\w./~#@:%&+,-]+") -> list[str]:
    """Return these values as a person types them, in quotes if they are not `bare`; none is a template."""
    plain = (text for text in texts if text.isprintable() and not set(text) & set("$\\'"))
    return [literal(text if re.fullmatch(bare, text, re.ASCII) else f"'{text}'") for text in plain]


def topics_of(sentence: str) -> set[str]:
    """Return what a sentence speaks of."""
    return {topic for topic, said in _TOPICS.items() if re.search(rf"\b({said})(?!\w)", sentence, re.IGNORECASE)}


def value_rules(sentence: str, topics: set[str], is_strict: bool) -> dict[str, list[str]]:
    """Return the rules of values: those that a sentence has, by kind, and names of new files."""
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
    """Return the rules of files by what is done with them: those that are read, that are written, and new ones."""
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
    """Yield for each place of a path in a sentence if it is to be written there."""
    for at in re.finditer(rf"(?<![\w./-]){re.escape(path)}(?!\w)", sentence):
        before, after = sentence[: at.start()], sentence[at.end() :]
        got = {*topics_of(before), *(kind for kind, _ in values(before))} & {"hub", "git", "pipe", "path", "url"}
        is_put = _PUT.search(before) and not re.search(r"\b(to|into|as) \S*\.\w", after)
        is_in = is_put or (got and not words(after) and re.search(f" in{_END}", before))
        yield from [False] * ("add" in before.lower().split() and not got)  # a title to a.md
        yield bool(_INTO.search(before) or (is_in and not _OF.search(before)))
