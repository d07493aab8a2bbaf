"""A walk over the statements and expressions of a design that slang has elaborated, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .activity import Activity, Comparison, Part, Symbol
from .elaboration import Node
from .expressions import (
    CONSTANTS,
    body_of,
    contents,
    dpi_import,
    has_z,
    indices_of,
    instance_of,
    kind_of,
    locals_of,
    only_says,
    part_of,
    root_of,
    value_of,
    words,
)

__all__ = ["Reader"]

VALUES = frozenset(
    (
        "$signed",
        "$unsigned",
        "$clog2",
        "$bits",
        "$size",
        "$left",
        "$right",
        "$high",
        "$low",
        "$increment",
        "$dimensions",
        "$unpacked_dimensions",
        "$countones",
        "$onehot",
        "$onehot0",
    )
)
"""System functions whose value is one of their arguments, or of constants."""

READ_FILES = frozenset(("$readmemh", "$readmemb"))
"""Those that fill a memory, of which it is written, not read, that it is their argument."""

STEPS = ("Preincrement", "Predecrement", "Postincrement", "Postdecrement")
LITERALS = ("IntegerLiteral", "UnbasedUnsizedIntegerLiteral", "ValueRange")
FOREIGN = (
    "NewArray",
    "NewClass",
    "NewCovergroup",
    "CopyClass",
    "TaggedUnion",
    "AssertionInstance",
    "ClockingEvent",
    "Dist",
    "ArbitrarySymbol",
    "NullLiteral",
    "TimeLiteral",
    "RealLiteral",
)
"""Expressions that a converter is not made of."""

KNOWS_X = "a comparison that tells x from 0 and 1"


class Reader:
    """Reads processes; ``objects`` is told of what no process may do, with its place."""

    def __init__(self, objects: Callable[[object, str], None]) -> None:
        self.objects = objects
        self.functions: dict[Symbol, Activity | None] = {}

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
        self.statement(activity, body)
        return activity

    def _start(self, activity: Activity, timing: Node) -> str:
        """The kind of a process by what it waits for."""
        events = timing.events if timing.kind.name == "EventList" else [timing]
        if timing.kind.name == "ImplicitEvent":
            return "combinational"
        if any(event.kind.name != "SignalEvent" or event.iffCondition is not None for event in events):
            return "unknown"
        edges = {event.edge.name for event in events}
        if edges <= {"PosEdge", "NegEdge"}:
            for event in events:
                self.expression(activity, event.expr)
            return "clocked"
        if edges != {"None_"}:
            return "unknown"
        activity.listed = {Symbol.of(event.expr.symbol) for event in events if event.expr.kind.name == "NamedValue"}
        return "listed"

    # Statements. What has no method here is an objection.

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

    _Break = _Continue = _Empty
    _ConcurrentAssertion = _Empty  # left out of the design

    def _List(self, activity: Activity, statement: Node) -> None:
        self._all(activity, statement.list)

    def _Block(self, activity: Activity, statement: Node) -> None:
        if statement.blockKind.name != "Sequential":
            self.objects(statement.sourceRange.start, "there is a fork")
        self.statement(activity, statement.body)

    def _VariableDeclaration(self, activity: Activity, statement: Node) -> None:
        variable = statement.symbol
        if variable.initializer is None:
            return
        if variable.lifetime.name == "Static":
            self.objects(
                variable.location, f"{variable.name} is static and has an initial value, which it gets only once"
            )
        self._initialised(activity, variable)

    def _initialised(self, activity: Activity, variable: Node) -> None:
        self.expression(activity, variable.initializer, acts=True)
        activity.blocking.add(Part(Symbol.of(variable)), variable.location)
        self._flow(activity, [Symbol.of(variable)], variable.initializer)

    def _ExpressionStatement(self, activity: Activity, statement: Node) -> None:
        if not only_says(statement):
            self.expression(activity, statement.expr, acts=True)

    def _Conditional(self, activity: Activity, statement: Node) -> None:
        for condition in statement.conditions:
            if condition.pattern is not None:
                self.objects(statement.sourceRange.start, "there is a pattern")
            self.expression(activity, condition.expr)
        self._all(activity, [statement.ifTrue, statement.ifFalse])

    def _Case(self, activity: Activity, statement: Node) -> None:
        word = {"Normal": "case", "WildcardJustZ": "casez", "WildcardXOrZ": "casex", "Inside": "case inside"}[
            statement.condition.name
        ]
        is_wild = word != "case"
        self.expression(activity, statement.expr)
        self._compared(activity, statement.expr, f"the expression of a {word}", only_literals=not is_wild)
        for item in statement.items:
            for label in item.expressions:
                if not is_wild or label.kind.name not in LITERALS:
                    self.expression(activity, label)
                if not is_wild or label.kind.name not in LITERALS:
                    self._compared(activity, label, f"a label of a {word}", only_literals=not is_wild)
        self._all(activity, [*(item.stmt for item in statement.items), statement.defaultCase])

    def _ForLoop(self, activity: Activity, statement: Node) -> None:
        for variable in statement.loopVars:
            if variable.initializer is not None:
                self._initialised(activity, variable)
        for expression in statement.initializers:
            self.expression(activity, expression, acts=True)
        if statement.stopExpr is not None:
            self.expression(activity, statement.stopExpr)
        self.statement(activity, statement.body)
        for step in statement.steps:
            self.expression(activity, step, acts=True)

    def _ForeachLoop(self, activity: Activity, statement: Node) -> None:
        for dimension in statement.loopDims:
            if dimension.loopVar is not None:
                activity.blocking.add(Part(Symbol.of(dimension.loopVar)), statement.sourceRange.start)
        self.statement(activity, statement.body)

    def _RepeatLoop(self, activity: Activity, statement: Node) -> None:
        self.expression(activity, statement.count)
        self.statement(activity, statement.body)

    def _WhileLoop(self, activity: Activity, statement: Node) -> None:
        self.expression(activity, statement.cond)
        self.statement(activity, statement.body)

    def _DoWhileLoop(self, activity: Activity, statement: Node) -> None:
        self.statement(activity, statement.body)
        self.expression(activity, statement.cond)

    def _ForeverLoop(self, activity: Activity, statement: Node) -> None:
        self.statement(activity, statement.body)

    def _Return(self, activity: Activity, statement: Node) -> None:
        if statement.expr is not None:
            self.expression(activity, statement.expr, acts=True)

    def _ImmediateAssertion(self, activity: Activity, statement: Node) -> None:
        # left out of the design: what it looks at does not matter, what it does would
        self.expression(Activity("assertion", statement.sourceRange.start, activity.body), statement.cond)
        for action in (statement.ifTrue, statement.ifFalse):
            if action is not None and not only_says(action):
                self.objects(action.sourceRange.start, "an assertion does something")

    # Expressions.

    def expression(self, activity: Activity, expression: Node, acts: bool = False) -> None:
        """Read an expression, and do what it does: assignments, increments, calls of functions that write more than
        their value.

        Only one that ``acts``, a statement for example, may do something, and that as a whole: of a part nobody knows
        whether it is evaluated (``&&``, ``?:``) and in which order, and tools differ.
        """
        from pyslang import ast

        whole = value_of(expression) if acts else None
        if whole is not None and self._act(activity, whole):
            return

        def look(node: Node) -> object:
            kind = kind_of(node)
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
            if kind in LITERALS and has_z(node):
                self.objects(node.sourceRange.start, "there is a z, which is a level of its own in no circuit of gates")
            elif kind == "BinaryOp" and node.op.name in (
                "CaseEquality",
                "CaseInequality",
                "WildcardEquality",
                "WildcardInequality",
            ):
                self._compared(activity, node.left, KNOWS_X)
                if node.op.name.startswith("Case") or node.right.kind.name not in LITERALS:
                    self._compared(activity, node.right, KNOWS_X)
                elif node.op.name.startswith("Wildcard"):  # its z is a wildcard
                    node.left.visit(look)
                    return ast.VisitAction.Skip
            elif kind == "Inside":
                self._compared(activity, node.left, KNOWS_X)
                for part in (node.left, *(value for value in node.rangeList if value.kind.name not in LITERALS)):
                    part.visit(look)
                return ast.VisitAction.Skip
            elif kind == "Call":
                return self._call(activity, node)
            elif kind in FOREIGN:
                self.objects(node.sourceRange.start, f"there is an expression of another kind ({words(kind)})")
            return ast.VisitAction.Advance

        expression.visit(look)

    def _act(self, activity: Activity, node: Node) -> bool:
        """Do what an assignment, an increment or a call does; False for another expression."""
        kind = kind_of(node)
        if kind == "Assignment":
            self._assignment(activity, node)
        elif kind == "UnaryOp" and node.op.name in STEPS:
            self.expression(activity, node.operand)
            self.target(activity, node.operand, True)
        elif kind == "Call" and not node.isSystemCall:
            for argument in node.arguments:
                self.expression(activity, argument, acts=argument.kind.name == "Assignment")  # an output
            self._call(activity, node)
        else:
            return False
        return True

    def _does(self, call: Node, caller: Activity) -> bool:
        """Does a function write more than its value?"""
        if call.isSystemCall:
            return False
        if any(formal.direction.name != "In" for formal in call.subroutine.arguments):
            return True
        inner = self._function(call.subroutine, caller)
        return inner is not None and bool(inner.blocking.symbols or inner.nonblocking.symbols)

    def _assignment(self, activity: Activity, node: Node) -> None:
        if node.timingControl is not None and not (node.isNonBlocking and node.timingControl.kind.name == "Delay"):
            self.objects(node.sourceRange.start, "an assignment waits")
        if node.right.kind.name != "EmptyArgument":  # an output of a function, or of a gate
            self.expression(activity, node.right, acts=True)
        if node.isCompound:
            self.expression(activity, node.left)
        self._flow(activity, self.target(activity, node.left, not node.isNonBlocking), node.right)

    def _flow(self, activity: Activity, targets: list[Symbol], source: Node) -> None:
        names, is_unknown, called = contents(source)
        for function in called:
            inner = self._function(function, activity)
            if inner is not None:
                names |= inner.reads.symbols
                is_unknown = is_unknown or bool(inner.unknown)
        activity.flows |= {(target, name) for target in targets for name in names}
        if is_unknown:
            activity.unknown |= set(targets)

    def target(self, activity: Activity, target: Node, blocking: bool) -> list[Symbol]:
        """Write what an expression on the left side names, and read its indices."""
        kind = target.kind.name
        if (part := part_of(target)) is not None:
            self._look_across(activity, target)
            for index in indices_of(target):
                self.expression(activity, index)
            (activity.blocking if blocking else activity.nonblocking).add(part, target.sourceRange.start)
            return [part.symbol]
        if kind in ("Concatenation", "SimpleAssignmentPattern"):
            operands = target.operands if kind == "Concatenation" else target.elements
            return [symbol for operand in operands for symbol in self.target(activity, operand, blocking)]
        if kind == "Streaming":
            return [symbol for stream in target.streams for symbol in self.target(activity, stream.operand, blocking)]
        if kind in ("Conversion", "Assignment"):
            return self.target(activity, target.operand if kind == "Conversion" else target.left, blocking)
        if kind not in ("EmptyArgument", "Invalid"):
            self.objects(
                target.sourceRange.start, f"something is assigned to an expression of another kind ({words(kind)})"
            )
        return []

    def _read(self, activity: Activity, node: Node) -> bool:
        """Read a name with its indices; False for a selection from something that is no name."""
        part = part_of(node)
        if part is None:
            return False
        for index in indices_of(node):
            self.expression(activity, index)
        root = root_of(node)
        if root.symbol.kind.name not in CONSTANTS:
            self._look_across(activity, node)
            activity.read(part, node.sourceRange.start)
        return True

    def _look_across(self, activity: Activity, node: Node) -> None:
        """Object to a name of another module, unless that is an interface, and to a variable that belongs to none."""
        root = root_of(node)
        scope = instance_of(root.symbol)
        if scope is None and root.symbol.kind.name == "Variable" and not root.symbol.parentScope.isProceduralContext:
            self.objects(node.sourceRange.start, f"{root.symbol.name} is a variable of no module")
        if (
            root.kind.name == "HierarchicalValue"
            and scope is not None
            and scope.definition.definitionKind.name != "Interface"
            and scope.hierarchicalPath != activity.body
        ):
            self.objects(node.sourceRange.start, f"{str(root.syntax).strip()} is a name of another module")

    def _compared(self, activity: Activity, node: Node, what: str, only_literals: bool = False) -> None:
        names, is_unknown, _ = contents(node)
        # without wildcards only a literal matters: of 0 and 1 one is always met
        activity.comparisons.append(
            Comparison(node.sourceRange.start, what, frozenset() if only_literals else frozenset(names), is_unknown)
        )

    def _call(self, activity: Activity, call: Node) -> Node:
        from pyslang import ast

        if call.isSystemCall:
            name = call.subroutineName
            if name in READ_FILES:
                self.target(activity, call.arguments[1], True)
                return ast.VisitAction.Skip
            if name not in VALUES:
                self.objects(call.sourceRange.start, f"there is a call of {name}")
            return ast.VisitAction.Advance
        place, inner = call.sourceRange.start, self._function(call.subroutine, activity)
        if inner is not None:
            is_task = call.subroutine.subroutineKind.name == "Task"
            for part, _ in inner.reads:
                if not activity.blocking.meets(part):
                    (activity.hidden_in_tasks if is_task else activity.hidden).add(part, place)
                activity.read(part, place)
            for written, own in ((inner.blocking, activity.blocking), (inner.nonblocking, activity.nonblocking)):
                for part, _ in written:
                    own.add(part, place)
        for formal, actual in zip(call.subroutine.arguments, call.arguments):
            self._flow(activity, [Symbol.of(formal)], actual)
        return ast.VisitAction.Advance

    def _function(self, subroutine: Node, caller: Activity) -> Activity | None:
        """What a function or task does outside of itself; None while it is being read, as one is that calls itself."""
        key = Symbol.of(subroutine)
        if key in self.functions:
            return self.functions[key]
        self.functions[key] = None
        if subroutine.flags & dpi_import():
            self.objects(subroutine.location, f"{subroutine.name} is a function of another language")
        inner = Activity("function", subroutine.location, body_of(subroutine) or caller.body)
        self.statement(inner, subroutine.body)
        given = {Symbol.of(formal) for formal in subroutine.arguments if formal.direction.name != "Out"}
        own = {Symbol.of(symbol) for symbol in [*subroutine.arguments, *locals_of(subroutine)]}
        if subroutine.returnValVar is not None:
            own.add(Symbol.of(subroutine.returnValVar))
        for part, place in inner.reads:
            if part.symbol in own - given and inner.blocking.meets(part):
                self.objects(place, f"{part.symbol.text} keeps its value from the call before")
        for parts in (inner.reads, inner.blocking, inner.nonblocking):
            for symbol in own:
                parts.remove(symbol)
        self.functions[key] = inner
        return inner
