# SPDX-License-Identifier: Apache-2.0
"""Circles of devices whose store is a folder: founding, joining, leaving, removing, conflicts, and
stores that are not there. Each device is a keychain of its own."""

import fcntl
import hashlib
import json
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

from support import COMMAND, Failure, expect, kill_session, scenario

YES, NO = b"y\n", b"n\n"
QUESTION = b"Does the other device show the same four words? [y/N] "


class Person:
    """A command at a terminal of its own, and the person in front of it."""

    def __init__(self, world, device, words):
        self.terminal, theirs = os.openpty()
        self.shown, self.read_count = b"", 0
        self.process = world.start(
            (*device.prefix, COMMAND, "sync", *words), {"VALET_HOME": device.home}, stdin=theirs,
            stdout=theirs, stderr=theirs,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.world = world
        os.close(theirs)

    def look(self, seconds=0.05):
        if not select.select([self.terminal], [], [], seconds)[0]:
            return True
        try:
            read = os.read(self.terminal, 65536)
        except OSError:
            return False
        self.shown += read
        return bool(read)

    def await_text(self, pattern, timeout=20):
        """Waits until the terminal shows something new that matches; returns the match."""
        end = time.monotonic() + timeout
        while True:
            match = re.search(pattern, self.shown[self.read_count:])
            if match:
                self.read_count += match.end()
                return match
            expect(time.monotonic() < end and (self.look() or self.process.poll() is None),
                   f"{pattern!r} was not shown:", self.shown.decode(errors="replace"))

    def type(self, text):
        os.write(self.terminal, text)

    def type_hidden(self, text):
        end = time.monotonic() + 20
        while termios.tcgetattr(self.terminal)[3] & termios.ECHO:
            expect(time.monotonic() < end, "the terminal still echoes")
            time.sleep(0.005)
        self.type(text)

    def finish(self, timeout=30):
        end = time.monotonic() + timeout
        while self.look() and time.monotonic() < end:
            if self.process.poll() is not None and not self.look(0):
                break
        try:
            code = self.process.wait(max(1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            kill_session(self.process)
            raise Failure(f"hung: {self.shown.decode(errors='replace')}") from None
        self.world.started.remove(self.process)
        os.close(self.terminal)
        return code


class Device:
    """A keychain of its own, which is or becomes a member."""

    def __init__(self, world, name, place=None):
        """`place` has the options that choose the store; by default a folder of the world."""
        self.world, self.name = world, name
        self.home = os.path.join(world.folder, name)
        self.store = os.path.join(world.folder, "store")
        self.place = place or ("--folder", self.store)
        # What runs the command, such as a namespace.
        self.prefix = ()

    def run(self, *words, **options):
        env = {"VALET_HOME": self.home} | options.pop("env", {})
        options.setdefault("prefix", self.prefix)
        return self.world.run(*words, env=env, **options)

    def do(self, *words, code=0, **options):
        outcome = self.run(*words, **options)
        expect(outcome.code == code, self.name, *words, outcome, outcome.out.decode())
        return outcome

    def sync(self, *words, **options):
        return self.do("sync", *words, **options)

    def set(self, key, value, *words):
        self.do("set", key, "--cloud", *words, input=value.encode())

    def expect_value(self, key, value, *words):
        outcome = self.run("get", key, "--cloud", *words)
        expect(outcome.code == 0 and outcome.out.decode() == value, self.name, "get", key, outcome)

    def expect_none(self, key, *words):
        outcome = self.run("get", key, "--cloud", *words)
        expect(outcome.code == 44, self.name, "get", key, outcome)

    def found(self):
        os.makedirs(self.store, exist_ok=True)
        self.sync("create", *self.place, "--name", self.name)

    def status(self):
        return json.loads(self.sync("status", "--json").out)

    def devices(self):
        return json.loads(self.sync("devices", "list", "--json").out)


def introduce(world, sponsor, joiner, *options):
    """Starts an invitation on both sides, until both ask whether the words are the same."""
    host = Person(world, sponsor, ("invite",))
    invitation = host.await_text(rb"J1[0-9A-Z]{2}(-[0-9A-Z]{2,4}){8}").group()
    words = ("join", *joiner.place, "--name", joiner.name, *options)
    guest = Person(world, joiner, words)
    guest.await_text(rb"Invitation: ")
    guest.type_hidden(invitation + b"\n")
    shown = [person.await_text(rb"\n    (\w+ \w+ \w+ \w+)\r").group(1) for person in (host, guest)]
    expect(shown[0] == shown[1], "the words differ:", shown)
    for person in (host, guest):
        person.await_text(re.escape(QUESTION))
    return host, guest


def join(world, sponsor, joiner, *options):
    """Lets a device join."""
    host, guest = introduce(world, sponsor, joiner, *options)
    host.type(YES)
    guest.type(YES)
    codes = host.finish(), guest.finish()
    expect(codes == (0, 0), "the device did not join:", codes, host.shown.decode(),
           guest.shown.decode())
    end = time.monotonic() + 30
    # A store may show files later than they were written.
    while joiner.run("sync", "once").code == 75 and time.monotonic() < end:
        time.sleep(0.1)
    joiner.sync("once")


def pair(world):
    first, second = Device(world, "first"), Device(world, "second")
    first.found()
    join(world, first, second)
    return first, second


@scenario(seconds=120)
def two_devices(world):
    """Two devices share what either of them writes, changes and removes."""
    first, second = Device(world, "first"), Device(world, "second")
    first.set("before", "1")
    first.found()
    join(world, first, second)
    second.expect_value("before", "1")
    second.set("mine", "2")
    second.set("before", "3")
    second.sync("once")
    first.sync("once")
    first.expect_value("mine", "2")
    first.expect_value("before", "3")
    first.do("remove", "mine", "--cloud", "--yes")
    first.sync("once")
    second.sync("once")
    second.expect_none("mine")
    expect(first.status()["state"] == second.status()["state"] == "current", first.status())
    names = {device["name"] for device in first.devices()}
    expect(names == {"first", "second"}, names)
    # Items of this device alone do not travel.
    first.do("set", "local", input=b"4")
    first.sync("once")
    second.sync("once")
    outcome = second.run("get", "local")
    expect(outcome.code == 44, outcome)


@scenario(seconds=120)
def answers_no(world):
    """A no on either side of an invitation admits nobody."""
    first, second = Device(world, "first"), Device(world, "second")
    first.found()
    first.set("a", "1")
    host, guest = introduce(world, first, second)
    host.type(NO)
    expect(host.finish() == 77, host.shown)
    guest.type(YES)
    guest.await_text(rb"waiting for the answer")
    guest.process.send_signal(signal.SIGTERM)
    guest.finish()
    host, guest = introduce(world, first, second)
    host.type(YES)
    guest.type(NO)
    expect((host.finish(), guest.finish()) == (77, 77), host.shown, guest.shown)
    expect(len(first.devices()) == 1, first.devices())
    second.sync("once", code=44)
    second.expect_none("a")


@scenario(seconds=60)
def mistyped(world):
    """A mistyped invitation is refused before anything is sent."""
    first, second = Device(world, "first"), Device(world, "second")
    first.found()
    guest = Person(world, second, ("join", "--folder", first.store))
    for _ in range(3):
        guest.await_text(rb"Invitation: ")
        guest.type_hidden(b"J101-2345-6789-ABCD-EFGH-JKMN-PQRS-WBN1-YZ\n")
    expect(guest.finish() == 77, guest.shown)
    expect(not os.path.exists(os.path.join(first.store, "valet-1", "join")), "a mail was posted")


@scenario(seconds=120)
def removed(world):
    """A removed device reads nothing that is written later, and the command lists what it had."""
    first, second = pair(world)
    first.set("shared", "1")
    first.sync("once")
    second.sync("once")
    second.expect_value("shared", "1")
    second.set("last", "words")
    second.sync("once")
    outcome = first.sync("devices", "remove", "second", "--yes")
    for name in ("shared", "last"):
        expect(name in outcome.out.decode(), outcome, outcome.out.decode())
    first.expect_value("last", "words")
    first.set("later", "2")
    first.sync("once")
    outcome = second.sync("once", code=77)
    second.expect_none("later")
    second.expect_value("shared", "1")
    second.set("forged", "3")
    second.sync("once", code=77)
    first.sync("once")
    first.expect_none("forged")
    expect(len(first.devices()) == 1, first.devices())
    # It may come back, as a new device.
    second.sync("leave", "--here", "--yes")
    host, guest = introduce(world, first, second)
    host.type(YES)
    guest.type(YES)
    guest.await_text(rb"Send them\? \[y/N\] ")
    guest.type(NO)
    expect((host.finish(), guest.finish()) == (0, 0), host.shown, guest.shown)
    second.expect_value("later", "2")
    second.sync("once")
    first.sync("once")
    first.expect_none("forged")


@scenario(seconds=120)
def left(world):
    """A device that leaves keeps its items, and comes back without what was removed meanwhile."""
    first, second = pair(world)
    first.set("kept", "1")
    first.set("gone", "2")
    first.sync("once")
    second.sync("once")
    second.sync("leave", "--yes")
    second.expect_value("kept", "1")
    second.sync("once", code=44)
    first.sync("once")
    expect(len(first.devices()) == 1, first.devices())
    first.do("remove", "gone", "--cloud", "--yes")
    first.sync("once")
    second.set("edited", "3")
    join(world, first, second)
    second.expect_none("gone")
    first.sync("once")
    first.expect_none("gone")
    first.expect_value("edited", "3")


@scenario(seconds=120)
def own_items(world):
    """Items that a joiner already has are sent only after a yes, and lose to those of the
    circle."""
    first, second = Device(world, "first"), Device(world, "second")
    first.set("both", "of the circle")
    second.set("both", "of the joiner")
    second.set("alone", "1")
    first.found()
    join(world, first, second, "--add-mine")
    first.sync("once")
    first.expect_value("alone", "1")
    second.expect_value("both", "of the circle")
    first.expect_value("both", "of the circle")
    former = json.loads(second.do("history", "both", "--cloud", "--json").out)["versions"]
    expect([row["reason"] for row in former] == ["replaced"], former)
    value = second.do("get", "both", "--cloud", "--version", "1").out
    expect(value == b"of the joiner", value)
    second.do("undo", "both", "--cloud")
    second.sync("once")
    first.sync("once")
    first.expect_value("both", "of the joiner")


@scenario(seconds=120)
def conflicts(world):
    """Different values of one item become a conflict that each device lists and any can settle."""
    first, second = pair(world)
    first.set("both", "one")
    second.set("both", "two")
    for device in (first, second, first, second):
        device.sync("once")
    values = set()
    for device in (first, second):
        outcome = device.run("get", "both", "--cloud")
        rows = json.loads(device.sync("conflicts", "list", "--json").out)
        expect([row["name"] for row in rows] == ["both"], rows)
        other = device.sync("conflicts", "show", rows[0]["value"]).out
        values.add((outcome.out, other))
    expect(len(values) == 1 and set(*values) == {b"one", b"two"}, values)
    _, other = values.pop()
    second.sync("conflicts", "take", rows[0]["value"])
    for device in (second, first):
        device.sync("once")
        device.expect_value("both", other.decode())
        expect(device.status()["conflicts"] == 0, device.status())


@scenario(seconds=60)
def unmounted(world):
    """A folder that is not mounted is not filled, and delays no local call."""
    first, second = pair(world)
    os.rename(first.store, first.store + ".away")
    os.mkdir(first.store)
    first.set("a", "1")
    outcome = first.sync("once", code=75)
    expect("not available" in outcome.err, outcome)
    expect(os.listdir(first.store) == [], os.listdir(first.store))
    first.expect_value("a", "1")
    os.rmdir(first.store)
    os.rename(first.store + ".away", first.store)
    first.sync("once")
    second.sync("once")
    second.expect_value("a", "1")


@scenario(seconds=120)
def agents(world):
    """Two agents exchange a change within seconds, let commands work, and end at a signal."""
    first, second = pair(world)
    running = [
        world.start((COMMAND, "sync", "run"), {"VALET_HOME": device.home},
                    stderr=subprocess.PIPE) for device in (first, second)]
    try:
        first.set("a", "1")
        end = time.monotonic() + 30
        while second.run("get", "a", "--cloud").code != 0:
            expect(time.monotonic() < end, "the change did not arrive")
            time.sleep(0.1)
        other = next(one["id"] for one in second.devices() if not one["isThisDevice"])
        outcome = second.sync("devices", "rename", other[:8], "desk")
        expect(outcome.seconds < 20, outcome)
        names = {device["name"] for device in second.devices()}
        expect("desk" in names, names)
        first.sync("pause")
        expect(first.status()["state"] == "paused", first.status())
        first.sync("once", code=1)
        first.sync("resume")
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
    for process in running:
        _, text = process.communicate(timeout=30)
        expect(process.returncode == 0, process.returncode, text)
        world.started.remove(process)


def _file_hash(data):
    """Half of the hash that the name of a file in a store has: docs/SYNC.md §7."""
    whole = hashlib.blake2b(digest_size=32)
    for part in (b"valet/1/sync-file", data):
        whole.update(struct.pack(">I", len(part)) + part)
    return whole.hexdigest()[:32]


@scenario(seconds=120)
def flooded(world):
    """Forged entries, logs and mailboxes in the store hold up neither rounds nor commands, and are
    blamed on no device."""
    first, second = pair(world)
    circle = bytes.fromhex(first.status()["circle"])
    own = bytes.fromhex(first.status()["device"])
    top = os.path.join(first.store, "valet-1")
    for number in range(5000):
        # An entry that names a member as its author.
        entry = (b"VALETRST" + struct.pack(">H", 1) + circle + struct.pack(">I", 4)
                 + struct.pack(">Q", number) * 4 + struct.pack(">Q", number) + own + b"\x04"
                 + struct.pack(">I", 1) + b"\0" + os.urandom(64))
        name = f"{4:016x}-{_file_hash(entry)}"
        with open(os.path.join(top, circle.hex(), "roster", name), "wb") as file:
            file.write(entry)
        os.mkdir(os.path.join(top, circle.hex(), f"{number:032x}"))
        os.makedirs(os.path.join(top, "join", f"{number:032x}"))
    first.set("a", "1")
    for device in (first, second):
        outcome = device.sync("once")
        expect(outcome.seconds < 20, outcome)
    second.expect_value("a", "1")
    texts = [finding["text"] for finding in second.status()["findings"]]
    expect(texts and not any("'first'" in text for text in texts), texts)
    process = world.start((COMMAND, "sync", "run"), {"VALET_HOME": second.home},
                          stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    outcome = second.sync("pause")
    expect(outcome.seconds < 10, outcome)
    expect_end(world, process)


def expect_end(world, process):
    """Expects that a signal ends an agent within a second; two, where the machine is busy."""
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    code = process.wait(timeout=30)
    expect(code == 0 and time.monotonic() - began < 2, code, time.monotonic() - began)
    world.started.remove(process)


@scenario(seconds=120)
def locked(world):
    """A locked device takes in and sends what stays readable, and nothing else."""
    first, second = pair(world)
    after = ("--accessibility", "after-first-unlock")
    second.do("passcode", "set", "--passcode-fd", "0", input=b"correct horse\n",
              env={"VALET_LOCK_STATE": "kernel"})
    state = {"VALET_LOCK_STATE": "kernel"}
    status = json.loads(second.do("status", "--json", env=state).out)
    if status["lockState"] != "kernel":
        return
    second.do("lock", env=state)
    first.set("open", "1", *after)
    first.set("closed", "2")
    first.sync("once")
    outcome = second.run("sync", "once", env=state)
    expect(outcome.code == 75 and "the keychain is locked" in outcome.err, outcome)
    outcome = second.run("get", "open", "--cloud", *after, env=state)
    expect(outcome.out == b"1", outcome)
    expect(second.run("get", "closed", "--cloud", env=state).code in (44, 75), "it was read")
    expect(json.loads(second.do("sync", "status", "--json", env=state).out)["state"] == "locked",
           "the state is not locked")
    second.do("unlock", "--passcode-fd", "0", input=b"correct horse\n", env=state)
    second.do("sync", "once", env=state)
    outcome = second.run("get", "closed", "--cloud", env=state)
    expect(outcome.out == b"2", outcome)


@scenario(seconds=120)
def recovered(world):
    """With the recovery key a new device brings back a circle of which no device is left."""
    first, new = Device(world, "first"), Device(world, "new")
    first.set("a", "1")
    first.found()
    key = first.do("recovery", "create").out
    first.sync("recovery", "add", "--recovery-key-fd", "0", input=key)
    first.sync("once")
    circle = first.status()["circle"]
    words = ("recover", "--folder", first.store, "--circle", circle, "--yes")
    # A wrong word is found before the device joins.
    new.sync(*words, "--keep", "nobody", "--recovery-key-fd", "0", input=key, code=44)
    expect(new.status()["circle"] is None, new.status())
    new.sync(*words, "--recovery-key-fd", "0", input=key)
    new.expect_value("a", "1")
    names = {device["name"] for device in new.devices()}
    expect(len(new.devices()) == 2 and "recovery key" in names, new.devices())
    # The paper writes no message that would say how much there was to read.
    new.sync("once")
    expect(new.status()["state"] == "current", new.status())
    first.sync("once", code=77)


@scenario(seconds=120)
def undecided(world):
    """If two devices remove each other in one folder, the others ask which one to distrust."""
    first, second = pair(world)
    third = Device(world, "third")
    join(world, first, third)
    for device in (first, second, third):
        device.sync("once")
    ids = {device.name: device.status()["device"] for device in (first, second, third)}
    before, other = first.store + ".before", first.store + ".other"
    shutil.copytree(first.store, before)
    first.sync("devices", "remove", ids["second"], "--yes")
    os.rename(first.store, other)
    os.rename(before, first.store)
    second.sync("devices", "remove", ids["first"], "--yes")
    shutil.copytree(other, first.store, dirs_exist_ok=True)
    third.sync("once", code=65)
    status = third.status()
    texts = " ".join(finding["text"] for finding in status["findings"])
    expect(status["state"] == "alarm", status)
    # By the names that the sponsor told, and the beginnings of the ids.
    for name in ("first", "second"):
        expect(f"'{name}' ({ids[name][:8]})" in texts, status)
    third.sync("distrust", ids["third"], "--yes", code=44)
    third.sync("distrust", ids["first"], "--yes")
    third.sync("once")
    expect({device["id"] for device in third.devices()} == {ids["second"], ids["third"]},
           third.devices())
    second.set("a", "1")
    second.sync("once")
    third.sync("once")
    third.expect_value("a", "1")
    first.sync("once")
    first.expect_none("a")


@scenario(seconds=120)
def moved(world):
    """A circle moves on into a new one in the same store with all its items."""
    first, second = pair(world)
    first.set("a", "1")
    first.sync("once")
    before = first.status()["circle"]
    first.sync("move", "--yes")
    expect(first.status()["circle"] != before, "the circle did not change")
    second.sync("once")
    findings = second.status()["findings"]
    expect(any("'first' goes on in a new circle" == found["text"] for found in findings), findings)
    expect(not first.status()["findings"], first.status())
    first.expect_value("a", "1")
    second.sync("leave", "--here", "--yes")
    second.set("b", "2")
    join(world, first, second, "--add-mine")
    second.expect_value("a", "1")
    first.sync("once")
    first.expect_value("b", "2")
