"""Arrays that the user names, for files whose names and dtypes fit no layout.

``codes={}.weight,scale={}.weight_scale_inv`` names arrays; ``{}`` is any text, the same in both. ``scale=e8m0`` decides
how they are read if their dtypes do not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...spec import Convention, NumberFormat
from ...spec.catalogue import excerpt, known_name
from ...spec.formats.block import BLOCK_SIZES, BLOCKS, OTHER_BLOCKS, block_name
from ...spec.formats.number import E2M1, E2M3, E3M2, E4M3, E4M3FNUZ, E5M2, E5M2FNUZ
from ...spec.layouts.catalogue import OwnLayout, Packing, Part
from ...spec.layouts.scaled import AnyLayout, Grain, ScaledLayout, Tile, fitting_tiles, grain_of, tile_named
from ..containers.contents import Contents, Stored

DIALECT = "named"
"""The dialect of arrays that the user names."""
FORMATS: dict[str, NumberFormat] = {one.name: one for one in (E4M3, E5M2, E4M3FNUZ, E5M2FNUZ, E2M1, E2M3, E3M2)}
BYTES = ("U8", "I8")
ELEMENTS: dict[str, tuple[str, ...]] = {
    "e4m3": ("F8_E4M3", *BYTES),
    "e5m2": ("F8_E5M2", *BYTES),
    "e4m3fnuz": ("F8_E4M3FNUZ", *BYTES),
    "e5m2fnuz": ("F8_E5M2FNUZ", *BYTES),
    "e2m1": ("F4", *BYTES),
    "e2m3": ("F6_E2M3", *BYTES),
    "e3m2": ("F6_E3M2", *BYTES),
}
"""Dtypes of arrays that may hold the codes of an element. The first one is unambiguous."""
SCALES: dict[str, tuple[str, ...]] = {
    "e8m0": ("F8_E8M0", *BYTES),
    "e4m3": ("F8_E4M3", *BYTES),
    "number": ("F32", "BF16", "F16"),
}
"""The dtypes of arrays that may hold scales."""
PACKINGS = {8: (Packing.BYTES,), 4: (Packing.LOW_FIRST, Packing.HIGH_FIRST), 6: (Packing.LITTLE_ENDIAN,)}
"""Packings by the bits of an element; the first one is the default."""
CONVENTIONS = tuple(one for one in Convention if one is not Convention.NONE)


@dataclass(frozen=True, kw_only=True)
class NamedPart(Part):
    """An array whose name has a text in common with the name of its tensor."""

    tensor: str

    def of(self, tensor: str) -> str:
        return _other(tensor, self.tensor, self.name) or self.name

    def tensor_of(self, name: str) -> str | None:
        return _other(name, self.name, self.tensor)


def _other(name: str, pattern: str, other: str) -> str | None:
    """Another pattern with the text in a name filled in; None for a name without the pattern."""
    before, braces, after = pattern.partition("{}")
    if not braces:
        return other.replace("{}", "") if name == pattern else None
    if len(name) <= len(before) + len(after) or not (name.startswith(before) and name.endswith(after)):
        return None
    return other.replace("{}", name[len(before) : len(name) - len(after)])


def _pairs(option: str, text: str, keys: Collection[str]) -> dict[str, str]:
    """The values by key in a text such as ``a=b,c=d``. Raises ValueError for unknown and repeated keys."""
    found: dict[str, str] = {}
    for pair in text.split(","):
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not value or key in found:
            raise ValueError(f"{option} takes {', '.join(f'{key}=...' for key in keys)}, not {excerpt(text)}")
        found[known_name(f"part of {option}", key, keys)] = value
    return found


@dataclass(frozen=True, kw_only=True)
class Reads:
    """How arrays are read if their dtypes and shapes do not decide it."""

    element: str | None = None
    scale: str | None = None
    block: Tile | None = None
    order: Packing | None = None
    tensor_scale: Convention = Convention.MULTIPLIER

    @classmethod
    def named(cls, text: str | None) -> Reads:
        """Raises ValueError for unknown names."""
        given = _pairs("--read", text, ("scale", "element", "block", "order", "tensor_scale")) if text else {}
        block, order, convention = given.get("block"), given.get("order"), given.get("tensor_scale")
        return cls(
            element=known_name("element", given["element"], ELEMENTS) if "element" in given else None,
            scale=known_name("scale", given["scale"], SCALES) if "scale" in given else None,
            block=None if block is None else tile_named(f"1x{block}" if block.isdigit() else block),
            order=None if order is None else Packing.named("order", order),
            tensor_scale=Convention.MULTIPLIER if convention is None else Convention.named("tensor_scale", convention),
        )


@dataclass(frozen=True)
class NamedArrays:
    """The arrays that the user names."""

    names: str
    reads: str | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for patterns without codes and scales, or with more than one ``{}``."""
        for key in ("codes", "scale"):
            if key not in self._names:
                raise ValueError(f"--names needs {key}=NAME: codes={{}}.weight,scale={{}}.weight_scale")
        texts = self._names.values()
        if any(text.count("{}") > 1 for text in texts) or len({"{}" in text for text in texts}) > 1:
            raise ValueError(f"each name of --names has one {{}}, or none has, not {excerpt(self.names)}")
        self._reads  # noqa: B018

    @classmethod
    def given(cls, names: str | None, reads: str | None) -> NamedArrays | None:
        """The arrays of the options ``--names`` and ``--read``. Raises ValueError for ``--read`` alone."""
        if names is None and reads is not None:
            raise ValueError("--read is for arrays that --names names")
        return None if names is None else cls(names, reads)

    @cached_property
    def _names(self) -> dict[str, str]:
        return _pairs("--names", self.names, ("codes", "scale", "tensor_scale", "name"))

    @cached_property
    def _reads(self) -> Reads:
        return Reads.named(self.reads)

    def applied(self, contents: Contents) -> tuple[Contents, dict[str, AnyLayout]]:
        """The contents with new dtypes of the named arrays, and the layouts of their tensors.

        Raises ValueError for codes without scales, and unless exactly one reading fits.
        """
        parts = {key: NamedPart(name=name, dtype="", tensor=self._tensor) for key, name in self._names.items()}
        changed: dict[str, Stored] = {}
        layouts: dict[str, AnyLayout] = {}
        for array, stored in contents.tensors.items():
            name = parts["codes"].tensor_of(array)
            if name is None or (scales := contents.tensors.get(parts["scale"].of(name))) is None:
                continue
            tensor_scale = contents.tensors.get(parts["tensor_scale"].of(name)) if "tensor_scale" in parts else None
            found = list(laid_out(stored, scales, tensor_scale, self._reads, parts))
            if len(found) != 1 or self._undecided(stored, scales):
                said = " and ".join(f"{one.dtype} of shape {one.shape}" for one in (stored, scales))
                raise ValueError(f"{array!r} and its scales, {said}, {_what_fits(found)}")
            ((layouts[name], arrays),) = found
            changed |= {part.of(name): one for part, one in arrays.items()}
        if not layouts:
            codes, scale = self._names["codes"], self._names["scale"]
            raise ValueError(f"found no arrays named {codes!r} with scales named {scale!r}")
        return replace(contents, tensors=contents.tensors | changed), layouts

    def _undecided(self, codes: Stored, scales: Stored) -> bool:
        """Does neither a dtype nor an option decide how an array of bytes is read?"""
        reads = self._reads
        return (codes.dtype in BYTES and reads.element is None) or (scales.dtype in BYTES and reads.scale is None)

    @property
    def _tensor(self) -> str:
        return self._names.get("name", self._names["codes"])


def _what_fits(found: Sequence[tuple[AnyLayout, object]]) -> str:
    """The values of ``--read`` that fit, as the end of a sentence."""
    if not found:
        return "fit nothing that --read can say"
    texts = (",".join(f"{key}={one}" for key, one in options_of(layout).items()) for layout, _ in found)
    return f"may be {' or '.join(texts)}: --read says which"


def options_of(layout: AnyLayout) -> dict[str, str]:
    """The values of ``--read`` that select this layout."""
    if isinstance(layout, ScaledLayout):
        scale = "e8m0" if layout.read_as == "F8_E8M0" else "number"
        return {"element": layout.element.name, "scale": scale, "block": layout.full_name.rpartition(":")[2]}
    block = layout.block_format
    return {"element": block.element.name, "scale": block.scale.name, "block": str(block.shape[-1])}


def laid_out(
    codes: Stored, scales: Stored, tensor_scale: Stored | None, reads: Reads, parts: Mapping[str, Part]
) -> Iterator[tuple[AnyLayout, dict[Part, Stored]]]:
    """The layouts that fit arrays of codes and scales, each with the arrays as it reads them."""
    for element in _of_dtype(ELEMENTS, codes, reads.element):
        bits = FORMATS[element].bits
        shape = _numbers_shape(codes, bits)
        order = reads.order or PACKINGS[bits][0]
        if shape is None or order not in PACKINGS[bits]:
            continue
        for scale in _of_dtype(SCALES, scales, reads.scale):
            for tile in fitting_tiles(shape, scales.shape, declared=() if reads.block is None else (reads.block,)):
                if reads.block in (None, tile):
                    found = _Found(codes, scales, tensor_scale, shape, FORMATS[element], order, scale, tile, reads)
                    yield from found.laid_out(parts)


def _of_dtype(known: Mapping[str, tuple[str, ...]], stored: Stored, given: str | None) -> list[str]:
    """The names that the dtype of an array allows: the given one, the only possible one, or all."""
    names = [name for name, dtypes in known.items() if stored.dtype in dtypes and given in (None, name)]
    decided = [name for name in names if known[name][0] == stored.dtype]
    return decided if decided and stored.dtype not in SCALES["number"] else names


def _numbers_shape(codes: Stored, bits: int) -> tuple[int, ...] | None:
    """The shape of the numbers in an array of codes of this many bits; None unless they fill its bytes."""
    if not codes.shape:
        return None
    *lead, length = codes.shape
    is_packed = codes.dtype in BYTES and bits < 8
    total = length * (8 if is_packed else bits)
    return None if total % (8 if not is_packed else bits) else (*lead, total // bits)


@dataclass(frozen=True)
class _Found:
    """One way to read the arrays of a tensor."""

    codes: Stored
    scales: Stored
    tensor_scale: Stored | None
    shape: tuple[int, ...]
    element: NumberFormat
    order: Packing
    scale: str
    tile: Tile
    reads: Reads

    def laid_out(self, parts: Mapping[str, Part]) -> Iterator[tuple[AnyLayout, dict[Part, Stored]]]:
        if self._is_block:
            yield from self._in_blocks(parts)
        elif self.element.bits == 8 and self.scale != "e4m3" and self.tensor_scale is None:
            yield self._scaled(parts)

    @property
    def _is_block(self) -> bool:
        """Are the scales codes, one for each whole block of an MX format or of NVFP4?"""
        is_mx = self.scale == "e8m0" and self.element.name in {block.element.name for block in BLOCKS.values()}
        is_nvfp4 = (self.scale, self.element, self.tile[1]) == ("e4m3", E2M1, 16)
        is_whole = grain_of(self.tile) is Grain.GROUP and self.tile[1] in BLOCK_SIZES
        return (is_mx or is_nvfp4) and is_whole and not self.shape[-1] % self.tile[1]

    def _in_blocks(self, parts: Mapping[str, Part]) -> Iterator[tuple[AnyLayout, dict[Part, Stored]]]:
        convention = Convention.NONE if self.tensor_scale is None else self.reads.tensor_scale
        if self.scale == "e4m3":
            block = OTHER_BLOCKS["nvfp4"].scaled_by(convention)
        else:
            block = BLOCKS[block_name(self.element)].resized(self.tile[1])
        if self.tensor_scale is not None and (self.scale != "e4m3" or self.tensor_scale.dtype != "F32"):
            return
        own = {key: replace(part, dtype="F32" if key == "tensor_scale" else "U8") for key, part in parts.items()}
        layout = OwnLayout(
            dialect=DIALECT,
            source="the command",
            block=block.name,
            own=block,
            codes=own["codes"],
            scales=own["scale"],
            tensor_scale=own["tensor_scale"] if self.tensor_scale is not None else None,
            convention=convention,
            packing=self.order,
        )
        bits = 8 if self.order is Packing.BYTES else self.element.bits
        codes = replace(_as_bytes(self.codes), shape=(*self.shape[:-1], self.shape[-1] * bits // 8))
        yield layout, {own["codes"]: codes, own["scale"]: _as_bytes(self.scales)}

    def _scaled(self, parts: Mapping[str, Part]) -> tuple[AnyLayout, dict[Part, Stored]]:
        codes, scales = replace(parts["codes"], dtype="U8"), replace(parts["scale"], dtype=self.scales.dtype)
        layout = ScaledLayout(
            dialect=DIALECT,
            source="the command",
            element=self.element,
            codes=codes,
            scales=scales,
            dtypes=(self.scales.dtype,),
            forms={},
            read_as="F8_E8M0" if self.scale == "e8m0" else self.scales.dtype,
        )
        return layout.fitted(self.tile, self.scales.dtype, self.shape), {codes: _as_bytes(self.codes)}


def _as_bytes(stored: Stored) -> Stored:
    return replace(stored, dtype="U8", data=stored.data.view("u1"))
