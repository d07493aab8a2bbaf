"""For tests of others: a converter must follow a profile, bit for bit.

>>> import mxcast
>>> from mxcast.testing import assert_follows
>>> def encode(x):
...     q = mxcast.quantize(x, "e2m1", profile="nvidia")
...     return q.scales, q.codes
>>> assert_follows(encode, "nvidia", format="e2m1")
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

from .identification import identify
from .spec.profiles.resolve import OperationFields


def assert_follows(
    function: Callable | str,
    profile: str,
    *,
    format: str,
    op: str = "encode",
    samples: int = 0,
    blocks: int = 20_000,
    **rules: Unpack[OperationFields],
) -> None:
    """Pass where a function gives the bits of a profile for every block that is tried, and no other rules do.

    Parameters
    ----------
    function : what `mxcast.identify` takes
    profile, format, op, rules : the rules that it is to follow
    samples : calls with the same blocks, by which a function is judged that is random
    blocks : number of random blocks; directed blocks are always tried

    Raises
    ------
    AssertionError
        with the rules that it follows instead or the nearest ones, and the smallest block on which it departs
    ValueError, TypeError
        as `mxcast.identify`
    """
    __tracebackhide__ = True  # of pytest: the test that calls it is where it fails
    found = identify(function, format, profile=profile, op=op, samples=samples, blocks=blocks, **rules)
    if found.follows(found.rules):
        return
    lines = [found.sentence, *found.remarks, *found.witnesses]
    raise AssertionError("\n".join(lines))
