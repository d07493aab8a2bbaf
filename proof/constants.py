"""Expressions whose value is known before anything runs, those of loop variables in a turn of their loop included."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .slang import Node

__all__ = ["Constants"]


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
