"""The operands of a query, by sqlglot's tree: the values that it computes with, or compares with a number."""

import logging
import re
from collections.abc import Iterator
from itertools import accumulate

from sqlglot import exp, parse_one, tokenize

_WORDS = (
    # Nodes that compute a number from their parts, by sqlglot's names. If one were missing here, SQLite would compute
    # with a text, and nobody would notice.
    "abs acos acosh asin asinh atan atan2 atanh avg bitwisenot cast ceil cos cosh degrees exp floor having ln log neg"
    " not pow radians round sign sin sinh sqrt sum tan tanh total trunc where",
    # Nodes that are numbers, whatever their parts are.
    "boolean count cumedist denserank length ntile percentrank rank rownumber",
    # Nodes whose value is that of one of their parts.
    "alias case coalesce collate distinct except filter firstvalue greatest if intersect lag lastvalue lead least max"
    " min nthvalue paren select subquery union window",
    # The roles of those parts. The first is left out in CASE and iif, where it is the condition.
    "this expression expressions ifs true false default",
)
_COMPUTING, _COUNTING, _PASSING, _PASSED = map(str.split, _WORDS)
_COMPARING = (exp.Predicate, exp.Nullif, exp.Greatest, exp.Least)
_ARROWS = (exp.JSONExtract, exp.JSONExtractScalar)
_TEXTS = (*exp.DataType.TEXT_TYPES, exp.DataType.Type.VARBINARY)
logging.getLogger("sqlglot").disabled = True  # it would warn of EXPLAIN on stderr


class Operands:
    """A query over a table in which `numbers` are the columns of numbers alone, and `mixed` those with texts too."""

    def __init__(self, sql: str, numbers: set[str], mixed: set[str]) -> None:
        self.mixed = mixed
        self.tree, self.tokens = parse_one(sql, read="sqlite"), tokenize(sql, read="sqlite")
        self.literals = [each.name for each in self.tree.find_all(exp.Literal) if not each.is_string]
        tables = self.tree.find_all(exp.TableAlias)
        names = [*self.tree.find_all(exp.Alias), *(column for table in tables for column in table.columns)]
        self.numbers = numbers - {(name.alias or name.name).lower() for name in names}  # an alias may name a text

    def find(self) -> Iterator[tuple[tuple[int, int], bool, bool]]:
        """Yield the places of the first and last character of each operand, and two flags.

        The first flag is true if the operand must be a number, the second if it must not be one that SQLite rounded.
        """
        for leaf in self.tree.find_all(exp.Column, exp.DPipe, exp.Func):
            node, is_number, is_exact = leaf, False, False
            while not _is_passing(leaf) and (parent := node.parent):
                is_computed = _computes(parent, node)
                is_mixed = parent.key in ("greatest", "least", "max", "min") and leaf.name.lower() in self.mixed
                is_number |= is_computed or is_mixed or self._is_compared(parent, node)
                is_kept = isinstance(parent, _COMPARING) or _is_passing(parent) or parent.key == "count"
                is_call = isinstance(parent, exp.Binary | exp.Func) and not is_kept
                is_exact |= is_computed or is_call or parent.key in ("cast", "glob", "like")
                if not _passes(parent, node):
                    break
                node = parent
            is_number &= not self._is_number(leaf)
            is_exact &= isinstance(leaf, exp.Column | exp.Nullif)
            if is_number or is_exact:
                yield self._span(leaf), is_number, is_exact

    def _is_compared(self, parent: exp.Expr, node: exp.Expr) -> bool:
        """Return True if a value is compared with a number, and not with a text."""
        values = [*parent.iter_expressions()] if isinstance(parent, _COMPARING) else []
        case = parent.parent if isinstance(parent, exp.If) else parent
        if isinstance(case, exp.Case) and case.this and node.arg_key == "this":
            values = [case.this, *(each.this for each in case.args["ifs"])]
        has_text = any(isinstance(each, exp.Literal) and each.is_string for each in values)
        return not has_text and any(self._is_number(each) for each in values if each is not node)

    def _is_number(self, node: exp.Expr) -> bool:
        """Return True if a value is a number for certain."""
        if isinstance(node, exp.Column):
            return node.name.lower() in self.numbers
        if _is_passing(node):
            parts = [part for part in node.iter_expressions() if _passes(node, part) and part.key != "null"]
            return all(map(self._is_number, parts)) and bool(parts)
        is_literal = isinstance(node, exp.Literal) and not node.is_string
        return is_literal or _computes(node) or isinstance(node, exp.Predicate) or node.key in _COUNTING

    def _span(self, node: exp.Expr) -> tuple[int, int]:
        """Return the places of the first and last characters of a value. Raises LookupError."""
        if isinstance(node, exp.Column):
            return node.parts[0].meta["start"], node.parts[-1].meta["end"]
        if isinstance(node, exp.DPipe):
            return self._span(node.left)[0], self._span(node.right)[1]
        if isinstance(node, _ARROWS) and "start" not in node.meta:
            start, end = self._span(node.this)
            return start, [token.end for token in self.tokens if token.start > end][1]
        if "start" not in node.meta:  # sqlglot keeps no place for some functions, such as trim
            first = sorted(each.meta["start"] for each in node.walk() if "start" in each.meta)[0]
            name = [token for token in self.tokens if token.start < first][-2]
            node.meta.update(start=name.start, end=name.end)
        start, end = node.meta["start"], node.meta["end"]
        after = [token for token in self.tokens if token.start > end] if isinstance(node, exp.Func) else []
        opened = accumulate({"L_PAREN": 1, "R_PAREN": -1}.get(each.token_type.name, 0) for each in after)
        return start, next((each.end for each, depth in zip(after, opened, strict=True) if not depth), end)


def _is_passing(node: exp.Expr) -> bool:
    """Return True if the value of a node is that of one of its parts."""
    return node.to.is_type(*_TEXTS) if isinstance(node, exp.Cast) else node.key in _PASSING


def _passes(parent: exp.Expr, node: exp.Expr) -> bool:
    return _is_passing(parent) and node.arg_key in _PASSED[isinstance(parent, exp.Case | exp.If) :]


def _computes(parent: exp.Expr, node: exp.Expr | None = None) -> bool:
    """Return True if `parent` computes a number from its parts; with a `node`, from this part."""
    if node and isinstance(parent, exp.If | exp.Join):
        is_simple = isinstance(parent.parent, exp.Case) and parent.parent.this
        return node.arg_key == "on" or (node.arg_key == "this" and isinstance(parent, exp.If) and not is_simple)
    name = parent.name.lower() if isinstance(parent, exp.Anonymous) else parent.key
    if node and name in ("format", "printf"):
        values = [*parent.iter_expressions()]
        forms = re.findall(r"%[^a-zA-Z%]*([a-zA-Z])", values[0].name.replace("%%", ""))
        return any(value is node and form in "diuoxXfFeEgG" for value, form in zip(values[1:], forms, strict=False))
    is_operator = isinstance(parent, exp.Binary) and not isinstance(parent, (exp.Predicate, exp.DPipe, *_ARROWS))
    return (is_operator or name in _COMPUTING) and not _is_passing(parent)
