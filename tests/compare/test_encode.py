"""Certificates, recounted: against published counts, against the exact definition, and with bugs planted."""

import importlib
import json
from itertools import product

import numpy as np
import pytest

from mxcast.compare import compare
from mxcast.compare.encode import Finding, compare_elements, compare_scales, compare_specials
from mxcast.compare.evaluation import Evaluation
from mxcast.compare.input_domain import InputDomain, common_domain
from mxcast.models import quantize
from mxcast.models.arrays.source import narrow
from mxcast.models.exact import encode as exact
from mxcast.spec import BF16, ELEMENTS, FP16, FP32, ScaleRule, numerics

# numerics.md, B.3: the one largest magnitude of each format at which FP32 arithmetic differs from exact arithmetic
SINGLE_DIFFERENCE = {"e5m2": 0x07E00001, "e4m3": 0x04600001, "e3m2": 0x02600001, "e2m3": 0x01700001, "e2m1": 0x01400001}


def some(patterns) -> InputDomain:
    """A domain of these FP32 numbers only, and the NaN of BF16."""
    return InputDomain("some", 1 << 16, np.unique(np.asarray(patterns, np.uint32)))


def evaluations(domain: InputDomain, *rules) -> list[Evaluation]:
    return [Evaluation(one, domain) for one in rules]


def values(finding: Finding) -> list[str]:
    return [example.a.values for example in (finding.first, finding.last)]


def number(pattern: int, rules) -> exact.Number:
    return exact.decode(pattern, FP32, rules.input_subnormals)


def exact_byte(pattern: int, rules) -> int:
    return exact.shared_exponent(number(pattern, rules).magnitude, rules) + 127


# -- what is known -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_fp32_number_under_rceil_and_ceil_with_ties_to_even_and_away():
    """All 2**31 largest magnitudes, of which one differs, and all classes of E2M1: ties to even and away from zero
    differ where the even neighbour is below, at 0.25, 1.25, 2.5 and 5 times the scale, for either sign. For normal
    numbers that is 8 classes; for subnormal ones 0.25 under bytes 0, 1 and 2 and 1.25 under byte 0, which is 8 more.
    """
    a, b = evaluations(
        common_domain(FP32, FP32),
        numerics("e2m1", scale_rule="rceil"),
        numerics("e2m1", scale_rule="ceil", rounding="rna"),
    )
    scale = compare_scales(a, b)
    assert (scale.compared, scale.differing, values(scale)) == (0x7F800000, 1, ["0x01400001"] * 2)
    assert (scale.first.a.byte, scale.first.b.byte) == (0, 1)
    elements = compare_elements(a, b)
    assert elements.differing == 16
    assert (elements.first.a.values, elements.first.a.codes, elements.first.b.codes) == ("0x40A00000", (6,), (7,))
    last = elements.last
    assert last.a.values.startswith("0x80400000,") and last.a.byte == 2 and (last.a.codes[0], last.b.codes[0]) == (8, 9)


@pytest.mark.parametrize("element", SINGLE_DIFFERENCE)
def test_rceil_and_ceil_differ_once_in_the_binades_around_the_known_pattern(element):
    """The two binades and the one after, complete; records/differences.json has all of them for every format."""
    example = SINGLE_DIFFERENCE[element]
    start = (example >> 23) - 1 << 23
    a, b = evaluations(
        InputDomain("three binades", 1 << 16, np.arange(start, start + 3 * (1 << 23), dtype=np.uint32)),
        numerics(element, "torchao_rceil"),
        numerics(element, "nvidia"),
    )
    found = compare_scales(a, b)
    assert (found.compared, found.differing, values(found)) == (3 << 23, 1, [f"0x{example:08X}"] * 2)


def test_rceil_and_ceil_of_int8_differ_just_above_its_largest_number():
    """fl32(64/127) is rounded down (numerics.md, B.3): a fraction of 0x7E0001 in every binade, of which the last, e =
    254, is hidden by the clamp of the byte to 254; and 0x007F0001 among the subnormal numbers. 253 + 1 = 254.
    """
    near = [range(f - 512, f + 512) for f in (0x3F0000, 0x7E0000, 0x7F0000)]
    patterns = [e << 23 | f for e in range(255) for fractions in near for f in fractions]
    found = compare_scales(*evaluations(some(patterns), numerics("int8", "torchao_rceil"), numerics("int8", "nvidia")))
    expected = [0x007F0001, *(e << 23 | 0x7E0001 for e in range(1, 254))]
    assert found.differing == len(expected) == 254
    assert values(found) == [f"0x{pattern:08X}" for pattern in (expected[0], expected[-1])]
    rows = np.array([[pattern] + [0] * 31 for pattern in expected], np.uint32)
    rceil, ceil = (
        quantize(rows.view(np.float32), "int8", profile).scales[:, 0] for profile in ("torchao_rceil", "nvidia")
    )
    assert (ceil - rceil == 1).all()


def test_no_bf16_or_fp16_number_reaches_the_pattern_where_rceil_and_ceil_differ():
    for element, source in product(ELEMENTS, (BF16, FP16)):
        found = compare_scales(
            *evaluations(
                common_domain(source, source),
                *(numerics(element, p, source=source.name) for p in ("torchao_rceil", "nvidia")),
            )
        )
        assert found.differing == 0 and found.compared == {"bf16": 0x7F80, "fp16": 0x7C00}[source.name]


# -- recounted from the exact definition -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "element, a, b",
    [
        ("e2m1", "floor", "even"),
        pytest.param("e4m3", "floor", "pow2_ceil", marks=pytest.mark.slow),
        ("e3m2", "bias_floor", "even"),
        pytest.param("int8", "floor", "even", marks=pytest.mark.slow),
        pytest.param("e4m3", "ceil", "pow2_ceil", marks=pytest.mark.slow),
    ],
)
def test_scales_recounted_over_bf16(element, a, b):
    rules = [numerics(element, scale_rule=rule, source="bf16") for rule in (a, b)]
    found = compare_scales(*evaluations(common_domain(BF16, BF16), *rules))
    patterns = [i << 16 for i in range(0x7F80)]
    differing = [p for p in patterns if exact_byte(p, rules[0]) != exact_byte(p, rules[1])]
    assert found.compared == len(patterns)
    assert found.differing == len(differing) > 0
    assert values(found) == [f"0x{p >> 16:04X}" for p in (differing[0], differing[-1])]


def test_common_numbers_of_bf16_and_fp16():
    """FP16 numbers with at most eight significant bits; all are BF16 numbers."""
    rules = numerics("e2m3", source="bf16"), numerics("e2m3", scale_rule="ceil", source="fp16")
    certificate = compare(*rules)
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
    patterns = [int(p) for p in halves if p & 0xFFFF == 0]
    assert certificate.numbers == "bf16 and fp16" and certificate.scale.compared == len(patterns)
    assert certificate.scale.differing == sum(exact_byte(p, rules[0]) != exact_byte(p, rules[1]) for p in patterns)
    assert certificate.specials.compared == 6 * 2 * 128 and certificate.specials.differing == 0
    bf16, half = (int(one.values, 16) for one in (certificate.scale.first.a, certificate.scale.first.b))
    assert np.uint16(half).view(np.float16) == np.uint32(bf16 << 16).view(np.float32)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "element, a, b",
    [
        ("e2m1", {}, {"rounding": "rtz"}),
        ("int4", {"scale_rule": "ceil"}, {"rounding": "rna"}),
        ("e3m2", {"profile": "nvidia"}, {"profile": "gorodecky_sousa"}),
        pytest.param("e2m3", {"scale_rule": "even"}, {"input_subnormals": "flush"}, marks=pytest.mark.slow),
        ("e5m2", {"block_size": 2}, {"block_size": 2, "element_subnormals": "flush"}),
        ("e3m8", {"scale_rule": "rceil"}, {"scale_rule": "pow2_ceil", "rounding": "rna"}),
    ],
)
def test_elements_and_their_largest_magnitudes_recounted(element, a, b):
    """Every pair of number and byte in which the number is not above some largest magnitude that has this byte on both
    sides; bottom, middle and top of the range."""
    rng = np.random.default_rng(5)
    middle = rng.integers(125 << 23, 130 << 23, 40) & 0xFFFFFF00
    patterns = [
        0,
        *(1 << k for k in range(24)),
        0x007FFFFF,
        0x00C00000,
        *rng.integers(0, 9 << 23, 30),
        *middle,
        *(middle & 0xFFE00000),
        *rng.integers(251 << 23, 255 << 23, 20),
        0x7F7FFFFF,
    ]
    domain = some(patterns)
    rules = numerics(element, **a), numerics(element, **b)
    found = compare_elements(*evaluations(domain, *rules))
    numbers = [int(p) for p in domain.table]
    bytes_ = {p: {exact_byte(p, one) for one in rules} for p in numbers}
    pairs = [
        (v | sign, byte)
        for byte in range(255)
        for v in numbers
        for sign in (0, 1 << 31)
        if any(bytes_[p] == {byte} for p in numbers if p >= v)
    ]
    different = [
        (v, byte)
        for v, byte in pairs
        if len({exact.round_element(number(v, one), byte - 127, one) for one in rules}) == 2
    ]
    assert found.compared == len(pairs) > 800
    assert found.differing == len(different) > 0
    for example in (found.first, found.last):
        assert (
            example.a.byte == example.b.byte and (int(example.a.values.split(",")[0], 16), example.a.byte) in different
        )


@pytest.mark.parametrize(
    "element, a, b",
    [("e2m1", "ocp", "torchao_even"), ("int8", "nvidia", "torchao_rceil"), ("e3m2", "ocp", "gorodecky_sousa")],
)
def test_fp32_classes_stand_for_every_number_under_every_byte(element, a, b):
    """Random blocks of a number and a largest magnitude: if both sides give one byte, the class of the number and this
    byte is in a range, which gives the codes of the exact definition. No range goes beyond what a block can hold.
    """
    rules = numerics(element, a), numerics(element, b)
    # the bounds of the bytes stand for all numbers
    bounds = [
        e << 23 | f + d for e in range(255) for f in (0, 0x400000, 0x600000, 0x7E0000, 0x7F0000) for d in (-1, 0, 1, 2)
    ]
    fp32, table = common_domain(FP32, FP32), some([p for p in bounds if p >= 0] + [0x7F7FFFFF])
    both = [
        dict(
            zip(
                map(int, table.table),
                Evaluation(one, table)
                .scales()
                .values[0, np.searchsorted(Evaluation(one, table).scales().starts, np.arange(table.size), "right") - 1]
                .tolist(),
            )
        )
        for one in rules
    ]
    largest_of = {both[0][p]: p for p in sorted(both[0]) if both[0][p] == both[1][p]}
    ranges = [elements for sequence in fp32.element_ranges(largest_of) for elements in sequence]
    by_class = {
        (elements.start >> 23) - elements.byte if elements.start else ("subnormal", elements.byte): elements
        for elements in ranges
    }
    assert len(by_class) == len(ranges)
    for elements in ranges:
        assert elements.stop - 1 <= largest_of[elements.byte]
    rng, checked = np.random.default_rng(9), 0
    largest = rng.integers(0, 255 << 23, 800).tolist() + rng.integers(0, 6 << 23, 800).tolist()
    only_at_the_top = [0x7F7FFFFF, 0x7F7E0005]  # INT8, whose byte is clamped there: numbers beyond the largest element
    for amax in largest + only_at_the_top:
        v = int(amax - rng.integers(0, 8 << 23)) if rng.random() < 0.8 and amax not in only_at_the_top else amax
        byte = exact_byte(amax, rules[0])
        if v < 0 or byte != exact_byte(amax, rules[1]):
            continue
        elements = by_class[(v >> 23) - byte if v >> 23 else ("subnormal", byte)]
        twin = elements.start + (v & 0x7FFFFF)
        assert twin < elements.stop
        for one in rules:
            shown = quantize(narrow(np.array([[twin, largest_of[elements.byte]] + [0] * 30], np.uint32), FP32), one)
            assert shown.scales[0, 0] == elements.byte
            assert int(shown.codes[0, 0]) == exact.quantize_block([v, amax] + [0] * 30, one)[1][0]
        checked += 1
    assert checked > 200


CONTEXTS = [[], [0x00010000], [0x3F800000], [0xFF7F0000], [0x7F800000, 0xBF800000], [0x7FC00000, 0xBF800000]]


@pytest.mark.parametrize(
    "element, a, b, size",
    [
        ("e4m3", {"specials": "nan_block"}, {"specials": "te"}, 32),
        ("e2m1", {"specials": "te"}, {"specials": "inf_scale"}, 32),
        ("e5m2", {"specials": "inf_scale"}, {"specials": "drop"}, 32),
        ("int8", {"specials": "drop"}, {"specials": "te"}, 4),
        ("e3m2", {"specials": "nan_block"}, {"specials": "inf_scale"}, 2),
    ],
)
def test_special_blocks_recounted_over_bf16(element, a, b, size):
    rules = [numerics(element, source="bf16", block_size=size, **fields) for fields in (a, b)]
    found = compare_specials(*evaluations(common_domain(BF16, BF16), *rules))
    blocks = [
        ([pattern | fraction, *(p >> 16 for p in context)] + [0] * size)[:size]
        for context in CONTEXTS
        for pattern in (0x7F80, 0xFF80)
        for fraction in range(128)
    ]
    different = [
        block for block in blocks if exact.quantize_block(block, rules[0]) != exact.quantize_block(block, rules[1])
    ]
    assert found.compared == len(blocks) == 6 * 256
    assert found.differing == len(different) > 0
    for example, block in ((found.first, different[0]), (found.last, different[-1])):
        given = [int(text, 16) for text in example.a.values.split(",")]
        assert (given + [0] * size)[:size] == block
        for converted, one in ((example.a, rules[0]), (example.b, rules[1])):
            byte, codes = exact.quantize_block(block, one)
            assert (converted.byte, list(converted.codes)) == (byte, codes[: len(given)])


# -- the whole ---------------------------------------------------------------------------------------------------------


def test_counterexamples_are_blocks_on_which_quantize_differs():
    rules = numerics("e4m3", "samson"), numerics("e4m3", "gorodecky_sousa", source="bf16")
    certificate = compare(*rules)
    for finding in certificate.findings.values():
        assert finding.differing
        for example in (finding.first, finding.last):
            block = np.array([int(text, 16) for text in example.a.values.split(",")] + [0] * 32, np.uint16)[:32]
            bits = [(int(q.scales[0]), q.codes.tolist()) for q in (quantize(block, one) for one in rules)]
            assert bits[0] != bits[1] and bits[0][0] == example.a.byte and bits[1][0] == example.b.byte


@pytest.mark.parametrize("a, b", [("ocp", "microxcaling"), ("torchao_rceil", "nvidia"), ("ocp", "samson")])
def test_equal_on_all_bf16_numbers(a, b):
    certificate = compare(*(numerics("e2m3", profile, source="bf16") for profile in (a, b)))
    assert certificate.equal
    assert all(finding.compared > 1000 and finding.first is None for finding in certificate.findings.values())
    assert json.loads(json.dumps(certificate.to_dict()))["equal"] is True


def test_progress_ends_with_everything_done():
    calls = []
    compare(
        numerics("e2m1", "samson"), numerics("e2m1", "te"), progress=lambda done, total: calls.append((done, total))
    )
    assert calls[-1][0] == calls[-1][1] and len(calls) > 10
    assert all(0 < done <= total for done, total in calls)


@pytest.mark.parametrize(
    "a, b, sentence",
    [
        ({"block_size": 16}, {}, "same block format"),
        ({"rounding": "sr"}, {}, "stochastic rounding"),
        ({}, {"rounding": "sr"}, "stochastic rounding"),
    ],
)
def test_what_cannot_be_compared_is_refused(a, b, sentence):
    with pytest.raises(ValueError, match=sentence):
        compare(numerics("e4m3", **a), numerics("e4m3", **b))


# -- bugs planted: rceil and ceil are equal on BF16, and elements of INT8 have no subnormals, until one answer is wrong

evaluation = importlib.import_module("mxcast.compare.evaluation")
BF16_RCEIL, BF16_CEIL = (numerics("e4m3", scale_rule=rule, source="bf16") for rule in ("rceil", "ceil"))
BF16_EXACT, BF16_FLUSH = (numerics("int8", element_subnormals=how, source="bf16") for how in ("exact", "flush"))


def plant(monkeypatch, spoil) -> None:
    """`quantize`, whose results ``spoil`` may change, given the blocks and the result."""
    right = evaluation.quantize

    def wrong(blocks, rules):
        q = right(blocks, rules)
        spoil(blocks, q)
        return q

    monkeypatch.setattr(evaluation, "quantize", wrong)


def plant_a_wrong_byte(monkeypatch) -> None:
    right = evaluation.scale_bytes
    monkeypatch.setattr(
        evaluation,
        "scale_bytes",
        lambda amax, rules: (
            right(amax, rules) + ((amax == 0x40490000) & (rules.scale_rule is ScaleRule.CEIL)).astype(np.uint8)
        ),
    )


def test_one_wrong_byte_is_found(monkeypatch):
    def spoil(blocks, q):
        q.scales[((blocks & 0x7FFF).max(axis=1) == 0x4049) & (q.numerics == BF16_CEIL)] += 1

    assert compare(BF16_RCEIL, BF16_CEIL).equal
    plant_a_wrong_byte(monkeypatch)
    plant(monkeypatch, spoil)
    certificate = compare(BF16_RCEIL, BF16_CEIL)
    assert not certificate.equal and certificate.scale.differing == 1 and values(certificate.scale) == ["0x4049"] * 2


def test_a_walk_that_is_not_quantize_is_an_error(monkeypatch):
    plant_a_wrong_byte(monkeypatch)
    with pytest.raises(AssertionError, match="quantize gives"):
        compare(BF16_RCEIL, BF16_CEIL)


def test_one_wrong_code_is_found(monkeypatch):
    def spoil(blocks, q):
        q.codes[(blocks == 0xBFC1) & (q.scales == 129) & (q.numerics == BF16_FLUSH)] += 1

    assert compare(BF16_EXACT, BF16_FLUSH).equal
    plant(monkeypatch, spoil)
    found = compare(BF16_EXACT, BF16_FLUSH).elements
    assert found.differing == 1 and found.first == found.last
    assert found.first.a.values == "0xBFC1,0x4080" and found.first.a.codes[0] + 1 == found.first.b.codes[0]


def test_a_wrong_answer_to_one_nan_is_found(monkeypatch):
    def spoil(blocks, q):
        if q.numerics.element_subnormals == "flush":
            q.codes[(blocks == 0x7FAB).any(axis=1)] = 0x7E

    plant(monkeypatch, spoil)
    certificate = compare(BF16_EXACT, BF16_FLUSH)
    assert certificate.specials.differing == len(CONTEXTS) and certificate.specials.first.a.values == "0x7FAB"
    assert certificate.scale.differing == certificate.elements.differing == 0
