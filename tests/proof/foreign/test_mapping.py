"""The language of port maps: its meaning, and one sentence for each error."""

import pytest

from mxcast.proof.foreign.mapping import Port, PortMap, connections, entries
from mxcast.spec import numerics

TWO = numerics("e2m1", block_size=2)


def ports(**widths: int) -> dict[str, Port]:
    """Inputs; names that start with o are outputs."""
    return {name: Port(name, "output" if name[0] == "o" else "input", width) for name, width in widths.items()}


def resolved(asked: dict, given: dict[str, Port], rules=TWO):
    return connections(PortMap.of({"scale": "os", "p": "op"} | asked), given | ports(os=8, op=8), "top", rules)


def drives(asked: dict, given: dict[str, Port]) -> dict[str, list]:
    """The driver of each input bit; a number is a bit of x."""
    return {
        name: [place if signal == "x" else signal for signal, place in bits]
        for name, bits in resolved(asked, given).inputs.items()
    }


@pytest.mark.parametrize(
    "pattern, given, expected",
    [
        ("a_{i}", ports(a_0=32, a_1=32), {"a_0": [*range(32)], "a_1": [*range(32, 64)]}),
        ("a_{i:02}", ports(a_00=32, a_01=32), {"a_00": [*range(32)], "a_01": [*range(32, 64)]}),
        ("a_{n-1-i}", ports(a_0=32, a_1=32), {"a_0": [*range(32, 64)], "a_1": [*range(32)]}),
        ("d", ports(d=64), {"d": [*range(64)]}),
        ("d@msb", ports(d=64), {"d": [*range(32, 64), *range(32)]}),
        ("d[{32*i+31}:{32*i}]", ports(d=64), {"d": [*range(64)]}),
        (
            "s_{i}:m_{i}",
            ports(s_0=1, m_0=31, s_1=1, m_1=31),
            {"s_0": [31], "m_0": [*range(31)], "s_1": [63], "m_1": [*range(32, 63)]},
        ),
        ("d[0:63]", ports(d=64), {"d": [*range(63, -1, -1)]}),  # the high end first, as written
        ("d[0:63]", {"d": Port("d", "input", 64, 0, True)}, {"d": [*range(64)]}),  # ... which is how this one counts
        ("d[65:2]", {"d": Port("d", "input", 64, 2)}, {"d": [*range(64)]}),  # an index is what the design calls it
    ],
)
def test_patterns(pattern, given, expected):
    assert drives({"x": pattern}, given) == expected


def test_other_inputs():
    given = ports(d=64, en=1, sel=3, c=1, r=1, t_0=2, t_1=2)
    found = drives({"x": "d", "en": "1", "sel": "0b110", "clk": "c", "rst": "r@low", "t_{i}": 2}, given)
    assert (found["en"], found["sel"], found["c"], found["r"]) == (["1"], ["0", "1", "1"], ["clk"], ["~rst"])
    assert found["t_0"] == found["t_1"] == ["0", "1"]


def test_a_port_of_the_same_name_needs_no_entry():
    given = ports(x=64) | {"p": Port("p", "output", 8), "scale": Port("scale", "output", 8)}
    assert connections(PortMap(), given, "top", TWO).outputs["p"] == [("p", place) for place in range(8)]


@pytest.mark.parametrize(
    "asked, given, sentence",
    [
        ({"x": "data"}, ports(dat=64), "unknown port of top 'data': did you mean 'dat'?"),
        (
            {},
            ports(d=64),
            "the map has no entry for x, and top has no port of that name: map x=PATTERN; its inputs are d",
        ),
        ({"x": "d"}, ports(d=32), "x=d has 32 bits, not 2 x 32"),
        ({"x": "a_{i}"}, ports(a_0=32, a_1=16), "x=a_{i} gives element 1 16 bits, not 32"),
        (
            {"x": "d"},
            ports(d=64, mode=2),
            "nothing drives the input mode of top: map it, make it a constant (mode=0), "
            "the clock (clk=mode) or the reset (rst=mode)",
        ),
        (
            {"x": "d[63:0]"},
            ports(d=65),
            "nothing drives bit 64 of the input d of top: map it, make it a constant (d=0), "
            "the clock (clk=d) or the reset (rst=d)",
        ),
        ({"x": "a:a"}, ports(a=32), "bit 0 of the input a of top is mapped twice"),
        ({"x": "d", "en": 2}, ports(d=64, en=1), "2 does not fit the 1 bit of en"),
        ({"x": "d", "enabel": 1}, ports(d=64, enable=1), "unknown port of top 'enabel': did you mean 'enable'?"),
        ({"x": "op"}, ports(), "x needs an input, and op of top is an output"),
        ({"x": "d", "p": "d"}, ports(d=64), "p needs an output, and d of top is an input"),
        ({"x": "d[70:7]"}, ports(d=64), "d[70:7] is not within d of top, which has 64 bits from index 0"),
        ({"x": "d@big"}, ports(d=64), "x=d@big must end with @msb, @lsb or nothing, not @big"),
        ({"x": "a_{j}"}, ports(d=64), "braces must contain whole-number arithmetic with i and n, not {j}"),
        ({"x": "a_{i**9}"}, ports(d=64), "braces must contain whole-number arithmetic with i and n, not {i**9}"),
        (
            {"x": "a_{i:99999999999}"},
            ports(d=64),
            "braces must contain whole-number arithmetic with i and n, not {i:99999999999}",
        ),
        (
            {"x": "a_{" + "(" * 500 + "}"},
            ports(d=64),
            "braces must contain whole-number arithmetic with i and n, not {" + "(" * 500 + "}",
        ),
        (
            {"x": "d[1000000000000000000000:0]"},
            ports(d=64),
            "d[1000000000000000000000:0] is not within d of top, which has 64 bits from index 0",
        ),
        ({"x": f"d[{'9' * 5000}]"}, ports(d=64), f"unknown port of top 'd[{'9' * 58}...': known are d, os, op"),
        ({"x": "d", "clk": "c"}, ports(d=64, c=2), "clk takes a port of one bit, NAME or NAME@low, not 'c'"),
        ({"x": "d", "random": "r"}, ports(d=64, r=2), "random is mapped, but the rounding rne takes no random bits"),
    ],
)
def test_one_sentence(asked, given, sentence):
    with pytest.raises(ValueError) as error:
        resolved(asked, given)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    "asked, sentence",
    [
        (
            {"en": "in_{i}"},
            "en takes a whole number, not 'in_{i}': ports are mapped to x, random, scale, p, y, k, d, a, g, clk, rst",
        ),
        ({"latency": 2}, "a latency needs a clock: map clk=PORT"),
        ({"latency": -1, "clk": "c"}, "latency must be 0 or more and interval 1 or more, not -1 and 1"),
    ],
)
def test_wrong_entries(asked, sentence):
    with pytest.raises(ValueError) as error:
        PortMap.of(asked)
    assert str(error.value) == sentence


def test_entries():
    with pytest.raises(ValueError, match="--map gives x twice: a and b"):
        entries(["x=a", "x=b"])
    with pytest.raises(ValueError, match="--map takes KEY=VALUE, not 'x'"):
        entries(["x"])
    with pytest.raises(TypeError, match="text and whole numbers"):
        PortMap.of({"x": [1]})
    with pytest.raises(TypeError, match="not en = True"):
        PortMap.of({"en": True})
