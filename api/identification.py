"""Identification of the rules that a function or a file follows, for the stable interface."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from .spec.profiles.resolve import OperationFields

if TYPE_CHECKING:
    from .conformance.identify.outcome import Identification
    from .conformance.pairs.identify import OfPairs


def identify(
    function: Callable | str,
    format: str,
    *,
    profile: str | None = None,
    op: str = "encode",
    nan_codes_free: bool = False,
    samples: int = 0,
    blocks: int = 20_000,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    **rules: Unpack[OperationFields],
) -> Identification:
    """Find the rules that a converter follows.

    Parameters
    ----------
    function : a function on arrays, or a text that names one, as ``mxcast identify`` takes it. An encoder is called
        with numbers (n, block_size), float32 or, from FP16, float16, and returns scales (n,) and codes
        (n, block_size), or numbers like those; of ``nvfp4`` with all blocks of a tensor, (n, 16). A decoder is called
        with scales (n,) and codes (n, block_size), uint8; a cast with numbers (n,). Under ``rounding="sr"`` it is
        called with random bits too, uint16, an integer for each element.
    format : the block format, or the scalar format of a cast
    profile : the expected rules, or None
    op : ``encode``, ``decode`` or ``cast``
    nan_codes_free : accept any codes under a scale that is NaN
    samples : calls with the same blocks, by whose distribution a function is judged that is random; 10,000 show a bias
        of a thirtieth of a step
    blocks, seed : number of random blocks and their seed; directed blocks and 10,000 of N(0,1) are always tried
    progress : called with a description of each step
    rules : fields that override the profile, such as ``source``

    Returns
    -------
    Identification
        ``verdict`` (follows, differs, unknown), ``names`` of what it follows, ``witness`` in words, and more

    Raises
    ------
    ValueError
        for an unknown name, a function that is not there or raises, and results that cannot be read

    >>> import mxcast
    >>> def encode(x):
    ...     q = mxcast.quantize(x, "e4m3", profile="nvidia")
    ...     return q.scales[:, 0], q.codes
    >>> mxcast.identify(encode, "e4m3", blocks=1000).names
    ('nvidia',)
    """
    from .conformance.identify.identify import identify
    from .conformance.subject.locate import located
    from .spec.profiles.resolve import operation_of

    operation = operation_of(op, format, profile, **rules)
    name = function if isinstance(function, str) else getattr(function, "__qualname__", "the function")
    return identify(
        located(function, operation) if isinstance(function, str) else function,
        operation,
        expected=profile is not None,
        nan_codes_free=nan_codes_free,
        samples=samples,
        seed=seed,
        blocks=blocks,
        name=name,
        progress=progress,
    )


def identify_file(
    numbers: Path | str,
    quantized: Path | str,
    format: str | None = None,
    *,
    stored_as: str | None = None,
    profile: str | None = None,
    nan_codes_free: bool = False,
    progress: Callable[[str], None] | None = None,
    **rules: Unpack[OperationFields],
) -> OfPairs:
    """Find the rules that made a file of quantized tensors of a file of numbers.

    Parameters
    ----------
    numbers : `.safetensors`, `.npy`, `.npz`, `.gguf` or `.onnx`, with tensors of F32, F16 or BF16
    quantized : a file that ``mxcast inspect`` reads, with the same tensors
    format : the block format that is compared, where the file has several
    stored_as : the layout of the file, where several fit
    profile : the expected rules, or None
    nan_codes_free : accept any codes under a scale that is NaN
    progress : called with a description of each step
    rules : fields that override the profile

    Returns
    -------
    OfPairs
        ``verdict``, ``names``, ``witness`` in words, the blocks of each tensor that differ, and more

    Raises
    ------
    ValueError
        for damaged files, ambiguous layouts, and tensors that one of the files lacks
    OSError
        in the words of the system

    >>> import mxcast, numpy as np
    >>> x = np.random.default_rng(0).standard_normal((64, 128), dtype=np.float32)
    >>> np.save("weight.npy", x)
    >>> file = mxcast.save(mxcast.quantize(x, "e4m3", profile="nvidia"), "weight.safetensors")
    >>> "nvidia" in mxcast.identify_file("weight.npy", file, profile="nvidia").sentence
    True
    """
    from .conformance.pairs.identify import identify_pairs
    from .tensors.inspect.paired_files import pairs, rules_of

    paired = pairs(numbers, quantized, stored_as, format)
    return identify_pairs(
        paired,
        rules_of(paired, profile, **rules),
        expected=profile is not None,
        nan_codes_free=nan_codes_free,
        name=Path(quantized).name,
        progress=progress,
    )
