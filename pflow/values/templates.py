"""Templates: `$name` and `${a.path[0]}` in a person's text, replaced once from the store.

In a path a value is one name, in a URL one part of its path or query: no value chooses the directory or the host.
"""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any, Callable, Iterator
from pflow.errors import BAD_DATA, DENIED, PflowError, result_of, shorten
from pflow.values.jsontext import text_of
from pflow.values.paths import Path, parse_path, write_path

if TYPE_CHECKING:
    Part = str | Path
    """Literal text, or the path of a reference."""

TEMPLATE = "template:"
"""The prefix of a mapping that is a template, not a path."""

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
_WORD = _LETTERS + "0123456789"
_UNRESERVED = frozenset((_WORD + "-.~").encode())
"""The bytes that a URL has unquoted: RFC 3986."""


class Bare(tuple[str]):
    """The path of a reference without braces, which is one name."""

    __slots__ = ()


def parse_template(text: str) -> list[Part]:
    """Parse a template into its parts. `$$` is a dollar; so is a `$` before anything but a name or a braced path.

    Raises ValueError for a wrong braced path (`${a.}`), and for a reference inside another.
    """
    parts: list[Part] = []
    literal = ""
    at = 0
    while (dollar := text.find("$", at)) >= 0:
        literal += text[at:dollar]
        reference, at = _reference(text, dollar + 1)
        if reference is None:
            literal += "$"
            continue
        if literal:
            parts.append(literal)
        parts.append(reference)
        literal = ""
    literal += text[at:]
    return [*parts, literal] if literal else parts


def _reference(text: str, at: int) -> tuple[Path | None, int]:
    """Return the path after a dollar, and its end; no path for a plain dollar."""
    if text.startswith("$", at):
        return None, at + 1
    if text.startswith("{", at):
        close = text.find("}", at)
        path = braced_path(text[at + 1 : close]) if close > 0 else None
        return (path, close + 1) if path else (None, at)
    end = at
    while end < len(text) and text[end] in _WORD:
        end += 1
    return (Bare((text[at:end],)), end) if end > at and text[at] not in "0123456789" else (None, at)


def braced_path(text: str) -> Path | None:
    """Parse the path between two braces; None for other text: nothing, `1x`, a space or a shell's `:-`.

    Raises ValueError for a path that goes wrong, and for a reference inside it.
    """
    outer, dollar, inner = text.partition("$")
    if not text.startswith((*_LETTERS, '["')) or set(outer.partition("[")[0]) & set(" \t\n{}:?+=%#"):
        return None
    try:
        if "$" not in text.partition("[")[0]:
            return parse_path(text)
    except ValueError as error:
        if not dollar:
            raise ValueError(f"'{shorten('${' + text + '}')}' is not a reference: {error}") from None
    if inner.startswith((*_LETTERS, "{")):
        raise ValueError(f"'{shorten('${' + text)}' holds another reference, and references do not nest")
    return None


class Directories(str):
    """The directories of a relative path, for a template; if they are empty, the `/` after them is left out."""

    __slots__ = ()


def broken_references(text: str) -> list[str]:
    """List texts that look like references and are not (`${a`, `${}`, `${1x}`), for a warning."""
    plain = "".join(part for part in parse_template(text.replace("$$", "_")) if isinstance(part, str))
    return ["${" + rest.partition("}")[0] + ("}" if "}" in rest else "") for rest in plain.split("${")[1:]]


def double_braces(text: str) -> Iterator[tuple[str, str]]:
    """Yield each `{{name}}`, as other template languages write it, with pflow's way to write it, for a warning."""
    for rest in text.split("{{")[1:]:
        inner, close, _ = rest.partition("}}")
        path = result_of(braced_path, inner.strip(), of=ValueError, otherwise=None) if close else None
        if path is not None:
            yield f"{{{{{inner}}}}}", f"${{{inner.strip()}}}"


def unfilled_references(text: str) -> Iterator[list[Path]]:
    """Yield the paths that each reference may mean, in a text that is not a template: for `$a.b` (a,) and (a, b).

    A shell's own forms (`${a:-x}`, `${#a}`) are references too. Variables that the text itself sets are left out, and
    so is a `$name` after a backslash or in single quotes, which a shell would not expand.
    """
    at, quote = 0, ""
    while at < len(text):
        letter, at = text[at], at + 1
        if letter == "\\" and quote != "'":
            at += 1
        elif letter in "'\"" and quote in ("", letter):
            quote = "" if quote else letter
        elif letter == "$" and (quote != "'" or text.startswith("{", at)):
            try:
                path, at = _shell_reference(text, at)
            except ValueError:
                continue
            if path is not None and not _is_set_in(text, write_path(path)):
                end = at
                while isinstance(path, Bare) and end < len(text) and text[end] in "." + _WORD:
                    end += 1
                keys = text[at:end].rstrip(".").split(".")[1:]
                yield [path, (*path, *keys)] if keys and all(keys) else [path]


def _shell_reference(text: str, at: int) -> tuple[Path | None, int]:
    """Return the path after a dollar, also in a shell's own forms, and its end; no path for a plain dollar."""
    path, end = _reference(text, at)
    if path is None and text.startswith("{", at):
        return _reference(text, at + 1 + text.startswith("{#", at))
    return path, end


def uses_arguments(command: str) -> bool:
    """Return True if a shell command may use its arguments: it has a `$`, or begins with `. `, which runs a file."""
    return "$" in command or command.startswith(". ")


def _is_set_in(command: str, name: str) -> bool:
    """Return True if a shell command sets a variable: `name=…`, `for name in …`, `read … name`."""
    words = command.replace(";", " ").split()
    is_named = any({"for", "read"} & set(words[max(at - 3, 0) : at]) for at, word in enumerate(words) if word == name)
    return is_named or any(word.lstrip("(`\"'$&|").startswith(f"{name}=") for word in words)


def is_reference(text: str) -> bool:
    """Return True if a text is exactly one reference, which keeps its value's type."""
    parts: list[Part] = result_of(parse_template, text, of=ValueError, otherwise=[])
    return len(parts) == 1 and not isinstance(parts[0], str)


def parse_place(text: str, *, or_template: bool = False) -> Path:
    """Parse a path. Raises ValueError for a template, with a message that says what to write instead.

    `or_template`: a template after the prefix TEMPLATE is allowed too, so the message may advise that.
    """
    if not (text.startswith(TEMPLATE) or "${" in text.partition('["')[0]):
        return parse_path(text)
    bare = text.removeprefix(TEMPLATE)
    instead = (
        write_path(references(bare)[0]) if is_reference(bare) else f"{TEMPLATE}{bare}" if or_template else "a path"
    )
    raise ValueError(f"'{shorten(text)}' is a template: write {shorten(instead)}")


def references(written: Any) -> list[Path]:
    """List every path that a text, list or object refers to. Raises ValueError for a wrong one, or one in a key."""
    found: list[Path] = []
    expand(written, found.append)
    return found


def leading_references(written: Any) -> list[Path]:
    """List the references that begin a text, or each text of a list: in a path they may choose the directory."""
    if isinstance(written, list):
        return [path for item in written for path in leading_references(item)]
    first = parse_template(written)[:1] if isinstance(written, str) else []
    return [part for part in first if not isinstance(part, str)]


def expand(
    written: Any, look_up: Callable[[Path], Any], join: Callable[[str, list[Part], list[str]], str] | None = None
) -> Any:
    """Replace each reference in `written` by the value that `look_up` finds. Inserted text is not expanded again.

    A text that is one reference gets the value itself. Inside other text, null is empty, bytes are decoded (invalid
    ones to lone surrogates), and anything else is JSON. `join`, if given, joins the literal and the inserted texts.
    Raises ValueError for a reference in an object's key.
    """
    if isinstance(written, list):
        return [expand(item, look_up, join) for item in written]
    if isinstance(written, dict):
        for key in written:
            if any(not isinstance(part, str) for part in parse_template(key)):
                raise ValueError(f"a template cannot stand in the key of an object: '{key}'")
        return {key: expand(item, look_up) for key, item in written.items()}
    if not isinstance(written, str) or "$" not in written:
        return written
    parts = parse_template(written)
    if len(parts) == 1 and not isinstance(parts[0], str):
        value = look_up(parts[0])
        return str(value) if isinstance(value, Directories) else value
    values = [part if isinstance(part, str) else look_up(part) for part in parts]
    for part, value, after in zip(parts, values, parts[1:], strict=False):
        if isinstance(part, Bare) and isinstance(value, list | dict) and isinstance(after, str):
            _refuse_member(written, part[0], after)
    texts = list(map(_inside_text, values))
    for at, text in enumerate(texts[:-1]):
        if isinstance(text, Directories) and not text and isinstance(parts[at + 1], str):
            texts[at + 1] = texts[at + 1].removeprefix("/")
    if join:
        return join(written, parts, texts)
    for value in values:
        _refuse_wide(value)
    return "".join(texts)


def _refuse_member(written: str, name: str, after: str) -> None:
    """Raise PflowError (65) if the text after `$name`, which is a list or an object, looks like a path into it."""
    end = after.find("]") + 1 if after.startswith("[") else _reference(after, 1)[1] if after.startswith(".") else 0
    if end > 1:
        what = f"'${name}{after[:end]}' is all of {name}, then '{after[:end]}'"
        hint = f"${{{name}{after[:end]}}} is its member"
        raise PflowError(f"cannot fill '{shorten(written)}': {what}", hint=hint, exit=BAD_DATA)


def join_path(written: str, parts: list[Part], texts: list[str]) -> str:
    """Join the parts of a path or a URL. Raises PflowError (77) if a value after text leads out of its directory."""
    if written.lower().startswith(("http://", "https://")):
        return join_url(written, parts, texts)
    path, at, is_begun = "".join(texts), 0, False
    for part, text in zip(parts, texts, strict=True):
        if isinstance(part, str):
            is_begun = True
        else:
            end = path.find("/", at + len(text))
            names = path[path.rfind("/", 0, at) + 1 : end if end >= 0 else None].split("/")
            is_several = isinstance(text, Directories)
            is_name = "\0" not in text and (not is_several or not text.startswith("/")) and ".." not in names
            is_name = is_name and (is_several or (bool(text) and "/" not in text and names != ["."]))
            if not is_name and (is_begun or (not text and path.startswith("/"))):
                what = "directories below another" if is_several else "one file name"
                why = f"{write_path(part)} is '{shorten(text)}', which is not {what}"
                hint = "only a reference at the beginning of a path may insert directories" if text else ""
                raise PflowError(f"cannot fill '{shorten(written)}': {why}", hint=hint, exit=DENIED)
        at += len(text)
    return path


def _inside_text(value: Any) -> str:
    return str(value, "utf-8", "surrogateescape") if isinstance(value, bytes) else text_of(value)


def _refuse_wide(value: Any) -> None:
    """Raise PflowError (65) for an inserted value in UTF-16 or UTF-32: after other text it could not be decoded."""
    from pflow.values.encoding import not_utf8, remedy, wide_bytes

    if data := wide_bytes(value):
        raise PflowError(f"cannot fill a template: {not_utf8(data)}", hint=remedy(data), exit=BAD_DATA)


def join_url(written: str, parts: list[str | Path], texts: list[str]) -> str:
    """Join the parts of a URL, values as in RFC 6570. Raises PflowError (77) for a value in the origin and for `..`."""
    url = like = ""
    for at, (part, text) in enumerate(zip(parts, texts, strict=True)):
        if isinstance(part, str) or at == 0:
            url, like = url + text, like + text
            continue
        if _is_in_origin(url):
            why = f"{write_path(part)} is '{shorten(text)}', which would be a part of the scheme, user, host or port"
            hint = "a reference at the beginning brings in all of them, one behind the host a part of the path or query"
            raise PflowError(f"cannot fill '{shorten(written)}': {why}", hint=hint, exit=DENIED)
        url, like = url + _quoted(text), like + "x" * bool(text)
    if _dots(url) != _dots(like):
        why = "a value would make '.' or '..' of a part of the path"
        raise PflowError(f"cannot fill '{shorten(written)}': {why}", exit=DENIED)
    return url


def check_keyless(*names: Any) -> None:
    """Raise PflowError (77) for the address of a model with a user or a query in it: either may be a key."""
    places = [name.partition("#")[0] for name in names if str(name).lower().startswith(("http://", "https://"))]
    if not {"@", "?", "\\"}.isdisjoint("".join(places)):
        hint = "`llm keys set http://HOST/v1` keeps the key of such an address"
        raise PflowError("cannot ask a model at an address that has a user, key or query in it", hint=hint, exit=DENIED)


def _is_in_origin(begun: str) -> bool:
    """Return True if this beginning of a URL ends inside the scheme, user, host or port; a value would continue it."""
    scheme, _, rest = begun.partition(":")
    rest = rest if rest.startswith("//") and "/" not in scheme else begun
    return not set("/?#\\") & set(rest.removeprefix("//"))


def _quoted(text: str) -> str:
    data = text.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in data)


def _dots(url: str) -> int:
    """Count the parts `.` and `..` in the path of a URL, also percent-encoded ones."""
    path = url.partition("#")[0].partition("?")[0].replace("\\", "/")
    return sum(part.lower().replace("%2e", ".") in (".", "..") for part in path.split("/"))
