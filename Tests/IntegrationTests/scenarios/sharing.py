# SPDX-License-Identifier: Apache-2.0
"""Threads and processes that set, get and remove the same items: some order of the calls explains
every answer, whichever writes share a commit, fail or are killed (decision 59)."""

import collections
import glob
import random
import re
import signal
import time

from support import CRASH_TEST, Failure, expect, need, scenario

# `is_certain` is false for a call that was killed, or a write that failed: it may have happened.
Call = collections.namedtuple("Call", "verb key value answer begin end is_certain")


def recorded(path, death=None):
    """Returns the calls of the threads of a process; `death` is when it was seen to have ended."""
    calls = []
    for part in glob.glob(f"{glob.escape(path)}.*"):
        begun = None
        for line in open(part):
            if not line.endswith("\n"):
                break
            words = line.split()
            if words[0] == "begin":
                begun = words[1:]
            else:
                calls.append(call(begun, words[1], int(words[2])))
                begun = None
        if begun is not None and len(begun) == 4 and begun[0] != "get":
            expect(death, part, "ends in the middle of a call")
            calls.append(call(begun, "killed", death))
    return calls


def call(begun, answer, end):
    verb, key, value, begin = begun
    return Call(verb, key, value, answer, int(begin), end, answer in ("done", "absent")
                or verb == "get")


def verify(calls):
    """Checks that an order of the calls of each key explains their answers."""
    by_key = collections.defaultdict(list)
    for each in calls:
        # A read that fails has no answer to explain.
        if each.verb != "get" or not each.answer.startswith("error"):
            by_key[each.key].append(each)
    for key, some in by_key.items():
        verify_one(key, some)


def verify_one(key, calls):
    """Goes through the begins and ends in the order of time, with every state that is possible: the
    value, and the calls that have taken effect and not ended."""
    events = sorted([(each.begin, 0, number) for number, each in enumerate(calls)]
                    + [(each.end, 1, number) for number, each in enumerate(calls)])
    states, pending = {("absent", frozenset())}, set()
    for _, is_end, number in events:
        if not is_end:
            pending.add(number)
            states = {with_reads(calls, pending, state) for state in states}
            continue
        reached = effects(calls, pending, states, number)
        if not calls[number].is_certain:
            reached |= {state for state in states if number not in state[1]}
        expect(reached, f"no order explains, of {key}:", calls[number], "beside",
               [calls[other] for other in pending])
        pending.remove(number)
        states = {(value, done - {number}) for value, done in reached}


def with_reads(calls, pending, state):
    """Lets the reads take effect that see the value."""
    value, done = state
    return value, done | {number for number in pending
                          if calls[number].verb == "get" and calls[number].answer == value}


def effects(calls, pending, states, number):
    """Returns the states in which call `number` has taken effect, after any others."""
    reached, seen, waiting = set(), set(states), list(states)
    while waiting:
        state = waiting.pop()
        value, done = state
        if number in done:
            reached.add(state)
            continue
        for other in pending:
            if other not in done and calls[other].verb != "get":
                value = calls[other].value if calls[other].verb == "set" else "absent"
                after = with_reads(calls, pending, (value, done | {other}))
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
    return reached


def last_look(world, calls):
    """Adds what a new process reads in the end."""
    reader = world.agent()
    for key in sorted({each.key for each in calls}):
        begin = time.monotonic_ns()
        answer = reader.ask(f"get {key}")
        value = answer[3:] if answer.startswith("ok ") else "absent"
        expect(answer.startswith(("ok ", "error itemNotFound")), answer)
        calls.append(Call("get", key, "-", value, begin, time.monotonic_ns(), True))
    reader.end()
    world.doctor()


def report(calls):
    verbs = collections.Counter(each.verb for each in calls)
    errors = sum(each.answer.startswith("error") for each in calls)
    killed = sum(each.answer == "killed" for each in calls)
    print(f"{len(calls)} calls: {dict(verbs)}, {errors} failed, {killed} writes were killed")


# Promise: 13.8
@scenario(script=CRASH_TEST)
def threads(world):
    """Some order explains what sixteen threads read while they set and remove the same items."""
    seconds = 60 if world.is_thorough else 2
    agent = world.agent()
    agent.tell(f"sharing 16 {seconds} {world.folder}/calls 2")
    expect(agent.answer(seconds + 60) == "ok ", "the threads did not end")
    agent.end()
    calls = recorded(f"{world.folder}/calls")
    expect(all(not each.answer.startswith("error") for each in calls), "a call failed")
    last_look(world, calls)
    verify(calls)
    report(calls)


# Promise: 13.9
@scenario(script=CRASH_TEST)
def killed(world):
    """A kill of a process whose threads share commits loses no acknowledged write.

    No read is stale either, whether or not it makes a system call."""
    start = time.monotonic()
    running, calls, count = {}, [], 0

    def goes_on():
        """Whether to kill more: a slow machine takes longer for enough reads to tell anything."""
        seconds = time.monotonic() - start
        reads = sum(each.verb == "get" for each in calls)
        return seconds < (180 if world.is_thorough else 6) or reads < 10_000 and seconds < 120

    while goes_on() or running:
        while len(running) < 4 and goes_on():
            agent = world.agent()
            # Every other process reads for the most part: most of its reads make no system call.
            threads, reads = (8, 2) if count % 2 else (3, 60)
            agent.tell(f"sharing {threads} 1000 {world.folder}/calls-{count} {reads}")
            running[f"{world.folder}/calls-{count}"] = agent
            count += 1
        time.sleep(random.uniform(0.05, 0.5))
        path = random.choice(list(running))
        process = running.pop(path).process
        process.send_signal(signal.SIGKILL)
        process.wait(20)
        world.started.remove(process)
        calls += recorded(path, time.monotonic_ns())
    errors = {each.answer for each in calls if each.answer.startswith("error")}
    expect(not errors, "calls failed:", errors)
    expect(sum(each.verb == "get" for each in calls) >= 10_000, "too few reads:", len(calls))
    last_look(world, calls)
    verify(calls)
    report(calls)


# Promise: 13.9
@scenario(script=CRASH_TEST)
def failing(world):
    """A commit that the disk refuses fails every write that shares it, and loses no other one."""
    need("strace")
    log = f"{world.folder}/calls"
    # Each thread counts its own calls.
    agent = world.agent(prefix=(
        "strace", "-f", "-o", "/dev/null", "-e", "trace=fdatasync",
        "-e", "inject=fdatasync:error=EIO:when=2+3"))
    seconds = 30 if world.is_thorough else 3
    agent.tell(f"sharing 16 {seconds} {log} 2")
    expect(agent.answer(seconds + 60) == "ok ", "the threads did not end")
    agent.end()
    calls = recorded(log)
    failed = [each for each in calls if each.answer.startswith("error")]
    expect({each.answer for each in failed} == {"error-inputOutput"}, "other failures:",
           {each.answer for each in failed})
    expect(len(failed) > 10, "hardly a write failed")
    last_look(world, calls)
    verify(calls)
    report(calls)


@scenario
def checker(_):
    """The checker of shared commits refuses a stale read, a lost write and a removal undone."""
    def made(verb, value, begin, end, answer="done"):
        return Call(verb, "key", value, answer, begin, end, answer != "killed")

    def read(answer, begin, end):
        return made("get", "-", begin, end, answer)

    one, two, gone = made("set", "1", 0, 10), made("set", "2", 20, 30), made("remove", "-", 40, 50)
    for calls in ([one, two, read("1", 12, 25), read("2", 22, 28), gone, read("absent", 60, 70)],
                  [one, two, gone, read("2", 42, 60)],
                  [one, made("set", "3", 20, 90, "killed"), read("3", 30, 40), read("3", 50, 60)],
                  [one, made("set", "3", 20, 90, "killed"), read("1", 30, 95)]):
        verify(calls)
    for calls in ([one, two, read("1", 35, 38)],
                  [one, two, read("2", 22, 24), read("1", 26, 28)],
                  [one, two, gone, read("2", 60, 70)],
                  [one, two, gone, read("absent", 42, 43), read("2", 44, 45)],
                  [one, made("set", "3", 20, 90, "killed"), read("3", 30, 40), read("1", 50, 60)],
                  [one, read("3", 12, 14)]):
        try:
            verify(calls)
        except Failure:
            continue
        raise Failure(f"accepted {calls}")


@scenario
def writes_without_times(world):
    """A set never asks for the times of a file, which would make its sync slower."""
    need("strace")
    trace = f"{world.folder}/trace"
    writer = world.agent(prefix=("strace", "-f", "-o", trace))
    # The log gets its length once it is in use.
    for number in range(30):
        writer.do(f"set key {number}")
    before = len(open(trace).readlines())
    for number in range(20):
        writer.do(f"set key {number}")
    calls = "".join(open(trace).readlines()[before:])
    writer.end()
    expect(len(re.findall(r"fdatasync\(", calls)) >= 20, "a set was not synced")
    asked = re.search(r"\b(newfstatat|[fl]?stat)\(|statx\([^{]*STATX_([ABCM]TIME|BAS|ALL)", calls)
    expect(not asked, f"a set asks for times: {asked and asked.group()}")
