"""4 over 6 in Verilog: its arithmetic against NumPy's float32, blocks against the golden model, and planted bugs."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import pytest

from mxcast.hdl import nvfp4_config, verilog
from mxcast.hdl.nvfp4.candidate import ElementError, ErrorSum, GridUnit
from mxcast.hdl.primitives.binary32.limits import INF
from mxcast.models.arrays.codes import code_values
from mxcast.models.fast.nvfp4_encode import POWERS, Chunk
from mxcast.sim import verify
from mxcast.sim.operations import golden
from mxcast.sim.run.verilator.verilated import driver_of
from mxcast.sim.transactions import Transactions
from mxcast.spec import E2M1, E4M3, FP32, FourOverSix

from ...hdl.simulation import outputs

PROFILE = "nvfp4_te_4over6"
LARGEST = FP32.max_code
LONG = 32


def patterns(values: np.ndarray) -> list[int]:
    """Patterns of magnitudes, as hardware has them before it turns larger numbers into Inf."""
    return np.abs(np.asarray(values, np.float32)).view(np.uint32).tolist()


def pairs(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Magnitudes: any two, two of about the same size, and two of which one may be subnormal."""
    a = rng.integers(0, LARGEST + 1, 3 * count)
    near = np.clip(a[:count] + rng.integers(-1 << 25, 1 << 25, count), 0, LARGEST)
    b = np.concatenate([near, rng.integers(0, LARGEST + 1, count), rng.integers(0, 1 << 24, count)])
    a[2 * count :] = rng.integers(0, 1 << 28, count)
    return a.astype(np.uint32), b.astype(np.uint32)


def test_sums():
    a, b = pairs(np.random.default_rng(1), 300)
    with np.errstate(over="ignore"):
        expected = patterns(a.view(np.float32) + b.view(np.float32))
    found = outputs(ErrorSum(), [{"a": x, "b": y} for x, y in zip(a.tolist(), b.tolist())], ["total"])
    assert [min(total, INF) for (total,) in found] == expected


@pytest.mark.parametrize("metric", ["mae", "mse"])
def test_errors(metric):
    v, x = pairs(np.random.default_rng(2), 300)
    config = nvfp4_config("nvfp4", PROFILE, four_over_six=metric)
    with np.errstate(all="ignore"):
        expected = patterns(POWERS[FourOverSix(metric)](v.view(np.float32) - x.view(np.float32)))
    stimuli = [{"x": number, "p": 3, "grid": value << 3 * LONG} for value, number in zip(v.tolist(), x.tolist())]
    found = outputs(ElementError(config), stimuli, ["error"])
    assert [min(error, INF) for (error,) in found] == expected


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scale_max", [448, 256])
def test_the_grid(scale_max):
    """Under scales of all magnitudes, in tensors of all magnitudes and of subnormal ones."""
    rng = np.random.default_rng(3)
    a = np.concatenate([rng.integers(0, LARGEST + 1, 40), rng.integers(0, 16 << 23, 40), [0, 1, LARGEST]])
    scales = rng.integers(0, E4M3.max_code + 1, len(a))
    with np.errstate(all="ignore"):
        scaled = code_values(E2M1)[:8] * code_values(E4M3)[scales][:, None]
        expected = scaled * a.astype(np.uint32).view(np.float32)[:, None] / np.float32(6 * scale_max)
    stimuli = [{"scale": scale, "a": amax} for scale, amax in zip(scales.tolist(), a.tolist())]
    config = nvfp4_config("nvfp4", PROFILE, scale_max=scale_max)
    for (grid,), values in zip(outputs(GridUnit(config), stimuli, ["grid"]), expected):
        assert [min(grid >> LONG * code & 0xFFFFFFFF, INF) for code in range(8)] == patterns(values)


@pytest.mark.parametrize(
    "fields",
    [
        {"source": "bf16"},
        *(
            pytest.param(fields, marks=pytest.mark.slow)
            for fields in [
                {},
                {"four_over_six": "mse", "source": "bf16", "form": "product"},
                {"four_over_six": "mse", "scale_max": 256},
                {"registered_after": "input,amax,scale,factor,codes,errors,sum1,sum8,sum15,output", "scale_max": 256},
            ]
        ),
    ],
    ids=str,
)
def test_the_golden_model(fields):
    config = nvfp4_config("nvfp4", PROFILE, **fields)
    result = verify(config, design=driver_of(verilog(config, "dut"), "dut", config), blocks=20_000)
    assert result.passed, result.report


def errors(chunk: Chunk, scales: np.ndarray, codes: np.ndarray, *, reverse: bool = False, late: bool = False):
    """Errors of the golden model; from the last element to the first, or with the product with a after the division."""
    values = code_values(E2M1)[codes].reshape(len(scales), -1) * code_values(E4M3)[scales][:, None]
    c, a = np.float32(6 * chunk.numerics.scale_max), chunk.constants.a[:, None]
    v = values / c * a if late else values * a / c
    terms = POWERS[chunk.numerics.four_over_six](v - chunk.bits.view(np.float32).reshape(v.shape))
    return np.cumsum(terms[:, ::-1] if reverse else terms, axis=1, dtype=np.float32)[:, -1]


PLANTED: dict[str, tuple[str, Callable]] = {
    "a tie goes to 4": ("_is_better", lambda chunk, four, six: four <= six),
    "the sum in another order": ("_error", lambda *given: errors(*given, reverse=True)),
    "a after the division": ("_error", lambda *given: errors(*given, late=True)),
}


@pytest.mark.parametrize("metric", ["mae", "mse"])
@pytest.mark.parametrize("bug", PLANTED)
def test_planted_bugs_are_found(bug, metric):
    config = nvfp4_config("nvfp4", PROFILE, four_over_six=metric)

    def planted(given: Transactions) -> Transactions:
        with patch.object(Chunk, *PLANTED[bug]):
            return golden(config.numerics, given)

    assert not verify(config, design=planted, stimuli="boundary").passed


def test_without_a_bug_nothing_is_found():
    config = nvfp4_config("nvfp4", PROFILE)
    with patch.object(Chunk, "_error", errors):
        assert verify(config, design=lambda given: golden(config.numerics, given), stimuli="boundary").passed


def test_the_other_largest_scale_is_found():
    config, other = (nvfp4_config("nvfp4", PROFILE, scale_max=most) for most in (256, 448))
    result = verify(config, design=lambda given: golden(other.numerics, given), stimuli="random", blocks=300)
    assert not result.passed
