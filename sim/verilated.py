"""The emitted Verilog as a NumPy function: Verilated, compiled to a shared library, called over arrays of blocks."""

from __future__ import annotations

import ctypes
import shlex
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np

from ..hdl import ConverterConfig, converter_config, verilog
from ..host.cache import kept_folder
from ..host.errors import ToolError
from ..host.processes import run
from ..models.block import Quantized, check_blocks, quantized
from ..models.source import DTYPES, widen
from ..spec import BlockFormat, Numerics
from . import tools

__all__ = ["Verilated", "build", "design_text", "loaded", "verilate", "verilate_text"]

OPTIMISATION = "-O2"
OURS = "-DVL_USER_FATAL"
"""What verilated.cpp defines in place of Verilator's library."""
LOADS = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
"""A program that fails where a library cannot be loaded; in one of its own nothing is lost if that ends the process."""


class Verilated:
    """A Verilated converter. Call it like `models.quantize`, on arrays of the same kinds; it returns the same.

    Bit patterns reach the design untouched, NaN payloads and subnormals included; numbers shorter than the source are
    widened first. ``numerics`` are those of mode 0; `mode` gives the design in another one.
    """

    def __init__(self, library: Path, modes: tuple[Numerics, ...], number: int = 0) -> None:
        self.modes, self.number, self.numerics, self.library = modes, number, modes[number], library
        self._convert = loaded(library)

    @property
    def verilog(self) -> str:
        """The text that was Verilated."""
        return self.library.with_name("dut.v").read_text()

    def mode(self, number: int) -> Verilated:
        """The same design in another mode."""
        if not 0 <= number < len(self.modes):
            raise ValueError(f"mode must be 0 to {len(self.modes) - 1}, not {number}")
        return Verilated(self.library, self.modes, number)

    def __call__(
        self,
        x: np.ndarray,
        *,
        axis: int = -1,
        pad: bool = False,
        random: np.ndarray | np.random.Generator | None = None,
    ) -> Quantized:
        return quantized(x, self.numerics, self.convert_blocks, axis=axis, pad=pad, random=random)

    def convert_blocks(
        self,
        blocks: np.ndarray,
        numerics: Numerics,
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
        self._convert(
            blocks.ctypes.data,
            None if random is None else random.ctypes.data,
            self.number,
            scales.ctypes.data,
            codes.ctypes.data,
            len(blocks),
        )


def loaded(library: Path, function: str = "mxcast_convert", first: int = 1) -> Callable[..., None]:
    """The loop of a library that `build` made: (x, random, mode, scales, codes, blocks), or another ``function`` with
    ``first`` numbers in place of the mode. It raises `ToolError` where the design stops the simulation.
    """
    try:
        convert = getattr(ctypes.CDLL(str(library)), function)
    except (OSError, AttributeError) as error:
        raise ToolError(f"the Verilated design cannot be loaded: {error}") from None
    convert.restype = ctypes.c_char_p
    convert.argtypes = [
        ctypes.c_void_p,
        ctypes.c_void_p,
        *[ctypes.c_uint32] * first,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_uint64,
    ]

    def run(*arguments: int | None) -> None:
        if (stopped := convert(*arguments)) is not None:
            raise ToolError(f"the design stops the simulation: {stopped.decode(errors='replace')}")

    return run


def verilate(config: ConverterConfig | BlockFormat | str, profile: str | None = None, **overrides: object) -> Verilated:
    """The Verilated design of a `ConverterConfig`, or of a format with a profile and overrides; a `handshake.Stalled`
    one if it has registers.

    Compiled results are kept by content: the Verilog, the loop around it and the versions of the tools.
    Raises `ToolError` where Verilator or the C++ compiler is missing.

    >>> rtl = verilate("e4m3", profile="ocp", scale_rule="ceil")
    >>> rtl(np.full(32, 1.5, np.float32)).scales
    array([119], dtype=uint8)
    """
    config = converter_config(config, profile, **overrides)
    return design_text(verilog(config, "dut"), "dut", config)


def design_text(text: str, top: str, config: ConverterConfig, lint: bool = True) -> Verilated:
    """The Verilated design of a Verilog text with the ports that the configuration has, clock and handshake
    among them.
    """
    if config.latency:
        from .handshake import stalled_text  # which is made of what is here

        return stalled_text(text, top, config, lint)
    return verilate_text(text, top, *config.modes, lint=lint)


def verilate_text(text: str, top: str, *modes: Numerics, lint: bool = True) -> Verilated:
    """The Verilated design of any Verilog text whose module ``top`` has the ports ``x``, ``scale`` and ``p``, besides
    ``random`` and ``mode`` where the numerics of its modes ask for them. With ``lint`` Verilator's warnings are errors.
    """
    return Verilated(build(text, top, modes[0], modes=len(modes), lint=lint), modes)


def build(
    text: str, top: str, numerics: Numerics, *, modes: int = 1, designs: int = 1, lint: bool = True, loop: str = ""
) -> Path:
    """The shared library of a Verilated text, with the loop over blocks of verilated.cpp around it, and the C++
    ``loop``.
    """
    root, loop = tools.verilator_root(), (files(__package__) / "verilated.cpp").read_text() + loop
    sizes = {
        "BLOCK_SIZE": numerics.block_size,
        "SOURCE_BITS": numerics.source.bits,
        "RANDOM_BITS": numerics.random_bits,
        "CODE_BITS": numerics.block.element.bits,
        "MODES": modes,
        "DESIGNS": designs,
    }
    defines = [f"-DMXCAST_{name}={size}" for name, size in sizes.items()]
    runtime = _runtime(root)
    options = [] if lint else ["-Wno-fatal", "--no-assert"]

    def make(folder: Path) -> None:
        (folder / "dut.v").write_text(text)
        # names without a path: Verilator takes a $ in them for a variable
        _run(
            folder,
            [
                str(root / "bin" / "verilator_bin"),
                "--cc",
                "-O3",
                "--x-assign",
                "fast",
                "--quiet",
                *options,
                "--top-module",
                top,
                "--prefix",
                "Vdut",
                "-Mdir",
                ".",
                "dut.v",
            ],
        )
        # one translation unit: most of the time would go into reading the same headers again
        parts = sorted(path.name for path in folder.glob("Vdut*.cpp"))
        (folder / "unit.cpp").write_text("".join(f'#include "{part}"\n' for part in parts) + loop)
        _compile(
            folder,
            ["-shared", *_includes(root), "-I.", *defines, "unit.cpp", *map(str, sorted(runtime.glob("*.o")))],
            "dut.so",
        )
        loading = run([sys.executable, "-I", "-c", LOADS, folder / "dut.so"])
        if loading.status:
            why = loading.errors.strip().rpartition("\n")[2] or f"exit status {loading.status}"
            raise ToolError(f"what the C++ compiler {shlex.join(tools.compiler())} wrote cannot be loaded: {why}")
        for path in folder.iterdir():
            if path.name not in ("dut.v", "dut.so"):
                path.unlink()

    key = [text, top, loop, *defines, *options, OPTIMISATION, tools.verilator_version(), *tools.compiler_identity()]
    return kept_folder("verilated", key, make) / "dut.so"


def _includes(root: Path) -> list[str]:
    return [f"-I{root}/include", f"-I{root}/include/vltstd"]


def _runtime(root: Path) -> Path:
    """Verilator's run-time library, compiled once."""

    def make(folder: Path) -> None:
        for name in ("verilated", "verilated_threads"):
            _compile(folder, [OURS, *_includes(root), "-c", f"{root}/include/{name}.cpp"], f"{name}.o")
        _compile(
            folder, ["-shared", *sorted(path.name for path in folder.glob("*.o"))], "linked.so"
        )  # can the files be linked?
        (folder / "linked.so").unlink()

    return kept_folder(
        "verilator-runtime", [tools.verilator_version(), *tools.compiler_identity(), OPTIMISATION, OURS], make
    )


def _compile(folder: Path, arguments: list[str], written: str) -> None:
    """Run the C++ compiler, which must write a file: its exit status alone proves nothing."""
    compiler = tools.compiler()
    _run(folder, [*compiler, OPTIMISATION, "-fPIC", *arguments, "-o", written])
    if not (folder / written).is_file():
        raise ToolError(f"the C++ compiler {shlex.join(compiler)} failed: it wrote no {written}")


def _run(folder: Path, command: list[str]) -> None:
    done = run(command, cwd=folder, environment=tools.simulator_environment())
    if done.status:
        lines = (done.errors + done.output).splitlines()
        first = next(
            (
                line
                for start in ("%Error", "")
                for line in lines
                if (start and line.startswith(start)) or (not start and "error" in line)
            ),
            f"exit status {done.status}",
        )
        raise ToolError(f"{Path(command[0]).name} failed: {first.strip()}")
