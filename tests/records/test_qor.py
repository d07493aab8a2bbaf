"""docs/results.md and README.md show what records/qor.json has; the limits say yes where figures reach them, no where
not, and else nothing.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
import qor
from parts.cost import limits, qor_tables

from mxcast.explore import jobs
from mxcast.synth import TARGETS
from mxcast.synth.baselines import BASELINES, FIGURES, figure

ROOT = Path(__file__).resolve().parents[2]


def record(job: str, format: str, flow: str, variant: str = "smallest", **result: object) -> dict:
    return {
        "job": job,
        "variant": variant,
        "format": format,
        "flow": flow,
        "yosys": "0.70",
        "nextpnr": "0.11",
        "seeds": 5,
        "result": result,
    }


def check(records: list[dict], says: str, format: str, against: str | None):
    (found,) = [
        o
        for o in limits.checks(records)
        if (o.limit.description, o.format, o.limit.baseline or o.limit.own) == (says, format, against)
    ]
    return found


# ours, the limit, whether it holds: limits, next to the paper's 1417 LUTs of E4M3, 14554 ps and 36.6 MHz
@pytest.mark.parametrize(
    "records, says, format, against, holds",
    [
        ([record("gorodecky_sousa", "e4m3", "xcu", luts=1346)], "the paper's job", "e4m3", "paper", True),
        ([record("gorodecky_sousa", "e4m3", "xcu", luts=1347)], "the paper's job", "e4m3", "paper", False),  # 0.9506
        ([record("gorodecky_sousa", "e4m3", "ecp5", luts=1)], "the paper's job", "e4m3", "paper", None),  # another flow
        (
            [record("gorodecky_sousa", "e4m3", "xcu", "area", luts=1)],
            "the paper's job",
            "e4m3",
            "paper",
            None,
        ),  # another variant
        (
            [record("gorodecky_sousa", "e3m2", "xcu", luts=1410)],
            "the paper's job",
            "e3m2",
            "paper",
            False,
        ),  # other formats, 0.75
        (
            [record("ocp", "int8", "xcu", luts=105), record("ocp flush", "int8", "xcu", luts=100)],
            "price of exact FP32 subnormals",
            "int8",
            "ocp flush",
            True,
        ),
        (
            [record("ocp", "int8", "xcu", luts=106), record("ocp flush", "int8", "xcu", luts=100)],
            "price of exact FP32 subnormals",
            "int8",
            "ocp flush",
            False,
        ),
        ([record("ocp", "int8", "xcu", luts=106)], "price of exact FP32 subnormals", "int8", "ocp flush", None),
        ([record("ocp flush", "e4m3", "xcu", "speed", delay_ps=11353)], "delay", "e4m3", "paper", False),
        ([record("ocp flush", "e4m3", "xcu", "speed", delay_ps=11352)], "delay", "e4m3", "paper", True),
        (
            [record("ocp flush", "e4m3", "pnr", "speed", fmax_mhz=40.2)],
            "Fmax, combinational",
            "e4m3",
            "paper",
            False,
        ),  # at least
        ([record("ocp flush", "e4m3", "pnr", "speed", fmax_mhz=40.3)], "Fmax, combinational", "e4m3", "paper", True),
        (
            [record("ocp flush", "int8", "pnr", "pipelined", fmax_mhz=149.9)],
            "Fmax, pipelined, MHz",
            "int8",
            None,
            False,
        ),  # absolute
        ([record("ocp flush", "int8", "pnr", "pipelined", fmax_mhz=150.0)], "Fmax, pipelined, MHz", "int8", None, True),
        ([], "Fmax, pipelined, MHz", "int8", None, None),
    ],
)
def test_limits(records, says, format, against, holds):
    assert check(records, says, format, against).holds is holds


def test_bars_are_about_what_there_is():
    for limit in limits.LIMITS:
        assert limit.job in qor.JOBS and (limit.own is None or limit.own in qor.JOBS)
        assert set(limit.formats) <= set(qor.FORMATS) == set(limits.ALL)
        for name in limit.formats:
            assert (
                limit.baseline is None or getattr(figure(limit.baseline, name, limit.flow), limit.measure) is not None
            )


def test_tables():
    records = [
        record(
            "gorodecky_sousa", "e4m3", "xcu", luts=1000, carries=10, logic_cells=900, levels=20, ffs=0, delay_ps=12000
        ),
        record(
            "gorodecky_sousa", "e5m2", "xcu", luts=2000, carries=10, logic_cells=1002, levels=20, ffs=0, delay_ps=12000
        ),
        record(
            "ocp flush",
            "e4m3",
            "pnr",
            logic_cells=3000,
            ffs=1400,
            own_ffs=0,
            fmax_mhz=40.25,
            fmax_range_mhz=[39.0, 41.0],
        ),
    ]
    page = qor_tables.rendered("<!-- qor -->\nstale\n<!-- end -->\nrest", records, [])
    assert "stale" not in page and page.endswith("<!-- end -->\nrest")
    assert "| gorodecky_sousa | smallest | e4m3 | 1000/10 | 900 | 20 | 0 | 12000 | - |" in page
    assert "| mxcast ocp flush, smallest | e4m3 | 3000 | 1400 | 0 | 40.2 | 39.0 to 41.0 |" in page
    assert "2 of 4 measured limits hold" in page
    assert "| <= 0.95 | **1.48 (1.00)** | 0.71 (0.84) |" in page
    assert qor_tables.rendered(page, records, []) == page


def test_the_short_table_has_a_row_for_each_target():
    """The paper's converter to E4M3 takes 1,417 LUTs on xcu and has 2,259 logic cells on ECP5."""
    records = [
        record(job, "e4m3", target, luts=luts, logic_cells=cells)
        for target in ("xcu", "ecp5")
        for job, luts, cells in (("ocp", 1500, 3000), ("ocp flush", 1417, 4518))
    ]
    cells = [
        {"design": design, "format": "e4m3", "area": area}
        for design, area in (("ocp", 250), ("ocp flush", 150), ("paper", 100))
    ]
    text = qor_tables.rendered("<!-- qor: short -->\n<!-- end -->", records, cells)
    assert "| `xcu`, LUTs | - | 1500 (1.00) | - | - | - | - |" in text
    assert "| `ecp5`, logic cells | - | 3000 (2.00) | - | - | - | - |" in text
    assert "| `ice40`, LUTs | - | - | - | - | - | - |" in text
    assert "| `asic`, um2 | - | 250 (1.50) | - | - | - | - |" in text


def test_lines_are_different_and_placed_ones_a_dozen():
    lines = list(qor.lines())
    assert len(set(lines)) == len(lines)
    assert sum(line.flow == "pnr" for line in lines) == 12
    assert {line.flow for line in lines} <= {*TARGETS, "pnr", "proof"}
    assert all(line.point.config.numerics.block.short_name == line.format for line in lines[::5])


def test_an_interrupted_run_goes_on(tmp_path, monkeypatch):
    """A record of today's Verilog is not measured again. A record of another Verilog is."""
    asked = []

    def locally(points):
        for point in points:
            asked.append(str(point.config.numerics.source.name))
            yield point, jobs.Outcome(result={"whole": defaultdict(int)})

    monkeypatch.setattr(qor, "KEPT", tmp_path / "qor.json")
    monkeypatch.setattr(qor, "PAGES", ())
    monkeypatch.setattr(qor.jobs, "locally", locally)
    wanted = ["--only", "gorodecky_sousa smallest e4m3 lut6"]
    qor.main(wanted)
    qor.main(wanted)
    assert asked == ["fp32", "bf16"]
    qor.KEPT.write_text(qor.KEPT.read_text().replace(qor.records()[0]["verilog"], "0" * 64))
    qor.main(wanted)
    assert asked[2:] == ["fp32"] and len(qor.records()) == 2


@pytest.mark.slow  # tests/explore/test_records.py makes others again by the same engine
def test_a_line_is_made_again_by_the_engine(tmp_path, monkeypatch):
    """The cheapest one on record, by a process of `mxcast.explore`: the same record, byte by byte."""
    cheapest = "ocp bf16 smallest int8 lut6"
    (line,) = (line for line in qor.lines() if str(line) == cheapest)
    kept = qor.by_line()[line]
    monkeypatch.setattr(qor, "KEPT", tmp_path / "qor.json")
    monkeypatch.setattr(qor, "PAGES", ())
    monkeypatch.setattr(qor, "lines", lambda: [line])
    qor.main([])
    assert qor.records() == [kept]


def test_pages_show_what_is_kept():
    for page in qor.PAGES:
        text = page.read_text()
        assert "<!-- qor" in text and qor.rendered(text) == text, (
            f"{page.name} does not show records/qor.json: bench/qor.py --render"
        )


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 11))])
def test_what_is_kept_is_of_the_verilog_of_today(part):
    """A change of the hardware asks for new figures before the pages may claim them. The first part has every job,
    variant and format.
    """
    records, order, seen = qor.by_line(), list(qor.lines()), set()
    configs = list(dict.fromkeys(kept["config_id"] for kept in records.values()))[part::11]
    for line, kept in records.items():
        assert line in order, f"{line} is no line any more"
        if kept["config_id"] in configs:
            seen |= {line.job, line.variant, line.format}
            assert line.point.config.config_id == kept["config_id"]
            assert qor.jobs.emitted(line.point.config) == kept["verilog"], f"{line} was measured on other Verilog"
    assert part or seen == {name for line in records for name in (line.job, line.variant, line.format)}


def test_baselines():
    """Every figure is of a design that is described, in a flow of ours; some as they were measured."""
    assert {figure.design for figure in FIGURES} == set(BASELINES)
    assert {figure.flow for figure in FIGURES} <= {*TARGETS, "pnr"}
    assert len({(f.design, f.format, f.flow) for f in FIGURES}) == len(FIGURES) == 6 * 6 + 1 + 2 * 6 * 2 + 2 * 3
    assert (figure("mx_for_fpga", "int8", "xcu").luts, figure("mx_for_fpga_pipelined", "int8", "pnr").fmax_mhz) == (
        2831,
        85.0,
    )
    assert (figure("mxcore", "e5m2", "xcu").delay_ps, figure("mxcore", "e5m2", "ecp5").logic_cells) == (
        20303,
        5152 + 2 * 1190,
    )
    assert figure("paper", "e5m2", "lut6").luts == 1663 and figure("mxcore", "int8", "xcu") is None
