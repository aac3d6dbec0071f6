"""The key of a node's answer: a digest of all that the answer depends on; and how two keys differ, in words."""

from __future__ import annotations

import errno
import os

from pflow import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping
from pflow.binding.store import NodeStore
from pflow.cache.code import Code
from pflow.cache.directory import digest_of_file
from pflow.errors import BAD_CONFIG, BAD_DATA, PflowError, reason_of, result_of, shorten
from pflow.interface.interface import Field, Interface
from pflow.values.digest import bytes_digest, digest_of, frame, keyed_digest
from pflow.values.jsontext import compact
from pflow.values.paths import describe, size_text
from pflow.values.secrets import Secrets
from pflow.values.types import Type

if TYPE_CHECKING:
    Facts = dict[str, Any]
    """The record of a part: its kind, name and digest, and the type and size of its value. The parts for the node's
    name and version have the `value` instead. A part with paths also has the digest of its value (`path`) and the
    digests of the `files`; its `digest` covers both.
    """
    Value = Callable[[Facts], Any]
    """Returns the value of a part if it is known, else `...`."""

_FORM = b"pflow key 2"
_NEVER = frozenset({"params", "successors", "max_retries", "wait", "cur_retry", "id", "sink"})
"""Attributes that pocketflow sets on a node and on which no answer depends."""


class KeyPart:
    """One thing that an answer depends on, by its kind (node, code, param, state, read, more) and its name.

    `value` is `...` for secrets and for code.
    """

    __slots__ = ("digest", "facts", "files", "framed", "kind", "name", "value")

    def __init__(self, kind: str, name: str, value: Any = ..., digest: str = "", files: Iterable[str] = ()) -> None:
        self.kind = kind
        self.name = name
        self.value = value
        self.digest = digest or digest_of(value)
        self.files = list(files)
        """The digests of the files that the value names, in order. The part's own digest covers them."""
        self.facts: dict[str, Any] | None = None
        """The record of the part, made when first needed."""
        self.framed = frame([kind, name, self.digest])


class Key:
    """All that an answer of a node depends on. `files` are the files that the node may read, with their digests."""

    def __init__(self, node: str, parts: list[KeyPart], files: dict[str, str]) -> None:
        self.node = node
        self.parts = parts
        self.files = files
        self.digest = bytes_digest(b"".join([_FORM, *(part.framed for part in parts)]))

    def is_current(self) -> bool:
        """Return True if the files have not changed since the key was made."""
        now = result_of(
            lambda: {path: _digest(self.node, path, path) for path in self.files}, of=PflowError, otherwise={}
        )
        return now == self.files


def cannot_cache(node: str, why: str) -> PflowError:
    return PflowError(f"cannot cache the answers of '{node}': {why}", exit=BAD_CONFIG)


def make_key(
    name: str, version: str, code: Code, interface: Interface, node: Any, view: NodeStore,
    secrets: Secrets | None = None, *, is_from_python: bool = False,
) -> Key:  # fmt: skip
    """Make the key of the answer that a node with these params gives for a store.

    `is_from_python` is True for a node object of a Python program, which may have set attributes on it. Raises
    PflowError (78) if a part of the key is unknown.
    """
    if fault := why_uncacheable(interface, code, node):
        raise cannot_cache(name, fault)
    parts = _Parts(name, secrets or Secrets())
    reads = {key: view.peek(key) for key in sorted(interface.reads) if key in view}
    state = {key: value for key, value in sorted(vars(node).items()) if key not in _NEVER} if is_from_python else {}
    found = [*_fixed_parts(name, version, code)]
    found += parts.of("param", {**interface.reads, **interface.params}, dict(sorted(node.params.items())))
    found += parts.of("state", {}, state)
    found += parts.of("read", interface.reads, reads)
    found += parts.of("more", {}, _ask(name, node, reads))
    return Key(name, found, parts.files)


class _Parts:
    """Makes the parts of one key, and notes the files on which they depend."""

    def __init__(self, node: str, secrets: Secrets) -> None:
        self.node = node
        self.secrets = secrets
        self.files: dict[str, str] = {}

    def of(self, kind: str, fields: Mapping[str, Field], values: Mapping[str, Any]) -> Iterator[KeyPart]:
        for name, value in values.items():
            field, files = fields.get(name), list[str]()
            try:
                counted = value if field is None else self._with_files(name, field.type, value, files)
                if self._is_secret(field, value):  # others could find a short secret by guesses from a plain digest
                    from pflow.files.state_key import state_key

                    yield KeyPart(kind, name, digest=keyed_digest(state_key(), counted))
                else:
                    yield KeyPart(kind, name, value, digest_of(counted), files)
            except PflowError as error:
                raise cannot_cache(self.node, f"'{name}' is not JSON") if error.exit == BAD_DATA else error from None

    def _is_secret(self, field: Field | None, value: Any) -> bool:
        if field is not None and field.is_secret:
            return value is not None
        return self.secrets.are_in(value)

    def _with_files(self, name: str, type: Type, value: Any, files: list[str]) -> Any:
        """Return a value in which each path has the digest of its file beside it; add these digests to `files`."""
        if type.items and isinstance(value, list):
            return [self._with_files(name, type.items, each, files) for each in value]
        if type.fields and isinstance(value, dict):
            fields = {key: of for key, of in type.fields.items() if key in value}
            return {**value, **{key: self._with_files(name, of, value[key], files) for key, of in fields.items()}}
        if type.name != "path" or not isinstance(value, str | bytes) or not value:
            return value
        path = os.fsdecode(value)
        if path not in self.files:
            self.files[path] = _digest(self.node, path, name)
        files.append(self.files[path])
        return [_counted(path), self.files[path]]


def _fixed_parts(name: str, version: str, code: Code) -> list[KeyPart]:
    if (name, version) not in code.key_parts:
        files = [KeyPart("code", file, digest=digest) for file, digest in sorted(code.parts.items())]
        code.key_parts[name, version] = [KeyPart("node", "name", name), KeyPart("node", "version", version), *files]
    return code.key_parts[name, version]  # type: ignore[no-any-return]


def why_uncacheable(interface: Interface, code: Code, node: Any) -> str:
    """Say why a node can never have a key, or why its answers may not be kept; "" if neither is so."""
    secret = next((field.name for field in interface.writes.values() if field.is_secret), "")
    takes_paths = any(field.type.is_path for field in interface.taken)
    unseen = [each for each in interface.effects if each != "reads files" or not takes_paths]
    if interface.open:
        return "it declares no interface, so any key may count"
    if code.fault:
        return code.fault
    if secret:
        return f"'{secret}' is secret, and secrets are not kept"
    if "writes files" in interface.effects:
        return "it writes files, which a cached answer would not write again"
    if unseen and not hasattr(node, "cache_parts"):
        return f"what it {_DOES.get(unseen[0], 'gets from outside')} is not known beforehand"
    return ""


_DOES = {"reads files": "reads", "network": "gets from the network", "runs commands": "gets from commands"}


def _ask(name: str, node: Any, reads: dict[str, Any]) -> dict[str, Any]:
    """Ask a node for further parts of the key. Raises PflowError if that fails, or if the node refuses."""
    try:
        return dict(sorted(node.cache_parts(reads).items())) if hasattr(node, "cache_parts") else {}
    except PflowError:
        raise
    except Exception as error:
        raise cannot_cache(name, f"its cache_parts fails: {type(error).__name__}: {error}") from error


def _counted(path: str) -> str:
    """Return a path as a key has it: an absolute path becomes "/" and the path relative to the working directory."""
    is_full = os.path.isabs(path)  # relative, so that a project may move; unchanged if the directory was removed
    return result_of(lambda: "/" + os.path.relpath(path), otherwise=path) if is_full else path


def _digest(node: str, path: str, name: str) -> str:
    """Return the digest of the file at a path, or `missing`. Raises PflowError (78), which has the value's `name`."""
    try:
        return digest_of_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except (OSError, ValueError) as error:
        is_folder = isinstance(error, IsADirectoryError) or getattr(error, "errno", 0) == errno.EINVAL
        why = "it is not a file" if is_folder else reason_of(error)
        raise cannot_cache(node, f"cannot digest what it reads from '{name}': {why}") from None


SHORT = 16
"""The number of a digest's letters that are enough to tell values apart."""


def facts_of(key: Key) -> list[Facts]:
    """Return the facts of a key's parts."""
    return [_facts_of_part(part) for part in key.parts]


def _facts_of_part(part: KeyPart) -> Facts:
    """Return the facts of a part, made once, since some parts are the same on each visit."""
    if part.facts is None:
        told: Facts = {} if part.value is ... else describe(part.value)
        told = {"value": part.value} if part.kind == "node" else told
        if part.files:
            told |= {"path": digest_of(part.value)[:SHORT], "files": [digest[:SHORT] for digest in part.files]}
        part.facts = {"kind": part.kind, "name": part.name, "digest": part.digest[:SHORT], **told}
    return part.facts


def unknown(part: Facts) -> Any:
    """Return the value of a part if its facts contain it, else `...`."""
    return part.get("value", ...)


def differences(
    now: list[Facts], before: list[Facts], value: Value = unknown, value_before: Value = unknown
) -> list[str]:
    """Return a line for each part that changed, in the order of the key: `prompt: 'Summarize' was 'Sum up'`.

    If X changed, the list omits other parts named X or "X's …", which follow from it.
    """
    known, there = _by_name(before), _by_name(now)
    lines, told = [], set()
    for name, part in (there | known).items():
        new, old = there.get(name), known.get(name)
        is_same = new is not None and old is not None and old["digest"][:SHORT] == new["digest"][:SHORT]
        if is_same or (part["kind"] == "more" and part["name"].partition("'s ")[0] in told):
            continue
        how = _change(new, old, value(new), value_before(old)) if new and old else "is new" if new else "is gone"
        lines.append(f"{_title(part)} {how}")
        told |= {part["name"]} if part["kind"] != "code" else set()
    return lines


def _by_name(parts: list[Facts]) -> dict[tuple[str, str], Facts]:
    return {(part["kind"], part["name"]): part for part in parts}


def _title(part: Facts) -> str:
    return f"code: {part['name']}" if part["kind"] == "code" else f"{part['name']}:"


def _change(part: Facts, old: Facts, value: Any, before: Any) -> str:
    if part["kind"] == "code":
        is_version = "." in part["digest"] or part["name"].startswith("pack ")  # nobody can read a digest
        return f"{part['digest']} was {old['digest']}" if is_version else "changed"
    if "path" in part and part["path"] == old.get("path"):
        return _change_of_files(part.get("files", []), old.get("files", []), value)
    now, then = (_size(each) if known is ... else _shown(known) for each, known in ((part, value), (old, before)))
    if not now or not then:
        return "changed"
    if now == then:
        return "changed" if part["kind"] == "more" else f"changed ({now})"
    return f"{now} was {then}" if ... not in (value, before) else f"{now}, was {_shortly(then, now)}"


def _change_of_files(now: list[str], then: list[str], value: Any) -> str:
    """Say which of the files in a value changed."""
    if now and now == then:
        return "the same file, from another directory" if len(now) == 1 else "the same files, from another directory"
    paths = value if isinstance(value, list) else [value]
    if len(paths) == len(now) == len(then):
        paths = [path for path, digest, old in zip(paths, now, then, strict=True) if digest != old]
    names = [] if ... in paths else [f" {_shown(path)}" for path in paths]
    return f"the file{'s' * (len(paths) > 1)}{','.join(names)} changed"


def _shortly(then: str, now: str) -> str:
    """Return a size, without its unit if the other size has the same unit."""
    (count, _, unit), (_, _, other) = then.partition(" "), now.partition(" ")
    return count if unit and unit.removesuffix("s") == other.removesuffix("s") else then


def _shown(value: Any) -> str:
    return f"'{shorten(value)}'" if isinstance(value, str) else shorten(compact(value))


def _size(part: Facts) -> str:
    """Return `2,310 characters`, or the type if it has no size; "" if neither is known, as for secrets."""
    type = str(part.get("type", ""))
    return size_text(type, part["size"]) if "size" in part else type
