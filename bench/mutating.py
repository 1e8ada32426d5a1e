"""One change at a time to a Python module: what `bench/mutants.py` runs the tests against.

A site is a place in the tree and what to put there instead. Changed are comparisons, `and`/`or`, `not`, conditions,
arithmetic, numbers and booleans, returned values, `break`/`continue`, and calls whose result nobody takes (left out).
Not changed is what has no behaviour to test or is data: annotations, docstrings and other texts, the arguments of
`@dataclass`, `if TYPE_CHECKING`, `__all__`, and lists and dictionaries written down at the top of a module.
"""

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MODULE", "Mutant", "Site", "mutant", "normalised", "sites"]

MODULE = "<module>"
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_EXACT_NEGATIONS = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)
_UNCHANGED_FIELDS = {"annotation", "returns", "type_params", "format_spec", "ctx"}


@dataclass(frozen=True, eq=False)
class Site:
    """Where a module can be changed: `holder.field` (`[index]`) becomes `new`."""

    path: Path
    function: str
    line: int
    holder: ast.AST
    field: str
    index: int | None
    new: ast.AST


@dataclass(frozen=True)
class Mutant:
    """A module with one change. `changed` has the lines taken away and put in, as `ast.unparse` writes them."""

    path: Path
    function: str
    line: int
    changed: tuple[str, ...]
    source: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What stays the same when lines are added elsewhere or the file is formatted anew."""
        return self.path.as_posix(), self.function, "\n".join(self.changed)


def normalised(source: str) -> str:
    """The module as `ast.unparse` writes it: what a mutant differs from in one place."""
    return ast.unparse(ast.parse(source)) + "\n"


def mutant(tree: ast.Module, site: Site) -> Mutant:
    """The module with this change. The tree is as before afterwards."""
    before = (ast.unparse(tree) + "\n").splitlines(keepends=True)
    old = _put(site, site.new)
    try:
        after = (ast.unparse(ast.fix_missing_locations(tree)) + "\n").splitlines(keepends=True)
    finally:
        _put(site, old)
    lines = difflib.unified_diff(before, after, n=0)
    changed = tuple(
        f"{line[0]} {line[1:].strip()}" for line in lines if line[0] in "+-" and not line.startswith(("+++", "---"))
    )
    return Mutant(site.path, site.function, site.line, changed, "".join(after))


def _put(site: Site, node: ast.AST) -> ast.AST:
    if site.index is None:
        old: ast.AST = getattr(site.holder, site.field)
        setattr(site.holder, site.field, node)
    else:
        values = getattr(site.holder, site.field)
        old, values[site.index] = values[site.index], node
    return old


def sites(tree: ast.Module, path: Path) -> list[Site]:
    """All places of a module, in order."""
    return list(_below(tree, path, MODULE, in_function=False))


def _below(holder: ast.AST, path: Path, function: str, *, in_function: bool) -> Iterator[Site]:
    for field, value in ast.iter_fields(holder):
        if field in _UNCHANGED_FIELDS:
            continue
        for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(node, ast.AST) or _unchanged(node, in_function=in_function):
                continue
            for new in _replacements(field, node):
                line = getattr(node, "lineno", getattr(holder, "lineno", 1))
                yield Site(path, function, line, holder, field, index, new)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = node.name if function == MODULE else f"{function}.{node.name}"
                inside = in_function or not isinstance(node, ast.ClassDef)
                yield from _below(node, path, name, in_function=inside)
            else:
                yield from _below(node, path, function, in_function=in_function)


def _unchanged(node: ast.AST, *, in_function: bool) -> bool:
    """Data, and what only other tools read."""
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Call(func=ast.Name(id="dataclass" | "TypeVar" | "ParamSpec")):
            return True
        case ast.Assign(value=ast.List() | ast.Tuple() | ast.Dict() | ast.Set()):
            return not in_function
        case ast.AnnAssign(value=ast.List() | ast.Tuple() | ast.Dict() | ast.Set()):
            return not in_function
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
    return False


def _replacements(field: str, node: ast.AST) -> Iterator[ast.AST]:
    if field in {"test", "ifs"} and isinstance(node, ast.expr) and not _negated_elsewhere(node):
        yield ast.UnaryOp(ast.Not(), node)
    match node:
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call() | ast.Await(value=ast.Call())):
            yield ast.Pass()
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case _:
            yield from _operators(node)


def _operators(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(left, ops, comparators):
            for place, op in enumerate(ops):
                swapped = [*ops[:place], _COMPARISONS[type(op)](), *ops[place + 1 :]]
                yield ast.Compare(left, swapped, comparators)
        case ast.BoolOp(op, values):
            yield ast.BoolOp(ast.And() if isinstance(op, ast.Or) else ast.Or(), values)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.BinOp(left, op, right) if type(op) in _ARITHMETIC and not (_text(left) or _text(right)):
            yield ast.BinOp(left, _ARITHMETIC[type(op)](), right)
        case ast.AugAssign(target, op, value) if type(op) in _ARITHMETIC and not _text(value):
            yield ast.AugAssign(target, _ARITHMETIC[type(op)](), value)
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)


def _negated_elsewhere(node: ast.expr) -> bool:
    """Whether another replacement of this node is the same as `not node`."""
    match node:
        case ast.Compare(ops=[op]):
            return isinstance(op, _EXACT_NEGATIONS)
        case ast.UnaryOp(op=ast.Not()) | ast.Constant():
            return True
    return False


def _text(node: ast.AST) -> bool:
    """Whether arithmetic with this is about texts: any other operator fails at once and tells nothing."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
