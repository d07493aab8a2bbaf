"""Reading the configuration of a model: the groups of its quantized modules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...spec.catalogue import excerpt
from . import compressed_tensors, fp8, gpt_oss, modelopt, quark
from .document import CONFIG, HF_QUANT_CONFIG, Document, document, json_object, section_of
from .groups import Groups, Unread


class UnknownQuantization(ValueError):
    """A configuration has a quantization that is not known here."""


def groups_in(folder: Path) -> Groups | None:
    """The groups of weights in the configuration of a model; None without a section about quantization.

    Raises ValueError for a damaged or contradictory configuration, and UnknownQuantization.
    """
    of_modelopt, section = folder / HF_QUANT_CONFIG, section_of(folder / CONFIG)
    about = document(of_modelopt).get("quantization")
    if about is None:
        return _groups(folder / CONFIG, section)
    if isinstance(section, dict) and section.get("quant_algo") == modelopt.MIXED and "quantized_layers" not in section:
        section = None  # the other document names the layers
    first = _groups(folder / CONFIG, section)
    second = _groups(of_modelopt, {"quant_method": "modelopt"} | json_object(of_modelopt, about))
    if first is not None and second is not None and set(first.layouts) != set(second.layouts):
        names = [" and ".join(sorted({layout.full_name for layout in one.layouts})) for one in (first, second)]
        raise ValueError(f"{folder / CONFIG} says {names[0]}, and {HF_QUANT_CONFIG} says {names[1]}")
    return second if first is None else first


def _groups(path: Path, section: object) -> Groups | None:
    """The groups of a section. Raises UnknownQuantization if nothing in it is known here."""
    if section is None:
        return None
    section = json_object(path, section)
    method = section.get("quant_method")
    reader = METHODS.get(method) if isinstance(method, str) else None
    try:
        found = Unread(method) if reader is None else reader(section)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None
    if isinstance(found, Unread) or (found.groups and not found.layouts):
        words = found.found if isinstance(found, Unread) else found.groups[0].unread
        raise UnknownQuantization(f"{path} has a quantization that is not known here: {excerpt(words)}")
    return found


METHODS: dict[str, Callable[[Document], Groups | Unread]] = {
    "mxfp4": gpt_oss.read,
    "fp8": fp8.read,
    "fbgemm_fp8": fp8.read_fbgemm,
    "compressed-tensors": compressed_tensors.read,
    "modelopt": modelopt.read,
    "modelopt_fp4": modelopt.read,
    "modelopt_mixed": modelopt.read,
    "quark": quark.read,
}
"""Readers by ``quant_method``."""
