# SPDX-License-Identifier: Apache-2.0
"""Members of circles in unusual places and at bad moments: machines whose network is cut, commands
that are killed, keychains with a passcode of their own, and mistakes that are taken back."""

import json
import os
import signal
import subprocess
import time

from circles import YES, Device, introduce, join, pair
from kills import calls, chosen, killed
from support import COMMAND, Skip, expect, need, need_root, scenario

SYNC_COMMAND = COMMAND + "-sync"


class Machine:
    """A network namespace, with an address and a cable to the machine before it."""

    def __init__(self, world, number, other=None):
        need("ip")
        self.world = world
        self.name = f"valet-{os.getpid()}-{number}"
        self.address = f"10.77.0.{number}"
        self.port = f"vv{os.getpid() % 100000}-{number}"
        if subprocess.run(["ip", "netns", "add", self.name], check=False).returncode != 0:
            raise Skip("needs network namespaces")
        self.do("link", "set", "lo", "up")
        if other is None:
            return
        self.ip("link", "add", self.port, "netns", self.name, "type", "veth", "peer", "name",
                other.port, "netns", other.name)
        for machine in (self, other):
            machine.do("address", "add", f"{machine.address}/24", "dev", machine.port)
            machine.do("link", "set", machine.port, "up")

    @staticmethod
    def ip(*words):
        subprocess.run(["ip", *words], check=True)

    def do(self, *words):
        self.ip("-n", self.name, *words)

    @property
    def prefix(self):
        return ("ip", "netns", "exec", self.name)

    def cut(self):
        """Nothing arrives any more, and nobody is told."""
        self.do("link", "set", self.port, "down")

    def mend(self):
        self.do("link", "set", self.port, "up")

    def close(self):
        subprocess.run(["ip", "netns", "del", self.name], check=False)


def start_server(world, machine):
    """Starts an etcd that the other machine reaches."""
    need("etcd")
    client, peer = f"http://{machine.address}:2379", f"http://{machine.address}:2380"
    log = open(os.path.join(world.folder, "etcd.log"), "ab")
    world.start(
        [*machine.prefix, "etcd", "--name", "s", "--data-dir", os.path.join(world.folder, "etcd"),
         "--listen-client-urls", client, "--advertise-client-urls", client,
         "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
         "--initial-cluster", f"s={peer}"],
        stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    log.close()
    return client


@scenario(seconds=240)
def two_machines(world):
    """Two machines whose network is cut go on by themselves, and share what was written once it is
    back."""
    need_root()
    machines = [Machine(world, 1)]
    try:
        machines.append(Machine(world, 2, machines[0]))
        place = ("--etcd", start_server(world, machines[0]), "--plain-http")
        here, there = Device(world, "here", place), Device(world, "there", place)
        here.prefix, there.prefix = machines[0].prefix, machines[1].prefix
        end = time.monotonic() + 30
        while here.run("sync", "create", *place, "--name", "here").code != 0:
            expect(time.monotonic() < end, "the server does not start")
            time.sleep(0.2)
        join(world, here, there)
        agents = [world.start((*device.prefix, SYNC_COMMAND, "run"), {"VALET_HOME": device.home},
                              stderr=subprocess.DEVNULL) for device in (here, there)]
        for cut in (machines[1].cut, machines[0].cut):
            cut()
            here.set("here", "while cut")
            there.set("there", "while cut")
            there.expect_value("there", "while cut")
            # The agent has met the cut, and is waiting for its end.
            await_state(there, "unavailable")
            (machines[1] if cut == machines[1].cut else machines[0]).mend()
            await_value(here, "there", "while cut")
            await_value(there, "here", "while cut")
            for device in (here, there):
                device.do("remove", device.name, "--cloud", "--yes")
        for agent in agents:
            agent.send_signal(signal.SIGTERM)
            expect(agent.wait(60) == 0, "an agent ended with", agent.returncode)
            world.started.remove(agent)
    finally:
        for process in list(world.started):
            process.kill()
            process.wait()
        for machine in machines:
            machine.close()


def await_state(device, state, seconds=60):
    end = time.monotonic() + seconds
    while device.status()["state"] != state:
        expect(time.monotonic() < end, device.name, "is not", state, device.status())
        time.sleep(0.2)


def await_value(device, key, value, seconds=90):
    end = time.monotonic() + seconds
    while True:
        outcome = device.run("get", key, "--cloud")
        if outcome.code == 0 and outcome.out.decode() == value:
            return
        expect(time.monotonic() < end, device.name, "did not get", key, outcome, device.status())
        time.sleep(0.2)


@scenario(seconds=300)
def killed_rounds(world):
    """A round that is killed at any system call loses nothing, and the next one goes on."""
    first, second = pair(world)
    first.set("shared", "value 0")
    for device in (first, second):
        device.sync("once")
    env = {"VALET_HOME": second.home}
    first.set("shared", "for the trace")
    second.set("own", "for the trace")
    first.sync("once")
    every = calls(world, "once", input=b"", env=env, command=SYNC_COMMAND)
    for number, call in enumerate(chosen(world, every, 12)):
        first.set("shared", f"first {number}")
        second.set("own", f"second {number}")
        first.sync("once")
        killed(world, call, "once", input=b"", env=env, command=SYNC_COMMAND)
        second.expect_value("own", f"second {number}")
        for device in (second, first):
            device.sync("once")
            device.expect_value("shared", f"first {number}")
            device.expect_value("own", f"second {number}")
            expect(device.status()["conflicts"] == 0, "a conflict after a kill at", call)
    expect(first.do("doctor").code == 0 and second.do("doctor").code == 0, "doctor")


@scenario(seconds=240)
def killed_move(world):
    """A move to a new circle that is killed at any system call leaves the old circle or the new
    one, and all items."""
    first = Device(world, "first")
    first.set("a", "1")
    first.found()
    env = {"VALET_HOME": first.home}
    words = ("move", "--yes")
    every = calls(world, *words, input=b"", env=env, command=SYNC_COMMAND)
    for call in chosen(world, every, 8):
        before = first.status()["circle"]
        killed(world, call, *words, input=b"", env=env, command=SYNC_COMMAND)
        first.expect_value("a", "1")
        circle = first.status()["circle"]
        first.sync("once")
        expect(first.status()["state"] == "current", "killed at", call, first.status())
        first.sync(*words)
        expect(first.status()["circle"] not in (before, circle), "the circle did not change")
    second = Device(world, "second")
    join(world, first, second)
    second.expect_value("a", "1")


@scenario(seconds=240)
def killed_joiner(world):
    """A device whose join is killed after its yes joins again as another device."""
    first, second = Device(world, "first"), Device(world, "second")
    first.set("a", "1")
    first.found()
    for seconds in (0, 0.05, 0.2, 0.5, 1):
        host, guest = introduce(world, first, second)
        host.type(YES)
        guest.type(YES)
        time.sleep(seconds)
        os.killpg(guest.process.pid, signal.SIGKILL)
        guest.process.wait()
        world.started.remove(guest.process)
        os.close(guest.terminal)
        host.process.send_signal(signal.SIGTERM)
        host.finish()
        if second.run("sync", "once").code != 44:
            # It had become a member.
            second.expect_value("a", "1")
            second.sync("leave", "--here", "--yes")
        second.expect_none("b")
    join(world, first, second)
    second.expect_value("a", "1")
    own = {device.status()["device"] for device in (first, second)}
    for device in first.devices():
        if device["id"] not in own:
            first.sync("devices", "remove", device["id"], "--yes")
    first.set("b", "2")
    first.sync("once")
    second.sync("once")
    second.expect_value("b", "2")
    expect(len(first.devices()) == 2, first.devices())


@scenario(seconds=120)
def dropped(world):
    """All conflicts that one device wrote are dropped at once, on all devices."""
    first, second = pair(world)
    for key in ("a", "b"):
        first.set(key, "of first")
        second.set(key, "of second")
    for device in (first, second, first, second):
        device.sync("once")
    shown = {key: first.run("get", key, "--cloud").out for key in ("a", "b")}
    rows = json.loads(first.sync("conflicts", "list", "--json").out)
    expect(len(rows) == 2, rows)
    for name in ("first", "second"):
        first.sync("conflicts", "drop", "--from", name, "--yes")
    first.sync("conflicts", "drop", "--from", "nobody", "--yes", code=44)
    first.sync("once")
    second.sync("once")
    for device in (first, second):
        expect(device.status()["conflicts"] == 0, device.status())
        for key, value in shown.items():
            device.expect_value(key, value.decode())


@scenario(seconds=120)
def recovered_keeping(world):
    """The recovery key removes the devices that are lost, and keeps the ones that are named."""
    first, second = pair(world)
    third, new = Device(world, "third"), Device(world, "new")
    join(world, first, third)
    for device in (first, second, third):
        device.sync("once")
    first.set("a", "1")
    key = first.do("recovery", "create").out
    first.sync("recovery", "add", "--recovery-key-fd", "0", input=key)
    first.sync("once")
    status = {device.name: device.status() for device in (first, second, third)}
    new.sync("recover", "--folder", first.store, "--circle", status["first"]["circle"], "--yes",
             "--keep", f"{status['second']['device']},{status['third']['device'][:12]}",
             "--recovery-key-fd", "0", input=key)
    new.expect_value("a", "1")
    first.sync("once", code=77)
    new.set("b", "2")
    new.sync("once")
    for device in (second, third):
        device.sync("once")
        device.expect_value("b", "2")
    ids = {row["id"] for row in new.devices()}
    expect(status["first"]["device"] not in ids, "a device that was not kept is a member")


@scenario(seconds=120)
def own_state(world):
    """A service whose keys are its own opens its keychain with the passcode that it is given, and
    syncs."""
    first, second = pair(world)
    passcode = b"correct horse\n"
    state = {"VALET_LOCK_STATE": "process"}
    second.do("passcode", "set", "--passcode-fd", "0", input=passcode, env=state)
    first.set("a", "1")
    first.sync("once")
    outcome = second.run("sync", "once", env=state)
    expect(outcome.code == 75, outcome)
    state["VALET_PASSCODE_FD"] = "0"
    outcome = second.run("sync", "once", input=b"wrong\n", env=state)
    expect(outcome.code == 77, outcome)
    second.do("sync", "once", input=passcode, env=state)
    outcome = second.run("get", "a", "--cloud", input=passcode, env=state)
    expect(outcome.code == 0 and outcome.out == b"1", outcome)
