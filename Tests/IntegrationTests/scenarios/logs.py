# SPDX-License-Identifier: Apache-2.0
"""Damaged logs, which every call reports and the user can discard."""

import os
import re
import shutil

from kills import calls, chosen, killed, report
from support import AGENT_ITEMS, CRASH_TEST, expect, need, scenario

KEYS = tuple(f"key{index}" for index in range(8))
DISCARD = ("doctor", "--discard-log", "--yes")
KEPT = "keychain.db-wal.damaged"


def prepare(world):
    """Creates a log with commits before and after a flipped byte; returns it."""
    agent = world.agent()
    for key in KEYS:
        agent.do(f"set {key} value-of-{key}")
    path = world.path("keychain.db-wal")
    agent.process.kill()
    agent.process.wait()
    log = bytearray(open(path, "rb").read())
    salts = log[16:24]
    count = 0
    while log[32 + count * 4120 + 8:][:8] == salts:
        count += 1
    expect(count > 2 * len(KEYS), "the log is too short:", count)
    log[32 + (count - len(KEYS)) * 4120 + 100] ^= 1
    with open(path, "wb") as file:
        file.write(log)
    return bytes(log)


def survivors(world):
    """Checks that the readable items are right and the oldest ones; returns their number."""
    outcomes = [world.run("get", key, *AGENT_ITEMS) for key in KEYS]
    count = sum(outcome.code == 0 for outcome in outcomes)
    for key, outcome in zip(KEYS[:count], outcomes):
        expect(outcome.out == f"value-of-{key}".encode(), key, outcome)
    for outcome in outcomes[count:]:
        expect(outcome.code == 44, "neither there nor lost:", outcome)
    return count


@scenario
def given_up(world):
    """A damaged log is refused until its loss is accepted, and then the rest is readable."""
    log = prepare(world)
    for words in (("get", KEYS[0]), ("set", "new"), ("list",), ("remove", KEYS[0], "--yes")):
        outcome = world.run(*words, *AGENT_ITEMS, input=b"v")
        expect(outcome.code == 65 and "doctor --discard-log" in outcome.err, words, outcome)
    world.doctor(65)
    outcome = world.run("doctor", "--discard-log")
    expect(outcome.code != 0 and "--yes" in outcome.err, outcome)
    for other in (b"of another time", log[:-1] + b"\0\0"):
        with open(world.path(KEPT), "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(other)
        outcome = world.run(*DISCARD)
        expect(outcome.code == 1 and "still kept" in outcome.err, outcome)
        expect(open(world.path(KEPT), "rb").read() == other, "another log was lost")
    os.remove(world.path(KEPT))
    expect(world.contents("keychain.db-wal")["keychain.db-wal"] == log, "the log was changed")
    outcome = world.run(*DISCARD)
    expect(outcome.code == 0 and KEPT in outcome.err, outcome)
    expect(0 < survivors(world) < len(KEYS), "all or nothing is lost")
    expect(open(world.path(KEPT), "rb").read() == log, "the log was not kept")
    outcome = world.run(*DISCARD)
    expect(outcome.code == 0 and "nothing was discarded" in outcome.err, outcome)
    world.fill("new")
    world.check("new")


@scenario(script=CRASH_TEST)
def killed_giving_up(world):
    """A kill while a damaged log is discarded loses nothing more."""
    log = prepare(world)
    template = f"{world.home}-template"
    shutil.copytree(world.home, template)
    every = calls(world, *DISCARD, input=b"")
    expected = survivors(world)
    kill_count, tried = 0, chosen(world, every, 12)
    for call in tried:
        shutil.rmtree(world.home)
        shutil.copytree(template, world.home)
        was_killed = killed(world, call, *DISCARD, input=b"")
        outcome = world.run("get", KEYS[0], *AGENT_ITEMS)
        expect(outcome.code in (0, 65), f"killed at {call}:", outcome)
        outcome = world.run(*DISCARD)
        expect(outcome.code == 0, f"killed at {call}:", outcome)
        expect(survivors(world) == expected, f"killed at {call}: other items")
        expect(open(world.path(KEPT), "rb").read() == log, f"killed at {call}: not kept")
        world.fill("new")
        world.check("new")
        kill_count += was_killed
    report(kill_count, tried, every)


@scenario
def emptied(world):
    """An emptied log is on the disk before it gets its zeros."""
    need("strace")
    trace = f"{world.folder}/trace"
    world.set("first", "x", *AGENT_ITEMS)
    outcome = world.run("set", "key", *AGENT_ITEMS, input=b"x", prefix=(
        "strace", "-f", "-y", "-o", trace, "-e", "trace=ftruncate,fsync,fdatasync,pwrite64"))
    expect(outcome.code == 0, outcome)
    calls = re.findall(r"(\w+)\(\d+<[^>]*keychain\.db-wal>(.*)", open(trace).read())
    names = [name for name, _ in calls]
    place = next(place for place, (name, rest) in enumerate(calls)
                 if name == "ftruncate" and rest.startswith(", 0)"))
    rest = names[place + 1:]
    expect("pwrite64" in rest, "no zeros were written:", names)
    expect("fdatasync" in rest[:rest.index("pwrite64")] or "fsync" in rest[:rest.index("pwrite64")],
           "zeros before the log was synced:", names)
