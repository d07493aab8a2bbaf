"""Names that are used before their scope declares them, if an outer scope declares the same name.

The standard (IEEE 1800, 6.21 and 23.9) means the outer name, but many tools take the inner one. The check reads the
syntax only, and all names in it: also in ranges, casts and conditions of generate blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .slang import Node

EVERY = ".*"
"""A use of every name, as a wildcard port connection has it."""


@dataclass
class _Scope:
    outer: _Scope | None
    declared: dict[str, int] = field(default_factory=dict)
    """The names of the scope, with the offset of their first declaration."""

    def declare(self, token: Node) -> None:
        place = token.location.offset
        self.declared[token.valueText] = min(place, self.declared.get(token.valueText, place))


@dataclass(frozen=True)
class _Use:
    name: str
    location: Node
    scope: _Scope

    def is_early(self, of_packages: set[str]) -> bool:
        """Does the scope declare the name later, and an outer scope or a package too?"""
        if self.name == EVERY:
            later = {name for name, place in self.scope.declared.items() if place > self.location.offset}
            return any(_Use(name, self.location, self.scope).is_early(of_packages) for name in later)
        scope: _Scope | None = self.scope
        while scope is not None and self.name not in scope.declared:
            scope = scope.outer
        if scope is None or scope.declared[self.name] <= self.location.offset:
            return False
        while scope.outer is not None:
            scope = scope.outer
            if self.name in scope.declared:
                return True
        return self.name in of_packages


def early_names(root: Node) -> Iterator[tuple[str, Node]]:
    """The names of a syntax tree that are used too early, each with its place. Names of called functions are resolved
    after all declarations, so they do not count."""
    from pyslang import syntax

    scopes = (
        syntax.CompilationUnitSyntax,
        syntax.ModuleDeclarationSyntax,
        syntax.CheckerDeclarationSyntax,
        syntax.ClassDeclarationSyntax,
        syntax.FunctionDeclarationSyntax,
        syntax.IfGenerateSyntax,
        syntax.CaseGenerateSyntax,
        syntax.LoopGenerateSyntax,
        syntax.GenerateBlockSyntax,
        syntax.BlockStatementSyntax,
        syntax.ForLoopStatementSyntax,
    )
    packages: dict[str, _Scope] = {}
    uses, imports = [], []
    waiting: list[tuple[Node, _Scope | None, bool]] = [(root, None, False)]
    while waiting:
        node, scope, is_member = waiting.pop()
        if isinstance(node, scopes) or scope is None:
            scope = _Scope(scope)
            if node.kind.name == "PackageDeclaration":
                packages[node.header.name.valueText] = scope
        left_out: list[Node] = []
        if isinstance(node, syntax.DeclaratorSyntax):
            if not is_member:
                scope.declare(node.name)
        elif isinstance(node, syntax.TypedefDeclarationSyntax | syntax.TypeAssignmentSyntax):
            scope.declare(node.name)
        elif isinstance(node, syntax.LetDeclarationSyntax):
            scope.declare(node.identifier)
        elif isinstance(node, syntax.PackageImportItemSyntax):
            scope.declare(node.item)
            imports.append((scope, node.package.valueText, node.item))
        elif isinstance(node, syntax.WildcardPortConnectionSyntax):
            uses.append(_Use(EVERY, node.sourceRange.start, scope))
        elif isinstance(node, syntax.LoopGenerateSyntax):
            scope.declare(node.identifier)
        elif isinstance(node, syntax.GenvarDeclarationSyntax):
            for name in node.identifiers:
                if isinstance(name, syntax.IdentifierNameSyntax):
                    scope.declare(name.identifier)
            continue
        elif isinstance(node, syntax.InvocationExpressionSyntax):
            left_out = [node.left]
        elif isinstance(node, syntax.ScopedNameSyntax):
            left_out = [node.right] if node.separator.rawText == "." else [node.left, node.right]
        elif isinstance(node, syntax.NamedPortConnectionSyntax) and not node.openParen.rawText:
            uses.append(_Use(node.name.valueText, node.name.location, scope))
        elif isinstance(node, syntax.IdentifierNameSyntax | syntax.IdentifierSelectNameSyntax):
            uses.append(_Use(node.identifier.valueText, node.identifier.location, scope))
        is_member = isinstance(node, syntax.StructUnionMemberSyntax)
        for part in node:
            if isinstance(part, syntax.SyntaxNode):
                if not isinstance(part, syntax.NameSyntax) or part not in left_out:
                    waiting.append((part, scope, is_member))
                else:  # the name does not count, but its indices do
                    waiting += [(inner, scope, False) for inner in part if isinstance(inner, syntax.SyntaxNode)]
    for scope, package, item in imports:
        if item.rawText == "*" and package in packages:
            for name in packages[package].declared:
                scope.declared.setdefault(name, item.location.offset)
    of_packages = {name for scope in packages.values() for name in scope.declared}
    return iter([(use.name, use.location) for use in uses if use.is_early(of_packages)])
