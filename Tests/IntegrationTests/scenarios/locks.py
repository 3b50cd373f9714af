# SPDX-License-Identifier: Apache-2.0
"""Processes that hold the writers' lock, and are stopped or killed meanwhile."""

import os
import signal

from support import EVERY_USER, expect, need, scenario, stop


# Promise: 17.1
@scenario
def stopped_holder(world):
    """A stopped holder of the writers' lock delays writers until the deadline and no reader."""
    world.fill("a")
    holder = world.agent()
    holder.do(f"hold {world.home}")
    stop(holder)
    outcome = world.run("set", "b", input=b"value of b", timeout=20)
    expect(outcome.code == 75 and "busy" in outcome.err, outcome)
    expect(4.5 < outcome.seconds < 10, "the deadline is 5 s:", outcome)
    seconds = outcome.seconds
    outcome = world.run("get", "a", timeout=20)
    expect(outcome.code == 0 and outcome.seconds < 3, outcome)
    world.doctor()
    os.kill(holder.pid, signal.SIGCONT)
    holder.do("release")
    world.fill("b")
    world.check("a", "b")
    holder.end()
    print(f"gave up after {seconds:.2f} s")


@scenario
def of_a_file_system_without_locks(world):
    """A file system that has no locks left fails a call at once, not at its deadline."""
    need("strace")
    world.fill("a")
    for name in ("keychain.db", "keychain.db-shm"):
        for words in (("get", "a"), ("set", "b")):
            outcome = world.run(
                *words, input=b"value", prefix=(
                    "strace", "-f", "-qq", "-o", "/dev/null", "-P", world.path(name),
                    "-e", "trace=fcntl", "-e", "inject=fcntl:error=ENOLCK"))
            expect(outcome.code == 1 and "No locks available" in outcome.err, name, outcome)
            expect("the file system refuses locks" in outcome.err, name, outcome)
            expect(outcome.seconds < 3, name, outcome)
    world.check("a")


@scenario
def killed_holder(world):
    """A killed process leaves the writers' lock free and nothing of its transaction."""
    world.fill("a")
    holder = world.agent()
    holder.do(f"hold {world.home}")
    os.kill(holder.pid, signal.SIGKILL)
    holder.process.wait()
    world.fill("b")
    world.check("a", "b")
    world.doctor()


# Promise: 13.10
@scenario(users=EVERY_USER)
def stray_close(world):
    """Inspecting the files of a keychain drops no lock of the same process.

    spec/keys-and-states.md §8, case 1."""
    world.fill("a")
    holder = world.agent()
    holder.do("keys")
    holder.do(f"hold {world.home}")
    before = locks(world, holder.pid)
    expect(any("POSIX" in line for line in before), "SQLite holds no lock:", before)
    expect(any("OFD" in line for line in before), "no lock on keychain.lock:", before)
    for _ in range(3):
        unhappy = holder.do("examine")
        expect(unhappy == "", "doctor:", unhappy)
        after = locks(world, holder.pid)
        expect(set(before) <= set(after), "locks were dropped:", before, after)
    outcome = world.run("set", "b", input=b"value of b", timeout=20)
    expect(outcome.code == 75, "another process was let in:", outcome)
    holder.do("release")
    world.fill("b")
    world.check("a", "b")
    holder.end()


def locks(world, pid):
    """Returns the locks on files of the keychain; OFD locks have no process in /proc/locks."""
    inodes = {str(os.stat(world.path(name)).st_ino)
              for name in ("keychain.db", "keychain.db-shm", "keychain.db-wal", "keychain.lock")}
    found = []
    for line in open("/proc/locks"):
        words = line.split()
        if "->" in words or words[5].split(":")[2] not in inodes:
            continue
        if words[1] == "OFDLCK" or words[4] == str(pid):
            found.append(" ".join(words[1:]).replace("OFDLCK", "OFD"))
    return sorted(found)
