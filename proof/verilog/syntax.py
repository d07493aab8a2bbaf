"""Constructs without a symbol that must not be in a text that is proved, found in its syntax trees."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from .elaboration import Elaboration
from .slang import Node
from .system_tasks import MESSAGES


def forbidden(design: Elaboration) -> Iterator[tuple[Node, str, bool]]:
    """The location of each such construct, the reason, and whether tools read it differently."""
    from pyslang import syntax
    from pyslang.ast import VisitAction

    kinds = {
        syntax.DriveStrengthSyntax: "a drive strength",
        syntax.PullStrengthSyntax: "a drive strength",
        syntax.ChargeStrengthSyntax: "a charge strength",
        syntax.BindDirectiveSyntax: "a bind directive",
    }
    found: list[tuple[Node, str, bool]] = []

    def look(node: Node) -> Node:
        if isinstance(node, syntax.DelaySyntax | syntax.Delay3Syntax) or _is_message(node):
            return VisitAction.Skip  # delays and messages do not matter
        kind, reason, of_tools = node.kind.name, None, False
        if what := kinds.get(type(node)):
            reason = f"there is {what}"
        elif _bits_without_size(node) > 32:  # also in ranges, generate conditions and enums
            reason = "there is a number without a size that needs more than 32 bits"
        elif kind == "ShortRealType":
            reason = "there is a shortreal, which is a real to some tools"
        elif kind == "StringLiteralExpression" and "\\" in node.literal.rawText:
            reason, of_tools = "there is a string with an escape, which tools read differently", True
        elif kind == "TimeLiteralExpression":
            reason = "there is a time, whose number depends on the time scale"
        elif isinstance(node, syntax.ScopedNameSyntax) and _first_name(node) in (design.top.name, "$root"):
            reason = f"{str(node).strip()} reaches into the design from above"
        if reason is not None:
            found.append((node.sourceRange.start, reason, of_tools))
        return VisitAction.Advance

    for tree in design.compilation.getSyntaxTrees():
        tree.root.visit(look)
    yield from found
    for diagnostic in design.compilation.getAllDiagnostics():
        if "UnsizedInConcat" in str(diagnostic.code):
            yield diagnostic.location, "there is a number without a size in a concatenation", True


def called_names(compilation: Node, modules: Collection[str]) -> set[str]:
    """The names of all calls in these modules and outside of modules."""
    from pyslang import syntax
    from pyslang.ast import VisitAction

    called = set()

    def look(node: Node) -> Node:
        if (
            isinstance(node, syntax.ModuleDeclarationSyntax)
            and node.kind.name in ("ModuleDeclaration", "InterfaceDeclaration")
            and node.header.name.valueText not in modules
        ):
            return VisitAction.Skip
        if isinstance(node, syntax.InvocationExpressionSyntax):
            called.add(_last_name(node.left))
        return VisitAction.Advance

    for tree in compilation.getSyntaxTrees():
        tree.root.visit(look)
    return called


def _is_message(node: Node) -> bool:
    """Is a node of a syntax tree a call that only prints a message?"""
    from pyslang import syntax

    if isinstance(node, syntax.InvocationExpressionSyntax):
        return str(node.left).strip() in MESSAGES
    return node.kind.name == "ElabSystemTask"


def _first_name(node: Node) -> str:
    """The first name of a hierarchical one."""
    while hasattr(node, "left"):
        node = node.left
    token = getattr(node, "identifier", None) or getattr(node, "keyword", None)
    return "" if token is None else token.valueText


def _bits_without_size(node: Node) -> int:
    """Bits of the value of a number without a size, with its sign; 0 for other nodes."""
    kind = node.kind.name
    if kind == "IntegerLiteralExpression":
        return int(node.literal.valueText.replace("_", "")).bit_length() + 1
    if kind != "IntegerVectorExpression" or node.size.valueText:
        return 0
    base, digits = node.base.valueText.lower(), node.value.valueText.replace("_", "").lower()
    radix, largest = {"h": (16, "f"), "d": (10, "0"), "o": (8, "7"), "b": (2, "1")}[base[-1]]
    return int(re.sub("[xz?]", largest, digits), radix).bit_length() + ("s" in base)


def _last_name(node: Node) -> str:
    """The last name of a hierarchical one, or of one in a package."""
    while hasattr(node, "right"):
        node = node.right
    token = getattr(node, "identifier", None)
    return "" if token is None else token.valueText
