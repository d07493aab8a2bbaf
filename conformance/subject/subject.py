"""A converter of the user as a function on transactions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from ...models.arrays.source import DTYPES, widen
from ...sim.transactions import Transactions
from ...spec import BF16, FloatFormat, Operation, Role
from ..tensors import BLOCKS_OF_TENSOR
from .reply import encoded, numbers, words


class SubjectError(ValueError):
    """The function cannot be called as a converter, or returns something else than results."""


class Subject(Protocol):
    """A converter."""

    def __call__(self, given: Transactions) -> Transactions:
        """The results: scales and codes, or numbers alone."""


CALLED_WITH = {
    "encode": "x, numbers (n, block_size); it returns scales (n,) and codes (n, block_size), or numbers like x",
    "two_level_encode": "x, all blocks (n, 16) of a tensor; it returns scales (n,) and codes (n, 16)",
    "decode": "scales (n,) and codes (n, block_size), uint8; it returns numbers (n, block_size)",
    "cast": "x, numbers (n,), or codes (n,) where numbers are returned; it returns codes or numbers (n,)",
}
"""By the name of an operation, how a function is called. If rules take random bits, these are the last argument, an
integer for each result.
"""


class Function:
    """A Python callable, called as in `CALLED_WITH`. Numbers are float32 for sources FP32 and BF16, and float16 for
    FP16.

    Raises ValueError for an operation that is not in that table; calls raise `SubjectError`.
    """

    def __init__(self, function: Callable, rules: Operation, name: str = "the function") -> None:
        if rules.name not in CALLS:
            raise ValueError(f"functions are identified of {', '.join(CALLS)}, not of {rules.name}")
        self.function, self.name = function, name
        self.rules: Any = rules  # of that operation
        self.remark = ""
        """A remark about its calls."""

    def __call__(self, given: Transactions) -> Transactions:
        return CALLS[self.rules.name](self, given)

    def result(self, *arguments: np.ndarray) -> object:
        """The value that the function returns. It gets copies, and may write to them."""
        given = [np.ascontiguousarray(argument).copy() for argument in arguments]
        before = [argument.tobytes() for argument in given]
        try:
            with np.errstate(all="ignore"), _not_ended():
                made = self.function(*given)
        except (Exception, SystemExit) as error:  # whatever it raises
            shapes = ", ".join(f"{argument.dtype} {argument.shape}" for argument in arguments)
            text = " ".join(str(error).split())
            raise SubjectError(
                f"{self.name} raised {type(error).__name__} when it was called with {shapes}: {text}"
            ) from error
        if before != [argument.tobytes() for argument in given]:
            self.remark = "it writes to the arrays that it is called with"
        return made

    def read(self, read: Callable, *arguments: object) -> object:
        try:
            return read(*arguments)
        except (ValueError, TypeError) as error:
            raise SubjectError(f"{self.name} returned what cannot be read: {error}") from error


@contextmanager
def _not_ended() -> Iterator[None]:
    """Let `os._exit` raise SystemExit in this process, which it would end; child processes may end."""
    end, process = os._exit, os.getpid()

    def exit(status: int) -> None:
        if os.getpid() != process:
            end(status)
        raise SystemExit(f"os._exit({status})")

    os._exit = exit  # type: ignore[assignment]
    try:
        yield
    finally:
        os._exit = end


def _numbers_of(patterns: np.ndarray, source: FloatFormat) -> np.ndarray:
    """Patterns of a source as an array that any library accepts."""
    array = np.ascontiguousarray(patterns).view(DTYPES[source.name])
    return widen(array, np.empty(array.shape, np.uint32)).view(np.float32) if source == BF16 else array


def _encode(of: Function, given: Transactions) -> Transactions:
    x = _numbers_of(given[Role.NUMBERS], of.rules.source)
    return _leaving(of.read(encoded, of.result(x, *_drawn(given)), of.rules.block, len(x)))


def _drawn(given: Transactions) -> list[np.ndarray]:
    """The random bits as the last argument, or no argument."""
    bits = given.get(Role.RANDOM)
    return [] if bits is None else [bits]


def _leaving(made: Any) -> Transactions:
    if isinstance(made, np.ndarray):
        return Transactions({Role.NUMBERS: made})
    scales, codes = made
    return Transactions({Role.SCALE: scales, Role.CODES: codes})


def _nvfp4(of: Function, given: Transactions) -> Transactions:
    return Transactions.joined(_encode(of, tensor) for tensor in _tensors(given))


def _tensors(given: Transactions) -> Iterator[Transactions]:
    for start in range(0, len(given), BLOCKS_OF_TENSOR):
        yield given.rows(slice(start, start + BLOCKS_OF_TENSOR))


def _decode(of: Function, given: Transactions) -> Transactions:
    codes = given[Role.CODES]
    made = of.result(given[Role.SCALE][:, 0], codes, *_drawn(given))
    return Transactions({Role.NUMBERS: _narrowed(of, made, codes.shape)})


def _narrowed(of: Function, made: object, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers as patterns of the destination."""
    to = of.rules.destination
    wide = np.asarray(of.read(numbers, made, shape))
    if to.bits == 32:
        return wide
    if to == BF16:
        narrow, back = (wide >> np.uint32(16)).astype(np.uint16), wide & np.uint32(0xFFFF0000)
    else:
        with np.errstate(all="ignore"):
            halves = wide.view(np.float32).astype(DTYPES[to.name])
        narrow, back = halves.view(np.uint16), halves.astype(np.float32).view(np.uint32)
    if ((back != wide) & ~np.isnan(wide.view(np.float32))).any():
        raise SubjectError(f"{of.name} returned what cannot be read: a number that {to.name} does not have")
    return narrow


def _cast(of: Function, given: Transactions) -> Transactions:
    rules = of.rules
    if rules.is_back:
        codes = given[Role.CODES]
        return Transactions(
            {Role.NUMBERS: _narrowed(of, of.result(codes.reshape(-1), *map(np.ravel, _drawn(given))), codes.shape)}
        )
    x = _numbers_of(given[Role.NUMBERS], rules.source)
    codes = np.asarray(of.read(words, of.result(x.reshape(-1), *map(np.ravel, _drawn(given))), rules.scalar))
    if codes.size != x.size:
        raise SubjectError(f"{of.name} returned {codes.size} codes for {x.size} numbers")
    return Transactions({Role.CODES: codes.reshape(x.shape)})


CALLS: dict[str, Callable[[Function, Transactions], Transactions]] = {
    "encode": _encode,
    "two_level_encode": _nvfp4,
    "decode": _decode,
    "cast": _cast,
}
