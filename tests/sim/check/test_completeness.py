"""RTL = model = exact definition, over the whole catalogue: a share of every product that `bench/completeness.py`
walks.
"""

from dataclasses import replace
from functools import cache
from itertools import chain, combinations, product

import pytest

from mxcast.hdl import ConverterConfig, converter_config
from mxcast.hdl.encode import element
from mxcast.hdl.encode.threshold import Threshold
from mxcast.hdl.primitives import amax
from mxcast.models import quantize
from mxcast.sim.check.families import FAMILIES, Family, every_element
from mxcast.sim.check.verification import verify
from mxcast.sim.run.verilator.array import ConverterArray, compare_all
from mxcast.spec import BLOCK_SIZES, ELEMENTS, SOURCES, Rounding, ScaleRule, Specials, Subnormals, numerics

# of each family every n-th; the steps share no factor with the numbers of rules, so that all pairs of values occur
STEPS = {"rules": 47, "sizes": 7, "formats": 11, "random_bits": 2, "zeros": 7}


@cache
def share_of(name: str) -> list[Family]:
    """The share of the families of this name, in their order."""
    return [family[number % STEPS[name] :: STEPS[name]] for number, family in enumerate(FAMILIES[name]())]


def equal(families, record_property, blocks: int, exact_blocks: int) -> int:
    """Compare families; the number of numerics that were."""
    boards = [
        board
        for family in families
        if family
        for board in compare_all(family, blocks=blocks, exact_blocks=exact_blocks, seed=8)
    ]
    record_property("blocks", sum(board.blocks for board in boards))
    for board in boards:
        assert board.passed, board.report
        assert board.counts["rtl"] > blocks and board.counts["exact"] == exact_blocks
    return len(boards)


@pytest.mark.sampled(26)
@pytest.mark.parametrize("asked", [*product(SOURCES, ELEMENTS, (0, 5))], ids="{0[0]}-{0[1]}-{0[2]}".format)
def test_every_combination_of_rules(asked, record_property):
    """For a source, an element and a number of random bits."""
    (family,) = (f for f in share_of("rules") if (f[0].source.name, f[0].block.element.name, f[0].random_bits) == asked)
    assert equal([family], record_property, blocks=2000, exact_blocks=40) == len(family) >= 2


def test_the_share_of_rules_has_every_pair_of_values():
    fields = {
        "source": SOURCES,
        "element": ELEMENTS,
        "scale_rule": ScaleRule,
        "rounding": Rounding,
        "specials": Specials,
        "input_subnormals": Subnormals,
        "element_subnormals": Subnormals,
    }
    seen = set()
    for numerics_ in chain.from_iterable(share_of("rules")):
        values = {
            "source": numerics_.source.name,
            "element": numerics_.block.element.name,
            **{name: str(getattr(numerics_, name)) for name in list(fields)[2:]},
        }
        seen |= set(combinations(sorted(values.items()), 2))
    missing = [
        (a, x, b, y)
        for a, b in combinations(sorted(fields), 2)
        for x in fields[a]
        for y in fields[b]
        if ((a, str(x)), (b, str(y))) not in seen
    ]
    assert not missing


def of_size(size: int) -> list:
    families = [family for family in share_of("sizes") if family and family[0].block_size == size]
    assert {f[0].source.name for f in families} == set(SOURCES)
    return families


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "size", [pytest.param(size, marks=pytest.mark.slow if size not in (2, 32) else ()) for size in BLOCK_SIZES]
)
def test_every_block_size(size, record_property):
    """One family from every source; of blocks above 32, which take long to compile, one in all."""
    families = {family[0].source.name: family for family in reversed(of_size(size))}
    equal(list(families.values())[: None if size <= 32 else 1], record_property, blocks=500, exact_blocks=10)


@pytest.mark.slow
@pytest.mark.parametrize("size", BLOCK_SIZES)
def test_every_family_of_a_block_size(size, record_property):
    equal(of_size(size), record_property, blocks=500, exact_blocks=10)


def test_the_share_of_sizes_has_every_format_from_every_source():
    assert {(f[0].source.name, f[0].block.element.name) for f in share_of("sizes") if f} == set(
        product(SOURCES, ELEMENTS)
    )


@pytest.mark.sampled(16)
@pytest.mark.parametrize("part", range(16))
def test_every_element_format(part, record_property):
    equal(share_of("formats")[part::16], record_property, blocks=1000, exact_blocks=20)


def test_the_share_of_formats_has_nearly_every_format():
    """And the whole product has each under every scale rule."""
    every = {e.name for elements in every_element().values() for e in elements}
    assert len(every) == 164 and every >= set(ELEMENTS) | {"e3m3", "int4", "e5m10", "e1m0", "int16", "e3m4_ieee"}
    assert {n.block.element.name for family in FAMILIES["formats"]() for n in family} == every
    assert len({n.block.element.name for family in share_of("formats") for n in family}) > 0.9 * len(every)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("part", range(8))
def test_every_number_of_random_bits(part, record_property):
    equal(share_of("random_bits")[part::8], record_property, blocks=1000, exact_blocks=30)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("part", range(12))
def test_every_sign_of_zero(part, record_property):
    equal(share_of("zeros")[part::12], record_property, blocks=1000, exact_blocks=40)


def off_by_one(monkeypatch):
    of = Threshold.of.__func__
    monkeypatch.setattr(
        amax.Threshold,
        "of",
        classmethod(lambda cls, rules: replace(of(cls, rules), in_binade=of(cls, rules).in_binade + 1)),
    )


def never_up(monkeypatch):
    monkeypatch.setattr(element, "rounds_up", lambda *_: 0)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "plant, rules",
    [
        (off_by_one, {"scale_rule": "ceil"}),
        (off_by_one, {"scale_rule": "even"}),
        (never_up, {"rounding": "rna"}),
        (never_up, {"rounding": "sr"}),
    ],
)
def test_planted_bugs_are_found(plant, rules, monkeypatch):
    sound = numerics("e2m1", **rules).replace(block_size=4)
    assert compare_all([sound], blocks=500, exact_blocks=20, seed=1)[0].passed
    plant(monkeypatch)
    assert compare_all([sound], blocks=500, exact_blocks=20, seed=1)[0].mismatched_blocks


def test_a_wrong_model_is_found(monkeypatch):
    """The exact definition is compared with the model, not with itself."""
    from mxcast.sim.encode import simulation as encoding

    monkeypatch.setattr(
        encoding, "quantize", lambda x, rules, **more: quantize(x, rules.replace(rounding="rtz"), **more)
    )
    board = compare_all([numerics("e2m1").replace(block_size=4)], blocks=500, exact_blocks=100, seed=1)[0]
    assert board.mismatched_blocks > board.counts["rtl"] // 10 and "rtl block" in board.report


def test_converters_side_by_side_have_the_same_ports():
    with pytest.raises(ValueError, match="ports of the same widths"):
        ConverterArray([numerics("e2m1"), numerics("e4m3")])


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "formats, rules",
    [
        ("e4m3,e5m2", {"scale_rule": "floor,ceil"}),
        ("e3m2,e2m3", {"scale_rule": "rceil,even,pow2_ceil", "source": "bf16", "specials": "te"}),
        (
            "int8,e5m2,e4m3",
            {
                "scale_rule": "floor,bias_floor",
                "rounding": "guard_half_up",
                "specials": "drop",
                "element_subnormals": "flush",
                "block_size": 8,
            },
        ),
        (
            "e2m1,e1m2,e3m0,int4",
            {"rounding": "sr", "random_bits": 3, "source": "fp16", "specials": "inf_scale", "block_size": 4},
        ),
        (
            "int8,e4m3",
            {"scale_rule": list(ScaleRule), "input_subnormals": "flush", "amax_key": "magnitude", "block_size": 4},
        ),
    ],
)
def test_every_mode_is_its_own_configuration(formats, rules, record_property):
    """All stimuli in every mode, against the model of that mode's numerics."""
    config = converter_config(formats, **rules)
    result = verify(config, blocks=40_000, seed=2)
    record_property("blocks", result.blocks)
    assert result.passed, result.report
    assert len(result.counts) == 4 * len(config.modes) and min(result.counts.values()) > 50


def test_modes_that_no_converter_has_are_refused():
    for formats, rules, message in (("e4m3,e2m1", {}, "same width"), ("e4m3,e4m3", {}, "differ from each other")):
        with pytest.raises(ValueError, match=message):
            converter_config(formats, **rules)
    with pytest.raises(ValueError, match="scale_rule and element format only"):
        ConverterConfig(numerics=numerics("e4m3"), alternatives=(numerics("e4m3", rounding="rtz"),))
