# SPDX-License-Identifier: Apache-2.0
"""Sync between two devices of this machine, in the scenarios' circles and clusters."""

import os
import pathlib
import statistics
import subprocess
import sys
import time

from .suite import ROOT, table

os.environ.update(VALET_TEST_COMMAND=os.path.join(ROOT, ".build/release/valet"),
                  VALET_TEST_AGENT=os.path.join(ROOT, ".build/release/ValetTestAgent"))
sys.path.insert(0, os.path.join(ROOT, "Tests/IntegrationTests/scenarios"))

from circles import Device, join  # noqa: E402
from clusters import Cluster  # noqa: E402
from support import COMMAND, World  # noqa: E402


def measure(count):
    with World() as world:
        store = pathlib.Path(world.folder, "store")
        folder = _circle(world, "folder", ("--folder", str(store)), count)
        bytes_in_store = sum(path.stat().st_size for path in store.rglob("*") if path.is_file())
        place = ("--etcd", Cluster(world, 1).endpoints, "--plain-http")
        etcd = _circle(world, "etcd", place, count)
    names = ("founding, s", "joining and reading, s", "set here to get there, s", "longest, s")
    print(table([["measure", "folder", "etcd"], *zip(names, folder, etcd),
                 ["bytes in the store per item", bytes_in_store / count, ""]]))


def _circle(world, name, place, count):
    """Seconds of two devices, of which the first has `count` items: founding, joining, and from
    the end of `set` here to the value there, with agents on both sides."""
    first, second = (Device(world, f"{name}-{number}", place) for number in (1, 2))
    agent = world.agent(env={"VALET_HOME": first.home})
    agent.do(f"fill {count} cloud", 600)
    agent.end()
    times = [time.monotonic()]
    first.found()
    times.append(time.monotonic())
    join(world, first, second)
    times.append(time.monotonic())
    agents = [world.start((COMMAND, "sync", "run"), {"VALET_HOME": device.home},
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) for device in (first, second)]
    time.sleep(3)
    arrivals = []
    for number in range(15):
        first.set("watched", str(number))
        begin = time.monotonic()
        while second.run("get", "watched", "--cloud").out.decode() != str(number):
            time.sleep(0.01)
        arrivals.append(time.monotonic() - begin)
        time.sleep(0.5)
    for agent in agents:
        agent.terminate()
        agent.wait(60)
    return times[1] - times[0], times[2] - times[1], statistics.median(arrivals), max(arrivals)
