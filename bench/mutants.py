"""Mutate converters and the specification, and keep the outcomes in records/mutants.json.

    python bench/mutants.py                what is not kept yet for the Verilog and the stimuli of today; minutes each

The page is written by bench/verification.py.
"""

import hashlib
import json
import tempfile
from pathlib import Path

from exhaustive import fingerprint

from mxcast.hdl import ConverterConfig, converter_config
from mxcast.proof.mutation import SUITE_BLOCKS, mutate
from mxcast.proof.specification_mutants import refute
from mxcast.sim import stimuli
from mxcast.spec import BLOCKS

KEPT = Path(__file__).parent.parent / "records" / "mutants.json"
PROFILES = ("ocp", "nvidia", "te", "gorodecky_sousa")
MUTANTS, SEED = 200, 0


def suite(config: ConverterConfig) -> str:
    """SHA-256 of the blocks that the cocotb regression drives."""
    numerics = config.numerics
    blocks = [
        stimuli.corner_blocks(numerics),
        stimuli.boundary_blocks(numerics),
        stimuli.random_blocks(numerics, SUITE_BLOCKS, SEED),
    ]
    return hashlib.sha256(b"".join(array.tobytes() for array in blocks)).hexdigest()


def record(config: ConverterConfig) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        found = mutate(config, MUTANTS, seed=SEED, out=folder).to_dict()
        specification = refute(config, Path(folder, "specification"))
    counts = ("mutants", "killed", "killed_by_suite", "equivalent", "survived", "undecided", "faults", "seed", "yosys")
    return {
        "format": config.numerics.block.name,
        "profile": config.profile,
        "config_id": config.config_id,
        "verilog": fingerprint(config),
        "suite": suite(config),
        **{name: found[name] for name in counts},
        "mistakes": len(specification),
        "refuted": sum(mutant.by is not None for mutant in specification),
    }


def main() -> None:
    kept = {(r["verilog"], r["suite"]): r for r in json.loads(KEPT.read_text())} if KEPT.exists() else {}
    configs = [converter_config(name, profile) for profile in PROFILES for name in BLOCKS]
    for config in configs:
        known = fingerprint(config), suite(config)
        if known not in kept:
            kept[known] = record(config)
            print({name: value for name, value in kept[known].items() if name not in ("verilog", "suite")}, flush=True)
            KEPT.write_text(json.dumps(list(kept.values()), indent=1) + "\n")
    KEPT.write_text(json.dumps([kept[fingerprint(config), suite(config)] for config in configs], indent=1) + "\n")


if __name__ == "__main__":
    main()
