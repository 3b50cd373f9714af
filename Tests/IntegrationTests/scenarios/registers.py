# SPDX-License-Identifier: Apache-2.0
"""Threads of several processes read and set the same items: each item behaves like one register.

Every value is written once, so that whether some order of the calls explains all answers can be
decided exactly: P. B. Gibbons, E. Korach, "Testing Shared Memories", SIAM J. Comput. 26 (1997)."""

import collections
import glob
import math
import random
import re
import time

from support import CRASH_TEST, Failure, expect, need, scenario

Write = collections.namedtuple("Write", "begin end")
Read = collections.namedtuple("Read", "value begin end")


def recorded(paths):
    """Returns the writes by key and value, and the reads by key. A write that was killed has no
    end."""
    writes, reads = collections.defaultdict(dict), collections.defaultdict(list)
    for path in paths:
        pending = None
        for line in open(path):
            verb, *words = line.split()
            if verb == "set":
                pending = words[0], words[1], int(words[2])
                writes[words[0]][words[1]] = Write(pending[2], math.inf)
            elif verb == "done":
                key, value, begin = pending
                writes[key][value] = Write(begin, int(words[0]))
            elif verb == "get":
                reads[words[0]].append(Read(words[1], int(words[2]), int(words[3])))
            else:
                raise Failure(f"{path}: {line}")
    return writes, reads


def judge(writes, reads):
    """Checks that some order of the calls of one register explains all answers.

    The calls of one value, its write and its reads, form a zone from the first end to the last
    begin. If the end is before the begin, the value was there all that time: such zones must not
    overlap, and no other value's calls can lie within one."""
    calls = collections.defaultdict(list)
    for read in reads:
        expect(read.value in writes, "nobody wrote", read)
        expect(writes[read.value].begin <= read.end, "read before it was written:", read)
        calls[read.value].append(read)
    held, brief = [], []
    for value, write in writes.items():
        # Nobody has seen what a killed process may not have written.
        if write.end == math.inf and not calls[value]:
            continue
        ends = [write.end] + [read.end for read in calls[value]]
        begins = [write.begin] + [read.begin for read in calls[value]]
        first_end, last_begin = min(ends), max(begins)
        if first_end < last_begin:
            held.append((first_end, last_begin, value))
        else:
            brief.append((last_begin, first_end, value))
    held.sort()
    for (_, end, value), (begin, _, later) in zip(held, held[1:]):
        expect(end <= begin, f"{value} and {later} were both there at {begin}")
    starts = [begin for begin, _, _ in held]
    for begin, end, value in brief:
        place = next_before(starts, begin)
        if place is not None:
            expect(not (held[place][0] < begin and end < held[place][1]),
                   f"{value} lies within {held[place]}")


def next_before(starts, begin):
    low, high = 0, len(starts)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if starts[middle] < begin else (low, middle)
    return low - 1 if low else None


@scenario(script=CRASH_TEST)
def raced(world):
    """Reads and writes of the same items by several processes, some of them killed, are
    linearizable."""
    seconds, key_count = (120, 6) if world.is_thorough else (6, 3)
    first = world.agent()
    begin = time.monotonic_ns()
    for key in range(key_count):
        first.do(f"set register-{key} first-{key}")
    beginning = Write(begin, time.monotonic_ns())
    end, kill_count, number, agents = time.monotonic() + seconds, 0, 0, []

    def start():
        nonlocal number
        agent = world.agent()
        left = max(0.1, end - time.monotonic())
        agent.tell(f"registers p{number} {world.folder}/registers-{number} {left} {key_count}")
        agents.append(agent)
        number += 1

    for _ in range(4):
        start()
    while time.monotonic() < end - 1:
        time.sleep(random.uniform(0.05, 0.4))
        victim = agents.pop(random.randrange(len(agents)))
        victim.process.kill()
        victim.process.wait(30)
        kill_count += 1
        start()
    for agent in agents:
        answer = agent.answer(60)
        expect(answer.startswith("ok"), answer)
        agent.end()
    writes, reads = recorded(glob.glob(f"{world.folder}/registers-*"))
    for key in range(key_count):
        name = f"register-{key}"
        writes[name][f"first-{key}"] = beginning
        now = time.monotonic_ns()
        reads[name].append(Read(first.do(f"get {name}"), now, time.monotonic_ns()))
        judge(writes[name], reads[name])
    write_count, read_count = (sum(map(len, found.values())) for found in (writes, reads))
    expect(write_count > 100 and read_count > 10_000, "too few:", write_count, read_count)
    first.end()
    world.doctor()
    print(f"{write_count} writes and {read_count} reads, {kill_count} kills")


@scenario
def checker(world):
    """The checker of registers refuses a stale read, a lost write and a value that comes back."""
    one, two = Write(0, 10), Write(20, 30)
    writes = {"one": one, "two": two}
    judge(writes, [Read("one", 12, 25), Read("two", 22, 28), Read("two", 40, 50)])
    for reads in ([Read("one", 40, 50)],
                  [Read("two", 22, 24), Read("one", 26, 28)],
                  [Read("two", 1, 5)],
                  [Read("three", 1, 5)]):
        try:
            judge(writes, reads)
        except Failure:
            continue
        raise Failure(f"accepted {reads}")


@scenario
def silent_reads(world):
    """A read of an item that was read before makes no system call, until something is written."""
    need("strace")
    writer = world.agent()
    writer.do("set key first")
    trace = f"{world.folder}/trace"
    reader = world.agent(prefix=("strace", "-f", "-o", trace))
    expect(reader.do("get key") == "first", "another value")

    def counted(line):
        before = len(open(trace).readlines())
        reader.do(line)
        return len(open(trace).readlines()) - before

    counted("gets 10 key")
    # Ten times a second a read looks where the path leads. The rest is the command's own.
    few, many = counted("gets 10 key"), counted("gets 50000 key")
    expect(many < few + 300, f"{few} system calls for 10 reads, and {many} for 50,000")
    writer.do("set key second")
    expect(reader.do("get key") == "second", "a stale value")
    reader.end()
    writer.end()
    text = open(trace).read()
    expect(len(re.findall(r"F_RDLCK", text)) < 100, "reads take locks")
