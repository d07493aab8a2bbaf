"""The order of codes of four bits, by a comparison of profiles: the magnitudes of a tensor along its lines.

One tensor does not show the order of the codes in a block. But the places of a line are channels of other tensors too:
a normalisation before the layer has a weight for each channel, and the layer before it has a line. Channels that are
large in one tensor are large, or small, in the other. The order of lines and of numbers that are not quantized is
certain, and so are their profiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from ...models.arrays.source import widen
from ...models.arrays.stored_bytes import PACKINGS
from ...spec.layouts.catalogue import PACKED_BITS, Packing
from ..containers.contents import CONVERTED, Stored
from .judging import Judged, Kind, Suspicion
from .tally import LONGEST, Profile

FOUR_BITS = tuple(packing for packing, bits in PACKED_BITS.items() if bits == (4,))
SURE, LITTLE = 7.0, 4.0
"""The correlation of two profiles, in units of their correlation at other shifts. In MiniLM the right order of most
tensors has 7 to 21 with one of the 120 others, and swapped neighbours at most 4. Halves read as neighbours have more if
channels are alike over long stretches; such tensors cause no suspicion.
"""
FEWEST = 32
"""The least number of known places of a profile."""
MOST_PROFILES = 256
"""Profiles of one length."""
MOST_NUMBERS = 1 << 22
"""Numbers in the profile of a tensor that is not quantized."""


def suspicions_of_code_order(judged: Sequence[Judged], others: Mapping[str, Stored]) -> Iterator[Suspicion]:
    """Tensors with another order of codes than their layout has.

    Parameters
    ----------
    judged : the quantized tensors of a file
    others : the other arrays of the file
    """
    ordered = [one for one in judged if one.layout.packing in FOUR_BITS and one.tally.columns]
    lengths = {_length(one) for one in ordered}
    spectra = {
        length: [(name, _spectrum(one)) for name, one in islice(_profiles(length, judged, others), MOST_PROFILES)]
        for length in lengths
    }
    for one in ordered:
        own = one.tally.columns.logarithms if one.tally.columns else np.empty(0)
        width, declared = one.layout.width, one.layout.packing
        strongest = {}
        for packing in FOUR_BITS:
            read = _spectrum(own.reshape(-1, width)[:, _places(declared, packing, width)].reshape(-1))
            related = (
                (abs(_relation(read, spectrum, _length(one))), name)
                for name, spectrum in spectra[_length(one)]
                if name != one.name
            )
            strongest[packing] = max(related, default=(0.0, ""))
        best = max(strongest, key=lambda packing: strongest[packing][0])
        (most, name), (least, _) = strongest[best], strongest[declared]
        if most >= SURE and least <= LITTLE:
            yield one.suspicion(
                Kind.CODE_ORDER,
                f"the codes seem to be in the order {best}, not {declared}: then magnitudes along a line agree with "
                f"{name!r} {most:.1f} times as much as at other shifts, and as declared {least:.1f} times",
                {str(packing): relation for packing, (relation, _) in strongest.items()},
            )


def _length(one: Judged) -> int:
    return one.stored.shape[2] * one.layout.width


def _places(declared: Packing, other: Packing, width: int) -> np.ndarray:
    """The place of each code of a block in the declared order, if bytes are read in the other one."""
    places = np.arange(width, dtype=np.uint8)
    low, high = (PACKINGS[other][1](PACKINGS[declared][0](part[None])) for part in (places & 15, places >> 4))
    return (low | high << 4)[0]


def _spectrum(profile: np.ndarray) -> np.ndarray:
    """The spectrum of a profile around its mean, which replaces unknown places; empty if too few are known."""
    known = np.isfinite(profile)
    if np.count_nonzero(known) < FEWEST:
        return np.empty(0)
    return np.fft.rfft(np.where(known, profile - profile[known].mean(), 0))


def _relation(a: np.ndarray, b: np.ndarray, length: int) -> float:
    """The correlation of two profiles from their spectra, in units of the mean at all other shifts.

    Profiles that are smooth, or repeat with every head, correlate at other shifts too, so the result is small.
    """
    if not a.size or not b.size:
        return 0.0
    products = np.fft.irfft(a * b.conj(), length)
    others = np.sqrt(np.mean(np.square(products[1:])))
    return float(products[0] / others) if others else 0.0


def _profiles(length: int, judged: Sequence[Judged], others: Mapping[str, Stored]) -> Iterator[tuple[str, np.ndarray]]:
    """The profiles of this many channels that do not depend on the order of codes."""
    for name, stored in others.items():
        if stored.dtype in CONVERTED and 0 < len(stored.shape) < 3 and length in stored.shape:
            yield from ((name, profile) for profile in _of_numbers(stored, length))
    for one in judged:
        if one.tally.lines and one.stored.shape[1] == length:
            yield one.name, one.tally.lines.logarithms


def _of_numbers(stored: Stored, length: int) -> Iterator[np.ndarray]:
    """The profile of a vector, or the profiles of the columns and the lines of a matrix up to `MOST_NUMBERS`."""
    lines, places = stored.shape if len(stored.shape) == 2 else (1, *stored.shape)
    if not 0 < places <= min(LONGEST, MOST_NUMBERS) or not lines:
        return
    step = -(-lines * places // MOST_NUMBERS)
    chosen = stored.data.reshape(lines, places)[::step]
    with np.errstate(invalid="ignore", over="ignore"):
        numbers = widen(np.ascontiguousarray(chosen), np.empty(chosen.shape, np.uint32)).view(np.float32)
        squares = np.nan_to_num(np.square(numbers.astype(np.float64)), posinf=0)
    for axis, size, is_whole in ((0, places, True), (1, lines, step == 1)):
        if size == length and is_whole and squares.shape[axis] and (axis == 0 or lines > 1):
            profile = Profile(size)
            profile.add(slice(None), squares.sum(axis=axis), squares.shape[axis])
            yield profile.logarithms
