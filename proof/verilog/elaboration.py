"""A design as slang elaborates it: its symbols and ports. Proofs do not depend on it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ...host.errors import DesignError
from ..foreign.mapping import Port
from .slang import Node, load_slang


@dataclass(frozen=True)
class Elaboration:
    """The instance ``top`` of a design in `pyslang`."""

    compilation: Node
    top: Node

    def place(self, location: Node) -> str:
        """A location as FILE:LINE of the files of the user."""
        manager = self.compilation.sourceManager
        return f"{manager.getFileName(location)}:{manager.getLineNumber(location)}"

    @property
    def ports(self) -> dict[str, Port]:
        """The ports of the top module by name. Each element of an unpacked array is a port ``name[index]``.

        Raises `DesignError` for ports other than vectors: interfaces and unpacked structures.
        """
        from pyslang import ast

        found = {}
        for port in self.top.body.portList:
            if port.kind != ast.SymbolKind.Port:
                raise DesignError(
                    f"{self.place(port.location)}: the port {port.name} of {self.top.name} is {_kind(port)}: give "
                    "the module a wrapper with vectors for ports"
                )
            direction = {"In": "input", "Out": "output", "InOut": "inout"}.get(port.direction.name, port.direction.name)
            for name, vector in _vectors(port.name, port.type):
                if not vector.isIntegral:
                    raise DesignError(
                        f"{self.place(port.location)}: the port {port.name} of {self.top.name} is not a vector"
                    )
                found[name] = _port(name, direction, vector)
        return found

    @property
    def has_array_ports(self) -> bool:
        """Has any module a port that is an unpacked array? Icarus accepts it and leaves it unconnected."""
        from pyslang import ast

        found = False

        def look(symbol: Node) -> Node:
            nonlocal found
            found = found or (isinstance(symbol, ast.PortSymbol) and symbol.type.isUnpackedArray)
            return (
                ast.VisitAction.Skip if isinstance(symbol, ast.Expression | ast.Statement) else ast.VisitAction.Advance
            )

        self.top.visit(look)
        return found

    @cached_property
    def packed_arrays(self) -> set[str]:
        """The element types of packed arrays in the design, as slang names them: for example ``PackedStructType``."""
        from pyslang import ast

        found: set[str] = set()

        def look(symbol: Node) -> Node:
            kind = symbol.type.canonicalType if isinstance(symbol, ast.ValueSymbol) else None
            while kind is not None and (kind.isPackedArray or (kind.isUnpackedArray and kind.hasFixedRange)):
                inner = kind.arrayElementType.canonicalType
                if kind.isPackedArray:
                    found.add(inner.kind.name)
                kind = inner
            return ast.VisitAction.Skip if isinstance(symbol, ast.Expression) else ast.VisitAction.Advance

        self.top.visit(look)
        return found

    @cached_property
    def recursive_function(self) -> str | None:
        """The name of a function that calls itself, perhaps through others, or None."""
        from pyslang import ast

        calls: dict[str, tuple[str, set[str]]] = {}
        called: list[Node] = []

        def look(symbol: Node) -> Node:
            if isinstance(symbol, ast.CallExpression) and not symbol.isSystemCall:
                called.append(symbol.subroutine)
            return ast.VisitAction.Advance

        self.top.visit(look)
        while called:
            function = called.pop()
            if function.hierarchicalPath not in calls:
                before = len(called)
                function.body.visit(look)
                inner = {other.hierarchicalPath for other in called[before:]}
                calls[function.hierarchicalPath] = (function.name, inner)
        for path, (name, inner) in calls.items():
            reached, waiting = set[str](), set(inner)
            while waiting:
                reached |= waiting
                waiting = set().union(*(calls[other][1] for other in waiting)) - reached
            if path in reached:
                return name
        return None

    @cached_property
    def has_signed_numbers(self) -> bool:
        """Does the text declare signed numbers, or shift them?"""
        return any(re.search(r"(?<![$\w])signed\b|>>>", str(tree.root)) for tree in self.compilation.getSyntaxTrees())

    @cached_property
    def widened_connection(self) -> str | None:
        """The name of a port whose connection widens a number, or None."""
        from pyslang import ast

        found = []

        def is_widened(expression: Node) -> bool:
            conversions = []

            def see(inner: Node) -> Node:
                if inner.kind.name == "Conversion" and inner.operand.type.bitWidth < inner.type.bitWidth:
                    conversions.append(inner)
                return ast.VisitAction.Advance

            expression.visit(see)
            return bool(conversions)

        def look(symbol: Node) -> Node:
            if isinstance(symbol, ast.InstanceSymbol):
                for connection in symbol.portConnections:
                    if connection.expression is not None and is_widened(connection.expression):
                        found.append(connection.port.name)
            return (
                ast.VisitAction.Skip if isinstance(symbol, ast.Expression | ast.Statement) else ast.VisitAction.Advance
            )

        self.top.visit(look)
        return found[0] if found else None

    @property
    def unpacked(self) -> dict[str, str]:
        """Unpacked array ports, each with a declaration of a variable of its type named ``{}``."""
        found = {}
        for port in self.top.body.portList:
            sizes = [f"[{low}:{high}]" for low, high in _dimensions(port.type)]
            if sizes:
                element = port.type
                while element.isUnpackedArray:
                    element = element.arrayElementType
                found[port.name] = f"logic [{element.bitWidth - 1}:0] {{}} {''.join(sizes)}"
        return found


def elaborated(text: str, top: str, parameters: Mapping[str, str] | None = None) -> Elaboration:
    """The module ``top`` of a preprocessed text. Raises `DesignError` with the first error of slang."""
    load_slang()
    import pyslang
    from pyslang import ast, syntax

    tree = syntax.SyntaxTree.fromText(text, "design.sv")
    definitions = {node.header.name.valueText: node.sourceRange for node in _modules(tree.root)}
    if top not in definitions:
        if error := next((diagnostic for diagnostic in tree.diagnostics if diagnostic.isError()), None):
            manager = tree.sourceManager
            manager.setDisableProximatePaths(True)
            place = f"{manager.getFileName(error.location)}:{manager.getLineNumber(error.location)}"
            raise DesignError(f"{place}: {pyslang.DiagnosticEngine(manager).formatMessage(error)}")
        raise DesignError(f"the files have no module {top}: they have {', '.join(sorted(definitions)) or 'none'}")
    options = ast.CompilationOptions()
    options.topModules = {top}
    options.paramOverrides = [f"{name}={value}" for name, value in (parameters or {}).items()]
    flags = ast.CompilationFlags
    options.flags = (
        flags.AllowUseBeforeDeclare
        | flags.RelaxEnumConversions
        | flags.AllowTopLevelIfacePorts
        | flags.AllowMergingAnsiPorts
    )
    bag = pyslang.Bag()
    bag.compilationOptions = options
    compilation = ast.Compilation(bag)
    compilation.addSyntaxTree(tree)
    compilation.sourceManager.setDisableProximatePaths(True)
    root = compilation.getRoot()
    if root.topInstances:
        known = [parameter.name for parameter in root.topInstances[0].body.parameters]
        if missing := next((name for name in parameters or {} if name not in known), None):
            raise DesignError(f"{top} has no parameter {missing}: it has {', '.join(known) or 'none'}")
    engine = pyslang.DiagnosticEngine(compilation.sourceManager)
    reached = _definitions(root.topInstances[0]) if root.topInstances else set()
    aside = [extent for name, extent in definitions.items() if name not in reached and reached]
    for diagnostic in compilation.getAllDiagnostics():
        if diagnostic.isError() and not any(
            extent.start.offset <= diagnostic.location.offset < extent.end.offset for extent in aside
        ):
            manager = compilation.sourceManager
            file = manager.getFileName(diagnostic.location)  # empty for a parameter of the command
            place = f"{file}:{manager.getLineNumber(diagnostic.location)}: " if file else ""
            raise DesignError(f"{place}{engine.formatMessage(diagnostic)}")
    return Elaboration(compilation, root.topInstances[0])


def _modules(root: Node) -> list:
    from pyslang import syntax

    found = []

    def look(node: Node) -> bool:
        if isinstance(node, syntax.ModuleDeclarationSyntax):
            found.append(node)
        return True

    root.visit(look)
    return found


def _definitions(top: Node) -> set[str]:
    """Names of the modules of an instance and below."""
    from pyslang import ast

    found = set()

    def look(symbol: Node) -> Node:
        if isinstance(symbol, ast.InstanceSymbol):
            found.add(symbol.definition.name)
        return ast.VisitAction.Skip if isinstance(symbol, ast.Expression | ast.Statement) else ast.VisitAction.Advance

    top.visit(look)
    return found


def _kind(port: Node) -> str:
    from pyslang import ast

    return "an interface" if port.kind == ast.SymbolKind.InterfacePort else "a list of several"


def _dimensions(kind: Node) -> list[tuple[int, int]]:
    """The unpacked dimensions of a type, as they are declared."""
    found = []
    while kind.isUnpackedArray and kind.hasFixedRange:
        found.append((kind.fixedRange.left, kind.fixedRange.right))
        kind = kind.arrayElementType
    return found


def _vectors(name: str, kind: Node) -> list[tuple[str, Node]]:
    """The vectors of a port with their names and types."""
    if not kind.isUnpackedArray or not kind.hasFixedRange:
        return [(name, kind)]
    low, high = sorted((kind.fixedRange.left, kind.fixedRange.right))
    return [found for index in range(low, high + 1) for found in _vectors(f"{name}[{index}]", kind.arrayElementType)]


def _port(name: str, direction: str, kind: Node) -> Port:
    """A vector as a port; several packed dimensions are one vector of all bits."""
    if not (kind.isSimpleBitVector and kind.hasFixedRange):
        return Port(name, direction, kind.bitWidth, 0, False)
    left, right = kind.fixedRange.left, kind.fixedRange.right
    return Port(name, direction, kind.bitWidth, min(left, right), left < right)
