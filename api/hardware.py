"""Hardware: `emit`, `verilate`, `verify`, `prove`, `synth` and `explore` of the stable interface.

A converter is given as a format by its long or short name (``mxfp8_e4m3``, ``e4m3``; with commas for a converter with
modes), a profile and any `Rules` that differ from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack, overload

from .hdl import (
    CONSTRAINTS,
    AnyBuildFields,
    AnyFields,
    CastConfig,
    ConstraintFields,
    DecoderConfig,
    HadamardConfig,
    HardwareConfig,
    Nvfp4Config,
    Nvfp4DecoderConfig,
    Nvfp4TileConfig,
    TileConfig,
    configuration,
)
from .hdl import CastHardwareFields as CastingRules
from .hdl import ConverterFields as Rules
from .hdl import DecoderFields as DecodingRules
from .hdl import HadamardFields as HadamardRules
from .hdl import Nvfp4DecoderFields as Nvfp4DecodingRules
from .hdl import Nvfp4HardwareFields as Nvfp4Rules
from .hdl import Nvfp4TileHardwareFields as Nvfp4TileRules
from .hdl import TileHardwareFields as TileRules
from .hdl.emission.designs import design_of
from .spec import Hadamard, Nvfp4Decode, Nvfp4Encode, Nvfp4TileEncode, TileEncode
from .spec.catalogue import constructed, known_name

if TYPE_CHECKING:
    import numpy as np

    from .explore import Explored, Lists
    from .hdl import AnyFormat, Format
    from .proof import Proof
    from .sim import (
        Verification,
        Verilated,
        VerilatedCast,
        VerilatedDecoder,
        VerilatedHadamard,
        VerilatedNvfp4,
        VerilatedNvfp4Decoder,
        VerilatedTile,
    )
    from .sim.run.verilator.verilated import AnyVerilated
    from .synth import Synthesis


class BuildRules(AnyBuildFields, ConstraintFields, total=False):
    """Fields of `AnyBuildFields`, and ``latency`` or ``frequency_mhz``, which choose ``registered_after``."""


class HardwareRules(AnyFields, ConstraintFields, total=False):
    """Fields of `AnyFields`, and ``latency`` or ``frequency_mhz``, which choose ``registered_after``."""


class AnyTileRules(TileRules, Nvfp4TileRules, total=False):
    """Fields of `TileRules` and of `Nvfp4TileRules`."""


@overload
def verilate(  # type: ignore[overload-overlap]  # these formats are strings like others
    format: Literal["nvfp4", "nvfp4_32"] | Nvfp4Encode | Nvfp4Config,
    profile: str | None = None,
    *,
    op: Literal["encode"] = "encode",
    **rules: Unpack[Nvfp4Rules],
) -> VerilatedNvfp4: ...


@overload
def verilate(  # type: ignore[overload-overlap]
    format: Literal["nvfp4", "nvfp4_32"] | Nvfp4Decode | Nvfp4DecoderConfig,
    profile: str | None = None,
    *,
    op: Literal["decode"],
    **rules: Unpack[Nvfp4DecodingRules],
) -> VerilatedNvfp4Decoder: ...


@overload
def verilate(
    format: Format, profile: str | None = None, *, op: Literal["encode"] = "encode", **rules: Unpack[Rules]
) -> Verilated: ...


@overload
def verilate(
    format: str | DecoderConfig, profile: str | None = None, *, op: Literal["decode"], **rules: Unpack[DecodingRules]
) -> VerilatedDecoder: ...


@overload
def verilate(
    format: str | CastConfig, profile: str | None = None, *, op: Literal["cast"], **rules: Unpack[CastingRules]
) -> VerilatedCast: ...


@overload
def verilate(
    format: Literal["hadamard16"] | Hadamard | HadamardConfig,
    profile: str | None = None,
    *,
    op: Literal["hadamard"],
    **rules: Unpack[HadamardRules],
) -> VerilatedHadamard: ...


@overload
def verilate(
    format: str | TileEncode | TileConfig | Nvfp4TileEncode | Nvfp4TileConfig,
    profile: str | None = None,
    *,
    op: Literal["tile"],
    **rules: Unpack[AnyTileRules],
) -> VerilatedTile: ...


def verilate(format: AnyFormat, profile: str | None = None, *, op: str = "encode", **rules: object) -> AnyVerilated:
    """The emitted Verilog as a NumPy function, compiled by Verilator, with the arguments and results of `quantize`,
    `dequantize`, or `cast` and `uncast`.

    Parameters
    ----------
    format, profile, rules : the converter; one with modes is in mode 0, and its `Verilated.mode` gives the others
    op : ``encode``; ``decode`` with rules of a decoder; ``cast`` with rules of a cast, with ``destination`` of the
        way back; ``hadamard`` of the format ``hadamard16``; or ``tile``, with the rules of an encoder and ``columns``

    Returns
    -------
    Verilated, VerilatedNvfp4, VerilatedDecoder, VerilatedNvfp4Decoder, VerilatedCast, VerilatedHadamard, VerilatedTile
        call it as `quantize`, with ``x``, ``axis``, ``pad`` and ``random``, and of NVFP4 ``tensor_amax``; as
        `dequantize`, with ``q`` and ``random``; with an array and ``random``; or, of ``hadamard`` and ``tile``, with an
        array, and of an NVFP4 tile ``tensor_amax``

    Raises
    ------
    ValueError
        for an unknown name, and for rules that no converter supports
    mxcast.host.errors.ToolMissing
        without Verilator or a C++ compiler
    mxcast.host.errors.ToolError
        if one of them fails

    >>> import mxcast, numpy as np
    >>> rtl = mxcast.verilate("e2m1", "nvidia")
    >>> x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(2, 32)
    >>> rtl(x) == mxcast.quantize(x, "e2m1", "nvidia")
    True
    """
    from .sim import verilate_configuration

    return verilate_configuration(_configured(op, format, profile, rules))


def _configured(op: str, format: AnyFormat, profile: str | None, rules: Mapping[str, object]) -> HardwareConfig:
    """The hardware configuration, with the registers that the constraints ask for."""
    given = dict(rules)
    asked = {name: given.pop(name) for name in CONSTRAINTS if name in given}
    config = constructed(configuration, {"op": op, "format": format, "profile": profile, **given})
    if not asked:
        return config
    from .synth import constrained

    return constrained(config, asked)


def emit(
    format: AnyFormat,
    profile: str | None = None,
    *,
    op: str = "encode",
    out: Path | str = "build",
    name: str | None = None,
    c: bool = False,
    dpi: bool = False,
    force: bool = False,
    **rules: Unpack[HardwareRules],
) -> dict[str, Path]:
    """Write the Verilog of a converter and its companion files below ``out``.

    Parameters
    ----------
    format, profile, rules : the converter
    op : the operation: ``encode``, ``decode``, ``cast``, ``hadamard`` or ``tile``
    out : the folder for ``<name>/rtl/``
    name : the top module's name; by default format and profile are in it
    c : also write the model in C, with a program and a test
    dpi : also write a SystemVerilog package and a scoreboard that call the model in C (DPI-C)
    force : replace a design of another configuration, and edited files

    Returns
    -------
    dict
        paths by kind: ``verilog``, ``json``, ...

    Raises
    ------
    ValueError
        for an unknown name, for rules that no converter supports, and for an operation without a model in C if it is
        asked for; without ``force`` for a folder with a design of
        another configuration, and for edited files

    >>> import mxcast
    >>> paths = mxcast.emit("e4m3", "nvidia", name="mx_encoder")
    >>> paths["verilog"].as_posix()
    'build/mx_encoder/rtl/mx_encoder.v'
    """
    from .hdl import default_name, emit
    from .native.folder import c_files, dpi_files
    from .sim.check.self_checking import bench

    config = _configured(op, format, profile, rules)
    top = default_name(config) if name is None else name
    added = (c_files(config, top) if c else {}) | (dpi_files(config, top) if dpi else {})
    return emit(config, out, top, bench=bench(config, top), added=added, force=force)


def verify(
    format: AnyFormat,
    profile: str | None = None,
    *,
    op: str = "encode",
    stimuli: str = "standard",
    blocks: int = 1_000_000,
    seed: int = 0,
    tensors: Iterable[tuple[str, np.ndarray]] | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **rules: Unpack[HardwareRules],
) -> Verification:
    """Compare the emitted Verilog with the golden model bit for bit, under Verilator.

    Parameters
    ----------
    format, profile, rules : the converter
    op : the operation: ``encode``, ``decode``, ``cast``, ``hadamard`` or ``tile``
    stimuli : ``standard``, or one kind of stimuli, for ``encode`` ``corner``, ``boundary``, ``distance``, ``random``,
        ``stratified`` or ``exhaustive``
    blocks : number of random blocks
    seed : seed of the random blocks
    tensors : pairs of a name and (n, block_size) float32 blocks in place of the stimuli, for ``encode`` only
    force : ignore cached results
    progress : called with the number of blocks done and the total

    Returns
    -------
    Verification
        ``passed``, and the first mismatches in words

    Raises
    ------
    ValueError
        for an unknown name, and for rules that no converter supports
    mxcast.host.errors.ToolMissing
        without Verilator or a C++ compiler

    >>> import mxcast
    >>> found = mxcast.verify("e4m3", op="cast", blocks=1000)
    >>> found.passed, found.mismatched_blocks
    (True, 0)
    """
    from .sim import verify

    return verify(
        _configured(op, format, profile, rules),
        stimuli=stimuli,
        blocks=blocks,
        seed=seed,
        tensors=tensors,
        force=force,
        progress=progress,
    )


def prove(
    format: AnyFormat | None = None,
    profile: str | None = None,
    *,
    op: str = "encode",
    rtl: Path | str | None = None,
    name: str | None = None,
    out: Path | str = "build",
    netlist: str | None = None,
    solver: str = "bitwuzla",
    timeout: float = 900,
    force: bool = False,
    **rules: Unpack[HardwareRules],
) -> Proof:
    """Prove that the emitted file, or a file of your own, is right for every block.

    Parameters
    ----------
    format, profile, rules : the converter; without a format the design ``name`` in ``out``
    op : the operation: ``encode``, ``decode`` or ``cast``
    rtl : a file with the module ``name``, instead of the emitted file
    name : the emitted design; by default format and profile are in its name
    out : the folder for the file, the questions and the outcome; an existing design is not changed
    netlist : ``xcu`` or ``ecp5``: prove the netlist that synthesis computes from the file
    solver, timeout : ``bitwuzla`` or ``z3``, and its seconds for each question
    force : ask the solver again, in spite of cached answers

    Returns
    -------
    Proof
        ``status`` (PASS, FAIL, UNKNOWN, TIMEOUT), ``passed`` and the counterexample

    Raises
    ------
    ValueError
        for an unknown name and for rules that no converter supports, and for a folder with a design of another
        configuration or an edited one
    mxcast.host.errors.DesignError
        for a file that a tool cannot read
    mxcast.host.errors.ToolMissing
        without Yosys or the solver

    >>> import mxcast
    >>> proof = mxcast.prove("e4m3", op="cast")
    >>> proof.passed, str(proof.status)
    (True, 'PASS')
    """
    from .proof import prove

    if format is not None:
        config = _configured(op, format, profile, rules)
    elif name is None or rtl is not None or profile is not None or rules:
        raise ValueError("a format is missing: without one, give name and out of an emitted design, and nothing else")
    else:
        config = design_of(out, name)
    return prove(config, rtl=rtl, name=name, out=out, netlist=netlist, solver=solver, timeout=timeout, force=force)


def synth(
    format: AnyFormat,
    target: str = "xcu",
    *,
    profile: str | None = None,
    op: str = "encode",
    liberty: Path | str | None = None,
    sta: bool = False,
    stages: bool = True,
    force: bool = False,
    **rules: Unpack[BuildRules],
) -> Synthesis:
    """Synthesise a converter with Yosys for a target and count its cells: as a whole and, with ``stages``, by parts.

    Parameters
    ----------
    format, profile, rules : the converter, built for the target
    op : the operation: ``encode``, ``decode``, ``cast``, ``hadamard`` or ``tile``
    target : ``xcu``, ``ecp5``, ``ice40``, ... (``mxcast list targets``)
    liberty : a Liberty file with the standard cells of the target ``asic``
    sta : with a Liberty file, ask OpenSTA for the longest path and the energy of a block
    stages : also count each part alone
    force : ignore cached results

    Returns
    -------
    Synthesis
        LUTs, carries, registers and levels

    Raises
    ------
    ValueError
        for an unknown name, and for rules that no converter supports
    mxcast.host.errors.ToolMissing
        without Yosys or OpenSTA

    >>> import mxcast
    >>> cost = mxcast.synth("e4m3", "ecp5", op="cast").whole
    >>> cost.luts > cost.levels > 0
    True
    """
    from .sim.stimuli.weights import weights_of
    from .synth import TARGETS, synthesis

    if sta and liberty is None:
        raise ValueError("sta needs the cells of a library: give liberty too")
    target = known_name("target", target, TARGETS)
    given = {**rules} if isinstance(format, HardwareConfig) else {**rules, "target": TARGETS[target].optimized_as}
    config = _configured(op, format, profile, given)
    blocks_of = weights_of if sta else None
    return synthesis.synth(config, target, liberty=liberty, blocks_of=blocks_of, stages=stages, force=force)


def explore(
    sweep: str | Path | None = None,
    *,
    op: str | None = None,
    tensors: Mapping[str, np.ndarray] | None = None,
    jobs: int = 2,
    force: bool = False,
    **lists: Unpack[Lists],
) -> list[Explored]:
    """Measure every point of a sweep: its cost, and its errors on tensors.

    Parameters
    ----------
    sweep : a name (``mxcast list sweeps``) or a TOML file; by default the standard sweep of the operation
    op : the operation of the sweep; by default the one that the sweep names
    tensors : arrays by name, in place of the weights and distributions in the package
    jobs : number of processes at a time
    force : ignore cached results
    lists : one or several values for keys of the sweep, which replace its own

    Returns
    -------
    list of Explored
        one row for each point, with its error if it failed; ``pandas.DataFrame`` converts the list to a table

    Raises
    ------
    ValueError
        for an unknown name, and for a sweep in which no point can be built
    TypeError
        for a value of the wrong kind
    mxcast.host.errors.ToolMissing
        without Yosys, or without nextpnr if points are placed

    >>> import mxcast
    >>> points = mxcast.explore(op="cast", format="e4m3", profile="ptx", rounding="rne", overflow="saturate")
    >>> [(point.format, point.status) for point in points]
    [('fp32_to_e4m3', 'done')]
    """
    from .explore import explore

    return explore(sweep, op=op, tensors=tensors, jobs=jobs, force=force, **lists)
