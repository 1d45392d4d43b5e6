"""Charts are well-formed SVG that says what it shows, in colours for light and dark pages."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from bench.report.svg import Bar, Line, bars, lines

SVG = "{http://www.w3.org/2000/svg}"


def test_a_bar_is_as_long_as_its_value() -> None:
    """The longest fills the room; labels and texts stand beside it, escaped."""
    drawn = ET.fromstring(bars("a < b", [Bar("x & y", 10, "ten"), Bar("half", 5, "five", 1)]))
    widths = [float(rect.attrib["width"]) for rect in drawn.iter(f"{SVG}rect")]
    assert widths[0] == 2 * widths[1]
    texts = [text.text for text in drawn.iter(f"{SVG}text")]
    assert texts == ["a < b", "x & y", "ten", "half", "five"]


def test_lines_lie_on_logarithmic_axes() -> None:
    """Ten times as much is the same distance everywhere, and up is more."""
    drawn = ET.fromstring(lines("t", "x", [Line("l", [(1, 1), (10, 10), (100, 100)])]))
    places = [(float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in drawn.iter(f"{SVG}circle")]
    (x0, y0), (x1, y1), (x2, y2) = places
    assert abs((x2 - x1) - (x1 - x0)) < 0.2
    assert abs((y2 - y1) - (y1 - y0)) < 0.2
    assert y0 > y1 > y2


def test_everything_stays_inside_the_picture() -> None:
    """Even with long labels and large numbers."""
    long = [Bar("a label of some length that is not short", 1e6, "1,000,000 facts/s"), Bar("b", 1, "1 fact/s")]
    drawn = ET.fromstring(bars("t", long))
    for rect in drawn.iter(f"{SVG}rect"):
        assert float(rect.attrib["x"]) + float(rect.attrib["width"]) <= 760
    many = [Line(f"a line with a long name, number {number}", [(1, 1), (9, 9)], number) for number in range(4)]
    for text in ET.fromstring(lines("t", "x", many)).iter(f"{SVG}text"):
        width = 7 * len(text.text or "") if text.attrib.get("text-anchor") is None else 0
        assert 0 <= float(text.attrib["x"]) <= 760 - width


def test_colours_follow_the_readers_setting() -> None:
    """Both settings have a rule."""
    drawn = bars("t", [Bar("a", 1, "1")])
    assert "prefers-color-scheme: dark" in drawn
    assert "prefers-color-scheme: light" in drawn
