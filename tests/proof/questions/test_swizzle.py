"""The proof of the address generators for tiles, and mistakes that it must refute."""

import pytest
from amaranth.hdl import Cat

from mxcast.hdl.emission import swizzle
from mxcast.proof.questions.swizzle import prove_swizzle
from mxcast.proof.solve.argument import Status


def test_every_shape_is_proved(tmp_path):
    steps = prove_swizzle(tmp_path)
    assert len(steps) == 11 and all(step.status is Status.PASS for step in steps)
    assert all(step.file.read_text().endswith("(check-sat)\n") for step in steps)


def failing(tmp_path) -> str:
    last = prove_swizzle(tmp_path)[-1]
    assert last.status is Status.FAIL
    return last.question.name


def test_one_tile_too_few_is_refuted(tmp_path, monkeypatch):
    monkeypatch.setattr(swizzle, "_tiles_across", lambda columns: columns[2:17])
    assert failing(tmp_path) == "offset"


def test_padding_of_one_row_too_few_is_refuted(tmp_path, monkeypatch):
    monkeypatch.setattr(swizzle, "_is_padding", lambda row, column, rows, columns: (row > rows) | (column >= columns))
    assert failing(tmp_path) == "offset"


@pytest.mark.parametrize("low, high, question", [(0, 1, "place"), (1, 2, "place")])
def test_bits_of_the_byte_exchanged_on_the_way_back_are_refuted(low, high, question, tmp_path, monkeypatch):
    right = swizzle.SwizzlePlace.elaborate

    def wrong(self, platform):
        bits = list(self.offset)
        bits[low + 2], bits[high + 4] = bits[high + 4], bits[low + 2]
        port, self.offset = self.offset, Cat(*bits)
        try:
            return right(self, platform)
        finally:
            self.offset = port

    monkeypatch.setattr(swizzle.SwizzlePlace, "elaborate", wrong)
    assert failing(tmp_path) == question


def test_a_division_that_takes_nothing_away_is_refuted(tmp_path, monkeypatch):
    monkeypatch.setattr(swizzle, "Mux", lambda taken, less, left: left)
    assert failing(tmp_path) == "step-8"


def test_one_wrong_step_of_the_division_is_refuted(tmp_path, monkeypatch):
    """The step after the first, so that each step is asked about by itself."""
    right, steps = swizzle.Mux, iter(range(swizzle.TILES_DOWN))
    monkeypatch.setattr(
        swizzle, "Mux", lambda taken, less, left: left if next(steps) == 5 else right(taken, less, left)
    )
    assert failing(tmp_path) == "step-3"
