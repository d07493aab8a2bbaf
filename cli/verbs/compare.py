"""`mxcast compare`: where two sets of rules differ, over all inputs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ...hdl import CastConfig, ConverterConfig, DecoderConfig
from ...spec import (
    NVFP4_DECODERS,
    NVFP4_ENCODERS,
    SCALARS,
    Cast,
    Decode,
    Encode,
    block_format,
    casting,
    decoding,
    is_nvfp4,
    numerics,
    nvfp4_decoding,
    nvfp4_encoding,
)
from ...spec.catalogue import known_name
from ...spec.formats.names import scalar_format
from ..assignments import assigned, profile_and_fields
from ..errors import ExitCode
from ..options import Force, Op, Set
from ..output import Output
from ..request import ALL, every_format

if TYPE_CHECKING:
    from ...compare import CastCertificate, DecodeCertificate

SIDE = "A profile, with fields replaced after a colon: ocp:scale_rule=ceil,specials=te."


@dataclass(frozen=True)
class Side:
    """One of the two arguments: a profile and the fields that replace its rules."""

    text: str
    profile: str
    fields: dict[str, Any]  # of a user: checked where they are used

    def numerics(self, block: str) -> Encode:
        return numerics(block, self.profile, **self.fields)

    def decoding(self, block: str) -> Decode:
        return decoding(block, self.profile, **self.fields)

    def casting(self, scalar: str) -> Cast:
        return casting(scalar, self.profile, **self.fields)

    def explain(self, block: str, what: str) -> str:
        """The command that explains a counterexample; ``what`` are the options that select it."""
        replaced = "".join(f" --set {key}={value}" for key, value in self.fields.items())
        return f"mxcast explain {block} --profile {self.profile}{replaced} {what}"


def compare(
    output: Output,
    a: Annotated[str, typer.Argument(metavar="A", show_default=False, help=SIDE)],
    b: Annotated[str, typer.Argument(metavar="B", show_default=False, help="The other profile, in the same form.")],
    format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="e4m3, int8, ..., for casts also ue8m0, or all that both profiles support.",
        ),
    ] = ALL,
    op: Op = "encode",
    set: Set = None,
    expect_equal: Annotated[
        bool, typer.Option("--expect-equal", help="Differences are a failure: exit code 1.")
    ] = False,
    force: Force = False,
) -> None:
    """Compare two profiles on every largest magnitude, every element and every NaN and Inf: equal on all, or how many
    differ. With --op decode, on every pair of a scale byte and a code; with --op cast, on every number of the source,
    or on every code with --set destination=fp32.

    Encoders take about a minute a format, once; their results are kept. Differences are a finding, not a failure.
    --set replaces a rule on both sides.
    """
    both = assigned(set or ())
    sides = [_side(text, both) for text in (a, b)]
    op = known_name("operation", op, COMPARED)
    if op == "decode" and (is_nvfp4(format) or all(side.profile in NVFP4_DECODERS for side in sides)):
        result = _nvfp4_decoders("nvfp4" if format == ALL else format, sides, output)
        output.document(result)
        if expect_equal and not result["equal"]:
            raise typer.Exit(ExitCode.FAILED)
        return
    if op == "encode" and (is_nvfp4(format) or all(side.profile in NVFP4_ENCODERS for side in sides)):
        result = _nvfp4("nvfp4" if format == ALL else format, sides, output)
        output.document(result)
        if expect_equal and not result["equal"]:
            raise typer.Exit(ExitCode.FAILED)
        return
    names = _common(op, sides) if format == ALL else [_name(format, op)]
    results = COMPARED[op](names, sides, force, output)
    output.document(results if format == ALL else results[0])
    if expect_equal and not all(result["equal"] for result in results):
        raise typer.Exit(ExitCode.FAILED)


def _common(op: str, sides: list[Side]) -> list[str]:
    """The formats that both profiles support."""
    first, second = ([_name(one, op) for one in every_format(op, side.profile, side.fields)] for side in sides)
    names = [name for name in first if name in second]
    if not names:
        raise ValueError(f"{sides[0].profile} and {sides[1].profile} have no format in common")
    return names


def _name(format: str, op: str) -> str:
    return scalar_format(format, "format", SCALARS).name if op == Cast.name else block_format(format).short_name


def _encoders(names: list[str], sides: list[Side], force: bool, output: Output) -> list[dict]:
    pairs = [[side.numerics(name) for side in sides] for name in names]  # errors come before the first long run
    results = []
    for name, (first, second) in zip(names, pairs):
        for side in (first, second):
            output.configuration(ConverterConfig(numerics=side))
        with output.progress(f"comparing on {name}") as progress:
            result = _certificate(first, second, force, progress)
        results.append(result)
        _show(name, sides, result, output)
    return results


def _decoders(names: list[str], sides: list[Side], force: bool, output: Output) -> list[dict]:
    """Nothing is cached: it takes less than a second for each format."""
    from ...compare import compare_decoders

    results = []
    for name, rules in [(name, [side.decoding(name) for side in sides]) for name in names]:
        for one in rules:
            output.configuration(DecoderConfig(numerics=one))
        certificate = compare_decoders(*rules)
        results.append(certificate.to_dict())
        _show_decoders(name, sides, certificate, output)
    return results


def _casts(names: list[str], sides: list[Side], force: bool, output: Output) -> list[dict]:
    """Nothing is cached: it takes less than a second for each format."""
    from ...compare import compare_casts

    results = []
    for name, rules in [(name, [side.casting(name) for side in sides]) for name in names]:
        for one in rules:
            output.configuration(CastConfig(numerics=one))
        certificate = compare_casts(*rules)
        results.append(certificate.to_dict())
        _show_casts(name, sides, certificate, output)
    return results


COMPARED: dict[str, Callable[[list[str], list[Side], bool, Output], list[dict]]] = {
    "encode": _encoders,
    "decode": _decoders,
    "cast": _casts,
}
"""The comparison of formats, by operation."""


def _nvfp4(name: str, sides: list[Side], output: Output) -> dict[str, Any]:
    from ...compare import compare_nvfp4
    from ...compare.nvfp4_encode import COMPARED

    first, second = (nvfp4_encoding(name, side.profile, **side.fields) for side in sides)
    found = compare_nvfp4(first, second)
    a, b = (side.text for side in sides)
    counts = ", ".join(f"{finding.compared:,} {COMPARED[part]}" for part, finding in found.findings.items())
    if found.equal:
        output.say(f"{name}: equal on all {counts}")
        return found.to_dict()
    output.say(f"{name}: {a} (A) and {b} (B) differ; the comparison covers {counts}")
    rows, commands = [], []
    for part, finding in found.findings.items():
        witness = finding.first
        cells = {"a": "", "block": "", "A": "", "B": ""}
        if witness is not None:
            amax = f"{witness.tensor_amax:.9g}"
            cells = {"a": amax, "block": witness.values}
            for side, scale, codes in zip("AB", witness.scales, witness.codes):
                cells[side] = f"{scale:02X}: " + "".join(f"{code:X}" for code in codes)
            commands += [side.explain(name, f"--amax {amax} --values {witness.values}") for side in sides]
        rows.append({"part": part, "differ": f"{finding.differing:,}", **cells})
    output.table(rows)
    output.say("\n".join(f"  {command}" for command in commands))
    return found.to_dict()


def _nvfp4_decoders(name: str, sides: list[Side], output: Output) -> dict[str, Any]:
    from ...compare import compare_nvfp4_decoders
    from ...compare.decode import CAUSES

    first, second = (nvfp4_decoding(name, side.profile, **side.fields) for side in sides)
    found = compare_nvfp4_decoders(first, second)
    a, b = (side.text for side in sides)
    pairs = f"{found.compared:,} results: pairs of a scale byte and a code in {found.tensors} tensors"
    if found.equal:
        output.say(f"{name}: equal on all {pairs}")
        return found.to_dict()
    output.say(f"{name}: {a} (A) and {b} (B) differ on {found.differing:,} of {pairs}")
    digits, rows, commands = first.destination.bits // 4, [], []
    for cause, finding in found.causes.items():
        one = finding.first
        byte, code = f"0x{one.byte:02X}", f"0x{one.code:X}"
        results = {"A": f"{one.a:0{digits}X}", "B": f"{one.b:0{digits}X}"}
        amax = f"0x{finding.amax:08X}"
        rows.append({"cause": CAUSES[cause], "differ": f"{finding.differing:,}", "a": amax, "byte": byte, "code": code})
        rows[-1] |= results
        for side, rules, scale in zip(sides, (first, second), finding.tensor_scales):
            tensor = "" if rules.block.tensor_scale is None else f" --tensor-scale 0x{scale:08X}"
            commands.append(side.explain(name, f"--op decode --scale {byte}{tensor} --codes {code}"))
    output.table(rows)
    output.say("\n".join(f"  {command}" for command in commands))
    return found.to_dict()


def _side(text: str, both: dict[str, str | int]) -> Side:
    profile, replaced = profile_and_fields(text)
    return Side(text, profile, both | replaced)


def _certificate(a: Encode, b: Encode, force: bool, progress: Callable[[int, int], None] | None) -> dict:
    """`Certificate.to_dict`, cached by both sides and by the source code that decides a bit."""
    from importlib.metadata import version

    from ...compare import compare
    from ...host.cache import kept_result, refreshed, sources

    key = [
        *(json.dumps(side.to_dict()) for side in (a, b)),
        *(f"{name} {version(name)}" for name in ("mxcast", "numpy")),
        sources("spec", "models"),
    ]
    with refreshed(force):
        return cast("dict[str, Any]", kept_result("compare", key, lambda _: compare(a, b, progress).to_dict()))


def _show(name: str, sides: list[Side], result: dict, output: Output) -> None:
    parts = {"scale": "largest magnitudes", "elements": "classes of elements", "specials": "blocks with NaN or Inf"}
    counts = ", ".join(f"{result[part]['compared']:,} {what}" for part, what in parts.items())
    if result["equal"]:
        output.say(f"{name}: equal on all {counts}; numbers of {result['numbers']}")
        return
    a, b = (side.text for side in sides)
    output.say(f"{name}: {a} (A) and {b} (B) differ; the comparison covers {counts}; numbers of {result['numbers']}")
    rows, commands = [], []
    for part in parts:
        finding = result[part]
        rows += [{"part": part, "differ": f"{finding['differing']:,}", **_cells("first", finding)}]
        if finding["differing"]:
            rows += [{"part": "", "differ": "", **_cells("last", finding)}]
            firsts = [finding["first"][key]["values"] for key in "ab"]
            commands += [side.explain(name, f"--values {values}") for side, values in zip(sides, firsts)]
    output.table(rows)
    output.say("\n".join(f"  {command}" for command in commands))


def _cells(which: str, finding: dict) -> dict[str, str]:
    """The cells of a counterexample: its block without zeros, and byte and codes of both sides."""
    found = finding[which]
    if found is None:
        return {"block": "", "A": "", "B": ""}
    block = max((found[key]["values"] for key in "ab"), key=len)  # the wider of two sources
    bits = {key: f"{found[key]['byte']}: " + " ".join(f"{code:02X}" for code in found[key]["codes"]) for key in "ab"}
    return {"block": f"{which} {block}", "A": bits["a"], "B": bits["b"]}


def _show_decoders(name: str, sides: list[Side], found: DecodeCertificate, output: Output) -> None:
    from ...compare.decode import CAUSES

    a, b, to = sides[0].text, sides[1].text, found.a.destination
    pairs = f"{found.compared:,} pairs of a scale byte and a code, to {to.name}"
    if found.equal:
        output.say(f"{name}: equal on all {pairs}")
        return
    output.say(f"{name}: {a} (A) and {b} (B) differ on {found.differing:,} of {pairs}")
    digits, rows, commands = to.bits // 4, [], []
    for cause, finding in found.causes.items():
        first = finding.first
        byte, code = f"0x{first.byte:02X}", f"0x{first.code:02X}"
        results = {"A": f"{first.a:0{digits}X}", "B": f"{first.b:0{digits}X}"}
        rows.append({"cause": CAUSES[cause], "differ": f"{finding.differing:,}", "byte": byte, "code": code, **results})
        commands += [side.explain(name, f"--op decode --scale {byte} --codes {code}") for side in sides]
    output.table(rows)
    output.say("\n".join(f"  {command}" for command in commands))


def _show_casts(name: str, sides: list[Side], found: CastCertificate, output: Output) -> None:
    from ...compare.cast import CAUSES

    a, b, rules = sides[0].text, sides[1].text, found.a
    what, option = ("codes", "--codes") if rules.is_back else ("patterns", "--values")
    patterns = f"{found.compared:,} {what} of {rules.source.name}, to {rules.destination.name}"
    if found.equal:
        output.say(f"{name}: equal on all {patterns}")
        return
    output.say(f"{name}: {a} (A) and {b} (B) differ on {found.differing:,} of {patterns}")
    rows, commands = [], []
    for cause, finding in found.causes.items():
        first = finding.first
        pattern = f"0x{first.pattern:0{-(-rules.source.bits // 4)}X}"
        results = {key: f"{code:0{-(-rules.destination.bits // 4)}X}" for key, code in (("A", first.a), ("B", first.b))}
        rows.append({"cause": CAUSES[cause], "differ": f"{finding.differing:,}", "first": pattern, **results})
        commands += [side.explain(name, f"--op cast {option} {pattern}") for side in sides]
    output.table(rows)
    output.say("\n".join(f"  {command}" for command in commands))
