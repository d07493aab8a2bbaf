"""The emitted Verilog as a NumPy function: Verilated, compiled to a shared library, called over arrays of blocks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, Literal, TypeAlias, TypeVar, Unpack, overload

import numpy as np
from numpy.typing import DTypeLike

from ....hdl import (
    CONSTRAINTS,
    AnyFields,
    AnyFormat,
    ConverterFields,
    Format,
    HardwareConfig,
    Nvfp4Config,
    Nvfp4Form,
    configuration,
    verilog,
)
from ....models import BlockArray, Quantized
from ....models.arrays.source import DTYPES, Random, widen
from ....models.fast.cast import cast_array, uncast_array
from ....models.fast.decode import decoded
from ....models.fast.encode import check_blocks, quantized
from ....models.fast.hadamard import rotated_array
from ....models.fast.nvfp4_decode import nvfp4_decoded
from ....models.fast.nvfp4_encode import Constants, TensorAmax, nvfp4_array
from ....models.fast.tile import BothWays, both_ways
from ....spec import (
    Cast,
    Decode,
    Encode,
    Hadamard,
    Nvfp4Decode,
    Nvfp4Encode,
    Nvfp4TileEncode,
    Operation,
    Role,
    TileEncode,
)
from ...stored import behind_ports
from ...transactions import Transactions, data_ports
from .beats import BeatDriver
from .driver import Driver, build
from .handshake import StalledDriver
from .table_driver import TableDriver

Op = TypeVar("Op", bound=Operation)


class _Design(Generic[Op]):
    """A Verilated design of an operation, whose rules it follows."""

    def __init__(self, driver: Driver, numerics: Op) -> None:
        self.driver, self.numerics = driver, numerics

    def _require(self, rules: Op) -> None:
        if rules != self.numerics:
            raise ValueError("a Verilated design follows only the rules that it was built for")


class Verilated(_Design[Encode]):
    """A Verilated converter. Call it like `models.quantize`, on arrays of the same kinds; it returns the same.

    Bit patterns reach the design untouched, also NaN payloads and subnormals; shorter numbers than the source are
    widened first. ``numerics`` belongs to mode 0; `mode` returns the design in another mode. A design with registers
    gets gaps on both sides, and raises `handshake.HandshakeError` if a block does not have its one result in its place.
    """

    def __init__(self, driver: Driver, modes: tuple[Encode, ...], number: int = 0) -> None:
        super().__init__(driver, modes[number])
        self.modes, self.number = modes, number

    def mode(self, number: int) -> Verilated:
        """The design in another mode."""
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
        self._require(numerics)
        check_blocks(blocks, numerics, scales, codes, random)
        if blocks.dtype != DTYPES[numerics.source.name]:
            blocks = widen(blocks, np.empty(blocks.shape, np.uint32))
        drawn = {} if random is None else {Role.RANDOM: random}
        entering = Transactions({Role.NUMBERS: blocks.view(f"u{blocks.itemsize}"), **drawn}).in_mode(self.number)
        made = self.driver(entering)
        scales[:], codes[:] = made[Role.SCALE][:, 0], made[Role.CODES]


class VerilatedDecoder(_Design[Decode]):
    """A Verilated decoder. Call it like `models.dequantize`, without rules; it returns the same.

    A design with registers gets gaps on both sides, as in `Verilated`.
    """

    def __call__(self, q: BlockArray, *, random: Random = None) -> np.ndarray:
        return decoded(q, self.numerics, self.decode_blocks, random=random)

    def decode_blocks(
        self, scales: np.ndarray, codes: np.ndarray, rules: Decode, y: np.ndarray, random: np.ndarray | None = None
    ) -> None:
        """Decode whole blocks into a given array, as `models.fast.decode.decode_blocks` does."""
        self._require(rules)
        drawn = {} if random is None else {Role.RANDOM: random}
        made = self.driver(Transactions({Role.CODES: codes, Role.SCALE: scales[:, None], **drawn}))
        y.view(f"u{y.itemsize}")[:] = made[Role.NUMBERS]


class VerilatedCast(_Design[Cast]):
    """A Verilated cast. Call it like `models.fast.cast`, or like `models.uncast` if it is a way back, without rules; it
    returns the same, for an array of any shape. The last word is completed with zeros.

    A design with registers gets gaps on both sides, as in `Verilated`.
    """

    def __call__(self, x: Any, *, random: Random = None) -> np.ndarray:
        convert = uncast_array if self.numerics.is_back else cast_array
        return convert(x, self.numerics, self.cast_patterns, random)

    def cast_patterns(
        self, patterns: np.ndarray, rules: Cast, results: np.ndarray, random: np.ndarray | None = None
    ) -> None:
        """Cast bit patterns into a given array, as `models.fast.cast.cast_patterns` does."""
        self._require(rules)
        enters, leaves = (data_ports(rules.ports, side) for side in ("input", "output"))
        given = [patterns, *([] if random is None else [random])]
        words = {port.role: _in_words(array, rules.lanes) for port, array in zip(enters, given, strict=True)}
        made = self.driver(Transactions(words))[leaves[0].role]
        results.reshape(-1)[:] = made.reshape(-1)[: results.size]


class VerilatedNvfp4(_Design[Nvfp4Encode]):
    """A Verilated NVFP4 encoder. Call it like `models.quantize_nvfp4`, without rules; it returns the same.

    A design with registers gets gaps on both sides, as in `Verilated`.
    """

    def __call__(
        self,
        x: object,
        *,
        tensor_amax: TensorAmax = None,
        row_scaled: bool = False,
        axis: int = -1,
        pad: bool = False,
        random: Random = None,
        dtype: DTypeLike | None = None,
    ) -> Quantized:
        return nvfp4_array(
            x,
            self.numerics,
            self.encode_blocks,
            amax=tensor_amax,
            row_scaled=row_scaled,
            axis=axis,
            pad=pad,
            random=random,
            dtype=dtype,
        )

    def encode_blocks(
        self,
        blocks: np.ndarray,
        numerics: Nvfp4Encode,
        constants: Constants,
        scales: np.ndarray,
        codes: np.ndarray,
        random: np.ndarray | None = None,
    ) -> None:
        """Encode whole blocks into given arrays, as `models.fast.nvfp4_encode.encode_blocks` does."""
        self._require(numerics)
        if blocks.dtype != DTYPES[numerics.source.name]:
            blocks = widen(blocks, np.empty(blocks.shape, np.uint32))
        entering = {port.role for port in numerics.ports if port.direction == "input"}
        drawn = {} if random is None else {Role.RANDOM: random}
        given = {Role.NUMBERS: blocks.view(f"u{blocks.itemsize}"), **_words(constants, len(blocks)), **drawn}
        made = self.driver(Transactions({role: one for role, one in given.items() if role in entering}))
        scales[:], codes[:] = made[Role.SCALE][:, 0], made[Role.CODES]


class VerilatedNvfp4Decoder(_Design[Nvfp4Decode]):
    """A Verilated NVFP4 decoder. Call it like `models.dequantize`, without rules; it returns the same.

    A design with registers gets gaps on both sides, as in `Verilated`.
    """

    def __call__(self, q: BlockArray) -> np.ndarray:
        return nvfp4_decoded(q, self.numerics, self.decode_blocks)

    def decode_blocks(
        self, scales: np.ndarray, codes: np.ndarray, rules: Nvfp4Decode, tensor_scale: np.ndarray, y: np.ndarray
    ) -> None:
        """Decode whole blocks into a given array, as `models.fast.nvfp4_decode.decode_blocks` does."""
        self._require(rules)
        given = {Role.CODES: codes, Role.SCALE: scales[:, None]}
        if any(port.role is Role.TENSOR_SCALE for port in rules.ports):
            given[Role.TENSOR_SCALE] = np.broadcast_to(tensor_scale, len(codes)).view(np.uint32)[:, None]
        y.view(f"u{y.itemsize}")[:] = self.driver(Transactions(given))[Role.NUMBERS]


class VerilatedHadamard(_Design[Hadamard]):
    """A Verilated Hadamard transform. Call it like `models.rotate`, without rules; it returns the same.

    A design with registers gets gaps on both sides, as in `Verilated`.
    """

    def __call__(self, x: object) -> np.ndarray:
        return rotated_array(x, self.numerics.size, self.rotate_blocks)

    def rotate_blocks(self, blocks: np.ndarray) -> np.ndarray:
        """Patterns (n, 16) of the transformed blocks."""
        return self.driver(Transactions({Role.NUMBERS: blocks}))[Role.ROTATED]


class VerilatedTile(_Design[TileEncode | Nvfp4TileEncode]):
    """A Verilated tile encoder. Call it like `models.quantize_both_ways`, with ``tensor_amax`` for NVFP4 and without
    rules; it returns the same.

    The design gets gaps on both sides, as in `Verilated`.
    """

    def __call__(self, x: object, *, tensor_amax: TensorAmax = None) -> BothWays:
        return both_ways(x, self.numerics, self.encode_tiles, tensor_amax=tensor_amax)

    def encode_tiles(self, tiles: np.ndarray, constants: Constants | None) -> tuple[np.ndarray, ...]:
        """Scales and codes of the rows, and scales and codes of the columns, of tiles (n, side * side) of numbers."""
        given = {Role.NUMBERS: tiles.view(f"u{tiles.itemsize}"), **_words(constants, len(tiles))}
        entering = {port.role for port in self.driver.inputs}
        made = self.driver(Transactions({role: one for role, one in given.items() if role in entering}))
        return tuple(made[role] for role in (Role.ROW_SCALES, Role.CODES, Role.COLUMN_SCALES, Role.COLUMN_CODES))


AnyVerilated: TypeAlias = (
    Verilated
    | VerilatedDecoder
    | VerilatedCast
    | VerilatedNvfp4
    | VerilatedNvfp4Decoder
    | VerilatedHadamard
    | VerilatedTile
)
"""The Verilated design of any operation."""


def _words(constants: Constants | None, count: int) -> dict[Role, np.ndarray]:
    """The constants of a tensor for each of some transactions."""
    if constants is None:
        return {}
    every = {Role.SCALE_CONSTANT: constants.k, Role.ELEMENT_CONSTANT: constants.d, Role.TENSOR_AMAX: constants.a}
    return {role: np.broadcast_to(one, count).view(np.uint32)[:, None] for role, one in every.items()}


def _in_words(values: np.ndarray, lanes: int) -> np.ndarray:
    """Values of any shape as (n, lanes), the last row completed with zeros."""
    flat = values.reshape(-1)
    return np.append(flat, np.zeros(-len(flat) % lanes, flat.dtype)).reshape(-1, lanes)


def driver_of(text: str, top: str, config: HardwareConfig | Operation, lint: bool = True) -> Driver:
    """The Verilated module ``top`` of a Verilog text with the pins of a configuration, also clock and handshake, or
    with the ports of an operation. Compiled results are kept, and errors are raised, as by `driver.build`.
    """
    if isinstance(config, HardwareConfig):
        text, top = behind_ports(config, text, top)
    library = build(text, top, config.ports, lint=lint)
    if isinstance(config, HardwareConfig) and config.in_beats:
        return BeatDriver(library, config)
    if isinstance(config, HardwareConfig) and config.latency:
        return StalledDriver(library, config)
    if isinstance(config, Nvfp4Config) and config.microarchitecture.form is Nvfp4Form.TABLE:
        return TableDriver(library, config.ports, config.numerics)
    return Driver(library, config.ports, partial(build, text, top, config.ports, lint=lint, many=True))


@overload
def verilate(
    config: Format, profile: str | None = None, *, op: Literal["encode"] = "encode", **fields: Unpack[ConverterFields]
) -> Verilated: ...


@overload
def verilate(
    config: AnyFormat, profile: str | None = None, *, op: str = "encode", **fields: Unpack[AnyFields]
) -> AnyVerilated: ...


def verilate(
    config: AnyFormat, profile: str | None = None, *, op: str = "encode", **fields: Unpack[AnyFields]
) -> AnyVerilated:
    """The Verilated design of a configuration, or of a format with a profile and fields, as a function. It takes what
    `mxcast.verilate` takes, without ``latency`` and ``frequency_mhz``, for which synthesis chooses the registers.

    Raises `ToolError` if Verilator or the C++ compiler is missing.

    >>> rtl = verilate("e4m3", profile="ocp", scale_rule="ceil")
    >>> rtl(np.full(32, 1.5, np.float32)).scales
    array([119], dtype=uint8)
    """
    if asked := next((name for name in CONSTRAINTS if name in fields), None):
        raise ValueError(f"{asked} chooses registers by synthesis: call mxcast.verilate, or give registered_after")
    return verilate_configuration(configuration(op, config, profile, **fields))


VERILATED: dict[str, Callable[[Driver, Any], AnyVerilated]] = {
    Encode.name: lambda driver, config: Verilated(driver, config.modes),
    Decode.name: lambda driver, config: VerilatedDecoder(driver, config.numerics),
    Cast.name: lambda driver, config: VerilatedCast(driver, config.numerics),
    Nvfp4Encode.name: lambda driver, config: VerilatedNvfp4(driver, config.numerics),
    Nvfp4Decode.name: lambda driver, config: VerilatedNvfp4Decoder(driver, config.numerics),
    Hadamard.name: lambda driver, config: VerilatedHadamard(driver, config.numerics),
    **dict.fromkeys(
        (TileEncode.name, Nvfp4TileEncode.name), lambda driver, config: VerilatedTile(driver, config.numerics)
    ),
}
"""By the name of the operation a function around a Verilated design."""


def verilate_configuration(config: HardwareConfig) -> AnyVerilated:
    """The Verilated design of a configuration, as a function. Raises `ToolError` if Verilator or the C++ compiler
    is missing.
    """
    return VERILATED[config.numerics.name](driver_of(verilog(config, "dut"), "dut", config), config)
