"""The environment variables, commands and hosts that a file's text names: a hint for readers, not a guarantee."""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

Names = dict[str, set[str]]
"""The names found, by kind: `env`, `commands`, `hosts`, and for Python `imports`."""

BINARY = "(a binary: it cannot be read)"
"""Listed as the command of a file that is not text."""

GIVEN = re.compile(r"(?:PATH|HOME|LANG|LC_\w+|TZ|TMPDIR|TERM|PFLOW_\w+|TRACEPARENT)$")
"""The environment variables that every confined node gets."""

_HOST = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{0,20}://(?:[^\s/@\"'<>]{0,200}@)?([\w.-]{1,253}(?::\d{1,5})?)")
_COMMENT = re.compile(r"(?m)^[ \t]*(?:#|//)[^\n]*")
_VARIABLE = re.compile(
    r"\$\{?(?!ENV\{)([A-Z][A-Z0-9_]*)\b|\b(?:env|ENV|environb?(?:\.\w+)?|getenvb?)\W{1,4}([A-Z][A-Z0-9_]*)\b"
)
_ASSIGNED = re.compile(r"(?m)(?:^|[;&|({\s])(?:for\s+|read\s+(?:-\w+\s+)*)?([A-Z][A-Z0-9_]*)(?=\+?=|\s+in\s|\s*$)")
_SHELLS_OWN = re.compile(
    r"(?:PWD|OLDPWD|IFS|OPT\w+|RANDOM|LINENO|SECONDS|BASH\w*|PPID|E?UID|FUNCNAME|REPLY|PIPESTATUS)$"
)
_FUNCTION = re.compile(r"(?m)^[ \t]*(?:function[ \t]+)?([\w-]+)[ \t]*\(\)|^[ \t]*function[ \t]+([\w-]+)")
_NO_COMMAND = re.compile(
    r"""(?<![^\s;&|()])\#[^\n]* | \\\n | exec\ pflow\ "\$0"\ "\$@" | \$?\(\([^\n]{0,200}?\)\)
    | (?<!<)<<-?[ \t]*\\?(['"]?)(\w+)\1(?P<rest>[^\n<]*).*?(?:\n[ \t]*\2[ \t]*(?=\n|\Z)|\Z)
    | \d*[<>]+&?[ \t]*[^\s;&|()"'<>]*
    | (?P<text>=\([^)]{0,200}\) | \\. | '[^']*'? | "(?P<quoted>(?:[^"\\]|\\.)*)"?)""",
    re.VERBOSE | re.DOTALL,
)
"""Parts of a shell script that hold no command, except between `$(` and `)`: comments, the line by which a node starts
pflow, sums, here documents, redirections, arrays and quoted texts. Repetitions are bounded where a hostile text could
make the search take very long.
"""

_INNER = re.compile(r"\$\([^()]*|`[^`]*`?")
_CASE = re.compile(r"(?:\bin|;;)\s+\(?[^\s()|;&]+(?:[ \t]*\|[ \t]*[^\s()|;&]+)*[ \t]*\)")
_COMMAND = re.compile(
    r"(?:^|[\n;&|()`])(?=[ \t]*(?:(?:if|then|elif|else|while|until|do|[!{]|time|exec|command|nohup|sudo|env|xargs|eval|"
    r"-[\w-]*|\w+\+?=[^\s;&|()`]*)[ \t]+)*([A-Za-z_./][\w./+-]*)(?![^\s;&|)`<>]))"
)
"""The beginning of a command, after words that start another one, such as `sudo`. The group is the command's name."""

_BUILTINS = (
    "fi done esac case for in select function if then elif else while until do time exec command env eval test echo "
    "printf cd read set unset export local return exit shift trap . source true false wait break continue getopts "
    "umask ulimit type alias declare readonly let hash pwd kill jobs pushd popd shopt mapfile typeset builtin"
)
_STARTS = re.compile(r"(?:run|call|Popen|check_output|check_call|system|popen|which|get(?:status)?output|exec[lv]\w*|"
                     r"spawn\w+|posix_spawnp?|create_subprocess_\w+)$")  # fmt: skip


def names_of(text: str, *, is_python: bool = False, is_shell: bool = True) -> Names:
    """Return the names in a file's text. Python that cannot be parsed has no commands; its fault is shown elsewhere."""
    is_shell &= not is_python
    code = _COMMENT.sub("", text)
    variables = {one or other for one, other in _VARIABLE.findall(code)} - {*_ASSIGNED.findall(code * is_shell)}
    env = {each for each in variables if not _SHELLS_OWN.match(each) and not GIVEN.match(each)}
    names = {"env": env, "commands": commands_in(text) if is_shell else set(), "hosts": hosts_in(text)}
    return names | _starts_and_imports(text) if is_python else names


def hosts_in(text: str) -> set[str]:
    return {host.rstrip(".-").lower() for host in _HOST.findall(text)} - {""}


def commands_in(text: str) -> set[str]:
    """Return the first words of commands in a shell script, without the shell's builtins and the script's functions."""
    functions = {one or other for one, other in _FUNCTION.findall(text)}
    return {*_COMMAND.findall(_CASE.sub(";", _NO_COMMAND.sub(_reduce, text)))} - functions - {*_BUILTINS.split()}


def _reduce(found: re.Match[str]) -> str:
    """Return the replacement for a part without a command: the commands inside it, after '' if it is a word."""
    rest = found["rest"] or "".join(_INNER.findall(found["quoted"] or ""))
    return "''" * bool(found["text"]) + _NO_COMMAND.sub(_reduce, rest)


def _starts_and_imports(text: str) -> Names:
    names: Names = {"commands": set(), "imports": set()}
    try:
        tree = compile(text.removeprefix("\ufeff"), "<node>", "exec", ast.PyCF_ONLY_AST, optimize=0)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return names
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [each.name for each in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            names["imports"] |= {each.partition(".")[0] for each in modules}
        elif isinstance(node, ast.Call) and _STARTS.match(getattr(node.func, "attr", getattr(node.func, "id", ""))):
            first = [*_texts([*getattr(each, "elts", []), each][0] for each in node.args)][:1]
            names["commands"] |= {each for text in first for each in commands_in(text)}
    return names


def _texts(nodes: Iterable[Any]) -> Iterator[str]:
    for node in nodes:
        value = getattr(node, "value", None)
        if isinstance(value, str | bytes):
            yield value if isinstance(value, str) else value.decode("utf-8", "replace")
