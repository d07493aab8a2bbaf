"""Places for registers: the choice is the best of all, and what it goes by is read off a real netlist."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from mxcast.hdl import cast_config, converter_config, decoder_config, verilog
from mxcast.synth import pipeline, pipelined, plan, synth
from mxcast.synth.pipeline import DELAYS, sections
from mxcast.synth.targets import TARGETS
from mxcast.synth.yosys import run

CONFIG = converter_config("e2m1", block_size=2)
PLACES = CONFIG.stages


@pytest.fixture
def measured(monkeypatch):
    """Sections of known delays, in ns: input, key, level1, scale, normalised, aligned, rounded, output. A register of
    ECP5 takes 0.52.
    """
    delays = dict(zip(PLACES, (0.0, 1.0, 2.0, 2.0, 6.0, 3.0, 2.0, 1.0)))
    bits = dict(zip(PLACES, (65, 81, 73, 74, 37, 45, 19, 17)))
    monkeypatch.setattr(pipeline, "sections", lambda config, target: (delays, bits))


@pytest.mark.parametrize(
    "latency, period, places",
    [
        (1, 11.52, "normalised"),  # 11 | 6: after scale it would be 5 | 12
        (2, 6.52, "scale normalised"),  # 5 | 6 | 6
        (3, 6.52, "scale normalised output"),  # nothing is below 6: the register with the fewest bits
        (8, 6.52, "input key level1 scale normalised aligned rounded output"),
    ],
)
def test_the_longest_section_is_the_shortest(measured, latency, period, places):
    found = plan(CONFIG, latency=latency)
    assert (found.period, found.places) == (period, tuple(places.split()))


@pytest.mark.parametrize(
    "frequency, places", [(1, "normalised"), (80, "normalised"), (90, "scale normalised"), (153, "scale normalised")]
)
def test_the_fewest_registers_for_a_clock(measured, frequency, places):
    found = plan(CONFIG, frequency_mhz=frequency)
    assert found.places == tuple(places.split()) and found.frequency >= frequency


def test_no_choice_is_better(monkeypatch):
    """The best of all choices, by definition: the longest section, then the bits, then the names."""
    rng = np.random.default_rng(1)
    register = DELAYS["ecp5"].register
    for _ in range(30):
        delays = dict(zip(PLACES, rng.choice([0.0, 0.5, 1.0, 2.0, 2.755], len(PLACES)).tolist()))
        bits = dict(zip(PLACES, rng.integers(0, 5, len(PLACES)).tolist()))
        monkeypatch.setattr(pipeline, "sections", lambda config, target: (delays, bits))
        for count in range(1, len(PLACES) + 1):

            def period(chosen: tuple[str, ...]) -> float:
                cuts = [0, *(PLACES.index(place) + 1 for place in chosen), len(PLACES)]
                inside = (list(delays.values())[first:last] for first, last in pairwise(cuts))
                return round(max(sum(section) for section in inside) + register, 2)

            best = min(
                (period(chosen), sum(bits[place] for place in chosen), chosen) for chosen in combinations(PLACES, count)
            )
            found = plan(CONFIG, latency=count)
            assert (found.period, found.places) == (best[0], best[2])


@pytest.mark.parametrize("interface", ["stream", "axis"])
def test_no_choice_is_better_with_lanes(interface, monkeypatch):
    """Some registers are always there, and the store and the largest key of a block are behind level1."""
    config = converter_config("e4m3", lanes=2, block_size=4, interface=interface)
    rng, register, always = (
        np.random.default_rng(1),
        DELAYS["ecp5"].register,
        config.microarchitecture.always_registered,
    )
    store, around = PLACES.index("level1") + 1, config.latency - len(always)
    assert config.stages == PLACES
    for _ in range(20):
        delays = dict(zip(PLACES, rng.choice([0.0, 0.5, 1.0, 2.0, 2.755], len(PLACES)).tolist()))
        bits = dict(zip(PLACES, rng.integers(0, 5, len(PLACES)).tolist()))
        monkeypatch.setattr(pipeline, "sections", lambda config, target: (delays, bits))
        for count in range(len(always), len(PLACES) + 1):

            def period(chosen: tuple[str, ...]) -> float:
                cuts = [0, *(PLACES.index(place) + 1 for place in chosen), len(PLACES)]
                before = [
                    list(delays.values())[first:last]
                    for first, last in pairwise([c for c in cuts if c < store] + [store])
                ]
                before[-1].append(delays["level1"])  # the comparison with the largest key so far
                behind = [
                    list(delays.values())[first:last]
                    for first, last in pairwise([store] + [c for c in cuts if c > store])
                ]
                if store in cuts:
                    before[-1].pop()
                    before.append([delays["level1"]])
                return round(max(sum(section) for section in (*before, *behind)) + register, 2)

            best = min(
                (period(chosen), sum(bits[place] for place in chosen), chosen)
                for chosen in combinations(PLACES, count)
                if always <= {*chosen}
            )
            found = plan(config, latency=count + around)
            assert (found.period, found.places) == (best[0], best[2])


def test_lanes_have_the_sections_of_a_block():
    config = converter_config("e2m1", lanes=2, block_size=4)
    whole, narrow = (sections(one, "ecp5")[0] for one in (config.at_once, config))
    assert tuple(narrow) == config.stages and all(delay == whole[place] for place, delay in narrow.items())
    assert plan(config, latency=4).places[-1] in config.stages
    chosen = pipelined(config, latency=5)
    assert chosen.latency == 5 and "scale" in chosen.microarchitecture.registered_after


@pytest.mark.parametrize(
    "constraint, sentence",
    [
        (
            {"frequency_mhz": 154},
            "no choice of stage boundaries reaches 154 MHz on ecp5: by the estimate registers everywhere give 153 MHz",
        ),
        ({"frequency_mhz": 0}, "a frequency must be above 0 and at most 1000000 MHz, not 0"),
        ({"frequency_mhz": 10**400}, f"a frequency must be above 0 and at most 1000000 MHz, not 1{'0' * 59}..."),
        ({"latency": 0}, "latency must be 1 to 8, the number of stage boundaries, not 0"),
        ({"latency": 9}, "latency must be 1 to 8, the number of stage boundaries, not 9"),
        ({}, "give either a latency or a frequency"),
        ({"latency": 2, "frequency_mhz": 90}, "give either a latency or a frequency"),
    ],
)
def test_what_cannot_be(measured, constraint, sentence):
    with pytest.raises(ValueError) as error:
        plan(CONFIG, **constraint)
    assert str(error.value) == sentence


def test_impossible_latency_with_lanes(measured):
    config = converter_config("e2m1", lanes=2, block_size=4)
    with pytest.raises(ValueError, match="^latency must be 3 to 10, with 2 beats in a block, not 2$"):
        plan(config, latency=2)


def test_unknown_target():
    with pytest.raises(ValueError, match="unknown target with delays 'ecp6': did you mean 'ecp5'?"):
        sections(CONFIG, "ecp6")


def test_sections_of_a_netlist():
    """Two levels of comparators are alike, inputs have no delay, and normalising takes longest."""
    delays, bits = sections(converter_config("e2m1", block_size=4), "ecp5")
    assert tuple(delays) == tuple(bits) == converter_config("e2m1", block_size=4).stages
    assert delays["input"] == 0 < delays["level1"] == delays["level2"] < delays["normalised"] == max(delays.values())
    assert bits["input"] == 4 * 32 + 1 and bits["output"] == pytest.approx(4 * 4 + 8 + 1, abs=9)


def test_sections_of_decoders_and_casts():
    """The signals of each lane are copied between two registers. No other section contains the sum."""
    delays, bits = sections(decoder_config("e2m1", block_size=2), "ecp5")
    assert tuple(delays) == ("input", "scale", "read", "sum", "shifted", "output") and delays["input"] == 0
    assert all(delays[place] > 0 for place in ("scale", "sum", "output")) and bits["input"] == 2 * 4 + 8 + 1
    assert pipelined(cast_config("e2m1"), latency=2).latency == 2


@pytest.mark.slow
def test_registers_make_the_netlist_shorter():
    """More levels stay on the longest path of a shallow pipeline than of a deep one, and most without registers."""
    config = converter_config("e2m1", block_size=4)
    levels = [
        synth(c, "ecp5", stages=False).whole.levels for c in (config, *(pipelined(config, latency=n) for n in (1, 3)))
    ]
    assert levels == sorted(levels, reverse=True) and len(set(levels)) == 3


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "block, profile, rules",
    [
        ("e4m3", "ocp", {"quantizer": "table", "input_subnormals": "flush"}),
        ("e2m1", "nvidia", {"quantizer": "table"}),
        ("int8", "ocp", {"quantizer": "table", "specials": "drop"}),
        pytest.param("e4m3", "te", {"quantizer": "table"}, marks=pytest.mark.slow),
        pytest.param("e4m3", "ocp", {}, marks=pytest.mark.slow),
        ("int8", "te", {}),
    ],
)
def test_synthesis_resets_no_data(block, profile, rules, tmp_path):
    """A reset that is made of data is gated by the enable, and the gate is on the longest path."""
    places = converter_config(block, profile, block_size=2, **rules).stages[
        :-1
    ]  # an output is a register, not an inverter behind one
    config = converter_config(block, profile, block_size=2, registered_after=places, **rules)
    (tmp_path / "converter.v").write_text(verilog(config, "dut"))
    netlist, _ = run(["read_verilog converter.v", TARGETS["ecp5"].script.format(top="dut")], tmp_path)
    module = netlist["modules"]["dut"]
    resets = {str(bit) for cell in module["cells"].values() for bit in cell["connections"].get("LSR", ())}
    assert resets - {"0", "1", "x"} == {str(bit) for bit in module["ports"]["rst"]["bits"]}
