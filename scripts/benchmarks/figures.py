# SPDX-License-Identifier: Apache-2.0
"""Figures: objects with `measure`, `items`, `unit`, `values` by store and `ratios` to Valet."""

import json
import os
import platform
import statistics
import subprocess
import sys

_COLUMNS = ("random", "ordered", "lmdb", "valet")
_RATIOS = ("random", "ordered")


def figure(measure, items, unit, **values):
    """A figure of which each store has one value; the ratio says how much more another takes."""
    ours = values.get("valet")
    ratios = {name: value / ours for name, value in values.items() if name != "valet" and ours}
    return {"measure": measure, "items": items, "unit": unit, "values": values, "ratios": ratios}


def parsed(lines):
    return [json.loads(line) for line in lines]


def medians(runs):
    """The figures of several runs, each as the median of all runs that have it."""
    together = {}
    for run in runs:
        for found in run:
            together.setdefault((found["measure"], found["items"]), []).append(found)
    return [_median(found) for found in together.values()]


def _median(found):
    def middle(field):
        return {name: round(statistics.median(each[field][name] for each in found), 3)
                for name in found[0][field]}

    return dict(found[0], values=middle("values"), ratios=middle("ratios"))


def derived(found):
    """How much longer a call takes with the most items than with the fewest, and how many times
    the writes of one thread 16 threads make."""
    by_name = {(each["measure"], each["items"]): each for each in found}
    sizes = sorted({each["items"] for each in found if each["measure"] == "get uniform"})
    results = []
    for name in ("get uniform", "get zipf", "set existing", "set new"):
        if len(sizes) > 1:
            few, many = by_name[name, sizes[0]]["values"], by_name[name, sizes[-1]]["values"]
            growth = {store: many[store] / few[store] for store in many}
            results.append(figure(f"growth from {sizes[0]} items: {name}", sizes[-1], "times",
                                  **growth))
    for name, size in ((name, size) for name in ("set existing", "set new") for size in sizes
                       if (name + ", 1 thread", size) in by_name):
        one, many = (by_name[f"{name}, {threads}", size]["values"]
                     for threads in ("1 thread", "16 threads"))
        rates = {store: one[store] / many[store] for store in one}
        results.append(dict(figure(f"16 threads by one: {name}", size, "times", **rates),
                            ratios={}))
    return results


def header():
    names = ("raw random", "raw ordered", "lmdb", "valet", "ratio", "ordered")
    return _line("measure", "items", *names)


def line(found):
    """A line of the table; stores without a column follow in brackets."""
    values, ratios = found["values"], found["ratios"]
    columns = [_number(values.get(name)) for name in _COLUMNS]
    columns += [_number(ratios.get(name)) for name in _RATIOS]
    others = [f"{name} {_number(value)}" for name, value in values.items()
              if name not in _COLUMNS]
    rest = f"  ({', '.join(others)})" if others else ""
    return _line(f"{found['measure']}, {found['unit']}", str(found["items"]), *columns) + rest


def show(all_figures):
    for found in all_figures:
        print(line(found), flush=True)


def save(path, all_figures, runs):
    """Writes the figures as JSON, and on what machine they were taken."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE,
                            text=True, check=False).stdout.strip()
    machine = {"processors": os.cpu_count(), "system": platform.freedesktop_os_release()["NAME"],
               "kernel": platform.release().split("-")[0]}
    content = {"commit": commit, "machine": machine, "runs": runs, "figures": all_figures}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.write("\n")


def note(text):
    print(f"({text})", file=sys.stderr, flush=True)


def _number(value):
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 1000 else f"{value:.0f}"


def _line(measure, *columns):
    return f"{measure:34}" + "".join(f"{column:>12}" for column in columns)
