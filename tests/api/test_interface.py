"""``import mxcast``: the stable interface, by its names."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import mxcast
from mxcast import hardware
from mxcast.hdl import AnyBuildFields, AnyFields, cast_config, converter_config, decoder_config
from mxcast.models import quantize

SMALL = {"block_size": 2}


def test_every_name_is_there():
    assert all(getattr(mxcast, name) is not None for name in mxcast.__all__) and set(mxcast.__all__) <= set(dir(mxcast))
    assert mxcast.__version__ == version("mxcast") and (Path(mxcast.__file__).parent / "py.typed").exists()
    with pytest.raises(AttributeError, match="^module 'mxcast' has no attribute 'quantise'$"):
        mxcast.quantise  # noqa: B018


def test_the_import_takes_nothing_along():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, mxcast; print([m for m in ('numpy', 'amaranth', 'typer') if m in sys.modules])",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_there_and_back():
    x = np.random.default_rng(0).standard_normal((3, 64), np.float32)
    q = mxcast.quantize(x, "e4m3", profile="nvidia", scale_rule="floor")
    assert np.array_equal(q.codes, quantize(x, "e4m3", "ocp").codes) and q.scales.shape == (3, 2)
    assert mxcast.dequantize(q).shape == x.shape
    assert mxcast.formats["mxint8"].block_size == 32 and "ocp" in mxcast.profiles


def test_the_hardware(tmp_path):
    files = mxcast.emit("e2m1", out=tmp_path, name="top", **SMALL)
    assert "module top(" in files["verilog"].read_text()
    x = np.random.default_rng(0).standard_normal((5, 2), np.float32)
    assert np.array_equal(mxcast.verilate("e2m1", **SMALL)(x).codes, mxcast.quantize(x, "e2m1", **SMALL).codes)
    assert mxcast.verify("e2m1", blocks=100, **SMALL).passed
    registered = mxcast.emit("e2m1", out=tmp_path, name="registered", latency=1, **SMALL)["verilog"]
    assert "// Latency: 1 cycles" in registered.read_text()
    assert mxcast.prove("e2m1", out=tmp_path, **SMALL).passed
    # the target that is chosen without one takes ten times as long
    result = mxcast.synth("e2m1", "lut4", stages=False, **SMALL)
    assert result.config == converter_config("e2m1", target="generic", **SMALL)
    assert inspect.signature(hardware.synth).parameters["target"].default == "xcu"


def test_the_model_in_c_of_a_design(tmp_path):
    files = mxcast.emit("e2m1", out=tmp_path, name="top", c=True, dpi=True, **SMALL)
    assert files["c_header"] == tmp_path / "top/c/top.h" and files["dpi_package"].is_file()
    assert not any(kind.startswith(("c_", "dpi_")) for kind in mxcast.emit("e4m3", out=tmp_path, name="other", **SMALL))
    with pytest.raises(ValueError):
        mxcast.emit("e2m1", op="hadamard", out=tmp_path, dpi=True)


def test_a_type_checker_knows_the_fields_of_every_operation():
    fields = [
        set(one.__annotations__) for one in (mxcast.Rules, mxcast.DecodingRules, mxcast.CastingRules, mxcast.TileRules)
    ]
    assert set(AnyFields.__annotations__) == set().union(*fields)
    assert set(AnyBuildFields.__annotations__) == set(AnyFields.__annotations__) - {"target"}


@pytest.mark.parametrize(
    "op, rules, make",
    [
        ("cast", {"source": "bf16"}, cast_config),
        pytest.param("decode", {"block_size": 2, "destination": "bf16"}, decoder_config, marks=pytest.mark.slow),
    ],
)
def test_the_hardware_of_other_operations(op, rules, make, tmp_path):
    files = mxcast.emit("e2m1", op=op, out=tmp_path, name="top", **rules)
    assert "module top(" in files["verilog"].read_text()
    assert mxcast.verify("e2m1", op=op, blocks=100, **rules).passed
    config = make("e2m1", target="generic", **rules)
    assert mxcast.prove(config, op=op, out=tmp_path).passed
    assert mxcast.synth("e2m1", "lut4", op=op, stages=False, **rules).config == config


@pytest.mark.parametrize(
    "call, sentence",
    [
        *(
            (lambda verb=verb: verb("e4m3", op="cst"), "unknown operation 'cst': did you mean 'cast'?")
            for verb in (mxcast.emit, mxcast.verify, mxcast.prove, mxcast.synth, mxcast.verilate)
        ),
        (
            lambda: mxcast.emit("e4m3", op="decode", scale_rule="ceil"),
            "unknown field 'scale_rule': did you mean 'scale_place'?",
        ),
        (
            lambda: mxcast.synth("e2m1", op="cast", profile="torch"),
            "torch has no cast to e2m1: it has e4m3, e5m2, e4m3fnuz, e5m2fnuz, e8m0, fp32, fp16, bf16",
        ),
        (lambda: mxcast.prove(decoder_config("e4m3")), "a DecoderConfig is of the operation decode, not encode"),
        (lambda: mxcast.emit("f4m3"), "unknown format 'f4m3': did you mean 'e4m3'?"),
        (lambda: mxcast.verify("e4m3", profile="ocpp"), "unknown profile 'ocpp': did you mean 'ocp'?"),
        (lambda: mxcast.prove("e4m3", roundng="rne"), "unknown field 'roundng': did you mean 'rounding'?"),
        (lambda: mxcast.verify("e4m3", blocks="many"), "blocks must be a whole number, not 'many'"),
        (lambda: mxcast.verify("e4m3", seed=-1), "seed must be at least 0, not -1"),
        (lambda: mxcast.emit("nvfp4_2d"), "hardware converts blocks along one axis, not nvfp4_2d"),
    ],
)
def test_one_sentence(call, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, TypeError)) as error:
        call()
    assert str(error.value) == sentence and not list(tmp_path.iterdir())


@pytest.mark.parametrize("package, table", [("synth", "TARGETS"), ("explore", "SWEEPS")])
def test_the_package_of_the_same_name(package, table):
    """``mxcast.synth`` is a folder of modules and the function of the interface, in whatever order they are
    imported; and so is ``mxcast.explore``.
    """
    script = (
        f"{{first}}\nimport mxcast, mxcast.{package}\nfrom mxcast.{package} import {table}\n"
        f"print(callable(mxcast.{package}), len({table}) > 1, mxcast.{package}.{table} is {table})"
    )
    for first in (f"import mxcast.{package}", f"import mxcast; mxcast.{package}", "import mxcast.cli"):
        done = subprocess.run([sys.executable, "-c", script.format(first=first)], capture_output=True, text=True)
        assert done.stdout == "True True True\n", done.stderr
