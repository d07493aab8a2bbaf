"""Expressions whose value is known before anything runs, those of loop variables in a turn of their loop included."""

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
"""The largest exponent or distance of these."""


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
        """A constant, with x and z as they are; None where it is none."""
        if expression.bad:
            return None
        constant = expression.constant
        if constant is None:
            constant = expression.eval(self._context)
        return constant.value

    def number(self, expression: Node) -> int | None:
        """A whole number; None where it is none, or has x or z."""
        from pyslang import SVInt

        value = self.value(expression)
        return int(value) if isinstance(value, SVInt) and not value.hasUnknown else None

    def has_unknown(self, expression: Node) -> bool:
        """Is an expression a constant with x or z?"""
        from pyslang import SVInt

        value = self.value(expression)
        return isinstance(value, SVInt) and value.hasUnknown

    def is_exact(self, operation: Node) -> bool:
        """Is the value of an operation on constants known, and the one that it would have without widths? True where it
        has none, and of other operations.
        """
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
        """Let a variable have a value from here on."""
        from pyslang import ConstantValue, SVInt

        kind, bits = variable.type, variable.type.bitWidth
        self.unset(variable)
        self._context.createLocal(variable, ConstantValue(SVInt(bits, number & ((1 << bits) - 1), kind.isSigned)))

    def unset(self, variable: Node) -> None:
        if self._context.findLocal(variable) is not None:
            self._context.deleteLocal(variable)

    def step(self, expression: Node) -> bool:
        """Do an assignment or an increment of variables that have values; False where the new one is not known."""
        return not expression.bad and expression.eval(self._context).value is not None

    @contextmanager
    def without_variables(self) -> Iterator[None]:
        """A block in which no variable has a value, as in a function."""
        outer, self._context = self._context, self._new()
        try:
            yield
        finally:
            self._context = outer
