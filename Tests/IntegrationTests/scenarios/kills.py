# SPDX-License-Identifier: Apache-2.0
"""`kill -9` at the system calls of a command."""

import collections
import os
import re
import shutil
import stat

from support import CRASH_TEST, EVERY_USER, expect, need, scenario

# System calls that change a file, and those that decide about changes or wait.
CHANGING = ("pwrite64", "write", "fdatasync", "fsync", "ftruncate", "fallocate", "linkat",
            "renameat", "renameat2", "rename", "unlink", "unlinkat", "mknodat", "mkdirat",
            "fchmod", "fchmodat", "fchown")
OTHER = ("openat", "fcntl", "pread64", "newfstatat", "mmap", "close", "readlink", "geteuid",
         "getrandom", "prctl", "exit_group")


def calls(world, *words, input, names=CHANGING + OTHER, prefix=(), **options):
    """Returns the system calls of a run after the command's own code begins, as (name, number)."""
    need("strace")
    log = f"{world.folder}/trace"
    outcome = world.run(
        *words, input=input, **options,
        prefix=(*prefix, "strace", "-f", "-o", log, "-e", f"trace={','.join(names)}"))
    expect(outcome.code == 0, "under strace:", outcome)
    counts, found, has_begun = collections.Counter(), [], False
    for line in open(log, errors="replace"):
        match = re.match(r"\d+ +(\w+)\(", line)
        if not match:
            continue
        counts[match[1]] += 1
        has_begun = has_begun or "PR_SET_DUMPABLE" in line
        if has_begun:
            found.append((match[1], counts[match[1]]))
    expect(len(found) > 50, "the trace is too short")
    return found


def killed(world, call, *words, input, prefix=(), **options):
    """Kills a run at the start of a call; returns False if the run ended before that call."""
    outcome = world.run(
        *words, input=input, **options,
        prefix=(*prefix, "strace", "-f", "-o", "/dev/null", "-e", f"trace={call[0]}", "-e",
                f"inject={call[0]}:signal=KILL:when={call[1]}"))
    expect(outcome.code in (0, -9, 137), f"to be killed at {call}:", outcome)
    return outcome.code != 0


def chosen(world, found, count):
    """Chooses all calls; in a test run `count` of them, mostly those that change something."""
    if world.is_thorough:
        return found
    changing = [call for call in found if call[0] in CHANGING]
    other = [call for call in found if call[0] not in CHANGING]
    picked = set(spread(changing, count * 3 // 4))
    picked |= set(spread(other, count - len(picked)))
    return [call for call in found if call in picked]


def spread(items, count):
    step = max(1.0, len(items) / count)
    return [items[int(index * step)] for index in range(min(count, len(items)))]


# Promise: 13.1
@scenario(script=CRASH_TEST)
def existing(world):
    """A kill during a write leaves the old value or the new one."""
    keys = [f"early-{index}" for index in range(3)]
    world.fill(*keys)
    world.set("target", "value 0")
    every = calls(world, "set", "target", input=b"value 0")
    old, kill_count, tried = "value 0", 0, chosen(world, every, 20)
    for number, call in enumerate(tried):
        new = f"value {number + 1}"
        was_killed = killed(world, call, "set", "target", input=new.encode())
        found = world.get("target")
        expect(found in (old, new), f"killed at {call}: {found!r}")
        expect(was_killed or found == new, f"{call}: {new!r} was acknowledged, and is lost")
        old, kill_count = found, kill_count + was_killed
        world.check(keys[number % 3])
        if number % 5 == 0:
            world.doctor()
    world.check(*keys)
    world.doctor()
    report(kill_count, tried, every)


# Promise: 13.3
@scenario(users=EVERY_USER, script=CRASH_TEST)
def creation(world):
    """A kill during the first write leaves a keychain that the next write completes."""
    for call, was_killed in created(world, 20, "set", "first", input=b"value of first"):
        outcome = world.run("get", "first")
        expect(outcome.code in (0, 44), f"killed at {call}, then get:", outcome)
        expect(was_killed or outcome.code == 0, "acknowledged, and lost")
        expect(outcome.code == 44 or outcome.out == b"value of first", outcome)
        outcome = world.run("set", "second", input=b"value of second")
        expect(outcome.code == 0, f"killed at {call}, then set:", outcome)
        world.fill("first")
        world.check("first", "second")
        world.doctor()


def created(world, count, *words, input, **options):
    """Kills runs that create a keychain, one for each call; yields the call and whether the run
    was killed."""
    template = world.home
    world.home = f"{template}-traced"
    every = calls(world, *words, input=input, **options)
    kill_count = 0
    tried = spread(every, 500) if world.is_thorough else chosen(world, every, count)
    for number, call in enumerate(tried):
        world.home = f"{template}-{number}"
        was_killed = killed(world, call, *words, input=input, **options)
        yield call, was_killed
        check_modes(world)
        shutil.rmtree(world.home)
        kill_count += was_killed
    report(kill_count, tried, every)


def report(kill_count, tried, every):
    expect(kill_count > len(tried) * 0.8, f"only {kill_count} of {len(tried)} were killed")
    print(f"killed at {kill_count} of {len(every)} calls")


def check_modes(world):
    for folder, _, files in os.walk(world.home):
        expect(stat.S_IMODE(os.stat(folder).st_mode) == 0o700, "mode of", folder)
        for file in files:
            mode = stat.S_IMODE(os.stat(os.path.join(folder, file)).st_mode)
            expect(mode == 0o600, f"mode {mode:o} of", file)


# Promise: 13.1
@scenario(script=CRASH_TEST)
def checkpoint(world):
    """A kill during a checkpoint of the log loses nothing."""
    world.fill("early")
    world.set("large", b"x" * (5 << 20))
    template = f"{world.home}-template"
    shutil.copytree(world.home, template)
    every = calls(world, "set", "target", input=b"value of target")
    # Most calls write one page each.
    kill_count, tried = 0, spread(every, 150) if world.is_thorough else chosen(world, every, 8)
    for call in tried:
        shutil.rmtree(world.home)
        shutil.copytree(template, world.home)
        was_killed = killed(world, call, "set", "target", input=b"value of target")
        world.check("early")
        outcome = world.run("get", "target")
        expect(outcome.code == 0 or (was_killed and outcome.code == 44), call, outcome)
        expect(len(world.get("large")) == 5 << 20, "large")
        world.doctor()
        kill_count += was_killed
    report(kill_count, tried, every)
