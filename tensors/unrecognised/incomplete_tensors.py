"""Arrays with the name of codes that belong to no tensor: the scales are missing, or a dtype or shape does not fit.
Otherwise they would count as arrays that are not quantized.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ...spec.layouts.scaled import AnyLayout
from ..containers.contents import Stored

OF_ONE_BYTE = ("U8", "I8", "F8_E4M3", "F8_E8M0")
"""Dtypes of scales. compressed-tensors uses some of these names for integers too, whose scales have other dtypes."""
SHARED = ("torchao", "torchao_swizzled")
"""Dialects whose library uses the same names for all its quantizations, also with scales of more than a byte."""


def has_dtypes(tensors: Mapping[str, Stored], array: str, layouts: Sequence[AnyLayout]) -> bool:
    """Does one of these layouts have the names and dtypes of an array of codes and its scales?"""
    for layout in layouts:
        name = layout.codes.tensor_of(array)
        if layout.scales is not None and name is not None and tensors[array].dtype == layout.codes.dtype:
            there = tensors.get(layout.scales.of(name))
            if there is not None and there.dtype == layout.scales.dtype:
                return True
    return False


def incompleteness(
    tensors: Mapping[str, Stored], array: str, layouts: Sequence[AnyLayout], elsewhere: Collection[str] = ()
) -> str:
    """The reason why an array of codes belongs to no tensor of these layouts, as a sentence; empty for other arrays,
    and if its scales are in another file.
    """
    for layout in layouts:
        name = layout.codes.tensor_of(array)
        if layout.scales is None or layout.codes.name == "{name}" or name is None:
            continue  # any array may have the name
        codes, scales = tensors[array], layout.scales.of(name)
        there = tensors.get(scales)
        if scales in elsewhere:
            return ""
        if there is None and codes.dtype == layout.codes.dtype:
            return f"{array!r} has the name of codes of the layout {layout.dialect}, and there is no {scales!r}"
        is_ours = codes.dtype == layout.codes.dtype and layout.dialect not in SHARED
        if there is not None and (there.dtype in OF_ONE_BYTE or is_ours):
            return (
                f"{array!r} and {scales!r} have names of the layout {layout.dialect}, and not its dtypes and shapes: "
                f"they are {codes.dtype} of shape {codes.shape} and {there.dtype} of shape {there.shape}"
            )
    return ""
