"""A walk over the statements of an elaborated design, in the order of execution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import product

from ..slang import Node
from ..system_tasks import MESSAGES, PURE, only_says
from .activity import CONSTANT, Activity, Comparison
from .coverage import covers_all, pattern
from .effects import Effects
from .expressions import STEPS, body_of, kind_of, locals_of, loses_sign, root_of, same_value, targets_of, whole, words
from .parts import Part, Symbol

TURNS = 4096
"""Turns of loops, at most, that are walked one by one in a process or function."""


class Reader(Effects):
    """Reads the processes of a design."""

    def process(self, block: Node) -> Activity:
        """An always, initial or final block."""
        kind, body = block.procedureKind.name, block.body
        kinds = {"Initial": "initial", "Final": "final", "AlwaysComb": "combinational", "AlwaysLatch": "combinational"}
        activity = Activity(
            kinds.get(kind, "unknown"),
            block.location,
            body_of(block),
            sees_functions=kind in ("AlwaysComb", "AlwaysLatch"),
        )
        if kind in ("Always", "AlwaysFF") and body.kind.name == "Timed":
            activity.kind = self._start(activity, body.timing)
            body = body.stmt
        self._turns = 0
        try:
            self.statement(activity, body)
        except RecursionError:
            self.objects(block.location, "a block is nested too deeply to be read")
        own = {Symbol.of(symbol) for symbol in locals_of(block.body)}
        activity.held |= {
            part.symbol for part, _ in activity.reads if part.symbol in own and not _is_written(activity, part)
        }
        if activity.kind in ("combinational", "listed"):  # a latch
            activity.held |= {part.symbol for part, _ in activity.blocking if not activity.assigned.covers(part)}
        return activity

    def _start(self, activity: Activity, timing: Node) -> str:
        """The kind of a process, from its sensitivity."""
        events = timing.events if timing.kind.name == "EventList" else [timing]
        if timing.kind.name == "ImplicitEvent":
            return "combinational"
        if any(event.kind.name != "SignalEvent" or event.iffCondition is not None for event in events):
            return "unknown"
        edges = {event.edge.name for event in events}
        if edges <= {"PosEdge", "NegEdge"}:
            for event in events:
                self.expression(activity, event.expr)
                root = root_of(event.expr)
                if root.kind.name in ("NamedValue", "HierarchicalValue"):
                    activity.listed.add(Symbol.of(root.symbol))
                else:
                    self.objects(
                        event.sourceRange.start, "a block starts at an edge of an expression, which is not a name"
                    )
            return "clocked"
        if edges != {"None_"}:
            return "unknown"
        activity.listed = {Symbol.of(event.expr.symbol) for event in events if event.expr.kind.name == "NamedValue"}
        return "listed"

    # Statements. A statement without a method is an objection.

    def statement(self, activity: Activity, statement: Node) -> None:
        read = getattr(self, f"_{statement.kind.name}", None)
        if read is None:
            self.objects(
                statement.sourceRange.start, f"there is a statement of another kind ({words(statement.kind.name)})"
            )
            return
        read(activity, statement)

    def _all(self, activity: Activity, statements: Iterable[Node]) -> None:
        for one in statements:
            if one is not None:
                self.statement(activity, one)

    def _Empty(self, activity: Activity, statement: Node) -> None:
        pass

    def _Break(self, activity: Activity, statement: Node) -> None:
        activity.assigned.leave(statement.kind.name)

    _Continue = _Break

    def _List(self, activity: Activity, statement: Node) -> None:
        self._all(activity, statement.list)

    def _Block(self, activity: Activity, statement: Node) -> None:
        if statement.blockKind.name != "Sequential":
            self.objects(statement.sourceRange.start, "there is a fork")
        self.statement(activity, statement.body)

    def _VariableDeclaration(self, activity: Activity, statement: Node) -> None:
        variable = statement.symbol
        if variable.initializer is None:
            if variable.lifetime.name == "Automatic":
                activity.assigned.forget(Symbol.of(variable))
            return
        if variable.lifetime.name == "Static":
            self.objects(
                variable.location, f"{variable.name} is static and has an initial value, which it gets only once"
            )
        self._initialised(activity, variable)

    def _initialised(self, activity: Activity, variable: Node) -> None:
        self.expression(activity, variable.initializer, acts=True)
        activity.write(whole(variable), variable.location, self.sources(activity, variable.initializer))

    def _ExpressionStatement(self, activity: Activity, statement: Node) -> None:
        if only_says(statement):
            self._unseen(activity, statement)
        else:
            self.expression(activity, statement.expr, acts=True)

    def _Conditional(self, activity: Activity, statement: Node) -> None:
        ways: list[Node] = []
        dead: list[Node] = []
        is_certain, rest = False, statement
        while rest is not None:  # an else if is at the depth of its if
            if is_if := rest.kind.name == "Conditional":
                for condition in rest.conditions:
                    if condition.pattern is not None:
                        self.objects(rest.sourceRange.start, "there is a pattern")
                    self.expression(activity, condition.expr)
                known = self.constants.number(rest.conditions[0].expr) if len(rest.conditions) == 1 else None
            else:
                known = 1
            (dead if is_certain or known == 0 else ways).append(rest.ifTrue if is_if else rest)
            is_certain = is_certain or bool(known)
            rest = rest.ifFalse if is_if else None
        self._branch(activity, ways, dead, is_certain)

    def _branch(self, activity: Activity, ways: list[Node], dead: list[Node], is_certain: bool) -> None:
        """Statements of which at most one runs, and statements that never run."""
        activity.assigned.branch([partial(self.statement, activity, way) for way in ways], is_certain)
        for way in dead:
            activity.assigned.unreached(partial(self.statement, activity, way))

    def _Case(self, activity: Activity, statement: Node) -> None:
        word = {"Normal": "case", "WildcardJustZ": "casez", "WildcardXOrZ": "casex", "Inside": "case inside"}[
            statement.condition.name
        ]
        is_wild = word != "case"
        for compared in (statement.expr, *(label for item in statement.items for label in item.expressions)):
            if loses_sign(compared, self.constants):
                self.objects(
                    compared.sourceRange.start, f"a signed number is widened without its sign in a {word}: tools differ"
                )
        if word == "case inside":
            self._inside(statement.expr, [label for item in statement.items for label in item.expressions])
        self.expression(activity, statement.expr)
        self.compared(activity, statement.expr, f"the expression of a {word}", only_literals=not is_wild)
        for item in statement.items:
            for label in item.expressions:
                if not is_wild or not self._is_pattern(label):
                    self.expression(activity, label)
                    self.compared(activity, label, f"a label of a {word}", only_literals=not is_wild)
        if not is_wild:  # x matches x
            labels = [self.sources(activity, label).names for item in statement.items for label in item.expressions]
            names, others = self.sources(activity, statement.expr).names, frozenset[Symbol]().union(*labels)
            what = f"the expression and in a label of a {word}"
            activity.comparisons.append(Comparison(statement.sourceRange.start, what, names, False, others))
        ways, dead = [item.stmt for item in statement.items], []
        if statement.defaultCase is not None:
            ways.append(statement.defaultCase)
        chosen = None if is_wild else self._chosen(statement)
        if chosen is not None:
            ways, dead = ways[chosen : chosen + 1], ways[:chosen] + ways[chosen + 1 :]
        is_certain = statement.defaultCase is not None or (chosen is not None and bool(ways))
        names_all = chosen is None and self._names_all(statement, word)
        if names_all:  # only x reaches earlier values or the default
            self.compared(activity, statement.expr, f"a {word} with a label for every value")
        self._branch(activity, ways, dead, is_certain or names_all)

    def _chosen(self, case: Node) -> int | None:
        """The number of the way that a case of constants takes, or None if unknown."""
        value = self.constants.number(case.expr)
        labels = [[self.constants.number(label) for label in item.expressions] for item in case.items]
        if value is None or any(None in numbers for numbers in labels):
            return None
        return next((place for place, numbers in enumerate(labels) if value in numbers), len(labels))

    def _names_all(self, case: Node, word: str) -> bool:
        """Does a case have a label for each value of its expression?"""
        from pyslang import LiteralBase, SVInt

        inner, whole_width, wild = same_value(case.expr).type, case.expr.type.bitWidth, {"casez": "z", "casex": "xz"}
        width, patterns = inner.bitWidth, []
        for label in (label for item in case.items for label in item.expressions):
            value = self.constants.value(label)
            if word == "case inside" or not isinstance(value, SVInt):
                continue
            digits = value.toString(LiteralBase.Binary, False)[-whole_width:]
            digits = digits.rjust(whole_width, digits[0] if digits[0] in "xz" else "0")
            found = pattern(digits, wild.get(word, ""))
            if found is not None and (width == whole_width or not (inner.isSigned or found[1] >> width)):
                patterns.append((found[0] & ((1 << width) - 1), found[1] & ((1 << width) - 1)))
        return covers_all(patterns)

    def _ForLoop(self, activity: Activity, statement: Node) -> None:
        for variable in statement.loopVars:
            if variable.initializer is not None:
                self._initialised(activity, variable)
        for expression in statement.initializers:
            self.expression(activity, expression, acts=True)
        first = [
            (variable, variable.initializer) for variable in statement.loopVars if variable.initializer is not None
        ]
        first += [
            (root_of(expression.left).symbol, expression.right)
            for expression in statement.initializers
            if expression.kind.name == "Assignment" and root_of(expression.left).kind.name == "NamedValue"
        ]

        def turn() -> None:
            self._turn(activity, statement.body)
            for step in statement.steps:
                self.expression(activity, step, acts=True)

        if statement.stopExpr is not None:
            self.expression(activity, statement.stopExpr)
        with activity.assigned.left_by("Break"):
            if statement.stopExpr is None or not self._unrolled(activity, statement, dict(first), turn):
                activity.assigned.branch([turn], is_certain=False)

    def _unrolled(self, activity: Activity, loop: Node, first: dict[Node, Node], turn: Callable[[], None]) -> bool:
        """Walk the turns of a for loop one by one; False if their number is not known, or too large."""
        constants = self.constants
        known = {variable: constants.number(value) for variable, value in first.items()}
        values = {variable: value for variable, value in known.items() if value is not None}
        if len(values) < len(known) or any(self._writes(loop.body, variable, activity) for variable in values):
            return False
        for variable, value in values.items():
            constants.set(variable, value)
        try:
            while activity.assigned.is_reached and (goes := constants.number(loop.stopExpr)) != 0:
                self._turns += 1
                if goes is None or self._turns > TURNS:
                    return False
                turn()
                if not all(constants.step(step) for step in loop.steps):
                    return False
            return True
        finally:
            for variable in values:
                constants.unset(variable)

    def _writes(self, body: Node, variable: Node, activity: Activity) -> bool:
        """May a statement write a variable, directly or in a function?"""
        from pyslang import ast

        symbol, found = Symbol.of(variable), False

        def look(node: Node) -> Node:
            nonlocal found
            kind = kind_of(node)
            if kind == "Assignment" or (kind == "UnaryOp" and node.op.name in STEPS):
                found = found or symbol in targets_of(node.left if kind == "Assignment" else node.operand)
            elif kind == "Call" and not node.isSystemCall:
                inner = self._function(node.subroutine, activity)
                found = found or inner is None or symbol in inner.blocking or symbol in inner.nonblocking
            return ast.VisitAction.Advance

        body.visit(look)
        return found

    def _turn(self, activity: Activity, body: Node) -> None:
        with activity.assigned.left_by("Continue"):
            self.statement(activity, body)

    def _ForeachLoop(self, activity: Activity, statement: Node) -> None:
        dimensions = [dimension for dimension in statement.loopDims if dimension.loopVar is not None]
        for dimension in dimensions:
            activity.write(whole(dimension.loopVar), statement.sourceRange.start, CONSTANT)
        extents = [dimension.range for dimension in dimensions]
        turns: Iterator[tuple[int, ...]] = iter(())
        if is_known := None not in extents:
            turns = product(*map(_from_left_to_right, extents))
        with activity.assigned.left_by("Break"):
            for values in turns:
                self._turns += 1
                if is_known := self._turns <= TURNS:
                    for dimension, value in zip(dimensions, values):
                        self.constants.set(dimension.loopVar, value)
                    self._turn(activity, statement.body)
                else:
                    break
            for dimension in dimensions:
                self.constants.unset(dimension.loopVar)
            if not is_known:
                activity.assigned.branch([partial(self._turn, activity, statement.body)], is_certain=False)

    def _RepeatLoop(self, activity: Activity, statement: Node) -> None:
        self.expression(activity, statement.count)
        self._looped(activity, statement, bool(self.constants.number(statement.count)))

    def _looped(self, activity: Activity, statement: Node, is_certain: bool) -> None:
        """Walk a loop with an unknown number of turns: later turns find at least the writes of the first."""
        with activity.assigned.left_by("Break"):
            activity.assigned.branch([partial(self._turn, activity, statement.body)], is_certain)

    def _WhileLoop(self, activity: Activity, statement: Node) -> None:
        self.expression(activity, statement.cond)
        self._looped(activity, statement, False)

    def _DoWhileLoop(self, activity: Activity, statement: Node) -> None:
        self._looped(activity, statement, True)
        self.expression(activity, statement.cond)

    def _ForeverLoop(self, activity: Activity, statement: Node) -> None:
        self._looped(activity, statement, True)

    def _Return(self, activity: Activity, statement: Node) -> None:
        if statement.expr is not None:
            self.expression(activity, statement.expr, acts=True)
            if activity.result is not None:
                sources = self.sources(activity, statement.expr)
                activity.write(activity.result, statement.sourceRange.start, sources)
        activity.assigned.leave("Return")

    # Assertions and messages, which a proof leaves out: they may read anything, but must not write.

    def _ImmediateAssertion(self, activity: Activity, statement: Node) -> None:
        self.expression(Activity("assertion", statement.sourceRange.start, activity.body), statement.cond)
        self._actions(activity, statement)

    def _ConcurrentAssertion(self, activity: Activity, statement: Node) -> None:
        self._unseen(activity, statement)  # which visits its actions too
        self._actions(activity, statement)

    def _actions(self, activity: Activity, assertion: Node) -> None:
        for action in (assertion.ifTrue, assertion.ifFalse):
            if action is not None and not only_says(action):
                self.objects(action.sourceRange.start, "an assertion does something")
            elif action is not None:
                self._unseen(activity, action)

    def _unseen(self, activity: Activity, node: Node) -> None:
        """Object to effects of an assertion or of the arguments of a message."""
        from pyslang import ast

        def look(inner: Node) -> Node:
            kind = kind_of(inner)
            if (
                kind == "Assignment"
                or (kind == "UnaryOp" and inner.op.name in STEPS)
                or (kind == "Call" and self._does(inner, activity))
            ):
                self.objects(inner.sourceRange.start, "an assertion or a message writes something")
            elif kind == "Call" and inner.isSystemCall and inner.subroutineName not in PURE | MESSAGES:
                self.objects(inner.sourceRange.start, f"an assertion or a message calls {inner.subroutineName}")
            return ast.VisitAction.Advance

        node.visit(look)


def _from_left_to_right(extent: Node) -> range:
    """The indices of a dimension in the order of foreach (IEEE 1800-2017, 12.7.3)."""
    step = 1 if extent.left <= extent.right else -1
    return range(extent.left, extent.right + step, step)


def _is_written(activity: Activity, part: Part) -> bool:
    return activity.blocking.meets(part) or activity.nonblocking.meets(part)
