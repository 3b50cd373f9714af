# SPDX-License-Identifier: Apache-2.0
# Promise: 7.7
"""Processes that are killed while they unlock, lock or renew an idle time (docs/FORMAT.md
§10.6)."""

import collections
import glob
import json
import os
import time

from kills import CHANGING, calls, killed, spread
from passcodes import SHARED
from sandboxes import Keys
from support import CRASH_TEST, ORDINARY, expect, need_root, scenario

KEYRING = ("add_key", "keyctl")
CALLS = (*CHANGING, *KEYRING, "prctl", "openat", "pread64")
PASSCODE = "word"
UNLOCK = ("unlock", "--passcode-fd", "0")
# In seconds. A use renews the idle time after an eighth of it.
IDLE, USE, OVER = 1800, 300, 1900
ENTRIES = 42


def keychain(world):
    """Makes a keychain with a passcode and an item, and returns its id."""
    agent = world.agent(env=SHARED)
    agent.do(f"app passcode {PASSCODE}")
    agent.end()
    world.set("a", "value of a", env=SHARED)
    return status(world)["keychainID"]


def typed(words):
    return f"{PASSCODE}\n".encode() if words[0] == "unlock" else b""


def do(world, *words, prefix=()):
    outcome = world.run(*words, input=typed(words), env=SHARED, prefix=prefix)
    expect(outcome.code == 0, words, outcome)
    return outcome


def status(world, prefix=()):
    return json.loads(do(world, "status", "--json", prefix=prefix).out)


def later(seconds):
    """Runs a program with a clock that is ahead, in a time namespace of its own."""
    return ("unshare", "--time", "--boottime", str(seconds))


class Kill:
    """The commands before, the command that is killed, and the allowed states."""

    def __init__(self, before, words, old, new, prefix=(), told_by=()):
        self.before, self.words, self.old, self.new = before, words, old, new
        # The clocks with which the command runs and with which its state is read.
        self.prefix, self.told_by = prefix, told_by


LOCK_ALL = ("lock", "--all")
KILLS = {
    "unlocking": Kill([UNLOCK, ("lock",)], UNLOCK, "locked", "unlocked"),
    "unlocking_first": Kill([], UNLOCK, "beforeFirstUnlock", "unlocked"),
    "unlocking_again": Kill([UNLOCK], UNLOCK, "unlocked", "unlocked"),
    "locking": Kill([UNLOCK], ("lock",), "unlocked", "locked"),
    "locking_all": Kill([UNLOCK], LOCK_ALL, "unlocked", "beforeFirstUnlock"),
    "renewing": Kill([(*UNLOCK, "--auto-lock", f"{IDLE}s")], ("get", "a"), "locked", "unlocked",
                     later(USE), later(OVER)),
}


def kill_at_each(world, name):
    case, identifier = KILLS[name], keychain(world)
    do(world, *LOCK_ALL)
    names = ["all"] if world.is_thorough else CALLS
    every = trace(world, case, names)
    tried, outcomes, most = chosen(world, every), collections.Counter(), 0
    expect(any(call[0] == "keyctl" for call in every), "it does nothing to the kernel's keys")
    before = quota()
    for call in tried:
        prepare(world, case)
        was_killed = killed(world, call, *case.words, input=typed(case.words), env=SHARED,
                            prefix=case.prefix)
        try:
            outcomes[verify(world, case, was_killed)] += was_killed
            most = max(most, closed(world, identifier))
        except Exception:
            print(f"killed at {call}")
            raise
    kill_count = outcomes.total()
    expect(kill_count > len(tried) * 0.8, f"only {kill_count} of {len(tried)} were killed")
    expect(not world.is_thorough or len(outcomes) == len({case.old, case.new}),
           "killed too early or too late:", outcomes)
    print(f"killed at {kill_count} of {len(every)} calls: {dict(outcomes)}; "
          f"at most {most} ended keys were listed")
    if world.is_alone:
        check_quota(before)


def trace(world, case, names):
    prepare(world, case)
    every = calls(world, *case.words, input=typed(case.words), env=SHARED, names=names,
                  prefix=case.prefix)
    found = status(world, case.told_by)["state"]
    expect(found == case.new, "a run that nobody kills leaves", found)
    do(world, *LOCK_ALL)
    return every


def prepare(world, case):
    for words in case.before:
        do(world, *words)


def chosen(world, every):
    """Chooses all calls; in a test run some, mostly those that change something."""
    if world.is_thorough:
        return every
    changing = [call for call in every if call[0] in CHANGING + KEYRING]
    other = [call for call in every if call not in changing]
    return spread(changing, 10) + spread(other, 2)


def verify(world, case, was_killed):
    """Checks that the state is the old or the new one and that the next unlock works; returns
    it."""
    if case.told_by:
        expect(status(world, case.prefix)["state"] == "unlocked", "an idle time is lost")
    found = status(world, case.told_by)["state"]
    expect(found in (case.old, case.new), "the state is", found)
    expect(was_killed or found == case.new, "acknowledged, and", found)
    value = world.run("get", "a", env=SHARED, prefix=case.told_by)
    expect(value.code == (0 if found == "unlocked" else 75), found, value)
    do(world, *UNLOCK)
    expect(world.get("a", env=SHARED) == "value of a", "not unlocked again")
    expect(status(world)["lockStateWarning"] is None, status(world)["lockStateWarning"])
    return found


def closed(world, identifier):
    """Locks everything, and checks that nothing is left that opens a key. Returns how many ended
    keys the kernel still lists."""
    do(world, *LOCK_ALL)
    expect(status(world)["state"] == "beforeFirstUnlock", "a lock of all leaves", status(world))
    # The kernel lists an unlinked key until it has collected it.
    end = time.monotonic() + 20
    while Keys.of(identifier):
        expect(time.monotonic() < end, "a lock of all leaves", Keys.of(identifier))
        time.sleep(0.01)
    for path in sharing_files(world, identifier):
        entries = open(path, "rb").read()[ENTRIES:]
        expect(not any(entries), "a lock of all leaves an entry in", path)
    return sum(identifier in line for line in open("/proc/keys"))


def sharing_files(world, identifier):
    runtime = f"/run/user/{os.geteuid()}/valet"
    return [path for folder in (world.path("device"), runtime)
            for path in glob.glob(f"{glob.escape(folder)}/sharing.{identifier}*")]


def quota():
    """Returns how many kernel keys and how many bytes count for the user."""
    for line in open("/proc/key-users"):
        words = line.split()
        if words[0] == f"{os.geteuid()}:":
            return [int(word.split("/")[0]) for word in words[3:5]]
    return [0, 0]


def check_quota(before):
    """Checks that killed runs leave the quota as it was, once the kernel has collected ended
    keys."""
    end = time.monotonic() + 20
    while any(now > then for now, then in zip(quota(), before)):
        expect(time.monotonic() < end, "keys and bytes of the quota:", before, "and then", quota())
        time.sleep(0.05)


@scenario(users=(ORDINARY,), script=CRASH_TEST)
def unlocking(world):
    """A kill of an unlock leaves the keychain locked or unlocked."""
    kill_at_each(world, "unlocking")


@scenario(users=(ORDINARY,), script=CRASH_TEST)
def unlocking_first(world):
    """A kill of the first unlock leaves the keychain locked or unlocked."""
    kill_at_each(world, "unlocking_first")


@scenario(users=(ORDINARY,), script=CRASH_TEST)
def unlocking_again(world):
    """A kill of a repeated unlock leaves the keychain unlocked."""
    kill_at_each(world, "unlocking_again")


@scenario(users=(ORDINARY,), script=CRASH_TEST)
def locking(world):
    """A kill of a lock leaves the keychain unlocked or locked."""
    kill_at_each(world, "locking")


@scenario(users=(ORDINARY,), script=CRASH_TEST)
def locking_all(world):
    """A kill of a full lock leaves the keychain unlocked or fully locked."""
    kill_at_each(world, "locking_all")


# Promise: 7.7
@scenario(script=CRASH_TEST)
def renewing(world):
    """A kill while an idle time is renewed leaves the old time or the new one."""
    need_root()
    kill_at_each(world, "renewing")


@scenario
def unread_page(world):
    """An unlock that cannot read the page of locks fails or leaves the keychain open."""
    keychain(world)
    page, log = os.path.realpath(world.path("keychain.lock")), f"{world.folder}/trace"
    reading = ("strace", "-f", "-P", page, "-e", "trace=pread64")
    do(world, *LOCK_ALL)
    do(world, *UNLOCK, prefix=(*reading, "-o", log))
    count = sum("pread64(" in line for line in open(log))
    expect(count > 1, "an unlock reads the page", count, "times")
    codes = []
    for number in range(1, count + 1):
        do(world, *LOCK_ALL)
        outcome = world.run(
            *UNLOCK, input=typed(UNLOCK), env=SHARED,
            prefix=(*reading, "-o", "/dev/null", "-e", f"inject=pread64:error=EIO:when={number}"))
        found = status(world)["state"]
        expect(found == ("beforeFirstUnlock" if outcome.code else "unlocked"),
               f"read {number} of {count} failed:", found, "after", outcome)
        codes.append(outcome.code)
        do(world, *UNLOCK)
        expect(world.get("a", env=SHARED) == "value of a", "not unlocked again")
    do(world, *LOCK_ALL)
    expect(any(codes), "every unlock did without", codes)


@scenario
def told_though_unreadable(world):
    """Watchers see a lock even if the database cannot be read."""
    keychain(world)
    database, said = world.path("keychain.db"), world.path("keychain.state")
    for words in (("lock",), LOCK_ALL):
        do(world, *UNLOCK)
        os.utime(said, (0, 0))
        os.chmod(database, 0o644)
        outcome = world.run(*words, env=SHARED)
        os.chmod(database, 0o600)
        expect(outcome.code == 77 and "opened keys were removed" in outcome.err, outcome)
        expect(os.stat(said).st_mtime > 0, words, "told nobody")
