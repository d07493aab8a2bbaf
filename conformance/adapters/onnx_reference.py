"""ONNX's reference implementation: the operators Cast, and DequantizeLinear with blocks."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from ...spec import Cast, Decode, Operation

NAMES = {
    "e5m2": "FLOAT8E5M2",
    "e4m3": "FLOAT8E4M3FN",
    "e3m2": "FLOAT6E3M2",
    "e2m3": "FLOAT6E2M3",
    "e2m1": "FLOAT4E2M1",
    "e8m0": "FLOAT8E8M0",
    "e4m3fnuz": "FLOAT8E4M3FNUZ",
    "e5m2fnuz": "FLOAT8E5M2FNUZ",
    "fp32": "FLOAT",
}
OPSET = 25
"""The first opset with casts to E8M0."""


def function(rules: Operation) -> Callable:
    """One node by `ReferenceEvaluator`."""
    onnx = import_module("onnx")
    evaluator = import_module("onnx.reference").ReferenceEvaluator
    helper, types = onnx.helper, onnx.TensorProto

    def session(node: object, entering: dict[str, str], leaving: str) -> Callable:
        given = [
            helper.make_tensor_value_info(name, getattr(types, NAMES[kind]), None) for name, kind in entering.items()
        ]
        made = [helper.make_tensor_value_info("y", getattr(types, NAMES[leaving]), None)]
        graph = helper.make_graph([node], "one", given, made)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        run = evaluator(model)
        return lambda **arrays: run.run(None, arrays)[0]

    def dtype(kind: str) -> np.dtype:
        return helper.tensor_dtype_to_np_dtype(getattr(types, NAMES[kind]))

    if isinstance(rules, Cast):
        to = getattr(types, NAMES[rules.destination.name])
        entering, leaving = rules.source.name, rules.destination.name
        cast = session(helper.make_node("Cast", ["x"], ["y"], to=to), {"x": entering}, leaving)
        return lambda x: cast(x=x.view(dtype(entering)))
    assert isinstance(rules, Decode)
    element = rules.block.element.name
    node = helper.make_node(
        "DequantizeLinear", ["x", "s"], ["y"], axis=1, block_size=rules.block_size, output_dtype=types.FLOAT
    )
    decode = session(node, {"x": element, "s": "e8m0"}, "fp32")
    return lambda scales, codes: decode(x=codes.view(dtype(element)), s=scales[:, None].view(dtype("e8m0")))
