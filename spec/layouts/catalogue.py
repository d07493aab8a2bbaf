"""Layouts: the places of codes and scales in the arrays that a library stores.

A dialect is the set of layouts of one library, one for each block format. Names of stored arrays contain the name of
the tensor: ``{name}`` is the whole name, ``{leaf}`` its last part, and ``{module}`` the text before it with the dot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypedDict, Unpack

from ..catalogue import Rule, known_name
from ..formats.block import BLOCKS, OTHER_BLOCKS, BlockFormat, Convention
from ..operations.ports import Port, Role


class Packing(Rule):
    """Packing of element codes into bytes; v0, v1, ... are neighbouring codes."""

    BYTES = "bytes", "one code a byte, in its low bits"
    LOW_FIRST = "low_first", "two codes of four bits a byte: v0 | v1 << 4"
    HIGH_FIRST = "high_first", "two codes of four bits a byte: v0 << 4 | v1"
    HALVES = "halves", "two codes of four bits a byte: byte j of a block has code j low, and code j + half a block high"
    LITTLE_ENDIAN = "little_endian", "four codes of six bits in three bytes: v0 | v1 << 6 | v2 << 12 | v3 << 18"
    HIGH_PARTS = (
        "high_parts",
        "four codes of six bits in three bytes: their upper two bits, those of v0 on top, and then their lower four, "
        "v0 << 4 | v1 and v2 << 4 | v3 (AMD Quark, Pack_mxfp6)",
    )


class ScalePlace(Rule):
    """Place of the scales."""

    APART = "apart", "in an array of their own"
    BEFORE = "before", "before the codes of the blocks, in the same array"
    AFTER = "after", "after the codes of the blocks, in the same array"


class ScaleOrder(Rule):
    """Order of scales in their own array."""

    LINEAR = "linear", "in the order of the blocks"
    TILES_128X4 = (
        "tiles_128x4",
        "in tiles of 128 rows and 4 blocks, 512 bytes each, one after the other along a row of tiles; in a tile, row r "
        "and block c are byte (r % 32) * 16 + r // 32 * 4 + c; zeros complete the last tiles (cuBLAS, block scaling)",
    )


class ScaleByte(Rule):
    """Byte that encodes a scale."""

    CODE = "code", "the code itself"
    EXPONENT = "exponent", "the code - 127, in two's complement (AMD Quark, Pack_mxfp4 and Pack_mxfp6)"


@dataclass(frozen=True, kw_only=True)
class Part:
    """One stored array: its name, with fields for the name of the tensor, and the name of its dtype in safetensors.

    >>> Part(name="{module}_{leaf}_qdata", dtype="U8").of("model.up.weight")
    'model.up._weight_qdata'
    """

    name: str
    dtype: str

    def of(self, tensor: str) -> str:
        """The name of the array of a tensor."""
        module, dot, leaf = tensor.rpartition(".")
        return self.name.format(name=tensor, module=module + dot, leaf=leaf)

    def tensor_of(self, name: str) -> str | None:
        """The tensor with an array of this name, or None. Its last part is ``weight`` unless the name contains it.

        >>> Part(name="{module}_{leaf}_qdata", dtype="U8").tensor_of("model.up._weight_qdata")
        'model.up.weight'
        """
        pattern = re.escape(self.name).replace(r"\{", "{").replace(r"\}", "}")
        for field, part in (("{name}", ".+"), ("{module}", r"(?:.*\.)?"), ("{leaf}", r"[^.]+")):
            pattern = pattern.replace(field, f"(?P<{field[1:-1]}>{part})")
        found = re.fullmatch(pattern, name, re.DOTALL)
        if found is None:
            return None
        fields = found.groupdict()
        return fields.get("name") or fields["module"] + fields.get("leaf", "weight")


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The places of the codes and scales of one block format.

    ``source`` names the origin of the layout with version or date, or says that users report it.
    """

    dialect: str
    block: str
    """The name of the block format; a layout of `nvfp4` also takes its blocks of 16 x 16."""
    source: str
    codes: Part
    packing: Packing
    scales: Part | None = None
    """None if the array of the codes contains the scales."""
    place: ScalePlace = ScalePlace.APART
    together: int = 1
    """Number of blocks whose scales precede all of their codes."""
    has_block_axis: bool = False
    """Do the bytes of a block have their own axis?"""
    order: ScaleOrder = ScaleOrder.LINEAR
    tile_shape: tuple[int, int] = (128, 4)
    """Rows and columns of the stored array for each tile of 512 scales."""
    padding: tuple[int, int] = (1, 1)
    """Zeros complete rows, and elements of a row, to multiples of these numbers."""
    scale_padding: tuple[int, int] = (1, 1)
    """The same for rows and columns of scales in linear order."""
    axis: int = -1
    """The axis that blocks lie along."""
    is_transposed: bool = False
    """Is this axis the last one of the stored arrays?"""
    scale_byte: ScaleByte = ScaleByte.CODE
    reads_otherwise: tuple[int, ...] = ()
    """Scale codes that readers of the dialect decode to other numbers than the block format defines."""
    tensor_scale: Part | None = None
    convention: Convention = Convention.NONE
    tensor_scale_shape: tuple[int, ...] = ()
    omits_one: bool = False
    """Is a tensor scale left out that multiplies by 1?"""
    other_tensor_scales: tuple[str, ...] = ()
    """Other names of the tensor scale in files. They are read; the name in ``tensor_scale`` is written."""

    def __post_init__(self) -> None:
        apart = self.place is ScalePlace.APART
        refused = {
            "scales in their own array must have a name, other scales must not": apart is not (self.scales is not None),
            "only scales in the array of the codes can be in groups": apart and self.together != 1,
            "only scales in their own array can have an order or a padding": not apart
            and (self.order is not ScaleOrder.LINEAR or self.scale_padding != (1, 1)),
            "a tensor scale must have a name and a convention, or neither": (
                (self.tensor_scale is None) is not (self.convention is Convention.NONE)
            ),
            f"the layout {self.dialect} has no packing {self.packing} for elements of {self.element_bits} bits": (
                self.element_bits not in PACKED_BITS[self.packing]
            ),
        }
        for sentence, is_refused in refused.items():
            if is_refused:
                raise ValueError(sentence)

    @property
    def block_format(self) -> BlockFormat:
        """The block format with the tensor scale of the dialect."""
        return (BLOCKS | OTHER_BLOCKS)[self.block].scaled_by(self.convention)

    @property
    def element_bits(self) -> int:
        return self.block_format.element.bits

    @property
    def name(self) -> str:
        return f"{self.dialect}:{self.block}"

    @property
    def full_name(self) -> str:
        """The name that defines the layout."""
        return self.name

    @property
    def parts(self) -> tuple[Part, ...]:
        """The stored arrays: codes, and scales and tensor scale if they have their own."""
        return tuple(part for part in (self.codes, self.scales, self.tensor_scale) if part is not None)

    def names(self, tensor: str) -> tuple[str, ...]:
        """The names of these arrays of a tensor."""
        return tuple(part.of(tensor) for part in self.parts)

    @property
    def reading(self) -> tuple[object, ...]:
        """Layouts with the same reading give the same numbers for arrays that they fit."""
        names = tuple(part.name for part in self.parts)
        how = self.packing, self.place, self.order, self.axis, self.is_transposed, self.scale_byte
        return names, self.block_format, *how

    def described(self) -> dict[str, str]:
        """Properties of the bytes, in words."""
        block = self.block_format
        return {
            "block format": block.name,
            "block": " x ".join(map(str, block.shape)),
            "axis": str(self.axis),
            "packing": str(self.packing),
            "scales": f"{block.scale.name}, {self.place}, {self.order}",
            "tensor scale": str(self.convention),
        }

    @property
    def width(self) -> int:
        """Elements of a block."""
        return self.block_format.shape[-1]

    @property
    def block_bytes(self) -> int:
        """Bytes of the codes of a block."""
        bits = 8 if self.packing is Packing.BYTES else self.element_bits
        return self.width * bits // 8


@dataclass(frozen=True, kw_only=True)
class OwnLayout(Layout):
    """A layout whose block format need not be in the catalogue: a file or the user defines it."""

    own: BlockFormat

    def __post_init__(self) -> None:
        pass  # any width of codes and any packing

    @property
    def block_format(self) -> BlockFormat:
        return self.own


PACKED_BITS: dict[Packing, tuple[int, ...]] = {
    Packing.BYTES: (4, 6, 8),
    Packing.LOW_FIRST: (4,),
    Packing.HIGH_FIRST: (4,),
    Packing.HALVES: (4,),
    Packing.LITTLE_ENDIAN: (6,),
    Packing.HIGH_PARTS: (6,),
}
"""Possible widths of elements under each packing."""

FP4, FP6, FP8 = ("mxfp4_e2m1",), ("mxfp6_e3m2", "mxfp6_e2m3"), ("mxfp8_e5m2", "mxfp8_e4m3")
E4M3 = ("mxfp8_e4m3",)
NVFP4 = ("nvfp4",)
LOW_FIRST, LITTLE_ENDIAN, BYTES = Packing.LOW_FIRST, Packing.LITTLE_ENDIAN, Packing.BYTES
NAN = (0xFF,)
"""The NaN of E8M0, which many readers decode to 2**128 or Inf."""
ELEMENTS = {"mxfp8_e5m2": "F8_E5M2", "mxfp8_e4m3": "F8_E4M3"}
"""Dtypes of elements by block format, if files have one for them."""


class _Fields(TypedDict, total=False):
    """Fields that the layouts of a dialect share."""

    axis: int
    convention: Convention
    has_block_axis: bool
    is_transposed: bool
    omits_one: bool
    order: ScaleOrder
    padding: tuple[int, int]
    place: ScalePlace
    reads_otherwise: tuple[int, ...]
    scale_byte: ScaleByte
    scale_padding: tuple[int, int]
    tensor_scale_shape: tuple[int, ...]
    tile_shape: tuple[int, int]


def _layouts(
    dialect: str,
    source: str,
    blocks: tuple[str, ...],
    packing: Packing,
    names: tuple[str, ...],
    **fields: Unpack[_Fields],
) -> Iterator[Layout]:
    """The same layout for several block formats.

    ``names`` are ``"NAME DTYPE"`` of the codes and, if they have their own arrays, of the scales and the tensor scale;
    ``{element}`` is the dtype of the elements.
    """
    for block in blocks:
        codes, *others = (
            Part(name=name, dtype=dtype.replace("{element}", ELEMENTS.get(block, "U8")))
            for name, dtype in (one.split(" ") for one in names)
        )
        scales, tensor_scale = (*others, None, None)[:2]
        yield Layout(
            dialect=dialect,
            source=source,
            block=block,
            packing=packing,
            codes=codes,
            scales=scales,
            tensor_scale=tensor_scale,
            **fields,
        )


def _dialects() -> Iterator[Layout]:
    gpt_oss = "openai/gpt-oss, gpt_oss/torch/weights.py; transformers, integrations/mxfp4.py; 2026-11"
    for dialect, mark in (("gpt_oss", "_"), ("gpt_oss_original", ".")):
        names = f"{{name}}{mark}blocks U8", f"{{name}}{mark}scales U8"
        yield from _layouts(dialect, gpt_oss, FP4, LOW_FIRST, names, has_block_axis=True, reads_otherwise=NAN)

    ggml, halves, before = "gguf-py 0.19.0, quants.py", Packing.HALVES, ScalePlace.BEFORE
    yield from _layouts(
        "ggml", f"ggml, type 39; {ggml}", FP4, halves, ("{name} U8",), place=before, reads_otherwise=NAN
    )
    yield Layout(
        dialect="ggml",
        source=f"ggml, type 40; {ggml}; llama.cpp, conversion/base.py, 2026-11",
        block="nvfp4",
        packing=halves,
        place=before,
        codes=Part(name="{name}", dtype="U8"),
        together=4,
        reads_otherwise=tuple(range(0x7F, 0x100)),
        tensor_scale=Part(name="{module}scale", dtype="F32"),
        convention=Convention.MULTIPLIER,
        tensor_scale_shape=(1,),
        omits_one=True,
        other_tensor_scales=("{name}.scale",),
    )

    packed = "{name}_packed U8", "{name}_scale U8"
    compressed = "compressed_tensors", "compressed-tensors 0.20.0"
    yield from _layouts(*compressed, FP4, LOW_FIRST, packed, reads_otherwise=NAN)
    yield from _layouts(*compressed, ("mxfp6_e2m3",), LITTLE_ENDIAN, packed, reads_otherwise=NAN)
    yield from _layouts(*compressed, E4M3, BYTES, ("{name} {element}", "{name}_scale U8"), reads_otherwise=NAN)
    yield from _layouts(
        *compressed,
        NVFP4,
        LOW_FIRST,
        ("{name}_packed U8", "{name}_scale F8_E4M3", "{name}_global_scale F32"),
        convention=Convention.DIVISOR,
        tensor_scale_shape=(1,),
    )

    modelopt = "NVIDIA ModelOpt, qtensor/nvfp4_tensor.py and export/quant_utils.py; 2026-11"
    nvfp4_encoding = "{name} U8", "{name}_scale F8_E4M3", "{name}_scale_2 F32"
    multiplier = Convention.MULTIPLIER
    yield from _layouts("modelopt", modelopt, NVFP4, LOW_FIRST, nvfp4_encoding, convention=multiplier)
    yield from _layouts("modelopt", modelopt, E4M3, BYTES, ("{name} {element}", "{name}_scale U8"), reads_otherwise=NAN)

    quark, kernels = "amd-quark 0.13; vLLM, quark_ocp_mx.py; 2026-11", "amd-quark 0.13, Pack_mxfp4 and Pack_mxfp6"
    for blocks, packing in ((FP4, LOW_FIRST), (FP6, LITTLE_ENDIAN)):
        yield from _layouts("quark", quark, blocks, packing, ("{name} U8", "{name}_scale U8"), reads_otherwise=NAN)
    for blocks, packing in ((FP4, LOW_FIRST), (FP6, Packing.HIGH_PARTS)):
        yield from _layouts(
            "quark_pack",
            kernels,
            blocks,
            packing,
            ("{name} U8",),
            place=ScalePlace.BEFORE,
            scale_byte=ScaleByte.EXPONENT,
            reads_otherwise=NAN,
        )

    torchao = "torchao 0.18, prototype/mx_formats and prototype/safetensors"
    for dialect, order in (("torchao", ScaleOrder.LINEAR), ("torchao_swizzled", ScaleOrder.TILES_128X4)):
        tile = 32, 16
        codes, scales = "{module}_{leaf}_qdata {element}", "{module}_{leaf}_scale F8_E8M0"
        for blocks, packing in ((FP4, LOW_FIRST), (FP6, BYTES), (FP8, BYTES)):
            yield from _layouts(dialect, torchao, blocks, packing, (codes, scales), order=order, tile_shape=tile)
        three = codes, "{module}_{leaf}_scale F8_E4M3", "{module}_{leaf}_per_tensor_scale F32"
        yield from _layouts(
            dialect, torchao, NVFP4, LOW_FIRST, three, order=order, tile_shape=tile, convention=multiplier
        )

    comfy = "ComfyUI, comfy/float.py; comfy-kitchen 0.2.40, tensor/nvfp4.py and mxfp8.py"
    tiles = ScaleOrder.TILES_128X4
    yield from _layouts(
        "comfy", comfy, NVFP4, Packing.HIGH_FIRST, nvfp4_encoding, padding=(16, 16), order=tiles, convention=multiplier
    )
    single = "{name} {element}", "{name}_scale F8_E8M0"
    yield from _layouts("comfy", comfy, E4M3, BYTES, single, padding=(32, 32), order=tiles)

    mlx = "MLX, ops.cpp; 2026-11"
    words = "{name} U32", "{module}scales U8"
    yield from _layouts("mlx", mlx, FP4, LOW_FIRST, words)
    yield from _layouts("mlx", mlx, E4M3, BYTES, words)
    three = *words, "{module}global_scale F32"
    yield from _layouts("mlx", mlx, NVFP4, LOW_FIRST, three, convention=Convention.AMAX, omits_one=True)

    onnx = "ONNX 1.23.2, onnx.proto; the names of the arrays are ours"
    for blocks, packing in ((FP4, LOW_FIRST), (FP6, LITTLE_ENDIAN), (FP8, BYTES)):
        yield from _layouts("onnx", onnx, blocks, packing, ("{name} {element}", "{name}_scale F8_E8M0"))

    te = "Transformer Engine, MXFP8Tensor and NVFP4Tensor of its PyTorch part; 2026-11"
    for dialect, side, axis in (("te", "rowwise", -1), ("te_columnwise", "columnwise", -2)):
        codes, scales = f"{{name}}_{side}_data U8", f"{{name}}_{side}_scale_inv U8"
        padding = (128, 4) if axis == -1 else (4, 128)
        yield from _layouts(
            dialect, te, FP8, BYTES, (codes, scales), axis=axis, scale_padding=padding, reads_otherwise=(0x00, 0xFF)
        )
        yield from _layouts(
            dialect,
            te,
            NVFP4,
            LOW_FIRST,
            (codes, scales, f"{{name}}_amax_{side} F32"),
            axis=axis,
            is_transposed=axis != -1,
            scale_padding=(128, 4),
            convention=Convention.AMAX,
            tensor_scale_shape=(1,),
        )

    reported = "as users report it: vllm issue 51946, verl issue 7895"
    yield from _layouts("deepseek_v4", reported, FP4, LOW_FIRST, ("{name} I8", "{module}scale F8_E8M0"))
    notes = "research notes on MXFP4, 17 bytes a block; no library is known that has it"
    yield from _layouts("seed004", notes, FP4, LOW_FIRST, ("{name} U8",), place=ScalePlace.AFTER)


LAYOUTS: dict[str, dict[str, Layout]] = {}
"""Layouts by dialect and block format."""
for _layout in _dialects():
    LAYOUTS.setdefault(_layout.dialect, {})[_layout.block] = _layout


def layout_named(dialect: str, block: BlockFormat | None = None) -> Layout:
    """The layout of a dialect for a block format, or its only layout.

    Raises ValueError for an unknown dialect or block format, and for several layouts if no block format is given.

    >>> layout_named("gpt_oss").name
    'gpt_oss:mxfp4_e2m1'
    """
    dialect = known_name("layout", dialect, LAYOUTS)
    layouts = LAYOUTS[dialect]
    if block is None:
        if len(layouts) > 1:
            raise ValueError(f"the layout {dialect} is of {', '.join(layouts)}: the block format must be given")
        return next(iter(layouts.values()))
    for layout in layouts.values():
        own = layout.block_format
        if (own.element, own.scale, own.shape[-1]) == (block.element, block.scale, block.shape[-1]):
            return layout
    known = ", ".join(f"{name} with blocks of {layout.width}" for name, layout in layouts.items())
    raise ValueError(f"the layout {dialect} is of {known}, not of {block.name} with blocks of {block.shape[-1]}")


def stored_ports(layout: Layout, ports: tuple[Port, ...]) -> tuple[Port, ...]:
    """The ports of hardware whose blocks have the layout, from the ports of its operation.

    ``codes``, the bytes of the codes, replaces ``p``. If the codes' array contains the scales, ``block``, the bytes of
    both, replaces ``p`` and ``scale``. Byte 0 is in the low bits. Raises ValueError for a layout that needs more than
    wires around one block.
    """
    refused = {
        f"it groups {layout.together} blocks": layout.together != 1,
        "the byte of its scale is computed": layout.scale_byte is not ScaleByte.CODE,
    }
    for why, is_refused in refused.items():
        if is_refused:
            raise ValueError(f"hardware has no layout {layout.name}: {why}")
    apart = layout.place is ScalePlace.APART
    found = []
    for port in ports:
        if port.role is Role.CODES:
            name, role = ("codes", Role.STORED_CODES) if apart else ("block", Role.STORED_BLOCK)
            count = layout.block_bytes + (not apart)
            found.append(Port(name=name, role=role, direction=port.direction, bits=8, lanes=count))
        elif port.role is not Role.SCALE or apart:
            found.append(port)
    return tuple(found)
