"""The front against its definition, and the ablation on points with known figures."""

import dataclasses
import math
import random

import pytest

from mxcast.explore.ablation import ablation
from mxcast.explore.pareto import front
from mxcast.explore.points import Explored, Point, described
from mxcast.hdl import converter_config


def row(
    number=0, target="xcu", status="done", luts=None, levels=None, sqnr_db=None, accuracy=None, lost=None, **fields
):
    point = Point(config=converter_config("e4m3", "ocp", **fields), target=target)
    return Explored(
        **described(point) | {"id": f"{number:012x}"},
        status=status,
        luts=luts,
        levels=levels,
        sqnr_db=sqnr_db,
        accuracy=accuracy,
        lost=lost,
    )


def test_front():
    rows = [
        row(0, luts=10, sqnr_db=20.0),
        row(1, luts=9, sqnr_db=20.0),
        row(2, luts=12, sqnr_db=21.0),
        row(3, luts=12, sqnr_db=20.5),
    ]
    assert front(rows, ("luts", "sqnr_db")) == {rows[1].id, rows[2].id}


def test_equal_points_are_all_in_or_all_out():
    rows = [
        row(0, luts=10, sqnr_db=20.0),
        row(1, luts=10, sqnr_db=20.0),
        row(2, luts=11, sqnr_db=20.0),
        row(3, luts=11, sqnr_db=20.0),
    ]
    assert front(rows, ("luts", "sqnr_db")) == front(rows[::-1], ("luts", "sqnr_db")) == {rows[0].id, rows[1].id}


def test_targets_failures_and_missing_figures():
    rows = [
        row(0, luts=10, sqnr_db=20.0),
        row(1, target="ecp5", luts=90, sqnr_db=20.0),
        row(2, luts=1),
        row(3, status="failed"),
    ]
    assert front(rows, ("luts", "sqnr_db")) == {rows[0].id, rows[1].id}


def test_nothing_is_better_than_no_noise():
    rows = [
        row(0, luts=10, sqnr_db=math.inf),
        row(1, luts=12, sqnr_db=23.4),
        row(2, luts=9, sqnr_db=20.0),
        row(3, luts=12, sqnr_db=math.inf),
    ]
    assert front(rows, ("luts", "sqnr_db")) == {rows[0].id, rows[2].id}


def test_figures_of_fewer_numbers_beat_nobody():
    rows = [
        row(0, luts=10, sqnr_db=20.0, lost=0.0),
        row(1, luts=9, sqnr_db=21.0, lost=0.1),
        row(2, luts=8, sqnr_db=21.0, lost=0.1),
    ]
    assert front(rows, ("luts", "sqnr_db")) == {rows[0].id, rows[2].id}


def test_the_front_is_what_nothing_dominates():
    draw = random.Random(1)
    rows = [
        row(i, luts=draw.randrange(8), levels=draw.randrange(8), sqnr_db=float(draw.randrange(8))) for i in range(200)
    ]

    def beats(a, b):
        no_worse = a.luts <= b.luts and a.levels <= b.levels and a.sqnr_db >= b.sqnr_db
        return no_worse and (a.luts < b.luts or a.levels < b.levels or a.sqnr_db > b.sqnr_db)

    expected = {b.id for b in rows if not any(beats(a, b) for a in rows)}
    assert 1 < len(expected) < len(rows) and front(rows, ("luts", "levels", "sqnr_db")) == expected


def test_ablation():
    def on(weights, tiny):
        return {"weights": {"sqnr_db": weights}, "tiny": {"sqnr_db": tiny}}

    rows = [
        row(0, luts=120, levels=12, sqnr_db=30.0, accuracy=on(30.0, 25.0)),
        row(1, luts=100, levels=10, sqnr_db=30.0, accuracy=on(30.0, 1.5), input_subnormals="flush"),
        row(2, luts=126, levels=11, sqnr_db=29.0, accuracy=on(29.0, 24.0), scale_rule="ceil"),
        row(3, luts=90, levels=11, sqnr_db=None, accuracy=None, specials="drop"),
        row(4, luts=50, levels=5, scale_rule="ceil", rounding="rtz"),  # differs from OCP in two rules
        row(5, luts=50, levels=5, rounding="rtz", amax="radix4"),
    ]  # has no partner
    found = {entry.clause: entry for entry in ablation(rows)}
    assert set(found) == {"FP32 subnormals", "scale ceil, not floor", "NaN and Inf"}
    subnormals, ceil, nan = found["FP32 subnormals"], found["scale ceil, not floor"], found["NaN and Inf"]
    assert (subnormals.luts, subnormals.percent, subnormals.levels) == (20, 20.0, 2)
    assert (subnormals.sqnr_db, subnormals.most_db, subnormals.most_on) == (0.0, 23.5, "tiny")
    assert (ceil.luts, ceil.percent, ceil.levels, ceil.sqnr_db) == (6, 5.0, -1, -1.0)
    assert (nan.luts, nan.sqnr_db, nan.most_on) == (30, None, None)
    assert (subnormals.without, subnormals.with_, subnormals.build) == ("flush", "exact", "compare, shift, flat")
    assert not list(ablation([dataclasses.replace(one, status="failed") for one in rows]))


def test_no_gain_where_not_the_same_numbers_are_lost():
    rows = [
        row(0, luts=120, levels=1, sqnr_db=30.0, lost=0.1),
        row(1, luts=100, levels=1, sqnr_db=29.0, lost=0.0, specials="drop"),
        row(2, luts=100, levels=1, sqnr_db=29.0, lost=0.1, input_subnormals="flush"),
    ]
    assert {entry.clause: entry.sqnr_db for entry in ablation(rows)} == {"NaN and Inf": None, "FP32 subnormals": 1.0}


def test_gains_that_are_not_finite_and_gains_in_full():
    """Two points without noise have no gain, and figures with two digits are rounded once."""
    rows = [
        row(0, luts=120, levels=1, sqnr_db=math.inf),
        row(1, luts=100, levels=1, sqnr_db=math.inf, specials="drop"),
        row(2, luts=100, levels=1, sqnr_db=29.0, input_subnormals="flush"),
    ]
    assert {entry.clause: entry.sqnr_db for entry in ablation(rows)} == {
        "NaN and Inf": 0.0,
        "FP32 subnormals": math.inf,
    }
    (entry,) = ablation(
        [row(0, luts=10, levels=1, sqnr_db=20.20518), row(1, luts=9, levels=1, sqnr_db=20.0, specials="drop")]
    )
    assert f"{entry.sqnr_db:+.2f}" == "+0.21"


def test_several_random_bits_are_several_entries():
    rows = [
        row(0, luts=100, levels=1, rounding="rtz"),
        *(row(bits, luts=100 + bits, levels=1, rounding="sr", random_bits=bits) for bits in (4, 8)),
    ]
    for order in (rows, rows[::-1]):
        assert {(entry.random_bits, entry.luts) for entry in ablation(order)} == {(4, 4), (8, 8)}


@pytest.mark.parametrize("figure", ["luts", "sqnr_db"])
def test_columns_are_the_numbers(figure):
    assert figure in Explored.columns() and not {"format", "accuracy", "pareto"} & set(Explored.columns())
