"""`mxcast list`: the catalogues."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated

import typer

from ...spec import (
    CASTS,
    INSTRUCTIONS,
    LAYOUTS,
    NVFP4_DECODERS,
    NVFP4_ENCODERS,
    OTHER_BLOCKS,
    PROFILES,
    PROFILES_OF,
    SOURCES,
    Hadamard,
    Profile,
    casting,
    is_nvfp4,
)
from ...spec.catalogue import known_name
from ...spec.formats.names import named_blocks
from ...spec.layouts.scaled import SCALED_LAYOUTS
from ...spec.profiles.layouts import library_profile
from ..output.output import Output

Rows = list[dict[str, object]]

OTHER_FORMATS = (
    "Any other eXmY with 1 to 5 exponent and 0 to 10 fraction bits is a format by its name (e3m3, e5m0): bias "
    "2^(X-1) - 1, "
    "every code a number; eXmY_nan_only has NaN, and eXmY_ieee Inf and NaN in the top exponent field. "
    "So is intN of 2 to 16 bits (int4)."
)
"""Names of formats without a row (`spec.element_format`)."""


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


def _profile(profile: Profile, of: Mapping[str, object] | None = None, **exceptions: object) -> dict[str, object]:
    """The row of a profile; ``exceptions`` are its rules for some formats."""
    return {
        "name": profile.name,
        **(of or {}),
        "source": profile.source,
        "date": profile.date,
        "checked_up_to": profile.up_to,
        "rules": dict(profile.rules),
        **exceptions,
        "remark": profile.remark,
    }


def _joined(rules: Iterable[tuple[str, Iterable[tuple[str, object]]]]) -> dict[str, str]:
    """Rules by format, as texts."""
    return {name: ", ".join(f"{key}={value}" for key, value in own) for name, own in rules}


def _profiles() -> Rows:
    return [_profile(p, elements=_joined(p.by_element)) for p in PROFILES.values()]


def _decoders() -> Rows:
    return [_profile(p) for p in PROFILES_OF["decode"].values()]


def _casts() -> Rows:
    return [_profile(p, destinations=_joined(p.by_destination)) for p in CASTS.values()]


def _instructions() -> Rows:
    shown = ("source", "destination", "lanes", "rounding", "overflow")
    return [{"name": name, **{key: casting(name).by_name()[key] for key in shown}} for name in INSTRUCTIONS]


def _nvfp4() -> Rows:
    return [
        _profile(p, {"of": of})
        for of, profiles in (("encode", NVFP4_ENCODERS), ("decode", NVFP4_DECODERS))
        for p in profiles.values()
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


def _of_hardware(section: str) -> Callable[[], Rows]:
    """The rows of a section of `choices`, which imports the hardware when they are asked for."""

    def rows() -> Rows:
        from .. import choices

        return choices.SECTIONS[section]()

    return rows


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
    "rules": _of_hardware("rules"),
    "decoders": _decoders,
    "decoder-rules": _of_hardware("decoder-rules"),
    "casts": _casts,
    "cast-rules": _of_hardware("cast-rules"),
    "instructions": _instructions,
    "two-level": _nvfp4,
    "two-level-rules": _of_hardware("two-level-rules"),
    "tile-rules": _of_hardware("tile-rules"),
    "hadamard-rules": _of_hardware("hadamard-rules"),
    "layouts": _layouts,
    "hadamard": _hadamards,
    "targets": _of_hardware("targets"),
    "sweeps": _sweeps,
    "adapters": _adapters,
}
NOTES = {"formats": OTHER_FORMATS}


def list_(
    output: Output,
    section: Annotated[
        str | None, typer.Argument(metavar="SECTION", show_default="all of them", help=f"{', '.join(SECTIONS)}.")
    ] = None,
) -> None:
    """List formats, sources, profiles, rules, instructions, layouts, synthesis targets, sweeps and adapters."""
    chosen = SECTIONS if section is None else [known_name("list", section, SECTIONS)]
    tables = {name: SECTIONS[name]() for name in chosen}
    for title, rows in tables.items():
        output.table(rows, title)
        if title in NOTES:
            output.say(f"{NOTES[title]}\n")
    output.document(tables)
