# SPDX-License-Identifier: Apache-2.0
"""Locks, passcodes and new keys between processes: spec/keys-and-states.md §8, cases 5, 12, 13."""

import ctypes
import errno
import os
import random
import signal
import time

import passcodes
from support import EVERY_USER, ORDINARY, expect, need_quota, scenario, stop

KERNEL = {"VALET_LOCK_STATE": "kernel"}
SYS_ADD_KEY, SYS_KEYCTL, THREAD_KEYRING, KEYCTL_CLEAR = 248, 250, -1, 7


def agents(world, count, **changes):
    return [world.agent(env={**KERNEL, **changes}) for _ in range(count)]


def finish(*everybody):
    """Takes the keys out of the kernel and ends all agents."""
    everybody[0].ask("lock all")
    for agent in everybody:
        agent.end()


def expect_keys(agent, place):
    state = agent.do("state")
    expect(state.startswith("unlocked ") and state.endswith(f" keys={place}"), state)


@scenario(users=EVERY_USER)
def two_keychains(world):
    """The lock state of one keychain does not affect another."""
    first, second = agents(world, 1) + agents(world, 1, VALET_HOME=f"{world.folder}/other")
    for agent, word in ((first, "one"), (second, "two")):
        agent.do(f"passcode set {word}")
        agent.do(f"set key {word}")
    choices = random.Random(1)
    is_open = {first: True, second: True}
    for step in range(12):
        agent = choices.choice((first, second))
        word = "one" if agent is first else "two"
        if is_open[agent]:
            agent.do(f"set key {word}")
            agent.do("lock all" if choices.random() < 0.3 else "lock")
        else:
            expect(agent.ask(f"unlock {'two' if word == 'one' else 'one'}")
                   .startswith("error authenticationFailed"), "the other's passcode")
            agent.do(f"unlock {word}")
        is_open[agent] = not is_open[agent]
        for other, value in ((first, "one"), (second, "two")):
            answer = other.ask("get key")
            right = answer == f"ok {value}" if is_open[other] else answer.startswith("error locked")
            expect(right, f"step {step}: {answer}")
            expect(other.do("access") == str(is_open[other]).lower(), "canAccessKeychain")
    second.ask("lock all")
    second.end()
    finish(first)


@scenario(users=(ORDINARY,))
def full_quota(world):
    """Without room for kernel keys each process unlocks for itself."""
    need_quota(world)
    libc = ctypes.CDLL(None, use_errno=True)
    reader, other = agents(world, 2)
    reader.do("passcode set word")
    reader.do("set key value")
    expect_keys(reader, "kernel")
    expect(other.do("get key") == "value", "not shared")
    reader.do("lock all")
    count = 0
    for _ in range(5):
        while libc.syscall(
                SYS_ADD_KEY, b"user", b"valet-test:%d" % count, b"x", 1, THREAD_KEYRING) > 0:
            count += 1
            expect(count < 100_000, "there is no quota")
        expect(ctypes.get_errno() == errno.EDQUOT, os.strerror(ctypes.get_errno()))
        # The kernel frees the quota of revoked keys with a delay.
        time.sleep(0.2)
    reader.do("unlock word")
    expect(reader.do("get key") == "value", "not unlocked")
    reader.do("set key other")
    expect_keys(reader, "process")
    expect(other.ask("get key").startswith("error locked"), "keys that were not shared")
    other.do("unlock word")
    expect(other.do("get key") == "other", "not unlocked")
    finish(reader, other)
    print(f"{count} keys were in the way")


def fill_bytes():
    """Uses up the bytes of the user's quota but not the number of keys."""
    libc = ctypes.CDLL(None, use_errno=True)
    count = 0
    for _ in range(5):
        for size in (2000, 200, 1):
            while libc.syscall(SYS_ADD_KEY, b"user", b"valet-test:%d" % count, b"x" * size, size,
                               THREAD_KEYRING) > 0:
                count += 1
                expect(count < 1000, "there is no quota")
        expect(ctypes.get_errno() == errno.EDQUOT, os.strerror(ctypes.get_errno()))
        # The kernel frees the quota of revoked keys with a delay.
        time.sleep(0.2)


# Promise: 8.11
@scenario(users=(ORDINARY,))
def no_room_for_new_keys(world):
    """Keys change even without room in the kernel, and then programs unlock again."""
    need_quota(world)
    reader, other = agents(world, 2)
    reader.do("passcode set word")
    reader.do("set key value")
    expect_keys(reader, "kernel")
    expect(other.do("get key") == "value", "not shared")
    for is_locked in (False, True):
        make_room(reader)
        if is_locked:
            reader.do("lock")
        fill_bytes()
        outcome = passcodes.run(world, "rotate", lines=["word"])
        expect(outcome.code == 0 and "locked for other programs" in outcome.err, outcome)
        for agent in (reader, other):
            expect(agent.do("state").startswith("beforeFirstUnlock "), agent.do("state"))
            answer = agent.ask("get key")
            expect(answer.startswith("error locked"), answer)
    make_room(reader)
    expect(other.do("get key") == "value", "not unlocked")
    finish(reader, other)


def make_room(agent, passcode="word"):
    """Unlocks into the kernel as soon as its quota has room again."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(SYS_KEYCTL, KEYCTL_CLEAR, THREAD_KEYRING)
    end = time.monotonic() + 30
    while "keys=kernel" not in agent.do("state") or "unlocked " not in agent.do("state"):
        expect(time.monotonic() < end, "there is no room again")
        time.sleep(0.1)
        agent.do(f"unlock {passcode}")


@scenario(users=EVERY_USER)
def stopped_writer(world):
    """A writer that is stopped while keys change leaves readable items."""
    world.fill("a")
    owner, reader = agents(world, 2)
    owner.do("passcode set word")
    writer = world.agent(env=KERNEL)
    choices, changed, waited, logs = random.Random(2), 0, 0, []
    # A busy machine meets the writer almost always in the lock; there it takes more rounds.
    while len(logs) < (20 if world.is_thorough else 4) or changed < 3:
        expect(len(logs) < 60, f"the keys changed {changed} times only, in {waited} tries")
        logs.append(f"{world.folder}/log-{len(logs)}")
        writer.tell(f"work w{len(logs)} {logs[-1]} 2")
        end = time.monotonic() + 1.8
        while time.monotonic() < end:
            time.sleep(choices.random() * 0.02)
            stop(writer)
            if holds_lock(writer, world):
                # A key change would wait for it, which another scenario tests.
                waited += 1
            else:
                owner.do("rotate word")
                changed += 1
            os.kill(writer.pid, signal.SIGCONT)
        expect(writer.answer(90).startswith("ok"), "the writer failed")
    keys = set(reader.do("keys").split())
    lines = [line.split() for log in logs for line in open(log)]
    gone = {key for verb, key in lines if verb != "added"}
    lost = {key for verb, key in lines if verb == "added"} - gone - keys
    expect(not lost, f"lost: {sorted(lost)[:5]}")
    for key in sorted(keys):
        expect(reader.do(f"get {key}") == f"value of {key}", key)
    writer.end()
    world.doctor()
    finish(owner, reader)
    print(f"{changed} changes while it stood still, {waited} times it had the lock")


def holds_lock(process, world):
    """Says whether a stopped process has the writers' lock. Looks at its own descriptors, because
    /proc/locks leaves some locks out while other processes lock and unlock."""
    inode = f":{os.stat(world.path('keychain.lock')).st_ino} "
    folder = f"/proc/{process.pid}/fdinfo"
    return any(line.startswith("lock:") and inode in line and "->" not in line
               for number in os.listdir(folder) for line in open(f"{folder}/{number}"))


@scenario(users=EVERY_USER)
def racing_readers(world):
    """Concurrent readers get the answers of one lock state or the other."""
    world.fill("a")
    owner, *readers = agents(world, 9)
    owner.do("passcode set word")
    owner.do("set key value")
    seconds = 30 if world.is_thorough else 5
    for reader in readers:
        reader.tell(f"tally key {seconds}")
    end = time.monotonic() + seconds - 0.5
    count = 0
    while count < 5 or time.monotonic() < end:
        expect(time.monotonic() < end + 60, count, "rounds in", seconds + 60, "s")
        owner.do("lock")
        # Readers who wait for the keys of the last change have to meet this state, too.
        time.sleep(0.02)
        owner.do("unlock word")
        owner.do("rotate word")
        owner.do("passcode change word word")
        count += 1
    right = {"get=value", "get=locked", "absent=itemNotFound", "has=true", "has=locked",
             "keys=true", "keys=locked"}
    seen = set()
    for reader in readers:
        answers = set(reader.answer(90).split()[1:])
        expect(answers <= right, "wrong answers:", sorted(answers - right))
        expect("get=value" in answers, "nothing was read:", answers)
        seen |= answers
    expect("get=locked" in seen, "nobody met the locked keychain:", seen)
    finish(owner, *readers)
    print(f"{count} rounds")


@scenario(users=EVERY_USER)
def racing_changes(world):
    """Concurrent readers read every item while keys change."""
    world.fill("a")
    owner, *readers = agents(world, 9)
    owner.do("set key value")
    seconds = 20 if world.is_thorough else 5
    for reader in readers:
        reader.tell(f"tally key {seconds}")
    end = time.monotonic() + seconds - 0.5
    owner.do("rotate")
    owner.do("passcode set word")
    while time.monotonic() < end:
        owner.do("rotate word")
        owner.do("passcode change word word")
    right = {"get=value", "absent=itemNotFound", "has=true", "keys=true"}
    for reader in readers:
        answers = set(reader.answer(90).split()[1:])
        expect(answers == right, "wrong answers:", sorted(answers ^ right))
    world.doctor()
    finish(owner, *readers)
