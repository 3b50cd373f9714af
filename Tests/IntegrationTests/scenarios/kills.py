# SPDX-License-Identifier: Apache-2.0
"""`kill -9` at a system call, whichever it is."""

import os
import shutil
import stat

from support import expect, need

# What may change a file, decides what will, or waits.
CALLS = ("pwrite64,write,fdatasync,fsync,ftruncate,fallocate,linkat,renameat,renameat2,rename,"
         "unlink,unlinkat,mknodat,mkdirat,fchmod,fchmodat,fchown,openat,fcntl,pread64,newfstatat,"
         "mmap,close")


def trace(world, *words, input):
    """Which calls a run makes, from the first that touches the keychain on."""
    need("strace")
    log = f"{world.folder}/trace"
    outcome = world.run(
        *words, input=input, prefix=("strace", "-f", "-o", log, "-e", f"trace={CALLS}"))
    expect(outcome.code == 0, "under strace:", outcome)
    lines = [line for line in open(log, errors="replace") if "(" in line]
    first = next(index for index, line in enumerate(lines) if world.home in line)
    return first + 1, len(lines)


def killed(world, number, *words, input):
    """Kills a run when it begins its call of that number; False if it had ended before."""
    return world.run(
        *words, input=input,
        prefix=("strace", "-f", "-o", "/dev/null", "-e", f"trace={CALLS}", "-e",
                f"inject={CALLS}:signal=KILL:when={number}")).code != 0


def numbers(world, first, last, count):
    """The calls to try: all, or as many as a test run has time for, evenly spread."""
    if world.is_thorough:
        return range(first, last + 20)
    step = max(1, (last - first) // count)
    return range(first + step // 2, last + 1, step)


def existing(world):
    """In `set` on a keychain that exists: the old value or the new one, and nothing else lost."""
    keys = [f"early-{index}" for index in range(3)]
    world.fill(*keys)
    world.set("target", "value 0")
    first, last = trace(world, "set", "target", input=b"value 0")
    old, tried = "value 0", 0
    for number in numbers(world, first, last, 40):
        new = f"value {number}"
        was_killed = killed(world, number, "set", "target", input=new.encode())
        found = world.get("target")
        expect(found in (old, new), f"killed at call {number}: {found!r}")
        expect(was_killed or found == new, f"call {number}: {new!r} was acknowledged, and is lost")
        old, tried = found, tried + 1
        world.check(keys[number % 3])
        if number % 10 == 0 or not was_killed:
            world.doctor()
        if not was_killed:
            break
    world.check(*keys)
    world.doctor()
    print(f"{tried} of calls {first} to {last}")


def creation(world):
    """In the first `set`: whatever was done, the next one works."""
    template = world.home
    world.home = f"{template}-traced"
    first, last = trace(world, "set", "first", input=b"value of first")
    tried = 0
    for number in numbers(world, first, last, 40):
        world.home = f"{template}-{number}"
        was_killed = killed(world, number, "set", "first", input=b"value of first")
        outcome = world.run("get", "first")
        expect(outcome.code in (0, 44), f"killed at call {number}, then get:", outcome)
        expect(was_killed or outcome.code == 0, "acknowledged, and lost")
        expect(outcome.code == 44 or outcome.out == b"value of first", outcome)
        outcome = world.run("set", "second", input=b"value of second")
        expect(outcome.code == 0, f"killed at call {number}, then set:", outcome)
        world.fill("first")
        world.check("first", "second")
        world.doctor()
        check_modes(world)
        shutil.rmtree(world.home)
        tried += 1
        if not was_killed:
            break
    print(f"{tried} of calls {first} to {last}")


def check_modes(world):
    for folder, _, files in os.walk(world.home):
        expect(stat.S_IMODE(os.stat(folder).st_mode) == 0o700, "mode of", folder)
        for file in files:
            mode = stat.S_IMODE(os.stat(os.path.join(folder, file)).st_mode)
            expect(mode == 0o600, f"mode {mode:o} of", file)


def checkpoint(world):
    """In a `set` that takes over the log: as in any other."""
    world.fill("early")
    world.set("large", b"x" * (5 << 20))
    template = f"{world.home}-template"
    shutil.copytree(world.home, template)
    first, last = trace(world, "set", "target", input=b"value of target")
    # Much of it is one write after the other.
    tried = 0
    for number in list(numbers(world, first, last, 12))[::1 if last < 500 or not world.is_thorough else 9]:
        shutil.rmtree(world.home)
        shutil.copytree(template, world.home)
        was_killed = killed(world, number, "set", "target", input=b"value of target")
        world.check("early")
        outcome = world.run("get", "target")
        expect(outcome.code == 0 or (was_killed and outcome.code == 44), number, outcome)
        expect(len(world.get("large")) == 5 << 20, "large")
        world.doctor()
        tried += 1
    print(f"{tried} of calls {first} to {last}")
