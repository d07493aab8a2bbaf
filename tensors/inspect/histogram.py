"""Histograms of scales by power of two: a line of characters, and an SVG."""

from __future__ import annotations

from collections.abc import Mapping

MOST_BARS = 32
"""Bars of a histogram; for a wider range each bar covers several powers of two."""
BLOCKS, ASCII = " ▁▂▃▄▅▆▇█", " .:-=+*#@"
"""Characters by height."""


def bars(binades: Mapping[int, int]) -> tuple[int, int, list[int]]:
    """The lowest power of two, the powers of each bar, and the counts of the bars.

    >>> bars({-7: 3, -5: 1})
    (-7, 1, [3, 0, 1])
    """
    if not binades:
        return 0, 1, []
    low, high = min(binades), max(binades)
    step = (high - low) // MOST_BARS + 1
    counts = [0] * ((high - low) // step + 1)
    for binade, count in binades.items():
        counts[(binade - low) // step] += count
    return low, step, counts


def line(binades: Mapping[int, int], *, is_ascii: bool = False) -> str:
    """The histogram as a line between the lowest and the highest power of two. Every count above 0 has a height.

    >>> line({-7: 30, -5: 1}, is_ascii=True)
    '2^-7 @ . 2^-5'
    """
    low, _, counts = bars(binades)
    if not counts:
        return ""
    characters = ASCII if is_ascii else BLOCKS
    heights = (-(-count * (len(characters) - 1) // max(counts)) for count in counts)
    return f"2^{low} {''.join(characters[height] for height in heights)} 2^{max(binades)}"


WIDTH, HEIGHT, STEM, BASE = 640, 120, 16, 96
"""Size of the drawing, the largest width of a bar, and the y of the base line, in units of the SVG."""


def svg(binades: Mapping[int, int], label: str) -> str:
    """The histogram as an SVG element; ``label`` is for screen readers, and has no special characters of XML."""
    low, step, counts = bars(binades)
    pitch = min(WIDTH / max(len(counts), 1), 1.5 * STEM)
    width, drawn = pitch * 0.75, []
    for place, count in enumerate(counts):
        height = (BASE - 8) * count / max(counts)
        x, power = place * pitch, low + place * step
        powers = f"2^{power}" if step == 1 else f"2^{power} to 2^{power + step - 1}"
        drawn.append(
            f'<rect x="{x:.1f}" y="{BASE - height:.1f}" width="{width:.1f}" height="{height:.1f}">'
            f"<title>{powers}: {count}</title></rect>"
        )
        if place % (1 if pitch > STEM * 1.4 and len(counts) < 12 else 4) == 0:
            drawn.append(f'<text x="{x:.1f}" y="{BASE + 14}">{power}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}" '
        f'font-size="11" font-family="sans-serif" fill="#1b55d6">{"".join(drawn)}</svg>'
    )
