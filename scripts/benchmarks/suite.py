# SPDX-License-Identifier: Apache-2.0
"""What `scripts/benchmark` measures of each size beside plain SQLite and other stores, and of two
commits beside each other. A figure has a `measure`, `items`, `unit`, `values` by store and
`ratios`: what another store takes divided by what Valet takes."""

import contextlib
import itertools
import json
import os
import pathlib
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PAGE = pathlib.Path(ROOT, "docs/PERFORMANCE.md")
# A comment that lists measures, and the table that follows it.
_TABLE = re.compile(r"(<!-- figures: (.*?) -->\n)(?:\|[^\n]*\n)*", re.DOTALL)
_STORES = {"random": "SQLite", "ordered": "SQLite, ordered", "lmdb": "LMDB",
           "true": "`/bin/true`", "secret-tool": "secret-tool", "valet": "Valet"}
_RATIOS = {"random": "ratio", "ordered": "ratio, ordered", "secret-tool": "ratio, secret-tool"}
# The name of the first item: see Names.random in Benchmarks/Sources/Benchmarks/Names.swift.
_GET = ("get", "0" * 16, "--app", "Benchmarks", "--id", "benchmark",
        "--accessibility", "after-first-unlock")
# In this order: the settings are for the last one.
_VERBS = {"valet generate over a secret": ("generate", "benchmark", "--force"),
          "valet run /bin/true": ("run", "--env", "TOKEN=benchmark", "/bin/true"),
          "valet settings": ("settings", "history", "0"),
          "the same without former values": ("generate", "benchmark", "--force")}
# A secret in a new keyring on a bus of its own, and the times of 100 lookups: $0 is the launcher.
_SECRET_TOOL = """
printf benchmark | gnome-keyring-daemon --unlock --components=secrets >/dev/null
printf 'a secret of some 30 characters' | secret-tool store --label=benchmark account name
"$0" "$(command -v secret-tool)" lookup account name
"""


def figure(measure, items, unit, values):
    ratios = {name: value / values["valet"] for name, value in values.items()
              if name in _RATIOS and values["valet"]}
    return {"measure": measure, "items": items, "unit": unit, "values": values, "ratios": ratios}


def medians(by_name):
    return {name: statistics.median(values) for name, values in by_name.items()}


def medians_of_runs(runs):
    """One figure for those of each measure, which all runs have in the same order."""
    def middle(field, found):
        return medians({name: [each[field][name] for each in found] for name in found[0][field]})

    return [dict(found[0], values=middle("values", found), ratios=middle("ratios", found))
            for found in zip(*runs)]


def rows(found):
    """A row for each figure; columns for the stores that have any of them."""
    stores = [name for name in _STORES if any(name in each["values"] for each in found)]
    ratios = [name for name in _RATIOS if any(name in each["ratios"] for each in found)]
    titles = [_STORES[name] for name in stores] + [_RATIOS[name] for name in ratios]
    return [["measure", "items", *titles]] + [
        [f"{each['measure']}, {each['unit'].replace('us', 'µs')}", f"{each['items']:,}",
         *(each["values"].get(name, "") for name in stores),
         *(each["ratios"].get(name, "") for name in ratios)] for each in found]


def table(lines, is_padded=True):
    """A table of Markdown: a row of titles, and rows of words and numbers."""
    cells = [[cell if isinstance(cell, str) else f"{cell:,.{(cell < 100) + (cell < 10)}f}"
              for cell in line] for line in lines]
    cells.insert(1, ["---"] + ["--:"] * (len(lines[0]) - 1))
    first, *others = [max(map(len, column)) * is_padded for column in zip(*cells)]
    return "".join(f"| {' | '.join([name.ljust(first), *map(str.rjust, rest, others)])} |\n"
                   for name, *rest in cells)


def refresh_page(figures):
    """Replaces the tables of docs/PERFORMANCE.md."""
    def refreshed(match):
        names = [" ".join(name.split()) for name in match[2].split(";")]
        found = [each for name in names for each in figures if each["measure"] == name]
        return match[1] + table(rows(found), is_padded=False)

    _PAGE.write_text(_TABLE.sub(refreshed, _PAGE.read_text("utf-8")), "utf-8")


class Suite:
    """The programs of the tree at `root`; they keep timed stores in `folder`."""

    def __init__(self, folder, is_quick=False, root=ROOT):
        self.folder, self.is_quick, self.root = folder, is_quick, root
        self.program = os.path.join(root, "Benchmarks/.build/release/Benchmarks")
        self.launcher = os.path.join(root, "Benchmarks/.build/release/Launcher")
        self.command = os.path.join(root, ".build-static/release/valet")
        self.agent = os.path.join(root, ".build/release/ValetTestAgent")

    def build(self, *arguments):
        subprocess.run(["scripts/build", "-c", "release", *arguments], cwd=self.root, check=True,
                       stdout=sys.stderr)

    def run(self, task, count, folder, *options):
        """The lines that the program prints for a task."""
        command = [self.program, task, str(count), folder, *options]
        return subprocess.check_output(command, text=True).splitlines()

    def figures(self, task, size, folder):
        """What the threads of one process take."""
        options = ["--json"] + ["--quick"] * self.is_quick
        return [json.loads(line) for line in self.run(task, size, folder, *options)]

    @contextlib.contextmanager
    def stores(self, size):
        """Fills stores in memory, where a commit costs nothing. Yields a function that returns a
        copy of them on the disk, which replaces the last one."""
        with (tempfile.TemporaryDirectory(prefix="valet-benchmark.", dir="/dev/shm") as memory,
              tempfile.TemporaryDirectory(prefix="run.", dir=self.folder) as disk):
            self.run("populate", size, memory)
            copy = os.path.join(disk, "stores")

            def fresh():
                shutil.rmtree(copy, ignore_errors=True)
                # `cp` keeps the holes of files, which `shutil` would fill.
                subprocess.run(["cp", "-r", memory, copy], check=True)
                # Else the disk writes the copy while the stores are timed.
                os.sync()
                # Some machines drop the page cache at once: no read of the disk may be timed.
                subprocess.run(["find", copy, "-type", "f", "-exec", "cat", "{}", "+"], check=True,
                               stdout=subprocess.DEVNULL)
                return copy

            yield fresh

    def measure(self, sizes, runs):
        everything = []
        for size in sizes:
            with self.stores(size) as fresh:
                found = medians_of_runs([self.figures("measure", size, fresh())
                                         for _ in range(runs)])
                # These take the medians of turns themselves.
                folder = fresh()
                found += self.figures("threads", size, folder) + self._processes(size, folder)
                folder = fresh()
                found += self._space(size, folder) + self._start(size, folder)
            print(table(rows(found)), flush=True)
            everything += found
        return everything

    def _processes(self, size, folder):
        """For 1, 4 and 16 processes, microseconds until one more write is on disk, and the slowest
        hundredth of what a write waits in the process where that is largest."""
        found = []
        kinds = ("set existing", ()), ("set new", ("--new",))
        for (name, option), count in itertools.product(kinds, (1, 4, 16)):
            times, waits = ({store: [] for store in _names(folder)} for _ in range(2))
            with contextlib.ExitStack() as ends:
                # Leaving a process closes its input, which ends it.
                crowds = {store: [ends.enter_context(subprocess.Popen(
                    [self.program, "serve", str(size), folder, "--store", store, *option],
                    text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
                    for _ in range(count)] for store in times}
                for process in itertools.chain(*crowds.values()):
                    if process.stdout.readline() != "ready\n":
                        raise SystemExit("benchmark: error: a process cannot write")
                for _ in range(3 if self.is_quick else 7):
                    for store, crowd in crowds.items():
                        per_write, wait = _turn(crowd, 0.2 if self.is_quick else 0.5)
                        times[store].append(per_write)
                        waits[store].append(wait)
            title = f"{name}, {count} process{'es' if count > 1 else ''}"
            found += [figure(title, size, "us", medians(times)),
                      figure(title + " p99", size, "us", medians(waits))]
        return found

    def _space(self, size, folder):
        """Pages of the databases, by items, and the largest resident memory of a process that
        reads. The log comes on top: 4 MB at most, whatever the size."""
        if size <= 1000:
            return []
        counts = {}
        for name, path in (("valet", "keychain/keychain.db"), ("random", "random.db"),
                           ("ordered", "ordered.db")):
            with contextlib.closing(sqlite3.connect(os.path.join(folder, path))) as database:
                counts[name], = database.execute("SELECT page_count * page_size FROM"
                                                 " pragma_page_count, pragma_page_size").fetchone()
        if "lmdb" in _names(folder):
            counts["lmdb"] = os.path.getsize(os.path.join(folder, "lmdb.db"))
        per_item = {name: count / size for name, count in counts.items()}
        memory = {name: int(self.run("memory", size, folder, "--store", name)[0]) / 1024
                  for name in _names(folder)}
        return [figure("bytes on disk per item", size, "B", per_item),
                figure("memory of reads", size, "MiB", memory)]

    def _start(self, size, folder):
        """100 times a whole `valet get`, a program that does nothing, and a lookup of
        gnome-keyring's secret-tool, if that is installed."""
        environment = dict(os.environ, VALET_HOME=os.path.join(folder, "keychain"))
        commands = {"valet": (self.launcher, self.command, *_GET),
                    "true": (self.launcher, "/bin/true")}
        others = {name: (self.launcher, self.command, *words) for name, words in _VERBS.items()}
        with tempfile.TemporaryDirectory(dir=self.folder) as home:
            environment.update(HOME=home, XDG_DATA_HOME=home, XDG_RUNTIME_DIR=home)
            if all(map(shutil.which, ("dbus-run-session", "gnome-keyring-daemon", "secret-tool"))):
                commands["secret-tool"] = (
                    "dbus-run-session", "--", "sh", "-c", _SECRET_TOOL, self.launcher)
            results = {name: subprocess.check_output(command, env=environment).split()
                       for name, command in (commands | others).items()}
        numbers = zip(*(map(float, results[name]) for name in commands))
        units = {"median": "ms", "p95": "ms", "memory": "KiB", "minor page faults": "faults"}
        return [figure(f"valet get, {name}", size, unit, dict(zip(commands, found)))
                for (name, unit), found in zip(units.items(), numbers)] + [
            figure(f"{name}, median", size, "ms", {"valet": float(results[name][0])})
            for name in others]


def _names(folder):
    """The stores in `folder` that several processes can use: LMDB may not be installed."""
    return ["valet", "random"] + ["lmdb"] * os.path.exists(os.path.join(folder, "lmdb.db"))


def _turn(crowd, seconds):
    """Lets all processes write for a while, while those of other stores wait."""
    for process in crowd:
        process.stdin.write(f"{seconds}\n")
        process.stdin.flush()
    answers = [map(float, process.stdout.readline().split()) for process in crowd]
    writes, times, waits = zip(*answers)
    return max(times) / sum(writes), max(waits)


def tree_of(commit):
    """The files of a commit with this tree's Benchmarks, in a folder that is kept: another
    comparison with this commit builds nothing."""
    name = subprocess.check_output(["git", "rev-parse", "--short", commit + "^{commit}"], cwd=ROOT,
                                   text=True).strip()
    tree = os.path.join(ROOT, ".build-against", name)
    if not os.path.exists(tree):
        subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
        subprocess.run(["git", "worktree", "add", "--detach", tree, name], cwd=ROOT, check=True)
    shutil.rmtree(os.path.join(tree, "Benchmarks/Sources"), ignore_errors=True)
    shutil.copytree(os.path.join(ROOT, "Benchmarks"), os.path.join(tree, "Benchmarks"),
                    ignore=shutil.ignore_patterns(".build"), dirs_exist_ok=True)
    return tree


def compare(suites, sizes, runs):
    """Prints what both take, and how much faster the second one is. Both are divided by plain
    SQLite's time in the same run, because a disk's speed changes from run to run."""
    for size in sizes:
        results = ([], [])
        with contextlib.ExitStack() as ends:
            sides = [(suite, ends.enter_context(suite.stores(size)), result)
                     for suite, result in zip(suites, results)]
            for run in range(runs):
                for suite, fresh, result in sides if run % 2 else reversed(sides):
                    result.append([each for task in ("measure", "threads")
                                   for each in suite.figures(task, size, fresh())])
        lines = [["measure", "items", "before", "now", "ratio before", "ratio now", "faster"]]
        for place, pair in enumerate(zip(*map(medians_of_runs, results))):
            gains = [now[place]["ratios"]["random"] / before[place]["ratios"]["random"]
                     for before, now in zip(*results)]
            lines.append([f"{pair[0]['measure']}, µs", f"{size:,}",
                          *(each["values"]["valet"] for each in pair),
                          *(each["ratios"]["random"] for each in pair), statistics.median(gains)])
        print(table(lines), flush=True)
