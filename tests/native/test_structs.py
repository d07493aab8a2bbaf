"""Enumerations, formats and structs of the header against `spec`."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from mxcast.native.structs import HEADER, MEMBERS, c_name, enumerator, format_initialiser, initialiser, words
from mxcast.spec import (
    CAST_RULES,
    CAST_SOURCES,
    DECODE_RULES,
    ELEMENTS,
    NVFP4_DECODE_RULES,
    NVFP4_RULES,
    RULES,
    SCALARS,
    Cast,
    Decode,
    Encode,
    Hadamard,
    Kind,
    Nvfp4Decode,
    Nvfp4Encode,
    Rule,
    SpecialCodes,
)
from mxcast.spec.layouts.catalogue import Packing, ScaleByte, ScalePlace

from .harness.header import WARNINGS, Header

TEXT = HEADER.read_text()
RULE_CLASSES: set[type[Rule]] = {
    *(rule for rules in (RULES, DECODE_RULES, CAST_RULES, NVFP4_RULES, NVFP4_DECODE_RULES) for rule in rules.values()),
    *(SpecialCodes, Packing, ScalePlace, ScaleByte),
}
EXAMPLES = [
    Encode(block="int8", rounding="sr", random_bits=5),
    Decode(block="e4m3", nan="payload"),
    Cast(destination="e8m0", rounding="rp"),
    Nvfp4Encode(block="nvfp4", order="paper", four_over_six="mae", scale_max=256),
    Nvfp4Decode(block="nvfp4", convention="divisor"),
]


def enumerators(name: str) -> list[str]:
    """Members of an enumeration of the header, in order."""
    found = re.search(rf"enum mxcast_{name} \{{(.*?)\}};", TEXT, re.DOTALL)
    assert found, f"mxcast.h has no enumeration mxcast_{name}"
    return [member.strip() for member in found[1].split(",")]


@pytest.mark.parametrize("rule", sorted(RULE_CLASSES, key=lambda rule: rule.__name__))
def test_the_header_has_every_rule_in_the_order_of_spec(rule: type[Rule]) -> None:
    assert enumerators(c_name(rule.__name__)) == [enumerator(member) for member in rule]


def test_the_header_has_both_kinds_of_formats() -> None:
    assert enumerators("kind") == [f"MXCAST_KIND_{kind.name}" for kind in Kind]


@pytest.mark.parametrize("format", {**CAST_SOURCES, **ELEMENTS, **SCALARS}.values(), ids=lambda format: format.name)
def test_the_header_has_the_named_formats(format) -> None:
    (value,) = re.findall(rf"mxcast_format MXCAST_{format.name.upper()} = (.*);", TEXT)
    assert value == format_initialiser(format)


def test_structs_are_as_long_as_their_members(header: Header) -> None:
    found = np.zeros(len(MEMBERS), np.uintp)
    header.library.sizes(ctypes.c_void_p(found.ctypes.data))
    assert [type(example) for example in EXAMPLES] == list(MEMBERS)
    assert found.tolist() == [len(words(example)) for example in EXAMPLES]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
@pytest.mark.parametrize("compiler", [("gcc", "-std=c99", "-x", "c"), ("g++", "-std=c++17", "-x", "c++")], ids=str)
def test_an_initialiser_is_the_struct(example, compiler, tmp_path: Path) -> None:
    """C and C++ read the initialiser of an operation as the integers that Python passes."""
    source = tmp_path / "main.c"
    source.write_text(
        f'#include <stdio.h>\n#include "mxcast.h"\nstatic const {MEMBERS[type(example)][0]} RULES = '
        f"{initialiser(example)};\nint main(void) {{\n    int words[sizeof RULES / sizeof(int)];\n"
        "    memcpy(words, &RULES, sizeof RULES);\n"
        '    for (size_t i = 0; i < sizeof RULES / sizeof(int); i++) printf("%d ", words[i]);\n}\n'
    )
    subprocess.run([*compiler, *WARNINGS, "-I", HEADER.parent, source, "-o", tmp_path / "main"], check=True)
    printed = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    assert tuple(map(int, printed.split())) == words(example)


def test_an_operation_without_a_struct_is_refused() -> None:
    with pytest.raises(ValueError, match="the model in C has no operation hadamard yet"):
        words(Hadamard())
