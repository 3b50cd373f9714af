# SPDX-License-Identifier: Apache-2.0
"""Damaged indexes that are rebuilt from the items; and lists and deletions of many items."""

import os
import shutil
import sqlite3
import subprocess
import time

import pages
import support
from damage import flip
from kills import calls, chosen, killed, report
from support import AGENT_ITEMS, expect, need, scenario

KEYS = tuple(f"key{index}" for index in range(40))
REPAIR = ("doctor", "--repair-indexes")
INDEXES = ("item_by_place", "place_by_hash", "place_by_group", "attribute")


def prepare(world):
    """Creates a keychain whose every byte is in the database file; returns the pages of its
    indexes."""
    agent = world.agent()
    for key in KEYS:
        agent.do(f"set {key} value-of-{key}")
    for index in range(12):
        agent.do(f"label labelled{index} label{index}")
    agent.end()
    world.settle()
    connection = sqlite3.connect(world.path("keychain.db"))
    try:
        found = {
            name: [row[0] for row in connection.execute(
                "SELECT pageno FROM dbstat WHERE name = ?", (name,))] for name in INDEXES}
    finally:
        connection.close()
    world.settle()
    return found


def check_all(world):
    agent = world.agent()
    for key in KEYS:
        answer = agent.do(f"get {key}")
        expect(answer == f"value-of-{key}", key, answer)
    agent.end()
    world.doctor()


# Promise: 14.6
@scenario
def damaged_indexes(world):
    """A damaged index is rebuilt from the items.

    valet doctor offers the repair where it helps."""
    pages = prepare(world)
    template = f"{world.home}-template"
    shutil.copytree(world.home, template)
    for name in INDEXES:
        for offset in (0, 3, 9, 4090):
            shutil.rmtree(world.home)
            shutil.copytree(template, world.home)
            for page in pages[name]:
                flip(world.path("keychain.db"), (page - 1) * 4096 + offset, 0x5A)
            stored = world.run("set", "new", input=b"value of new")
            # A damaged pointer may lead into the room that a new entry takes: SQLite notices when
            # it reads the page anew. The item is stored, and the repair makes it readable.
            seen = world.run("get", "new") if stored.code == 0 else stored
            expect(seen.code == 0 or seen.code == 65 and "doctor" in seen.err, name, offset, seen)
            found = world.run("doctor")
            said = found.out.decode()
            if found.code:
                expect(found.code == 65 and "--repair-indexes" in said, name, offset, said)
            expect("-> run `valet doctor`" not in said, name, offset, said)
            outcome = world.run(*REPAIR)
            expect(outcome.code == 0 and "rebuilt the indexes" in outcome.err, name, outcome)
            if stored.code == 0:
                world.check("new")
            check_all(world)


def without_rules(world, statement):
    """Changes table `item` as its columns do not allow."""
    path = world.path("keychain.db")
    connection = sqlite3.connect(path, isolation_level=None)
    sound = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'item'").fetchone()[0]
    for rules, change in ((sound.replace(" NOT NULL", "").replace(" STRICT", ""), statement),
                          (sound, None)):
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'item'", (rules,))
        version = connection.execute("PRAGMA schema_version").fetchone()[0]
        connection.execute(f"PRAGMA schema_version = {version + 1}")
        if change:
            other = sqlite3.connect(path, isolation_level=None)
            other.execute(change)
            other.close()
    connection.close()
    world.settle()
    pages.sum_anew(path)


# Promise: 14.1
@scenario
def impossible_columns(world):
    """A row with a value that its column cannot have is a damaged item like any other.

    A new item replaces it, a change of keys sets it aside, and a repair keeps it."""
    world.fill("other", "k")
    world.settle()
    template = f"{world.home}-template"
    shutil.copytree(world.home, template)
    columns = ("salt", "version", "class", "protection", "flags", "epoch", "place",
               "account_hash", "nonce", "names", "logical_time")
    for column in columns:
        for value in ("NULL", "'text'"):
            shutil.rmtree(world.home)
            shutil.copytree(template, world.home)
            without_rules(world, f"UPDATE item SET {column} = {value} WHERE number = 2")
            damaged = f"{world.home}-damaged"
            shutil.rmtree(damaged, ignore_errors=True)
            shutil.copytree(world.home, damaged)
            for words in (("set", "k"), ("rotate", "--skip-damaged"), REPAIR, (*REPAIR, "--yes")):
                shutil.rmtree(world.home)
                shutil.copytree(damaged, world.home)
                found = world.run(*words, input=b"new" if words[0] == "set" else b"")
                expect(found.code in (0, 65), column, value, words, found)
                world.check("other")
                expect(found.code == 0 or world.run("doctor").code == 65, column, value, words)


# Promise: 14.6
@scenario
def killed_repair(world):
    """A kill of a repair leaves the keychain damaged as before or whole."""
    pages = prepare(world)
    for page in pages["attribute"] + pages["place_by_group"]:
        flip(world.path("keychain.db"), (page - 1) * 4096, 0x5A)
    template = f"{world.home}-template"
    shutil.copytree(world.home, template)
    every = calls(world, *REPAIR, input=b"")
    check_all(world)
    kill_count, tried = 0, chosen(world, every, 12)
    for call in tried:
        shutil.rmtree(world.home)
        shutil.copytree(template, world.home)
        was_killed = killed(world, call, *REPAIR, input=b"")
        outcome = world.run("doctor")
        expect(outcome.code in (0, 65), f"killed at {call}:", outcome)
        expect(was_killed or outcome.code == 0, f"{call}: said to be repaired")
        for key in KEYS[:3]:
            outcome = world.run("get", key, *AGENT_ITEMS)
            expect(outcome.out == f"value-of-{key}".encode(), f"killed at {call}:", outcome)
        outcome = world.run(*REPAIR)
        expect(outcome.code == 0, f"killed at {call}:", outcome)
        check_all(world)
        left = [name for name in world.names() if "scratch" in name]
        expect(not left, f"killed at {call}: left over", left)
        kill_count += was_killed
    report(kill_count, tried, every)


# Promise: 14.6
@scenario
def unconfirmed_repair(world):
    """A repair that the disk does not confirm does not come back when the log is opened anew."""
    need("strace")
    for page in prepare(world)["attribute"]:
        flip(world.path("keychain.db"), (page - 1) * 4096, 0x5A)
    template = f"{world.home}-template"
    shutil.copytree(world.home, template)
    refused_count = 0
    for number in range(1, 7):
        shutil.rmtree(world.home)
        shutil.copytree(template, world.home)
        outcome = world.run(*REPAIR, prefix=(
            "strace", "-f", "-o", "/dev/null", "-e", "trace=fdatasync", "-e",
            f"inject=fdatasync:error=EIO:when={number}"))
        refused_count += outcome.code != 0
        world.doctor(65 if outcome.code else 0)
    expect(refused_count > 0, "no repair was refused")


# Promise: 17.2
@scenario
def stopped_list(world):
    """A listing that nobody reads does not keep the log from being checkpointed."""
    agent = world.agent()
    for index in range(1500):
        agent.do(f"set some-key-with-a-long-name-{index:05} value")
    agent.end()
    for words in (("list",), ("list", "--json")):
        process = world.start(
            [support.COMMAND, *words, *AGENT_ITEMS[:2]],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # The listing has read everything once it writes, and then the pipe is full.
        first = os.read(process.stdout.fileno(), 1)
        expect(first, words, process.stderr.read() if not first else "")
        time.sleep(0.2)
        expect(process.poll() is None, "it has not waited for its reader")
        world.fill("beside")
        connection = sqlite3.connect(world.path("keychain.db"), isolation_level=None)
        busy, frames, done = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        connection.close()
        expect(busy == 0 and frames == done == 0, "it keeps the log:", busy, frames, done)
        rest = process.stdout.read()
        expect(process.wait(30) == 0, words, process.stderr.read())
        world.started.remove(process)
        expect((first + rest).count(b"some-key-with-a-long-name-") == 1500, words, "items missing")


# Promise: 13.12
@scenario
def killed_deletion(world):
    """A kill while many items are deleted leaves each of them whole or gone."""
    agent = world.agent()
    agent.do("fill 2500")
    agent.do("set kept value-of-kept")
    agent.end()
    world.settle()
    template = f"{world.home}-template"
    shutil.copytree(world.home, template)
    partial = 0
    for number, delay in enumerate((0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)):
        shutil.rmtree(world.home)
        shutil.copytree(template, world.home)
        agent = world.agent()
        agent.do("get kept")
        agent.tell("empty")
        time.sleep(delay)
        agent.process.kill()
        agent.process.wait()
        world.doctor()
        agent = world.agent()
        expect(agent.do("get kept") == "value-of-kept", "another item is gone")
        answer = agent.ask("empty")
        rest = int(answer.split()[1]) if answer.startswith("ok") else 0
        expect(rest or "itemNotFound" in answer, answer)
        expect(rest == 2500 or (2500 - rest) >= 1000 or rest == 0, "a part of a batch:", rest)
        partial += 0 < rest < 2500
        expect("itemNotFound" in agent.ask("empty"), "something was left")
        agent.end()
        world.doctor()
    print(f"killed between two batches {partial} times")
