"""All 2^32 patterns, and every fraction at every distance below a maximum: the header against the golden model."""

from __future__ import annotations

import ctypes
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from mxcast.native.structs import HEADER, initialiser
from mxcast.sim.stimuli.sweep import exhaustive_blocks, exhaustive_total, stratified_blocks
from mxcast.spec import ELEMENTS, Encode, numerics

from .harness.header import C99, WARNINGS, pointer
from .harness.model import Model

LOOP = """
#include "mxcast.h"
static const mxcast_encode RULES = {rules};

void encode(size_t blocks, const uint32_t *x, uint8_t *scales, uint16_t *codes) {{
    for (size_t i = 0; i < blocks; i++)
        mxcast_encode_block(&RULES, x + i * {size}, NULL, scales + i, codes + i * {size});
}}
"""
"""An encoder whose rules the compiler knows, so that it is several times as fast."""


def loop(folder: Path, rules: Encode) -> ctypes.CDLL:
    (folder / "loop.c").write_text(LOOP.format(rules=initialiser(rules), size=rules.block_size))
    flags = ["-O3", "-I", HEADER.parent, "-shared", "-fPIC"]
    subprocess.run([*C99, *WARNINGS, *flags, folder / "loop.c", "-o", folder / "loop.so"], check=True)
    return ctypes.CDLL(str(folder / "loop.so"))


def differing(library: ctypes.CDLL, rules: Encode, x: np.ndarray) -> int:
    """The number of blocks that differ."""
    scales, codes = np.zeros(len(x), np.uint8), np.zeros(x.shape, np.uint16)
    library.encode(ctypes.c_size_t(len(x)), pointer(x), pointer(scales), pointer(codes))
    right = Model().encode(rules, x)
    return int(((scales != right[0]) | (codes != right[1]).any(axis=1)).sum())


@pytest.mark.parametrize("element", ELEMENTS)
def test_a_share_of_every_stratum(element: str, tmp_path: Path) -> None:
    rules, checked = numerics(element, "te"), 0
    library = loop(tmp_path, rules)
    for x in stratified_blocks(rules, seed=5, share=1024):
        assert differing(library, rules, x) == 0
        checked += len(x)
    assert checked > exhaustive_total(rules) // 2048


@pytest.mark.slow
@pytest.mark.parametrize("element", ELEMENTS)
def test_every_pattern_at_every_distance(element: str, tmp_path: Path) -> None:
    rules, checked = numerics(element, "ocp"), 0
    library = loop(tmp_path, rules)
    with ThreadPoolExecutor(2) as pool:
        blocks = exhaustive_blocks(rules)
        while batch := [x for _, x in zip(range(8), blocks)]:
            assert sum(pool.map(lambda x: differing(library, rules, x), batch)) == 0
            checked += sum(map(len, batch))
    assert checked == exhaustive_total(rules)
