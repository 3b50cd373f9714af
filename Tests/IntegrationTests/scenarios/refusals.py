# SPDX-License-Identifier: Apache-2.0
"""Changes of keys when a step of theirs is refused: an error, nothing lost, and no need to start
anew."""

import collections
import os
import shutil

from epochs import (BOUND, CHANGES, CLASSES, GATED, KEYRING, PASSCODE_CLASS, attempt, prepare,
                    steps, verify)
from kills import CHANGING, spread
from places import leave_room
from support import Agent, expect, mount, private_mounts

# What a program can be told when the disk or the kernel does not do what it is asked.
CODES = {"diskFull", "inputOutput", "outOfMemory"}


def refuse_each(world, change):
    prepare(world, change)
    every = [call for call in steps(world, change) if call[0] in CHANGING + KEYRING]
    # Among them one that nobody can do without.
    synced = [call for call in every if call[0] in ("fsync", "fdatasync")]
    tried = every if world.is_thorough else [*spread(every, 4), *synced[:1]]
    outcomes = collections.Counter()
    for number, call in enumerate(tried):
        error = "ENOMEM" if call[0] in KEYRING else ("EIO", "ENOSPC")[number % 2]
        outcome = attempt(
            world, change, "-o", "/dev/null", "-e", f"trace={call[0]}", "-e",
            f"inject={call[0]}:error={error}:when={call[1]}")
        try:
            was_refused = usable(change, outcome)
            outcomes["refused" if was_refused else "done"] += 1
            verify(world, change, None if was_refused else "new")
        except Exception:
            print(f"{error} at {call}: {outcome.out.decode()}")
            raise
    expect(outcomes["refused"] > 0, "nothing was refused")
    print(f"{len(tried)} of {len(every)} calls: {dict(outcomes)}")


def usable(change, outcome):
    """Whether the change was refused; the process must be able to go on either way."""
    expect(outcome.code == 0, "the agent died:", outcome)
    answers = outcome.out.decode().splitlines()
    if change.old != "-" and not change.interrupted:
        answers.pop(0)
    result, readable, state = answers[1], answers[3], answers[4]
    was_refused = result.startswith("error")
    expect(not was_refused or result.split()[1] in CODES, "an odd error:", result)
    # An item that a recovery cannot bring back is damaged until it is set aside.
    items = set(readable.split()[1:])
    if change.line.startswith("recovery use"):
        items.discard(f"!{PASSCODE_CLASS}")
    if change.interrupted and was_refused:
        # Nobody has unlocked it yet.
        return was_refused
    # Items that need a person are read with the passcode, and not by this process.
    expect(items in [names - {BOUND, GATED} for names in change.readable],
           "readable in the same process:", items, state)
    return was_refused


def full_disk(world):
    """Too little room for new keys: an error that says so, before anything is changed."""
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
        expect(agent.do("state").startswith("noPasscode epoch=1 rotating=false erase=false"), line)
    expect(world.names() - {"ballast"} == before, "something was written")
    os.remove(world.path("ballast"))
    agent.do("passcode set one")
    expect(set(agent.do("readable").split()) == CLASSES, "items are lost")
    agent.end()


def full_disk_meanwhile(world):
    """A disk that fills up while keys are changed: it goes on once there is room."""
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
        expect("rotating=false" in state and "items=2007" in state, answer, state)
        agent.end()
        os.system(f"umount {world.home}")


def setting(world):
    refuse_each(world, CHANGES["setting"])


def changing(world):
    refuse_each(world, CHANGES["changing"])


def removing(world):
    refuse_each(world, CHANGES["removing"])


def rotating(world):
    refuse_each(world, CHANGES["rotating"])


def creating_recovery_key(world):
    refuse_each(world, CHANGES["creating_recovery_key"])


def recovering(world):
    refuse_each(world, CHANGES["recovering"])


def recovering_in_between(world):
    refuse_each(world, CHANGES["recovering_in_between"])
