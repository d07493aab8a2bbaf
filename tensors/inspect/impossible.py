"""Numbers that weights never have: NaN, Inf, beyond float32, or with a tensor scale that was not initialised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ...models.arrays.codes import code_values
from ...models.fast.nvfp4_decode import FACTORS
from ...spec import Convention
from ..containers.contents import Stored
from ..unrecognised.arrays import OF_ACTIVATIONS
from .judging import Judged, Kind, Suspicion, is_plausible

MOST_SCALES = 1 << 16
"""Scales of activations that are checked in one array."""


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def elements_in_words(count: int) -> str:
    """The subject of a sentence about elements.

    >>> elements_in_words(1), elements_in_words(2)
    ('1 element is', '2 elements are')
    """
    return f"{count} element{'s' * (count != 1)} {_are(count)}"


def _not_finite(judged: Judged) -> Iterator[Suspicion]:
    tally, blocks = judged.tally, judged.stored.count
    count, zeros = tally.nan_scales, tally.nan_scales_of_zeros
    if tally.blocks < blocks and (of_all := judged.stored.nan_scales()) is not None:
        count = of_all
    else:
        blocks = tally.blocks
    if count:
        over = f", {zeros} of them over blocks of zeros" if zeros else ""
        whole = ": the whole tensor is NaN, as zeros are under some libraries" if count == blocks else ""
        figures = {"NaN scales": count, "over zeros": zeros, "blocks": blocks}
        yield judged.suspicion(
            Kind.NAN_SCALE, f"{count} of {blocks} block scales {_are(count)} NaN{over}{whole}", figures
        )
    if count := tally.not_finite_elements:
        yield judged.suspicion(Kind.NOT_FINITE, f"{elements_in_words(count)} NaN or Inf", {"elements": count})


def _has_square(amax: float) -> bool:
    """Is the square of a largest magnitude a positive float32? Without it, the sums of products of a layer are Inf or
    0.
    """
    with np.errstate(over="ignore", under="ignore"):
        return bool(0 < np.square(np.float64(amax)).astype(np.float32) < np.inf)


def _magnitude(judged: Judged) -> Iterator[Suspicion]:
    """Magnitudes under block scales alone. `_tensor_scale` checks the magnitudes under a tensor scale."""
    tally, amax = judged.tally, judged.amax
    if not tally.largest or judged.layout.tensor_scale is not None or _has_square(amax):
        return
    beyond = f", and {tally.blocks_beyond} of {tally.blocks} blocks are beyond its range" if tally.blocks_beyond else ""
    yield judged.suspicion(
        Kind.MAGNITUDE,
        f"the largest magnitude is {amax:.4g}, whose square float32 cannot hold{beyond}",
        {"amax": amax, "blocks beyond float32": tally.blocks_beyond},
    )


def _tensor_scale(judged: Judged) -> Iterator[Suspicion]:
    part, g, amax = judged.layout.tensor_scale, judged.stored.tensor_scale, judged.amax
    if part is None:
        return
    name, is_filled = part.of(judged.name), judged.tally.largest > 0
    matrices = judged.stored.shape[0]
    if g is not None and (count := judged.stored.tensor_scales) not in (1, matrices):
        sentence = f"there are {count} tensor scales in {name!r}, for {matrices} matrices"
        yield judged.suspicion(Kind.TENSOR_SCALE, sentence, {"tensor scales": count})
        return
    if g is None:
        if is_filled and not is_plausible(amax):
            yield judged.suspicion(
                Kind.MISSING_TENSOR_SCALE,
                f"there is no tensor scale {name!r}, and without one the largest magnitude is {amax:.4g}",
                {"amax": amax},
            )
        return
    if wrong := [one for one in g.tolist() if not _is_scale(one, judged)]:
        yield judged.suspicion(Kind.TENSOR_SCALE, f"a tensor scale in {name!r} is {wrong[0]}", {})
        return
    if not is_filled:
        return
    declared = judged.layout.convention
    others = {one: judged.amax_under(one) for one in Convention if one not in (declared, Convention.NONE)}
    plausible = [f"{other:.4g} as {one}" for one, other in others.items() if is_plausible(other)]
    if plausible and not is_plausible(amax):
        yield judged.suspicion(
            Kind.TENSOR_SCALE,
            f"the largest magnitude is {amax:.4g} with {name!r} as {declared}, and {' or '.join(plausible)}",
            {str(declared): amax, **{str(one): other for one, other in others.items()}},
        )
        return
    for one in dict.fromkeys(g.tolist()):
        if not _has_square(largest := judged.amax_under(declared, one)):
            yield judged.suspicion(
                Kind.TENSOR_SCALE,
                f"a tensor scale in {name!r} is {one:.4g}, with which the largest magnitude is {largest:.4g}: it seems "
                "not to have been initialised",
                {"tensor scale": one, "amax": largest},
            )
            return


def _is_scale(g: float, judged: Judged) -> bool:
    """Is a tensor scale a positive number? For a tensor of zeros, libraries store 0 or Inf, which are accepted if the
    zeros stay zeros.
    """
    if np.isfinite(g) and g > 0:
        return True
    if np.isnan(g) or g < 0 or judged.tally.largest:
        return False
    block, layout = judged.tally.block, judged.layout
    used = code_values(block.scale)[np.flatnonzero(judged.tally.scales)]
    most = np.float32(block.scale.max_value * block.element.max_value)
    with np.errstate(all="ignore"):
        factors = FACTORS[layout.convention](used[~np.isnan(used)], np.array(g, np.float32), most)
    return bool(np.isfinite(factors).all())


def of_activations(others: Mapping[str, Stored]) -> Iterator[Suspicion]:
    """Scales of activations, which belong to no tensor, that are not positive numbers or were not initialised."""
    for name, stored in others.items():
        leaf = name.rpartition(".")[2]
        if "scale" not in leaf or not OF_ACTIVATIONS.match(leaf) or stored.dtype != "F32":
            continue
        wrong = [one for one in stored.data[:MOST_SCALES].tolist() if not (one > 0 and _has_square(one))]
        if wrong:
            sentence = f"a scale of activations is {wrong[0]:.4g}: it seems not to have been initialised"
            yield Suspicion(kind=Kind.TENSOR_SCALE, tensor=name, sentence=sentence, figures={"scale": wrong[0]})


IMPOSSIBLE = (_not_finite, _magnitude, _tensor_scale)
"""All checks for impossible numbers."""
