"""Questions to expressions of an elaborated design: their names, types and constants."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from ..slang import Node
from ..system_tasks import VALUES
from .constants import Constants
from .parts import Part, Symbol

CONSTANTS = ("Parameter", "EnumValue", "Genvar", "Specparam", "TypeParameter")
"""Kinds of symbols with constant values."""

LITERALS = ("IntegerLiteral", "UnbasedUnsizedIntegerLiteral")
STEPS = ("Preincrement", "Predecrement", "Postincrement", "Postdecrement")

KINDS = frozenset(
    (
        *LITERALS,
        "StringLiteral",
        "NamedValue",
        "HierarchicalValue",
        "UnaryOp",
        "BinaryOp",
        "ConditionalOp",
        "Inside",
        "ValueRange",
        "Assignment",
        "LValueReference",
        "Concatenation",
        "Replication",
        "Streaming",
        "ElementSelect",
        "RangeSelect",
        "MemberAccess",
        "Call",
        "Conversion",
        "DataType",
        "SimpleAssignmentPattern",
        "StructuredAssignmentPattern",
        "ReplicatedAssignmentPattern",
        "EmptyArgument",
    )
)
"""Kinds of expressions that a converter may contain."""

OPERATORS = frozenset(
    (
        *STEPS,
        "Plus",
        "Minus",
        "BitwiseNot",
        "BitwiseAnd",
        "BitwiseOr",
        "BitwiseXor",
        "BitwiseNand",
        "BitwiseNor",
        "BitwiseXnor",
        "LogicalNot",
        "Add",
        "Subtract",
        "Multiply",
        "Divide",
        "Mod",
        "Power",
        "BinaryAnd",
        "BinaryOr",
        "BinaryXor",
        "BinaryXnor",
        "Equality",
        "Inequality",
        "CaseEquality",
        "CaseInequality",
        "WildcardEquality",
        "WildcardInequality",
        "GreaterThan",
        "GreaterThanEqual",
        "LessThan",
        "LessThanEqual",
        "LogicalAnd",
        "LogicalOr",
        "LogicalImplication",
        "LogicalEquivalence",
        "LogicalShiftLeft",
        "LogicalShiftRight",
        "ArithmeticShiftLeft",
        "ArithmeticShiftRight",
    )
)
"""Allowed operators: the gate knows which of them distinguish x from 0 and 1, and which give x."""

WITHOUT_A_TYPE = frozenset(("DataType", "EmptyArgument", "Streaming", "ValueRange"))
"""Kinds of expressions without a type of their own."""

EVERYWHERE = re.compile(r"[\s'{]*(default\s*:[\s'{]*)*('[01]|0)[\s}]*")
"""Values that set an element to the same bits, whether they are given to all of it or to each of its parts."""

OWN = frozenset(
    (
        "NamedValue",
        "HierarchicalValue",
        "ElementSelect",
        "RangeSelect",
        "MemberAccess",
        "Concatenation",
        "Replication",
        "Call",
        "IntegerLiteral",
    )
)
"""Kinds of expressions whose value does not depend on the other operand of a comparison, if their sign does not."""

OF_REALS = frozenset(
    (
        "LogicalNot",
        "LogicalAnd",
        "LogicalOr",
        "Equality",
        "Inequality",
        "GreaterThan",
        "GreaterThanEqual",
        "LessThan",
        "LessThanEqual",
    )
)
"""Operators on real numbers that give one bit."""

REAL = frozenset(("$rtoi", "$itor", "$ceil", "$floor", "$clog2"))
"""System functions of real numbers that are exact."""


def kind_of(node: Node) -> str:
    kind = getattr(node, "kind", None)
    return "" if kind is None else kind.name


def root_of(node: Node) -> Node:
    while node.kind.name in ("ElementSelect", "RangeSelect", "MemberAccess"):
        node = node.value
    return node


def whole(symbol: Node) -> Part:
    """All bits of a net or variable."""
    return Part(Symbol.of(symbol), 0, symbol.type.selectableWidth or 1)


def part_of(node: Node, constants: Constants) -> Part | None:
    """The part of a net or variable that an expression names."""
    root, chain = root_of(node), []
    if root.kind.name not in ("NamedValue", "HierarchicalValue"):
        return None
    while node is not root:
        chain.append(node)
        node = node.value
    part = whole(root.symbol)
    for select in reversed(chain):
        if select.kind.name == "MemberAccess" and select.member.kind.name == "Field":
            low, width = select.member.bitOffset, select.type.selectableWidth
        elif (found := _chosen(select, constants)) is not None:
            low, width = found
        else:  # a variable index chooses some of the bits so far
            return replace(part, is_certain=False)
        part = replace(part, low=part.low + low, width=width)
    return part


def _chosen(select: Node, constants: Constants) -> tuple[int, int] | None:
    """The bits that constant indices choose: the first one, and their number."""
    kind = select.value.type.canonicalType
    indices = _indices(select, constants)
    if indices is None or not kind.hasFixedRange:
        return None
    extent, size = kind.fixedRange, kind.arrayElementType.selectableWidth if kind.isArray else 1
    places = sorted(index - extent.right if extent.left >= extent.right else extent.right - index for index in indices)
    first, last = max(places[0], 0), min(places[1], abs(extent.left - extent.right))
    return first * size, max(last - first + 1, 0) * size


def _indices(select: Node, constants: Constants) -> tuple[int, int] | None:
    """The first and the last of constant indices."""
    if select.kind.name == "ElementSelect":
        index = constants.number(select.selector)
        return None if index is None else (index, index)
    if select.kind.name != "RangeSelect":
        return None
    left, right, way = constants.number(select.left), constants.number(select.right), select.selectionKind.name
    if left is None or right is None or way == "Simple":
        return None if left is None or right is None else (left, right)
    return (left, left + right - 1) if way == "IndexedUp" else (left - right + 1, left)


def may_miss(select: Node, constants: Constants) -> bool:
    """Can the indices of a selection be out of range?"""
    kind = select.value.type.canonicalType
    if select.kind.name == "MemberAccess":
        return False
    if not kind.hasFixedRange:
        return True
    extent, indices = kind.fixedRange, _indices(select, constants)
    if indices is None:
        base = same_value(select.selector if select.kind.name == "ElementSelect" else select.left)
        bits, lowest = base.type.bitWidth, 0
        if base.type.isSigned:
            bits, lowest = bits - 1, -(1 << (bits - 1))
        width = 1 if select.kind.name == "ElementSelect" else constants.number(select.right) or 1
        up = select.kind.name == "ElementSelect" or select.selectionKind.name == "IndexedUp"
        indices = (lowest - (0 if up else width - 1), (1 << bits) - 1 + (width - 1 if up else 0))
    return min(indices) < min(extent.left, extent.right) or max(indices) > max(extent.left, extent.right)


def turns_around(left: Node, right: Node) -> bool:
    """Do the indices of two unpacked arrays, or of arrays in them, run in opposite directions?"""
    while left.isUnpackedArray and right.isUnpackedArray and left.hasFixedRange and right.hasFixedRange:
        ways = {extent.left < extent.right for extent in (left.fixedRange, right.fixedRange)}
        if len(ways) > 1 and left.fixedRange.width > 1:
            return True
        left, right = left.arrayElementType, right.arrayElementType
    return False


def targets_of(node: Node) -> set[Symbol]:
    """The nets and variables that an expression on the left side names, without those in its indices."""
    from pyslang import ast

    found = set()

    def look(inner: Node) -> Node:
        root: Node = root_of(inner) if isinstance(inner, ast.Expression) else None
        if kind_of(root) not in ("NamedValue", "HierarchicalValue"):
            return ast.VisitAction.Advance
        found.add(Symbol.of(root.symbol))
        return ast.VisitAction.Skip

    node.visit(look)
    return found


def is_expression(node: Node) -> bool:
    """Is a node an expression, not a symbol or statement?"""
    from pyslang import ast

    return isinstance(node, ast.Expression)


def is_bits(kind: Node) -> bool:
    """Does a type consist of a known number of bits?"""
    if kind.isUnpackedArray:
        return kind.hasFixedRange and is_bits(kind.arrayElementType)
    return kind.isIntegral or kind.isUnpackedStruct


def has_two_states(kind: Node) -> bool:
    """Does a type have bits whose initial value is 0, not x?"""
    if kind.isUnpackedArray:
        return has_two_states(kind.arrayElementType)
    if kind.isUnpackedStruct:
        return any(has_two_states(member.type) for member in kind.canonicalType if member.kind.name == "Field")
    return not kind.isFourState


def _is_spread(pattern: Node) -> bool:
    """Does the default of an assignment pattern set parts of its elements, to bits that differ? Dimensions of an
    unpacked array do not count as parts."""
    default = pattern.defaultSetter
    if default is None or EVERYWHERE.fullmatch(str(default.syntax)):
        return False
    spread = [element for element in pattern.elements if _is_given(element)]
    while spread and pattern.type.isUnpackedArray and spread[0].type.isUnpackedArray and default.kind.name != "Invalid":
        pattern, spread = spread[0], [element for element in spread[0].elements if _is_given(element)]
    return bool(spread)


def _is_given(element: Node) -> bool:
    """Is an element of a pattern an implicit pattern, from a default?"""
    return element.kind.name.endswith("Pattern") and element.syntax is None


def foreign(expression: Node) -> str | None:
    """The reason why an expression, without its parts, is not allowed in a converter, or None."""
    kind = expression.kind.name
    if kind not in KINDS:
        return f"there is an expression of another kind ({words(kind)})"
    if kind in ("UnaryOp", "BinaryOp") and expression.op.name not in OPERATORS:
        return f"there is an operator of another kind ({words(expression.op.name)})"
    if kind == "StructuredAssignmentPattern" and _is_spread(expression):
        return "there is a default for the parts of elements, which tools apply to the whole element or to each part"
    if kind == "ConditionalOp" and any(condition.pattern is not None for condition in expression.conditions):
        return "there is a pattern"
    if kind == "Streaming" and any(stream.withExpr is not None for stream in expression.streams):
        return "there is a stream of a part of an array"
    if kind not in WITHOUT_A_TYPE and not (is_bits(expression.type) or (kind == "Call" and expression.type.isVoid)):
        return f"there is a value of the type {expression.type}, which does not consist of bits"
    return None


def is_of_reals(expression: Node, constants: Constants) -> bool:
    """Is a constant computed from finite real numbers by operations of IEEE 754, so that all tools agree?"""
    from pyslang import ast

    reals, others = [], []

    def look(node: Node) -> Node:
        kind = kind_of(node)
        if (kind in KINDS - WITHOUT_A_TYPE and node.type.isFloating) or kind == "RealLiteral":
            reals.append(constants.value(node))
        if kind == "Call":
            others.append(not node.isSystemCall or node.subroutineName not in REAL)
        if kind in ("NamedValue", "HierarchicalValue") and node.type.isFloating:
            given = getattr(node.symbol, "initializer", None)
            others.append(given is None or not is_of_reals(given, constants))
        return ast.VisitAction.Advance

    expression.visit(look)
    return bool(reals) and not any(others) and all(isinstance(x, float) and math.isfinite(x) for x in reals)


def compares_reals(node: Node, constants: Constants) -> bool:
    """Is an expression a comparison of real constants on which all tools agree?"""
    sides = {"UnaryOp": ("operand",), "BinaryOp": ("left", "right")}.get(node.kind.name, ())
    operands = [getattr(node, side) for side in sides]
    return (
        any(operand.type.isFloating for operand in operands)
        and node.op.name in OF_REALS
        and constants.number(node) is not None
        and is_of_reals(node, constants)
    )


def selects_of(node: Node) -> list[Node]:
    """The selections by an index in an expression, the last one first."""
    found = []
    while node.kind.name in ("ElementSelect", "RangeSelect", "MemberAccess"):
        if node.kind.name != "MemberAccess":
            found.append(node)
        node = node.value
    return found


def is_word(node: Node) -> bool:
    """Is it a whole word of an array, as of a memory?"""
    return node.kind.name == "ElementSelect" and node.value.type.isUnpackedArray and len(selects_of(node)) == 1


def indices_of(node: Node) -> list[Node]:
    return [
        index
        for select in selects_of(node)
        for index in ([select.selector] if select.kind.name == "ElementSelect" else [select.left, select.right])
    ]


def contents(expression: Node, constants: Constants) -> tuple[set[Symbol], bool, list[Node]]:
    """The names in an expression, whether it may give x or z by itself, and the functions that it calls."""
    from pyslang import ast

    names, is_unknown, called = set(), False, []

    def look(node: Node) -> Node:
        nonlocal is_unknown
        kind = kind_of(node)
        if kind in ("NamedValue", "HierarchicalValue"):
            if node.symbol.kind.name not in CONSTANTS:
                names.add(Symbol.of(node.symbol))
            elif node.symbol.kind.name in ("Parameter", "EnumValue"):
                is_unknown = is_unknown or node.symbol.value.hasUnknown()
        elif kind in LITERALS:
            is_unknown = is_unknown or node.value.hasUnknown
        elif kind in ("ElementSelect", "RangeSelect"):
            is_unknown = is_unknown or may_miss(node, constants)
        elif kind == "Inside" or (kind == "BinaryOp" and node.op.name.startswith("Wildcard")):
            node.left.visit(look)  # the right side may have wildcards
            return ast.VisitAction.Skip
        elif kind == "BinaryOp" and node.op.name in ("Divide", "Mod"):
            is_unknown = is_unknown or not constants.number(node.right)
        elif kind == "Call" and not node.isSystemCall:
            called.append(node.subroutine)
        elif is_expression(node) and (foreign(node) or (kind == "Call" and node.subroutineName not in VALUES)):
            is_unknown = True
        return ast.VisitAction.Advance

    expression.visit(look)
    return names, is_unknown, called


def same_value(expression: Node) -> Node:
    """An expression without the conversions that keep every value."""
    while expression.kind.name == "Conversion":
        before, after = expression.operand.type, expression.type
        widened = after.bitWidth > before.bitWidth and not before.isSigned
        if not (
            before.isIntegral and (widened or (after.bitWidth >= before.bitWidth and before.isSigned == after.isSigned))
        ):
            break
        expression = expression.operand
    return expression


def loses_sign(expression: Node, constants: Constants, is_widened: bool = True) -> bool:
    """Is a signed number, which may be negative, converted to an unsigned one, and, if ``is_widened``, to more bits?"""
    if expression.kind.name != "Conversion":
        return False
    before, after = expression.operand.type, expression.type
    is_wider = after.bitWidth > before.bitWidth or not is_widened
    if before.isIntegral and before.isSigned and not after.isSigned and is_wider:
        number = constants.number(expression.operand)
        return number is None or number < 0
    return loses_sign(expression.operand, constants, is_widened)


def depends_on_width(expression: Node, constants: Constants) -> Node | None:
    """The first part of a constant that would have another value in more bits or with another sign, or that is computed
    from x, or None: tools differ in the type of a constant. The final assignment or cast does not count."""
    from pyslang import ast

    found: Node | None = None

    def look(node: Node) -> Node:
        nonlocal found
        kind = kind_of(node)
        if kind in ("UnaryOp", "BinaryOp") and is_expression(node) and not constants.is_exact(node):
            found = found or node
        elif kind in ("ElementSelect", "RangeSelect") and may_miss(node, constants):
            found = found or node
        elif kind == "Conversion" and node.conversionKind.name == "Propagated":
            before, after = constants.number(node.operand), constants.number(node)
            if None not in (before, after) and before != after:
                found = found or node
        return ast.VisitAction.Advance

    value_of(expression).visit(look)
    return found


def keeps_its_type(operand: Node, constants: Constants) -> bool:
    """Does an operand have the same value in every type that the other operands may give it?"""
    if loses_sign(operand, constants, is_widened=False):
        return False
    own = same_value(operand)
    return own.kind.name in OWN or (own.kind.name not in LITERALS[1:] and constants.number(own) is not None)


def value_of(expression: Node) -> Node:
    """An expression without conversions of its width or sign."""
    while expression.kind.name == "Conversion":
        expression = expression.operand
    return expression


def has_z(literal: Node) -> bool:
    value = getattr(literal, "value", None)  # a range has no value
    return value is not None and value.hasUnknown and "z" in str(value).partition("'")[2].lower()


def locals_of(subroutine: Node) -> list[Node]:
    """The variables of a function, in all of its blocks."""
    from pyslang import ast

    found = []

    def look(node: Node) -> Node:
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
    """The body of the instance that contains a symbol; None in a package."""
    return None if symbol.parentScope is None else symbol.parentScope.containingInstance


def body_of(symbol: Node) -> str | None:
    """Path of the instance that contains a symbol."""
    scope = instance_of(symbol)
    return None if scope is None else scope.hierarchicalPath


def words(kind: str) -> str:
    """A kind of slang in words.

    >>> words("RandCase")
    'rand case'
    """
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in kind).strip()
