"""Mutants of the specification of an NVFP4 decoder."""

from __future__ import annotations

from ....spec import E2M1, Convention, Nvfp4Decode
from ..encode import bits
from ..nvfp4_decode import Nvfp4DecodeSpecification
from .mutant import FunctionMutant, Mutant

MULTIPLIED = (Convention.MULTIPLIER, Convention.AMAX)
"""Conventions whose factor is a product."""

NVFP4_DECODE_MUTANTS: dict[str, Mutant[Nvfp4Decode, Nvfp4DecodeSpecification]] = {
    "scale": FunctionMutant(
        description="the scale is the next one",
        function="scale_magnitude",
        body=lambda s: "({right} (bvadd b (_ bv1 8)))",
    ),
    "scale nan": FunctionMutant(
        description="a scale of NaN is not noticed", function="scale_nan", body=lambda s: "(and false ({right} b))"
    ),
    "scale sign": FunctionMutant(
        description="scales have no sign", function="scale_negative", body=lambda s: "(and false ({right} b))"
    ),
    "tensor scale": FunctionMutant(
        description="the scale of the tensor is not used",
        function="factor",
        body=lambda s: "s",
        applies=lambda rules: rules.convention in MULTIPLIED,
    ),
    "tensor sign": FunctionMutant(
        description="the scale of the tensor has no sign",
        function="factor",
        body=lambda s: "({right} s (fp.abs g))",
        applies=lambda rules: rules.convention in MULTIPLIED,
    ),
    "sign": FunctionMutant(
        description="numbers have no sign", function="element_negative", body=lambda s: "(and false ({right} p))"
    ),
    "zero": FunctionMutant(
        description="zeros have no sign",
        function="element_negative",
        body=lambda s: f"(and ({{right}} p) (not (= p {bits(E2M1.sign_mask, E2M1.bits)})))",
    ),
    "subnormal elements": FunctionMutant(
        description="elements below the smallest normal number are zero",
        function="element_magnitude",
        body=lambda s: "(ite (= ((_ extract 2 0) p) #b001) (_ +zero 11 53) ({right} p))",
    ),
    "result": FunctionMutant(
        description="results are one place too small",
        function="decoded",
        body=lambda s: f"({{right}} p b g (bvadd y {bits(1, s.rules.destination.bits)}))",
    ),
}
