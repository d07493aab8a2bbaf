"""Mutation of converters to and from NVFP4: the number of faults that their regression finds."""

import pytest

from mxcast.hdl import configuration
from mxcast.proof import mutation
from mxcast.proof.mutation import Fate, mutate


@pytest.mark.slow
@pytest.mark.parametrize(
    "op, profile, fields, least",
    [
        ("encode", "nvfp4_te", {"source": "bf16", "form": "product"}, 24),
        ("encode", "nvfp4_te", {"source": "bf16", "rounding": "sr"}, 26),
        ("encode", "nvfp4_ao", {"source": "fp32"}, 34),
        ("decode", "nvfp4_te", {"destination": "bf16"}, 26),
    ],
)
def test_the_regression_kills_most_faults(op, profile, fields, least, tmp_path, monkeypatch):
    """Most other mutants change no result, which costs a solver minutes to prove: they are left out."""
    monkeypatch.setattr(mutation, "_judged", lambda *arguments: (Fate.UNDECIDED, "not asked"))
    monkeypatch.setattr(mutation.Planted, "is_same", lambda *arguments: False)
    monkeypatch.setattr(mutation, "MORE_BLOCKS", 1)
    result = mutate(configuration(op, "nvfp4", profile, **fields), 40, out=tmp_path)
    assert result.suite >= least and result.count(Fate.SURVIVED) == 0
