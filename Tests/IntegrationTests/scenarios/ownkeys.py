# SPDX-License-Identifier: Apache-2.0
"""Key changes and locks beside programs that have the keychain unlocked: what fails leaves
what others have open, and what a program has for itself stays its own."""

import collections
import os

import opened
from kills import calls, spread
from passcodes import ALONE, PASSCODE, SHARED, do, ends, keychain, run
from support import expect, need, scenario

OTHER = "other words"
# Each key change, the lines that it reads, and the passcode after it.
CHANGES = {
    ("rotate",): ([PASSCODE], PASSCODE),
    ("recovery", "create", "--yes"): ([PASSCODE], PASSCODE),
    ("passcode", "change"): ([PASSCODE, OTHER], OTHER),
    ("passcode", "remove", "--yes"): ([PASSCODE], None),
}
# The error of each call on a machine without free descriptors or with a failing disk.
ERRORS = {"openat": "EMFILE", "pread64": "EIO", "statx": "EIO", "newfstatat": "EIO", "fcntl": "EIO",
          "mmap": "ENOMEM", "pwrite64": "EIO", "fstat": "EIO"}
LOCKED_FOR_OTHERS = "the keychain is locked for other programs"


def shared_files(world):
    """The marks in the keychain's folder, and every sharing file."""
    identifier = open(world.path("device/device.key"), "rb").read()[10:26].hex()
    paths = [world.path("keychain.lock"), *opened.sharing_files(world, identifier)]
    return {path: open(path, "rb").read() for path in paths}


def failing(number):
    """Runs a command whose fsync of that number fails."""
    return ("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync,fsync", "-e",
            f"inject=fdatasync,fsync:error=EIO:when={number}")


def change_failing(world, env):
    """Makes each change with a disk that fails once, at each moment, until one succeeds."""
    need("strace")
    for words, (lines, after) in CHANGES.items():
        with keychain(world):
            failures, outcome = 0, None
            for number in range(1, 30):
                before = shared_files(world)
                outcome = run(world, *words, lines=lines, env=env, prefix=failing(number))
                if outcome.code == 0:
                    break
                failures += 1
                expect(world.get("a", env=SHARED) == "value of a", words, number, outcome)
                expect(shared_files(world) == before, "a change that failed published:", words)
            expect(failures > 0 and outcome.code == 0, words, "fails never, or always:", outcome)
            yield words, after, before, outcome
            if after:
                do(world, "passcode", "remove", "--yes", lines=[after])
        world.run("remove", "--all", "--yes")


# Promise: 8.4
@scenario
def failed_change_with_own_keys(world):
    """A key change by a program with keys of its own touches no shared keys, fails or not."""
    for words, after, before, outcome in change_failing(world, ALONE):
        now = {path: open(path, "rb").read() for path in before}
        expect(now == before, "shared keys were changed by", words)
        if after:
            expect(LOCKED_FOR_OTHERS in outcome.err, "not told:", words, outcome)
            ends(75, run(world, "get", "a"))
            do(world, "unlock", lines=[after])
        else:
            expect(LOCKED_FOR_OTHERS not in outcome.err, "told for nothing:", words, outcome)
        expect(world.get("a", env=SHARED) == "value of a", "after", words)


# Promise: 8.3
@scenario
def failed_change_with_shared_keys(world):
    """A key change that fails before its commit has published nothing."""
    for words, _, _, outcome in change_failing(world, SHARED):
        expect(LOCKED_FOR_OTHERS not in outcome.err, "locked:", words, outcome)
        expect(world.get("a", env=SHARED) == "value of a", "after", words)


# Promise: 7.15
@scenario
def misread_lock(world):
    """A lock that cannot open or read a file once locks its keychain, and no other one."""
    away = {**SHARED, "VALET_HOME": f"{world.folder}/away"}
    world.set("b", "value of b", env=away)
    do(world, "passcode", "set", lines=[PASSCODE], env=away)
    with keychain(world):
        every = calls(world, "lock", input=b"", env=SHARED, names=(*ERRORS, "prctl"))
        every = [call for call in every if call[0] in ERRORS]
        tried, outcomes = every if world.is_thorough else spread(every, 40), collections.Counter()
        for name, number in tried:
            do(world, "unlock", lines=[PASSCODE])
            outcome = world.run("lock", env=SHARED, prefix=(
                "strace", "-f", "-o", "/dev/null", "-e", f"trace={name}", "-e",
                f"inject={name}:error={ERRORS[name]}:when={number}"))
            outcomes[outcome.code] += 1
            expect(world.get("b", env=away) == "value of b", name, number,
                   "locked another keychain:", outcome)
            found = opened.status(world)["state"]
            expect(found == "locked", name, number, "left it", found, outcome)
        print(f"{len(tried)} of {len(every)} calls failed: {dict(outcomes)}")
    world.run("lock", "--all", env=away)


# Promise: 7.15
@scenario
def misread_unlock(world):
    """An unlock that cannot read something once ends no keys that were open before it."""
    with keychain(world):
        unlock, line = ("unlock", "--passcode-fd", "0"), f"{PASSCODE}\n".encode()
        every = calls(world, *unlock, input=line, env=SHARED, names=("pread64", "prctl"))
        numbers = [number for name, number in every if name == "pread64"]
        do(world, "lock")
        # The last ones read the page of locks, when the former keys have ended.
        for number in numbers if world.is_thorough else numbers[-8:]:
            outcome = world.run(*unlock, input=line, env=SHARED, prefix=(
                "strace", "-f", "-o", "/dev/null", "-e", "trace=pread64", "-e",
                f"inject=pread64:error=EIO:when={number}"))
            found = opened.status(world)["state"]
            expect(found in (("unlocked",) if outcome.code == 0 else ("locked", "unlocked")),
                   number, "left it", found, outcome)
            do(world, "lock")


# Promise: 7.15
@scenario
def lock_of_damaged_files(world):
    """A lock of a damaged keychain locks the others only if nothing tells which keychain it is."""
    away = {**SHARED, "VALET_HOME": f"{world.folder}/away"}
    world.set("b", "value of b", env=away)
    do(world, "passcode", "set", lines=[PASSCODE], env=away)
    with keychain(world):
        database = world.path("keychain.db")
        os.rename(database, database + ".away")
        with open(database, "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(b"\7" * 8192)
        ends(65, world.run("lock", env=SHARED), "its opened keys were removed")
        expect(world.get("b", env=away) == "value of b", "another keychain was locked")
        os.rename(database + ".away", database)
        expect(opened.status(world)["state"] == "locked", "not locked")
    world.run("lock", "--all", env=away)
