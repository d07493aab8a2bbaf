"""Rows of an exploration with figures from a formula."""

from __future__ import annotations

from hashlib import sha256
from itertools import product

RULES = ("floor", "ceil", "rceil", "pow2_ceil", "even", "bias_floor")
ROUNDINGS = ("rne", "rtz", "sr8")
FORMATS = {
    "mxfp8_e5m2": (900, 20),
    "mxfp8_e4m3": (850, 26),
    "mxfp6_e3m2": (640, 21),
    "mxfp6_e2m3": (600, 27),
    "mxfp4_e2m1": (480, 14),
}


def point(
    number: int,
    format: str = "mxfp8_e4m3",
    rule: str = "floor",
    rounding: str = "rne",
    target: str = "xcu",
    **other: object,
) -> dict:
    """One row; ``number`` makes its figures differ from other rows."""
    luts, sqnr = FORMATS[format]
    luts += (
        37 * RULES.index(rule)
        + {"rne": 60, "rtz": 0, "sr8": 90}[rounding]
        + 300 * (target == "ice40")
        + number * 7 % 13
    )
    sqnr += 0.61 * RULES.index(rule) - 3.1 * (rounding == "rtz") - 1.7 * (rounding == "sr8") + number * 5 % 11 / 40
    accuracy = {
        name: {
            "sqnr_db": sqnr + shift,
            "max_relative_error": 1.0,
            "saturated": 0.0012,
            "flushed": 1e-5,
            "mean_bias": -2e-5,
        }
        for name, shift in (("normal", 0.5), ("heavy tails", -0.5))
    }
    row = {
        "id": sha256(str((number, format, rule, rounding, target)).encode()).hexdigest()[:12],
        "config_id": f"{number:08x}",
        "format": format,
        "profile": {"floor": "ocp", "ceil": "nvidia"}.get(rule),
        "source": "fp32",
        "block_size": 32,
        "scale_rule": rule,
        "rounding": rounding,
        "specials": "nan_block",
        "input_subnormals": "exact",
        "element_subnormals": "exact",
        "amax": "compare",
        "amax_key": "reduced",
        "quantizer": "shift",
        "structure": "flat",
        "interface": "stream",
        "registered_after": "",
        "target": target,
        "status": "done",
        "error": None,
        "log": None,
        "luts": luts,
        "carries": 163 + number % 7,
        "muxes": 0,
        "ffs": 0,
        "logic_cells": None,
        "levels": 26 + number % 9,
        "delay_ps": 8000 + 31 * (number % 90),
        "latency_cycles": 0,
        "numbers_per_cycle": 32,
        "fmax_mhz": None,
        "fmax_lowest_mhz": None,
        "fmax_highest_mhz": None,
        "pnr_seeds": None,
        "blocks_per_s": None,
        "gbytes_per_s": None,
        "accuracy": accuracy,
        "sqnr_db": sqnr,
        "max_relative_error": 1.0,
        "saturated": 0.0012 + number % 5 / 1e4,
        "flushed": 1e-5,
        "mean_bias": -2e-5 * (number % 3 - 1),
        "proof": "proved" if rounding != "sr8" else "not on record",
        "pareto": False,
        "emit": f"mxcast emit {format.rsplit('_')[-1]} --profile ocp --set scale_rule={rule} --set rounding={rounding}",
    }
    return row | other


def sweep(
    targets: tuple[str, ...] = ("xcu", "ecp5"), formats: tuple[str, ...] = ("mxfp8_e4m3", "mxfp4_e2m1"), copies: int = 1
) -> list[dict]:
    """Formats by targets by scale rules by roundings, ``copies`` times with other figures. Cheap points with much SQNR
    are the front.
    """
    points = product(range(copies), targets, formats, RULES, ROUNDINGS)
    rows = [
        point(number, format, rule, rounding, target)
        for number, (_, target, format, rule, rounding) in enumerate(points)
    ]
    for row in rows:
        rivals = [other for other in rows if (other["format"], other["target"]) == (row["format"], row["target"])]
        row["pareto"] = not any(
            other["luts"] <= row["luts"]
            and other["levels"] <= row["levels"]
            and other["sqnr_db"] >= row["sqnr_db"]
            and other is not row
            for other in rivals
        )
    return rows


def failure(number: int, **other: object) -> dict:
    """A failed point."""
    nothing = dict.fromkeys(
        (
            "luts",
            "carries",
            "muxes",
            "ffs",
            "levels",
            "delay_ps",
            "sqnr_db",
            "max_relative_error",
            "saturated",
            "flushed",
            "mean_bias",
        )
    )
    return (
        point(number, rule="even")
        | nothing
        | {
            "accuracy": {},
            "status": "failed",
            "error": "Yosys ended with status 1.",
            "log": "ERROR: out of luck\nat line 7",
        }
        | other
    )


ABLATION = [
    {
        "target": target,
        "format": "mxfp8_e4m3",
        "clause": clause,
        "without": before,
        "with": after,
        "luts": luts,
        "percent": luts / 8,
        "levels": levels,
        "sqnr_db": sqnr,
        "most_db": sqnr,
        "most_on": "weights",
    }
    for target in ("xcu", "ecp5")
    for clause, before, after, luts, levels, sqnr in (
        ("FP32 subnormals exact", "input_subnormals flush", "input_subnormals exact", 31, 0, 0.0),
        ("Rounding to nearest even", "rounding rtz", "rounding rne", 121, 2, 5.93),
        ("Ceil instead of floor", "scale_rule floor", "scale_rule ceil", -8, 1, None),
    )
]

METHOD = {
    "sweep": "rounding",
    "description": "rules by roundings",
    "objectives": ["luts", "levels", "sqnr_db"],
    "tools": {"yosys": "0.70", "mxcast": "0.1.0"},
    "device": None,
    "tensors": [
        {"name": "normal", "count": 65536, "source": "made up for the tests", "sha256": "ab" * 32},
        {"name": "heavy tails", "count": 65536, "source": "made up for the tests", "sha256": "cd" * 32},
    ],
    "seeds": [1, 2, 3],
    "remarks": ["Every figure on this page is made up.", "Nothing was measured."],
}
