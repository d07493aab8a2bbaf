"""Emitted files on every input of an element, against the exact definition: the record, and that a fault is seen."""

from itertools import islice

import numpy as np
import verification
from parts.evidence import enumerated
from parts.evidence.subjects import wanted

from mxcast.hdl import configuration, verilog
from mxcast.models.exact.cast import cast_number
from mxcast.models.exact.encode import quantize_block
from mxcast.spec import BLOCKS, Role, block_format, casting

RECORDS = verification.records("enumerated")


def test_everything_is_on_record_and_nothing_differs():
    """Every format of OCP is in each operation; blocks and words are counted by definition."""
    asked = [tuple(subject.label.values()) for name, subject in wanted() if name == "every element"]
    assert sorted(asked) == sorted(tuple(r[name] for name in verification.LABELS) for r in RECORDS)
    for operation in "encode", "decode":
        assert {r["format"].split()[0] for r in RECORDS if r["operation"] == operation} == {*BLOCKS}
    for r in RECORDS:
        assert r["differ"] == 0 < r["inputs"] and not r["first"], r
        name, *way = r["format"].split()
        if r["operation"] == "decode":
            assert r["inputs"] == 256 << BLOCKS[name].element.bits
        elif r["operation"] == "encode":
            exponents = {"fp16": 32, "bf16": 256}[way[-1]]
            assert r["inputs"] == 2 * exponents << 16
        else:
            bits = {"fp16": 16, "bf16": 16, "fp32": casting(name, destination="fp32").source.bits}
            assert r["inputs"] >= (1 << bits[way[-1]] if way else (1 << 32) // enumerated.SHARE)


PAIR = block_format("e2m1").resized(2)


def compared(config, old: str = "", new: str = "") -> enumerated.Enumerated:
    """The outcome for an emitted file, in which a text that it has once is replaced."""
    text = verilog(config, "dut")
    assert not old or text.count(old) == 1
    return enumerated.enumerated(config, text.replace(old, new) if old else text)


def test_a_decoder_and_a_changed_constant():
    """Scale byte 255 means NaN, whose pattern is 0x7FC0; the bias of the byte is 127."""
    config = configuration("decode", PAIR, destination="bf16")
    assert compared(config) == enumerated.Enumerated(256 * 16, 0, "")
    assert compared(config, "scale == 8'hff", "scale == 8'hfe").differ == 2 * 16
    found = compared(config, "15'h7fc0", "15'h7fc1")
    assert found.differ == 16
    assert (
        found.first
        == "given codes [0, 5]; given scale [255]; right numbers [32704, 32704]; made numbers [32705, 32705]"
    )
    assert compared(config, "scale - 7'h7f", "scale - 7'h7e").differ > 253 * 14


def test_a_cast_and_a_changed_constant():
    config = configuration("cast", "e2m1", source="bf16")
    assert compared(config) == enumerated.Enumerated(1 << 16, 0, "")
    assert compared(config, "_16_ ? 3'h7", "_16_ ? 3'h6").differ > 2 * 123 * 128  # 123 binades are above 6


def test_blocks_of_encoders_are_those_of_the_definition():
    """The shortcut over bytes and codes gives what the definition gives for the whole block."""
    rules = configuration("encode", PAIR, "nvidia", source="fp16").numerics
    for given, right in islice(enumerated.encoded(rules), 6):
        blocks = given[Role.NUMBERS]
        for row in (0, 1, 0x3FF, 0x400, 0x7BFF, 0x7C00, 0x7C01, 0x8000, 0xBC00, 0xFC00, 0xFFFF):
            byte, codes = quantize_block(blocks[row].tolist(), rules)
            assert (right[Role.SCALE][row].tolist(), right[Role.CODES][row].tolist()) == ([byte], codes)


def test_results_change_at_the_patterns_that_are_taken():
    """Between these patterns of FP32, every 11th number of BF16 and of FP16 has the code of the piece."""
    rules = casting("e4m3", source="fp32")
    starts = enumerated.pieces(rules)
    table = np.array([cast_number(int(start), rules) for start in starts])
    patterns = np.arange(0, 1 << 16, 11, dtype=np.uint16)
    of_fp16 = patterns.view(np.float16).astype(np.float32).view(np.uint32)
    for wide in patterns.astype(np.uint32) << 16, of_fp16:
        right = [cast_number(int(pattern), rules) for pattern in wide]
        assert table[np.searchsorted(starts, wide, side="right") - 1].tolist() == right
