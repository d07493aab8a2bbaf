"""Each library reads our files in its layout, and we read the files that it writes.

`bench/parts/libraries/layout_libraries.py` lists them. `make test-oracles` installs the libraries of the
extra `oracles`.
"""

from importlib.metadata import PackageNotFoundError, version

import layouts
import numpy as np
import pytest
from parts.libraries.layout_libraries import LIBRARIES
from safetensors.numpy import save_file

from mxcast.spec import LAYOUTS
from mxcast.tensors.containers.containers import read, written
from mxcast.tensors.convert.files import quantize_file

NAMES = [":".join(name) for name in LIBRARIES]


def installed(name):
    """A layout and its library."""
    dialect, block = name.split(":")
    library = LIBRARIES[dialect, block]
    try:
        version(library.distribution)
    except PackageNotFoundError:
        pytest.skip(f"{library.distribution} is optional: pip install '.[oracles]', or the library itself")
    return LAYOUTS[dialect][block], library


@pytest.mark.filterwarnings("ignore")  # what libraries say of each other
@pytest.mark.parametrize("name", NAMES)
def test_the_library_and_we_read_the_same(name):
    layout, library = installed(name)
    found = layouts.outcome(layout, library)
    assert layouts.is_equal(found), found
    assert found["read"] == np.prod(library.shape)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_a_changed_file_has_other_numbers(name, tmp_path):
    """The library reads the file, and one changed bit of a code changes one number or a few."""
    layout, library = installed(name)
    suffix = layouts.suffix_of(layout.dialect)
    path, other = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    save_file({library.tensor: layouts.numbers(library)}, tmp_path / "x.safetensors")
    quantize_file(tmp_path / "x.safetensors", path, layout.block, layouts.profile_of(layout), layout=layout.dialect)
    contents = read(path)
    header = {array: (one.dtype, one.shape, one.data.nbytes) for array, one in contents.tensors.items()}
    with written(other, header, contents.metadata) as write:
        for array, one in contents.tensors.items():
            data = one.data.view(np.uint8).copy()
            if array == layout.codes.of(library.tensor):
                data[-1] ^= 4  # of the last code, or the last but one
            write(array, 0, data)
    first, second = library.read(path), library.read(other)
    assert np.count_nonzero(first != second) == 1
