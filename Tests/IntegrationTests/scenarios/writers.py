# SPDX-License-Identifier: Apache-2.0
"""Concurrent writers: spec/keys-and-states.md §8, case 2."""

import glob
import os
import re
import sqlite3
import struct
import subprocess
import time

import keybags
from support import COMMAND, CRASH_TEST, EVERY_USER, Failure, expect, need, scenario


# Promise: 13.8
@scenario(users=EVERY_USER, script=CRASH_TEST)
def many_processes(world):
    """Eight concurrent processes lose no acknowledged write."""
    seconds = 60 if world.is_thorough else 2
    agents = [world.agent() for _ in range(8)]
    logs = [f"{world.folder}/log-{index}" for index in range(8)]
    for index, agent in enumerate(agents):
        agent.tell(f"work p{index} {logs[index]} {seconds}")
    calls = [agent.answer(seconds + 60) for agent in agents]
    for answer in calls:
        expect(answer.startswith("ok"), answer)
    slowest = max(int(answer.split()[2]) for answer in calls)
    total = sum(int(answer.split()[1]) for answer in calls)
    expect(slowest < 5_500, f"a call took {slowest} ms")
    for agent in agents:
        agent.end()
    verify(world, logs)
    expect("the database is sound" in world.doctor(), "doctor is not content")
    print(f"{total} writes in {seconds} s, the slowest took {slowest} ms")


# Promise: 16.1
@scenario
def if_absent(world):
    """Of several concurrent set --if-absent one stores, and the others report the item."""
    for turn in range(20 if world.is_thorough else 3):
        key = f"k{turn}"
        processes = [
            world.start([COMMAND, "set", key, "--if-absent"], stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(8)]
        # All processes wait for their input and get it at the same time.
        for number, process in enumerate(processes):
            process.stdin.write(b"value %d" % number)
        for process in processes:
            process.stdin.close()
            process.stdin = None
        outcomes = [world.finish(process) for process in processes]
        stored = [number for number, outcome in enumerate(outcomes) if outcome.code == 0]
        expect(len(stored) == 1, "stored by", stored)
        for outcome in outcomes:
            refusal = f"'{key}' exists in valet 'default' of application 'valet' already, and stays"
            expect(outcome.code == 0 or (outcome.code == 73 and refusal in outcome.err), outcome)
        expect(world.get(key) == f"value {stored[0]}", "another value")
    world.doctor()


def verify(world, logs):
    reader = world.agent()
    keys = set(reader.do("keys").split())
    added, removed, doubtful = set(), set(), set()
    for log in logs:
        for line in open(log):
            verb, key = line.split()
            {"added": added, "removed": removed, "removing": doubtful}[verb].add(key)
    lost = added - doubtful - keys
    expect(not lost, f"{len(lost)} acknowledged items are lost:", sorted(lost)[:5])
    back = removed & keys
    expect(not back, f"{len(back)} removed items are back:", sorted(back)[:5])
    strange = keys - added
    expect(not strange, "nobody added", sorted(strange)[:5])
    for key in sorted(keys):
        value = reader.do(f"get {key}")
        expect(value == f"value of {key}", f"{key} has the value {value!r}")
    reader.end()


# Promise: 13.8
@scenario(script=CRASH_TEST)
def threads(world):
    """Two concurrent processes of four threads lose no write."""
    count = 250 if world.is_thorough else 80
    agents = [world.agent() for _ in range(2)]
    begin = time.monotonic()
    for index, agent in enumerate(agents):
        agent.tell(f"threads p{index} {count}")
    for agent in agents:
        answer = agent.answer(90)
        expect(answer == "ok 0", "writes that failed:", answer)
    seconds = time.monotonic() - begin
    expected = {f"p{p}-{t}-{i}" for p in range(2) for t in range(4) for i in range(count)}
    for agent in agents:
        expect(set(agent.do("keys").split()) == expected, "items are missing")
        for key in expected:
            expect(agent.do(f"get {key}") == f"value of {key}", key, "has another value")
        agent.end()
    print(f"{8 * count} writes in {seconds:.1f} s")


# Promise: 13.10
@scenario(script=CRASH_TEST)
def checkpoints(world):
    """The database is written only under the writers' lock."""
    need("strace")
    traces = [f"{world.folder}/trace-{index}" for index in range(2)]
    calls = "trace=fcntl,pwrite64,fdatasync,fsync,ftruncate,unlink"
    agents = [
        world.agent(prefix=("strace", "-ff", "-y", "-e", calls, "-o", trace)) for trace in traces]
    for index, agent in enumerate(agents):
        agent.tell(f"work p{index} {world.folder}/log-{index} 4")
    for agent in agents:
        answer = agent.answer(120)
        expect(answer.startswith("ok"), answer)
        agent.do("close")
        agent.end()
    # A file for each thread, in which no call is torn apart by those of others: a call to the
    # keychain takes the lock, writes and lets go in one thread.
    checkpoint_count = sum(check_trace(part) for trace in traces for part in parts(trace))
    expect(checkpoint_count > 0, "no checkpoint happened")
    verify(world, [f"{world.folder}/log-{index}" for index in range(2)])
    print(f"{checkpoint_count} writes to keychain.db, all under the lock")


def parts(trace):
    found = glob.glob(glob.escape(trace) + ".*")
    expect(found, "strace wrote nothing")
    return found


def check_trace(trace):
    return check_lines(open(trace, errors="replace"))


def check_lines(lines):
    is_held, count = False, 0
    for line in lines:
        expect("resumed>" not in line, "half a call:", line)
        if "F_OFD_SETLK" in line and line.rstrip().endswith("= 0"):
            is_held = "F_WRLCK" in line
        match = re.search(r"(pwrite64|fdatasync|fsync|ftruncate)\(\d+<[^>]*/keychain\.db(-wal)?>",
                          line)
        if not match:
            continue
        expect(is_held, "without the lock:", line)
        count += match.group(1) == "pwrite64" and not match.group(2)
    return count


@scenario
def traces_are_read(world):
    """The check of the writers' lock finds a write without it in a trace."""
    lock = "fcntl(5</k/keychain.lock>, F_OFD_SETLK, {l_type=%s}) = 0"
    write = 'pwrite64(7</k/keychain.db>, "…", 4096, 0) = 4096'
    torn = 'pwrite64(7</k/keychain.db>, "…", 4096, 0 <unfinished ...>'
    taken, given = lock % "F_WRLCK", lock % "F_UNLCK"
    expect(check_lines([taken, write, write, given]) == 2, "under the lock")
    for lines in ([write], [taken, given, write], [torn], [taken, given, torn],
                  [taken.replace("= 0", "= -1 EAGAIN"), write],
                  [taken, "<... pwrite64 resumed>) = 4096"]):
        try:
            check_lines(lines)
        except Failure:
            continue
        raise Failure(f"not seen: {lines}")


# Promise: 14.13
@scenario
def newer_program(world):
    """Running programs stop at once when a later version demands a newer program.

    First it raises the version that writers need, then the one that readers need.
    spec/keys-and-states.md §8, case 16."""
    reader, agents = world.agent(), [world.agent() for _ in range(3)]
    logs = [f"{world.folder}/log-{index}" for index in range(3)]
    world.fill("early")
    reader.do("keys")
    for index, agent in enumerate(agents):
        agent.tell(f"work p{index} {logs[index]} 40")
    end = time.monotonic() + 20
    while not all(os.path.exists(log) and os.path.getsize(log) for log in logs):
        expect(time.monotonic() < end, "nobody writes")
        time.sleep(0.01)
    count = demand(world, min_writer=2)
    for agent in agents:
        answer = agent.answer()
        expect(answer.startswith("error newerFormat"), "written all the same:", answer)
    expect(demand(world, min_writer=2) == count, "a row came after it")
    verify(world, logs)
    expect(reader.ask("set x y").startswith("error newerFormat"), "a write")
    outcome = world.run("set", "x", input=b"y")
    expect(outcome.code == 1 and "update this program" in outcome.err, outcome)
    world.check("early")
    demand(world, min_reader=2)
    for one in (reader, *agents):
        expect(one.ask("keys").startswith("error newerFormat"), "a read")
    expect(world.run("get", "early").code == 1, "a read by the command")
    # The refused calls have changed nothing.
    demand(world)
    verify(world, logs)
    reader.do("set x y")
    world.check("early")
    world.doctor()
    for one in (reader, *agents):
        one.end()


def demand(world, min_reader=1, min_writer=1):
    """Changes the settings as a later version could; returns the number of rows at that time."""
    connection = sqlite3.connect(world.path("keychain.db"), isolation_level=None)
    (data,), = connection.execute("SELECT bytes FROM keybag").fetchall()
    connection.close()
    bag, body = keybags.Keybag(data), data[:-32]
    root = bag.keys(keybags.device_secret(world.path("device/device.key")))["root"]
    settings = struct.pack(">IIIQ", 1, min_reader, min_writer, 0) + bag.chain
    settings += struct.pack(">Q", bag.epoch)
    data = body + keybags.h(root, b"keybag-mac", body, settings)
    agent = world.agent()
    count = agent.do(
        f"demand {world.home} {time.monotonic_ns()} {min_reader} {min_writer} {data.hex()}")
    agent.end()
    return int(count)
