"""Ways to read arrays that look like codes and scales and fit no layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...spec.layouts.scaled import AnyLayout, ScaledLayout
from ..containers.contents import Stored
from .arrays import INTEGERS, SCALE
from .named_arrays import BYTES, NamedPart, Reads, laid_out, options_of

MOST = 4
"""Readings in a message."""


def suggestions(tensors: Mapping[str, Stored], arrays: Sequence[str]) -> str:
    """The readings of an array of codes and its possible scales, with the options that choose them; empty if
    nothing fits. For codes without scales, the option that names them.
    """
    codes, *others = arrays
    found: dict[str, tuple[bool, str]] = {}
    for scale in others:
        left = [name for name in others if name != scale]
        if len(left) > 1:
            continue  # a reading would leave out an array that changes the numbers
        tensor_scale = left[0] if left else None
        names = {"codes": codes, "scale": scale} | ({"tensor_scale": tensor_scale} if tensor_scale else {})
        parts = {key: NamedPart(name=name, dtype="", tensor=codes) for key, name in names.items()}
        third = None if tensor_scale is None else tensors[tensor_scale]
        for layout, _ in laid_out(tensors[codes], tensors[scale], third, Reads(), parts):
            given = _given(layout, tensors[codes], tensors[scale])
            words = _in_words(layout, given) + " and a tensor scale" * (third is not None)
            found.setdefault(words, (_is_common(layout, given), _options(names, given)))
    common = [(words, options) for words, (is_common, options) in found.items() if is_common]
    shown = [f"{words} ({options})" for words, options in common][:MOST]
    if tensors[codes].dtype in INTEGERS and others:
        shown.append("whole numbers, which are not read here")
    if not others and tensors[codes].dtype != "F8_E8M0" and not SCALE.search(codes.rpartition(".")[2]):
        return f"; --names 'codes={codes},scale=NAME' names its scales, if the file has them"
    return f"; they fit {' or '.join(shown)}" if shown else ""


def _given(layout: AnyLayout, codes: Stored, scales: Stored) -> dict[str, str]:
    """The parts of ``--read`` that dtypes and shapes do not decide."""
    parts = options_of(layout)
    given = {key for key, stored in (("element", codes), ("scale", scales)) if stored.dtype in BYTES}
    others = [options_of(one) for one, _ in laid_out(codes, scales, None, Reads(), _PARTS)]
    if len({one["block"] for one in others if all(one[key] == parts[key] for key in given)}) > 1:
        given.add("block")
    return {key: text for key, text in parts.items() if key in given}


def _is_common(layout: AnyLayout, given: Mapping[str, str]) -> bool:
    """Do libraries store bytes in this way? Blocks under E8M0 scales have 32 elements, and FNUZ has its own dtypes."""
    parts = options_of(layout)
    is_block = not isinstance(layout, ScaledLayout) and parts["scale"] == "e8m0"
    return not (is_block and parts["block"] != "32") and not ("element" in given and "fnuz" in parts["element"])


_PARTS = {key: NamedPart(name=key, dtype="", tensor="codes") for key in ("codes", "scale")}


def _in_words(layout: AnyLayout, given: Mapping[str, str]) -> str:
    parts = options_of(layout)
    if isinstance(layout, ScaledLayout):
        words = f"{parts['element']} with a scale ({parts['scale']}) for a {layout.tile_in_words}"
    else:
        words = f"{layout.block} with blocks of {parts['block']}"
    what = {"element": "the codes are", "scale": "the scales are", "block": "blocks are"}
    conditions = " and ".join(f"{what[key]} {value}" for key, value in given.items())
    return f"{words} if {conditions}" if given else words


def _options(names: Mapping[str, str], given: Mapping[str, str]) -> str:
    module = names["codes"].rpartition(".")[0]
    texts = {key: "{}" + name.removeprefix(module) if module else name for key, name in names.items()}
    read = ",".join(f"{key}={value}" for key, value in given.items())
    return f"--names '{','.join(f'{key}={text}' for key, text in texts.items())}'" + (
        f" --read '{read}'" if read else ""
    )
