"""Infer an interface from a node's code: the keys that prep reads, the keys that post sets, and the params."""

from __future__ import annotations

import ast

from pflow import TYPE_CHECKING, Any, Callable, Mapping
from pflow.errors import PflowError
from pflow.interface.common import OF_FLOWS, RESERVED
from pflow.interface.interface import UNDECLARED, Field, Interface
from pflow.values.jsontext import encode
from pflow.values.types import Type

if TYPE_CHECKING:
    Method = ast.FunctionDef | ast.AsyncFunctionDef

_SURE: dict[type, Callable[[Any], list[ast.AST]]] = {
    **dict.fromkeys((ast.If, ast.While, ast.IfExp), lambda node: [node.test]),
    **dict.fromkeys((ast.For, ast.AsyncFor), lambda node: [node.iter]),
    **dict.fromkeys(
        (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), lambda node: [node.generators[0].iter]
    ),
    **dict.fromkeys((ast.Try, ast.Match, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef), lambda node: []),
    ast.BoolOp: lambda node: node.values[:1],
}
"""The parts of conditional code that always run."""

_ALWAYS = ("prep", "exec", "post", "prep_async", "exec_async", "post_async")
"""Methods that run on each visit."""

_CHANGES = ("append", "extend", "insert", "remove", "reverse", "sort", "update", "setdefault", "pop", "clear")
"""Methods that change a list or an object in place."""

_TYPES = {bool: "bool", int: "int", float: "float", str: "str", list: "list", dict: "dict"}


def read_code(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], interface: Interface) -> None:
    """Add the items in a class's code to its open interface; `classes` are those of its file, by name."""
    methods = _methods(node, classes)
    prep = _uses_of("prep", methods)
    settings = {key: default for key, default in prep.taken.items() if default is not UNDECLARED and default}
    others = {key: default for key, default in prep.taken.items() if key not in settings}
    for key, default in {**others, **({} if prep.is_elsewhere else settings)}.items():
        # get("lang", "en") reads a setting. If the class hands its store to other code, that may read the data, and the
        # setting must not take the pipe's value.
        _add(interface.reads, Field("read", key, Type("any")), UNDECLARED if default is UNDECLARED else None)
    post = _uses_of("post", methods)
    for key in sorted(
        post.set, key=lambda key: key in post.taken
    ):  # one that post reads first is a log, not the answer
        if key.isidentifier() and key != "stdin":
            interface.writes[key] = Field("write", key, Type("any"))
    params = _Uses("self.params")
    for name in sorted(methods, key=lambda name: name not in _ALWAYS):
        params.depth = int(name not in _ALWAYS or "set_params" in methods)
        params.visit_method(methods[name])
    for key, default in params.taken.items():
        if key not in interface.reads:
            default = None if key in params.set and default is UNDECLARED else default
            _add(interface.params, Field("param", key, Type(_TYPES.get(default.__class__, "any"))), default)
    interface.inferred = bool(interface.reads or interface.writes or interface.params)
    interface.infer_pipe()


def _methods(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> dict[str, Method]:
    """Return the methods of a class by name, with those of its bases in the same file."""
    others = {name: each for name, each in classes.items() if each is not node}
    bases = [others[base.id] for base in reversed(node.bases) if isinstance(base, ast.Name) and base.id in others]
    inherited = {name: method for base in bases for name, method in _methods(base, others).items()}
    own = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {**inherited, **{method.name: method for method in own}}


def _uses_of(name: str, methods: Mapping[str, Method]) -> _Uses:
    """Find how a method, or its async form, uses its first argument, the store."""
    method = methods.get(name) or methods.get(f"{name}_async")
    arguments = [each.arg for each in [*method.args.posonlyargs, *method.args.args]] if method else []
    uses = _Uses(arguments[1] if len(arguments) > 1 else "")
    if method and len(arguments) > 1:
        uses.visit_method(method)
    return uses


def _add(fields: dict[str, Field], field: Field, default: Any) -> None:
    """Add a read or param that a flag can give."""
    is_taken = field.name in RESERVED and field.name not in OF_FLOWS
    if field.name.isidentifier() and field.name.isascii() and not is_taken:
        field.default = default
        fields[field.name] = field


class _Uses(ast.NodeVisitor):
    """The keys of one dict that code reads before it sets them, and the keys that it sets, in the order of the code.

    `taken` maps each key to its default: UNDECLARED if it is required, None if the code does not say.
    """

    def __init__(self, dict_: str) -> None:
        self.dict = dict_
        self.taken: dict[str, Any] = {}
        self.set: dict[str, None] = {}
        self.depth = 0
        """The number of conditions around the current code."""
        self.is_elsewhere = False
        """True once the dict was passed to code outside the class."""
        self.is_lost = False
        """True if the current code may be unreachable, or outside code may have set a key before it."""

    def visit_method(self, method: Method) -> None:
        self.is_lost = False
        for statement in method.body:
            self.visit(statement)

    def _is_dict(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) == self.dict

    def _take(self, key: str, default: Any) -> None:
        if key not in self.set:
            self.taken.setdefault(key, default)

    def visit(self, node: ast.AST) -> None:
        """Visit code in order, conditional code one level deeper. A bare use of the dict passes it to other code."""
        if self._is_dict(node):
            self.is_lost = self.is_elsewhere = True
        sure = _SURE.get(node.__class__)
        if sure is None:
            super().visit(node)
            return
        for each in sure(node):
            self.visit(each)
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    def visit_Subscript(self, node: ast.Subscript) -> None:
        key = _text(node.slice)
        if key is None or not self._is_dict(node.value):
            self.generic_visit(node)
            if not isinstance(node.ctx, ast.Load):
                self._change(node.value)
        elif isinstance(node.ctx, ast.Store):
            self.set[key] = None
        elif isinstance(node.ctx, ast.Load):
            self._take(key, None if self.depth or self.is_lost else UNDECLARED)

    def _change(self, node: ast.AST) -> None:
        """Note that code changes a value, or a part of it, in place: `d["key"]…[0] = x`."""
        while isinstance(node, ast.Subscript) and not self._is_dict(node.value):
            node = node.value
        if isinstance(node, ast.Subscript) and (key := _text(node.slice)):
            self.set[key] = None

    def visit_Assign(self, node: ast.Assign) -> None:
        for each in [node.value, *node.targets]:
            self.visit(each)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        target = node.target
        if isinstance(target, ast.Subscript):
            self.visit(ast.Subscript(target.value, target.slice, ast.Load()))
        self.visit(node.value)
        self.visit(target)

    def visit_Call(self, node: ast.Call) -> None:
        """Handle `d.get("key", default)`, `setdefault`, `pop` and `update`."""
        function = node.func
        is_own = isinstance(function, ast.Attribute) and self._is_dict(function.value)
        name = function.attr if is_own and isinstance(function, ast.Attribute) else ""
        key = _text(node.args[0]) if node.args else None
        if name in ("get", "setdefault", "pop") and key is not None:
            for each in node.args[1:]:
                self.visit(each)
            self._take(key, _literal(node.args[1]) if len(node.args) > 1 else None)
            if name == "setdefault":
                self.set[key] = None
            return
        self.generic_visit(node)
        if isinstance(function, ast.Attribute) and function.attr in _CHANGES:
            self._change(function.value)
        if name == "update":
            keys = [_text(key) for each in node.args if isinstance(each, ast.Dict) for key in each.keys if key]
            self.set |= dict.fromkeys(filter(None, [*keys, *(each.arg for each in node.keywords)]))

    def visit_Compare(self, node: ast.Compare) -> None:
        """Handle `"key" in d`."""
        key = _text(node.left)
        if key is not None and isinstance(node.ops[0], ast.In | ast.NotIn) and self._is_dict(node.comparators[0]):
            self._take(key, None)
        else:
            self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        self.generic_visit(node)
        self.is_lost = True


def _text(node: ast.expr) -> str | None:
    """Return a key written as a literal."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _literal(node: ast.expr) -> Any:
    """Return a literal default that JSON can hold, else None."""
    try:
        value = ast.literal_eval(node)
        encode(value)
    except (PflowError, ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return value
