# SPDX-License-Identifier: Apache-2.0
# Promise: 13.5
"""Key changes in which a system call fails: an error, nothing lost, and the process goes on."""

import collections
import json
import os
import shutil

from keychanges import (BOUND, CHANGES, CLASSES, GATED, KEYRING, PASSCODE_CLASS, attempt,
                        prepare, steps, verify)
from kills import CHANGING, spread
from places import leave_room
from support import (CRASH_TEST, Agent, expect, kill_session, mount, need, private_mounts,
                     scenario)

# The errors that a program may get when the disk or the kernel fails.
CODES = {"diskFull", "inputOutput", "outOfMemory"}


def refuse_each(world, change):
    prepare(world, change)
    every = [call for call in steps(world, change) if call[0] in CHANGING + KEYRING]
    # One of these is that of the commit, which every change needs.
    synced = [call for call in every if call[0] == "fdatasync"]
    tried = every if world.is_thorough else [*spread(every, 4), *synced[:3]]
    outcomes = collections.Counter()
    for number, call in enumerate(tried):
        error = "ENOMEM" if call[0] in KEYRING else ("EIO", "ENOSPC")[number % 2]
        outcome = attempt(
            world, change, "-o", "/dev/null", "-e", f"trace={call[0]}", "-e",
            f"inject={call[0]}:error={error}:when={call[1]}")
        try:
            was_refused = usable(change, outcome, may_lock=call[0] in KEYRING)
            outcomes["refused" if was_refused else "done"] += 1
            verify(world, change, None if was_refused else "new")
        except Exception:
            print(f"{error} at {call}: {outcome.out.decode()}")
            raise
    expect(outcomes["refused"] > 0, "nothing was refused")
    print(f"{len(tried)} of {len(every)} calls: {dict(outcomes)}")


def usable(change, outcome, may_lock):
    """Returns whether the change failed; the process must be able to go on either way.

    A key change that cannot share the new keys in the kernel ends them: with `may_lock` the
    keychain may be locked afterwards. The next unlock brings everything back, as `verify` checks.
    """
    expect(outcome.code == 0, "the agent died:", outcome)
    answers = outcome.out.decode().splitlines()
    if change.old != "-":
        answers.pop(0)
    result, readable, state = answers[1], answers[3], answers[4]
    was_refused = result.startswith("error")
    expect(not was_refused or result.split()[1] in CODES, "an odd error:", result)
    # An item that a recovery cannot bring back is damaged until it is set aside.
    items = set(readable.split()[1:])
    if change.line.startswith("recovery use"):
        items.discard(f"!{PASSCODE_CLASS}")
    # This process does not read items that need the user.
    if may_lock and state.split()[1] in ("locked", "beforeFirstUnlock"):
        expect(any(items <= names for names in change.readable), "too many items:", items, state)
        return was_refused
    expect(items in [names - {BOUND, GATED} for names in change.readable],
           "readable in the same process:", items, state)
    return was_refused


# Promise: 13.5
@scenario
def full_disk(world):
    """A key change without room on the disk is refused before it begins."""
    private_mounts()
    os.mkdir(world.home)
    mount("-t", "tmpfs", "-o", "size=12m,mode=700", "tmpfs", world.home)
    variables = {"VALET_LOCK_STATE": "process"}
    agent = Agent(world, variables)
    agent.do("classes")
    leave_room(world, 1500)
    before = world.names() - {"ballast"}
    for line in ("passcode set one", "rotate"):
        answer = agent.ask(line)
        expect(answer.startswith("error diskFull") and "free space" in answer, line, answer)
        expect(agent.do("state").startswith("noPasscode epoch=1 erase=false"), line)
    expect(world.names() - {"ballast"} == before, "something was written")
    os.remove(world.path("ballast"))
    agent.do("passcode set one")
    expect(set(agent.do("readable").split()) == CLASSES, "items are lost")
    agent.end()


# Promise: 13.5
@scenario
def full_disk_meanwhile(world):
    """A key change that meets a full disk changes nothing."""
    private_mounts()
    agent = Agent(world, {"VALET_LOCK_STATE": "process"})
    agent.do("classes")
    agent.do("fill 2000")
    agent.do("close")
    agent.end()
    template = f"{world.home}-template"
    os.rename(world.home, template)
    os.mkdir(world.home)
    for size in range(9, 14):
        mount("-t", "tmpfs", "-o", f"size={size}m,mode=700", "tmpfs", world.home)
        shutil.copytree(template, world.home, dirs_exist_ok=True)
        agent = Agent(world, {"VALET_LOCK_STATE": "process"})
        answer = agent.ask("passcode set one")
        expect(answer.startswith(("ok", "error diskFull")), answer)
        expect(set(agent.do("readable").split()) == CLASSES, "in the same process:", answer)
        mount("-o", "remount,size=64m", world.home)
        agent.do("set a later")
        agent.end()
        agent = Agent(world, {"VALET_LOCK_STATE": "process"})
        if not agent.do("state").startswith("noPasscode"):
            agent.do("unlock one")
        expect(set(agent.do("readable").split()) == CLASSES, "in another process:", answer)
        state = agent.do("state")
        expect("items=2007" in state, answer, state)
        agent.end()
        os.system(f"umount {world.home}")


@scenario(script=CRASH_TEST)
def setting(world):
    """A system call that fails while a passcode is set leaves a usable keychain."""
    refuse_each(world, CHANGES["setting"])


@scenario(script=CRASH_TEST)
def changing(world):
    """A system call that fails while a passcode is changed leaves a usable keychain."""
    refuse_each(world, CHANGES["changing"])


@scenario(script=CRASH_TEST)
def removing(world):
    """A system call that fails while a passcode is removed leaves a usable keychain."""
    refuse_each(world, CHANGES["removing"])


@scenario(script=CRASH_TEST)
def rotating(world):
    """A system call that fails while keys rotate leaves a usable keychain."""
    refuse_each(world, CHANGES["rotating"])


@scenario(script=CRASH_TEST)
def creating_recovery_key(world):
    """A system call that fails while a recovery key is created leaves a usable keychain."""
    refuse_each(world, CHANGES["creating_recovery_key"])


@scenario(script=CRASH_TEST)
def recovering(world):
    """A system call that fails during a recovery leaves a usable keychain."""
    refuse_each(world, CHANGES["recovering"])


@scenario
def unconfirmed_commits(world):
    """A commit that the disk does not confirm does not come back when the log is opened anew. If
    the disk confirms not even that it was taken back, the error says so."""
    need("strace")
    world.set("key", "old")
    for words, when in ((("set", "key"), ":when=1"), (("set", "key"), ""),
                        (("recovery", "create", "--yes"), "")):
        # A program that is killed leaves a log with frames: the next commit comes behind them.
        agent = Agent(world, {"VALET_LOCK_STATE": "process"})
        agent.do("set a one")
        outcome = world.run(*words, input=b"new", prefix=(
            "strace", "-f", "-o", "/dev/null", "-e", "trace=fdatasync,fsync", "-e",
            f"inject=fdatasync,fsync:error=EIO{when}"))
        expect(outcome.code != 0 and not outcome.out, "not refused:", outcome)
        is_known = "look whether the change was made" not in outcome.err
        expect(words[0] != "set" or is_known == bool(when), outcome)
        kill_session(agent.process)
        world.started.remove(agent.process)
        expect(world.get("key") == "old", "the refused value is there")
        status = json.loads(world.run("status", "--json").out)
        expect(status["recoveryKey"] is False, "nobody has the recovery key:", status)
