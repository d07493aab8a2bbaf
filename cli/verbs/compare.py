"""`mxcast compare`: where two sets of rules differ, over all inputs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ...hdl import CastConfig, ConverterConfig, DecoderConfig, HardwareConfig
from ...spec import (
    NVFP4_DECODERS,
    NVFP4_ENCODERS,
    SCALARS,
    Cast,
    Decode,
    Encode,
    Nvfp4Decode,
    Nvfp4Encode,
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
from ..errors import ExitCode
from ..options.assignments import assigned, profile_and_fields
from ..options.common import Force, Op, Set
from ..options.request import ALL, every_format
from ..options.rules import check_rules
from ..output.output import Output

if TYPE_CHECKING:
    from ...compare.cast import CastResult
    from ...compare.certificate import ElementCertificate, ElementFinding
    from ...compare.decode import DecodedPair
    from ...compare.nvfp4_decode import Nvfp4DecodeFinding

SIDE = "A profile, with fields replaced after a colon: ocp:scale_rule=ceil,specials=te."


@dataclass(frozen=True)
class Side:
    """One of the two arguments: a profile and the fields that replace its rules."""

    text: str
    profile: str
    fields: dict[str, object]  # of a user: checked where they are used

    def explain(self, block: str, what: str) -> str:
        """The command that explains a counterexample; ``what`` are the options that select it."""
        replaced = "".join(f" --set {key}={value}" for key, value in self.fields.items())
        return f"mxcast explain {block} --profile {self.profile}{replaced} {what}"


@dataclass(frozen=True, kw_only=True)
class Found:
    """The result of one comparison, for JSON and for people."""

    document: Mapping[str, object]
    inputs: str
    """The inputs that were compared."""
    differing: int | None = None
    """The number of inputs that differ, if they are of one kind."""
    rows: Sequence[Mapping[str, object]] = ()
    commands: Sequence[str] = ()
    """Commands that explain the counterexamples."""

    def show(self, name: str, sides: Sequence[Side], output: Output) -> None:
        if self.document["equal"]:
            output.say(f"{name}: equal on all {self.inputs}")
            return
        a, b = (side.text for side in sides)
        on = f" on {self.differing:,} of " if self.differing is not None else "; the comparison covers "
        output.say(f"{name}: {a} (A) and {b} (B) differ{on}{self.inputs}")
        output.table(self.rows)
        output.say("\n".join(f"  {command}" for command in self.commands))


def compare(
    output: Output,
    a: Annotated[str, typer.Argument(metavar="A", show_default=False, help=SIDE)],
    b: Annotated[str, typer.Argument(metavar="B", show_default=False, help="The other profile, in the same form.")],
    format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="e4m3, int8, ..., or all that both profiles support; for casts also ue8m0, ...",
        ),
    ] = ALL,
    op: Op = "encode",
    set: Set = None,
    expect_equal: Annotated[
        bool, typer.Option("--expect-equal", help="Exit with code 1 if there are differences.")
    ] = False,
    force: Force = False,
) -> None:
    """Compare two profiles on every input, and count the inputs that differ.

    Encoders are compared on every largest magnitude, every element, and every NaN and Inf. With --op decode: on every
    pair of a scale byte and a code. With --op cast: on every number of the source, or, with --set destination=fp32, on
    every code.

    Encoders take about a minute for each format; results are cached. Differences do not change the exit code.
    --set replaces a rule on both sides.
    """
    both = assigned(set or ())
    sides = [_side(text, both) for text in (a, b)]
    op = known_name("operation", op, (Encode.name, Decode.name, Cast.name))
    nvfp4, profiles = NVFP4.get(op, (None, ()))
    if nvfp4 is not None and (is_nvfp4(format) or all(side.profile in profiles for side in sides)):
        op, names, is_list = nvfp4, ["nvfp4" if format == ALL else format], False
    else:
        names, is_list = _common(op, sides) if format == ALL else [_name(format, op)], format == ALL
    for side in sides:
        check_rules("compare", op, side.fields)
    rules_of, config, compared = COMPARED[op]
    pairs = [[rules_of(name, side.profile, **side.fields) for side in sides] for name in names]
    results = []
    for name, pair in zip(names, pairs):
        if config is not None:
            for rules in pair:
                output.configuration(config(numerics=rules))
        with output.progress(f"comparing on {name}") as progress:
            found = compared(name, *pair, sides, partial(_cached, force, progress))
        found.show(name, sides, output)
        results.append(found.document)
    output.document(results if is_list else results[0])
    if expect_equal and not all(result["equal"] for result in results):
        raise typer.Exit(ExitCode.FAILED)


def _side(text: str, both: dict[str, str | int]) -> Side:
    profile, replaced = profile_and_fields(text)
    return Side(text, profile, {**both, **replaced})


def _common(op: str, sides: list[Side]) -> list[str]:
    """The formats that both profiles support."""
    first, second = ([_name(one, op) for one in every_format(op, side.profile, side.fields)] for side in sides)
    names = [name for name in first if name in second]
    if not names:
        raise ValueError(f"{sides[0].profile} and {sides[1].profile} have no format in common")
    return names


def _name(format: str, op: str) -> str:
    return scalar_format(format, "format", SCALARS).name if op == Cast.name else block_format(format).short_name


def _cached(force: bool, progress: Callable[[int, int], None] | None, a: Encode, b: Encode) -> dict[str, Any]:
    """The certificate of two encoders as a dict, cached by both sides and by the source code that decides a bit."""
    from importlib.metadata import version

    from ...compare import compare
    from ...host.cache import kept_result, refreshed, sources

    key = [
        *(json.dumps(side.to_dict()) for side in (a, b)),
        *(f"{name} {version(name)}" for name in ("mxcast", "numpy")),
        sources("spec", "models", "compare"),
    ]
    with refreshed(force):
        return cast("dict[str, Any]", kept_result("compare", key, lambda _: compare(a, b, progress).to_dict()))


Cached = Callable[[Encode, Encode], dict[str, Any]]
PARTS = {"scale": "largest magnitudes", "elements": "classes of elements", "specials": "blocks with NaN or Inf"}


def _encoders(name: str, a: Encode, b: Encode, sides: list[Side], cached: Cached) -> Found:
    result = cached(a, b)
    rows, commands = [], []
    for part in PARTS:
        finding = result[part]
        rows.append({"part": part, "differ": f"{finding['differing']:,}", **_cells("first", finding)})
        if finding["differing"]:
            rows.append({"part": "", "differ": "", **_cells("last", finding)})
            firsts = [finding["first"][key]["values"] for key in "ab"]
            commands += [side.explain(name, f"--values {values}") for side, values in zip(sides, firsts)]
    counts = ", ".join(f"{result[part]['compared']:,} {what}" for part, what in PARTS.items())
    return Found(document=result, inputs=f"{counts}; numbers of {result['numbers']}", rows=rows, commands=commands)


def _cells(which: str, finding: dict) -> dict[str, str]:
    """The cells of a counterexample: its block without zeros, and byte and codes of both sides."""
    found = finding[which]
    if found is None:
        return {"block": "", "A": "", "B": ""}
    block = max((found[key]["values"] for key in "ab"), key=len)  # the wider of two sources
    bits = {key: f"{found[key]['byte']}: " + " ".join(f"{code:02X}" for code in found[key]["codes"]) for key in "ab"}
    return {"block": f"{which} {block}", "A": bits["a"], "B": bits["b"]}


def _nvfp4(name: str, a: Nvfp4Encode, b: Nvfp4Encode, sides: list[Side], cached: Cached) -> Found:
    from ...compare import compare_nvfp4
    from ...compare.nvfp4_encode import COMPARED

    found = compare_nvfp4(a, b)
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
    counts = ", ".join(f"{finding.compared:,} {COMPARED[part]}" for part, finding in found.findings.items())
    return Found(document=found.to_dict(), inputs=counts, rows=rows, commands=commands)


def _by_cause(
    found: ElementCertificate,
    inputs: str,
    causes: Mapping[str, str],
    shown: Callable[..., tuple[dict[str, str], Sequence[str]]],
) -> Found:
    """Differences by cause; ``shown`` gives the cells and the commands of a finding."""
    digits = -(-found.a.formats["destination"].bits // 4)
    rows: list[dict[str, object]] = []
    commands: list[str] = []
    for cause, finding in found.causes.items():
        cells, explained = shown(finding)
        results = {"A": f"{finding.first.a:0{digits}X}", "B": f"{finding.first.b:0{digits}X}"}
        rows.append({"cause": causes[cause], "differ": f"{finding.differing:,}", **cells, **results})
        commands += explained
    inputs = f"{found.compared:,} {inputs}"
    return Found(document=found.to_dict(), inputs=inputs, differing=found.differing, rows=rows, commands=commands)


def _decoders(name: str, a: Decode, b: Decode, sides: list[Side], cached: Cached) -> Found:
    from ...compare import compare_decoders
    from ...compare.decode import CAUSES

    def shown(finding: ElementFinding[DecodedPair]) -> tuple[dict[str, str], Sequence[str]]:
        byte, code = f"0x{finding.first.byte:02X}", f"0x{finding.first.code:02X}"
        commands = [side.explain(name, f"--op decode --scale {byte} --codes {code}") for side in sides]
        return {"byte": byte, "code": code}, commands

    pairs = f"pairs of a scale byte and a code, to {a.destination.name}"
    return _by_cause(compare_decoders(a, b), pairs, CAUSES, shown)


def _nvfp4_decoders(name: str, a: Nvfp4Decode, b: Nvfp4Decode, sides: list[Side], cached: Cached) -> Found:
    from ...compare import compare_nvfp4_decoders
    from ...compare.decode import CAUSES

    def shown(finding: Nvfp4DecodeFinding) -> tuple[dict[str, str], Sequence[str]]:
        byte, code = f"0x{finding.first.byte:02X}", f"0x{finding.first.code:X}"
        commands = []
        for side, rules, scale in zip(sides, (a, b), finding.tensor_scales):
            tensor = "" if rules.block.tensor_scale is None else f" --tensor-scale 0x{scale:08X}"
            commands.append(side.explain(name, f"--op decode --scale {byte}{tensor} --codes {code}"))
        return {"a": f"0x{finding.amax:08X}", "byte": byte, "code": code}, commands

    found = compare_nvfp4_decoders(a, b)
    pairs = f"results: pairs of a scale byte and a code in {found.tensors} tensors"
    return _by_cause(found, pairs, CAUSES, shown)


def _casts(name: str, a: Cast, b: Cast, sides: list[Side], cached: Cached) -> Found:
    from ...compare import compare_casts
    from ...compare.cast import CAUSES

    what, option = ("codes", "--codes") if a.is_back else ("patterns", "--values")

    def shown(finding: ElementFinding[CastResult]) -> tuple[dict[str, str], Sequence[str]]:
        pattern = f"0x{finding.first.pattern:0{-(-a.source.bits // 4)}X}"
        return {"first": pattern}, [side.explain(name, f"--op cast {option} {pattern}") for side in sides]

    return _by_cause(compare_casts(a, b), f"{what} of {a.source.name}, to {a.destination.name}", CAUSES, shown)


NVFP4 = {Encode.name: (Nvfp4Encode.name, NVFP4_ENCODERS), Decode.name: (Nvfp4Decode.name, NVFP4_DECODERS)}
"""The operation on NVFP4 in place of an operation on MX formats, and its profiles."""

COMPARED: dict[str, tuple[Callable[..., object], Callable[..., HardwareConfig] | None, Callable[..., Found]]] = {
    Encode.name: (numerics, ConverterConfig, _encoders),
    Decode.name: (decoding, DecoderConfig, _decoders),
    Cast.name: (casting, CastConfig, _casts),
    Nvfp4Encode.name: (nvfp4_encoding, None, _nvfp4),
    Nvfp4Decode.name: (nvfp4_decoding, None, _nvfp4_decoders),
}
"""Rules by format and profile, their configuration, and the comparison of two of them, by operation."""
