"""Constructs that must not be in a text that is proved: tools read them differently, or a simulator that follows the
standard differs from hardware.

Each is an `Objection` with its place. Allowed constructs are listed, and everything else is an objection, so that
nothing passes because nobody thought of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from .early_names import early_names
from .elaboration import Elaboration
from .processes.activity import CONSTANT, Activity, Sources
from .processes.edges import doubtful_edges
from .processes.expressions import (
    body_of,
    depends_on_width,
    has_two_states,
    is_bits,
    is_of_reals,
    kind_of,
    targets_of,
    whole,
    words,
)
from .processes.parts import Part, Symbol
from .processes.start import not_started
from .processes.statements import Reader
from .readers import FAULTS, READ_VERILOG, SLANG, reliance
from .slang import Node
from .syntax import called_names, forbidden

GATES = ("and", "nand", "or", "nor", "xor", "xnor", "buf", "not")
NETS = ("Wire", "Tri", "UWire")


@dataclass(frozen=True)
class Objection:
    """A reason why a text cannot be proved, with its place."""

    place: str
    reason: str
    of_tools: bool = False
    """Whether tools read such a text differently, so that a difference in simulation may be a fault of the tool."""
    index: str = ""
    """The name in the address at which a memory is written, if that may be x until a reset gives it a value."""

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


def objections(design: Elaboration) -> list[Objection]:
    """The objections to a design, in the order of the text, each once for all instances."""
    found = _Gate(design).found
    return sorted(
        dict.fromkeys(found),
        key=lambda objection: (objection.place.rpartition(":")[0], int(objection.place.rpartition(":")[2])),
    )


def of_readers(found: Sequence[Objection], unread: Mapping[str, str], design: Elaboration) -> list[Objection]:
    """The objection to a design that only read_verilog could read, unless an objection in ``found`` explains why slang
    failed by itself.
    """
    if found and any(words in unread.get(SLANG, "") for words in FAULTS):
        return []
    reason = reliance(unread, design)
    return [Objection(design.place(design.top.location), reason)] if reason else []


def unreadable(found: Sequence[Objection], unread: Mapping[str, str]) -> str:
    """Why no reader can read a text: the message of a reader, or the first objection if a reader failed by itself."""
    said = unread.get(SLANG) or unread[READ_VERILOG]
    return str(found[0]) if found and any(words in said for words in (*FAULTS, "unimplemented")) else said


@dataclass
class _Gate:
    design: Elaboration
    found: list[Objection] = field(default_factory=list)
    activities: list[Activity] = field(default_factory=list)
    initial_blocks: list[Activity] = field(default_factory=list)
    valued: set[Symbol] = field(default_factory=set)
    """Variables with an initial value."""
    unvalued: list[Part] = field(default_factory=list)
    """The whole of each other variable and net."""
    delayed: set[Symbol] = field(default_factory=set)
    """Nets and variables that a delay precedes."""
    subroutines: list[Node] = field(default_factory=list)
    notifiers: list[tuple[Symbol, Node]] = field(default_factory=list)
    """Variables and nets that timing checks write, with the places."""
    modules: set[str] = field(default_factory=set)
    """Names of the definitions of the top and below."""

    def __post_init__(self) -> None:
        self.reader = Reader(self.design.top, self.object)
        self.design.top.visit(self._look)
        self._functions()
        for activity in self.activities:
            self._judge(activity)
        for activity in not_started(self.activities, self._inputs, self.valued):
            self.object(
                activity.location,
                "no change is sure to start the block: its inputs are constant, or have initial values",
            )
        for activity, reason in doubtful_edges(self.activities, self._inputs, self._outputs, self.delayed):
            self.object(activity.location, reason)
        self._races()
        self._notified()
        self._initial_races()
        self._written_twice()
        self._early_names()
        for location, reason, of_tools in forbidden(self.design):
            self.object(location, reason, of_tools)
        self._unknown_selectors()

    def object(self, location: Node, reason: str, of_tools: bool = False, index: str = "") -> None:
        self.found.append(Objection(self.design.place(location), reason, of_tools, index))

    def _look(self, symbol: Node) -> Node:
        """Check a symbol below the top; symbols in statements and expressions are read with these."""
        from pyslang import ast

        if isinstance(symbol, ast.Expression | ast.Statement):
            return ast.VisitAction.Skip
        if symbol.name.startswith("$"):
            self.object(symbol.location, f"the name {symbol.name} could be taken for a cell of a tool")
        kind = symbol.kind.name
        if kind == "GenerateBlock":
            for expression in filter(None, [symbol.conditionExpression, *symbol.caseItemExpressions]):
                self._constant(expression)
                if self.reader.constants.has_unknown(expression):
                    self.object(
                        expression.sourceRange.start,
                        "there is x or z in the condition of a generate block",
                        of_tools=True,
                    )
            if symbol.isUninstantiated:
                return ast.VisitAction.Skip
        if check := _CHECKS.get(kind):
            try:
                check(self, symbol)
            except RecursionError:
                self.object(symbol.location, f"the {words(kind)} is nested too deeply to be read")
        elif kind == "Subroutine":
            self.subroutines.append(symbol)
        elif kind not in _HARMLESS:
            self.object(symbol.location, f"there is a {words(kind)}, which is not supported")
        inside = kind in ("Instance", "InstanceArray", "InstanceBody", "GenerateBlock", "GenerateBlockArray", "Root")
        return ast.VisitAction.Advance if inside else ast.VisitAction.Skip

    # Checks of each kind of symbol.

    def _instance(self, instance: Node) -> None:
        definition = instance.definition
        self.modules.add(definition.name)
        if definition.definitionKind.name not in ("Module", "Interface"):
            self.object(instance.location, f"{instance.name} is a {definition.definitionKind.name.lower()}")
        if definition.name.startswith("$"):
            self.object(instance.location, f"the name {definition.name} could be taken for a cell of a tool")
        for connection in instance.portConnections:
            inner, outer = getattr(connection.port, "internalSymbol", None), connection.expression
            if getattr(connection.port, "internalExpr", None) is not None:
                self.object(instance.location, f"a port of {definition.name} is an expression, not a name")
            if inner is None or outer is None:
                continue
            if (direction := connection.port.direction.name) not in ("In", "Out"):
                self.object(
                    instance.location, f"the port {connection.port.name} below the top is {_DIRECTION[direction]}"
                )
            activity = Activity("connection", instance.location, body_of(instance))
            if connection.port.direction.name == "In":
                self.reader.expression(activity, outer)
                activity.write(whole(inner), instance.location, self.reader.sources(activity, outer))
            else:
                activity.read(whole(inner), instance.location)
                self.reader.given(activity, outer.left if outer.kind.name == "Assignment" else outer, inner)
            self.activities.append(activity)

    def _primitive(self, gate: Node) -> None:
        if gate.primitiveType.name not in GATES:
            self.object(gate.location, f"there is a primitive {gate.primitiveType.name}")
            return
        activity = Activity("continuous", gate.location, body_of(gate))
        outputs = [connection.left for connection in gate.portConnections if connection.kind.name == "Assignment"]
        inputs = [connection for connection in gate.portConnections if connection.kind.name != "Assignment"]
        sources = CONSTANT
        for connection in inputs:
            self.reader.expression(activity, connection)
            sources |= self.reader.sources(activity, connection)
        for output in outputs:
            self.reader.target(activity, output, True, sources)
        self._continuous(activity, gate)

    def _assign(self, assign: Node) -> None:
        activity = Activity("continuous", assign.location, body_of(assign))
        self.reader.expression(activity, assign.assignment, acts=True)
        self._continuous(activity, assign)

    def _continuous(self, activity: Activity, symbol: Node) -> None:
        if symbol.delay is not None:
            self.delayed |= activity.blocking.symbols
        self.activities.append(activity)

    def _net(self, net: Node) -> None:
        if net.netType.netKind.name not in NETS:
            self.object(
                net.location,
                f"{net.name} is a net {net.netType.name}, which few tools read alike: make it a wire or a variable",
            )
        self.unvalued.append(whole(net))
        if net.delay is not None:
            self.delayed.add(Symbol.of(net))
        self._initialised(net, "continuous")

    def _constant(self, expression: Node) -> None:
        if part := depends_on_width(expression, self.reader.constants):
            self.object(
                part.sourceRange.start,
                "a constant has another value in more bits, or with another sign: tools differ",
                of_tools=True,
            )

    def _parameter(self, parameter: Node) -> None:
        if parameter.initializer is not None:
            self._constant(parameter.initializer)
        if (
            parameter.initializer is not None
            and is_bits(parameter.type)
            and not is_of_reals(parameter.initializer, self.reader.constants)
        ):
            activity = Activity("constant", parameter.location, body_of(parameter))
            self.reader.expression(activity, parameter.initializer)
            self.activities.append(activity)

    def _variable(self, variable: Node) -> None:
        if variable.initializer is not None or has_two_states(variable.type):
            self.valued.add(Symbol.of(variable))
        if variable.initializer is None and variable.type.isFourState:
            self.unvalued.append(whole(variable))
        self._initialised(variable, "initial")

    def _initialised(self, symbol: Node, kind: str) -> None:
        if not is_bits(symbol.type):
            self.object(symbol.location, f"{symbol.name} has the type {symbol.type}, which does not consist of bits")
        if symbol.initializer is not None:
            activity = Activity(kind, symbol.location, body_of(symbol))
            self.reader.copied(symbol.type, symbol.initializer)
            self.reader.expression(activity, symbol.initializer, acts=True)
            activity.write(whole(symbol), symbol.location, self.reader.sources(activity, symbol.initializer))
            self.activities.append(activity)

    def _process(self, block: Node) -> None:
        activity = self.reader.process(block)
        if activity.kind == "initial":
            for part, place in activity.blocking:
                if any(other.blocking.meets(part) for other in self.initial_blocks):
                    self.object(place, f"two initial blocks write {part.symbol.text}: their order is undefined")
            self.initial_blocks.append(activity)
        self.activities.append(activity)

    def _specify(self, block: Node) -> None:
        """Paths and limits of time do not matter, but a timing check can write a variable."""
        for check in (symbol for symbol in block if symbol.kind.name == "SystemTimingCheck"):
            for argument in check.arguments:
                if argument.expr is not None and kind_of(argument.expr) == "Assignment":
                    self.notifiers += [(symbol, check.location) for symbol in targets_of(argument.expr.left)]

    def _notified(self) -> None:
        read = self._outputs.union(*(activity.reads.symbols for activity in self.activities))
        for symbol, place in self.notifiers:
            if symbol in read:
                self.object(place, f"a timing check writes {symbol.text}, which the design reads")

    # Checks of processes.

    @property
    def _inputs(self) -> list[Symbol]:
        return [Symbol.of(port.internalSymbol) for port in self._ports if port.direction.name != "Out"]

    @property
    def _outputs(self) -> set[Symbol]:
        return {Symbol.of(port.internalSymbol) for port in self._ports if port.direction.name == "Out"}

    @property
    def _ports(self) -> list[Node]:
        ports = [port for port in self.design.top.body.portList if port.kind.name == "Port"]
        return [port for port in ports if port.internalSymbol]

    def _judge(self, activity: Activity) -> None:
        combinational = activity.kind in ("combinational", "listed")
        for part, place in activity.nonblocking:
            if combinational:
                self.object(place, f"a combinational block writes {part.symbol.text} with <=")
            elif activity.kind == "initial":
                self.object(place, f"an initial block writes {part.symbol.text} with <=")
            elif activity.blocking.meets(part):
                self.object(place, f"{part.symbol.text} is written with = and with <= in one block")
            if len(set().union(*(delays for other, delays in activity.delays.items() if other.meets(part)))) > 1:
                self.object(
                    place,
                    f"{part.symbol.text} is written with <= after several delays: the last write need not come last",
                )
        for part, place in activity.reads:
            if combinational and activity.blocking.meets(part):
                self.object(
                    place,
                    f"{part.symbol.text} is read before its block writes it, which does not start the block again",
                )
            elif activity.kind == "initial":
                self.object(place, f"an initial value depends on {part.symbol.text}")
            elif activity.kind == "listed" and part.symbol not in activity.listed:
                self.object(
                    place,
                    f"{part.symbol.text} is read, but the sensitivity list of its block does not contain all of it",
                )
        if activity.kind in ("continuous", "combinational", "listed", "connection"):
            unseen = {"task": activity.hidden_in_tasks, "function": () if activity.sees_functions else activity.hidden}
            for what, parts in unseen.items():
                for part, place in parts:
                    self.object(
                        place, f"a {what} reads {part.symbol.text}, which is not an argument: its changes start nothing"
                    )
        if activity.kind == "unknown":
            self.object(activity.location, "a block starts neither at an edge nor at a change of its inputs")

    def _races(self) -> None:
        """Object to races between a clocked block that writes with = and readers elsewhere."""
        for activity in self.activities:
            if activity.kind == "clocked":
                for part, place in activity.blocking:
                    if part.symbol in self._outputs:
                        self.object(
                            place,
                            f"a clocked block writes the output {part.symbol.text} with =: what readers at that edge "
                            "get is undefined",
                        )
                    if any(other is not activity and other.reads.meets(part) for other in self.activities):
                        self.object(
                            place,
                            f"a clocked block writes {part.symbol.text} with =, which is read elsewhere: the order is "
                            "undefined",
                        )

    def _initial_races(self) -> None:
        """Object to variables that an initial block and a block that waits for a change write: at the start either may
        come last. An ``always_comb`` block starts after all initial blocks."""
        for activity in self.activities:
            if activity.kind == "listed" or (activity.kind == "combinational" and not activity.sees_functions):
                for part, place in activity.blocking:
                    if any(initial.blocking.meets(part) for initial in self.initial_blocks):
                        self.object(
                            place, f"{part.symbol.text} is written by an initial block too: their order is undefined"
                        )

    def _written_twice(self) -> None:
        """Object to two processes that write one bit, in any order. Yosys notices this for vectors only."""
        seen: dict[Symbol, list[tuple[Activity, Part]]] = {}
        for activity in self.activities:
            if activity.kind in ("initial", "final"):
                continue
            for parts in (activity.blocking, activity.nonblocking):
                for part, place in parts:
                    others = seen.setdefault(part.symbol, [])
                    if any(other is not activity and before.meets(part) for other, before in others):
                        self.object(place, f"two processes write {part.symbol.text}")
                    others.append((activity, part))

    def _functions(self) -> None:
        """Check functions, also those that are called outside of processes, as in the bounds of a vector, where tools
        evaluate them. Every function with the name of a call counts.
        """
        called = called_names(self.design.compilation, self.modules)
        outside = [*self.design.compilation.getPackages(), *self.design.compilation.getRoot().compilationUnits]
        found = [symbol for scope in outside for symbol in scope if symbol.kind.name == "Subroutine"]
        for subroutine in [*self.subroutines, *found]:
            if subroutine.name in called:
                self.reader.function(subroutine)

    def _early_names(self) -> None:
        for tree in self.design.compilation.getSyntaxTrees():
            for name, location in early_names(tree.root):
                self.object(location, f"{name} is used before its declaration, and an outer scope declares it too")

    def _unknown_selectors(self) -> None:
        """Object to comparisons that distinguish x from 0 and 1, of values that may be x."""
        sources: dict[Symbol, Sources] = {}
        for activity in self._all:
            for symbol, some in activity.sources.items():
                sources[symbol] = sources.get(symbol, CONSTANT) | some
        names = frozenset().union(
            *(some.names for some in sources.values()),
            *(
                comparison.names | (comparison.others or frozenset())
                for activity in self._all
                for comparison in activity.comparisons
            ),
        )
        # nothing is known about names whose sources were not read
        unknown = names - sources.keys() - self.valued - set(self._inputs)
        unknown |= {symbol for symbol, some in sources.items() if some.may_be_x}
        unknown |= self._never_written.union(*(activity.held for activity in self._all))
        flows: dict[Symbol, set[Symbol]] = {}
        for symbol, some in sources.items():
            for source in some.names:
                flows.setdefault(source, set()).add(symbol)
        waiting = list(unknown)
        while waiting:
            more = flows.get(waiting.pop(), set()) - unknown
            unknown |= more
            waiting += more
        for activity in self._all:
            for comparison in activity.comparisons:
                if comparison.unknown:
                    self.object(comparison.location, f"there is x or z in {comparison.what}")
                elif comparison.others is not None and not comparison.others & unknown:
                    continue
                elif name := next((name for name in comparison.names if name in unknown), None):
                    index = name.text if comparison.is_address else ""
                    reason = f"{name.text}, which may be x, is in {comparison.what}"
                    self.object(comparison.location, reason, index=index)

    @property
    def _never_written(self) -> set[Symbol]:
        """Nets and variables with a bit that perhaps no process writes. Other processes may write it later, but an
        initial block must be certain to write it."""
        masks: dict[Symbol, int] = {}
        for activity in self.activities:
            for parts in (activity.blocking, activity.nonblocking):
                for part, _ in parts:
                    once = activity.kind == "initial"
                    mask = activity.assigned.mask(part.symbol) if once else part.mask
                    masks[part.symbol] = masks.get(part.symbol, 0) | mask
        inputs = set(self._inputs)
        return {
            part.symbol
            for part in self.unvalued
            if part.symbol not in inputs and part.mask & ~masks.get(part.symbol, 0)
        }

    @property
    def _all(self) -> list[Activity]:
        return [*self.activities, *filter(None, self.reader.functions.values())]


_DIRECTION = {"InOut": "an inout", "Ref": "a reference"}

_CHECKS: dict[str, Callable[[_Gate, Node], None]] = {
    "Instance": _Gate._instance,
    "PrimitiveInstance": _Gate._primitive,
    "ContinuousAssign": _Gate._assign,
    "Net": _Gate._net,
    "Parameter": _Gate._parameter,
    "Variable": _Gate._variable,
    "ProceduralBlock": _Gate._process,
    "SpecifyBlock": _Gate._specify,
}

_HARMLESS = frozenset(
    (
        "InstanceBody",
        "InstanceArray",
        "GenerateBlock",
        "GenerateBlockArray",
        "Root",  # descended into
        "StatementBlock",  # part of a process
        "Port",
        "InterfacePort",
        "MultiPort",
        "Modport",
        "ModportPort",
        "TypeParameter",
        "Genvar",
        "EnumValue",
        "TypeAlias",
        "TransparentMember",
        "ExplicitImport",
        "WildcardImport",
        "EmptyMember",
        "ForwardingTypedef",
        "Specparam",
        "Attribute",
        "ElabSystemTask",
        "DefParam",
        "Property",
        "Sequence",
        "Field",
        "EnumType",
        "PackedStructType",
        "PackedUnionType",
        "LetDecl",
        "UnpackedStructType",
    )
)
