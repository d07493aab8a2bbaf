"""Everything that docs/verification.md and README.md say is proved, mutated and exhausted, in one command.

python bench/verification.py             do what is not on record for today's Verilog (hours, if nothing is), write the
tables python bench/verification.py --render    only write the tables, from records/proofs.json, mutants.json and
exhaustive.json
"""

import argparse
import json
from pathlib import Path

import exhaustive
import mutants
import proofs
from pages import filled, table

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "docs" / "verification.md", ROOT / "README.md")


def records(path: Path) -> list[dict]:
    return json.loads(path.read_text()) if path.exists() else []


def rows() -> list[dict[str, str]]:
    """A row for each format and profile: how it was proved, and in how many seconds; mutants; all inputs."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for r in records(proofs.KEPT):
        column = {"netlist": f"netlist {r['netlist']}", "z3": "by z3", "monolithic": "at once", "composed": "proved"}[
            r["method"]
        ]
        row = found.setdefault((r["profile"], r["format"]), {})
        row[column] = f"{r['seconds']:.0f} s" if r["status"] == "PASS" else r["status"]
    for r in records(mutants.KEPT):
        row = found.setdefault((r["profile"], r["format"]), {})
        row["faults killed"] = f"{r['killed']} of {r['faults']}"
        row["by the regression"] = str(r["killed_by_suite"])
        row["proved harmless"] = str(r["equivalent"])
        row["mistakes refuted"] = f"{r['refuted']} of {r['mistakes']}"
    for r in records(exhaustive.KEPT):
        row = found.setdefault((r["profile"], r["format"]), {})
        row["blocks of all inputs"] = f"{r['blocks']:,}" + (
            "" if not r["mismatched_blocks"] else f", {r['mismatched_blocks']:,} differ"
        )
    order = {profile: number for number, profile in enumerate(proofs.PROFILES)}
    return [
        {"profile": profile, "format": format, **row}
        for (profile, format), row in sorted(found.items(), key=lambda item: order[item[0][0]])
    ]


COLUMNS = (
    "profile",
    "format",
    "proved",
    "netlist xcu",
    "netlist ecp5",
    "at once",
    "by z3",
    "faults killed",
    "by the regression",
    "proved harmless",
    "mistakes refuted",
    "blocks of all inputs",
)


def markdown(found: list[dict[str, str]], columns: tuple[str, ...]) -> str:
    return table(columns, ([row.get(name, "-") for name in columns] for row in found), texts=2)


def summary(found: list[dict[str, str]]) -> str:
    """The README's table: the ranges of each profile for which faults were planted, and the others in a sentence."""
    lines, others = [], {}
    for profile in dict.fromkeys(row["profile"] for row in found):
        mine = [row for row in found if row["profile"] == profile]
        passed = [float(row["proved"].split()[0]) for row in mine if row.get("proved", "").endswith(" s")]
        killed = [list(map(int, row["faults killed"].split(" of "))) for row in mine if "faults killed" in row]
        if not killed:
            others[f"`{profile}`"] = f"{len(passed)} of {len(mine)}"
            continue
        lines.append(
            {
                "profile": profile,
                "formats proved": f"{len(passed)} of {len(mine)}",
                "solver time": f"{min(passed):.0f} to {max(passed):.0f} s" if passed else "-",
                "faults killed": f"{sum(k for k, _ in killed):,} of {sum(n for _, n in killed):,}",
                "all inputs": f"{sum('blocks of all inputs' in row for row in mine)} of {len(mine)}",
            }
        )
    counts = " and ".join(dict.fromkeys(others.values()))
    return markdown(lines, tuple(lines[0])) + (f"\nProved too: {', '.join(others)} ({counts}).\n" if others else "")


def versions() -> str:
    kept, mutated = records(proofs.KEPT), records(mutants.KEPT)
    tools = dict.fromkeys(f"{r['solver']} {r['solver_version']}" for r in kept)
    return (
        f"\n{', '.join(tools)}; Yosys {', '.join(dict.fromkeys(r['yosys'] for r in kept))}; "
        f"{mutated[0]['mutants'] if mutated else 0} mutants each, seed {mutated[0]['seed'] if mutated else 0}.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--render", action="store_true")
    if not parser.parse_args().render:
        proofs.main([])
        mutants.main()
        exhaustive.main()
    for page in PAGES:
        page.write_text(rendered(page.read_text()))


def rendered(page: str) -> str:
    """A page with its tables."""
    found = rows()
    texts = {"verification": markdown(found, COLUMNS) + versions(), "proofs": summary(found) + versions()}
    return filled(page, texts)


if __name__ == "__main__":
    main()
