"""Bit-exact converters to the OCP microscaling (MX) formats: golden model, Verilog, and the evidence that they agree.

What is named here is the stable interface. A name is imported when it is used first, so ``import mxcast`` takes no
time.

>>> import mxcast
>>> q = mxcast.quantize([[0.5] * 32], "e4m3", profile="nvidia")
Traceback (most recent call last):
...
TypeError: x must be float32, float16 or bfloat16, not float64: dtype='float32' rounds it first
>>> mxcast.quantize([[0.5] * 32], "e4m3", profile="nvidia", dtype="float32")
<Quantized (1, 32) mxfp8_e4m3>
>>> mxcast.formats["mxfp4_e2m1"].block_size
32
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # that of typing, whose import takes longer than all the rest
if TYPE_CHECKING:
    from .interface import (
        CastingRules,
        DecodingRules,
        Quantized,
        Rules,
        cast,
        dequantize,
        emit,
        explore,
        formats,
        identify,
        identify_file,
        inspect_file,
        load,
        pack,
        profiles,
        prove,
        quantize,
        save,
        synth,
        uncast,
        unpack,
        verify,
        verilate,
    )

    __version__: str

__all__ = [
    "CastingRules",
    "DecodingRules",
    "Quantized",
    "Rules",
    "__version__",
    "cast",
    "dequantize",
    "emit",
    "explore",
    "formats",
    "identify",
    "identify_file",
    "inspect_file",
    "load",
    "pack",
    "profiles",
    "prove",
    "quantize",
    "save",
    "synth",
    "uncast",
    "unpack",
    "verify",
    "verilate",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("mxcast")
    if name not in __all__:
        raise AttributeError(f"module 'mxcast' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(".interface", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
