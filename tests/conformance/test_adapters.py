"""Adapters without their library, or with a library of another interface: one sentence each."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

import mxcast
from mxcast.conformance.adapters import ADAPTERS
from mxcast.conformance.adapters.te_reference import VARIABLE
from mxcast.spec.profiles.resolve import operation_of

LIBRARIES = {
    "gfloat": ("gfloat", "gfloat.formats"),
    "ml_dtypes": ("ml_dtypes",),
    "torchao": ("torchao.prototype.mx_formats.mx_tensor", "torchao.prototype.mx_formats.nvfp4_tensor"),
    "gguf": ("gguf", "gguf.quants"),
    "compressed-tensors": ("compressed_tensors.quantization.utils.helpers",),
    "mlx": ("mlx.core",),
    "nvidia-modelopt": (
        "modelopt.torch.quantization.qtensor.mxfp8_tensor",
        "modelopt.torch.quantization.qtensor.mxfp4_tensor",
        "modelopt.torch.quantization.qtensor.nvfp4_tensor",
    ),
    "amd-quark": ("quark.torch.kernel.hw_emulation.hw_emulation_interface",),
    "microxcaling": ("mx.mx_ops", "mx.formats"),
    "Transformer Engine": (),
    "onnx": ("onnx", "onnx.reference"),
    "torch": ("torch",),
}
"""By the distribution, the modules that its adapters import."""
OF_TORCH = {
    "torchao",
    "compressed-tensors",
    "nvidia-modelopt",
    "amd-quark",
    "microxcaling",
    "Transformer Engine",
    "torch",
}
CASES = [(name, op, one.operations[op][0]) for name, one in ADAPTERS.items() for op in one.operations]


def made(name: str, operation: str, format: str):
    op = "encode" if operation == "two_level_encode" else operation
    return ADAPTERS[name].function(operation_of(op, format))


@pytest.mark.parametrize("name, operation, format", CASES)
def test_without_its_library(name, operation, format, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    adapter = ADAPTERS[name]
    gone = ["torch"] if adapter.distribution in OF_TORCH else []
    for module in [*gone, *LIBRARIES[adapter.distribution]]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(type(adapter), "version", None)
    with pytest.raises(ValueError, match=f"the adapter {name} needs {adapter.distribution} ") as error:
        made(name, operation, format)
    assert "\n" not in str(error.value)
    hint = adapter.checkout or f"pip install {adapter.distribution}"
    assert str(error.value).endswith(hint)


@pytest.mark.parametrize("name, operation, format", CASES)
def test_with_a_library_of_another_interface(name, operation, format, monkeypatch):
    """Empty modules of these names: the sentence names the version that the adapter supports."""
    adapter = ADAPTERS[name]
    monkeypatch.setenv(VARIABLE, "/nowhere/reference_nvfp4.py")
    for module in [*(["torch"] if adapter.distribution in OF_TORCH else []), *LIBRARIES[adapter.distribution]]:
        parts = module.split(".")
        for end in range(1, len(parts) + 1):
            monkeypatch.setitem(sys.modules, ".".join(parts[:end]), ModuleType(".".join(parts[:end])))
    try:
        function = made(name, operation, format)
    except ValueError as error:
        said = str(error)
        assert (f"the adapter {name} " in said and adapter.tested in said) or "needs" in said
    else:  # the missing function is found when it is called
        with pytest.raises(ValueError, match=f"{name} raised ") as raised:
            mxcast.identify(name, format, op="encode" if operation == "two_level_encode" else operation, blocks=10)
        said = str(raised.value)
        assert callable(function)
    assert "\n" not in said
