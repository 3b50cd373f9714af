# SPDX-License-Identifier: Apache-2.0
"""The log or its index is removed or replaced while programs have the keychain open: nothing that
was acknowledged is lost in silence, and no program stays with a file that others do not have."""

import itertools
import os
import shutil
import threading
import time

from support import AGENT_ITEMS, EVERY_USER, expect, scenario

# A read may be 100 ms behind; a busy machine needs some time for the next one.
STALE = 0.15
SUFFIXES = {"index": ["-shm"], "log": ["-wal"], "both": ["-shm", "-wal"]}
WORDS = ("removed or replaced", "the log was removed", "was replaced while it was in use",
         "match the log with its index")


def put(path, contents):
    """Replaces a file by another one in one step, as rsync does."""
    with open(f"{path}.other", "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(contents)
    os.rename(f"{path}.other", path)


def act(way, path, copies):
    """Does to a file what programs do that know nothing of SQLite."""
    if way == "removed":
        os.remove(path)
    elif way == "moved":
        os.rename(path, f"{path}.moved")
    elif way == "empty":
        put(path, b"")
    elif way == "copied":
        put(path, open(path, "rb").read())
    elif way == "older":
        put(path, copies[path])
    elif way == "cut":
        os.truncate(path, 0)


class Keys:
    """What was acknowledged, and what a call said to be lost."""

    def __init__(self, world):
        self.world, self.values = world, {}
        self.is_told = False

    def note(self, key, answer):
        """Counts a write that was acknowledged; any other one has to say what happened."""
        if answer.startswith("ok"):
            self.values[key] = "x"
        else:
            self.told(answer)

    def told(self, answer):
        expect(any(words in answer for words in WORDS), "not in words:", answer)
        expect("sqlite" not in answer, "a number:", answer)
        self.is_told |= "are lost" in answer

    def write(self, agent, key):
        self.note(key, agent.ask(f"set {key} x"))

    def command(self, key):
        """Writes with a program that has just started."""
        outcome = self.world.run("set", key, *AGENT_ITEMS, input=b"x")
        self.note(key, "ok" if outcome.code == 0 else outcome.err)

    def check(self, agents):
        """Every program has every acknowledged item, or one was told of a loss."""
        time.sleep(STALE)
        for agent in agents:
            answer = agent.ask("keys")
            if not answer.startswith("ok"):
                self.told(answer)
        for agent in agents:
            found = set(agent.do("keys").split())
            expect(self.is_told or set(self.values) <= found, "lost:", set(self.values) - found)
        found = set(self.world.agent().do("keys").split())
        expect(self.is_told or set(self.values) <= found, "lost:", set(self.values) - found)


def prepared(world, count=2):
    """Programs with the keychain open, and copies of the files as they were before the last
    writes."""
    keys = Keys(world)
    agents = [world.agent() for _ in range(count)]
    for number, agent in enumerate(agents):
        keys.write(agent, f"first-{number}")
        agent.do("keys")
    names = [world.path("keychain.db" + suffix) for suffix in ("-shm", "-wal")]
    copies = {path: open(path, "rb").read() for path in names}
    for number, agent in enumerate(agents):
        keys.write(agent, f"second-{number}")
        agent.do("keys")
    return keys, agents, copies


def settled(world, keys, agents, mark):
    """All programs write and find again what they and the others have written."""
    keys.check(agents)
    for number, agent in enumerate(agents):
        keys.write(agent, f"{mark}-{number}")
        agent.do(f"set {mark}-again-{number} x")
        keys.values[f"{mark}-again-{number}"] = "x"
    expect(world.run("set", f"{mark}-command", *AGENT_ITEMS, input=b"x").code == 0, "a new program")
    keys.values[f"{mark}-command"] = "x"
    keys.check(agents)
    for agent in agents:
        agent.end()
    keys.check([])
    world.doctor()


def tried(world, files, way, then):
    keys, agents, copies = prepared(world)
    for suffix in SUFFIXES[files]:
        act(way, world.path("keychain.db" + suffix), copies)
    then(keys, agents)
    # What nobody could save, the user gives up.
    keys.check(agents)
    settled(world, keys, agents, "end")


def each(world, ways, then):
    home = world.home
    for files, way in itertools.product(SUFFIXES, ways):
        world.home = f"{home}-{files}-{way}"
        try:
            tried(world, files, way, then)
        except BaseException:
            print(f"{files} {way}")
            raise


WAYS = ("removed", "moved", "empty", "copied", "older")


# Promise: 2.4
@scenario(users=EVERY_USER)
def write_first(world):
    """A write without the log or the index in its place goes on with those at the path."""
    def then(keys, agents):
        answer = agents[0].ask("set own x")
        keys.note("own", answer)
        expect(answer.startswith("ok") or "are lost" in answer, answer)
        agents[0].do("set next x")
        keys.values["next"] = "x"
    each(world, WAYS, then)


# Promise: 2.4
@scenario
def another_first(world):
    """A program that starts after the log or index was removed takes nothing from running ones."""
    def then(keys, agents):
        keys.command("command")
        for agent in agents:
            keys.write(agent, f"own-{agent.pid}")
        for agent in agents:
            keys.write(agent, f"next-{agent.pid}")
        keys.command("command-again")
    each(world, WAYS, then)


@scenario
def read_first(world):
    """A read without the log or the index in its place opens the keychain again."""
    def then(keys, agents):
        time.sleep(STALE)
        for agent in agents:
            answer = agent.ask("get first-0")
            expect(answer == "ok x" or keys.told(answer) is None, answer)
        for agent in agents:
            keys.write(agent, f"own-{agent.pid}")
    each(world, WAYS, then)


@scenario
def closed(world):
    """A program that closes its keychain saves what only it can read of a log that was removed."""
    for way in ("removed", "empty", "copied"):
        world.home = f"{world.folder}/{way}"
        keys, agents, copies = prepared(world, 1)
        act(way, world.path("keychain.db-wal"), copies)
        agents[0].do("close")
        agents[0].end()
        keys.check([])
        expect(not keys.is_told, "lost")
        world.doctor()


# Promise: 2.4
@scenario
def cut(world):
    """A log that was emptied while programs had it open is reported, and then given up."""
    keys, agents, _ = prepared(world)
    os.truncate(world.path("keychain.db-wal"), 0)
    outcome = world.run("set", "command", *AGENT_ITEMS, input=b"x")
    expect(outcome.code == 65 and "--discard-log" in outcome.err, outcome)
    answer = agents[0].ask("set own x")
    expect("are lost" in answer, answer)
    keys.told(answer)
    settled(world, keys, agents, "end")


@scenario
def cut_index(world):
    """An index that was emptied while programs had it open costs nothing and loses nothing."""
    keys, agents, _ = prepared(world)
    os.truncate(world.path("keychain.db-shm"), 0)
    agents[0].do("set own x")
    agents[1].do("set own x")
    settled(world, keys, agents, "end")
    expect(not keys.is_told, "lost")


@scenario
def given_up(world):
    """A log that only an idle program has can be given up, and that program hears of it."""
    keys, agents, _ = prepared(world, 1)
    os.remove(world.path("keychain.db-wal"))
    for words in (("get", "first-0"), ("set", "new"), ("list",)):
        outcome = world.run(*words, *AGENT_ITEMS, input=b"x")
        expect(outcome.code == 65 and "--discard-log" in outcome.err, words, outcome)
    world.doctor(65)
    outcome = world.run("doctor", "--discard-log", "--yes")
    expect(outcome.code == 0 and "is kept" in outcome.err, outcome)
    outcome = world.run("set", "new", *AGENT_ITEMS, input=b"x")
    expect(outcome.code == 0, outcome)
    answer = agents[0].ask("set own x")
    expect("are lost" in answer, answer)
    agents[0].do("set own x")
    expect(set(agents[0].do("keys").split()) >= {"new", "own"}, "what is there")
    agents[0].end()
    os.remove(world.path("keychain.db-wal.damaged"))
    world.doctor()


# Promise: 2.4
@scenario
def under_load(world):
    """Every acknowledged write is kept while the log and its index are removed again and again."""
    keys = Keys(world)
    agents = [world.agent() for _ in range(3)]
    keys.write(agents[0], "first")
    turns = 90 if world.is_thorough else 12
    records, stop = [[] for _ in agents], threading.Event()

    def write(agent, record, name):
        index = 0
        while not stop.is_set():
            if name == "w2":
                record.append((f"threads-{index}", agent.ask(f"threads w2-{index}- 8")))
            else:
                record.append((f"{name}-{index}", agent.ask(f"set {name}-{index} x")))
            index += 1

    threads = [
        threading.Thread(target=write, args=(agent, record, f"w{number}"))
        for number, (agent, record) in enumerate(zip(agents, records))]
    for thread in threads:
        thread.start()
    for turn in range(turns):
        time.sleep(0.15)
        for suffix in (["-shm"], ["-shm"], ["-wal"])[turn % 3]:
            try:
                os.remove(world.path("keychain.db" + suffix))
            except FileNotFoundError:
                pass
    time.sleep(0.3)
    stop.set()
    for thread in threads:
        thread.join()
    count = 0
    for key, answer in records[0] + records[1]:
        keys.note(key, answer)
        count += answer.startswith("ok")
    expect(count > 2 * turns, "hardly anything was written:", count)
    settled(world, keys, agents, "end")
    print(f"{count} writes, {turns} removals, a loss was told: {keys.is_told}")
