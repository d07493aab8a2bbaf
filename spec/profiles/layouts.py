"""Profiles that the library of each layout follows when it encodes."""

from __future__ import annotations

from ..formats.block import BlockFormat, Convention
from ..operations.nvfp4 import is_nvfp4
from .encoders import PROFILES
from .nvfp4 import NVFP4_ENCODERS
from .resolve import nvfp4_encoding

OF_LAYOUTS: dict[str, tuple[str, ...]] = {
    "ggml": ("ggml",),
    "compressed_tensors": ("compressed_tensors", "nvfp4_compressed_tensors"),
    "modelopt": ("modelopt", "nvfp4_modelopt"),
    "quark": ("quark",),
    "quark_pack": ("quark",),
    "torchao": ("torchao_floor", "nvfp4_ao"),  # FLOOR is the default of MXTensor.to_mx
    "torchao_swizzled": ("torchao_floor", "nvfp4_ao"),
    "mlx": ("mlx",),
    "te": ("te", "nvfp4_te"),
    "te_columnwise": ("te", "nvfp4_te"),
}
"""Profiles by which the library of a layout encodes, by the dialect in `layouts.LAYOUTS`."""


def library_profile(dialect: str, block: BlockFormat) -> str | None:
    """The profile by which the library of a layout encodes a block format; None if it has no profile here.

    >>> from mxcast.spec import block_format
    >>> library_profile("modelopt", block_format("nvfp4")), library_profile("gpt_oss", block_format("e2m1"))
    ('nvfp4_modelopt', None)
    """
    known = NVFP4_ENCODERS if is_nvfp4(block) else PROFILES
    elements = {name: dict(known[name].by_element) for name in OF_LAYOUTS.get(dialect, ()) if name in known}
    return next((name for name, own in elements.items() if not own or block.element.name in own), None)


def profiles_of_convention(convention: Convention) -> list[str]:
    """The profiles of NVFP4 whose tensor scale has a convention.

    >>> profiles_of_convention(Convention.DIVISOR)
    ['nvfp4_compressed_tensors']
    """
    return [name for name in NVFP4_ENCODERS if nvfp4_encoding("nvfp4", name).block.convention is convention]
