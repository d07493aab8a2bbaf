"""`mxcast explain`: one block, or numbers that are cast, step by step."""

from __future__ import annotations

from typing import Annotated

import typer

from ...spec import FP32, Cast, Decode, Encode, Nvfp4Decode, Nvfp4Encode
from ..options.common import RuleOptions
from ..options.rules import operation_asked
from ..options.values import read_byte, read_codes, read_constants, read_number, read_numbers, read_random, read_values
from ..output.output import Output

USAGES = {
    "encode": "explain {} --values '1.5, -0.3, 0x3F800000, 1e-3*8'",
    "decode": "explain {} --op decode --scale 127 --codes '0x01, 2*3'",
    "cast": "explain {} --op cast --values '1.5, 0x3F800001, nan'",
}
"""An example for errors, by operation."""


def explain(
    rules: RuleOptions,
    output: Output,
    values: Annotated[
        str | None,
        typer.Option(
            "--values",
            metavar="LIST",
            show_default=False,
            help="The block, or the numbers to cast: numbers, 0x patterns, nan or inf, each with *COUNT if repeated. A "
            "block also as FILE:TENSOR[ROW, BLOCK].",
        ),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option("--scale", metavar="BYTE", show_default=False, help="With --op decode: the scale byte."),
    ] = None,
    codes: Annotated[
        str | None,
        typer.Option(
            "--codes",
            metavar="LIST",
            show_default=False,
            help="With --op decode, and for casts back to numbers: the codes, decimal or 0x, with *COUNT if repeated.",
        ),
    ] = None,
    tensor_scale: Annotated[
        str | None,
        typer.Option(
            "--tensor-scale",
            metavar="NUMBER",
            show_default=False,
            help="With --op decode of nvfp4: the scale of the tensor, a number or 0x pattern.",
        ),
    ] = None,
    random: Annotated[
        str | None,
        typer.Option(
            "--random", metavar="LIST", show_default=False, help="Random bits for each number, for rounding sr."
        ),
    ] = None,
    amax: Annotated[
        str | None,
        typer.Option(
            "--amax",
            metavar="NUMBER",
            show_default=False,
            help="For nvfp4 and its relatives: the largest magnitude of the tensor, a number or FP32 pattern; by "
            "default, the largest magnitude of the block.",
        ),
    ] = None,
    constants: Annotated[
        str | None,
        typer.Option(
            "--constants",
            metavar="K,D",
            show_default=False,
            help="Instead of --amax: the constants k and d (and a) of the tensor for hardware, as FP32 patterns.",
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show elements that are zero too.")] = False,
) -> None:
    """Convert one block and show every step: classes, largest magnitude, scale under every rule, bits and error of each
    element.

    With --op decode: the meaning of the scale byte, and product, rounding and result of each code. With --op cast: the
    two nearest results of each number, its rounding, overflow, underflow and sign. --set destination=fp32 casts codes
    back to numbers.

    Zeros complete the block. Numbers are rounded to the source format. Counterexamples of verify, compare and failing
    tests can be pasted unchanged.
    """
    op, format = rules.op, rules.format
    of_others: dict[str, dict[str, object]] = {
        "encode": {"--scale": scale, "--codes": codes, "--tensor-scale": tensor_scale},
        "decode": {"--values": values, "--all": everything},
        "cast": {"--scale": scale, "--tensor-scale": tensor_scale, "--all": everything},
    }
    for option, given in of_others.get(op, {}).items():
        if given not in (None, False):
            raise ValueError(f"{option} is not for --op {op}")
    chosen, profile = operation_asked(USAGES.get(op, "explain {}"), rules)
    output.rules(chosen)
    if isinstance(chosen, Nvfp4Encode):
        tensor = amax, None if constants is None else read_constants(constants)
        _nvfp4(chosen, profile, values, *tensor, random, everything, output)
        return
    for option, one in {"--amax": amax, "--constants": constants}.items():
        if one is not None:
            raise ValueError(f"{option} is for formats with a scale of the tensor, such as nvfp4, not for {format}")
    if isinstance(chosen, Nvfp4Decode):
        _nvfp4_decoder(chosen, scale, tensor_scale, codes, output)
        return
    if tensor_scale is not None:
        raise ValueError(f"--tensor-scale is for --op decode of formats such as nvfp4, not for {format}")
    drawn = None if random is None else read_random(random)
    if isinstance(chosen, Cast):
        _cast(chosen, profile, values, codes, drawn, output)
        return
    assert isinstance(chosen, Encode | Decode)  # `operation_asked` refuses the others
    command = f"mxcast {USAGES[op].format(chosen.block.short_name)}"
    if isinstance(chosen, Decode):
        if scale is None or codes is None:
            raise ValueError(f"--scale or --codes is missing: {command}")
        _decoder(chosen, read_byte(scale), read_codes(codes), drawn, output)
        return
    if values is None:
        raise ValueError(f"values are missing: {command}")
    _encoder(chosen, profile, values, drawn, everything, output)


def _encoder(
    rules: Encode, profile: str | None, values: str, random: list[int] | None, everything: bool, output: Output
) -> None:
    from dataclasses import replace

    from ...explain import explain
    from ..steps.encode import show

    block = read_values(values, rules)
    explanation = replace(explain(block.block, rules, random=random), profile=profile)
    show(explanation, output, block.remarks, everything)
    output.document(explanation.to_dict() | {"input": {"values": values, "remarks": list(block.remarks)}})


def _nvfp4(
    rules: Nvfp4Encode,
    profile: str | None,
    values: str | None,
    amax: str | None,
    constants: tuple[int, ...] | None,
    random: str | None,
    everything: bool,
    output: Output,
) -> None:
    from dataclasses import replace

    from ...explain import explain_nvfp4
    from ...explain.explanation import as_float, finite_fields
    from ..steps.nvfp4_encode import show

    if values is None:
        raise ValueError("values are missing: mxcast explain nvfp4 --amax 10 --values '1.5, -0.3, 0x3F800000'")
    patterns, remarks = read_numbers(values, rules.source, rules.block_size)
    drawn = None if random is None else read_random(random)
    a = None if amax is None else as_float(FP32.decode(read_number(amax, FP32, "--amax")))
    made = explain_nvfp4(patterns, rules, tensor_amax=a, constants=constants, random=drawn)
    explanation = replace(made, profile=profile)
    show(explanation, output, remarks, everything)
    given = finite_fields({"values": values, "amax": a, "constants": constants, "remarks": list(remarks)})
    output.document(explanation.to_dict() | {"input": given})


def _nvfp4_decoder(
    rules: Nvfp4Decode, scale: str | None, tensor_scale: str | None, codes: str | None, output: Output
) -> None:
    from ...explain import explain_nvfp4_decoder
    from ..steps.nvfp4_decode import show

    if scale is None or codes is None:
        raise ValueError(
            f"--scale or --codes is missing: mxcast explain {rules.block.name} --op decode --scale 0x38 "
            "--tensor-scale 10 --codes '0x1, 7'"
        )
    g = None if tensor_scale is None else read_number(tensor_scale, FP32, "--tensor-scale")
    explanation = explain_nvfp4_decoder(read_byte(scale), read_codes(codes), rules, tensor_scale=g)
    show(explanation, output)
    output.document(explanation.to_dict())


def _decoder(rules: Decode, byte: int, codes: list[int], random: list[int] | None, output: Output) -> None:
    from ...explain import explain_decoder
    from ..steps.decode import show

    explanation = explain_decoder(byte, codes, rules, random=random)
    show(explanation, output)
    output.document(explanation.to_dict())


def _cast(
    rules: Cast, profile: str | None, values: str | None, codes: str | None, random: list[int] | None, output: Output
) -> None:
    from dataclasses import replace

    from ...explain import explain_cast
    from ..steps.cast import show

    patterns, remarks = _enters(rules, values, codes)
    explanation = replace(explain_cast(patterns, rules, random=random), profile=profile)
    show(explanation, output, remarks)
    output.document(explanation.to_dict() | {"input": {"values": values, "codes": codes, "remarks": list(remarks)}})


def _enters(rules: Cast, values: str | None, codes: str | None) -> tuple[list[int], tuple[str, ...]]:
    """The patterns to cast, and remarks on their rounding."""
    what, option = ("codes", "--codes") if rules.is_back else ("numbers", "--values")
    given, other = (codes, values) if rules.is_back else (values, codes)
    if given is None or other is not None:
        raise ValueError(
            f"a cast from {rules.source.name} to {rules.destination.name} takes {what}: give {option} alone"
        )
    return (read_codes(given), ()) if rules.is_back else read_numbers(given, rules.source)
