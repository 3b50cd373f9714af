# SPDX-License-Identifier: Apache-2.0
"""Commands that change a circle while the disk or the store fails: the exit code says whether the
other devices see the change, and nothing is announced that has not happened."""

import json
import os
import re
import shutil
import sqlite3

from circles import Device, join, pair
from kills import spread
from support import COMMAND, expect, need, scenario

SYNC_COMMAND = COMMAND + "-sync"


class Snapshot:
    """The keychains and the store of devices, which are put back before each attempt."""

    def __init__(self, world, *paths):
        self.paths = [(path, f"{path}.kept") for path in paths]
        self.world = world
        for path, kept in self.paths:
            shutil.copytree(path, kept)

    def put_back(self):
        for path, kept in self.paths:
            shutil.rmtree(path)
            shutil.copytree(kept, path)


def traced(world, device, call, *words, input=b""):
    """Runs a command of sync under strace, and returns the lines of its calls."""
    need("strace")
    log = f"{world.folder}/trace"
    outcome = device.run(
        *words, input=input, command=SYNC_COMMAND,
        prefix=("strace", "-f", "-o", log, "-e", f"trace={call}"))
    expect(outcome.code == 0, "under strace:", outcome)
    return [line for line in open(log, errors="replace") if re.match(rf"\d+ +{call}\(", line)]


def failing(device, call, error, when, *words, input=b""):
    """Runs a command of sync whose call number `when` fails."""
    return device.run(
        *words, input=input, command=SYNC_COMMAND,
        prefix=("strace", "-f", "-o", "/dev/null", "-e", f"trace={call}", "-e",
                f"inject={call}:error={error}:when={when}"))


def count_papers(device):
    return sum(row["kind"] == "recovery" for row in device.devices())


def add_paper(device):
    """Makes a recovery key, and lets it open the circle."""
    key = device.do("recovery", "create", "--yes").out
    device.sync("recovery", "add", "--recovery-key-fd", "0", input=key)
    return key


def texts(device):
    return [finding["text"] for finding in device.status()["findings"]]


@scenario(seconds=120)
def replaced_paper(world):
    """A recovery key that was replaced no longer opens the circle, and the status names it until
    then."""
    first, thief = Device(world, "first"), Device(world, "thief")
    first.set("a", "1")
    first.found()
    old = add_paper(first)
    first.sync("once")
    new = first.do("recovery", "create", "--yes").out
    expect(any("recovery key" in text for text in texts(first)), texts(first))
    first.sync("recovery", "add", "--recovery-key-fd", "0", input=new)
    expect(count_papers(first) == 1 and not texts(first), first.devices(), texts(first))
    status = first.status()
    words = ("recover", "--folder", first.store, "--circle", status["circle"], "--yes", "--keep",
             status["device"], "--recovery-key-fd", "0")
    thief.sync(*words, input=old, code=44)
    thief.expect_none("a")
    thief.sync(*words, input=new)
    thief.expect_value("a", "1")


@scenario(seconds=240)
def failing_paper(world):
    """If the disk fails while a recovery key is added, the exit code says whether it opens the
    circle, and it is removed once it is replaced."""
    first = Device(world, "first")
    first.found()
    key = first.do("recovery", "create").out
    words = ("recovery", "add", "--recovery-key-fd", "0")
    before = Snapshot(world, first.home, first.store)
    for call, error in (("fdatasync", "EIO"), ("renameat", "ENOSPC"), ("fsync", "EIO")):
        every = traced(world, first, call, *words, input=key)
        for when in range(1, len(every) + 1):
            before.put_back()
            outcome = failing(first, call, error, when, *words, input=key)
            first.sync("once")
            expect((outcome.code == 0) == (count_papers(first) == 1),
                   f"{error} at {call} {when}:", outcome, first.devices())
        before.put_back()
    failing(first, "fdatasync", "EIO", 4, *words, input=key)
    first.do("recovery", "create", "--yes")
    first.sync("once")
    expect(count_papers(first) == 0, "the replaced key is still a member")


@scenario(seconds=240)
def failing_removal(world):
    """If the disk fails during a removal, the exit code says whether the device is removed."""
    first = Device(world, "first")
    first.found()
    add_paper(first)
    words = ("devices", "remove", "recovery key", "--yes")
    before = Snapshot(world, first.home, first.store)
    every = traced(world, first, "fdatasync", *words)
    for when in range(1, len(every) + 1):
        before.put_back()
        outcome = failing(first, "fdatasync", "EIO", when, *words)
        first.sync("once")
        expect((outcome.code == 0) == (count_papers(first) == 0),
               f"EIO at fdatasync {when}:", outcome, first.devices())


@scenario(seconds=240)
def failing_leave(world):
    """If the disk fails while a device leaves, the exit code says whether it has left, and the
    next round forgets the circle."""
    first, second = pair(world)
    second.set("a", "1")
    second.sync("once")
    words = ("leave", "--yes")
    before = Snapshot(world, first.home, second.home, first.store)
    every = traced(world, second, "fdatasync", *words)
    for when in range(1, len(every) + 1):
        before.put_back()
        outcome = failing(second, "fdatasync", "EIO", when, *words)
        first.sync("once")
        has_left = len(first.devices()) == 1
        expect((outcome.code == 0) == has_left, f"EIO at fdatasync {when}:", outcome)
        if second.run("sync", "once").code == 0 and has_left:
            expect(second.status()["circle"] is None, "the circle is not forgotten", outcome)
        second.expect_value("a", "1")


@scenario(seconds=300)
def failing_move(world):
    """If the disk or the store fails during a move, the exit code says in which circle the device
    is, and a move that has failed is announced to nobody."""
    first, second = pair(world)
    first.set("a", "1")
    for device in (first, second):
        device.sync("once")
    circle, words = first.status()["circle"], ("move", "--yes")
    before = Snapshot(world, first.home, second.home, first.store)
    tried = []
    for call, error in (("fdatasync", "EIO"), ("mkdirat", "ENOSPC")):
        every = traced(world, first, call, *words)
        tried += [(call, error, when) for when in range(1, len(every) + 1)]
        before.put_back()
    codes = set()
    for call, error, when in tried if world.is_thorough else spread(tried, 28):
        before.put_back()
        outcome = failing(first, call, error, when, *words)
        first.sync("once")
        has_moved = first.status()["circle"] != circle
        fault = f"{error} at {call} {when}:"
        expect((outcome.code == 0) == has_moved, fault, outcome)
        second.sync("once")
        told = [text for text in texts(second) if "goes on in a new circle" in text]
        expect(has_moved or not told, fault, "a move that failed was announced", outcome)
        first.expect_value("a", "1")
        codes.add(outcome.code == 0)
    expect(codes == {True, False}, "both outcomes are met:", codes)


@scenario(seconds=240)
def failing_creation(world):
    """If the disk fails while a circle is founded, the exit code says whether the device is in
    one."""
    first = Device(world, "first")
    first.set("a", "1")
    os.makedirs(first.store)
    words = ("create", *first.place, "--name", "first")
    before = Snapshot(world, first.home, first.store)
    tried = []
    for call in ("pread64", "fdatasync", "fsync"):
        every = traced(world, first, call, *words)
        tried += [(call, when) for when in range(1, len(every) + 1)]
        before.put_back()
    for call, when in tried if world.is_thorough else spread(tried, 40):
        before.put_back()
        outcome = failing(first, call, "EIO", when, *words)
        expect((outcome.code == 0) == (first.status()["circle"] is not None),
               f"EIO at {call} {when}:", outcome)


@scenario(seconds=240)
def failing_recovery(world):
    """If the store is full once the recovery key has let a device join, the exit code says that
    the lost devices are still members."""
    first, new = Device(world, "first"), Device(world, "new")
    first.set("a", "1")
    first.found()
    key = add_paper(first)
    first.sync("once")
    words = ("recover", "--folder", first.store, "--circle", first.status()["circle"], "--yes",
             "--recovery-key-fd", "0")
    before = Snapshot(world, first.store)
    every = traced(world, new, "renameat", *words, input=key)
    lost_count = 0
    for when in range(1, len(every) + 1):
        before.put_back()
        shutil.rmtree(new.home, ignore_errors=True)
        outcome = failing(new, "renameat", "ENOSPC", f"{when}+", *words, input=key)
        if new.status()["circle"] is None:
            expect(outcome.code != 0, f"renameat {when}:", outcome)
            continue
        is_lost = len([row for row in new.devices() if row["kind"] == "device"]) == 1
        expect((outcome.code == 0) == is_lost, f"renameat {when}:", outcome)
        if not is_lost:
            expect("are still members" in outcome.err, outcome)
            lost_count += 1
    expect(lost_count > 0, "no run has failed after the device had joined")


@scenario(seconds=120)
def unsent(world):
    """The status counts changes that no round has seen, and the state is not current while there
    are any."""
    first, second = pair(world)
    first.sync("once")
    expect((first.status()["state"], first.status()["pending"]) == ("current", 0), first.status())
    first.set("a", "1")
    first.set("b", "2")
    first.do("set", "local", input=b"3")
    expect((first.status()["state"], first.status()["pending"]) == ("waiting", 2), first.status())
    # A command that is no round takes them in.
    first.sync("pause")
    first.sync("resume")
    expect((first.status()["state"], first.status()["pending"]) == ("waiting", 2), first.status())
    os.rename(first.store, first.store + ".away")
    first.sync("once", code=75)
    expect(first.status()["pending"] == 2, first.status())
    os.rename(first.store + ".away", first.store)
    first.sync("once")
    expect((first.status()["state"], first.status()["pending"]) == ("current", 0), first.status())
    second.sync("once")
    second.expect_value("b", "2")
    # An item that is too large stays here: it is named, and nothing waits for it.
    first.set("large", "x" * 300_000)
    outcome = first.sync("once")
    expect("too large" in outcome.err, outcome)
    expect(first.status()["state"] == "current", first.status())


@scenario(seconds=120)
def kept_keys(world):
    """A command that stores new secrets of sync says so if the former ones are still on the
    disk."""
    first = Device(world, "first")
    first.set("a", "1")
    reader = sqlite3.connect(f"file:{first.home}/keychain.db?mode=ro", uri=True)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM sync_mark").fetchall()
    os.makedirs(first.store)
    outcome = first.sync("create", *first.place, "--name", "first")
    expect("old keys are still on the disk" in outcome.err, outcome)
    reader.close()
    outcome = first.sync("move", "--yes")
    expect("old keys" not in outcome.err, outcome)


@scenario(seconds=240)
def failing_forgetting(world):
    """What a device that leaves cannot delete is named."""
    first, second = pair(world)
    first.sync("move", "--yes")
    second.sync("once")
    expect(count_notices(second) == 1, texts(second))
    words = ("leave", "--here", "--yes")
    before = Snapshot(world, second.home)
    every = traced(world, second, "fdatasync", *words)
    kept_count = 0
    for when in range(1, len(every) + 1):
        before.put_back()
        outcome = failing(second, "fdatasync", "EIO", when, *words)
        if outcome.code == 0:
            is_kept = count_notices(second) == 1
            expect(is_kept == ("stays in the keychain" in outcome.err), when, outcome)
            kept_count += is_kept
    expect(kept_count > 0, "no deletion has failed")


def count_notices(device):
    outcome = device.run("search", "valet-sync-moved", "--json")
    expect(outcome.code in (0, 44), outcome)
    return 0 if outcome.code == 44 else len(json.loads(outcome.out)["items"])
