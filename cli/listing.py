"""`mxcast list`: what the catalogues hold."""

from __future__ import annotations

from typing import Annotated

import typer

from ..spec import BLOCKS, PROFILES, RULES, SOURCES, AmaxKey
from ..spec.catalogue import unknown_name
from .options import Json, Quiet, Verbose
from .output import Output

__all__ = ["list_"]

Rows = list[dict[str, object]]


def _formats() -> dict[str, Rows]:
    return {
        "formats": [{"name": b.name, "short_name": b.short_name, "block": b.block_size, "element_bits": b.element.bits,
                     "largest_element": float(b.element.max_value), "scale": b.scale.name, "source": b.element.source}
                    for b in BLOCKS.values()],
        "sources": [{"name": s.name, "bits": s.bits, "exponent_bits": s.exp_bits, "fraction_bits": s.man_bits,
                     "source": s.source} for s in SOURCES.values()],
    }


def _profiles() -> dict[str, Rows]:
    return {"profiles": [{"name": p.name, "rules": dict(p.rules), "date": p.date,
                          "source": p.source, "remark": p.remark} for p in PROFILES.values()]}


def _rules() -> dict[str, Rows]:
    return {"rules": [{"key": key, "value": str(rule), "meaning": rule.__doc__}
                      for key, rules in {**RULES, "amax_key": AmaxKey}.items() for rule in rules]}


def _targets() -> dict[str, Rows]:
    from ..synth import TARGETS

    return {"targets": [{"name": name, "description": target.description} for name, target in TARGETS.items()]}


SECTIONS = {"formats": _formats, "profiles": _profiles, "rules": _rules, "targets": _targets}


def list_(section: Annotated[str | None, typer.Argument(metavar="SECTION", show_default="all of them",
                                                        help=f"{', '.join(SECTIONS)}.")] = None,
          json: Json = False, quiet: Quiet = False, verbose: Verbose = False) -> None:
    """List formats, profiles, rules and synthesis targets."""
    output = Output(json, quiet, verbose)
    if section is not None and section not in SECTIONS:
        raise ValueError(unknown_name("list", section, SECTIONS))
    tables: dict[str, Rows] = {}
    for name in [section] if section else SECTIONS:
        tables |= SECTIONS[name]()
    for title, rows in tables.items():
        output.table(rows, title)
    output.document(tables)
