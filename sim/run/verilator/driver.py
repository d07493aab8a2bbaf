"""A Verilated design as a function over transactions: C++ made from its ports, compiled to a shared library."""

from __future__ import annotations

import ctypes
import shlex
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

from ....host.cache import kept_folder
from ....host.errors import ToolError
from ....host.processes import python, run
from ....spec import Port, Role
from ...transactions import Transactions, data_ports, word
from .. import tools
from .many import OPTIONS, many_text
from .runtime import HEADER, OPTIMISATION, compile_cpp, driver_library, includes, run_tool

LOADS = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
"""A program that fails if a library cannot be loaded. It is a process of its own, which loading may crash."""

ACTIVE = 'import "DPI-C" function int unsigned mxcast_mutant();'
"""The function in a design that says which of its mutants is active."""

MANY_ENTRY = "mxcast_convert_many"
WORTH = 1 << 24
"""Transactions for which the faster library is compiled: the other one needs about as long for them."""


class Driver:
    """The library that `build` made for a design with these ports, as a function over transactions.

    The design has no registers; for others there are `stream.StreamedDriver` and `handshake.StalledDriver`.
    """

    has_clock = False
    """Whether a result may depend on earlier blocks."""

    def __init__(self, library: Path, ports: Sequence[Port], many: Callable[[], Path] | None = None) -> None:
        """``many`` builds the library again for `prepare`."""
        self.library, self.ports, self._many = library, tuple(ports), many
        self.inputs, self.outputs = data_ports(ports, "input"), data_ports(ports, "output")
        self._library, self._entry = loaded(library), "mxcast_convert"

    def prepare(self, transactions: int) -> None:
        """Compile a faster library if so many transactions will follow that it is worth its time. No bit changes."""
        if self._many is not None and transactions >= WORTH:
            library, self._many = loaded(self._many()), None
            if hasattr(library, MANY_ENTRY):
                self._library, self._entry = library, MANY_ENTRY

    def activate(self, mutant: int) -> None:
        """Choose the active one of the mutants in the design, which asks for its number by `ACTIVE`; 0 for none."""
        self._library.mxcast_activate(mutant)

    @property
    def verilog(self) -> str:
        """The text that was Verilated."""
        return self.library.with_name("dut.v").read_text()

    def __call__(self, entering: Transactions) -> Transactions:
        """The results of the design. Raises KeyError if the role of a port is missing."""
        outputs = {port.name: np.empty((len(entering), port.lanes), word(port)) for port in self.outputs}
        self.fill({port.name: entering[port.role] for port in self.inputs}, outputs)
        return Transactions({port.role: outputs[port.name] for port in self.outputs})

    def fill(self, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> None:
        """Drive n transactions: (n, lanes) arrays of inputs, and arrays of outputs that it fills, by port name.

        Raises `ToolError` if the design stops the simulation.
        """
        self._call(self._entry, inputs, outputs)

    def _call(
        self,
        entry: str,
        inputs: Mapping[str, np.ndarray],
        outputs: Mapping[str, np.ndarray],
        *given: int,
        found: int = 0,
    ) -> list[int]:
        """Call ``entry``, a function of the C++ loop, with the numbers ``given``; it returns ``found`` numbers."""
        entering = [np.ascontiguousarray(inputs[port.name], word(port)) for port in self.inputs]
        leaving = [outputs[port.name] for port in self.outputs]
        count = len(entering[0])
        for port, rows in zip((*self.inputs, *self.outputs), (*entering, *leaving)):
            if rows.shape != (count, port.lanes) or rows.dtype != word(port) or not rows.flags.c_contiguous:
                raise ValueError(f"{port.name} must be C-contiguous {word(port)} of shape {(count, port.lanes)}")
        return called(self._library, entry, entering, leaving, count, given, found)


def loaded(library: Path) -> ctypes.CDLL:
    """The library that `build` made. Raises `ToolError` if it cannot be loaded."""
    try:
        return ctypes.CDLL(str(library))
    except OSError as error:
        raise ToolError(f"the Verilated design cannot be loaded: {error}") from None


def called(
    library: ctypes.CDLL,
    entry: str,
    entering: Sequence[np.ndarray],
    leaving: Sequence[np.ndarray],
    count: int,
    given: Sequence[int],
    found: int,
) -> list[int]:
    """Call ``entry``, a function of a C++ loop, with C-contiguous arrays in and out and the numbers ``given``. Returns
    ``found`` numbers. Raises `ToolError` if the design stops the simulation.
    """
    call = getattr(library, entry)
    call.restype = ctypes.c_char_p
    numbers, results = (ctypes.c_uint64 * len(given))(*given), (ctypes.c_uint64 * found)()
    stopped = call(_pointers(entering), _pointers(leaving), ctypes.c_uint64(count), numbers, results)
    if stopped is not None:
        raise ToolError(f"the design stops the simulation: {stopped.decode(errors='replace')}")
    return list(results)


def _pointers(arrays: Sequence[np.ndarray]) -> ctypes.Array:
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


def _of_ports(ports: Sequence[Port]) -> str:
    """C++ that drives and collects the data ports, row by row."""
    entering, leaving = data_ports(ports, "input"), data_ports(ports, "output")
    length = {port.name: port.lanes * word(port).itemsize for port in (*entering, *leaving)}
    drive, collect = (
        "".join(
            f"    {verb}<{port.lanes}, {port.bits}>"
            f"(dut.{port.name}, {array}[{number}] + row * {length[port.name]}{more});\n"
            for number, port in enumerate(side)
        )
        for verb, array, more, side in (("put", "in", ", complement", entering), ("get", "out", "", leaving))
    )
    rows = [length[port.name] for port in leaving]
    return f"""
namespace {{

constexpr unsigned OUTPUTS = {len(rows)}, ROW_BYTES[] = {{{str(rows)[1:-1]}}}, TOTAL_BYTES = {sum(rows)};

void drive(Vdut& dut, const uint8_t* const* in, uint64_t row, bool complement) {{
{drive}}}

void collect(const Vdut& dut, uint8_t* const* out, uint64_t row) {{
{collect}}}

}}  // namespace
"""


def _loop(ports: Sequence[Port]) -> str:
    """C++ around a design with these ports, with the parts for a clock and a handshake if it has them."""
    roles = {port.role for port in ports}
    if Role.KEEP in roles:
        return "\n".join([_of_streams(ports), *map(_part, ("ports.h", "entry.cpp", "gaps.h", "packets.cpp"))])
    parts = ["entry.cpp", "driver.cpp"]
    if Role.VALID in roles:
        parts += ["gaps.h", "gaps.cpp", "beats.cpp" if Role.LAST in roles else "handshake.cpp"]
    elif Role.CLOCK in roles:
        parts.append("stream.cpp")
    defines = f"#define MXCAST_CLOCK {int(Role.CLOCK in roles)}\n#define MXCAST_RESET {int(Role.RESET in roles)}\n"
    return "\n".join([defines, _part("ports.h"), _of_ports(ports), *map(_part, parts)])


def _part(name: str) -> str:
    return (files(__package__) / "loop" / name).read_text()


def _of_streams(pins: Sequence[Port]) -> str:
    """The bytes of a beat of each AXI4-Stream of an encoder, as macros."""
    width = {pin.name: pin.width for pin in pins}
    numbers, codes = width["s_axis_tdata"] // 8, width["m_axis_tdata"] // 8
    scales = int(any(pin.role is Role.SCALE for pin in pins))
    return f"#define MXCAST_NUMBER_BYTES {numbers}\n#define MXCAST_CODE_BYTES {codes}\n#define MXCAST_SCALES {scales}\n"


def build(text: str, top: str, ports: Sequence[Port], *, lint: bool = True, many: bool = False) -> Path:
    """The shared library of the module ``top`` of a Verilog text, which has these ports, with its driver. With ``lint``
    Verilator's warnings are errors. With ``many`` a design without registers has the entry ``mxcast_convert_many``, if
    `many_text` can make it; the compiler then needs several times as long.

    Output of the design by ``$display`` and the like is dropped. Compiled results are kept by content: the Verilog, the
    C++ around it, the library linked to it, and the versions of the tools. Raises `ToolError` if Verilator or the C++
    compiler is missing or fails.
    """
    root, environment, loop = tools.verilator_root(), tools.simulator_environment(), _loop(ports)
    runtime = driver_library(root)
    options = [] if lint else ["-Wno-fatal", "--no-assert"]

    def make(folder: Path) -> None:
        (folder / "dut.v").write_text(text)
        # names without a path, because Verilator takes a $ in a path for a variable
        names = ["--top-module", top, "--prefix", "Vdut", "-Mdir", ".", "dut.v"]
        command = [str(root / "bin" / "verilator_bin"), "--cc", "-O3", "--x-assign", "fast", "--quiet", *options]
        try:
            run_tool(folder, [*command, *names], environment)
        except ToolError as error:
            if "Internal Error" not in str(error):
                raise
            run_tool(folder, [*command, "-fno-dfg", *names], environment)  # most internal errors are in this pass
        # one translation unit, because reading the same headers again would take most of the time
        parts = sorted(path.name for path in folder.glob("Vdut*.cpp"))
        rest = many_text("".join((folder / part).read_text() for part in parts), ports) if many else None
        (folder / "unit.cpp").write_text("".join(f'#include "{part}"\n' for part in parts) + loop + (rest or ""))
        header = ["-include", str(runtime / HEADER)] if rest is None else OPTIONS
        objects = map(str, sorted(runtime.glob("*.o")))
        compile_cpp(folder, ["-shared", *includes(root), *header, "-I.", "unit.cpp", *objects], "dut.so")
        loading = run(python(LOADS, folder / "dut.so"))
        if loading.status:
            why = loading.errors.strip().rpartition("\n")[2] or f"exit status {loading.status}"
            raise ToolError(
                f"the library that the C++ compiler {shlex.join(tools.compiler())} wrote cannot be loaded: {why}"
            )
        for path in folder.iterdir():
            if path.name not in ("dut.v", "dut.so"):
                path.unlink()

    more = [(files(__package__) / name).read_text() for name in ("many.py", "loop/many.cpp")] if many else []
    key = [text, top, loop, *more, runtime.name, *options, OPTIMISATION, tools.verilator_version()]
    return kept_folder("verilated", [*key, *tools.compiler_identity()], make) / "dut.so"
