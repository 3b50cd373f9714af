# SPDX-License-Identifier: Apache-2.0
"""The programs that measure, and the folders with filled stores."""

import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Programs:
    """What is built of the tree at `root`."""

    def __init__(self, root=ROOT):
        self.root = root
        self.measure = os.path.join(root, "Benchmarks/.build/release/Benchmarks")
        self.launcher = os.path.join(root, "Benchmarks/.build/release/Launcher")
        self.command = os.path.join(root, ".build-static/release/valet")
        self.agent = os.path.join(root, ".build/release/ValetTestAgent")

    def build(self):
        self._swift("--package-path", "Benchmarks")

    def build_command(self):
        self._swift("--enable-all-traits", "--static-swift-stdlib", "--product", "valet",
                    "--scratch-path", ".build-static")

    def build_agent(self):
        self._swift("--enable-all-traits", "--product", "ValetTestAgent")

    def _swift(self, *arguments):
        subprocess.run(["scripts/build", "-c", "release", *arguments], cwd=self.root, check=True,
                       stdout=sys.stderr)

    def run(self, task, count, folder, *options):
        """The lines that the program prints for a task."""
        done = subprocess.run([self.measure, task, str(count), folder, *options], check=True,
                              stdout=subprocess.PIPE, text=True)
        return done.stdout.splitlines()


def go_first():
    """Lets what is measured run before other programs. Otherwise most syncs on a busy machine end
    with a wait of up to 4 ms, one tick of the kernel."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))
    except PermissionError:
        print("(no real-time priority: other programs disturb the figures)", file=sys.stderr)


class Stage:
    """Stores are filled in memory, where a commit costs nothing, and timed on a disk."""

    def __init__(self, programs, folder):
        self.programs = programs
        self._memory = tempfile.mkdtemp(prefix="valet-benchmark.", dir="/dev/shm")
        os.makedirs(folder, exist_ok=True)
        self._disk = tempfile.mkdtemp(prefix="run.", dir=folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for folder in (self._memory, self._disk):
            shutil.rmtree(folder, ignore_errors=True)

    def fill(self, size):
        """Fills the stores with `size` items, unless they are."""
        folder = self._filled(size)
        if not os.path.exists(folder):
            os.mkdir(folder)
            self.programs.run("populate", size, folder)
        return folder

    def drop(self, size):
        shutil.rmtree(self._filled(size), ignore_errors=True)

    def fresh(self, size):
        """A copy of the filled stores on the disk, which replaces the last one."""
        copy = os.path.join(self._disk, "stores")
        shutil.rmtree(copy, ignore_errors=True)
        # `cp` keeps the holes of files, which `shutil` would fill.
        subprocess.run(["cp", "-r", self.fill(size), copy], check=True)
        # Else the disk writes the copy while the stores are timed.
        os.sync()
        _load(copy)
        return copy

    def empty(self, name):
        """A new folder on the disk."""
        folder = os.path.join(self._disk, name)
        os.mkdir(folder)
        return folder

    def _filled(self, size):
        return os.path.join(self._memory, str(size))


def _load(folder):
    """Some machines drop the page cache at once: reads the files, so that no read of them from
    the disk is timed."""
    for where, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(where, name), "rb") as file:
                while file.read(1 << 20):
                    pass
