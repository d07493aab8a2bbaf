"""The report of an exploration: the content of the file, and its behaviour in a real browser. Figures are made up."""

from __future__ import annotations

import base64
import json
import math
import os
import re
import shutil
from html import unescape
from io import BytesIO
from pathlib import Path

import pytest

from mxcast.explore.pareto import staircase
from mxcast.explore.report.report import report
from mxcast.explore.report.scatter import COLOURS, MARKERS, encoding

from .made_up import ABLATION, METHOD, RULES, failure, point, sweep

HOSTILE = "</script><script>document.title = 'broken'</script><img src=x onerror=\"document.title = 'broken'\">"
ROWS = sweep() + [failure(1), failure(2, log="<b>bold</b>")]
DONE = [row for row in ROWS if row["status"] == "done"]


def table(page: str, name: str) -> list[list[str]]:
    """The texts of the cells of a table, a list a row of its bodies."""
    bodies = re.search(rf'<table id="{name}">.*?</thead>(.*?)</table>', page, re.DOTALL)[1]
    return [
        [unescape(re.sub("<.*?>", "", cell)) for cell in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", line)]
        for line in re.findall("<tr>(.*?)</tr>", bodies)
    ]


def below(page: str) -> list[tuple[str, str]]:
    """The point and the command under each row of the points."""
    found = re.findall(r'<tr class="below">.*?Point <code>(.*?)</code>.*?<code>(.*?)</code><button', page)
    return [(unescape(point), unescape(re.sub("<.*?>", "", command))) for point, command in found]


def heads(page: str, name: str = "points") -> dict[str, str]:
    """The headings of a table, and what they mean."""
    found = re.findall(
        r"<th scope=\"col\"(.*?)>(.*?)</th>", re.search(rf'<table id="{name}"><thead>(.*?)</thead>', page)[1]
    )
    return {unescape(name): unescape("".join(re.findall('title="(.*?)"', attributes))) for attributes, name in found}


def definitions(page: str) -> dict[str, str]:
    """The terms of the section Method."""
    pairs = re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", page[page.index('<section id="method">') :])
    return {unescape(term): unescape(text) for term, text in pairs}


def lead(page: str) -> str:
    return unescape(re.search("</h1>.*?\n<p>(.*?)</p>", page, re.DOTALL)[1])


def data(page: str) -> dict:
    return json.loads(re.search('id="data">(.*?)</script>', page)[1])


# ---- the file


def test_the_same_rows_give_the_same_page() -> None:
    page = report(ROWS, ABLATION, METHOD)
    assert page == report(json.loads(json.dumps(ROWS)), ABLATION, METHOD)
    assert not re.search(r"@@[a-z]+@@", page)


def test_nothing_is_fetched() -> None:
    page = report(ROWS, ABLATION, METHOD)
    assert not re.findall(r"https?:|\bsrc=|@import|url\(|<link|fetch\(|<iframe", page)
    assert "default-src 'none'" in page


def test_the_table_has_every_point_that_is_done() -> None:
    page = report(ROWS, ABLATION, METHOD)
    cells = table(page, "points")
    assert below(page) == [(row["id"], row["emit"]) for row in DONE]
    assert [tuple(line[:2]) for line in cells] == [(row["profile"] or "–", row["scale_rule"]) for row in DONE]
    assert f"{DONE[7]['luts']:,}" in cells[7] and f"{DONE[7]['sqnr_db']:.2f}" in cells[7]
    front, proof = (list(heads(page)).index(name) for name in ("Front", "Proof"))
    assert [line[front] for line in cells] == ["yes" if row["pareto"] else "" for row in DONE]
    assert [line[proof] for line in cells] == [row["proof"] for row in DONE]
    assert f"{len(ROWS)} points: {len(DONE)} done, 2 failed." in page


def test_what_is_the_same_everywhere_is_said_once() -> None:
    page = report(ROWS, ABLATION, METHOD)
    assert "The same in all points: Source fp32; Block size 32;" in page
    assert "Source" not in heads(page) and "Scale rule" in heads(page)


def test_rules_come_first_and_figures_last() -> None:
    names = list(heads(report(ROWS, ABLATION, METHOD)))
    assert names[:3] == ["Profile", "Scale rule", "Format"] and names[-1] == "Mean bias"
    first = names.index("LUTs")
    assert names[first - 2 : first + 4] == ["Front", "Proof", "LUTs", "Levels", "Delay, ns", "SQNR, dB"]
    assert "Rounding" in names[:first]


def further(page: str) -> set[str]:
    """The headings that are hidden at first."""
    return set(re.findall(r'<th scope="col" class="n further".*?>(.*?)</th>', page))


def test_further_figures_are_hidden_unless_they_are_objectives() -> None:
    page = report(ROWS, ABLATION, METHOD)
    assert further(page) == {"Carries", "Saturated, %", "Mean bias"} and page.count('type="checkbox" id="further"') == 1
    page = report(ROWS, ABLATION, METHOD | {"objectives": ["carries", "sqnr_db"]})
    assert further(page) == {"Saturated, %", "Mean bias"}
    assert 'id="further"' not in report([point(1), point(1)], [], METHOD)


def test_what_is_not_there_is_said() -> None:
    page = report(ROWS, ABLATION, METHOD, missing=214, left_out={"sr needs random bits": 31, "no <such> rule": 1})
    assert f"214 of {214 + len(ROWS)} points are not on record. 32 combinations cannot be built" in lead(page)
    method = page[page.index('<section id="method">') :]
    assert "<li>31 combinations: sr needs random bits</li><li>1 combination: no &lt;such&gt; rule</li>" in method
    assert "1 of 2 points is not on record." in lead(report([point(1)], [], METHOD, missing=1))
    for text in ("not on record.", "cannot be built"):
        assert text not in report([point(1)], [], METHOD)


def recommended(rows: list[dict]) -> list[str]:
    """The lines of the recommendation, without markup and commands."""
    page = report(rows, [], METHOD)
    found = re.search(r'<ul class="recommendation">(.*?)</ul>', page)
    lines = re.findall("<li>(.*?)</li>", re.sub('<div class="command">.*?</div>', " ", found[1])) if found else []
    return [unescape(re.sub("<[^>]*>", "", line)).replace("\N{NO-BREAK SPACE}", " ").strip() for line in lines]


def test_what_to_build_is_said_first() -> None:
    """For each format and target: one point with the reason, and others with what they cost and gain."""
    rows = [
        point(1, luts=1800, sqnr_db=31.0),
        point(2, luts=1755, sqnr_db=31.0),
        point(3, rule="ceil", luts=2527, sqnr_db=32.0),
        point(4, rule="even", luts=2600, sqnr_db=32.0),
        point(5, rounding="rtz", luts=900, sqnr_db=21.0, profile=None),
        point(6, target="ecp5", luts=3000, sqnr_db=30.0),
        failure(7),
    ]
    assert recommended(rows) == [
        "mxfp8_e4m3, xcu: build ocp · floor · rne (1,755 LUTs, 31.0 dB), a usual choice: the best balance if 1 dB is "
        "worth 10 % of the LUTs, unless your software expects other rules. "
        "Or nvidia · ceil · rne, a usual choice and the most accurate (44 % more LUTs, 1.0 dB more); "
        "floor · rtz, the smallest (49 % fewer LUTs, 10.0 dB less).",
        "mxfp8_e4m3, ecp5: build mxfp8_e4m3 (3,000 LUTs, 30.0 dB), the only point.",
    ]
    page = report(rows, [], METHOD)
    command = re.search('<div class="command"><code>(.*?)</code>', page[page.index("recommendation") :])[1]
    assert re.sub("<.*?>", "", command) == rows[1]["emit"]
    assert page.index("a usual choice") < page.index("points: ") < page.index('id="controls"')
    assert '<a href="explore.csv">' in page and '<a href="explore.json">' in page


@pytest.mark.parametrize(
    "luts, sqnr_db, wins",
    [
        (1099, 31.0, True),  # 9.9 % for a dB
        (1101, 31.0, False),
        (1000, 30.01, True),  # nothing for a little
        (1000, 30.0, False),  # the first of equals
        (999, 30.0, True),
        (1215, 32.0, False),  # 1.1 ** 2 is 1.21
        (1205, 32.0, True),
        (800, 27.0, False),
        (9000, math.inf, True),  # nothing is lost
    ],
)
def test_a_dB_is_worth_ten_per_cent(luts, sqnr_db, wins) -> None:
    rows = [point(1, luts=1000, sqnr_db=30.0), point(2, rule="ceil", luts=luts, sqnr_db=sqnr_db)]
    rows += [point(3, rule="even", luts=2000, sqnr_db=30.5)]
    assert recommended(rows)[0].startswith(f"mxfp8_e4m3, xcu: build {'nvidia · ceil' if wins else 'ocp · floor'} (")


def test_a_point_is_named_once() -> None:
    for rows in ([row for row in DONE if row["target"] == "xcu"], DONE):
        for line in recommended(rows):
            names = re.findall(r"(?:build|Or|;) (.*?)(?: \(|, )", line)
            assert len(names) == len(set(names)) > 1, line


def test_what_is_not_known_is_not_recommended() -> None:
    assert recommended([failure(1)]) == []
    rows = [point(1, profile=None, luts=10, sqnr_db=None), point(2, rule="even", profile=None, luts=9, sqnr_db=None)]
    assert recommended(rows) == ["mxfp8_e4m3, xcu: build even (9 LUTs), the smallest; the accuracy is not known."]
    rows = [point(1, luts=10, sqnr_db=math.inf), point(2, rule="ceil", luts=9, sqnr_db=math.inf)]
    assert recommended(rows)[0].startswith(
        "mxfp8_e4m3, xcu: build nvidia · ceil (9 LUTs, ∞ dB), the smallest; all are equally accurate. Or ocp · floor, "
        "a usual choice (11 % more LUTs, ∞ dB)"
    )
    rows = [point(1, luts=10, sqnr_db=30.0), point(2, rule="even", profile=None, luts=45, sqnr_db=math.inf)]
    assert "Or ocp · floor, a usual choice and the smallest (78 % fewer LUTs, 30.0 dB)" in (recommended(rows)[0])
    assert (
        "even, the most accurate (4 times the LUTs, 2.0 dB more)"
        in recommended([rows[0], rows[1] | {"sqnr_db": 32}])[0]
    )
    lines = recommended([point(i, target=f"target {i}") for i in range(14)])
    assert len(lines) == 13 and lines[-1] == "2 more: choose one below."


def test_points_that_coincide_are_drawn_side_by_side() -> None:
    """NVIDIA's rule and the next power of two give the same figures in most formats."""
    rows = [point(i, rule=rule, luts=100, sqnr_db=30.0) for i, rule in enumerate(("ceil", "pow2_ceil"))]
    rows += [point(2, luts=200, sqnr_db=20.0)]
    places = re.findall(r'data-i="(\d)"[^>]*translate\(([\d.]+) ([\d.]+)\)', report(rows, [], METHOD))
    found = {int(i): (float(x), float(y)) for i, x, y in places}
    assert found[1][0] - found[0][0] == pytest.approx(9) and found[0][1] == found[1][1]


def test_how_a_point_is_proved_is_said_where_one_is_not() -> None:
    said = "The command of a point with <code>prove</code> in place of <code>emit</code> proves it."
    assert said in report([point(1, proof="not on record")], [], METHOD)
    assert said not in report([point(1, proof="proved")], [], METHOD)


def test_an_empty_front_is_explained() -> None:
    page = report([point(1, sqnr_db=None)], [], METHOD)
    assert "The front is empty: no point has all of luts, levels, sqnr_db." in lead(
        page
    ) and "are on the front" not in lead(page)
    assert "1 is on the front of LUTs × Levels × SQNR:" in lead(report([point(1, pareto=True)], [], METHOD))


def test_points_that_lose_nothing_are_mentioned() -> None:
    rows = [point(1, sqnr_db=math.inf, pareto=True), point(2)]
    assert "1 point loses nothing on the tensors that count: an SQNR of ∞" in lead(report(rows, [], METHOD))
    assert "2 points lose nothing" in lead(report(rows[:1] * 2, [], METHOD)) and "nothing on" not in lead(
        report(rows[1:], [], METHOD)
    )


def test_a_failure_without_a_log_has_no_empty_box() -> None:
    page = report([failure(1, log=None)], [], METHOD)
    assert "Yosys ended with status 1." in page and "<pre>" not in page and "front" not in lead(page)


def test_every_figure_is_defined() -> None:
    """Each column has a definition, which the section Method repeats. Method also defines figures without a column."""
    page = report(ROWS, ABLATION, METHOD)
    said = {name: meaning for name, meaning in heads(page).items() if meaning}
    assert said.keys() > {"SQNR, dB", "LUTs", "Levels", "Delay, ns", "Saturated, %", "Mean bias"}
    assert said.items() <= definitions(
        page
    ).items() and "Largest error\N{NO-BREAK SPACE}/ block\N{NO-BREAK SPACE}maximum" in definitions(page)
    assert set(heads(page)) - set(said) == {"Front", "Proof", "Format", "Target", "Profile", "Scale rule", "Rounding"}


@pytest.mark.parametrize(
    "lost, column, same",
    [
        ((None, None), False, False),
        ((0.0, 0.0), False, False),
        ((0.0, None), False, False),
        ((0.0, 0.25), True, False),
        ((0.25, 0.25), False, True),
    ],
)
def test_lost_numbers_are_shown_where_there_are_any(lost: tuple, column: bool, same: bool) -> None:
    page = report([point(i, lost=share) for i, share in enumerate(lost)], [], METHOD)
    assert ("Lost, %" in heads(page)) == column and ("; Lost, % 25." in page) == same
    assert ("Lost, %" in definitions(page)) == (column or same)


def test_rules_that_not_every_row_has() -> None:
    """Shown, and chosen by, where they differ; rows without them are as before."""
    names = {"random_bits": "Random bits", "overflow": "Overflow"}
    page = report([point(1, random_bits=0, overflow="saturate"), point(2, random_bits=8, overflow="nan")], [], METHOD)
    assert set(names.values()) <= heads(page).keys() and names.keys() <= data(page)["groups"].keys()
    for rows in (
        [point(1), point(2)],
        [point(1, random_bits=8, overflow="nan"), point(2, random_bits=8, overflow="nan")],
    ):
        page = report(rows, [], METHOD)
        assert not set(names.values()) & heads(page).keys() and not names.keys() & data(page)["groups"].keys()


def test_a_point_is_named_by_what_it_has() -> None:
    rows = [point(1, target="lut4", rounding="rtz", input_subnormals="flush", profile=None), point(2, target="xcu")]
    page = report(rows, [], METHOD)
    assert "<title>lut4 · rtz · Input subnormals flush</title>" in page
    assert "<title>xcu · ocp · rne · Input subnormals exact</title>" in page


def test_failures_have_their_error_and_log() -> None:
    page = report(ROWS, ABLATION, METHOD)
    assert page.count("<details>") == 2 and page.count("Yosys ended with status 1.") == 2
    assert "ERROR: out of luck\nat line 7" in page and "&lt;b&gt;bold&lt;/b&gt;" in page


def test_the_ablation() -> None:
    cells = table(report(ROWS, ABLATION, METHOD), "ablation")
    assert len(cells) == len(ABLATION)
    assert cells[1] == [
        "xcu",
        "mxfp8_e4m3",
        "Rounding to nearest even",
        "rounding rtz",
        "rounding rne",
        "+121",
        "+15.1",
        "+2",
        "+5.93",
        "+5.93",
        "weights",
    ]
    assert cells[2][-6:] == ["−8", "−1.0", "+1", "–", "–", "weights"]
    assert "No two points of this sweep" in report(ROWS, [], METHOD)


def test_the_ablation_tells_its_entries_apart() -> None:
    """By what differs among them, and by no more."""
    built = {
        "source": ("fp32", "bf16"),
        "build": ("compare, shift, flat", "radix4, table, kept"),
        "block_size": (16, 32),
        "registered_after": ("", "level1"),
        "random_bits": (0, 8),
    }
    names = {"Source", "Built as", "Block size", "Registers after", "Random bits"}
    alike, other = ({key: pair[i] for key, pair in built.items()} for i in (0, 1))
    page = report(ROWS, [ABLATION[0] | alike, ABLATION[0] | other], METHOD)
    assert names < heads(page, "ablation").keys() and {"bf16", "radix4, table, kept", "32", "level1", "8"} < set(
        table(page, "ablation")[1]
    )
    assert not names & heads(report(ROWS, [ABLATION[0] | alike, ABLATION[1] | alike], METHOD), "ablation").keys()


def test_the_method() -> None:
    page = report(ROWS, ABLATION, METHOD)
    for text in (
        "<dt>Design space</dt><dd>rules by roundings</dd>",
        "<dt>yosys</dt><dd>0.70</dd>",
        "<dt>Seeds</dt><dd>1, 2, 3</dd>",
        "<li>Nothing was measured.</li>",
        ">65,536</td>",
        "ab" * 32,
    ):
        assert text in page
    assert not {"Description", "Device", "Place and route on"} & definitions(page).keys()
    page = report(ROWS, ABLATION, METHOD | {"device": "ECP5-85F", "seeds": []})
    assert definitions(page)["Place and route on"] == "ECP5-85F" and "Seeds" not in definitions(page)


@pytest.mark.parametrize(
    "value, cell, axis",
    [
        (None, "–", None),  # not there
        (math.nan, "–", None),  # not a number, which JSON lacks
        (math.inf, "∞", "Infinity"),  # nothing was lost
        (-math.inf, "−∞", "-Infinity"),
        (-0.0, "0.00", 0.0),
        (-1.5, "−1.50", -1.5),
    ],
)
def test_figures_that_are_not_ordinary(value, cell: str, axis) -> None:
    page = report([point(1), point(2, rule="ceil", sqnr_db=value)], [], METHOD)
    assert cell in table(page, "points")[1]
    assert next(found for found in data(page)["axes"] if found["key"] == "sqnr_db")["values"][1] == axis


@pytest.mark.parametrize(
    "rows", [[], [failure(1)], [point(1)], [point(1, luts=None, sqnr_db=None)], [point(1), point(1)]]
)
def test_few_points(rows: list[dict]) -> None:
    page = report(rows, [], {})
    assert len(table(page, "points")) == sum(row["status"] == "done" for row in rows)


def test_text_is_not_markup() -> None:
    page = report(
        [
            point(1),
            point(2, rule="ceil", profile=HOSTILE, target=HOSTILE, emit=HOSTILE),
            failure(3, error=HOSTILE, log=HOSTILE),
        ],
        [ABLATION[0] | {"clause": HOSTILE}],
        {"sweep": HOSTILE, "remarks": [HOSTILE]},
    )
    assert page.count("<script") == 3 and "<img" not in page
    assert HOSTILE in table(page, "points")[1]
    assert HOSTILE in data(page)["groups"]["target"]


def test_text_is_not_a_place_in_the_template() -> None:
    assert "@@method@@" in table(report([point(1), point(2, profile="@@method@@")], [], METHOD), "points")[1]


def test_the_palette_of_the_page_is_that_of_the_plots() -> None:
    page = report(ROWS, ABLATION, METHOD)
    first = re.search(r":root \{.*?\}", page, re.DOTALL)[0]
    assert [re.search(rf"--c{i}: (#\w+)", first)[1] for i in range(len(COLOURS))] == list(COLOURS)


# ---- the drawing without JavaScript


def test_every_point_has_a_mark() -> None:
    page = report(ROWS, ABLATION, METHOD)
    marks = re.findall(
        r'<path class="c\d( front)?" data-i="(\d+)" d=".*?" transform="translate\(([\d.]+) ([\d.]+)\)"><title>', page
    )
    assert sorted(int(i) for _, i, _, _ in marks) == list(range(len(DONE)))
    assert {int(i) for best, i, _, _ in marks if best} == {i for i, row in enumerate(DONE) if row["pareto"]}
    across = [(DONE[int(i)]["luts"], float(x)) for _, i, x, _ in marks]
    up = [(DONE[int(i)]["sqnr_db"], -float(y)) for _, i, _, y in marks]
    for pairs in (across, up):
        assert [round(b, 1) for _, b in sorted(pairs)] == sorted(
            round(b, 1) for _, b in pairs
        )  # in the order of the figures


def test_the_front() -> None:
    points = [(row["luts"], row["sqnr_db"]) for row in DONE]
    best = [p for p in set(points) if not any(o != p and o[0] <= p[0] and o[1] >= p[1] for o in points)]
    assert staircase(points) == sorted(best) and len(best) > 3


def test_levels_where_nothing_else_is_lost() -> None:
    """Micro-architectures give the same bits, so levels are drawn up."""
    rows = [point(1, amax="radix4", sqnr_db=9.0, levels=20), point(2, sqnr_db=9.0, levels=30)]
    page = report(rows, [], METHOD)
    assert "Levels (less is better)</text>" in page and data(page)["up"] == "levels"
    assert staircase([(1, 30), (2, 20), (3, 20), (3, 30)], -1) == [(1, 30), (2, 20)]
    assert data(report(DONE, [], METHOD))["up"] == "sqnr_db"


def test_what_colour_and_marker_stand_for() -> None:
    assert encoding(DONE) == ("scale_rule", "rounding")
    assert encoding([point(1), point(2, rule="ceil")]) == ("scale_rule", "scale_rule")  # by colour and by marker
    assert encoding([point(1), point(2, rounding="rtz")]) == ("rounding", "rounding")
    assert encoding([point(1), point(2, amax="radix4", quantizer="table")]) == ("quantizer", "amax")
    assert encoding([point(1)]) == (None, None)
    bits = {"rne": 0, "rtz": 0, "sr8": 8}
    assert encoding([point(1, rounding=name, random_bits=number) for name, number in bits.items()]) == (
        "rounding",
        "rounding",
    )
    assert encoding([point(1, rounding="sr8", random_bits=number) for number in (2, 4)]) == (
        "random_bits",
        "random_bits",
    )
    many = [point(i, registered_after=str(i)) for i in range(len(MARKERS) + 1)]
    assert encoding(many) == (None, None)  # more values than markers


# ---- in a browser


def missing() -> str:
    """The reason why the browser does not start; empty if it does."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is missing: pip install -e '.[test]'"
    return (
        ""
        if shutil.which("chromium") and shutil.which("chromedriver")
        else ("no browser: apt-get install chromium chromium-driver")
    )


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Debian's chromium without a window and without the network, allowed to read its clipboard."""
    if reason := missing():
        pytest.skip(reason)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    profile = tmp_path_factory.mktemp("browser")
    for flag in (
        "headless=new",
        "no-sandbox",
        "disable-gpu",
        "disable-dev-shm-usage",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
        "window-size=1280,900",
        f"user-data-dir={profile}",
    ):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    os.environ |= {"SE_OFFLINE": "true", "SE_AVOID_STATS": "true"}  # selenium fetches no driver
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(20)
    driver.execute_cdp_cmd(
        "Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    )
    driver.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
    yield driver
    driver.quit()


def load(browser, page: str, folder: Path, width: int = 1280, height: int = 900, script: bool = True) -> None:
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    browser.get_log("browser")
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
    browser.get(path.as_uri())
    if script:
        settle(browser)


def settle(browser) -> None:
    """Until what the page puts off has been done: a frame, and the task behind it."""
    browser.execute_async_script(
        "const done = arguments[0]; requestAnimationFrame(() => setTimeout(() => setTimeout(done)))"
    )


def choose(browser, css: str, text: str) -> None:
    from selenium.webdriver.support.select import Select

    Select(browser.find_element("css selector", css)).select_by_visible_text(text)
    settle(browser)


def shown(browser, css: str) -> int:
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].filter(e => e.getClientRects().length).length", css
    )


def column(browser, name: str) -> list[str]:
    """The texts of a column of the points shown, from the top."""
    return browser.execute_script(
        """
        const heads = [...document.querySelectorAll("#points thead th")];
        const n = heads.findIndex(head => head.textContent === arguments[0]);
        const shown = [...document.querySelectorAll("#points tbody")].filter(body => !body.hidden);
        if (arguments[0] === "Point") return shown.map(body => body.querySelector(".below code").textContent);
        return shown.map(body => body.rows[0].cells[n].textContent)""",
        name,
    )


def clipboard(browser) -> str:
    return browser.execute_async_script(
        "(window.kept || navigator.clipboard).readText().then(arguments[0], arguments[0])"
    )


def act(browser):
    from selenium.webdriver import ActionChains

    return ActionChains(browser)


def check_quiet(browser) -> None:
    assert browser.get_log("browser") == []
    assert shown(browser, "#controls select") == 6  # two axes, and the four columns that vary
    assert len(browser.find_elements("css selector", "#plot [tabindex]")) == 1  # Tab stops once; arrow keys do the rest


def check_filter(browser) -> None:
    assert (shown(browser, "#marks path"), shown(browser, "#points tbody")) == (len(DONE), len(DONE))
    choose(browser, "[data-filter=scale_rule]", "ceil")
    wanted = [row["id"] for row in DONE if row["scale_rule"] == "ceil"]
    assert column(browser, "Point") == wanted and shown(browser, "#points tbody") == len(wanted)
    assert shown(browser, "#marks path") == len(wanted)
    assert browser.find_element("id", "shown").text == f"{len(wanted)} of {len(DONE)} points shown: Scale rule ceil."
    choose(browser, "[data-filter=target]", "ecp5")
    assert shown(browser, "#marks path") == shown(browser, "#points tbody") == len(wanted) // 2


def check_front_only(browser) -> None:
    browser.find_element("id", "best").click()
    settle(browser)
    assert column(browser, "Point") == [row["id"] for row in DONE if row["pareto"]]
    assert shown(browser, "#marks path") == sum(row["pareto"] for row in DONE)


def check_sort(browser) -> None:
    button = next(b for b in browser.find_elements("css selector", "#points thead button") if b.text.startswith("LUTs"))
    for better, order in ((1, "ascending"), (-1, "descending")):
        button.click()
        assert button.find_element("xpath", "..").get_attribute("aria-sort") == order
        found = [int(text.replace(",", "")) for text in column(browser, "LUTs")]
        assert found == sorted((row["luts"] for row in DONE), key=lambda luts: better * luts)


def check_missing_last(browser) -> None:
    """The order of points 0 to 3; 1 has no SQNR, and 2 no places of registers."""
    for name, order in (
        ("SQNR, dB", (["0", "2", "3", "1"], ["3", "2", "0", "1"])),
        ("Registers after", (["0", "1", "3", "2"], ["3", "1", "0", "2"])),
    ):
        button = next(
            b for b in browser.find_elements("css selector", "#points thead button") if b.text.startswith(name)
        )
        for ids in order:
            button.click()
            assert [text[-1] for text in column(browser, "Point")] == ids


def check_copy(browser) -> None:
    from selenium.webdriver.common.keys import Keys

    said = browser.find_element("id", "said")
    cheapest, *_, dearest = sorted(range(len(DONE)), key=lambda i: DONE[i]["luts"])
    for i, key in ((40, None), (cheapest, Keys.HOME), (dearest, Keys.END)):
        if key:
            act(browser).send_keys(key).perform()
            assert browser.switch_to.active_element.get_attribute("data-i") == str(i)
            act(browser).send_keys(Keys.ENTER).perform()
        else:
            act(browser).move_to_element(
                browser.find_element("css selector", f'#marks [data-i="{i}"]')
            ).click().perform()
        settle(browser)
        assert said.text == f"Copied: {DONE[i]['emit']}" and said.get_attribute("aria-live") == "polite"
        assert clipboard(browser) == DONE[i]["emit"]
    for place, wanted in (("#points .copy", 3), (".recommendation .copy", None)):
        button = browser.find_elements("css selector", place)[wanted or 0]
        act(browser).move_to_element(button).click().perform()
        settle(browser)
        command = button.find_element("xpath", "preceding-sibling::code").text
        assert clipboard(browser) == " ".join(command.split()) in {row["emit"] for row in DONE}
        assert wanted is None or clipboard(browser) == DONE[wanted]["emit"]


def check_copy_without_a_clipboard(browser) -> None:
    browser.execute_script(
        "window.kept = navigator.clipboard; Object.defineProperty(navigator, 'clipboard', {value: undefined})"
    )
    check_copy(browser)


def check_tooltip(browser) -> None:
    tip = browser.find_element("id", "tip")
    assert not tip.is_displayed()
    mark = browser.find_element("css selector", '#marks [data-i="11"]')
    act(browser).move_to_element(mark).perform()
    assert tip.text.startswith(" · ".join(DONE[11][key] for key in ("format", "target", "scale_rule", "rounding")))
    assert f"Proof: {DONE[11]['proof']}" in tip.text
    for text in (f"{DONE[11]['luts']:,}", f"{DONE[11]['sqnr_db']:.2f}", DONE[11]["emit"]):
        assert text in tip.text
    act(browser).move_to_element(browser.find_element("css selector", "h1")).perform()
    assert not tip.is_displayed()
    browser.execute_script("arguments[0].focus()", browser.find_element("css selector", "#marks [tabindex='0']"))
    assert "mxcast emit" in tip.text


def check_axes(browser) -> None:
    for target in ("xcu", "ecp5"):
        choose(browser, "#x", "Levels")
        choose(browser, "#y", "SQNR, dB: heavy tails")
        choose(browser, "[data-filter=target]", target)
        points = [(row["levels"], row["accuracy"]["heavy tails"]["sqnr_db"]) for row in DONE if row["target"] == target]
        (line,) = filter(
            None, (line.get_attribute("d") for line in browser.find_elements("css selector", "#line path"))
        )
        assert len(re.findall("V", line)) == len(staircase(points)) - 1 > 0
        assert browser.find_element("id", "across").text == "Levels (less is better)"


def check_labels(browser) -> None:
    """Ticks can be read, and none lies on another."""
    boxes = browser.execute_script("""return [...document.querySelectorAll("#axes text")].map(text => {
        const box = text.getBoundingClientRect(); return [box.left, box.right, box.top, box.bottom] })""")
    assert len(boxes) > 7
    for i, (left, right, top, bottom) in enumerate(boxes):
        assert bottom - top > 9
        assert not any(
            left < other[1] and other[0] < right and top < other[3] and other[2] < bottom for other in boxes[:i]
        )


def check_width(browser) -> None:
    """Nothing makes the page wider than the window, and no table scrolls sideways."""
    page, window, boxes = browser.execute_script("""const page = document.documentElement;
        const boxes = [...document.querySelectorAll(".wide")].map(box => [box.scrollWidth, box.clientWidth]);
        return [page.scrollWidth, page.clientWidth, boxes]""")
    assert page <= window and len(boxes) >= 2 and all(wide <= box for wide, box in boxes)


def check_point(browser) -> None:
    """All that is said of a point is within the box of the table, with its name, and so is the button."""
    button, box, texts = browser.execute_script("""const box = document.querySelector("#points").parentNode;
        const body = document.querySelectorAll("#points tbody")[1], place = element => element.getBoundingClientRect();
        const cells = [...body.querySelectorAll("th, td:not(.further):not(:empty), code, .copy")];
        return [place(body.querySelector(".copy")).width, [place(box).left, place(box).right],
          cells.map(cell => [cell.textContent, place(cell).left, place(cell).right, place(cell).height])]""")
    assert button > 20 and all(box[0] <= left < right <= box[1] and height for _, left, right, height in texts)
    found = [text for text, *_ in texts]
    assert {DONE[1]["proof"], DONE[1]["id"], DONE[1]["emit"], f"{DONE[1]['luts']:,}"} <= set(found)


def check_further(browser) -> None:
    """Figures that are hidden at first; the table is a list where it is too wide with them."""
    assert shown(browser, "#points thead .further") == shown(browser, "#points tbody .further") == 0
    browser.find_element("id", "further").click()
    settle(browser)
    assert shown(browser, "#points tbody .further") == 3 * len(DONE)
    check_width(browser)
    browser.find_element("css selector", "#controls [type=reset]").click()
    settle(browser)
    settle(browser)
    assert shown(browser, "#points tbody .further") == 0


def check_print(browser) -> None:
    from pypdf import PdfReader

    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    hidden = shown(browser, ".controls") + shown(browser, "#said")
    box, whole = browser.execute_script("""const box = document.querySelector("#points").parentNode;
        return [box.clientHeight, document.querySelector("#points").offsetHeight]""")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert hidden == 0 and box >= whole
    pages = [page.extract_text() for page in PdfReader(BytesIO(base64.b64decode(browser.print_page()))).pages]
    points = [page for page in pages if any(row["id"] in page for row in DONE)]
    assert len(points) > 1 and all("Levels" in page and "Mean bias" in page for page in points), "headings on each page"
    assert DONE[0]["emit"] in " ".join("".join(pages).split())


def check_without_script(browser) -> None:
    assert shown(browser, "#points tbody") == shown(browser, "#marks path") == len(DONE)
    assert shown(browser, "#ablation tbody tr") == len(ABLATION)
    assert shown(browser, "#controls") == shown(browser, ".copy") == 0
    assert shown(browser, "#points .further") > 0, "nobody could ask for them"
    check_labels(browser)
    plot, page = browser.execute_script(
        "return [document.querySelector('#plot').getBoundingClientRect().right, document.documentElement.clientWidth]"
    )
    assert plot <= page


def check_hostile(browser) -> None:
    assert browser.title.startswith("mxcast explore: </script>")
    assert browser.get_log("browser") == []
    assert browser.execute_script("return [document.scripts.length, document.images.length]") == [3, 0]
    assert HOSTILE in column(browser, "Profile")


CHECKS = [
    check_quiet,
    check_filter,
    check_front_only,
    check_sort,
    check_copy,
    check_copy_without_a_clipboard,
    check_tooltip,
    check_axes,
    check_labels,
    check_width,
    check_point,
    check_further,
    check_print,
]
PAGE = report(ROWS, ABLATION, METHOD)
MISSING_PAGE = report(
    [
        point(0, id="0", sqnr_db=1.0, registered_after="a"),
        point(1, id="1", sqnr_db=None, registered_after="b"),
        point(2, id="2", sqnr_db=2.0),
        point(3, id="3", sqnr_db=math.inf, registered_after="level10"),
    ],
    [],
    METHOD,
)
HOSTILE_PAGE = report(
    [point(1), point(2, rule="ceil", profile=HOSTILE, target=HOSTILE, emit=HOSTILE), failure(3, error=HOSTILE)],
    [],
    METHOD | {"sweep": HOSTILE},
)


@pytest.mark.parametrize("check", CHECKS)
def test_in_a_browser(browser, tmp_path, check) -> None:
    load(browser, PAGE, tmp_path)
    check(browser)
    assert browser.get_log("browser") == []


@pytest.mark.parametrize(
    "check", [check_quiet, check_filter, check_sort, check_copy, check_labels, check_width, check_point, check_further]
)
def test_on_a_phone(browser, tmp_path, check) -> None:
    load(browser, PAGE, tmp_path, 390, 844)
    check(browser)


def many_rules() -> str:
    """A page with long lists of registers, ten columns of rules and ten of figures."""
    registers = "level1,level2,level3,level4,level5,scale,top,distance,chosen"
    names = {"source": "bf16", "specials": "te", "input_subnormals": "flush", "overflow": "saturate", "amax": "radix4"}
    placed = {"fmax_mhz": 177.6, "gbytes_per_s": 22.7, "latency_cycles": 9}
    rows = [row | {"registered_after": registers[: 7 * i]} for i, row in enumerate(DONE[:4])]
    rows[1] |= names | placed
    return report(rows, ABLATION, METHOD)


@pytest.mark.parametrize("width", [768, 960, 1280])
def test_a_sweep_with_many_rules_fits(browser, tmp_path, width) -> None:
    load(browser, many_rules(), tmp_path, width)
    check_width(browser)
    check_point(browser)


@pytest.mark.parametrize("old, new", [("\n  fit();", ""), ("box.scrollWidth <= box.clientWidth", "true")])
def test_a_planted_bug_of_width_is_found(browser, tmp_path, old: str, new: str) -> None:
    assert many_rules().count(old) == 1
    load(browser, many_rules().replace(old, new), tmp_path, 1000)
    with pytest.raises(AssertionError):
        check_width(browser)


def test_a_box_that_scrolls_sideways_shows_it(browser, tmp_path) -> None:
    """Without a script a wide table stays one, and a shadow lies at the side where it goes on."""
    load(browser, PAGE, tmp_path, 1000, script=False)
    box = browser.find_element("css selector", ".wide")
    wide, narrow = browser.execute_script("return [arguments[0].scrollWidth, arguments[0].clientWidth]", box)
    assert wide > narrow

    def darkest(x: str) -> int:
        """The darkest pixel of every line below the heading, at one side of the box; of these the lightest."""
        import numpy as np
        from PIL import Image

        image = np.asarray(Image.open(BytesIO(box.screenshot_as_png)).convert("L"))
        return int(image[100:500, {"left": slice(1, 4), "right": slice(narrow - 4, narrow - 1)}[x]].min(axis=1).max())

    assert darkest("right") < 250 < darkest("left")
    browser.execute_script("arguments[0].scrollLeft = 1e6", box)
    assert darkest("left") < 250 < darkest("right")


@pytest.mark.parametrize("width, height", [(1280, 900), (390, 844)])
def test_without_script(browser, tmp_path, width: int, height: int) -> None:
    load(browser, PAGE, tmp_path, width, height, script=False)
    check_without_script(browser)
    if width < 500:
        check_width(browser)


def test_missing_values_are_sorted_last(browser, tmp_path) -> None:
    load(browser, MISSING_PAGE, tmp_path)
    check_missing_last(browser)


def test_hostile_text_in_a_browser(browser, tmp_path) -> None:
    load(browser, HOSTILE_PAGE, tmp_path)
    check_hostile(browser)


def test_many_points_stay_quick(browser, tmp_path) -> None:
    """A choice is drawn at once, whatever the table takes: far above what it needs, for busy machines."""
    load(
        browser,
        report(sweep(("xcu", "ecp5", "ice40"), ("mxfp8_e4m3", "mxfp6_e2m3", "mxfp4_e2m1"), 11), [], METHOD),
        tmp_path,
    )
    assert shown(browser, "#marks path") == 3 * 3 * len(RULES) * 3 * 11 > 1700
    took = browser.execute_script("""const select = document.querySelector("[data-filter=scale_rule]");
        const start = performance.now();
        select.value = "even";
        select.dispatchEvent(new Event("change", {bubbles: true}));
        return performance.now() - start""")
    assert took < 500, f"{took:.0f} ms"


@pytest.mark.parametrize(
    "check, old, new",
    [
        (check_quiet, '"use strict";', '"use strict"; nothing();'),
        (check_filter, "body.hidden = !kept.has(i)", "body.hidden = false"),
        (check_filter, 'mark.setAttribute("display", "none")', "0"),
        (check_front_only, '|| !$("best").checked', "|| true"),
        (check_sort, "Math.sign(a - b)", "String(a).localeCompare(b)"),
        (check_sort, '(up ? "ascending" : "descending")', '"ascending"'),
        (check_copy, "await navigator.clipboard.writeText(text)", ""),
        (check_copy, 'if (event.key === "Enter" || event.key', "if (event.key"),
        (check_copy_without_a_clipboard, "area.select()", ""),
        (check_tooltip, '"pointermove"', '"pointerdown"'),
        (check_tooltip, '"focusin"', '"keyup"'),
        (check_tooltip, "names[i]), list", 'cells.slice(1).map(cell => cell.textContent).join(" · ")), list'),
        (check_tooltip, 'head.textContent === "Proof"', 'head.textContent === "Front"'),
        (check_axes, "y.better * (point.y - kept.at(-1).y) > 0", "true"),
        (check_axes, '("across").textContent = x.label', '("across").textContent = y.label'),
        (check_labels, "width / 100", "width / 10"),
        (check_point, ".js .copy { display: inline-block; }", ""),
        (check_further, '$("points").classList.toggle("all", all);', ""),
        (check_further, "if (width && changed) fit();", ""),
        (check_copy, "event.target.previousElementSibling.textContent", '""'),
        (check_print, ".wide { max-height: none; overflow: visible;", ".wide {"),
        (check_print, ".js .controls, .js .copy, .controls-note, #tip", "#tip"),
        (check_print, "thead button { display: contents; }", ""),
    ],
)
def test_a_planted_bug_is_found(browser, tmp_path, check, old: str, new: str) -> None:
    assert PAGE.count(old) == 1
    load(browser, PAGE.replace(old, new), tmp_path)
    with pytest.raises(AssertionError):
        check(browser)


@pytest.mark.parametrize(
    "old, new",
    [
        (".controls { display: none;", ".controls { display: flex;"),
        ("#plot { display: block; width: 100%;", "#plot { display: block; width: 100%; min-width: 44rem;"),
        ("#axes text { font-size: 26px; }", ""),
        ("translateY(20px)", "none"),
        ("translateY(-12px)", "none"),
        ("tbody[hidden], thead, td:empty", "tbody, thead, td:empty"),
        (".copy { display: none;", ".copy { display: inline;"),
        (".js #points:not(.all) .further { display: none; }", "#points:not(.all) .further { display: none; }"),
    ],
)
def test_a_planted_bug_without_script_is_found(browser, tmp_path, old: str, new: str) -> None:
    assert PAGE.count(old) == 1
    load(browser, PAGE.replace(old, new), tmp_path, 390, 844, script=False)
    with pytest.raises(AssertionError):
        check_without_script(browser)


@pytest.mark.parametrize(
    "old, new",
    [
        ('numeric ? Number.isNaN(value) : value === "–"', 'numeric ? false : value === "–"'),
        ('numeric ? Number.isNaN(value) : value === "–"', "numeric ? Number.isNaN(value) : value === null"),
    ],
)
def test_a_planted_bug_of_missing_values_is_found(browser, tmp_path, old: str, new: str) -> None:
    assert MISSING_PAGE.count(old) == 1
    load(browser, MISSING_PAGE.replace(old, new), tmp_path)
    with pytest.raises(AssertionError):
        check_missing_last(browser)


@pytest.mark.parametrize("old, new", [("\\u003c", "<"), ("&lt;", "<")])
def test_a_planted_hole_is_found(browser, tmp_path, old: str, new: str) -> None:
    load(browser, HOSTILE_PAGE.replace(old, new), tmp_path)
    with pytest.raises(AssertionError):
        check_hostile(browser)
