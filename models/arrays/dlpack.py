"""Arrays of other libraries by the DLPack protocol, without a copy and without the library.

NumPy reads DLPack too, but it has no BF16. Here a BF16 tensor becomes an array of its bit patterns.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np

CPU_MEMORY = {1, 3, 11}
"""Device types with memory that the processor reads: the CPU, and host memory pinned by CUDA or ROCm."""
KINDS = ("int", "uint", "float", "opaque", "bfloat", "complex", "bool")
"""Names of DLPack's type codes; codes from 7 on are formats of at most eight bits."""
DTYPES = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": np.uint16}


class Tensor(ctypes.Structure):
    """`DLTensor` of dlpack.h, the beginning of a `DLManagedTensor`."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Exporter(Protocol):
    """An object of another library that exports its memory by DLPack."""

    def __dlpack_device__(self) -> tuple[int, int]: ...

    def __dlpack__(self) -> object: ...


class Exported:
    """Memory of another library in the form that NumPy requires. The array keeps this object, which keeps the capsule.

    The capsule is not marked as used, so its destructor frees the memory.
    """

    def __init__(self, capsule: object, interface: dict[str, object]) -> None:
        self.capsule, self.__array_interface__ = capsule, interface


pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def from_dlpack(x: Exporter) -> np.ndarray:
    """The numbers of an object with ``__dlpack__`` as a read-only array on its own memory, whatever its strides.

    float32, float16, and as uint16 bfloat16. Raises TypeError for what is not in the processor's memory, is part of a
    gradient computation, has another dtype, or cannot be exported.
    """
    if _says(x, "requires_grad"):
        raise TypeError("x must not require a gradient: give x.detach()")
    if _says(x, "is_neg"):
        raise TypeError(
            "x must not be a view with the negative bit, whose memory has the opposite signs: give x.resolve_neg()"
        )
    if _says(x, "is_conj"):
        raise TypeError("x must not be a view with the conjugate bit: give x.resolve_conj()")
    with _readable():
        device = int(x.__dlpack_device__()[0])
        capsule = x.__dlpack__() if device in CPU_MEMORY else None
    if device not in CPU_MEMORY:
        raise TypeError(f"x must be on the CPU, not on {getattr(x, 'device', f'a device of DLPack type {device}')}")
    try:
        tensor = Tensor.from_address(pointer_of(capsule, b"dltensor"))
    except ValueError:  # Python's own message is about capsules
        raise TypeError("x cannot be read: its __dlpack__() returns no capsule named dltensor") from None
    name = _type_name(tensor.code, tensor.bits) + (f" x {tensor.lanes}" if tensor.lanes != 1 else "")
    if name not in DTYPES:
        raise TypeError(f"x must be float32, float16 or bfloat16, not {name}")
    dtype, shape = np.dtype(DTYPES[name]), tuple(tensor.shape[: tensor.ndim])
    if 0 in shape:  # such an array may have no memory
        return np.empty(shape, dtype)
    if tensor.data is None:
        raise TypeError("x cannot be read: its numbers are nowhere in memory (the address that it exports is 0)")
    strides = None
    if tensor.strides:  # the stride of an axis of one element can be any number
        steps = zip(tensor.strides[: tensor.ndim], shape)
        strides = tuple(dtype.itemsize * (step if length > 1 else 1) for step, length in steps)
    return np.asarray(
        Exported(
            capsule,
            {
                "version": 3,
                "typestr": dtype.str,
                "shape": shape,
                "strides": strides,
                "data": (tensor.data + tensor.byte_offset, True),
            },
        )
    )


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # each library raises its own
        raise TypeError(f"x cannot be read: {' '.join(str(error).split())}") from error


def _says(x: object, name: str) -> bool:
    """The value of an attribute or method of a tensor; False if it is missing."""
    with _readable():
        value = getattr(x, name, False)
        return bool(value() if callable(value) else value)


def _type_name(code: int, bits: int) -> str:
    if code < len(KINDS):
        return "bool" if KINDS[code] == "bool" else f"{KINDS[code]}{bits}"
    return f"float{bits}" if bits <= 8 else f"DLPack type {code} of {bits} bits"
