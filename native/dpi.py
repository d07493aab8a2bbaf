"""DPI-C: a SystemVerilog package with the model as a function of the ports of a design, and the C behind it."""

from __future__ import annotations

from ..hdl import ConverterConfig, DecoderConfig, HardwareConfig
from ..spec import Port
from .configured import check_config, sides

PACKAGE = """\
// {name}_dpi_pkg: the golden model of {name} as a function. Compile {name}_dpi.c with it.
// SPDX-License-Identifier: Apache-2.0
package {name}_dpi_pkg;
  localparam int BLOCK_SIZE = {size};

  // The results of one block, with element 0 in the low bits as at the ports of {name}.
  import "DPI-C" function void {name}_model(
{arguments}
  );
endpackage
"""

BEHIND = """\
/* The function of {name}_dpi_pkg, for the simulator to call.

   SPDX-License-Identifier: Apache-2.0 */

#include "{name}.h"
#include "svdpi.h"

/* Lane i, of some bits, in the words of a packed vector. */
static uint64_t lane_of(const svBitVecVal *vector, int bits, int i) {{
    uint64_t value = 0;
    for (int bit = 0; bit < bits; bit++) {{
        const int place = i * bits + bit;
        value |= (uint64_t)(vector[place / 32] >> (place % 32) & 1) << bit;
    }}
    return value;
}}

/* Store a lane. The words of the vector are zero before. */
static void store_lane(svBitVecVal *vector, int bits, int i, uint64_t value) {{
    for (int bit = 0; bit < bits; bit++) {{
        const int place = i * bits + bit;
        vector[place / 32] |= (svBitVecVal)(value >> bit & 1) << (place % 32);
    }}
}}

#ifdef __cplusplus
extern "C"
#endif
void {name}_model({parameters}) {{
    uint64_t in[{upper}_INPUTS], out[{upper}_RESULTS];
{body}
}}
"""


MAKEFILE = """\
# The scoreboard of {name}, in Verilator 5.036 or newer. `make check RUN="+blocks=100000 +seed=7"` drives more blocks.
VERILATOR ?= verilator
RTL ?= ../rtl/{name}.v
SOURCES = {name}_dpi_pkg.sv {name}_scoreboard.sv $(RTL) {name}_dpi.c

check: obj_dir/V{name}_scoreboard
\tobj_dir/V{name}_scoreboard $(RUN)

obj_dir/V{name}_scoreboard: $(SOURCES) {name}.h mxcast.h
\t$(VERILATOR) --binary --timing -CFLAGS -std=c++20 --top-module {name}_scoreboard $(SOURCES)

.PHONY: check
"""


def check_dpi(config: HardwareConfig) -> None:
    """Raise ValueError unless there is a scoreboard for the operation and the pins of a configuration."""
    check_config(config)
    if not isinstance(config, ConverterConfig | DecoderConfig):
        raise ValueError(f"--dpi is for encoders and decoders of MX formats, not for {config.KIND} yet")
    if config.in_beats:
        raise ValueError("--dpi sends whole blocks by valid and ready: leave out lanes and interface")
    if config.layout is not None:
        raise ValueError(f"--dpi compares scales and codes, not the bytes of {config.layout.dialect}: leave out layout")


def package(config: HardwareConfig, name: str) -> str:
    """The text of ``<name>_dpi_pkg.sv``."""
    entering, leaving = sides(config.numerics)
    arguments = (f"    {port.direction} bit [{port.width - 1}:0] {port.name}" for port in [*entering, *leaving])
    return PACKAGE.format(name=name, size=config.numerics.block_size, arguments=",\n".join(arguments))


def behind(config: HardwareConfig, name: str) -> str:
    """The text of ``<name>_dpi.c``."""
    entering, leaving = sides(config.numerics)
    parameters = [f"const svBitVecVal *{port.name}" for port in entering]
    parameters += [f"svBitVecVal *{port.name}" for port in leaving]
    body = [*_loops(entering, "in[{} + i] = lane_of({}, {}, i);"), f"    {name}_words(in, out);"]
    body += [f"    memset({port.name}, 0, {-(-port.width // 32)} * sizeof(svBitVecVal));" for port in leaving]
    body += _loops(leaving, "store_lane({1}, {2}, i, out[{0} + i]);")
    return BEHIND.format(name=name, upper=name.upper(), parameters=", ".join(parameters), body="\n".join(body))


def _loops(ports: list[Port], statement: str) -> list[str]:
    """A loop over the lanes of each port. The statement takes the first word of the port, its name and its bits."""
    lines, start = [], 0
    for port in ports:
        lines.append(f"    for (int i = 0; i < {port.lanes}; i++) {statement.format(start, port.name, port.bits)}")
        start += port.lanes
    return lines
