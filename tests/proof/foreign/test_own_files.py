"""The unchanged file of `emit` passes `prove --rtl`, for every configuration: the simulation after the proof agrees
too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

import pytest

from mxcast.cli import main
from mxcast.hdl import BEST, Goal, HardwareConfig, Nvfp4Form, configuration, emit
from mxcast.proof.solve import branches
from mxcast.spec import CASTS, DECODERS, INSTRUCTIONS, LAYOUTS, PROFILES, SCALARS, SOURCES

from ...configurations import ELEMENTS

ORDERS = ("nvfp4_te", "nvfp4_paper", "nvfp4_ao", "nvfp4_ao_single", "nvfp4_modelopt", "nvfp4_compressed_tensors")
SMALL = {"block_size": 4}


def those_that_exist(
    op: str, subjects: Iterable[str], profiles: Iterable[str | None], *choices: dict[str, object]
) -> Iterator[HardwareConfig]:
    """The valid configurations among all combinations."""
    for subject, profile, fields in product(subjects, profiles, choices):
        try:
            yield configuration(op, subject, profile, **fields)
        except ValueError:
            continue


def encoders() -> Iterator[HardwareConfig]:
    """Every format under every profile; every source, micro-architecture, goal, and more options."""
    yield from those_that_exist("encode", ELEMENTS, PROFILES, SMALL)
    goals = [{"target": target, "optimize": str(goal)} for target, goal in product(BEST, Goal)]
    yield from those_that_exist("encode", ["e4m3", "e2m1", "int8"], ["nvidia"], *({**SMALL, **goal} for goal in goals))
    more = (
        {"source": "bf16"},
        {"source": "fp16", "specials": "te"},
        {"rounding": "sr", "random_bits": 5},
        {"rounding": "rnz", "zero": "positive"},
        {"element_subnormals": "flush", "input_subnormals": "flush"},
        {"registered_after": "key,scale,rounded"},
        {"registered_after": "input,level1,normalised,output", "rounding": "sr", "random_bits": 3},
        {"scale_rule": "floor,ceil"},
    )
    yield from those_that_exist("encode", ["e5m2", "e3m0", "int4"], ["ocp"], *({**SMALL, **fields} for fields in more))
    yield from those_that_exist("encode", ["e4m3,e5m2", "e2m1,int4"], ["ocp"], {**SMALL, "rounding": "sr"})
    yield from those_that_exist("encode", ELEMENTS, [None], *({"layout": dialect} for dialect in LAYOUTS))


def decoders() -> Iterator[HardwareConfig]:
    """Every format under every profile to every destination, layouts, registers, random bits."""
    every = [{**SMALL, "destination": name, "target": target} for name in SOURCES for target in ("generic", "xcu")]
    yield from those_that_exist("decode", ELEMENTS, DECODERS, *every)
    more = ({"rounding": "sr", "destination": "fp16"}, {"registered_after": "input,scale,output"})
    yield from those_that_exist("decode", ELEMENTS, ["ocp"], *({**SMALL, **fields} for fields in more))
    yield from those_that_exist("decode", ELEMENTS, [None], *({"layout": dialect} for dialect in LAYOUTS))


def casts() -> Iterator[HardwareConfig]:
    """Every format there and back under every profile, all instructions, lanes, registers, random bits."""
    ways = [{way: name} for way in ("source", "destination") for name in SOURCES]
    yield from those_that_exist("cast", SCALARS, CASTS, *ways)
    yield from those_that_exist("cast", INSTRUCTIONS, ["ptx"], {})
    more = ({"lanes": 4}, {"lanes": 2, "rounding": "sr"}, {"registered_after": "input,rounded,output"})
    yield from those_that_exist("cast", SCALARS, ["ocp"], *more)


def nvfp4() -> Iterator[HardwareConfig]:
    """NVFP4: every order in every form, from both sources; random bits, layouts, registers at every place."""
    forms = [{"form": str(form), "source": source} for form in Nvfp4Form for source in ("bf16", "fp32")]
    more = ({"rounding": "sr", "random_bits": 8}, {"layout": "te"}, {"layout": "modelopt"})
    yield from those_that_exist("encode", ["nvfp4"], ORDERS, *forms, *({**one, "source": "bf16"} for one in more))
    for order, form in product(ORDERS, ("thresholds", "product")):
        (plain,) = those_that_exist("encode", ["nvfp4"], [order], {"form": form, "source": "bf16"})
        registers = {"form": form, "source": "bf16", "registered_after": plain.stages[::3]}
        yield from those_that_exist("encode", ["nvfp4"], [order], registers)


WALKS = {"encode": encoders, "decode": decoders, "cast": casts, "nvfp4": nvfp4}
FEWEST = {"encode": 125, "decode": 190, "cast": 200, "nvfp4": 40}
"""The least number of configurations, so that none is lost in silence."""
PARTS = 16
QUICK = [
    configuration("encode", "e2m1", block_size=2, registered_after="scale"),
    configuration("decode", "e2m1", layout="ggml", destination="bf16"),
    configuration("cast", "e4m3", rounding="sr", lanes=2),
    configuration("encode", "nvfp4", "nvfp4_te", source="bf16", form="table"),
]


@pytest.fixture(autouse=True)
def less_search(monkeypatch):
    """Less time for the search of blocks that take every branch."""
    monkeypatch.setattr(branches, "SECONDS", 3)


def proved_as_written(config: HardwareConfig, folder: Path) -> int:
    """The exit code of `mxcast prove --rtl` on the emitted file."""
    return main(["prove", "--rtl", str(emit(config, folder, "own")["verilog"])])


@pytest.mark.sampled(4, first=2)
@pytest.mark.parametrize("config", QUICK, ids=lambda config: config.config_id)
def test_what_emit_writes_is_proved(config, tmp_path):
    assert proved_as_written(config, tmp_path) == 0


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("walk", WALKS)
def test_everything_that_emit_writes_is_proved(walk, part, tmp_path):
    every = list(dict.fromkeys(WALKS[walk]()))
    assert len(every) >= FEWEST[walk]
    for config in every[part::PARTS]:
        assert proved_as_written(config, tmp_path / config.config_id) == 0, config.to_dict()
