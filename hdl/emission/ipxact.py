"""IP-XACT: the component description of IEEE 1685-2014, from which tools build systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, register_namespace, tostring

from ...spec import Port, Role
from ..config.hardware import HardwareConfig
from ..registers.table import ADDRESS_BITS, WIDTH, Access, Register
from .around import NOTHING, Around
from .emit import pin_words
from .package import LIBRARY, About

SPACE = "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"
SCHEMA = f"{SPACE} {SPACE}/index.xsd"
STREAM = {"vendor": "amba.com", "library": "AMBA4", "name": "AXI4Stream", "version": "r0p0_1"}
"""The bus definition of AXI4-Stream that Arm publishes. Valid and ready follow its rules."""
LITE = {"vendor": "amba.com", "library": "AMBA4", "name": "AXI4-Lite", "version": "r0p0_0"}
"""The bus definition of AXI4-Lite that Arm publishes."""
MEMORY_MAP = "registers"
ACCESS = {
    Access.CONSTANT: "read-only",
    Access.STATE: "read-only",
    Access.SETTING: "read-write",
    Access.PULSE: "write-only",
}
"""The access of software to a field in the words of IP-XACT."""
ABSTRACTION = STREAM | {"name": "AXI4Stream_rtl"}
SIDE = (
    Role.FIRST,
    Role.MODE,
    Role.RANDOM,
    Role.SCALE_CONSTANT,
    Role.ELEMENT_CONSTANT,
    Role.TENSOR_AMAX,
    Role.TENSOR_SCALE,
)
"""Data next to a block, which AXI4-Stream calls TUSER."""

register_namespace("ipxact", SPACE)
register_namespace("xsi", "http://www.w3.org/2001/XMLSchema-instance")


def component(
    about: About, config: HardwareConfig, files: Sequence[str], bench: str | None, around: Around = NOTHING
) -> str:
    """The text of ``component.xml``: ports, streams, parameters and file sets of a design.

    ``about`` is the JSON of `emit.describe`. Paths of ``files`` for synthesis, and of an optional ``bench``, are
    relative to the description. It is about the outermost of the modules ``around`` the converter, and has the memory
    map of registers.
    """
    name, pins, registers = around.top(about["name"]), around.pins(config), around.register_map(config)
    root = Element(_tag("component"), {"{http://www.w3.org/2001/XMLSchema-instance}schemaLocation": SCHEMA})
    vendor, _, library = LIBRARY.partition(":")
    version = f"{about['generator']['mxcast']}.{int(about['config_id'], 16)}"
    _texts(root, {"vendor": vendor, "library": library, "name": name, "version": version})
    interfaces = _streams(config, pins)
    if registers:
        interfaces.append(_named_bus(pins, "s_axil", LITE))
        _add(interfaces[-1][-1], "memoryMapRef", memoryMapRef=MEMORY_MAP)
    if interfaces:
        _add(root, "busInterfaces").extend(interfaces)
    if registers:
        root.append(_memory_maps(registers))
    modules = {"rtl": name} | ({} if bench is None else {"tb": f"{about['name']}_tb"})
    root.append(_model(modules, pins, pin_words(config) | around.pin_words()))
    sets = _add(root, "fileSets")
    sets.append(_file_set("rtl", files))
    if bench is not None:
        sets.append(_file_set("tb", [bench]))
    _texts(root, {"description": f"{config.title} ({about['config_id']})"})
    known = {"config_id": about["config_id"], "profile": about["profile"] or "none", "latency": config.latency}
    if config.latency:
        known["initiation_interval"] = about["initiation_interval"]
    parameters = _add(root, "parameters")
    for key, value in known.items():
        kind = "int" if isinstance(value, int) else "string"
        one = _add(parameters, "parameter", parameterId=key, type=kind, resolve="immediate")
        _texts(one, {"name": key, "value": str(value) if kind == "int" else f'"{value}"'})
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _model(modules: Mapping[str, str], pins: Sequence[Port], words: Mapping[str, str]) -> Element:
    """The views with their modules, and the ports with their descriptions."""
    model = Element(_tag("model"))
    views, instantiations = _add(model, "views"), _add(model, "instantiations")
    for one, module in modules.items():
        _texts(_add(views, "view"), {"name": one, "componentInstantiationRef": one})
        instantiation = _add(instantiations, "componentInstantiation")
        _texts(instantiation, {"name": one, "language": "verilog", "moduleName": module})
        for needed in dict.fromkeys(("rtl", one)):
            _texts(_add(instantiation, "fileSetRef"), {"localName": needed})
    ports = _add(model, "ports")
    for pin in pins:
        port = _add(ports, "port")
        _texts(port, {"name": pin.name, "description": words[pin.name]})
        wire = _add(port, "wire")
        _texts(wire, {"direction": {"input": "in", "output": "out"}[pin.direction]})
        if pin.width > 1:
            vector = _add(_add(wire, "vectors"), "vector")
            _texts(vector, {"left": str(pin.width - 1), "right": "0"})
    return model


def _memory_maps(registers: Sequence[Register]) -> Element:
    maps = Element(_tag("memoryMaps"))
    memory_map = _add(maps, "memoryMap")
    _texts(memory_map, {"name": MEMORY_MAP})
    block = _add(memory_map, "addressBlock")
    _texts(block, {"name": "registers", "baseAddress": "0", "range": str(1 << ADDRESS_BITS), "width": str(WIDTH)})
    for register in registers:
        found = _add(block, "register")
        _texts(found, {"name": register.name, "addressOffset": str(register.address), "size": str(WIDTH)})
        for field in register.fields:
            one = _add(found, "field")
            _texts(one, {"name": field.name, "description": field.words, "bitOffset": str(field.low)})
            _texts(_add(_add(one, "resets"), "reset"), {"value": str(field.value)})
            _texts(one, {"bitWidth": str(field.width), "access": ACCESS[field.access]})
    return maps


def _streams(config: HardwareConfig, pins: Sequence[Port]) -> list[Element]:
    if config.has_axis:
        return [_named_bus(pins, name, STREAM) for name in config.streams]
    return [found for side in ("input", "output") if (found := _stream(config, side)) is not None]


def _named_bus(pins: Sequence[Port], bus: str, definition: Mapping[str, str]) -> Element:
    """A bus interface whose pins have its name and then a signal of the bus."""
    interface = Element(_tag("busInterface"))
    _texts(interface, {"name": bus})
    _add(interface, "busType", **definition)
    kind = _add(_add(interface, "abstractionTypes"), "abstractionType")
    _add(kind, "abstractionRef", **{**definition, "name": f"{definition['name']}_rtl"})
    maps = _add(kind, "portMaps")
    for pin in pins:
        before, _, signal = pin.name.rpartition("_")
        if before == bus:
            one = _add(maps, "portMap")
            _texts(_add(one, "logicalPort"), {"name": signal.upper()})
            _texts(_add(one, "physicalPort"), {"name": pin.name})
    _add(interface, "slave" if bus.startswith("s_") else "master")
    return interface


def _stream(config: HardwareConfig, side: str) -> Element | None:
    """The stream of one side, or None for a design without registers and for data that are not whole bytes.

    TDATA consists of the data ports in their order, the first in the low bits, except ports of `SIDE`: they are TUSER.
    """
    pins = [pin for pin in config.pins if (pin.role.is_data or pin.role is Role.FIRST) and pin.direction == side]
    payload = {
        "TDATA": [pin for pin in pins if pin.role not in SIDE],
        "TUSER": [pin for pin in pins if pin.role in SIDE],
    }
    if not config.latency or sum(pin.width for pin in payload["TDATA"]) % 8:
        return None
    back = {"input": "output", "output": "input"}[side]
    handshake = {"TVALID": (Role.VALID, side), "TREADY": (Role.READY, back), "TLAST": (Role.LAST, side)}
    names = {(pin.role, pin.direction): pin.name for pin in config.pins}
    interface = Element(_tag("busInterface"))
    _texts(interface, {"name": "blocks_in" if side == "input" else "blocks_out"})
    _add(interface, "busType", **STREAM)
    kind = _add(_add(interface, "abstractionTypes"), "abstractionType")
    _add(kind, "abstractionRef", **ABSTRACTION)
    maps = _add(kind, "portMaps")
    for logical, key in handshake.items():
        if key not in names:
            continue
        _texts(_add(_add(maps, "portMap"), "logicalPort"), {"name": logical})
        _texts(_add(maps[-1], "physicalPort"), {"name": names[key]})
    for logical, joined in payload.items():
        low = 0
        for pin in joined:
            maps.append(_part(logical, low, pin))
            low += pin.width
    _add(interface, "slave" if side == "input" else "master")
    return interface


def _part(logical: str, low: int, pin: Port) -> Element:
    """The map of bits of a logical port, from ``low`` on, to all bits of a pin."""
    one = Element(_tag("portMap"))
    port = _add(one, "logicalPort")
    _texts(port, {"name": logical})
    _texts(_add(port, "range"), {"left": str(low + pin.width - 1), "right": str(low)})
    _texts(_add(one, "physicalPort"), {"name": pin.name})
    return one


def _file_set(name: str, files: Sequence[str]) -> Element:
    found = Element(_tag("fileSet"))
    _texts(found, {"name": name})
    for file in files:
        _texts(_add(found, "file"), {"name": file, "fileType": "verilogSource"})
    return found


def _tag(name: str) -> str:
    return f"{{{SPACE}}}{name}"


def _add(parent: Element, tag: str, **attributes: str) -> Element:
    return SubElement(parent, _tag(tag), attributes)


def _texts(parent: Element, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        SubElement(parent, _tag(name)).text = text
