# SPDX-License-Identifier: Apache-2.0
"""Processes that are stopped at a system call, and systems that give no locks: every other
process gets its answer by its deadline."""

import contextlib
import os
import signal
import threading
import time

from kills import calls, spread
from support import AGENT_ITEMS, COMMAND, expect, kill_session, need, scenario

# The deadline is 5 s. SQLite alone would wait 10 s and more; a busy machine takes some time, too.
LIMIT = 8
CHOSEN = ("fcntl", "pwrite64", "fdatasync", "fsync", "ftruncate", "mmap", "openat", "linkat",
          "renameat2", "unlinkat")


def stopped(world, call, words, value):
    """Starts a command that stops at a call; returns None if it ended before that call."""
    process = world.start(
        ["strace", "-f", "-o", "/dev/null", "-e", f"trace={call[0]}", "-e",
         f"inject={call[0]}:signal=STOP:when={call[1]}", COMMAND, *words],
        stdin=value, stdout=open(os.devnull, "w"), stderr=open(os.devnull, "w"))
    if stops(process.pid, lambda: process.poll() is not None, call):
        return process
    world.started.remove(process)
    return None


def stops(tracer, has_ended, call):
    """Waits until the traced process has stopped; returns false if it ended before the call."""
    seen, end = 0, time.monotonic() + 30
    while seen < 5:
        expect(time.monotonic() < end, f"neither stopped nor ended at {call}")
        time.sleep(0.05)
        if has_ended():
            return False
        seen = seen + 1 if is_stopped(tracer) else 0
    return True


def go_on(tracer):
    """Lets the traced process go on. On a busy machine it may have seemed to be stopped before it
    was: so the signal is sent again until the tracer ends, or five minutes have passed."""
    resume(tracer)
    threading.Thread(target=keep_resuming, args=[tracer], daemon=True).start()


def keep_resuming(tracer):
    for _ in range(300):
        time.sleep(1)
        try:
            resume(tracer)
        except (FileNotFoundError, ProcessLookupError):
            return


@contextlib.contextmanager
def resuming(tracer):
    """Lets the traced process go on wherever it stops meanwhile."""
    has_ended = threading.Event()

    def go_on_until_then():
        while not has_ended.wait(0.2):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                resume(tracer)
    thread = threading.Thread(target=go_on_until_then, daemon=True)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()


def resume(tracer):
    for child in children(tracer):
        os.kill(int(child), signal.SIGCONT)


def children(process):
    return open(f"/proc/{process}/task/{process}/children").read().split()


def is_stopped(tracer):
    try:
        states = [open(f"/proc/{child}/stat").read().rsplit(")", 1)[1].split()[0]
                  for child in children(tracer)]
    except FileNotFoundError:
        return False
    return bool(states) and all(state in "Tt" for state in states)


def answers(world, agents):
    """Returns the answers to four concurrent calls and their seconds: a read and a write by
    running programs, and by commands."""
    found = {}

    def measure(name, ask):
        begin = time.monotonic()
        answer = ask()
        found[name] = (answer.strip(), time.monotonic() - begin)

    def command(*words, **options):
        outcome = world.run(*words, *AGENT_ITEMS, timeout=60, **options)
        return {0: "ok", 75: "error timedOut"}.get(outcome.code, str(outcome))

    asks = {
        "get": lambda: agents[0].ask("get key"), "set": lambda: agents[1].ask("set other x"),
        "valet get": lambda: command("get", "key"),
        "valet set": lambda: command("set", "third", input=b"x")}
    threads = [threading.Thread(target=measure, args=item) for item in asks.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(len(found) == len(asks), "somebody was not answered:", found)
    return found


def stop_each(world, *words, count, stays_open):
    """Stops runs of a command, one after the other, and checks the answers to other processes."""
    need("strace")
    world.set("key", "value", *AGENT_ITEMS)
    agents = [world.agent() for _ in range(2)]
    every = [call for call in calls(world, *words, input=b"x") if call[0] in CHOSEN]
    tried = every if world.is_thorough else spread(every, count)
    value, stop_count, longest, read_count = world.path("../input"), 0, 0, 0
    with open(value, "wb") as file:
        file.write(b"x")
    for call in tried:
        for agent in agents:
            agent.do("get key")
            if not stays_open:
                agent.do("close")
        process = stopped(world, call, words, open(value, "rb"))
        if process is None:
            continue
        stop_count += 1
        found = answers(world, agents)
        for name, (answer, seconds) in found.items():
            right = answer in ("ok", "ok value") or answer.startswith("error timedOut")
            expect(right, f"stopped at {call}, {name}:", answer)
            expect(seconds < LIMIT, f"stopped at {call}, {name} took {seconds:.2f} s: {answer}")
            longest = max(longest, seconds)
        read_count += found["get"][0].startswith("ok") and found["get"][1] < 3
        kill_session(process)
        world.started.remove(process)
        expect(agents[0].do("get key") == "value", f"after {call}")
    expect(stop_count > len(tried) / 2, f"only {stop_count} of {len(tried)} were stopped")
    if stays_open:
        # After the first opening, programs that have the keychain open read on.
        expect(read_count == stop_count, f"{stop_count - read_count} reads waited")
    for agent in agents:
        agent.end()
    world.doctor()
    print(f"{stop_count} of {len(every)} calls, the longest answer took {longest:.2f} s; "
          f"{read_count} reads came at once")


# Promise: 17.7
@scenario
def setting(world):
    """A process that is stopped while it writes delays no reader and no writer beyond the
    deadline."""
    stop_each(world, "set", "target", count=5, stays_open=True)


# Promise: 17.7
@scenario
def getting(world):
    """A process that is stopped while it reads delays no reader."""
    stop_each(world, "get", "key", *AGENT_ITEMS, count=5, stays_open=True)


# Promise: 17.7
@scenario
def opening(world):
    """A process that is stopped while it opens a keychain to read delays nobody beyond the
    deadline."""
    stop_each(world, "get", "key", *AGENT_ITEMS, count=8, stays_open=False)


# Promise: 17.7
@scenario
def opening_to_write(world):
    """A process that is stopped while it opens a keychain to write delays nobody beyond the
    deadline."""
    stop_each(world, "set", "target", count=6, stays_open=False)


# Promise: 17.7
@scenario
def rotating(world):
    """A process that is stopped while it rotates keys delays nobody beyond the deadline."""
    stop_each(world, "rotate", count=5, stays_open=False)


def refused(world, error, is_open):
    """Refuses every lock on the log's index from some time on."""
    need("strace")
    world.set("key", "value", *AGENT_ITEMS)
    agent = world.agent()
    agent.do("get key")
    agent.do("set other x")
    if not is_open:
        agent.do("close")
    index = os.path.realpath(world.path("keychain.db-shm"))
    tracer = world.start(
        ["strace", "-f", "-p", str(agent.pid), "-o", "/dev/null", "-P", index, "-e",
         "trace=fcntl", "-e", f"inject=fcntl:error={error}"],
        stdin=open(os.devnull), stderr=open(f"{world.folder}/strace", "w"))
    end = time.monotonic() + 20
    while "attached" not in open(f"{world.folder}/strace").read():
        expect(time.monotonic() < end and tracer.poll() is None, "strace does not attach")
        time.sleep(0.05)
    slowest = 0
    for line in ("get key", "set other y", "get key"):
        begin = time.monotonic()
        answer = agent.ask(line)
        seconds = time.monotonic() - begin
        expect(answer.startswith("error inputOutput"), line, answer)
        expect(seconds < LIMIT, f"{line} took {seconds:.2f} s")
        slowest = max(slowest, seconds)
    hint = agent.do("app hint")
    is_said = hint.startswith("the file system refuses locks")
    expect(is_said or error != "ENOLCK", "the hint:", hint)
    tracer.send_signal(signal.SIGINT)
    tracer.wait(20)
    expect(agent.do("get key") == "value", "once there are locks again")
    agent.do("set other z")
    agent.end()
    world.doctor()
    print(f"{error}: {slowest:.2f} s")


# Promise: 17.7
@scenario
def no_locks(world):
    """Without file locks every call fails by its deadline and says why.

    Either no lock is left, or the disk fails."""
    for is_open in (True, False):
        refused(world, "ENOLCK", is_open)
        refused(world, "EIO", is_open)
