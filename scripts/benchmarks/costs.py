# SPDX-License-Identifier: Apache-2.0
"""What a call costs besides time: system calls, bytes on the disk, memory, a process's start."""

import os
import re
import shutil
import sqlite3
import statistics
import subprocess
import time

from . import figures
from .figures import figure, note

_STORES = ("valet", "random", "lmdb")
# The name of the first item: see Names.random in Benchmarks/Sources/Benchmarks/Names.swift.
NAME = "0" * 16
VALET = ("--app", "Benchmarks", "--id", "benchmark", "--accessibility", "after-first-unlock")


def stores(folder):
    """The stores that are in `folder`: LMDB may not be installed."""
    return [name for name in _STORES
            if name != "lmdb" or os.path.exists(os.path.join(folder, "lmdb.db"))]


def system_calls(programs, folder):
    """System calls of a warm get and of a set: those of many calls, less those of a few."""
    if not shutil.which("strace"):
        note("no strace: system calls are not counted")
        return []
    found = []
    for task, measure in (("read", "get"), ("write", "set existing")):
        values = {}
        for store in stores(folder):
            few, many = (_calls(programs, folder, task, count, store) for count in (100, 2100))
            calls = {name: (many[name] - few.get(name, 0)) / 2000 for name in many}
            values[store] = sum(calls.values())
            named = ", ".join(f"{name} {count:.2f}" for name, count in calls.items()
                              if count >= 0.01)
            note(f"system calls of {measure}, {store}: {named or 'none'}")
        found.append(figure(f"{measure}, system calls", 10, "calls", **values))
    return found


def _calls(programs, folder, task, count, store):
    """The system calls of a whole process, by name."""
    output = os.path.join(folder, "strace")
    command = [programs.measure, task, str(count), folder, "--store", store]
    subprocess.run(["strace", "-f", "-c", "-U", "calls,name", "-o", output, *command], check=True)
    with open(output, encoding="utf-8") as file:
        lines = re.findall(r"^ *(\d+) (\w+)$", file.read(), re.MULTILINE)
    return {name: int(calls) for calls, name in lines if name != "total"}


def bytes_per_item(folder, size):
    """Pages of the database, by items. The log comes on top: 4 MB at most, whatever the size."""
    values = {"valet": _database(os.path.join(folder, "keychain/keychain.db"))}
    for name in ("random", "ordered"):
        values[name] = _database(os.path.join(folder, name + ".db"))
    if "lmdb" in stores(folder):
        values["lmdb"] = os.path.getsize(os.path.join(folder, "lmdb.db"))
    per_item = {name: count / size for name, count in values.items()}
    return [figure("bytes on disk per item", size, "B", **per_item)]


def _database(path):
    database = sqlite3.connect(path)
    try:
        pages, = database.execute("PRAGMA page_count").fetchone()
        size, = database.execute("PRAGMA page_size").fetchone()
        return pages * size
    finally:
        database.close()


def memory(programs, folder, size):
    """The largest resident memory of a process that reads many items."""
    values = {store: int(programs.run("memory", size, folder, "--store", store)[0]) / 1024
              for store in stores(folder)}
    return [figure("memory of reads", size, "MiB", **values)]


def start(programs, folder, size):
    """A whole `valet get`, 100 times, beside a program that does nothing."""
    environment = dict(os.environ, VALET_HOME=os.path.join(folder, "keychain"))

    def launch(*command):
        done = subprocess.run([programs.launcher, *command], stdout=subprocess.PIPE, text=True,
                              env=environment, check=True)
        return [float(number) for number in done.stdout.split()]

    ours = launch(programs.command, "get", NAME, *VALET)
    idle = launch("/bin/true")
    names = (("median", "ms"), ("p95", "ms"), ("memory", "KiB"), ("minor page faults", "faults"),
             ("major page faults", "faults"))
    return [dict(figure(f"valet get, {name}", size, unit, valet=a, true=b), ratios={})
            for (name, unit), a, b in zip(names, ours, idle)]


def listing(programs, folder, size):
    """`valet list` of all items, from the start of the process to its end."""
    environment = dict(os.environ, VALET_HOME=os.path.join(folder, "keychain"))
    times = []
    for _ in range(5):
        begun = time.monotonic()
        subprocess.run([programs.command, "list", *VALET], stdout=subprocess.DEVNULL, check=True,
                       env=environment)
        times.append((time.monotonic() - begun) * 1000)
    return [figures.figure("valet list", size, "ms", valet=statistics.median(times))]
