# SPDX-License-Identifier: Apache-2.0
"""Circles whose store misbehaves: etcd servers that are killed, stopped, compacted and set back, and
folders that are copied as a tool copies them."""

import os
import random
import signal
import subprocess
import threading
import time

from circles import Device, expect_end, join
from clusters import Cluster
from support import COMMAND, expect, scenario

# How long local calls may take, whatever the store does: they never wait for it.
LONGEST_CALL = 20


class Writer:
    """What the devices wrote: each writes keys of its own, and one that all share."""

    def __init__(self, devices, numbers):
        self.devices, self.numbers = devices, numbers
        self.own = {device.name: {} for device in devices}
        self.shared = set()
        self.count = 0

    def write(self):
        device = self.numbers.choice(self.devices)
        self.count += 1
        value = f"{device.name} {self.count}"
        if self.numbers.random() < 0.2:
            device.set("shared", value)
            self.shared.add(value)
            return
        key = f"{device.name}-{self.numbers.randrange(12)}"
        known = self.own[device.name]
        if known.get(key) and self.numbers.random() < 0.15:
            outcome = device.run("remove", key, "--cloud", "--yes", timeout=LONGEST_CALL)
            expect(outcome.code == 0, outcome)
            known[key] = None
            return
        outcome = device.run("set", key, "--cloud", input=value.encode(), timeout=LONGEST_CALL)
        expect(outcome.code == 0, outcome)
        known[key] = value

    def missing(self, device):
        """What a device does not show as it was written last; empty once it has everything."""
        wrong = []
        for known in self.own.values():
            for key, value in known.items():
                outcome = device.run("get", key, "--cloud", timeout=LONGEST_CALL)
                found = outcome.out.decode() if outcome.code == 0 else None
                if found != value:
                    wrong.append((key, value, found))
        return wrong

    def shown(self, device):
        outcome = device.run("get", "shared", "--cloud", timeout=LONGEST_CALL)
        return outcome.out.decode() if outcome.code == 0 else None

    def check(self, seconds):
        """Waits until all devices show what was written."""
        end = time.monotonic() + seconds
        while True:
            wrong = {device.name: self.missing(device) for device in self.devices}
            shown = {self.shown(device) for device in self.devices}
            if not any(wrong.values()) and len(shown) == 1:
                break
            expect(time.monotonic() < end, "not everything arrived:", wrong, shown,
                   [device.status()["state"] for device in self.devices])
            time.sleep(0.5)
        value = shown.pop()
        expect(value in self.shared or not self.shared, "a value that nobody wrote:", value)


def start_agents(world, devices):
    log = open(os.path.join(world.folder, "agents.log"), "ab")
    return [world.start((COMMAND, "sync", "run"), {"VALET_HOME": device.home},
                        stdin=subprocess.DEVNULL, stdout=log, stderr=log) for device in devices]


def end_agents(world, agents):
    for agent in agents:
        agent.send_signal(signal.SIGTERM)
    for agent in agents:
        expect(agent.wait(60) == 0, "an agent ended with", agent.returncode)
        world.started.remove(agent)


def circle(world, place, count):
    devices = [Device(world, f"device{number}", place) for number in range(count)]
    devices[0].found()
    for device in devices[1:]:
        join(world, devices[0], device)
    return devices


@scenario(seconds=900)
def over_etcd(world):
    """Devices over three etcd servers lose nothing while servers are killed, stopped, compacted and
    set back."""
    numbers = random.Random(int(os.environ.get("VALET_CHAOS_SEED", "1")))
    cluster = Cluster(world, 3)
    count = 5 if world.is_thorough else 3
    devices = circle(world, ("--etcd", cluster.endpoints, "--plain-http"), count)
    writer = Writer(devices, numbers)
    agents = start_agents(world, devices)
    end = time.monotonic() + (1800 if world.is_thorough else 0)
    disturbances = [lose_leader, lose_two, stop_one, compact, kill_agent, set_back]
    turn = 0
    while time.monotonic() < end or turn < len(disturbances):
        for _ in range(6):
            writer.write()
        disturbances[turn % len(disturbances)](world, cluster, devices, agents, writer)
        turn += 1
    for index in range(3):
        if not cluster.is_running(index):
            cluster.start(index)
    cluster.await_leader()
    writer.check(240)
    end_agents(world, agents)


@scenario(seconds=120)
def silent_store(world):
    """An agent whose store accepts calls and does not answer ends at a signal."""
    cluster = Cluster(world, 1)
    device = Device(world, "one", ("--etcd", cluster.endpoints))
    device.found()
    process = world.start((COMMAND, "sync", "run"), {"VALET_HOME": device.home},
                          stderr=subprocess.DEVNULL)
    time.sleep(1)
    cluster.stop(0)
    device.set("a", "1")
    # By now the agent has begun to send it.
    time.sleep(3)
    expect_end(world, process)
    cluster.go_on(0)
    device.sync("once")
    expect(device.status()["pending"] == 0, device.status())


def lose_leader(_world, cluster, _devices, _agents, writer):
    index = cluster.leader()
    cluster.kill(index)
    writer.write()
    cluster.start(index)


def lose_two(_world, cluster, _devices, _agents, writer):
    """No quorum: no call of the keychain waits for it."""
    for index in (0, 1):
        cluster.kill(index)
    for _ in range(6):
        writer.write()
    for index in (0, 1):
        cluster.start(index)
    cluster.await_leader()


def stop_one(_world, cluster, _devices, _agents, writer):
    index = writer.numbers.randrange(3)
    cluster.stop(index)
    for _ in range(3):
        writer.write()
    cluster.go_on(index)


def compact(_world, cluster, _devices, _agents, _writer):
    cluster.compact()


def kill_agent(world, _cluster, devices, agents, writer):
    """An agent dies at any moment, and another one goes on."""
    index = writer.numbers.randrange(len(agents))
    agents[index].kill()
    agents[index].wait()
    world.started.remove(agents[index])
    writer.write()
    agents[index] = start_agents(world, devices[index:index + 1])[0]


def set_back(_world, cluster, _devices, _agents, writer):
    """The data goes back to an older copy, as after the loss of a disk."""
    cluster.copy_of_data()
    for _ in range(6):
        writer.write()
    time.sleep(2)
    cluster.set_back()


@scenario(seconds=300)
def copied_folder(world):
    """A folder that a tool copies between machines in any order, with half files, conflict copies and
    deletions that come back, brings every item over."""
    numbers = random.Random(2)
    here, there = (os.path.join(world.folder, name) for name in ("here", "there"))
    os.mkdir(here)
    os.mkdir(there)
    first = Device(world, "first", ("--folder", here))
    second = Device(world, "second", ("--folder", there))
    first.found()
    is_joining = threading.Event()
    copier = threading.Thread(target=copy_while, args=(is_joining, here, there))
    is_joining.set()
    copier.start()
    try:
        join(world, first, second)
    finally:
        is_joining.clear()
        copier.join()
    writer = Writer([first, second], numbers)
    for _ in range(6):
        for _ in range(4):
            writer.write()
        for device, source, target in ((first, here, there), (second, there, here)):
            # A log with half a file waits for the rest of it.
            device.run("sync", "once")
            copy_badly(source, target, numbers)
    for _ in range(3):
        for device, source, target in ((first, here, there), (second, there, here)):
            copy_all(source, target)
            device.run("sync", "once")
            copy_all(source, target)
    writer.check(30)


def copy_while(event, here, there):
    while event.is_set():
        copy_all(here, there)
        copy_all(there, here)
        time.sleep(0.05)


def files(folder):
    return sorted(
        os.path.relpath(os.path.join(parent, name), folder)
        for parent, _, names in os.walk(folder) for name in names)


def copy_badly(source, target, numbers):
    """Copies some files, in any order: some half, some twice under a conflict name, some under a
    temporary name."""
    names = files(source)
    numbers.shuffle(names)
    for name in names:
        path = os.path.join(target, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        data = open(os.path.join(source, name), "rb").read()
        chance = numbers.random()
        is_whole = os.path.exists(path) and os.path.getsize(path) >= len(data)
        if chance < 0.3 or is_whole:
            continue
        if chance < 0.4 and not os.path.exists(path):
            open(path, "wb").write(data[:len(data) // 2])
        elif chance < 0.5:
            open(f"{path}.sync-conflict-20260101-000000-ABCDEFG", "wb").write(data)
        elif chance < 0.6:
            folder, base = os.path.split(path)
            open(os.path.join(folder, f".syncthing.{base}.tmp"), "wb").write(data)
        else:
            open(path, "wb").write(data)


def copy_all(source, target):
    for name in files(source):
        path = os.path.join(target, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        try:
            data = open(os.path.join(source, name), "rb").read()
        except FileNotFoundError:
            continue
        # A half file never goes over a whole one.
        if not os.path.exists(path) or os.path.getsize(path) < len(data):
            open(path, "wb").write(data)
