"""What an expression of a design names, and small questions to statements, as slang has elaborated them."""

from __future__ import annotations

from .activity import Part, Symbol
from .elaboration import Node

__all__ = [
    "CONSTANTS",
    "body_of",
    "contents",
    "dpi_import",
    "has_z",
    "indices_of",
    "instance_of",
    "kind_of",
    "locals_of",
    "only_says",
    "part_of",
    "root_of",
    "value_of",
    "words",
]

CONSTANTS = ("Parameter", "EnumValue", "Genvar", "Specparam", "TypeParameter")
"""Kinds of symbols whose value is known before anything runs."""

MESSAGES = frozenset(
    (
        "$display",
        "$displayb",
        "$displayh",
        "$displayo",
        "$write",
        "$writeb",
        "$writeh",
        "$strobe",
        "$monitor",
        "$error",
        "$warning",
        "$info",
        "$fatal",
        "$dumpfile",
        "$dumpvars",
        "$dumpon",
        "$dumpoff",
        "$timeformat",
        "$printtimescale",
        "$stop",
        "$finish",
        "$assertoff",
        "$asserton",
        "$assertkill",
    )
)
"""System tasks that change nothing of the design."""


def kind_of(node: Node) -> str:
    kind = getattr(node, "kind", None)
    return "" if kind is None else kind.name


def root_of(node: Node) -> Node:
    while node.kind.name in ("ElementSelect", "RangeSelect", "MemberAccess"):
        node = node.value
    return node


def part_of(node: Node) -> Part | None:
    """The part of a net or variable that an expression names."""
    root, indices = root_of(node), []
    if root.kind.name not in ("NamedValue", "HierarchicalValue"):
        return None
    chain = []
    while node is not root:
        chain.append(node)
        node = node.value
    for select in reversed(chain):  # up to the first that is not constant
        extent = _extent(select)
        if extent is None:
            break
        indices.append(extent)
    return Part(Symbol.of(root.symbol), tuple(indices))


def _extent(select: Node) -> tuple[int, int] | None:
    """Lowest and highest of constant indices."""
    kind = select.kind.name
    if kind == "ElementSelect":
        index = _number(select.selector)
        return None if index is None else (index, index)
    if kind != "RangeSelect":
        return None
    left, right, way = _number(select.left), _number(select.right), select.selectionKind.name
    if left is None or right is None:
        return None
    if way == "Simple":
        return min(left, right), max(left, right)
    return (left, left + right - 1) if way == "IndexedUp" else (left - right + 1, left)


def _number(expression: Node) -> int | None:
    constant = expression.constant
    if constant is None or constant.hasUnknown():
        return None
    return int(constant.value)


def indices_of(node: Node) -> list[Node]:
    found = []
    while node.kind.name in ("ElementSelect", "RangeSelect", "MemberAccess"):
        if node.kind.name == "ElementSelect":
            found.append(node.selector)
        elif node.kind.name == "RangeSelect":
            found += [node.left, node.right]
        node = node.value
    return found


def contents(expression: Node) -> tuple[set[Symbol], bool, list[Node]]:
    """The names in an expression, whether it has a literal with x or z, and the functions that it calls."""
    from pyslang import ast

    names, is_unknown, called = set(), False, []

    def look(node: Node) -> object:
        nonlocal is_unknown
        kind = kind_of(node)
        if kind in ("NamedValue", "HierarchicalValue"):
            if node.symbol.kind.name not in CONSTANTS:
                names.add(Symbol.of(node.symbol))
            elif node.symbol.kind.name in ("Parameter", "EnumValue"):
                is_unknown = is_unknown or node.symbol.value.hasUnknown()
        elif kind in ("IntegerLiteral", "UnbasedUnsizedIntegerLiteral"):
            is_unknown = is_unknown or node.value.hasUnknown
        elif kind == "Inside" or (kind == "BinaryOp" and node.op.name.startswith("Wildcard")):
            node.left.visit(look)  # what may have wildcards is on the right
            return ast.VisitAction.Skip
        elif kind == "Call" and not node.isSystemCall:
            called.append(node.subroutine)
        return ast.VisitAction.Advance

    expression.visit(look)
    return names, is_unknown, called


def value_of(expression: Node) -> Node:
    """An expression without what only changes its width or sign."""
    while expression.kind.name == "Conversion":
        expression = expression.operand
    return expression


def has_z(literal: Node) -> bool:
    value = getattr(literal, "value", None)  # a range of values has none
    return value is not None and value.hasUnknown and "z" in str(value).partition("'")[2].lower()


def only_says(statement: Node) -> bool:
    """Does a statement nothing but print a message?"""
    kind = statement.kind.name
    if kind == "Block":
        return only_says(statement.body)
    if kind == "List":
        return all(map(only_says, statement.list))
    if kind != "ExpressionStatement":
        return kind == "Empty"
    call = statement.expr
    return call.kind.name == "Call" and call.isSystemCall and call.subroutineName in MESSAGES


def locals_of(subroutine: Node) -> list[Node]:
    """Variables that are declared in a function, in all of its blocks."""
    from pyslang import ast

    found = []

    def look(node: Node) -> object:
        if isinstance(node, ast.VariableSymbol):
            found.append(node)
        elif isinstance(node, ast.VariableDeclStatement):
            found.append(node.symbol)
        elif isinstance(node, ast.ForLoopStatement):
            found.extend(node.loopVars)
        elif isinstance(node, ast.ForeachLoopStatement):
            found.extend(dimension.loopVar for dimension in node.loopDims if dimension.loopVar is not None)
        return ast.VisitAction.Advance

    subroutine.visit(look)
    return found


def dpi_import() -> Node:
    from pyslang import ast

    return ast.MethodFlags.DPIImport


def instance_of(symbol: Node) -> Node | None:
    """The body of the instance that a symbol is in; None for one of a package."""
    return None if symbol.parentScope is None else symbol.parentScope.containingInstance


def body_of(symbol: Node) -> str | None:
    """Path of the instance that a symbol is in."""
    scope = instance_of(symbol)
    return None if scope is None else scope.hierarchicalPath


def words(kind: str) -> str:
    """A kind of slang's as words.

    >>> words("RandCase")
    'rand case'
    """
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in kind).strip()
