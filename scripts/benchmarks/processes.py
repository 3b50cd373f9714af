# SPDX-License-Identifier: Apache-2.0
"""Several processes that write at the same time."""

import statistics
import subprocess

from .costs import stores
from .figures import figure


def measure(programs, folder, size, is_quick):
    """For 1, 4 and 16 processes, microseconds until one more write is on disk, and the slowest
    hundredth of what a write waits in the process where that is largest."""
    found = []
    for option, name in ((), "set existing"), (("--new",), "set new"):
        for count in (1, 4, 16):
            found += _measure(programs, folder, size, is_quick, count, option, name)
    return found


def _measure(programs, folder, size, is_quick, count, option, name):
    crowds = {store: [_start(programs, folder, size, store, option) for _ in range(count)]
              for store in stores(folder)}
    times, waits = {store: [] for store in crowds}, {store: [] for store in crowds}
    try:
        for _ in range(3 if is_quick else 7):
            for store, crowd in crowds.items():
                per_write, wait = _turn(crowd, 0.2 if is_quick else 0.5)
                times[store].append(per_write)
                waits[store].append(wait)
    finally:
        for crowd in crowds.values():
            for process in crowd:
                process.communicate()
    title = f"{name}, {count} process{'es' if count > 1 else ''}"
    return [figure(title, size, "us", **_medians(times)),
            figure(title + " p99", size, "us", **_medians(waits))]


def _start(programs, folder, size, store, option):
    process = subprocess.Popen(
        [programs.measure, "serve", str(size), folder, "--store", store, *option], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if process.stdout.readline() != "ready\n":
        raise SystemExit(f"benchmark: error: a process that writes to {store} fails")
    return process


def _turn(crowd, seconds):
    """Lets all processes write for a while, while those of other stores wait."""
    for process in crowd:
        process.stdin.write(f"{seconds}\n")
        process.stdin.flush()
    answers = [process.stdout.readline().split() for process in crowd]
    writes = sum(int(count) for count, _, _ in answers)
    longest = max(float(time) for _, time, _ in answers)
    return longest / writes, max(float(wait) for _, _, wait in answers)


def _medians(by_store):
    return {store: statistics.median(values) for store, values in by_store.items()}
