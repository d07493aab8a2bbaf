"""Rows of `mxcast list` about hardware: rules with the choices of a micro-architecture, and targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..hdl import (
    BEST,
    BEST_DECODERS,
    CHOICES,
    DECODER_CHOICES,
    HADAMARD_CHOICES,
    NVFP4_CHOICES,
    Goal,
    HardwareConfig,
    cast_config,
    converter_config,
    decoder_config,
    hadamard_config,
    nvfp4_config,
    tile_config,
)
from ..hdl.config.architecture import Interface, ScalePlace
from ..spec import (
    BLOCK_SIZES,
    CAST_RULES,
    CAST_SOURCES,
    DECODE_RULES,
    NVFP4_DECODE_RULES,
    NVFP4_RULES,
    RULES,
    SOURCES,
    TILE_RULES,
    FloatFormat,
    Rule,
)
from ..synth import DELAYS, TARGETS

Rows = list[dict[str, object]]


def _row(key: str, value: str, meaning: str | None) -> dict[str, object]:
    return {"key": key, "value": value, "meaning": meaning}


def _members(*tables: Mapping[str, type[Rule]]) -> Rows:
    """A row for each value of each rule."""
    return [_row(key, str(rule), rule.__doc__) for table in tables for key, rules in table.items() for rule in rules]


def _numbers(key: str, meaning: str, formats: Mapping[str, FloatFormat]) -> Rows:
    return [_row(key, one.name, f"{meaning}: {one.source}") for one in formats.values()]


def _random_bits(of: str) -> dict[str, object]:
    return _row("random_bits", "1 to 16", f"random bits of each {of}, under the rounding sr")


def _encoders() -> Rows:
    sizes = f"{BLOCK_SIZES[0]} to {BLOCK_SIZES[-1]}"
    return [
        *_members(RULES, CHOICES),
        *_numbers("source", "the numbers that come in", SOURCES),
        _row("block_size", sizes, "elements that share a scale: a power of two"),
        _random_bits("element"),
        *_beats(BLOCK_SIZES[-1] // 2),
        *_built(
            converter_config("e4m3", source="fp16"), "; widened with fp16 only, a level for each level of the tree"
        ),
        LAYOUT,
    ]


def _beats(most: int) -> Rows:
    about = "numbers in a clock cycle, a power of two below the block size; by default a block"
    rows = [(name, one) for name, rule in (("interface", Interface), ("scale_place", ScalePlace)) for one in rule]
    return [_row("lanes", f"1 to {most}", about), *(_row(name, str(one), one.__doc__) for name, one in rows)]


def _decoders() -> Rows:
    return [
        *_members(DECODE_RULES, DECODER_CHOICES),
        *_numbers("destination", "the numbers that come out", SOURCES),
        _row("block_size", "1 to 1024", "elements that share a scale"),
        _random_bits("element"),
        *_beats(512),
        *_built(decoder_config("e4m3")),
        LAYOUT,
    ]


def _casts() -> Rows:
    return [
        *_members(CAST_RULES),
        *_numbers("source", "the numbers that are cast", CAST_SOURCES),
        *_numbers("destination", "the numbers of the way back", SOURCES),
        _row("lanes", "1, 2 or 4", "numbers in a word, each cast by itself"),
        _random_bits("number"),
        *_built(cast_config("e4m3")),
    ]


def _nvfp4() -> Rows:
    return [
        *(row for row in _members({**NVFP4_RULES, **NVFP4_DECODE_RULES, **NVFP4_CHOICES}) if row["key"] != "rounding"),
        _row("rounding", "rne or sr", "of elements, as of other formats; sr under te and paper"),
        _row("scale_max", "448 or 256", "the scale of the largest block of a tensor"),
        *_beats(16),
        *_built(nvfp4_config("nvfp4"), "; of the order te"),
        LAYOUT,
    ]


def _tiles() -> Rows:
    return [
        *_members(TILE_RULES, {name: rule for name, rule in CHOICES.items() if name != "amax_key"}),
        *_numbers("source", "the numbers that come in", SOURCES),
        _row("block_size", f"{BLOCK_SIZES[0]} to {BLOCK_SIZES[-1]}", "rows and columns of a tile: a power of two"),
        *_built(tile_config("e4m3"), "; turned if the columns are transposed"),
    ]


def _hadamards() -> Rows:
    return [
        _row("signs", "0 to 65535", "the numbers that are negated first: bit i is set for number i"),
        *_members(HADAMARD_CHOICES, {"interface": Interface}),
        *_built(hadamard_config("hadamard16"), "; of the form parallel"),
    ]


LAYOUT = _row(
    "layout",
    "as gpt_oss",
    "order of the bits in the ports, as a library stores blocks: bytes of codes, or blocks of bytes with their scale "
    "(mxcast list layouts)",
)


def _built(config: HardwareConfig, remark: str = "") -> Rows:
    """Keys of the hardware of any operation; the stage boundaries are taken from this configuration."""
    return [
        *(_row("optimize", str(goal), goal.__doc__) for goal in Goal),
        _row("registered_after", ",".join(config.stages), f"stage boundaries with registers, any of them{remark}"),
        _row(
            "latency",
            "1 to all",
            "cycles: registers where they make the critical path shortest; with lanes, beats of a block count too",
        ),
        _row("frequency_mhz", "MHz", "the fewest registers for that clock, by an estimate without placement"),
        _row("delays_of", ",".join(DELAYS), "the target whose delays these two take"),
    ]


def _targets() -> Rows:
    return [
        {
            "name": name,
            "description": target.description,
            "optimize=area": _chosen(BEST, target.optimized_as) or "plain",
            "decoders": _of_decoders(target.optimized_as),
        }
        for name, target in TARGETS.items()
    ]


def _chosen(best: Mapping[str, Mapping[Goal, Mapping[str, Rule]]], target: str) -> str:
    """The smallest micro-architecture on a target."""
    return " ".join(f"{key}={value}" for key, value in best[target].get(Goal.AREA, {}).items())


def _of_decoders(target: str) -> str:
    """The smallest micro-architectures of decoders on a target, by the fraction bits of the element."""
    found: dict[str, list[str]] = {}
    for bits, choices in enumerate(BEST_DECODERS[target].get(Goal.AREA, ()), start=1):
        found.setdefault(" ".join(f"{key}={value}" for key, value in choices.items()), []).append(str(bits))
    found.pop("", None)
    return "; ".join(f"{form} for {', '.join(bits)} fraction bits" for form, bits in found.items()) or "plain"


SECTIONS: dict[str, Callable[[], Rows]] = {
    "rules": _encoders,
    "decoder-rules": _decoders,
    "cast-rules": _casts,
    "two-level-rules": _nvfp4,
    "tile-rules": _tiles,
    "hadamard-rules": _hadamards,
    "targets": _targets,
}
