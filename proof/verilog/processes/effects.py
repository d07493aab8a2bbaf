"""Effects of the expressions of an elaborated design: the names that they read and write, in the order of execution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator

from ..slang import Node
from ..system_tasks import READ_FILES, VALUES
from .activity import ANYTHING, Activity, Comparison, Sources
from .constants import Constants
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
    is_word,
    keeps_its_type,
    kind_of,
    locals_of,
    may_miss,
    part_of,
    root_of,
    selects_of,
    turns_around,
    value_of,
    whole,
    words,
)
from .parts import Symbol

KNOWS_X = "a comparison that tells x from 0 and 1"
INDEX = "an index of what is written"
WITHOUT_X = "a conversion to a type without x"
COUNTS = ("$countones", "$onehot", "$onehot0")
"""System functions that count ones, but not x."""


class Effects(ABC):
    """Reads expressions of the design ``top``; reports constructs that are not allowed to ``objects``."""

    def __init__(self, top: Node, objects: Callable[..., None]) -> None:
        self.objects = objects
        self.constants = Constants(top)
        self.functions: dict[Symbol, Activity | None] = {}
        self.calls: dict[Symbol, frozenset[Symbol]] = {}
        self._turns = 0

    @abstractmethod
    def statement(self, activity: Activity, statement: Node) -> None:
        """Read a statement of a function."""

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
                self.compared(activity, index, INDEX, is_address=is_word(leaf))
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

    def compared(
        self, activity: Activity, node: Node, what: str, only_literals: bool = False, is_address: bool = False
    ) -> None:
        sources = self.sources(activity, node)
        # without wildcards only literals matter: 0 or 1 always matches
        names = frozenset() if only_literals else sources.names
        activity.comparisons.append(
            Comparison(node.sourceRange.start, what, names, sources.may_be_x, is_address=is_address)
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

    def _is_pattern(self, label: Node) -> bool:
        """Is a label a constant with x and z as wildcards?"""
        if _is_range(label):
            return self._is_pattern(label.left) and self._is_pattern(label.right)
        return label.kind.name in LITERALS or self.constants.value(label) is not None


def _is_range(value: Node) -> bool:
    return value.kind.name == "ValueRange"


def _keeps(subroutine: Node) -> bool:
    """Does a function or task have a variable that all of its calls share?"""
    variables = [*subroutine.arguments, *locals_of(subroutine), *filter(None, [subroutine.returnValVar])]
    return any(variable.lifetime.name == "Static" for variable in variables)
