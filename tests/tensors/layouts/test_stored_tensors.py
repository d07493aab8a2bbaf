"""Arrays of any shapes under the names of a layout: read, or refused in one sentence."""

import math
import random
from pathlib import Path

import numpy as np
import pytest

from mxcast.spec import LAYOUTS
from mxcast.tensors.containers.contents import Contents, Stored
from mxcast.tensors.containers.safetensors import BITS
from mxcast.tensors.convert.conversions import Dequantized, parts_of
from mxcast.tensors.convert.options import ConvertOptions
from mxcast.tensors.convert.quantized_source import QuantizedSource

EVERY = [layout for dialect in LAYOUTS.values() for layout in dialect.values()]
SIZES = 0, 1, 2, 3, 4, 8, 16, 17, 18, 32, 36, 64, 128


@pytest.mark.sampled(2)
@pytest.mark.parametrize("layout", EVERY, ids=lambda layout: layout.name)
def test_any_shapes(layout):
    options = ConvertOptions(stored_as=layout.dialect, format=layout.block, include=("*",))
    generator, read, refused = random.Random(layout.name), 0, 0
    for number in range(60):
        tensors = {}
        for part in layout.parts:
            axes = generator.randrange(5) if number % 2 else 2
            shape = tuple(generator.choice(SIZES) for _ in range(axes))
            data = np.zeros(math.prod(shape) * BITS[part.dtype] // 8, np.uint8)
            tensors[part.of("a.weight")] = Stored(dtype=part.dtype, shape=shape, data=data)
        contents = Contents(tensors=tensors)
        try:
            source = QuantizedSource(Path("x.safetensors"), options, contents)
            tensor, conversion = source.tensor("a.weight"), Dequantized(None)
            for box in parts_of(tensor, conversion):
                ((_, numbers),) = conversion.part("a.weight", tensor, box)[0].values()
                assert numbers.shape == tuple(one.stop - one.start for one in box)
            read += 1
        except ValueError as error:
            refused += 1
            assert str(error)
    assert refused
