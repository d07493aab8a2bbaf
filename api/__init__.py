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
>>> mxcast.profiles["nvidia"].source
'Recipes for Pre-training LLMs with MXFP8, Algorithm 1 with appendix A.1'
>>> mxcast.__version__.count(".")
2
"""

from __future__ import annotations

from importlib import import_module


def _listed() -> dict[str, tuple[str, str]]:
    """The module of each public name, and its name there, as the stub next to this file lists them."""
    with open(f"{__file__}i", encoding="utf-8") as stub:
        lines = [line.split() for line in stub if line.startswith("from ")]
    return {public: (module, name) for _, module, _, name, _, public in lines}


PUBLIC = _listed()

__all__ = [*PUBLIC, "__version__"]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from .host.version import VERSION

        return VERSION
    if name not in PUBLIC:
        raise AttributeError(f"module 'mxcast' has no attribute {name!r}")
    module, defined = PUBLIC[name]
    value = globals()[name] = getattr(import_module(module, __name__), defined)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
