"""Blocks that flow through a converter with registers, inside a simulator: cycle by cycle, with gaps on both sides.

For `bench`. Inputs change after a rising edge and count at the next one; outputs are read in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from cocotb.triggers import Timer
from cocotb.types import LogicArray

from ...hdl import HardwareConfig
from .journal import Journal
from .pins import Design, Pins, number, numbers

FULL = (0, 0)
GAPS = (0, 1, 8, 15)
"""Numbers of gaps in 16 cycles; each holds for some cycles."""


class FlowError(AssertionError):
    """Handshake or timing is wrong. The message says what, and after how many results."""


class Flow:
    """Blocks through the pins of ``dut``. In gaps inputs are X if ``unknown``, which needs a simulator of four states,
    and random otherwise.
    """

    PARTS = "blocks"

    def __init__(
        self, dut: Design, config: HardwareConfig, seed: int, unknown: bool, journal: Journal | None = None
    ) -> None:
        self.dut, self.config, self.random, self.unknown = dut, config, Random(seed), unknown
        self.pins = Pins(dut, config.ports)
        self.entry: list[int] = []
        """The time at which each block entered."""
        self.time = 0
        self.journal, self.risen = Journal(None) if journal is None else journal, 0

    def note(self, side: str, blocks: Sequence[Mapping[str, int]], part: int | None, time: int | None = None) -> None:
        """Tell the journal which part is at a side, or that it is a gap."""
        if part is not None and part < len(blocks):
            self.journal.note((side,), part // self.config.beats, blocks[part].get("mode", 0), time)
        else:
            self.journal.note((side,), None, time=time)

    async def edge(self) -> None:
        self.dut.clk.value = 1
        self.risen = self.journal.now()
        await Timer(1, "ns")
        self.dut.clk.value = 0

    def drive(self, block: Mapping[str, int] | None) -> None:
        """A block by port name, or a gap."""
        self.dut.i_valid.value = block is not None
        if block is not None:
            self.pins.drive(block)
            return
        for port, pin in self.pins.inputs:
            pin.value = LogicArray("X" * port.width) if self.unknown else self.random.getrandbits(port.width)

    async def reset(self) -> None:
        """Reset, fill the pipeline with something, and drop that by one more cycle of reset."""
        self.dut.clk.value, self.dut.o_ready.value = 0, 0
        self.drive(None)
        self.dut.i_valid.value = 1
        late = self.config.latency + self.config.is_elastic  # ready may be a register, which a reset clears
        for cycles, reset in ((1, 1), (late, 0), (1, 1)):
            self.dut.rst.value = reset
            for _ in range(cycles):
                await Timer(1, "ns")
                await self.edge()
            await Timer(1, "ns")
            if self.bit("o_valid", []) == reset and (reset or self.config.is_steady):
                raise FlowError("a reset does not clear o_valid" if reset else f"no result after {cycles} cycles")
        self.dut.rst.value = 0
        self.dut.i_valid.value = 0

    async def convert(self, blocks: list[dict[str, int]], *, gaps: bool = True) -> list[dict[str, int]]:
        """The outputs for each block by port name, after a reset. Raises `FlowError` if a result is lost, doubled, too
        early or too late, or changes while it waits, and if bits are unknown."""
        await self.reset()
        results: list[dict[str, int]] = []
        self.entry = []
        self.time, offered, waiting, driven = 0, False, None, -1
        rest, rates = self.settled, FULL
        for cycle in range((64 + self.config.pause + self.config.interval) * (len(blocks) + self.settled) + 64):
            if gaps and cycle % 64 == 0:
                rates = self.random.choice(GAPS), self.random.choice(GAPS)
            offered = len(self.entry) < len(blocks) and (offered or self.random.randrange(16) >= rates[0])
            if not offered or driven != len(self.entry):  # a block that waits is driven already
                self.drive(blocks[len(self.entry)] if offered else None)
                driven = len(self.entry) if offered else -1
            self.note("in", blocks, len(self.entry) if offered else None)
            ready = self.random.randrange(16) >= rates[1]
            self.dut.o_ready.value = ready
            await Timer(1, "ns")
            valid, moving = self.bit("o_valid", results), self.bit("i_ready", results)
            result = self.result(results) if valid else None
            self.note("out", blocks, len(results) if valid else None, self.risen)
            self.check_ready(moving, valid, ready, len(results))
            if waiting is not None and result != waiting:
                raise FlowError(f"result {len(results)} changed while it was not taken")
            if valid:
                self.check_result(len(results))
            if result is not None and ready:
                results.append(result)
            waiting = None if ready else result
            if offered and moving:
                self.entry.append(self.time)
                offered = False
            self.time += self.passed(moving if self.config.pause else ready or not valid)
            rest -= len(results) == len(blocks)  # nothing may come after the last
            if not rest:
                return results
            await self.edge()
        raise FlowError(f"{len(self.entry) - len(results)} {self.PARTS} have no result, after {len(results)}")

    @property
    def settled(self) -> int:
        """Cycles without a stall after which everything moves evenly."""
        return self.config.latency + self.config.pause + 2

    def passed(self, moving: bool) -> int:
        """The time that a cycle adds: one if everything moves."""
        return int(moving)

    def check_ready(self, moving: bool, valid: bool, ready: bool, results: int) -> None:
        """Raise `FlowError` if ``i_ready`` (``moving``) is wrong."""
        goes = ready or not valid
        can_enter = not self.entry or self.time >= self.entry[-1] + self.config.interval
        if (moving and not goes) or (moving != (goes and can_enter) and not self.config.pause):
            raise FlowError(
                f"i_ready is {moving:d} while o_valid is {valid:d} and o_ready {ready:d}, after {results} results"
            )

    def check_result(self, results: int) -> None:
        """Raise `FlowError` if a result must not be there after so many others."""
        if results == len(self.entry):
            raise FlowError(f"a result without a block, after {results}")
        cycles, latency = self.time - self.entry[results], self.config.latency  # behind a pause blocks go on alone
        if cycles > latency or (cycles < latency and not self.config.pause):
            raise FlowError(f"result {results} came after {cycles} cycles, not {latency}")

    def bit(self, port: str, results: list) -> bool:
        digits = str(getattr(self.dut, port).value)
        value = number(digits)
        if value is None:
            raise FlowError(f"{port} is {digits} after {len(results)} results")
        return bool(value)

    def result(self, results: list) -> dict[str, int]:
        seen = self.pins.seen()
        found = numbers(seen)
        if found is None:
            outputs = ", ".join(f"{name} {digits}" for name, digits in seen.items())
            raise FlowError(f"unknown bits in result {len(results)}: {outputs}")
        return found
