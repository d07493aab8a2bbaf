"""Prove converters by every method that `mxcast prove` knows, and keep the outcomes in records/proofs.json.

    python bench/proofs.py [METHOD ...]       what is not kept yet for the Verilog and the readers of today: composed,
    netlist, z3, monolithic

Times are those that the solver took of one processor, for all readers together. The page is written by
bench/verification.py.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from exhaustive import fingerprint

from mxcast.hdl import ConverterConfig, converter_config
from mxcast.proof import prove
from mxcast.proof.readers import READ_VERILOG, readers
from mxcast.spec import BLOCKS
from mxcast.synth.yosys import yosys_version

KEPT = Path(__file__).parent.parent / "records" / "proofs.json"
PROFILES = ("ocp", "nvidia", "te", "gorodecky_sousa", "samson", "torchao_rceil", "torchao_ceil", "torchao_even")
"""One of each set of rules that has a profile."""
METHODS = {
    "composed": (PROFILES, [{}]),
    "netlist": (("ocp", "nvidia", "te"), [{"netlist": "xcu"}, {"netlist": "ecp5"}]),
    "z3": (("ocp",), [{"solver": "z3"}]),
    "monolithic": (("ocp",), [{"whole": True}]),
}
"""Profiles and options of `prove` by method."""


def wanted(methods: list[str]) -> Iterator[tuple[str, ConverterConfig, dict]]:
    for method in methods:
        profiles, choices = METHODS[method]
        for profile in profiles:
            for name in BLOCKS:
                for options in choices:
                    yield method, converter_config(name, profile), options


def key(record: dict) -> tuple:
    return record["verilog"], record["method"], record["netlist"], record["solver"], *record.get("readers", ())


def wanted_key(method: str, config: ConverterConfig, options: dict) -> tuple:
    """The key of the record that this would make."""
    return (
        fingerprint(config),
        method,
        options.get("netlist"),
        options.get("solver", "bitwuzla"),
        *([READ_VERILOG] if "netlist" in options else readers()),
    )


def record(method: str, config: ConverterConfig, options: dict) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        proof = prove(config, out=folder, timeout=1800, force=True, **options)
    return {
        "format": config.numerics.block.name,
        "profile": config.profile,
        "config_id": config.config_id,
        "verilog": fingerprint(config),
        "method": method,
        "netlist": options.get("netlist"),
        "solver": proof.solver,
        "solver_version": proof.version,
        "yosys": yosys_version(),
        "status": str(proof.status),
        "seconds": proof.seconds,
        "readers": [argument.reader for argument in proof.arguments],
        "steps": [{step.question.name: step.answer.seconds for step in argument.steps} for argument in proof.arguments],
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("methods", nargs="*", default=list(METHODS), help="of " + ", ".join(METHODS))
    kept = {key(r): r for r in json.loads(KEPT.read_text())} if KEPT.exists() else {}
    for method, config, options in wanted(parser.parse_args(arguments).methods):
        known = wanted_key(method, config, options)
        if known not in kept:
            kept[known] = record(method, config, options)
            print(
                method,
                kept[known]["format"],
                config.profile,
                options,
                kept[known]["status"],
                kept[known]["seconds"],
                flush=True,
            )
            KEPT.write_text(json.dumps(list(kept.values()), indent=1) + "\n")
    order = [wanted_key(*one) for one in wanted(list(METHODS))]
    KEPT.write_text(json.dumps([kept[k] for k in order if k in kept], indent=1) + "\n")


if __name__ == "__main__":
    main()
