"""Expressions with constant values, also of loop variables in one turn of their loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..slang import Node

EXACT: dict[str, Callable[..., int]] = {
    "Minus": lambda a: -a,
    "Add": lambda a, b: a + b,
    "Subtract": lambda a, b: a - b,
    "Multiply": lambda a, b: a * b,
    "Power": lambda a, b: a**b,
    "LogicalShiftLeft": lambda a, b: a << b,
    "ArithmeticShiftLeft": lambda a, b: a << b,
}
"""Operations on numbers without a width."""

GROWING = ("Power", "LogicalShiftLeft", "ArithmeticShiftLeft")
LONGEST = 4096
"""The largest exponent or distance of a growing operation."""


class Constants:
    """Evaluates expressions of a design; ``scope`` is a symbol of it."""

    def __init__(self, scope: Node) -> None:
        self._scope = scope
        self._context = self._new()

    def _new(self) -> Node:
        from pyslang import ast

        context = ast.EvalContext(self._scope, ast.EvalFlags.IsScript)
        context.pushEmptyFrame()
        return context

    def value(self, expression: Node) -> Node | None:
        """The value of a constant expression, with x and z; None for other expressions."""
        if expression.bad:
            return None
        constant = expression.constant
        if constant is None:
            constant = expression.eval(self._context)
        return constant.value

    def number(self, expression: Node) -> int | None:
        """The value as a whole number; None for other values, and values with x or z."""
        from pyslang import SVInt

        value = self.value(expression)
        return int(value) if isinstance(value, SVInt) and not value.hasUnknown else None

    def has_unknown(self, expression: Node) -> bool:
        """Is an expression a constant with x or z?"""
        from pyslang import SVInt

        value = self.value(expression)
        return isinstance(value, SVInt) and value.hasUnknown

    def is_exact(self, operation: Node) -> bool:
        """Does an operation on constants have the value that it would have without widths? True for operations on other
        values, and for operators that widths do not affect."""
        name, value = operation.op.name, self.number(operation)
        if self.has_unknown(operation):
            return False
        operands = [operation.operand] if operation.kind.name == "UnaryOp" else [operation.left, operation.right]
        numbers = [self.number(operand) for operand in operands]
        if name not in EXACT or value is None or None in numbers:
            return True
        if name in GROWING and not 0 <= (numbers[1] or 0) <= LONGEST:
            return False
        return EXACT[name](*numbers) == value

    def set(self, variable: Node, number: int) -> None:
        """Set the value of a variable."""
        from pyslang import ConstantValue, SVInt

        kind, bits = variable.type, variable.type.bitWidth
        self.unset(variable)
        self._context.createLocal(variable, ConstantValue(SVInt(bits, number & ((1 << bits) - 1), kind.isSigned)))

    def unset(self, variable: Node) -> None:
        if self._context.findLocal(variable) is not None:
            self._context.deleteLocal(variable)

    def step(self, expression: Node) -> bool:
        """Execute an assignment or an increment of variables with values; False if the new value is not known."""
        return not expression.bad and expression.eval(self._context).value is not None

    @contextmanager
    def without_variables(self) -> Iterator[None]:
        """A block in which no variable has a value, as in a function."""
        outer, self._context = self._context, self._new()
        try:
            yield
        finally:
            self._context = outer
