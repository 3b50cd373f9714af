# SPDX-License-Identifier: Apache-2.0
"""valet watch: what it tells of the changes of other programs."""

import json
import os
import queue
import shutil
import signal
import subprocess
import threading
import time

from support import COMMAND, EVERY_USER, expect, scenario

PASSCODE = b"correct horse\n"
# Programs share opened keys, as in a login session.
SHARED = {"VALET_LOCK_STATE": "kernel"}


class Watch:
    """A running `valet watch --json`, and the objects that it writes."""

    def __init__(self, world, *words):
        self.process = world.start([COMMAND, "watch", "--json", *words], SHARED,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))

    def next(self, seconds=20):
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError("watch has told nothing") from None
        return line.get("state") or (line["event"], line["name"])

    def has_more(self, seconds=1.5):
        time.sleep(seconds)
        return [self.next() for _ in range(self.lines.qsize())]

    def end(self):
        self.process.terminate()
        expect(self.process.wait(20) == -signal.SIGTERM, "a signal does not end it")


def lock(world, verb="lock", *words):
    outcome = world.run(verb, *words, input=PASSCODE, env=SHARED)
    expect(outcome.code == 0, verb, outcome)


@scenario(users=EVERY_USER)
def changes(world):
    """Changes by other programs are told, from the first secret of a keychain on."""
    watch = Watch(world)
    expect(watch.next() == "absent", "at the start")
    world.set("a", "one")
    found = {watch.next(), watch.next()}
    expect(found == {"noPasscode", ("added", "a")}, found)
    world.set("a", "two")
    expect(watch.next() == ("changed", "a"), "changed")
    world.set("elsewhere", "x", "--app", "other")
    world.set("b", "x", "--id", "second")
    expect(watch.next() == ("added", "b"), "another application is told of")
    outcome = world.run("rename", "b", "c", "--id", "second")
    expect(outcome.code == 0 and watch.next() == ("changed", "c"), "renamed", outcome)
    # A key change writes every row, and is no change of any.
    expect(world.run("rotate").code == 0, "rotate")
    expect(world.run("remove", "a", "--yes").code == 0, "remove")
    expect(watch.next() == ("removed", "a"), "removed")
    expect(watch.has_more() == [], "more than what happened")
    watch.end()


# Promise: 18.5
@scenario(users=EVERY_USER)
def locks(world):
    """Locking and unlocking are told, and what changes meanwhile once it can be read."""
    world.set("a", "one")
    world.set("early", "one", "--accessibility", "after-first-unlock")
    lock(world, "passcode", "set", "--passcode-fd", "0")
    lock(world)
    watch = Watch(world)
    expect(watch.next() == "locked", "at the start")
    expect(watch.has_more() == [], "names of a locked keychain")
    world.set("early", "two", "--accessibility", "after-first-unlock", env=SHARED)
    expect(watch.next() == ("changed", "early"), "open after the first unlock")
    lock(world, "unlock", "--passcode-fd", "0")
    expect(watch.next() == "unlocked", "unlocked")
    expect(watch.has_more() == [], "items that were there before are told of")
    world.set("b", "one", env=SHARED)
    expect(watch.next() == ("added", "b"), "added")
    lock(world)
    expect(watch.next() == "locked", "locked again")
    expect(world.run("remove", "a", "--yes", env=SHARED).code == 0, "remove")
    expect(watch.next() == ("removed", "a"), "a name that was known")
    watch.end()
    lock(world, "lock", "--all")


# Promise: 18.5
@scenario
def idle_times(world):
    """Watching a keychain is no use of it: it locks after its idle time."""
    world.set("a", "one")
    lock(world, "passcode", "set", "--passcode-fd", "0")
    lock(world)
    watch = Watch(world)
    expect(watch.next() == "locked", "at the start")
    lock(world, "unlock", "--auto-lock", "6s", "--passcode-fd", "0")
    begin = time.monotonic()
    expect(watch.next() == "unlocked", "unlocked")
    # A lock state that is touched makes it look, as any change does.
    for _ in range(5):
        os.utime(world.path("keychain.state"))
        # A watcher that starts opens every item.
        outcome = world.run("watch", "--for", "1s", env=SHARED)
        expect(outcome.code == 0, outcome)
    expect(watch.next() == "locked", "the idle time has passed")
    expect(time.monotonic() - begin < 9, "it was renewed")
    watch.end()
    lock(world, "lock", "--all")


@scenario
def replaced_folders(world):
    """A keychain that is removed or replaced by another one is told of, and watched on."""
    world.set("a", "one")
    home, other = world.home, f"{world.folder}/other"
    world.home = other
    world.set("b", "one")
    world.home = home
    watch = Watch(world)
    expect(watch.next() == "noPasscode", "at the start")
    os.rename(home, f"{world.folder}/away")
    found = {watch.next(), watch.next()}
    expect(found == {"absent", ("removed", "a")}, found)
    shutil.move(other, home)
    found = {watch.next(), watch.next()}
    expect(found == {"noPasscode", ("added", "b")}, found)
    world.set("c", "one")
    expect(watch.next() == ("added", "c"), "the new one is not watched")
    watch.end()


@scenario
def ends(world):
    """watch ends after a number of changes, after a time, and when nobody reads it."""
    world.set("a", "one")
    watch = Watch(world, "--count", "2")
    expect(watch.next() == "noPasscode", "at the start")
    for value in ("two", "three"):
        world.set("a", value)
        expect(watch.next() == ("changed", "a"), value)
    expect(watch.process.wait(20) == 0, "after two changes")
    begin = time.monotonic()
    outcome = world.run("watch", "--for", "1s")
    expect(outcome.code == 0 and 0.9 < time.monotonic() - begin < 10, outcome)
    expect(outcome.out.decode().endswith("Z  noPasscode\n"), outcome)
    process = world.start([COMMAND, "watch"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    world.set("a", "four")
    expect(process.wait(20) in (-signal.SIGPIPE, 141), "nobody reads it")
    expect(world.run("watch", "--all", "--id", "x").code == 64, "contradiction")
