# SPDX-License-Identifier: Apache-2.0
"""Puts the figures that `--json` has written into docs/PERFORMANCE.md: tables and two charts."""

import json
import os
import re

from . import chart
from .stage import ROOT

_PAGE = os.path.join(ROOT, "docs/PERFORMANCE.md")
_CHARTS = os.path.join(ROOT, "docs/performance")
# A comment that lists measures, and the table that follows it.
_TABLE = re.compile(r"(<!-- figures: (.*?) -->\n)(?:\|[^\n]*\n)*", re.DOTALL)
_COLUMNS = {"random": "SQLite", "ordered": "SQLite, ordered", "lmdb": "LMDB",
            "true": "`/bin/true`", "secret-tool": "secret-tool", "valet": "Valet"}
_RATIOS = {"random": "ratio", "ordered": "ratio, ordered", "secret-tool": "ratio"}


def refresh(path):
    """Draws the charts and replaces the tables of the page."""
    with open(path, encoding="utf-8") as file:
        figures = json.load(file)["figures"]
    with open(_PAGE, encoding="utf-8") as file:
        text = file.read()

    def table(match):
        names = [" ".join(name.split()) for name in match[2].split(";")]
        return match[1] + _table([each for name in names for each in figures
                                  if each["measure"] == name])

    with open(_PAGE, "w", encoding="utf-8") as file:
        file.write(_TABLE.sub(table, text))
    os.makedirs(_CHARTS, exist_ok=True)
    for name, drawing in (("ratios", _ratios(figures)), ("writers", _writers(figures))):
        with open(os.path.join(_CHARTS, name + ".svg"), "w", encoding="utf-8") as file:
            file.write(drawing)
    return 0


def _table(figures):
    """A row for each figure; columns for the stores that have any of them."""
    stores = [name for name in _COLUMNS if any(name in each["values"] for each in figures)]
    ratios = [name for name in _RATIOS if any(name in each["ratios"] for each in figures)]
    titles = ["measure", "items", *(_COLUMNS[name] for name in stores),
              *(_RATIOS[name] for name in ratios)]
    rows = [titles, ["---", *["--:"] * (len(titles) - 1)]]
    for each in figures:
        rows.append([f"{each['measure']}, {each['unit'].replace('us', 'µs')}",
                     f"{each['items']:,}",
                     *(_number(each["values"].get(name)) for name in stores),
                     *(_number(each["ratios"].get(name)) for name in ratios)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _number(value):
    if value is None:
        return ""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"


def _found(figures, measure, items, field, store):
    return next((each[field].get(store) for each in figures
                 if (each["measure"], each["items"]) == (measure, items)), None)


def _ratios(figures):
    """How fast this package is beside plain SQLite, by the number of items."""
    sizes = sorted({each["items"] for each in figures if each["measure"] == "get uniform"})
    groups = ["get uniform", "get zipf", "contains", "set existing", "set new"]
    series = {f"{size:,} items": [_found(figures, group, size, "ratios", "random")
                                  for group in groups] for size in sizes}
    return chart.bars("Calls beside plain SQLite with random names: above 1 is faster", groups,
                      series, mark=1)


def _writers(figures):
    """Writes a second of all writers together, at 10,000 items."""
    groups = [f"{count} {name}{ending if count > 1 else ''}"
              for name, ending in (("thread", "s"), ("process", "es")) for count in (1, 4, 16)]
    series = {}
    for store, title in (("random", "SQLite"), ("lmdb", "LMDB"), ("valet", "Valet")):
        times = [_found(figures, f"set new, {group}", 10_000, "values", store)
                 for group in groups]
        series[title] = [time and 1e6 / time for time in times]
    return chart.bars("New items a second of several writers, at 10,000 items", groups, series)
