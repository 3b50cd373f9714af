# SPDX-License-Identifier: Apache-2.0
"""Bar charts as SVG."""

from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 760, 320
_LEFT, _TOP, _BOTTOM = 60, 60, 40
_COLOURS = ("#9aa5b1", "#5b8db8", "#1f4e79")
_TEXT = '<text x="{:.0f}" y="{:.0f}" text-anchor="{}" {}>{}</text>'


def bars(title, groups, series, mark=None):
    """Groups of bars, one bar for each series; a series lists its values by group, None where it
    has none. `mark` is a value at which a line is drawn."""
    present = [value for values in series.values() for value in values if value is not None]
    step = _step(max([*present, mark or 0]))
    top = step * (int(max([*present, mark or 0]) / step) + 1)
    high = _HEIGHT - _TOP - _BOTTOM

    def level(value):
        return _TOP + high * (1 - value / top)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
             'font-family="sans-serif" font-size="12">',
             f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
             _TEXT.format(_LEFT, 20, "start", 'font-weight="bold"', escape(title))]
    for number in range(round(top / step) + 1):
        parts.append(_line(level(number * step), "#dddddd"))
        parts.append(_TEXT.format(_LEFT - 8, level(number * step) + 4, "end", "",
                                  f"{number * step:,.10g}"))
    parts += _legend(series) + _groups(groups, series, level)
    if mark is not None:
        parts.append(_line(level(mark), "#c0392b"))
    return "\n".join([*parts, "</svg>", ""])


def _step(largest):
    """The round number of which at most ten reach `largest`."""
    step = 10.0 ** -6
    while True:
        for factor in (1, 2, 5):
            if step * factor * 10 >= largest:
                return step * factor
        step *= 10


def _line(y, colour):
    return (f'<line x1="{_LEFT}" x2="{_WIDTH - 10}" y1="{y:.1f}" y2="{y:.1f}" '
            f'stroke="{colour}"/>')


def _legend(series):
    parts = []
    for number, name in enumerate(series):
        x = _LEFT + 150 * number
        parts.append(f'<rect x="{x}" y="32" width="12" height="12" fill="{_COLOURS[number]}"/>')
        parts.append(_TEXT.format(x + 18, 42, "start", "", escape(name)))
    return parts


def _groups(groups, series, level):
    parts = []
    room = (_WIDTH - _LEFT - 10) / len(groups)
    width = room * 0.8 / len(series)
    for place, group in enumerate(groups):
        left = _LEFT + place * room + room * 0.1
        parts.append(_TEXT.format(left + room * 0.4, _HEIGHT - 20, "middle", "", escape(group)))
        for number, values in enumerate(series.values()):
            if values[place] is None:
                continue
            x, y = left + number * width, level(values[place])
            parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width * 0.9:.1f}" '
                         f'height="{level(0) - y:.1f}" fill="{_COLOURS[number]}"/>')
            parts.append(_TEXT.format(x + width * 0.45, y - 4, "middle", 'font-size="9"',
                                      f"{values[place]:,.3g}" if values[place] < 100
                                      else f"{values[place]:,.0f}"))
    return parts
