# SPDX-License-Identifier: Apache-2.0
"""Sync between two devices of this machine, in the scenarios' circles and clusters."""

import os
import pathlib
import statistics
import subprocess
import sys
import threading
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
    names = ("founding, s", "joining and reading, s", "set here to get there, s", "longest, s",
             "local set without sync, ms", "slowest hundredth, ms",
             "local set beside sync, ms", "slowest hundredth, ms",
             "memory of the sender, MiB", "memory of the receiver, MiB")
    print(table([["measure", "folder", "etcd"], *zip(names, folder, etcd),
                 ["bytes in the store per item", bytes_in_store / count, ""]]))


def _circle(world, name, place, count):
    """Two devices, of which the first has `count` items. Seconds of founding, joining, and from the
    end of `set` here to the value there, with agents on both sides; milliseconds of local writes,
    also while the other device's writes arrive; the largest memory of both agents."""
    first, second = (Device(world, f"{name}-{number}", place) for number in (1, 2))
    agent = world.agent(env={"VALET_HOME": first.home})
    agent.do(f"fill {count} cloud", 600)
    agent.end()
    times = [time.monotonic()]
    first.found()
    times.append(time.monotonic())
    join(world, first, second)
    times.append(time.monotonic())
    alone = _local(world, second)
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
    ended = threading.Event()
    writer = threading.Thread(target=_write, args=(world, first, ended))
    writer.start()
    beside = _local(world, second)
    ended.set()
    writer.join()
    memory = []
    for agent in agents:
        agent.terminate()
        memory.append(os.wait4(agent.pid, 0)[2].ru_maxrss / 1024)
    return (times[1] - times[0], times[2] - times[1], statistics.median(arrivals), max(arrivals),
            *alone, *beside, *memory)


def _local(world, device):
    """The median and the slowest hundredth of 2,000 writes of one process, in milliseconds."""
    agent = world.agent(env={"VALET_HOME": device.home})
    times = []
    for number in range(2000):
        begin = time.monotonic()
        agent.do(f"set local {number}")
        times.append((time.monotonic() - begin) * 1000)
    agent.end()
    return statistics.median(times), sorted(times)[-20]


def _write(world, device, ended):
    """Stores a shared item, up to 100 times in a second, which sync sends on."""
    agent = world.agent(env={"VALET_HOME": device.home})
    while not ended.wait(0.01):
        agent.do("fill 1 cloud")
    agent.end()
