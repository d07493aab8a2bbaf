"""The subset of Verilog for which a proof accepts a single reader: operations on unsigned vectors."""

from __future__ import annotations

from .slang import Node

PLAIN = frozenset(
    (
        # modules and their ports
        "CompilationUnit",
        "ModuleDeclaration",
        "ModuleHeader",
        "AnsiPortList",
        "ImplicitAnsiPort",
        "NonAnsiPortList",
        "ImplicitNonAnsiPort",
        "PortReference",
        "PortDeclaration",
        "VariablePortHeader",
        "NetPortHeader",
        "HierarchyInstantiation",
        "HierarchicalInstance",
        "InstanceName",
        "NamedPortConnection",
        "SimplePropertyExpr",
        "SimpleSequenceExpr",
        # nets and variables
        "NetDeclaration",
        "DataDeclaration",
        "Declarator",
        "EqualsValueClause",
        "ImplicitType",
        "RegType",
        "LogicType",
        "VariableDimension",
        "RangeDimensionSpecifier",
        "SimpleRangeSelect",
        # processes and statements
        "ContinuousAssign",
        "AlwaysBlock",
        "AlwaysCombBlock",
        "AlwaysFFBlock",
        "TimingControlStatement",
        "ImplicitEventControl",
        "EventControlWithExpression",
        "ParenthesizedEventExpression",
        "SignalEventExpression",
        "SequentialBlockStatement",
        "ExpressionStatement",
        "EmptyStatement",
        "ConditionalStatement",
        "ConditionalPredicate",
        "ConditionalPattern",
        "ElseClause",
        "CaseStatement",
        "StandardCaseItem",
        "DefaultCaseItem",
        "RepeatLoopStatement",
        "LoopStatement",
        # expressions
        "InvocationExpression",
        "ArgumentList",
        "OrderedArgument",
        "AssignmentExpression",
        "NonblockingAssignmentExpression",
        "IdentifierName",
        "IdentifierSelectName",
        "ElementSelect",
        "BitSelect",
        "IntegerLiteralExpression",
        "IntegerVectorExpression",
        "ParenthesizedExpression",
        "ConcatenationExpression",
        "ConditionalExpression",
        "UnaryBitwiseNotExpression",
        "UnaryBitwiseAndExpression",
        "UnaryBitwiseOrExpression",
        "UnaryBitwiseXorExpression",
        "UnaryLogicalNotExpression",
        "BinaryAndExpression",
        "BinaryOrExpression",
        "BinaryXorExpression",
        "LogicalAndExpression",
        "LogicalOrExpression",
        "LogicalShiftLeftExpression",
        "LogicalShiftRightExpression",
        "AddExpression",
        "SubtractExpression",
        "EqualityExpression",
        "InequalityExpression",
        "LessThanExpression",
        "LessThanEqualExpression",
        "GreaterThanExpression",
        "GreaterThanEqualExpression",
    )
)
"""Kinds of syntax, as slang names them."""

SIGNS = ("$signed", "$unsigned")
"""The allowed system functions."""


def beyond_plain_verilog(root: Node) -> str | None:
    """The first kind of syntax in a tree outside of `PLAIN`, or None."""
    from pyslang import syntax

    found = None

    def look(node: Node) -> bool:
        nonlocal found
        is_plain = not isinstance(node, syntax.SyntaxNode) or node.kind.name in PLAIN
        if found is None and not is_plain and str(node).strip() not in SIGNS:
            found = node.kind.name
        return found is None

    root.visit(look)
    return found
