# SPDX-License-Identifier: Apache-2.0
"""Two commits beside each other: both run this tree's benchmark, in turns."""

import os
import shutil
import statistics
import subprocess

from . import figures
from .stage import ROOT, Programs, Stage, go_first


def programs_of(commit):
    """Builds the library of a commit with this tree's Benchmarks, in a folder that is kept: another
    comparison with this commit builds nothing."""
    name = subprocess.run(["git", "rev-parse", "--short", commit + "^{commit}"], cwd=ROOT,
                          check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    tree = os.path.join(ROOT, ".build-against", name)
    if not os.path.exists(tree):
        subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
        subprocess.run(["git", "worktree", "add", "--detach", tree, name], cwd=ROOT, check=True)
    own = os.path.join(tree, "Benchmarks")
    for part in ("Package.swift", "Sources"):
        path = os.path.join(own, part)
        if os.path.isdir(path):
            shutil.rmtree(path)
        source = os.path.join(ROOT, "Benchmarks", part)
        shutil.copytree(source, path) if os.path.isdir(source) else shutil.copy(source, path)
    programs = Programs(tree)
    programs.build()
    return programs


def compare(commit, sizes, runs, folder, tasks):
    """Prints what both take, and how this tree compares: above 1 it is faster. Both are divided by
    plain SQLite's time in the same run, because a disk's speed changes from run to run."""
    sides = [programs_of(commit), Programs()]
    go_first()
    columns = ("items", "before", "now", "ratio before", "ratio now", "faster")
    print(f"{'measure':34}" + "".join(f"{column:>13}" for column in columns))
    for size in sizes:
        with Stage(sides[0], folder) as before, Stage(sides[1], folder) as now:
            results = ([], [])
            for run in range(runs):
                turns = list(zip((before, now), results))
                for stage, result in turns if run % 2 else reversed(turns):
                    result.append(_measure(stage, size, tasks))
        for key in results[1][0]:
            _show(key, *([run[key] for run in result] for result in results))


def _measure(stage, size, tasks):
    found = {}
    for task in tasks:
        lines = stage.programs.run(task, size, stage.fresh(size), "--quick", "--json")
        found.update({(each["measure"], each["items"]): each for each in figures.parsed(lines)})
    return found


def _show(key, before, now):
    def median(found, field, store):
        return statistics.median(each[field][store] for each in found)

    gains = [b["ratios"]["random"] / a["ratios"]["random"] for a, b in zip(before, now)]
    print(f"{key[0] + ', us':34}{key[1]:>13}{median(before, 'values', 'valet'):13.2f}"
          f"{median(now, 'values', 'valet'):13.2f}{median(before, 'ratios', 'random'):13.2f}"
          f"{median(now, 'ratios', 'random'):13.2f}{statistics.median(gains):13.2f}", flush=True)
