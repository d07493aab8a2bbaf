"""The module around an encoder with AXI4-Stream that adds registers behind AXI4-Lite."""

from __future__ import annotations

from amaranth.hdl import Cat, ClockDomain, ClockSignal, Instance, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import Role
from ..lanes.keys import EncoderConfig
from .bus import RegisterBus
from .counters import Counters, codes_of, is_one_of
from .seeded import seeded_bits
from .table import AXIL_PINS, PREFIX, USER, WIDTH, constants_of, controlled_pins, has_counters, registers_of

INSIDE_BITS = 4
"""Bits of the number of packets inside. A packet waits while there are 15."""


class ControlledConverter(wiring.Component):
    """The pins of an encoder without ``s_axis_tuser``, and AXI4-Lite (``s_axil``). Inside is the module ``inner``.

    The mode, the constants of a tensor and the random bits, if the encoder has them, come from registers. Between two
    packets, a new mode waits until all packets have left, and new constants or a new seed one cycle. Otherwise every
    beat passes in the same cycle.

    Parameters
    ----------
    config : an encoder with AXI4-Stream (`table.encoder_with_axis`)
    inner : the name of its module
    """

    HAS_ENABLES = False
    """Multiplexers in front of registers stay in the text: they are easier to read."""

    def __init__(self, config: EncoderConfig, inner: str) -> None:
        self.config, self.inner, self.registers = config, inner, registers_of(config)
        pins = controlled_pins(config)
        self.streams = [pin for pin in pins if pin.role not in (Role.CLOCK, Role.RESET, Role.BUS)]
        super().__init__({pin.name: (In if pin.direction == "input" else Out)(pin.width) for pin in pins})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = ClockDomain("sync")
        m.d.comb += [ClockSignal().eq(self.aclk), ResetSignal().eq(~self.aresetn)]
        bus = RegisterBus(m, {name: getattr(self, PREFIX + name) for name in AXIL_PINS}, self.registers)
        has_begun = Signal()  # a packet has entered in part
        packets_inside = Signal(INSIDE_BITS)
        waits = Signal()
        takes = Signal()
        ready = Signal()
        m.d.comb += [
            self.s_axis_tready.eq(ready & ~waits),
            # a beat without bytes is dropped, unless it ends a packet
            takes.eq(self.s_axis_tvalid & self.s_axis_tready & (self.s_axis_tkeep[0] | self.s_axis_tlast)),
        ]
        ends = self.m_axis_tvalid & self.m_axis_tready & self.m_axis_tlast
        m.d.sync += packets_inside.eq(packets_inside + (takes & ~has_begun) - ends)
        with m.If(takes):
            m.d.sync += has_begun.eq(~self.s_axis_tlast)

        reasons: list[Value] = [packets_inside.all()]
        user: list[Value] = []
        mode: Value | None = None
        if "mode" in bus.settings:
            mode = Signal(self.config.mode_bits, name="mode_of_packets")
            differs = Signal(name="mode_differs")
            m.d.comb += differs.eq(mode != bus.settings["mode"])
            with m.If(differs & ~has_begun & ~packets_inside.any()):
                m.d.sync += mode.eq(bus.settings["mode"])
            reasons.append(differs)
            user.append(mode)

        def between(waits: str, now: str, register: str) -> Value:
            """A signal that is set for one cycle between two packets, after a write of a register."""
            is_written, acts = Signal(name=waits), Signal(name=now)
            m.d.comb += acts.eq(is_written & ~has_begun)
            with m.If(bus.written[register]):
                m.d.sync += is_written.eq(1)
            with m.Elif(acts):
                m.d.sync += is_written.eq(0)
            reasons.append(is_written)
            return acts

        constants = [port.name for port in constants_of(self.config)]
        if constants:
            of_packets = [Signal(WIDTH, name=f"{name}_of_packets") for name in constants]
            with m.If(between("constants_wait", "takes_constants", constants[-1])):
                m.d.sync += [taken.eq(bus.settings[name]) for name, taken in zip(constants, of_packets)]
            user += of_packets
        if "seed" in bus.settings:
            restart = between("restarts", "restart", "seed")
            width = self.config.numerics.random_bits * self.config.lanes
            user.append(seeded_bits(m, width, bus.settings["seed"], restart, takes))
        m.d.comb += waits.eq(~has_begun & Cat(reasons).any())

        pins: dict[str, object] = {"i_aclk": ClockSignal(), "i_aresetn": self.aresetn}
        for pin in self.streams:
            pins[f"{pin.direction[0]}_{pin.name}"] = getattr(self, pin.name)
        pins |= {"i_s_axis_tvalid": self.s_axis_tvalid & ~waits, "o_s_axis_tready": ready}
        if user:
            pins[f"i_{USER}"] = Cat(user)
        m.submodules.encoder = Instance(self.inner, **pins)

        counts = Counters(m, self.events(mode), bus.pulses["clear"]).values if has_counters(self.config) else {}
        bus.connect({"status": has_begun | packets_inside.any(), **counts})
        return m

    def events(self, mode: Value | None) -> dict[str, list[Value]]:
        """The bits that each counter counts in a cycle."""
        taken = self.m_axis_tvalid & self.m_axis_tready
        scale_taken = self.m_axis_scale_tvalid & self.m_axis_scale_tready
        formats, scale = [mode.block.element for mode in self.config.modes], self.config.numerics.block.scale
        stream, codes, code_of_scale = self.config.block_stream, self.m_axis_tdata, self.m_axis_scale_tdata
        if stream is not None:
            codes = stream.codes(codes, formats[0], self.config.lanes)
            code_of_scale = stream.scale(code_of_scale)
        nan = [code for code in range(1 << scale.bits) if scale.decode(code).kind == "nan"]

        def lanes(largest: bool) -> list[Value]:
            bits, found = formats[0].bits, list[Value]()
            for lane in range(self.config.lanes):
                code = codes[bits * lane :][:bits]
                by_mode = [
                    is_one_of(code, codes_of(element, element.max_value if largest else element.max_value * 0))
                    for element in formats
                ]
                is_found = by_mode[0]
                for number in range(1, len(by_mode) if mode is not None else 0):
                    is_found = Mux(mode == number, by_mode[number], is_found)
                found.append(taken & is_found)
            return found

        return {
            "blocks": [scale_taken],
            "saturated": lanes(largest=True),
            "zeros": lanes(largest=False),
            "nan_blocks": [scale_taken & is_one_of(code_of_scale, nan)],
        }
