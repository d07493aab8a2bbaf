"""A walk over the statements and expressions of an elaborated design, in the order of execution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import product

from ..slang import Node
from ..system_tasks import MESSAGES, PURE, READ_FILES, VALUES, only_says
from .activity import ANYTHING, CONSTANT, Activity, Comparison, Sources
from .constants import Constants
from .coverage import covers_all, pattern
from .expressions import (
    CONSTANTS,
    LITERALS,
    STEPS,
    body_of,
    compares_reals,
    contents,
    dpi_import,
    foreign,
    has_z,
    indices_of,
    instance_of,
    is_expression,
    keeps_its_type,
    kind_of,
    locals_of,
    loses_sign,
    may_miss,
    part_of,
    root_of,
    same_value,
    selects_of,
    targets_of,
    turns_around,
    value_of,
    whole,
    words,
)
from .parts import Part, Symbol

KNOWS_X = "a comparison that tells x from 0 and 1"
WITHOUT_X = "a conversion to a type without x"
COUNTS = ("$countones", "$onehot", "$onehot0")
"""System functions that count ones, but not x."""


TURNS = 4096
"""Turns of loops, at most, that are walked one by one in a process or function."""


class Reader:
    """Reads processes of the design ``top``; calls ``objects`` with the place of each construct that is not allowed."""

    def __init__(self, top: Node, objects: Callable[..., None]) -> None:
        self.objects = objects
        self.constants = Constants(top)
        self.functions: dict[Symbol, Activity | None] = {}
        self.calls: dict[Symbol, frozenset[Symbol]] = {}
        self._turns = 0

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
                        event.sourceRange.start, "a block starts at an edge of an expression, which is no name"
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

    def _is_pattern(self, label: Node) -> bool:
        """Is a label a constant with x and z as wildcards?"""
        if _is_range(label):
            return self._is_pattern(label.left) and self._is_pattern(label.right)
        return label.kind.name in LITERALS or self.constants.value(label) is not None

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

    # Expressions.

    def expression(self, activity: Activity, expression: Node, acts: bool = False) -> None:
        """Read an expression and apply its effects: assignments, increments, and calls of functions that write more
        than their value.

        Only a whole expression that ``acts``, such as a statement, may have effects: whether and in which order tools
        evaluate parts (``&&``, ``?:``) differs.
        """
        from pyslang import ast

        whole = value_of(expression) if acts else None
        if whole is not None and self._act(activity, whole):
            while expression is not whole:
                self._converted(activity, expression)
                expression = expression.operand
            return

        def look(node: Node) -> Node:
            if not is_expression(node):
                return ast.VisitAction.Advance
            kind = kind_of(node)
            if compares_reals(node, self.constants):
                return ast.VisitAction.Skip
            if reason := foreign(node):
                self.objects(node.sourceRange.start, reason)
            if kind == "Conversion":
                self._converted(activity, node)
            if (
                kind == "Assignment"
                or (kind == "UnaryOp" and node.op.name in STEPS)
                or (kind == "Call" and self._does(node, activity))
            ):
                self.objects(
                    node.sourceRange.start,
                    "part of an expression writes something: tools differ in whether and when it is done",
                )
                self._act(activity, node)
                return ast.VisitAction.Skip
            if kind in ("NamedValue", "HierarchicalValue", "ElementSelect", "RangeSelect", "MemberAccess"):
                return ast.VisitAction.Skip if self._read(activity, node) else ast.VisitAction.Advance
            if kind in LITERALS and has_z(node) and activity.kind != "constant":  # which may be a pattern
                self.objects(
                    node.sourceRange.start, "there is a z, which is not a level of its own in a circuit of gates"
                )
            elif kind == "BinaryOp" and node.op.name == "Power" and not self._is_known_power(node):
                self.objects(
                    node.sourceRange.start, "there is a power that is no constant, or has too few bits", of_tools=True
                )
            elif kind == "BinaryOp" and node.op.name in (
                "CaseEquality",
                "CaseInequality",
                "WildcardEquality",
                "WildcardInequality",
            ):
                self.compared(activity, node.left, KNOWS_X)
                if node.op.name.startswith("Case") or not self._is_pattern(node.right):
                    self.compared(activity, node.right, KNOWS_X)
                elif node.op.name.startswith("Wildcard"):  # z is a wildcard
                    node.left.visit(look)
                    return ast.VisitAction.Skip
            elif kind == "Inside":
                self._inside(node.left, node.rangeList)
                for part in (node.left, *(value for value in node.rangeList if not self._is_pattern(value))):
                    self.compared(activity, part, KNOWS_X)
                    part.visit(look)
                return ast.VisitAction.Skip
            elif kind == "Call":
                return self._call(activity, node)
            return ast.VisitAction.Advance

        expression.visit(look)

    def _is_known_power(self, node: Node) -> bool:
        return self.constants.number(node) is not None and self.constants.is_exact(node)

    def _inside(self, left: Node, values: Iterable[Node]) -> None:
        """Object to an operand whose value depends on the others: tools compare all at once, or one by one."""
        ends = [end for value in values for end in ((value.left, value.right) if _is_range(value) else (value,))]
        for operand in (left, *ends):
            if not keeps_its_type(operand, self.constants):
                self.objects(
                    operand.sourceRange.start,
                    "another operand of an inside changes the width or the sign of this one: tools differ",
                    of_tools=True,
                )

    def _act(self, activity: Activity, node: Node) -> bool:
        """Apply an assignment, an increment or a call; False for other expressions."""
        kind = kind_of(node)
        if kind == "Assignment":
            self._assignment(activity, node)
        elif kind == "UnaryOp" and node.op.name in STEPS:
            self.expression(activity, node.operand)
            self.target(activity, node.operand, True, self.sources(activity, node.operand))
        elif kind == "Call" and not node.isSystemCall:
            given = [argument for argument in node.arguments if argument.kind.name != "Assignment"]
            taken = [argument for argument in node.arguments if argument.kind.name == "Assignment"]
            for formal, argument in zip(node.subroutine.arguments, node.arguments):
                if formal.direction.name == "InOut":
                    self.expression(activity, argument.left if argument in taken else argument)
            for argument in given:
                self.expression(activity, argument)
            self._call(activity, node)
            leaves = [leaf for argument in taken for leaf in self._leaves(argument)]
            self._at_once(activity, leaves)
            self._moved(activity, leaves, [node.subroutine])
            for formal, argument in zip(node.subroutine.arguments, node.arguments):
                if argument in taken:  # written when the function ends
                    self.given(activity, argument.left, formal)
        else:
            return False
        return True

    def given(self, activity: Activity, left: Node, formal: Node) -> None:
        """Write the expression that is connected to an output."""
        self.target(activity, left, True, Sources(frozenset({Symbol.of(formal)}), False))

    def _converted(self, activity: Activity, conversion: Node) -> None:
        if conversion.operand.type.isFourState and not conversion.type.isFourState:
            self.compared(activity, conversion.operand, WITHOUT_X)

    def _does(self, call: Node, caller: Activity) -> bool:
        """Does a function write anything but its value?"""
        if call.isSystemCall:
            return False
        if any(formal.direction.name != "In" for formal in call.subroutine.arguments):
            return True
        inner = self._function(call.subroutine, caller)
        return inner is not None and bool(inner.blocking.symbols or inner.nonblocking.symbols)

    def _assignment(self, activity: Activity, node: Node) -> None:
        if node.timingControl is not None and not (node.isNonBlocking and node.timingControl.kind.name == "Delay"):
            self.objects(node.sourceRange.start, "an assignment waits")
        self.copied(node.left.type, node.right)
        self.expression(activity, node.right, acts=True)
        self._moved(activity, self._leaves(node.left), self._called(node.right))
        sources = self.sources(activity, node.right)
        if node.isCompound:
            self.expression(activity, node.left)
            sources |= self.sources(activity, node.left)
        self.target(activity, node.left, not node.isNonBlocking, sources)
        if node.isNonBlocking:
            delay = 0 if node.timingControl is None else self._delay(node.timingControl)
            for leaf in self._leaves(node.left):
                if (part := part_of(leaf, self.constants)) is not None:
                    activity.delays.setdefault(part, set()).add(delay)

    def copied(self, kind: Node, right: Node) -> None:
        """Object to the assignment of an array to one whose indices run the other way."""
        if turns_around(kind, right.type):
            self.objects(
                right.sourceRange.start,
                "the indices of an array that is assigned run the other way: tools differ",
                of_tools=True,
            )

    def _delay(self, control: Node) -> float | None:
        """The delay of a ``<=`` in units of time. More than one unit is an objection: clocks move at whole units, so
        edges may be two units apart."""
        value = self.constants.value(control.expr)
        delay = value if isinstance(value, float) else self.constants.number(control.expr)
        if delay is None:
            self.objects(control.sourceRange.start, "there is a delay that is not constant")
        elif not 0 <= delay <= 1:
            self.objects(
                control.sourceRange.start, f"<= writes {delay} units of time later, perhaps after the next edge"
            )
        return delay

    def _at_once(self, activity: Activity, leaves: Iterable[Node]) -> None:
        """Object to names that are written together if the result depends on their undefined order."""
        parts = [(leaf, part) for leaf in leaves if (part := part_of(leaf, self.constants)) is not None]
        for place, (leaf, part) in enumerate(parts):
            others = [other for number, (_, other) in enumerate(parts) if number != place]
            if any(part.meets(other) for other in others[:place]):
                self.objects(leaf.sourceRange.start, f"{part.symbol.text} is written twice at once")
            indices = frozenset[Symbol]().union(*(self.sources(activity, i).names for i in indices_of(leaf)))
            if index := next((other for other in others if other.symbol in indices), None):
                self.objects(
                    leaf.sourceRange.start, f"{index.symbol.text} is written and is an index of what is written at once"
                )

    def _moved(self, activity: Activity, leaves: Iterable[Node], called: Iterable[Node]) -> None:
        """Object to an index on the left side that a function changes meanwhile: which value counts is undefined."""
        written = set[Symbol]()
        for inner in filter(None, (self._function(function, activity) for function in called)):
            written |= inner.blocking.symbols
        for leaf in leaves if written else ():
            indices = frozenset[Symbol]().union(*(self.sources(activity, i).names for i in indices_of(leaf)))
            if index := next(iter(indices & written), None):
                self.objects(
                    leaf.sourceRange.start, f"{index.text} is an index of what is written, and a function changes it"
                )

    def sources(self, activity: Activity, expression: Node) -> Sources:
        """The sources of the value of an expression."""
        names, may_be_x, called = contents(expression, self.constants)
        for function in called:
            inner = self._function(function, activity)
            if inner is None:
                return ANYTHING
            names |= inner.reads.symbols
            may_be_x = may_be_x or bool(inner.held) or any(sources.may_be_x for sources in inner.sources.values())
        return Sources(frozenset(names), may_be_x)

    def target(self, activity: Activity, target: Node, blocking: bool, sources: Sources) -> None:
        """Write the names on the left side, and read their indices."""
        leaves = list(self._leaves(target))
        self._at_once(activity, leaves)
        for leaf in leaves:
            place = leaf.sourceRange.start
            part = part_of(leaf, self.constants)
            if part is None:
                self.objects(place, f"something is assigned to an expression of another kind ({words(leaf.kind.name)})")
                continue
            self._look_across(activity, leaf)
            if any(may_miss(select, self.constants) for select in selects_of(leaf)):
                self.objects(
                    place, f"an index of what is written may lie beyond {part.symbol.text}: tools differ", True
                )
            for index in indices_of(leaf):
                self.expression(activity, index)
                self.compared(activity, index, "an index of what is written")
            write = activity.write if blocking else activity.write_later
            write(part, place, sources)
            if not leaf.type.isFourState:  # also one of several names, which one conversion would cover
                activity.comparisons.append(Comparison(place, WITHOUT_X, sources.names, sources.may_be_x))

    def _leaves(self, target: Node) -> Iterator[Node]:
        """The names on the left side, with their selections."""
        match target.kind.name:
            case "Concatenation":
                inner = target.operands
            case "SimpleAssignmentPattern":
                inner = target.elements
            case "Streaming":
                if target.sliceSize and target.bitstreamWidth % target.sliceSize:
                    self.objects(
                        target.sourceRange.start,
                        f"a stream of {target.bitstreamWidth} bits in slices of {target.sliceSize} is written: "
                        "tools differ in which slice is the short one",
                    )
                inner = [stream.operand for stream in target.streams]
            case "Conversion":
                inner = [target.operand]
            case "Assignment":
                inner = [target.left]
            case "EmptyArgument" | "Invalid":
                inner = []
            case _:
                yield target
                return
        for one in inner:
            yield from self._leaves(one)

    def _read(self, activity: Activity, node: Node) -> bool:
        """Read a name with its indices; False for a selection from something other than a name."""
        chosen = node
        while chosen.kind.name in ("ElementSelect", "RangeSelect", "MemberAccess"):
            if chosen.value.type.isFourState and not chosen.type.isFourState:  # a member of a structure
                self.compared(activity, chosen.value, WITHOUT_X)
            chosen = chosen.value
        part = part_of(node, self.constants)
        if part is None:
            return False
        for index in indices_of(node):
            self.expression(activity, index)
        root = root_of(node)
        if root.symbol.kind.name == "Specparam":
            self.objects(
                node.sourceRange.start, f"{root.symbol.name} is a specparam, which a file of delays can change"
            )
        if root.symbol.kind.name not in CONSTANTS:
            self._look_across(activity, node)
            activity.read(part, node.sourceRange.start)
        return True

    def _look_across(self, activity: Activity, node: Node) -> None:
        """Object to a name of another module, unless that is an interface, and to a variable outside of modules."""
        root = root_of(node)
        scope = instance_of(root.symbol)
        if scope is None and root.symbol.kind.name == "Variable" and not root.symbol.parentScope.isProceduralContext:
            self.objects(node.sourceRange.start, f"{root.symbol.name} is a variable of no module")
        if root.kind.name == "HierarchicalValue" and root.symbol.parentScope.isProceduralContext:
            self.objects(
                node.sourceRange.start,
                f"{str(root.syntax).strip()} is a variable inside of a task or block, named from outside",
            )
        if (
            root.kind.name == "HierarchicalValue"
            and scope is not None
            and scope.definition.definitionKind.name != "Interface"
            and scope.hierarchicalPath != activity.body
        ):
            self.objects(node.sourceRange.start, f"{str(root.syntax).strip()} is a name of another module")

    def compared(self, activity: Activity, node: Node, what: str, only_literals: bool = False) -> None:
        sources = self.sources(activity, node)
        # without wildcards only literals matter: 0 or 1 always matches
        activity.comparisons.append(
            Comparison(node.sourceRange.start, what, frozenset() if only_literals else sources.names, sources.may_be_x)
        )

    def _call(self, activity: Activity, call: Node) -> Node:
        from pyslang import ast

        if call.isSystemCall:
            name = call.subroutineName
            if name in READ_FILES:
                self.target(activity, call.arguments[1], True, ANYTHING)  # the file may be too short
                return ast.VisitAction.Skip
            if name not in VALUES:
                self.objects(call.sourceRange.start, f"there is a call of {name}")
            if name in COUNTS:
                self.compared(activity, call.arguments[0], name)
            return ast.VisitAction.Advance
        place, inner = call.sourceRange.start, self._function(call.subroutine, activity)
        if len(call.arguments) > 1 and _keeps(call.subroutine):
            within = [function for argument in call.arguments for function in self._called(argument)]
            if any(Symbol.of(call.subroutine) in {Symbol.of(f), *self._calls(f)} for f in within):
                self.objects(
                    place, f"{call.subroutine.name}, which is not automatic, is called for an argument of its own call"
                )
        if inner is not None:
            is_task = call.subroutine.subroutineKind.name == "Task"
            for part, _ in inner.reads:
                if not activity.assigned.covers(part):
                    (activity.hidden_in_tasks if is_task else activity.hidden).add(part, place)
                activity.read(part, place)
            for written, own in ((inner.blocking, activity.blocking), (inner.nonblocking, activity.nonblocking)):
                for part, _ in written:
                    own.add(part, place)
            for part, delays in inner.delays.items():
                activity.delays.setdefault(part, set()).update(delays)
            activity.assigned.include(inner.assigned)
        for formal, actual in zip(call.subroutine.arguments, call.arguments):
            activity.gives(Symbol.of(formal), self.sources(activity, actual))
        return ast.VisitAction.Advance

    def _called(self, node: Node) -> list[Node]:
        """The functions and tasks that are called in an expression or statement."""
        from pyslang import ast

        found = []

        def look(inner: Node) -> Node:
            if kind_of(inner) == "Call" and is_expression(inner) and not inner.isSystemCall:
                found.append(inner.subroutine)
            return ast.VisitAction.Advance

        node.visit(look)
        return found

    def _calls(self, subroutine: Node) -> frozenset[Symbol]:
        """The functions and tasks that one calls, directly or through others."""
        key = Symbol.of(subroutine)
        if key not in self.calls:
            found: set[Symbol] = set()
            waiting = [subroutine]
            while waiting:
                for function in self._called(waiting.pop().body):
                    if Symbol.of(function) not in found:
                        found.add(Symbol.of(function))
                        waiting.append(function)
            self.calls[key] = frozenset(found)
        return self.calls[key]

    def function(self, subroutine: Node) -> None:
        """Read a function that may be called outside of processes, as for the bounds of a vector."""
        self._function(subroutine, Activity("function", subroutine.location, body_of(subroutine)))

    def _function(self, subroutine: Node, caller: Activity) -> Activity | None:
        """The effects of a function or task outside of itself; None while it is being read, because it calls itself."""
        key = Symbol.of(subroutine)
        if key in self.functions:
            return self.functions[key]
        self.functions[key] = None
        if key in self._calls(subroutine) and _keeps(subroutine):
            self.objects(
                subroutine.location, f"{subroutine.name} calls itself, but not all of its variables are automatic"
            )
        if subroutine.flags & dpi_import():
            self.objects(subroutine.location, f"{subroutine.name} is a function of another language")
        inner = Activity("function", subroutine.location, body_of(subroutine) or caller.body)
        for formal in subroutine.arguments:
            if formal.direction.name == "Ref":
                self.objects(formal.location, f"{formal.name} is passed by reference, which slang leaves out")
        results = [formal for formal in subroutine.arguments if formal.direction.name == "Out"]
        for formal in subroutine.arguments:
            if formal not in results:
                inner.assigned.write(whole(formal))
        if subroutine.returnValVar is not None:
            results.append(subroutine.returnValVar)
            inner.result = whole(subroutine.returnValVar)
        own = {Symbol.of(symbol) for symbol in [*subroutine.arguments, *results, *locals_of(subroutine)]}
        turns, self._turns = self._turns, 0
        with self.constants.without_variables(), inner.assigned.left_by("Return"):
            self.statement(inner, subroutine.body)
        self._turns = turns
        for part, place in inner.reads:
            if part.symbol in own and inner.blocking.meets(part):
                self.objects(place, f"{part.symbol.text} keeps its value from the call before")
        for result in results:
            if not inner.assigned.covers(whole(result)):
                self.objects(result.location, f"{subroutine.name} does not write all of {result.name} on every path")
        inner.held |= {part.symbol for part, _ in inner.reads if part.symbol in own}
        for symbol in own:
            inner.assigned.forget(symbol)
            for parts in (inner.reads, inner.blocking, inner.nonblocking):
                parts.remove(symbol)
        self.functions[key] = inner
        return inner


def _is_range(value: Node) -> bool:
    return value.kind.name == "ValueRange"


def _keeps(subroutine: Node) -> bool:
    """Does a function or task have a variable that all of its calls share?"""
    variables = [*subroutine.arguments, *locals_of(subroutine), *filter(None, [subroutine.returnValVar])]
    return any(variable.lifetime.name == "Static" for variable in variables)


def _from_left_to_right(extent: Node) -> range:
    """The indices of a dimension in the order of foreach (IEEE 1800-2017, 12.7.3)."""
    step = 1 if extent.left <= extent.right else -1
    return range(extent.left, extent.right + step, step)


def _is_written(activity: Activity, part: Part) -> bool:
    return activity.blocking.meets(part) or activity.nonblocking.meets(part)
