"""Converters of others, measured with the flows of `TARGETS` and the wrapper of `wrapper.py`; typed in once.

Whole 32-lane converters, from their authors' Verilog, pyosys 0.70 and nextpnr 0.11.1, November 2026. LUTs without
inverters; delays are abc9's, Fmax the median over several seeds. Counts move by a few per cent with the tool version:
they stand beside ours of one version.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["DESIGNS", "PEERS", "Design", "Figure", "peer"]

MEASURED = "pyosys 0.70, nextpnr 0.11.1, 2026-11"


@dataclass(frozen=True, kw_only=True)
class Design:
    """What a peer does, and what it does not."""

    name: str
    source: str
    """The numbers that come in."""
    remark: str
    origin: str


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What a peer's converter takes in one flow; None where it was not measured. The fields are those of our own
    results.
    """

    design: str
    format: str
    """Short name of the block format."""
    flow: str
    """A target, or ``pnr`` for place and route on ECP5: there logic cells are TRELLIS_COMB, the wrapper's included."""
    luts: int | None = None
    carries: int | None = None
    ffs: int | None = None
    logic_cells: int | None = None
    levels: int | None = None
    delay_ps: int | None = None
    fmax_mhz: float | None = None


DESIGNS: dict[str, Design] = {
    d.name: d
    for d in (
        Design(
            name="paper",
            source="fp32",
            origin="Gorodecky and Sousa, the Verilog files published with the paper",
            remark="half up on one guard bit, no element subnormals, NaN and Inf left out, wrong scale for four "
            "formats, "
            "INT8 unusable",
        ),
        Design(
            name="mx_for_fpga",
            source="bf16",
            origin="Samson and others, MX-for-FPGA, generated for 100 MHz",
            remark="ties to even, subnormals, NaN; E5M2: every scale byte one too small, so that elements become "
            "Inf; E4M3: elements above "
            "448 become NaN (found by `mxcast check-rtl`, docs/verification.md)",
        ),
        Design(
            name="mx_for_fpga_pipelined",
            source="bf16",
            origin="Samson and others, MX-for-FPGA, generated for 400 MHz",
            remark="the same, pipelined",
        ),
        Design(
            name="mxcore",
            source="fp32",
            origin="pulp-platform/MXCore, the fp32_to_mxfp8 quantizers with their block scale",
            remark="subnormal elements lose sticky bits, FP32 subnormals are not normalised, blocks with NaN or Inf "
            "have byte 0xF7 for "
            "E4M3 and 0xF0 for E5M2 (found by `mxcast check-rtl`, docs/verification.md)",
        ),
    )
}

# format: xcu LUTs, carries, LCs, levels, ps; ecp5 LUTs, carries, ps; ice40 LUTs, carries; lut6 LUTs; ECP5 placed: COMB,
# MHz
PAPER = {
    "e5m2": (1354, 160, 1002, 28, 14537, 1385, 389, 15842, 1796, 570, 1663, 2755, 34.0),
    "e4m3": (1417, 135, 1071, 29, 14554, 1751, 254, 14448, 1919, 537, 1829, 2565, 36.6),
    "e3m2": (1879, 161, 1389, 31, 15193, 2078, 320, 16417, 2547, 542, 2113, 3170, 30.9),
    "e2m3": (1917, 97, 1508, 30, 15119, 2404, 256, 17126, 2705, 478, 2126, 3375, 31.9),
    "e2m1": (1548, 97, 1217, 28, 14628, 2363, 256, 16040, 2151, 478, 1802, 2980, 33.4),
    "int8": (1372, 161, 1025, 27, 14642, 1604, 352, 16175, 1921, 606, 1918, 2773, 34.5),
}
# format: xcu LUTs, carries, LCs, ps; ECP5 placed: COMB, MHz
MX_FOR_FPGA = {
    "e5m2": (3874, 545, 2433, 17076, 9575, 27.0),
    "e4m3": (3977, 481, 2701, 17209, 10107, 26.2),
    "e3m2": (3272, 511, 2042, 16203, 6524, 29.4),
    "e2m3": (3035, 524, 2039, 16671, 7100, 28.5),
    "e2m1": (2676, 417, 1727, 15086, 5938, 29.5),
    "int8": (2831, 287, 2423, 14783, 7459, 26.8),
}
# format: xcu LUTs, carries, FFs, ps; ECP5 placed: COMB, FFs with those of the wrapper, MHz
MX_FOR_FPGA_PIPELINED = {
    "e5m2": (4503, 545, 872, 6119, 8362, 3339, 65.9),
    "e4m3": (4424, 487, 872, 7749, 8908, 3339, 67.0),
    "e3m2": (3767, 507, 782, 6529, 6156, 3163, 88.7),
    "e2m3": (3525, 486, 783, 7600, 5939, 3164, 81.0),
    "e2m1": (2966, 418, 719, 5594, 4437, 3015, 81.0),
    "int8": (2689, 287, 904, 4670, 6144, 3307, 85.0),
}
# format: xcu LUTs, carries, LCs, levels, ps; ecp5 LUTs, carries, ps; ECP5 placed: COMB, MHz
MXCORE = {
    "e4m3": (2607, 480, 1917, 39, 20502, 5139, 1257, 25506, 8683, 21.0),
    "e5m2": (2525, 435, 1839, 37, 20303, 5152, 1190, 24135, 9036, 21.7),
}


def _figures() -> Iterator[Figure]:
    for name, (luts, carries, cells, levels, ps, *ecp5, ice40, ice40_carries, lut6, comb, mhz) in PAPER.items():
        yield Figure(
            design="paper",
            format=name,
            flow="xcu",
            luts=luts,
            carries=carries,
            logic_cells=cells,
            levels=levels,
            delay_ps=ps,
        )
        yield _ecp5("paper", name, *ecp5)
        yield Figure(design="paper", format=name, flow="ice40", luts=ice40, carries=ice40_carries)
        yield Figure(design="paper", format=name, flow="lut6", luts=lut6, carries=0)
        yield Figure(design="paper", format=name, flow="pnr", logic_cells=comb, fmax_mhz=mhz)
    yield Figure(design="paper", format="e4m3", flow="xcu-relaxed", luts=1344, logic_cells=882)
    for name, (luts, carries, cells, ps, comb, mhz) in MX_FOR_FPGA.items():
        yield Figure(
            design="mx_for_fpga", format=name, flow="xcu", luts=luts, carries=carries, logic_cells=cells, delay_ps=ps
        )
        yield Figure(design="mx_for_fpga", format=name, flow="pnr", logic_cells=comb, fmax_mhz=mhz)
    for name, (luts, carries, ffs, ps, comb, placed_ffs, mhz) in MX_FOR_FPGA_PIPELINED.items():
        yield Figure(
            design="mx_for_fpga_pipelined", format=name, flow="xcu", luts=luts, carries=carries, ffs=ffs, delay_ps=ps
        )
        yield Figure(
            design="mx_for_fpga_pipelined", format=name, flow="pnr", logic_cells=comb, ffs=placed_ffs, fmax_mhz=mhz
        )
    for name, (luts, carries, cells, levels, ps, *ecp5, comb, mhz) in MXCORE.items():
        yield Figure(
            design="mxcore",
            format=name,
            flow="xcu",
            luts=luts,
            carries=carries,
            logic_cells=cells,
            levels=levels,
            delay_ps=ps,
        )
        yield _ecp5("mxcore", name, *ecp5)
        yield Figure(design="mxcore", format=name, flow="pnr", logic_cells=comb, fmax_mhz=mhz)


def _ecp5(design: str, name: str, luts: int, carries: int, ps: int) -> Figure:
    return Figure(
        design=design, format=name, flow="ecp5", luts=luts, carries=carries, logic_cells=luts + 2 * carries, delay_ps=ps
    )


PEERS: tuple[Figure, ...] = tuple(_figures())


def peer(design: str, format: str, flow: str) -> Figure | None:
    """The figure of a design, or None if there is none.

    >>> peer("paper", "e4m3", "xcu").luts
    1417
    """
    return next((f for f in PEERS if (f.design, f.format, f.flow) == (design, format, flow)), None)
