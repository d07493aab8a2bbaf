"""`mxcast list`: what the catalogues hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from ...hdl import (
    BEST,
    BEST_DECODERS,
    CHOICES,
    DECODER_CHOICES,
    NVFP4_CHOICES,
    Goal,
    HardwareConfig,
    cast_config,
    converter_config,
    decoder_config,
    nvfp4_config,
)
from ...spec import (
    BLOCK_SIZES,
    CAST_RULES,
    CAST_SOURCES,
    CASTS,
    DECODE_RULES,
    INSTRUCTIONS,
    LAYOUTS,
    NVFP4_DECODE_RULES,
    NVFP4_DECODERS,
    NVFP4_ENCODERS,
    NVFP4_RULES,
    OTHER_BLOCKS,
    PROFILES,
    PROFILES_OF,
    RULES,
    SOURCES,
    Hadamard,
    Rule,
    casting,
    is_nvfp4,
)
from ...spec.catalogue import known_name
from ...spec.formats.names import named_blocks
from ...spec.layouts.scaled import SCALED_LAYOUTS
from ...spec.profiles.layouts import library_profile
from ..options import Json, Quiet, Verbose
from ..output import Output

Rows = list[dict[str, object]]


OTHER_FORMATS = (
    "Any other eXmY with 1 to 5 exponent and 0 to 10 fraction bits is a format by its name (e3m3, e5m0): bias "
    "2^(X-1) - 1, "
    "every code a number; eXmY_nan_only has NaN, and eXmY_ieee Inf and NaN in the top exponent field. "
    "So is intN of 2 to 16 bits (int4)."
)
"""How names spell formats that have no row (`spec.element_format`)."""


def _formats() -> Rows:
    return [
        {
            "name": b.name,
            "short_name": b.short_name,
            "block": b.block_size,
            "element_bits": b.element.bits,
            "largest_element": float(b.element.max_value),
            "scale": b.scale.name,
            "source": b.element.source,
        }
        for b in (*named_blocks().values(), *filter(is_nvfp4, OTHER_BLOCKS.values()))
    ]


def _sources() -> Rows:
    return [
        {"name": s.name, "bits": s.bits, "exponent_bits": s.exp_bits, "fraction_bits": s.man_bits, "source": s.source}
        for s in SOURCES.values()
    ]


def _profiles() -> Rows:
    return [
        {
            "name": p.name,
            "source": p.source,
            "date": p.date,
            "checked_up_to": p.up_to,
            "rules": dict(p.rules),
            "elements": {name: ", ".join(f"{key}={value}" for key, value in rules) for name, rules in p.by_element},
            "remark": p.remark,
        }
        for p in PROFILES.values()
    ]


def _decoders() -> Rows:
    return [
        {
            "name": p.name,
            "source": p.source,
            "date": p.date,
            "checked_up_to": p.up_to,
            "rules": dict(p.rules),
            "remark": p.remark,
        }
        for p in PROFILES_OF["decode"].values()
    ]


def _decoder_rules() -> Rows:
    listed: Rows = [
        {"key": key, "value": str(rule), "meaning": rule.__doc__}
        for key, rules in {**DECODE_RULES, **DECODER_CHOICES}.items()
        for rule in rules
    ]
    numbers: Rows = [
        {"key": "destination", "value": s.name, "meaning": f"the numbers that come out: {s.source}"}
        for s in SOURCES.values()
    ]
    return [
        *listed,
        *numbers,
        {"key": "block_size", "value": "1 to 1024", "meaning": "elements that share a scale"},
        {"key": "random_bits", "value": "1 to 16", "meaning": "random bits of each element, under the rounding sr"},
        *_built(decoder_config("e4m3")),
        LAYOUT,
    ]


def _casts() -> Rows:
    return [
        {
            "name": p.name,
            "source": p.source,
            "date": p.date,
            "checked_up_to": p.up_to,
            "rules": dict(p.rules),
            "destinations": {
                name: ", ".join(f"{key}={value}" for key, value in rules) for name, rules in p.by_destination
            },
            "remark": p.remark,
        }
        for p in CASTS.values()
    ]


def _cast_rules() -> Rows:
    listed: Rows = [
        {"key": key, "value": str(rule), "meaning": rule.__doc__} for key, rules in CAST_RULES.items() for rule in rules
    ]
    numbers: Rows = [
        {"key": key, "value": s.name, "meaning": f"{meaning}: {s.source}"}
        for key, meaning, formats in (
            ("source", "the numbers that are cast", CAST_SOURCES),
            ("destination", "the numbers of the way back", SOURCES),
        )
        for s in formats.values()
    ]
    return [
        *listed,
        *numbers,
        {"key": "lanes", "value": "1, 2 or 4", "meaning": "numbers in a word, each cast by itself"},
        {"key": "random_bits", "value": "1 to 16", "meaning": "random bits of each number, under the rounding sr"},
        *_built(cast_config("e4m3")),
    ]


def _instructions() -> Rows:
    shown = ("source", "destination", "lanes", "rounding", "overflow")
    return [{"name": name, **{key: casting(name).by_name()[key] for key in shown}} for name in INSTRUCTIONS]


def _nvfp4() -> Rows:
    return [
        {
            "name": p.name,
            "of": of,
            "source": p.source,
            "date": p.date,
            "checked_up_to": p.up_to,
            "rules": dict(p.rules),
            "remark": p.remark,
        }
        for of, profiles in (("encode", NVFP4_ENCODERS), ("decode", NVFP4_DECODERS))
        for p in profiles.values()
    ]


def _nvfp4_rules() -> Rows:
    listed: Rows = [
        {"key": key, "value": str(rule), "meaning": rule.__doc__}
        for key, rules in {**NVFP4_RULES, **NVFP4_DECODE_RULES, **NVFP4_CHOICES}.items()
        for rule in rules
        if key != "rounding"
    ]
    return [
        *listed,
        {"key": "rounding", "value": "rne or sr", "meaning": "of elements, as of other formats; sr under te and paper"},
        {"key": "scale_max", "value": "448 or 256", "meaning": "the scale of the largest block of a tensor"},
        *_built(nvfp4_config("nvfp4"), "; those of the order te"),
        LAYOUT,
    ]


def _rules() -> Rows:
    listed: Rows = [
        {"key": key, "value": str(rule), "meaning": rule.__doc__}
        for key, rules in {**RULES, **CHOICES}.items()
        for rule in rules
    ]
    listed += [
        {"key": "source", "value": s.name, "meaning": f"the numbers that come in: {s.source}"} for s in SOURCES.values()
    ]
    return listed + [
        {
            "key": "block_size",
            "value": f"{BLOCK_SIZES[0]} to {BLOCK_SIZES[-1]}",
            "meaning": "elements that share a scale: a power of two",
        },
        {"key": "random_bits", "value": "1 to 16", "meaning": "random bits of each element, under the rounding sr"},
        *_built(
            converter_config("e4m3", source="fp16"), "; widened with fp16 only, a level for each level of the tree"
        ),
        LAYOUT,
    ]


LAYOUT: dict[str, object] = {
    "key": "layout",
    "value": "as gpt_oss",
    "meaning": "how blocks stand in the ports, as a library stores them: bytes of codes, or blocks of bytes with their "
    "scale (mxcast list layouts)",
}


def _built(config: HardwareConfig, remark: str = "") -> Rows:
    """What the hardware of any operation takes; its stage boundaries are those of this configuration."""
    from ...synth import DELAYS

    goals: Rows = [{"key": "optimize", "value": str(goal), "meaning": goal.__doc__} for goal in Goal]
    return [
        *goals,
        {
            "key": "registered_after",
            "value": ",".join(config.stages),
            "meaning": f"stage boundaries with registers, any of them{remark}",
        },
        {
            "key": "latency",
            "value": "1 to all",
            "meaning": "that many registers, at the stage boundaries with the shortest critical path",
        },
        {
            "key": "frequency_mhz",
            "value": "MHz",
            "meaning": "the fewest registers for that clock, by an estimate without placement",
        },
        {"key": "delays_of", "value": ",".join(DELAYS), "meaning": "the target whose delays these two take"},
    ]


def _hadamards() -> Rows:
    return [
        {
            "name": rules.subject,
            "numbers": rules.block_size,
            "source": rules.formats["numbers"].name,
            "profile": p.name,
            "signs": f"0x{rules.signs:04X}",
            "of": p.source,
            "remark": p.remark,
        }
        for p in PROFILES_OF[Hadamard.name].values()
        for rules in [Hadamard()]
    ]


def _targets() -> Rows:
    from ...synth import TARGETS

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
    """What is best for area on a target."""
    return " ".join(f"{key}={value}" for key, value in best[target].get(Goal.AREA, {}).items())


def _of_decoders(target: str) -> str:
    """The same of decoders, by the fraction bits of the element."""
    found: dict[str, list[str]] = {}
    for bits, choices in enumerate(BEST_DECODERS[target].get(Goal.AREA, ()), start=1):
        found.setdefault(" ".join(f"{key}={value}" for key, value in choices.items()), []).append(str(bits))
    found.pop("", None)
    return "; ".join(f"{form} for {', '.join(bits)} fraction bits" for form, bits in found.items()) or "plain"


def _sweeps() -> Rows:
    from ...explore import SWEEPS

    return [
        {
            "name": name,
            "combinations": sweep.combinations,
            "explores": sweep.description,
            "Pareto front of": ", ".join(sweep.objectives),
        }
        for name, sweep in SWEEPS.items()
    ]


def _layouts() -> Rows:
    blocks: Rows = [
        {
            "name": layout.dialect,
            "format": layout.block,
            "codes": f"{layout.codes.name} {layout.codes.dtype}, {layout.packing}",
            "scales": f"{layout.scales.name} {layout.scales.dtype}, {layout.order}" if layout.scales else layout.place,
            "tensor scale": f"{layout.tensor_scale.name}, {layout.convention}" if layout.tensor_scale else "",
            "profile": library_profile(layout.dialect, layout.block_format) or "",
            "source": layout.source,
        }
        for layouts in LAYOUTS.values()
        for layout in layouts.values()
    ]
    return blocks + [
        {
            "name": layout.dialect,
            "format": layout.block,
            "codes": f"{layout.codes.name} {layout.codes.dtype}",
            "scales": layout.scales_in_words,
            "tensor scale": "",
            "profile": "",
            "source": layout.source,
        }
        for scaled in SCALED_LAYOUTS.values()
        for layout in scaled.values()
    ]


def _adapters() -> list[dict[str, object]]:
    from ...conformance.adapters import ADAPTERS

    return [
        {
            "name": one.name,
            "installed": one.version or "-",
            "operations": "; ".join(f"{op}: {', '.join(names)}" for op, names in one.operations.items()),
            "calls": one.calls,
        }
        for one in ADAPTERS.values()
    ]


SECTIONS = {
    "formats": _formats,
    "sources": _sources,
    "profiles": _profiles,
    "rules": _rules,
    "decoders": _decoders,
    "decoder-rules": _decoder_rules,
    "casts": _casts,
    "cast-rules": _cast_rules,
    "instructions": _instructions,
    "two-level": _nvfp4,
    "two-level-rules": _nvfp4_rules,
    "layouts": _layouts,
    "hadamard": _hadamards,
    "targets": _targets,
    "sweeps": _sweeps,
    "adapters": _adapters,
}
NOTES = {"formats": OTHER_FORMATS}


def list_(
    section: Annotated[
        str | None, typer.Argument(metavar="SECTION", show_default="all of them", help=f"{', '.join(SECTIONS)}.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """List formats, sources, profiles, rules, instructions, layouts, synthesis targets, sweeps and adapters."""
    output = Output(json, quiet, verbose)
    chosen = SECTIONS if section is None else [known_name("list", section, SECTIONS)]
    tables = {name: SECTIONS[name]() for name in chosen}
    for title, rows in tables.items():
        output.table(rows, title)
        if title in NOTES:
            output.say(f"{NOTES[title]}\n")
    output.document(tables)
