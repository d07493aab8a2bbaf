"""The emitted Verilog as a NumPy function: Verilated, compiled to a shared library, called over arrays of blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

import numpy as np
from numpy.typing import DTypeLike

from ..hdl import ConverterConfig, ConverterFields, Format, converter_config, verilog
from ..models import Quantized
from ..models.block import Random, check_blocks, quantized
from ..models.source import DTYPES, widen
from ..spec import Encode, Role
from .driver import Driver, build
from .transactions import named

__all__ = ["Verilated", "design_text", "verilate", "verilate_text"]


class Verilated:
    """A Verilated converter. Call it like `models.quantize`, on arrays of the same kinds; it returns the same.

    Bit patterns reach the design untouched, NaN payloads and subnormals included; numbers shorter than the source are
    widened first. ``numerics`` are those of mode 0; `mode` gives the design in another one.
    """

    def __init__(self, driver: Driver, modes: tuple[Encode, ...], number: int = 0) -> None:
        self.modes, self.number, self.numerics, self.driver = modes, number, modes[number], driver

    @property
    def verilog(self) -> str:
        """The text that was Verilated."""
        return self.driver.library.with_name("dut.v").read_text()

    def mode(self, number: int) -> Verilated:
        """The same design in another mode."""
        if not 0 <= number < len(self.modes):
            raise ValueError(f"mode must be 0 to {len(self.modes) - 1}, not {number}")
        return Verilated(self.driver, self.modes, number)

    def __call__(
        self, x: object, *, axis: int = -1, pad: bool = False, random: Random = None, dtype: DTypeLike | None = None
    ) -> Quantized:
        return quantized(x, self.numerics, self.convert_blocks, axis=axis, pad=pad, random=random, dtype=dtype)

    def convert_blocks(
        self,
        blocks: np.ndarray,
        numerics: Encode,
        scales: np.ndarray,
        codes: np.ndarray,
        random: np.ndarray | None = None,
    ) -> None:
        """Convert whole blocks into given arrays, as `models.quantize_blocks` does."""
        if numerics != self.numerics:
            raise ValueError("a Verilated design converts under the numerics that it was built for only")
        check_blocks(blocks, numerics, scales, codes, random)  # C++ would not
        if blocks.dtype != DTYPES[numerics.source.name]:
            blocks = widen(blocks, np.empty(blocks.shape, np.uint32))
        entering = {
            Role.NUMBERS: blocks.view(f"u{blocks.itemsize}"),
            Role.MODE: np.full((len(blocks), 1), self.number),
            **({} if random is None else {Role.RANDOM: random}),
        }
        leaving = {Role.SCALE: scales[:, None], Role.CODES: codes}
        ports = self.driver.ports
        self.drive(named(ports, "input", entering), named(ports, "output", leaving))

    def drive(self, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> None:
        """Fill the outputs with what the design makes of the inputs, arrays by port name."""
        self.driver(inputs, outputs)


def verilate(config: Format, profile: str | None = None, **fields: Unpack[ConverterFields]) -> Verilated:
    """The Verilated design of a `ConverterConfig`, or of a format with a profile and fields; a `handshake.Stalled`
    one if it has registers.

    Compiled results are kept by content: the Verilog, the loop around it and the versions of the tools.
    Raises `ToolError` where Verilator or the C++ compiler is missing.

    >>> rtl = verilate("e4m3", profile="ocp", scale_rule="ceil")
    >>> rtl(np.full(32, 1.5, np.float32)).scales
    array([119], dtype=uint8)
    """
    config = converter_config(config, profile, **fields)
    return design_text(verilog(config, "dut"), "dut", config)


def design_text(text: str, top: str, config: ConverterConfig, lint: bool = True) -> Verilated:
    """The Verilated design of a Verilog text with the ports that the configuration has, clock and handshake
    among them. With ``lint`` Verilator's warnings are errors.
    """
    driver = Driver(build(text, top, config.ports, lint=lint), config.ports)
    if config.latency:
        from .handshake import Stalled  # which is made of what is here

        return Stalled(driver, config.modes, config.latency)
    return Verilated(driver, config.modes)


def verilate_text(text: str, top: str, numerics: Encode, lint: bool = True) -> Verilated:
    """The Verilated design of any Verilog text whose module ``top`` has the ports of the numerics."""
    return Verilated(Driver(build(text, top, numerics.ports, lint=lint), numerics.ports), (numerics,))
