"""The process in which cocotb builds and runs a simulator. Its job is JSON on standard input, and it ends with
everything that it started.
"""

from __future__ import annotations

import json
import os
import sys

ACCEPTED = {"verilator": ["-Wno-SYMRSVDWORD"]}
"""Options by simulator. Verilator warns of names that C++ compilers reserve, such as ``near``, and replaces them."""


def main() -> None:
    from cocotb_tools.runner import get_runner

    asked = json.load(sys.stdin)
    # the simulator's own interpreter must find what this one finds
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    runner = get_runner(asked["simulator"])
    runner.build(
        sources=[asked["source"]],
        hdl_toplevel=asked["top"],
        build_dir="build",
        always=True,
        waves=asked["waves"],
        timescale=("1ns", "1ps"),
        build_args=ACCEPTED.get(asked["simulator"], []),
    )
    runner.test(
        hdl_toplevel=asked["top"],
        test_module=asked["bench"],
        test_dir=".",
        build_dir="build",
        results_xml=os.path.abspath(asked["results"]),
        seed=asked["seed"],
        waves=asked["waves"],
    )


if __name__ == "__main__":
    main()
