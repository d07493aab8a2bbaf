"""Mislabelled files are found, in every layout that allows the mistake, and right files are not reported."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from mxcast.models import BlockArray, quantize, quantize_nvfp4
from mxcast.models.arrays.stored_bytes import swizzled, unswizzled
from mxcast.spec import E4M3, E8M0, LAYOUTS
from mxcast.spec.layouts.catalogue import Layout, Packing, ScaleByte, ScaleOrder
from mxcast.tensors.inspect.inspection import inspect_file

from ..stored_files import EVERY, NAME, NORM, SAMPLE, WEIGHTS, quantized, stored, with_scales, write

FOUR_BITS = [layout for layout in EVERY if layout.element_bits == 4]
NVFP4 = [layout for layout in EVERY if layout.tensor_scale is not None]
TILES = [layout for layout in EVERY if layout.order is ScaleOrder.TILES_128X4]
IN_ORDER = [
    layout
    for layout in EVERY
    if layout.order is ScaleOrder.LINEAR and layout.scales and (layout.axis == -1 or layout.is_transposed)
]
EXPONENTS = [one for one in EVERY if one.block_format.scale == E8M0 and one.scale_byte is ScaleByte.CODE]
E4M3_SCALES = [layout for layout in EVERY if layout.block_format.scale == E4M3]


def kinds(path, layout: Layout) -> set[str]:
    return {str(suspicion.kind) for suspicion in inspect_file(path, layout.name).suspicions}


def ids(layouts: list[Layout]) -> list[str]:
    return [layout.name for layout in layouts]


@pytest.mark.parametrize("layout", EVERY, ids=ids(EVERY))
def test_a_right_file_has_none(layout, tmp_path):
    assert kinds(write(tmp_path / "a.safetensors", layout, stored(layout, quantized(layout))), layout) == set()


def other_order(layout: Layout, packing: Packing) -> Layout:
    return replace(layout, packing=packing, reads_otherwise=())


def test_swapped_codes(tmp_path):
    for layout in FOUR_BITS:
        swapped = Packing.LOW_FIRST if layout.packing is Packing.HIGH_FIRST else Packing.HIGH_FIRST
        path = write(tmp_path / "a.safetensors", layout, stored(other_order(layout, swapped), quantized(layout)))
        assert kinds(path, layout) == {"code_order"}, layout.name


def test_halves_against_neighbours(tmp_path):
    for layout in FOUR_BITS:
        other = Packing.LOW_FIRST if layout.packing is Packing.HALVES else Packing.HALVES
        path = write(tmp_path / "a.safetensors", layout, stored(other_order(layout, other), quantized(layout)))
        assert kinds(path, layout) == {"code_order"}, layout.name


def test_codes_split_over_two_blocks(tmp_path):
    """Byte j of 16 has code j low and code j + 16 high, where blocks are of 16."""
    for layout in E4M3_SCALES:
        if layout.packing is not Packing.HALVES:
            q = quantized(layout)
            lines = np.moveaxis(q.codes, q.axis, -1)
            pairs = lines.reshape(*lines.shape[:-1], -1, 2, 16).swapaxes(-1, -2).reshape(lines.shape)
            mixed = BlockArray(**vars(with_scales(q, q.scales)) | {"codes": np.moveaxis(pairs, -1, q.axis)})
            path = write(tmp_path / "a.safetensors", layout, stored(layout, mixed))
            assert "split" in kinds(path, layout), layout.name


def test_a_tensor_scale_of_another_convention(tmp_path):
    """2688 over the largest magnitude for a 2688th of it, the reverse, and each of them for the magnitude itself."""
    amax = np.abs(WEIGHTS).max()
    values = {"multiplier": amax / 2688, "divisor": 2688 / amax, "amax": amax}
    for layout in NVFP4:
        for convention in {"multiplier": ["divisor", "amax"], "divisor": ["multiplier"], "amax": ["divisor"]}[
            layout.convention
        ]:
            arrays = stored(layout, quantized(layout))
            scale = arrays[layout.tensor_scale.of(NAME)]
            arrays[layout.tensor_scale.of(NAME)] = np.full(scale.shape, values[convention], np.float32)
            found = inspect_file(write(tmp_path / "a.safetensors", layout, arrays), layout.name).suspicions
            assert [str(one.kind) for one in found] == ["tensor_scale"], (layout.name, convention)
            assert f"as {convention}" in found[0].sentence and found[0].figures[convention] == pytest.approx(
                float(amax), rel=0.02
            )


def test_a_tensor_scale_that_is_no_number(tmp_path):
    for layout in NVFP4:
        arrays = stored(layout, quantized(layout))
        arrays[layout.tensor_scale.of(NAME)] = arrays[layout.tensor_scale.of(NAME)] * np.float32(np.nan)
        assert kinds(write(tmp_path / "a.safetensors", layout, arrays), layout) == {"tensor_scale"}


def test_a_missing_tensor_scale(tmp_path):
    for layout in NVFP4:
        arrays = stored(layout, quantized(layout))
        del arrays[layout.tensor_scale.of(NAME)]
        assert kinds(write(tmp_path / "a.safetensors", layout, arrays), layout) == {"missing_tensor_scale"}


def test_block_scales_that_need_no_tensor_scale(tmp_path):
    """Block scales without a tensor scale are numbers themselves, and right."""
    layout = next(one for one in NVFP4 if one.dialect == "torchao")
    q = quantize_nvfp4(WEIGHTS, "nvfp4", "nvfp4_ao_single")
    arrays = {name: a for name, a in stored(layout, q).items() if name != layout.tensor_scale.of(NAME)}
    assert kinds(write(tmp_path / "a.safetensors", layout, arrays), layout) == set()


def test_scales_in_tiles_twice_and_in_order(tmp_path):
    for layout in TILES:
        arrays = stored(layout, quantized(layout))
        scales = layout.scales.of(NAME)
        tiles = arrays[scales].reshape(128, -1)
        in_order = unswizzled(tiles, *tiles.shape)
        for wrong, words in ((swizzled(tiles), "in tiles of 128 x 4 twice"), (in_order, "in the order of the blocks")):
            path = write(tmp_path / "a.safetensors", layout, arrays | {scales: wrong.reshape(arrays[scales].shape)})
            (found,) = inspect_file(path, layout.name).suspicions
            assert found.kind == "scale_order" and f"seem to be {words}, not" in found.sentence


def test_scales_in_tiles_where_they_should_stand_in_order(tmp_path):
    for layout in IN_ORDER:
        arrays = stored(layout, quantized(layout))
        scales = layout.scales.of(NAME)
        path = write(tmp_path / "a.safetensors", layout, arrays | {scales: swizzled(arrays[scales])})
        assert kinds(path, layout) == {"scale_order"}, layout.name


def test_bytes_that_complete_tiles(tmp_path):
    """Padding of the last rows and columns counts, and scales do not."""
    for layout in TILES:
        arrays = stored(layout, quantized(layout, rows=96))
        scales = arrays[layout.scales.of(NAME)].copy()
        tiles = scales.reshape(1, -1, 512)
        assert not tiles[0, 0, 31 * 16 + 12]  # line 127, block 0
        tiles[0, 0, 31 * 16 + 12] = 1
        path = write(tmp_path / "a.safetensors", layout, arrays | {layout.scales.of(NAME): scales})
        (found,) = inspect_file(path, layout.name).suspicions
        assert (str(found.kind), found.figures) == ("scale_padding", {"bytes": 1})


def test_exponents_stored_as_numbers(tmp_path):
    """Scales of weights, below 1, become zeros; larger scales become powers of two."""
    for layout in EXPONENTS:
        for factor in (1, 64):
            q = quantized(layout, factor=factor)
            wrong = with_scales(q, np.ldexp(1.0, q.scales.astype(int) - 127).astype(np.uint8))
            path = write(tmp_path / "a.safetensors", layout, stored(layout, wrong))
            assert "scale_values" in kinds(path, layout), layout.name


def test_exponents_without_the_bias(tmp_path):
    """Exponents in two's complement instead of codes, and codes in a layout of exponents."""
    both = [layout for layout in EVERY if layout.block_format.scale == E8M0]
    assert any(layout.scale_byte is ScaleByte.EXPONENT for layout in both)
    for layout in both:
        for factor in (1, 1 / 16):
            q = quantized(layout, factor=factor)
            shift = 127 if layout.scale_byte is ScaleByte.EXPONENT else -127
            wrong = with_scales(q, (q.scales.astype(int) + shift).astype(np.uint8))
            path = write(tmp_path / "a.safetensors", layout, stored(layout, wrong))
            found = [one for one in inspect_file(path, layout.name).suspicions if str(one.kind) == "scale_values"]
            assert len(found) == 1 and "as codes of E8M0" in found[0].sentence, layout.name
            weights = np.abs(WEIGHTS).max() * factor
            assert weights / 4 <= found[0].figures["amax otherwise"] <= weights * 4, layout.name


def test_exponents_as_e4m3_and_e4m3_as_exponents(tmp_path):
    for layout in E4M3_SCALES:
        x = WEIGHTS if layout.axis == -1 else WEIGHTS.T.copy()
        exponents = quantize(x, "e2m1", block_size=16, axis=layout.axis)
        q = quantized(layout)
        wrong = BlockArray(**vars(with_scales(q, exponents.scales)) | {"codes": exponents.codes})
        path = write(tmp_path / "a.safetensors", layout, stored(layout, wrong))
        assert "scale_format" in kinds(path, layout), layout.name
    for layout in FOUR_BITS:
        if layout.block_format.scale == E8M0 and layout.scale_byte is ScaleByte.CODE:
            other = quantize_nvfp4(WEIGHTS, "nvfp4_32", "nvfp4_ao")
            wrong = BlockArray(codes=other.codes, scales=other.scales, block=layout.block_format)
            path = write(tmp_path / "a.safetensors", layout, stored(layout, wrong))
            assert "scale_format" in kinds(path, layout), layout.name


def test_scales_shifted_by_the_sign_bit(tmp_path):
    for layout in E4M3_SCALES:
        q = quantized(layout)
        path = write(tmp_path / "a.safetensors", layout, stored(layout, with_scales(q, q.scales << 1)))
        (found,) = (one for one in inspect_file(path, layout.name).suspicions if str(one.kind) == "sign_bit")
        assert "shifted by the sign bit" in found.sentence
        signed = write(tmp_path / "a.safetensors", layout, stored(layout, with_scales(q, q.scales | 0x80)))
        assert "sign_bit" in kinds(signed, layout)


def test_gate_and_up(tmp_path):
    """One tensor scale is right, two are suspicious; ggml does not fuse layers."""
    up = NAME.replace("gate", "up")
    for layout in NVFP4:
        gate = quantized(layout)
        for factor, expected in ((1, set()), (0.5, {"gate_and_up"} if layout.scales else set())):
            arrays = stored(layout, gate) | stored(layout, quantized(layout, factor=factor), up)
            path = write(tmp_path / "a.safetensors", layout, arrays, names=(NAME, up))
            assert kinds(path, layout) == expected, layout.name


IN_TURN = [
    (LAYOUTS["gpt_oss"]["mxfp4_e2m1"], "model.layers.0.mlp.experts.gate_up_proj"),
    (LAYOUTS["gpt_oss_original"]["mxfp4_e2m1"], "block.0.mlp.mlp1_weight"),
]


@pytest.mark.parametrize("layout, name", IN_TURN, ids=lambda value: str(getattr(value, "name", value)))
def test_gate_and_up_in_turn(layout, name, tmp_path):
    """Two matrices of a model for three experts; tensors of other names may have any order of rows."""
    up = SAMPLE["encoder.layer.0.attention.self.query.weight.rows0_128"]
    in_turn, after = (np.stack([WEIGHTS, up], axis).reshape(1, 256, 384).repeat(3, 0) for axis in (1, 0))
    plain = name.replace("gate_up", "down").replace("mlp1", "mlp2")
    for x, tensor, expected in (
        (in_turn, name, set()),
        (after, name, {"gate_and_up"}),
        (after, plain, set()),
        (np.stack([WEIGHTS, WEIGHTS]).reshape(1, 256, 384), name, set()),
        (np.zeros((2, 256, 384), np.float32), name, set()),
        (after[:, 96:160], name, set()),  # too few rows to say
    ):
        arrays = stored(layout, quantize(x, "e2m1"), tensor)
        path = write(tmp_path / "a.safetensors", layout, arrays, names=(tensor,))
        assert kinds(path, layout) == expected, tensor
    (found,) = inspect_file(
        write(tmp_path / "a.safetensors", layout, stored(layout, quantize(after, "e2m1"), name), names=(name,)),
        layout.name,
    ).suspicions
    assert found.figures["halves"] > 8 and found.figures["in turn"] < 3


def other_dtypes() -> Iterator[tuple[Layout, str]]:
    for layout in EVERY:
        if layout.scales is not None:
            yield layout, "F8_E4M3" if layout.scales.dtype in ("U8", "F8_E8M0") else "F8_E8M0"


def test_scales_of_another_dtype(tmp_path):
    for layout, dtype in other_dtypes():
        scales = layout.scales.of(NAME)
        path = write(tmp_path / "a.safetensors", layout, stored(layout, quantized(layout)), dtypes={scales: dtype})
        (found,) = inspect_file(path, layout.name).suspicions
        assert found.kind == "contradiction"
        assert found.sentence == (
            f"{scales!r} is {dtype}, and the layout {layout.name} has {layout.scales.dtype} there"
        )


DISTRIBUTIONS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "normal": lambda rng: rng.normal(size=(256, 1024)),
    "uniform": lambda rng: rng.uniform(-0.05, 0.05, (256, 1024)),
    "heavy tails": lambda rng: rng.standard_t(3, (256, 1024)),
    "rows": lambda rng: rng.normal(size=(256, 1024)) * rng.lognormal(size=(256, 1)),
    "outliers": lambda rng: rng.normal(size=(256, 1024)) * np.where(rng.random(1024) < 0.01, 20, 1),
    "heads": lambda rng: rng.normal(size=(256, 1024)) * rng.lognormal(size=(4, 1)).repeat(64, 0),
    "heads of columns": lambda rng: rng.normal(size=(256, 1024)) * rng.lognormal(size=16).repeat(64),
    "sparse": lambda rng: rng.normal(size=(256, 1024)) * (rng.random((256, 1024)) < 0.02),
    "ternary": lambda rng: rng.integers(-1, 2, (256, 1024)) * 0.02,
    "zero": lambda rng: np.zeros((256, 1024)),
    "tiny": lambda rng: rng.normal(size=(256, 1024)) * 2.0**-30,
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_random_numbers_have_none(name, tmp_path):
    """Whatever they are: in layouts with both kinds of scales, in order and in tiles. Zeros become NaN under the rules
    of torchao.
    """
    x = DISTRIBUTIONS[name](np.random.default_rng(11)).astype(np.float32)
    for layout in FOUR_BITS:
        if layout.axis == -1 and layout.dialect in ("gpt_oss", "torchao_swizzled", "comfy", "te", "mlx"):
            profiles = {"multiplier": "nvfp4_ao", "amax": "nvfp4_te_4over6"}
            profile = profiles.get(layout.convention)
            q = quantize_nvfp4(x, "nvfp4", profile) if profile else quantize(x, "e2m1")
            path = write(tmp_path / "a.safetensors", layout, stored(layout, q))
            is_nan = name == "zero" and profile == "nvfp4_ao"
            assert kinds(path, layout) == ({"nan_scale"} if is_nan else set()), layout.name


def test_the_reference_of_the_codes_is_what_tells(tmp_path):
    """Without another tensor of the same channels the order is not reported."""
    layout = next(one for one in FOUR_BITS if one.dialect == "gpt_oss")
    arrays = stored(other_order(layout, Packing.HIGH_FIRST), quantized(layout))
    path = write(tmp_path / "a.safetensors", layout, arrays)
    (found,) = inspect_file(path, layout.name).suspicions
    assert "'norm'" in found.sentence and found.figures["high_first"] > 7 > 4 > found.figures["low_first"]
    path = write(tmp_path / "a.safetensors", layout, arrays, norm=NORM[::-1].copy())
    assert kinds(path, layout) == set()


def test_channels_that_repeat(tmp_path):
    """Tensors with a pattern for each head correlate by chance in any order, and nothing is reported."""
    layout = next(one for one in FOUR_BITS if one.dialect == "gpt_oss")
    for seed in range(12):
        rng = np.random.default_rng(seed)
        pattern, other = (np.tile(rng.lognormal(size=32), 32) for _ in range(2))
        q = quantize((rng.normal(size=(64, 1024)) * pattern).astype(np.float32), "e2m1")
        path = write(tmp_path / "a.safetensors", layout, stored(layout, q), norm=other.astype(np.float32))
        assert kinds(path, layout) == set()
