"""Blocks at ties show each rounding of NVFP4 replaced by another, and each two operations exchanged. Exceptions are
listed with their reasons, and tested.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import mxcast
from mxcast.conformance import tensors
from mxcast.hdl import nvfp4_config, verilog
from mxcast.hdl.cast import number as number_cast
from mxcast.hdl.nvfp4 import element as nvfp4_element
from mxcast.hdl.nvfp4 import scale as nvfp4_scale
from mxcast.hdl.primitives.binary32.arithmetic import rounded as rounded_in_hardware
from mxcast.models.arrays.codes import code_values
from mxcast.models.arrays.source import DTYPES, widen
from mxcast.proof.foreign.check_rtl import check_rtl
from mxcast.proof.solve.argument import Status
from mxcast.sim import verify
from mxcast.sim.nvfp4.encode_ties import ties
from mxcast.sim.nvfp4.stimuli import with_constants
from mxcast.sim.operations import golden, of
from mxcast.sim.run.verilator.verilated import driver_of
from mxcast.sim.stimuli.ties import halves, odd_part, products
from mxcast.sim.transactions import Transactions
from mxcast.spec import E2M1, E4M3, CastRounding, Role, nvfp4_decoding, nvfp4_encoding

from .nvfp4.plain_rounding import HALF, PLAIN, ROUNDINGS, C, Plain, Rounder, exchanged, rounded

NEVER_HALFWAY = {
    "te": ("S", "d", "1/6", "k", "f"),
    "paper": ("S", "d", "f"),
    "ao": ("d", "t", "f"),
    "ao_single": ("b/6", "t", "f", "y"),
    "modelopt": ("t", "y"),
    "compressed_tensors": ("1/a", "f", "y"),
}
"""Quotients of numbers of 24 bits: (2m + 1) / 2^n times a divisor would need 25 bits. Products with 1/6 and with 1/s
(`test_products_that_are_never_halfway`). Subnormal quotients of a constant can be halfway."""

ALIKE = {"te": {"1/6 away"}, "ao_single": {"b/6 none", "t toward", "t away", "t none", "f away"}}
"""1/6 and all 1/s are rounded up; without a constant of the tensor t is b/6, no nearer to a limit than 2/3 of a
last place."""

SHORT = {"paper": ("b/6",), "ao": ("b/6",)}
"""Numbers whose subnormal quotient is halfway have more bits than BF16, and are smaller than the numbers of FP16."""

SHORT_TENSORS = {
    ("te", "bf16"): {f"t {how}" for how in HALF} | {"y half_away"},
    ("te", "fp16"): {"y half_away"},
    ("paper", "bf16"): {"y half_away"},
    ("paper", "fp16"): {"y half_away"},
    ("ao", "bf16"): {f"k {how}" for how in HALF} | {"y half_away"},
    ("modelopt", "bf16"): {f"k {how}" for how in HALF},
}
"""With the largest magnitude of a tensor in 16 bits too, no product is halfway, or all go away from zero
(`test_what_does_not_show_in_bf16`)."""


def unseen(order: str, source: str, is_of_tensors: bool) -> set[str]:
    """Steps with other roundings that no block can show."""
    found = {f"{step} {how}" for step in NEVER_HALFWAY[order] for how in HALF} | ALIKE.get(order, set())
    if source != "fp32":
        found |= {f"{step} {how}" for step in SHORT.get(order, ()) for how in HALF}
        found |= {f"b/6 {how}" for how in ("toward", "away")} if order == "ao_single" else set()
        found |= SHORT_TENSORS.get((order, source), set()) if is_of_tensors else set()
        found |= {f"k {how}" for how in HALF} if order in ("ao", "modelopt") and source == "fp16" else set()
    return found


def numbers(patterns: np.ndarray, format: str) -> np.ndarray:
    given = np.ascontiguousarray(patterns).view(DTYPES[format])
    return widen(given, np.empty(given.shape, np.uint32)).view(np.float32).astype(np.float64)


def blocks(order: str, source: str, is_of_tensors: bool) -> tuple[np.ndarray, np.ndarray, Transactions]:
    """Numbers (n, 16), the largest magnitudes of their tensors (n, 1), and the results of the golden model."""
    rules = nvfp4_encoding("nvfp4", f"nvfp4_{order}", source=source)
    if is_of_tensors:
        given = tensors.boundaries(rules, 0)
        x = numbers(given[Role.NUMBERS], source)
        a = np.abs(x).reshape(-1, 16 * tensors.BLOCKS_OF_TENSOR).max(axis=1).repeat(tensors.BLOCKS_OF_TENSOR)
        return x, a[:, None], golden(rules, tensors.with_constants(rules, given))
    found = ties(rules, 0)
    made = golden(rules, with_constants(rules, found.patterns, found.a))
    return numbers(found.patterns, source), found.a.view(np.float32).astype(np.float64)[:, None], made


def differ(one: tuple[np.ndarray, ...], other: tuple[np.ndarray, ...]) -> bool:
    return not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other))


CASES = [
    pytest.param(
        order,
        source,
        of_tensors,
        marks=[] if source == "fp32" and (not of_tensors or order == "te") else pytest.mark.slow,
        id=f"{order}-{source}-{'tensors' if of_tensors else 'blocks'}",
    )
    for source in ("fp32", "bf16", "fp16")
    for order in PLAIN
    for of_tensors in (False, True)
    if source == "fp32" or order != "compressed_tensors"
]


@pytest.mark.parametrize("order, source, of_tensors", CASES)
def test_every_rounding_and_every_order_shows(order, source, of_tensors, record_property):
    x, a, made = blocks(order, source, of_tensors)
    own, r = PLAIN[order], Rounder()
    right = own.encode(r, x, a)
    for format, array, role in ((E4M3, right[0], Role.SCALE), (E2M1, right[1], Role.CODES)):
        is_number = ~np.isnan(array)
        assert is_number.mean() > 0.8
        assert (array == code_values(format)[made[role]])[is_number].all(), "the plain computation is right"
    found = {
        f"{step} {how}": differ(right, own.encode(Rounder(step, how), x, a)) for step in r.steps for how in ROUNDINGS
    }
    assert {name for name, shows in found.items() if not shows} == unseen(order, source, of_tensors)
    others = {name: differ(right, other.encode(Rounder(), x, a)) for name, other in exchanged(order)}
    assert others and all(others.values()), others
    record_property("mutants", len(found) + len(others))


def test_products_that_are_never_halfway():
    """S * (1/6) would need an S of at most two bits; x * (1/s), of the elements' limits, divisors of their halves."""
    for significand in (1 << 23, 3 << 22):
        product = significand * odd_part(float(np.float32(1) / np.float32(6)))
        cut = product.bit_length() - 24
        assert cut <= 0 or product % (1 << cut) != 1 << cut - 1
    factors = {odd_part(float(np.float32(1) / np.float32(s))) for s in range(8, 16)}
    for limit in (1, 3, 5, 7):
        for half in halves(limit):
            assert not factors & {f for _, f in products(half, (24, 24)).tolist()}
    assert all(float(np.float32(1) / np.float32(s)) * s >= 1 for s in range(8, 16))


def short_blocks(order: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Numbers and the largest magnitudes of their tensors. Each significand of BF16 is the largest magnitude of a
    tensor with each of a block, and with each of a number under each significand of a scale.
    """
    significands = 1 + np.arange(128) / 128
    for exponent in range(-19, 1):
        a, b = (grid.reshape(-1, 1) for grid in np.meshgrid(significands, significands * 2.0**exponent))
        yield b[b <= a][:, None], a[b <= a][:, None]
    for s in range(8, 16):
        a = significands[:, None]
        b = rounded(a * s / 16 / 28, 7, -126)
        x = np.stack(np.broadcast_arrays(*(significands * 2.0**exponent for exponent in range(-12, -3)))).ravel()
        x = np.where(x <= b, x, 0)
        yield np.concatenate([b, x, -x], axis=1), a


@pytest.mark.slow
@pytest.mark.parametrize("order", ["te", "paper", "ao", "modelopt", "ao_single"])
def test_what_does_not_show_in_bf16(order):
    """All pairs of significands."""
    own = PLAIN[order]
    for x, a in short_blocks(order):
        right = own.encode(Rounder(), x, a)
        for name in unseen(order, "bf16", True):
            assert not differ(right, own.encode(Rounder(*name.split(" ")), x, a)), name


DECODED = {
    "nvfp4_te": lambda r, s, g: r("(s*a)/C", r("s*a", s * g) * r("1/C", 1 / C)),
    "nvfp4_ao": lambda r, s, g: r("s*g", s * g),
    "nvfp4_compressed_tensors": lambda r, s, g: r("s/g", s / g),
}
DESTINATIONS = {"fp32": (23, -126, 0), "bf16": (7, -126, 0x7F7F), "fp16": (10, -14, 0x7BFF)}
DECODED_ALIKE = {*(f"{step} {how}" for step in ("1/C", "(s*a)/C", "s/g") for how in HALF), "1/C away"}
"""Quotients, a product with 1/C, whose odd part has 24 bits, and 1/C, which is rounded up."""


@pytest.mark.parametrize("destination", DESTINATIONS)
@pytest.mark.parametrize("profile", DECODED)
def test_every_rounding_of_decoders_shows(profile, destination):
    rules = nvfp4_decoding("nvfp4", profile, destination=destination)
    (_, (given,)), *_ = of(rules).stimuli("ties", 0, 0)
    s, q = (code_values(format)[given[role]].astype(float) for format, role in ((E4M3, Role.SCALE), (E2M1, Role.CODES)))
    g = numbers(given[Role.TENSOR_SCALE], "fp32")
    man_bits, emin, largest = DESTINATIONS[destination]

    def decoded(r: Rounder) -> tuple[np.ndarray]:
        with np.errstate(all="ignore"):
            y = r("y", q * DECODED[profile](r, s, g))
            if not largest:
                return (y,)
            y = r.to("y to " + destination, y, man_bits, emin, np.inf)
            most = numbers(np.array([largest], np.uint16), destination)
            return (np.where(np.abs(y) > most, np.copysign(np.inf, y), y),)

    r = Rounder()
    right = decoded(r)
    assert np.array_equal(right[0], numbers(golden(rules, given)[Role.NUMBERS], destination), equal_nan=True)
    found = {f"{step} {how}": differ(right, decoded(Rounder(step, how))) for step in r.steps for how in ROUNDINGS}
    assert {name for name, shows in found.items() if not shows} == DECODED_ALIKE & set(found)


AWAY = {**number_cast.ROUNDINGS, CastRounding.RNE: number_cast.ROUNDINGS[CastRounding.RNA]}

WRONG = {
    "(b * S) / 6 in place of b * (S / 6)": ("te", "t = (b * S) / 6"),
    "b * (S / 6) in place of (b / 6) * S": ("paper", "t = b * (S / 6)"),
}


@pytest.mark.parametrize(
    "wrong", [pytest.param(wrong, marks=[] if i else pytest.mark.slow) for i, wrong in enumerate(WRONG)]
)
def test_identify_tells_orders_apart(wrong):
    """Orders of which no block of N(0,1) differs from a profile."""
    order, name = WRONG[wrong]
    found = mxcast.identify(encoder(dict(exchanged(order))[name]), "nvfp4", blocks=1000)
    assert found.verdict == "differs" and set(found.causes) == {"the scale byte"}, found.sentence
    assert "follows no known rules" in found.sentence and "from which 0 of 10,000" in found.sentence


def encoder(plain: Plain):
    """A function on tensors."""
    scales, elements = (code_values(format)[:128].astype(float) for format in (E4M3, E2M1))

    def encode(x):
        if not np.isfinite(x).all() or not x.any():
            known = mxcast.quantize(x, "nvfp4")
            return known.scales, known.codes
        s, v = plain.encode(Rounder(), x.astype(float), np.abs(x).max().reshape(1, 1).astype(float))
        codes = np.searchsorted(elements[:8], np.abs(v)) | np.where(np.signbit(v), 8, 0)
        return np.searchsorted(scales[:127], s[:, 0]), codes

    return encode


def ties_up(m, name, number, sticky=0):
    """`hdl.primitives.binary32.arithmetic.rounded` with ties away from zero, as if something were set below them."""
    return rounded_in_hardware(m, name, number, 1)


IN_HARDWARE = {
    "t": (nvfp4_config("nvfp4"), (nvfp4_scale, "rounded", ties_up)),
    "y": (nvfp4_config("nvfp4", form="product"), (nvfp4_element, "rounded", ties_up)),
    "the scale": (nvfp4_config("nvfp4", source="bf16"), (number_cast, "ROUNDINGS", AWAY)),
}


@pytest.mark.parametrize(
    "step", [pytest.param(step, marks=[] if step == "t" else pytest.mark.slow) for step in IN_HARDWARE]
)
def test_verify_tells_ties_in_hardware(step, monkeypatch):
    config, change = IN_HARDWARE[step]
    sound = verilog(config, "dut")
    monkeypatch.setattr(*change)
    text = verilog(config, "dut")
    assert text != sound
    assert not verify(config, design=driver_of(text, "dut", config), stimuli="ties").passed


@pytest.mark.slow
def test_check_rtl_tells_ties(tmp_path, monkeypatch):
    config, change = IN_HARDWARE["t"]
    monkeypatch.setattr(*change)
    (tmp_path / "dut.v").write_text(verilog(config, "dut"))
    monkeypatch.undo()
    check = check_rtl([tmp_path / "dut.v"], "dut", config, out=tmp_path, blocks=2000)
    assert check.status is Status.FAIL and not check.matches
    assert next(row for row in check.stimuli if row["stimulus"] == "ties")["differ"] > 0
