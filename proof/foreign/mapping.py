"""A map from the ports of a converter of others to ours: a small language of patterns.

    x=in_{i}                 a port for each element; also {i:02}, {31-i}, {2*i+1}
    x=s_{i}:e_{i}:m_{i}      several ports, the high part first
    x=data                   a vector, element 0 in the low bits; or an unpacked array, element 0 at its lowest index
    x=data[{i}]              the elements of an unpacked array, which are ports of their own here
    x=data@msb               ... in the high bits
    p=out_{i}[3:0]           a slice, its high end first; out[{4*i+3}:{4*i}] too
    en=1                     a constant for an input that is not one of ours
    k=gain                   a constant of the tensor; of k and d one may be left out, if the design makes it itself
    clk=clock, rst=rst_n@low, latency=3, interval=1
    i_valid=in_valid         the handshake of a design with lanes; and s_axis_tdata=in_data with AXI4-Stream

Braces contain arithmetic with ``i``, the element, and ``n``, the number of elements.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...hdl import configuration
from ...spec import BlockOperation, Role, decoding, numerics, nvfp4_decoding, nvfp4_encoding
from ...spec import Port as OurPort
from ...spec.catalogue import excerpt, unknown_name

QUANTITIES = tuple(
    dict.fromkeys(
        port.name
        for rules in (
            numerics("e2m1", rounding="sr"),
            decoding("e2m1", rounding="sr"),
            nvfp4_encoding("nvfp4", "nvfp4_te_4over6"),
            nvfp4_decoding("nvfp4"),
        )
        for port in rules.ports
    )
)
"""The data ports of all operations."""

OF_BEATS = tuple(
    dict.fromkeys(
        pin.name
        for op in ("encode", "decode")
        for interface in ("stream", "axis")
        for pin in configuration(op, "e2m1", lanes=4, interface=interface).pins
        if pin.name not in QUANTITIES and pin.role not in (Role.CLOCK, Role.RESET)
    )
)
"""The other ports of designs with lanes."""

COUNTED = ("o_first", "o_last")
"""The place of a beat in its block, which the wrapper of a design without these ports counts."""

CONSTANTS = (Role.SCALE_CONSTANT, Role.ELEMENT_CONSTANT)
"""The constants of a tensor: a design may compute one from the other, without a port for it."""

SIGNALS = ("clk", "rst")
NUMBERS = ("latency", "interval")

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
}

Bit = tuple[str, int]
"""A bit of a signal: its name and its place from the lowest, 0. The signals ``0`` and ``1`` are constants."""


@dataclass(frozen=True)
class Port:
    """A port of a design. Its indices start at ``offset``, which is the low end, or with ``upto`` the high end."""

    name: str
    direction: str
    width: int
    offset: int = 0
    upto: bool = False

    def place(self, index: int) -> int:
        """The place of the bit ``index`` from the low end."""
        place = index - self.offset
        return self.width - 1 - place if self.upto else place


@dataclass(frozen=True, kw_only=True)
class PortMap:
    """A map: patterns for our quantities, the clock and reset ports, and constants for other inputs."""

    patterns: dict[str, str] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)
    clk: str | None = None
    rst: str | None = None
    latency: int = 0
    """Rising edges of the clock from a block to its result."""
    interval: int = 1
    """Rising edges from a block to the next; a block is held in between."""

    @classmethod
    def of(cls, entries: Mapping[str, object]) -> PortMap:
        """The map with these entries, whose values are text or whole numbers. Raises ValueError and TypeError.

        >>> PortMap.of({"x": "in_{i}", "en": "1", "latency": 2, "clk": "c"}).constants
        {'en': 1}
        """
        patterns: dict[str, str] = {}
        constants: dict[str, int] = {}
        signals: dict[str, str] = {}
        numbers: dict[str, int] = {}
        for key, value in entries.items():
            if not isinstance(value, (str, int)) or isinstance(value, bool):
                raise TypeError(f"the map takes text and whole numbers, not {key} = {excerpt(value)}")
            if key in QUANTITIES or key in OF_BEATS:
                patterns[key] = str(value)
            elif key in SIGNALS:
                signals[key] = str(value)
            elif key in NUMBERS:
                numbers[key] = _number(key, value)
            else:
                constants[key] = _number(key, value)
        chosen = cls(
            patterns=patterns,
            constants=constants,
            clk=signals.get("clk"),
            rst=signals.get("rst"),
            latency=numbers.get("latency", 0),
            interval=numbers.get("interval", 1),
        )
        if chosen.latency < 0 or chosen.interval < 1:
            raise ValueError(
                f"latency must be 0 or more and interval 1 or more, not {chosen.latency} and {chosen.interval}"
            )
        if chosen.latency and chosen.clk is None:
            raise ValueError("a latency needs a clock: map clk=PORT")
        return chosen

    def to_dict(self) -> dict[str, object]:
        signals = {key: value for key in SIGNALS if (value := getattr(self, key)) is not None}
        return {
            **self.patterns,
            **self.constants,
            **signals,
            **({key: getattr(self, key) for key in NUMBERS} if self.clk else {}),
        }


def _number(key: str, value: str | int) -> int:
    try:
        return int(value) if isinstance(value, int) else int(value, 0)
    except ValueError:
        ports = ", ".join([*QUANTITIES, *SIGNALS])
        raise ValueError(f"{key} takes a whole number, not {excerpt(value)}: ports are mapped to {ports}") from None


@dataclass(frozen=True, kw_only=True)
class Connections:
    """The drivers of each input of a design, and the sources of our outputs; bits from the lowest up."""

    inputs: dict[str, list[Bit]]
    outputs: dict[str, list[Bit]]


def connections(
    asked: PortMap,
    ports: Mapping[str, Port],
    top: str,
    operation: BlockOperation,
    pins: Sequence[OurPort] | None = None,
) -> Connections:
    """Resolve a map for the ports of the module ``top``, to the ports of the operation, or to ``pins``. A quantity
    without an entry is the port of its own name.

    Raises ValueError, one sentence, for unknown ports, wrong widths, and inputs with no or two drivers.
    """
    ours = {port.name: port for port in (operation.ports if pins is None else pins)}
    driven: dict[str, list[Bit | None]] = {
        port.name: [None] * port.width for port in ports.values() if port.direction == "input"
    }
    outputs: dict[str, list[Bit]] = {}

    def drive(port: str, place: int, bit: Bit) -> None:
        if driven[port][place] is not None:
            raise ValueError(f"bit {place} of the input {port} of {top} is mapped twice")
        driven[port][place] = bit

    patterns, constants = dict(asked.patterns), dict(asked.constants)
    for quantity, given in asked.patterns.items():
        if (
            quantity not in ours and quantity in driven and given.isdecimal()
        ):  # a constant input whose name is a quantity of another operation
            constants[quantity] = int(patterns.pop(quantity))
        elif quantity not in ours:
            why = f"the rounding {operation.rounding} takes no random bits"
            if quantity != "random":
                why = f"{operation.name} has the ports {', '.join(ours)}"
            raise ValueError(f"{quantity} is mapped, but {why}")
    for quantity, port in ours.items():
        direction = port.direction
        pattern = patterns.get(quantity) or (quantity if quantity in ports else None)
        if pattern is None and (port.role in CONSTANTS or quantity in COUNTED):
            continue
        if pattern is None:
            raise ValueError(
                f"the map has no entry for {quantity}, and {top} has no port of that name: "
                f"map {quantity}=PATTERN; its {direction}s are {_listed(ports, direction)}"
            )
        found = _bits(port, pattern, ports, top)
        if direction == "output":
            outputs[quantity] = found
        for place, (name, at) in enumerate(found if direction == "input" else []):
            drive(name, at, (quantity, place))
    for signal in SIGNALS:
        if (name := getattr(asked, signal)) is not None:
            name, _, level = name.partition("@")
            if _port(name, ports, top, "input", signal).width != 1 or level not in ("", "low", "high"):
                raise ValueError(f"{signal} takes a port of one bit, NAME or NAME@low, not {getattr(asked, signal)!r}")
            drive(name, 0, (f"~{signal}" if level == "low" else signal, 0))
    for key, value in constants.items():
        for name in dict.fromkeys(_expanded(key, i, operation.block_size) for i in range(operation.block_size)):
            width = _port(name, ports, top, "input", f"the constant {value}").width
            if not 0 <= value < 1 << width:
                raise ValueError(f"{value} does not fit the {width} bit{'s' * (width > 1)} of {name}")
            for place in range(width):
                drive(name, place, (str(value >> place & 1), 0))
    for name, bits in driven.items():
        if missing := [place for place, bit in enumerate(bits) if bit is None]:
            what = f"the input {name}" if len(missing) == len(bits) else f"bit {missing[0]} of the input {name}"
            raise ValueError(
                f"nothing drives {what} of {top}: map it, make it a constant ({name}=0), the clock (clk={name}) or the "
                f"reset (rst={name})"
            )
    inputs = {name: [bit for bit in bits if bit is not None] for name, bits in driven.items()}
    return Connections(inputs=inputs, outputs=outputs)


def _listed(ports: Mapping[str, Port], direction: str) -> str:
    names = [port.name for port in ports.values() if port.direction == direction]
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "") if names else "none"


def _port(name: str, ports: Mapping[str, Port], top: str, direction: str, quantity: str) -> Port:
    if name not in ports:
        raise ValueError(unknown_name(f"port of {top}", name, ports))
    if ports[name].direction != direction:
        raise ValueError(f"{quantity} needs an {direction}, and {name} of {top} is an {ports[name].direction}")
    return ports[name]


def _bits(ours: OurPort, pattern: str, ports: Mapping[str, Port], top: str) -> list[Bit]:
    """The bits of all elements, the lowest of element 0 first."""
    quantity, count, width = ours.name, ours.lanes, ours.bits
    text, _, order = pattern.partition("@")
    if order not in ("", "msb", "lsb"):
        raise ValueError(f"{quantity}={pattern} must end with @msb, @lsb or nothing, not @{order}")
    parts = re.findall(r"(?:\[[^\]]*\]|\{[^}]*\}|[^:])+", text)
    if not parts:
        raise ValueError(f"{quantity} is mapped to nothing")

    def element(i: int) -> list[Bit]:
        return [
            bit
            for part in reversed(parts)
            for bit in _part(quantity, _expanded(part, i, count), ports, top, ours.direction)
        ]

    if "{" in text:
        elements = [element(i) for i in range(count)]
        for i, bits in enumerate(elements):
            if len(bits) != width:
                raise ValueError(f"{quantity}={pattern} gives element {i} {len(bits)} bits, not {width}")
    else:
        bits = element(0)
        if len(bits) != count * width:
            raise ValueError(
                f"{quantity}={pattern} has {len(bits)} bits, not " + (f"{count} x {width}" if count > 1 else str(width))
            )
        elements = [bits[width * i : width * (i + 1)] for i in range(count)]
    return [bit for bits in (reversed(elements) if order == "msb" else elements) for bit in bits]


def _part(quantity: str, text: str, ports: Mapping[str, Port], top: str, direction: str) -> list[Bit]:
    """The bits of a port or of a slice of it, the lowest first."""
    if text not in ports and (elements := [name for name in ports if name.startswith(f"{text}[")]):
        return [bit for name in elements for bit in _part(quantity, name, ports, top, direction)]
    sliced = None if text in ports else re.fullmatch(r"(.+)\[\s*(\d{1,999})\s*(?::\s*(\d{1,999})\s*)?\]", text)
    port = _port(sliced[1] if sliced else text, ports, top, direction, quantity)
    if not sliced:
        return [(port.name, place) for place in range(port.width)]
    high = int(sliced[2])
    low = high if sliced[3] is None else int(sliced[3])
    if not all(0 <= port.place(index) < port.width for index in (low, high)):
        raise ValueError(
            f"{text} is not within {port.name} of {top}, which has {port.width} bits from index {port.offset}"
        )
    places = [port.place(index) for index in range(low, high + (1 if high >= low else -1), 1 if high >= low else -1)]
    return [(port.name, place) for place in places]


def _expanded(text: str, i: int, n: int) -> str:
    """The text with the values of the expressions in braces.

    >>> _expanded("d[{32*i+31}:{32*i}]_{n-1-i:02}", 1, 8)
    'd[63:32]_06'
    """

    def value(found: re.Match) -> str:
        try:
            number = _evaluated(ast.parse(found[1].strip(), mode="eval").body, {"i": i, "n": n})
            if not re.fullmatch(r"(0?\d\d?)?[dxXb]?", found[2].strip(), re.ASCII):
                raise ValueError
            return format(number, found[2].strip())
        except (SyntaxError, KeyError, ZeroDivisionError, ValueError, MemoryError, RecursionError):
            raise ValueError(f"braces must contain whole-number arithmetic with i and n, not {found[0]}") from None

    return re.sub(r"\{([^{}:]*):?([^{}]*)\}", value, text)


def _evaluated(node: ast.expr, names: dict[str, int]) -> int:
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](_evaluated(node.left, names), _evaluated(node.right, names))
    raise ValueError


def entries(texts: Iterable[str], option: str = "--map") -> dict[str, str]:
    """Keys and values of texts KEY=VALUE, in which each key may occur once.

    >>> entries(["x=in_{i}", "en=1"])
    {'x': 'in_{i}', 'en': '1'}
    """
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key or not value:
            raise ValueError(f"{option} takes KEY=VALUE, not {excerpt(text)}")
        if key in found:
            raise ValueError(f"{option} gives {key} twice: {found[key]} and {value}")
        found[key] = value
    return found
