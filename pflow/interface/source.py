"""A node's interface and version from its Python file, which is parsed and never run."""

from __future__ import annotations

import builtins
import os

from pflow import Any
from pflow.errors import BAD_DATA, PflowError
from pflow.interface.interface import Interface
from pflow.text.printable import clean

NO_CLASS = "it has no class"
"""The end of the message about a file that is no node, but may be a module that a node beside it imports."""


def read_interface(file: str) -> Interface:
    """Read the interface in the docstring of a file's class; an open one without a docstring.

    Raises PflowError (65) if it does not parse, OSError if the file cannot be read.
    """
    return next(filter(None, (_declared(node, file) for node in node_classes(classes_in(file), file))), Interface())


def read_python(file: str) -> tuple[Interface, str]:
    """Read the interface in a user's file, or infer it from the code; also return why no class can be the node, or "".

    Raises PflowError (65) for a file without a class.
    """
    classes = classes_in(file)
    if not classes:
        raise PflowError(f"cannot find the node in '{file}': {NO_CLASS}", exit=BAD_DATA)
    nodes = node_classes(classes, file)
    node = next(filter(_docstring, nodes), nodes[0])
    return _shown(node, classes, file), _class_fault(nodes, classes, file)


def read_class(name: str, file: str) -> Interface | None:
    """Read the interface of the class of this name, as `read_python` does; None without such a class."""
    classes = classes_in(file)
    return _shown(classes[name], classes, file) if name in classes else None


def _shown(node: Any, classes: dict[str, Any], file: str) -> Interface:
    """Return the interface in a class's docstring, else one inferred from its code."""
    from pflow.interface.grammar import parse_interface

    try:
        interface = _declared(node, file) or Interface()
    except PflowError as error:
        if not error.message.startswith("cannot parse the interface") or "[secret]" in _docstring(node):
            raise
        interface = parse_interface(_docstring(node).partition("Interface:")[0])
        interface.fault = clean(error.message)
    if interface.open:
        from pflow.interface.class_code import read_code

        read_code(node, classes, interface)
        if _take_words(_docstring(node), interface):
            interface.fault = ""
    return interface


def _take_words(docstring: str, interface: Interface) -> bool:
    """Add to the items what an interface in prose says about them, as in `- Reads: shared["prompt"] - the prompt`.

    Return True if every line of it has that form, or lists params.
    """
    from pflow.interface.grammar import stated_default

    is_prose = True
    for line in docstring.partition("Interface:\n")[2].split("\n\n")[0].splitlines():
        head, _, rest = line.strip().partition(": ")
        key, dash, words = rest.removeprefix('shared["').partition('"] - ')
        fields = {"- Reads": interface.reads, "- Writes": interface.writes, "- Params": interface.params}.get(head, {})
        params = [part.partition(" ") for part in rest.split(", ")]  # such as "model (default gpt-4), system"
        for name, _, about in params if head == "- Params" else [(key, dash, words)]:
            field = fields.get(name.strip(":"))
            if field and dash:
                field.doc = clean(about)
            if field and field.default is None:  # a default in the code wins over prose
                field.default = stated_default(field, about)
        is_prose &= bool(dash) or not line.strip() or (head == "- Params" and ":" not in rest)
    return is_prose


def _declared(node: Any, file: str) -> Interface | None:
    """Return the interface in a class's docstring; None without a docstring."""
    from pflow.interface.grammar import parse_interface

    if not _docstring(node):
        return None
    interface = parse_interface(_docstring(node), file=file, first_line=node.body[0].lineno)
    interface.flow_safe = any("flow_safe" in _text_of(each) for each in node.decorator_list)
    if interface.flow_safe and interface.effects:
        raise PflowError(f"cannot read the node '{file}': a flow_safe node has no effects", exit=BAD_DATA)
    return interface


def _docstring(node: Any) -> str:
    import _ast

    first = node.body[0]  # not ast.get_docstring: ast imports enum, too slow for a stage
    value = getattr(first.value, "value", None) if isinstance(first, _ast.Expr) else None
    return value if isinstance(value, str) else ""


def _text_of(node: Any) -> str:
    """Return the source text of an expression."""
    import _ast

    if isinstance(node, _ast.Name):
        return str(node.id)
    if isinstance(node, _ast.Attribute):
        return f"{_text_of(node.value)}.{node.attr}"
    import ast

    return ast.unparse(node)


def classes_in(file: str) -> dict[str, Any]:
    """Return the classes of a file by name. Raises PflowError (65) if it is not Python, OSError."""
    import _ast  # the C part of ast; half a millisecond, and most runs read no source

    with open(file, encoding="utf-8-sig", errors="replace") as source:
        text = source.read()
    try:
        # Not optimized: from Python 3.13 on, `python -OO` drops the docstrings of what it parses too.
        tree: Any = compile(text, "<unknown>", "exec", _ast.PyCF_ONLY_AST, optimize=0)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # the last two: it is nested too deeply
        raise PflowError(f"cannot read the node '{file}': {in_words(error)}", exit=BAD_DATA) from None
    found = [each for each in tree.body if isinstance(each, _ast.ClassDef)]
    if not found:
        import ast

        found = [each for each in ast.walk(tree) if isinstance(each, ast.ClassDef)]
    return {node.name: node for node in found}


_NODES = {"Node", "BatchNode", "AsyncNode", "AsyncBatchNode", "AsyncParallelBatchNode"}
_NO_NODES = {*vars(builtins), "BaseNode", "Flow", "BatchFlow", "AsyncFlow", "AsyncBatchFlow", "AsyncParallelBatchFlow"}


def node_classes(classes: dict[str, Any], file: str) -> list[Any]:
    """Return the classes that may be the file's node, chosen as pick_class does: by name, else by their bases."""
    name = plain(os.path.basename(file).removesuffix(".py"))
    named = [node for each, node in classes.items() if plain(each) in (name, name + "node")]
    nodes = [node for node in classes.values() if any(base.endswith("Node") for base in _bases_of(node, classes))]
    return named or nodes or [*classes.values()]


def _class_fault(nodes: list[Any], classes: dict[str, Any], file: str) -> str:
    """Say why none of these classes is the file's node, and the remedy; empty if one may be."""
    first, bases = nodes[0].name, {base for each in nodes for base in _bases_of(each, classes)} - _NO_NODES
    if len(nodes) > 1 and bases <= _NODES:
        from pflow.text.naming import joined

        name = "".join(part.title() for part in os.path.basename(file).removesuffix(".py").split("_"))
        return f"in {file}, {joined(each.name for each in nodes)} may each be the node; call one {name}"
    return "" if bases else f"in {file}, {first} does not inherit from pocketflow.Node; class {first}(pocketflow.Node)"


def _bases_of(node: Any, classes: dict[str, Any]) -> set[str]:
    """Return the names of a class's bases from other files, direct ones and those of bases in its own file."""
    others = {name: each for name, each in classes.items() if each is not node}
    found = map(_text_of, node.bases)
    own = [_bases_of(others[base], others) if base in others else {base.rpartition(".")[2]} for base in found]
    return set().union(*own)


def plain(name: str) -> str:
    """Strip a name of dashes, underscores and case."""
    return name.replace("-", "").replace("_", "").lower()


def in_words(error: BaseException) -> str:
    """Describe the exception that a Python file raised when it was loaded."""
    if isinstance(error, SystemExit):
        return f"it calls exit({error.code})"
    place = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
    what = str(getattr(error, "msg", error))
    return ": ".join(part for part in (type(error).__name__, what) if part) + place


def source_version(file: str) -> str:
    """Return the version in a node's source, else that of the class Node."""
    with open(file, "rb") as source:
        _, found, after = source.read().partition(b'\n    version = "')
    return clean(after.partition(b'"')[0].decode("ascii", "replace")) if found else "1.0.0"
