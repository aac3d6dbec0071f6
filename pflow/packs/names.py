"""The environment variables, commands and hosts that a file's text names: a help for who reads it, no guarantee."""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

Names = dict[str, set[str]]
"""The names by what they are: `env`, `commands`, `hosts`, and of Python `imports`."""

BINARY = "(a binary: it cannot be read)"
"""Stands for the commands of a file that is no text."""

_HOST = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{0,20}://(?:[^\s/@\"'<>]{0,200}@)?([\w.-]{1,253}(?::\d{1,5})?)")
_VARIABLE = re.compile(r"\$\{?(?!ENV\{)([A-Z][A-Z0-9_]*)\b|\b(?:env|ENV|environb?|getenv)\W{1,4}([A-Z][A-Z0-9_]*)\b")
_ASSIGNED = re.compile(r"(?m)(?:^|[;&|({\s])(?:for\s+|read\s+(?:-\w+\s+)*)?([A-Z][A-Z0-9_]*)(?=\+?=|\s+in\s|\s*$)")
GIVEN = re.compile(r"(?:PATH|HOME|LANG|LC_\w+|TZ|TMPDIR|TERM|PFLOW_\w+|TRACEPARENT)$")
"""What every confined node gets."""

_SHELLS_OWN = re.compile(
    r"(?:PWD|OLDPWD|IFS|OPT\w+|RANDOM|LINENO|SECONDS|BASH\w*|PPID|E?UID|FUNCNAME|REPLY|PIPESTATUS)$"
)
_GUARD = re.compile(r'exec pflow "\$0" "\$@"')
_COMMENT = re.compile(r"(?m)^[ \t]*(?:#|//)[^\n]*")
_FUNCTION = re.compile(r"(?m)^[ \t]*(?:function[ \t]+)?([\w-]+)[ \t]*\(\)|^[ \t]*function[ \t]+([\w-]+)")
_HERE_DOCUMENT = re.compile(r"(?<!<)<<-?[ \t]*\\?(['\"]?)(\w+)\1")
_TOKEN = re.compile(
    r"""(?P<comment>(?<![^\s;&|()])\#[^\n]*)
    | (?P<skipped>\\\n|[^\S\n]+|\d*[<>]+&?[^\S\n]*[^\s;&|()"]*|'[^']*'?|\$?\(\([^\n]{0,200}?\)\)|\w+=\([^)]{0,200}\))
    | "(?P<quoted>(?:[^"\\]|\\.)*)"? | (?P<end>;;|\$\(|[;&|\n(){}`])
    | (?P<word>(?:[^\s;&|(){}`"'<>$]|\$\{[^}\n]{0,200}\}|\$)+)""",
    re.VERBOSE | re.DOTALL,
)
"""The parts of a shell's text, with bounds wherever a hostile text could make the search take forever."""

_PREFIX = re.compile(r"(?:if|then|elif|else|while|until|do|!|time|exec|command|nohup|sudo|env|xargs|eval)$|-|\w+\+?=")
"""Words with a command behind them."""

_BUILTIN = re.compile(
    r"(?:fi|done|esac|case|for|in|select|function|\[\[?|\]\]|test|echo|printf|cd|read|set|unset|export|local|return|"
    r"exit|shift|trap|[.]|source|:|true|false|wait|break|continue|getopts|umask|ulimit|type|alias|declare|readonly|let|"
    r"hash|pwd|kill|jobs|pushd|popd|shopt|mapfile|typeset|builtin)$"
)
_STARTS = re.compile(r"(?:run|call|Popen|check_output|check_call|system|popen|which|get(?:status)?output|exec[lv]\w*|"
                     r"spawn\w+|posix_spawnp?|create_subprocess_\w+)$")  # fmt: skip


def names_of(text: str, *, is_python: bool = False, is_shell: bool = True) -> Names:
    """Return the names in a file's text. Raises SyntaxError, ValueError or RecursionError for broken Python."""
    if is_python:
        return _names_in_python(text)
    variables = {one or other for one, other in _VARIABLE.findall(_COMMENT.sub("", text))}
    own = set(_ASSIGNED.findall(text))
    return {
        "env": {each for each in variables - own if not _SHELLS_OWN.match(each) and not GIVEN.match(each)},
        "commands": set(commands_in(text)) if is_shell else set(),
        "hosts": hosts_in([text]),
    }


def hosts_in(texts: Iterable[str]) -> set[str]:
    return {host.rstrip(".-").lower() for text in texts for host in _HOST.findall(text)} - {""}


def commands_in(text: str, functions: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the first words of a shell's commands which are neither its own nor functions of the script."""
    functions |= {one or other for one, other in _FUNCTION.findall(text)}
    text = "\n".join(_without_here_documents(_GUARD.sub("", text).split("\n")))
    is_first, pattern, cases = True, False, 0
    for token in _TOKEN.finditer(text):
        kind, part = token.lastgroup, token.group()
        if kind == "quoted":
            for inner in part.split("$(")[1:] + part.split("`")[1::2]:
                yield from commands_in(inner.partition(")")[0], functions)
        if kind in ("comment", "skipped", "end"):
            is_first |= part == ")" or (kind == "end" and not pattern)
            pattern = (pattern or (part == ";;" and cases > 0)) and part != ")"
            continue
        if part == "in" and cases and not is_first:
            pattern = True
        cases, pattern = (cases - 1, False) if part == "esac" else (cases + (part == "case" and is_first), pattern)
        if is_first and not pattern and kind == "word":
            is_prefix, is_name = _PREFIX.match(part), re.match(r"[A-Za-z_./][\w./+-]*$", part)
            if is_name and not is_prefix and not _BUILTIN.match(part) and part not in functions:
                yield part
            is_first = bool(is_prefix)
        elif kind == "quoted":
            is_first = False


def _without_here_documents(lines: Iterable[str]) -> Iterator[str]:
    end = None
    for line in lines:
        if end is None:
            yield line
            found = None if line.lstrip().startswith("#") else _HERE_DOCUMENT.search(line)
            end = found and found[2]
        elif line.strip() == end:
            end = None


def _names_in_python(text: str) -> Names:
    names: Names = {"env": set(), "commands": set(), "hosts": set(), "imports": set()}
    for node in ast.walk(compile(text.removeprefix("\ufeff"), "<node>", "exec", ast.PyCF_ONLY_AST, optimize=0)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names["hosts"] |= hosts_in([node.value])
        elif isinstance(node, ast.Import | ast.ImportFrom):
            modules = [each.name for each in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            names["imports"] |= {each.partition(".")[0] for each in modules}
        elif isinstance(node, ast.Subscript) and _name_of(node.value).startswith("environ"):
            names["env"] |= {*_texts([node.slice])}
        elif isinstance(node, ast.Compare) and any(_name_of(each).startswith("environ") for each in node.comparators):
            names["env"] |= {*_texts([node.left])}
        elif isinstance(node, ast.Call):
            of = _name_of(getattr(node.func, "value", None))
            if _name_of(node.func).startswith("getenv") or of.startswith("environ"):
                names["env"] |= {*_texts(node.args[:1])}
            elif _STARTS.match(_name_of(node.func)):
                first = [*_texts([*getattr(each, "elts", []), each][0] for each in node.args)][:1]
                names["commands"] |= {each for text in first for each in commands_in(text)}
    names["env"] = {each for each in names["env"] if not GIVEN.match(each)}
    return names


def _name_of(node: Any) -> str:
    """Return the last part of a dotted name; empty for any other code."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _texts(nodes: Iterable[Any]) -> Iterator[str]:
    for node in nodes:
        value = getattr(node, "value", None)
        if isinstance(value, str | bytes):
            yield value if isinstance(value, str) else value.decode("utf-8", "replace")


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)
