"""Flows in pipe syntax in a model's answer, whatever stands around them: fences, prompts, prose."""

import re

from pflow.errors import PflowError, result_of
from pflow.flow.pipe.recognize import names_node
from pflow.flow.pipe.scan import quote, scan

_LONGEST, _LONGEST_TEXT, _MOST = 20_000, 5_000, 20
"""Characters of an answer that are searched, and of a flow whose quotes may go on; how many flows count."""

_SEPARATOR = r"(?:=[\w-]*=?>|>>|::|-+>|[→⇒|])"
_BEGIN = re.compile(
    rf"(?:\( *)*((?:\.\.?/)?[A-Za-z][\w:./-]*)(?: +(--[a-z]|(?!\|){_SEPARATOR}(?!\S))| +(?:['\"|]|\S.* =[\w-]*=?> )|$)"
)
_GOES_ON = re.compile(rf" *{_SEPARATOR}(?!\S)")
_IS_OPEN = re.compile(rf"(?:\\|\s{_SEPARATOR})\s*$")
_TYPOGRAPHIC = re.compile("(?<==)[“‘](.*?)[”’](?=\\s|$)", re.DOTALL)

_FENCED = re.compile(r"^ *(```+|~~~+)[^`\n]*\n(.*?)(?:^ *\1|\Z)", re.MULTILINE | re.DOTALL)
_IN_PROSE = re.compile(r"(?<!`)`([^`\s]+ [^`\n]+)`(?!`)")
_BULLET = re.compile(r"^ *(?:[-*•]|\d+[.)]) +", re.MULTILINE)
_COMMAND = re.compile(r"^ *(?:[$%>] +)?pflow(?: +run)? +(['\"])(.{0,9999}?)\1(?: +-\S+)* *$", re.MULTILINE | re.DOTALL)
_AHEAD = re.compile(r"[$%>] +|pflow +run +|pflow +(?!-)|(?![-\d])[^\"=`]{0,80}?:\** +|[*`]+")
"""What may stand before a flow on its line: a prompt, a command, words with a colon."""


def find_flows(text: str) -> list[str]:
    """Return the different flows in pipe syntax: in fences, else alone on their lines, else in prose or a list."""
    text = text[:_LONGEST].encode("utf-8", "replace").decode()
    text = _COMMAND.sub(_unquoted, text.replace("\N{NO-BREAK SPACE}", " ").strip("\ufeff\0"))
    head = text.partition("\nTask:")[0]  # what follows may be a next task, which the model made up
    for part in dict.fromkeys([head, text]):
        fences = [fence[2] for fence in _FENCED.finditer(part)]
        for places in (fences, [part], _IN_PROSE.findall(part), [_BULLET.sub("", part)]):
            found = [flow for place in places[:_MOST] for flow in _flows_in(place, is_fenced=places is fences)][:_MOST]
            if found := [flow for flow in dict.fromkeys(found) if not any(flow in each != flow for each in found)]:
                return found
    return []


def _unquoted(command: re.Match[str]) -> str:
    return command[2].replace("'\\''", "'") if command[1] == "'" else re.sub(r'\\(["$`\\])', r"\1", command[2])


def _flows_in(text: str, *, is_fenced: bool) -> list[str]:
    """Return each line that begins a flow, with the lines after it that go on with it; in a fence any others do."""
    flows: list[str] = []
    goes_on = False
    for line in text.splitlines():
        bare = _bare(line)
        name = _begins(bare)
        if goes_on:
            is_joined = _GOES_ON.match(line) or _is_open(flows[-1])
            goes_on = bool(is_joined or (f":{name} " in flows[-1] if name else is_fenced))
        if goes_on:
            flows[-1] += f"\n{line}"
        elif name:
            flows.append(bare)
            goes_on = True
    return [flow.rstrip() for flow in flows]


def _is_open(flow: str) -> bool:
    """Return True if a flow ends in a separator, or inside quotes."""
    in_quotes = len(flow) < _LONGEST_TEXT and result_of(scan, flow, of=PflowError, otherwise=None) is None
    return in_quotes or _IS_OPEN.search(flow[-60:]) is not None


def _bare(line: str) -> str:
    """Return a line without what stands before a flow, or around it."""
    bare = line.strip().strip("`")
    for _ in range(5):
        ahead = None if _begins(bare) else _AHEAD.match(bare)
        bare = bare[ahead.end() :].strip().strip("`*") if ahead else bare
    return bare


def _begins(line: str) -> str:
    """Return the name that a flow on this line begins with; "" if it is none."""
    found = _BEGIN.match(line)
    return found[1] if found and (found[2] or names_node(found[1])) else ""


def in_shell_quotes(flow: str) -> str:
    """Put values of flags that stand in typographic quotes into those of a shell."""
    return _TYPOGRAPHIC.sub(lambda value: quote(value[1]), flow)
