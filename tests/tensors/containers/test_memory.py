"""Conversions need memory for a few parts, for a tensor of any size."""

import subprocess
import sys

import pytest

from mxcast.tensors.containers.containers import written

PROGRAM = """if True:
    import sys
    from pathlib import Path
    from mxcast.tensors.convert.options import ConvertOptions, Execution
    from mxcast.tensors.convert.repacking import convert_file
    source, target, layout = sys.argv[1:]
    options = ConvertOptions(layout=layout or None, stored_as="gpt_oss")
    convert_file(Path(source), Path(target), options, Execution(jobs=2))
    status = Path("/proc/self/status").read_text()
    print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))"""


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["torchao_swizzled", "ggml", ""], ids=lambda name: name or "dequantize")
def test_it_does_not_grow_with_a_tensor(layout, tmp_path):
    """A tensor of 128 MiB of codes needs no more memory than one of 16 MiB."""
    peaks, sizes = [], (16, 128)
    for mebibytes in sizes:
        rows, source = mebibytes << 9, tmp_path / f"{mebibytes}.safetensors"
        header = {"w_blocks": ("U8", (rows, 128, 16), rows * 2048), "w_scales": ("U8", (rows, 128), rows * 128)}
        with written(source, header, {}):
            pass  # of zeros
        command = [sys.executable, "-c", PROGRAM, str(source), str(tmp_path / "y.safetensors"), layout]
        peaks.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) / 1024)
    assert peaks[1] - peaks[0] < (sizes[1] - sizes[0]) / 5, f"{peaks} MiB"
