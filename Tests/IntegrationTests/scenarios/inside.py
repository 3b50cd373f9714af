# SPDX-License-Identifier: Apache-2.0
# Promise: 8.9
"""Locks while another process is stopped at a system call of a key change, a recovery or a
renewal."""

import collections
import re
import select
import shutil
import subprocess

import opened
from keychanges import CALLS, CHANGES, KEYRING, prepare
from kills import CHANGING, spread
from passcodes import ALONE, SHARED
from states import fill_bytes, make_room
from stops import go_on, resuming, stops
from support import COMMAND, CRASH_TEST, ORDINARY, Agent, expect, need_quota, need_root, scenario

LOCKED = ("locked ", "beforeFirstUnlock ")


class Attempt:
    """A key change by a process of its own, under strace, that has been told to begin."""

    def __init__(self, world, change, case, *options):
        shutil.rmtree(world.home)
        shutil.copytree(world.template, world.home)
        self.case, self.line = case, world.line
        self.agent = Agent(world, {**world.variables, **case.env},
                           prefix=("strace", "-f", *options))
        # On a busy machine the call may come before, because it makes more such calls there.
        with resuming(self.agent.process.pid):
            if case.is_open:
                self.agent.do(f"unlock {change.old}")
            if case.fill:
                make_room(self.agent, change.old)
                fill_bytes()
            self.agent.do("mark begin")
        self.agent.tell(self.line)

    def has_answered(self):
        return bool(select.select([self.agent.answers], [], [], 0)[0])

    def end(self):
        self.agent.ask("lock all")
        self.agent.end()


class Case:
    def __init__(self, change, env, is_open=True, fill=False):
        self.change, self.env, self.is_open, self.fill = CHANGES[change], env, is_open, fill


CASES = {
    "rotating": Case("rotating_with_passcode", SHARED),
    "rotating_without_room": Case("rotating_with_passcode", SHARED, fill=True),
    "rotating_alone": Case("rotating_with_passcode", ALONE),
    "changing": Case("changing", SHARED, is_open=False),
    "changing_alone": Case("changing", ALONE),
    # The keychain is locked before, so that only the recovery unlocks it.
    "recovering_alone": Case("recovering", ALONE, is_open=False),
}


def lock_inside(world, name):
    case = CASES[name]
    prepare(world, case.change)
    every = steps(world, case)
    tried, outcomes = chosen(world, every), collections.Counter()
    for call in tried:
        attempt = Attempt(world, case.change, case, "-o", "/dev/null", "-e", f"trace={call[0]}",
                          "-e", f"inject={call[0]}:signal=STOP:when={call[1]}")
        tracer = attempt.agent.process.pid
        if stops(tracer, attempt.has_answered, call):
            outcome = world.run("lock", env=SHARED)
            expect(outcome.code == 0, f"stopped at {call}, lock:", outcome)
            go_on(tracer)
            outcomes["locked"] += 1
            answer = attempt.agent.answer()
            state = attempt.agent.do("state")
            expect(state.startswith(LOCKED), f"stopped at {call}:", answer, "and then", state)
            state = opened.status(world)["state"] + " "
            expect(state.startswith(LOCKED), f"stopped at {call}, for others:", state)
        else:
            outcomes["not stopped"] += 1
            attempt.agent.answer()
            # A busy machine makes fewer such calls: this one may come when the agent locks.
            go_on(tracer)
        attempt.end()
    expect(outcomes["locked"] >= len(tried) / 2, "not stopped:", outcomes)
    print(f"{outcomes['locked']} locks inside, of {len(every)} calls")


def steps(world, case):
    """Returns the system calls of a change after it stretches a passcode, as (name, number)."""
    log = f"{world.folder}/trace"
    attempt = Attempt(world, case.change, case, "-o", log, "-e", f"trace={','.join(CALLS)}")
    answer = attempt.agent.answer()
    expect(answer.startswith("ok"), case.change.line, answer)
    if not case.fill:
        expect(attempt.agent.do("state").startswith("unlocked "), "an undisturbed change locks")
    attempt.end()
    counts, found, place = collections.Counter(), [], "before"
    for line in open(log, errors="replace"):
        match = re.match(r"\d+ +(\w+)\(", line)
        if not match:
            continue
        counts[match[1]] += 1
        if "/mark-begin" in line:
            place = "begun"
        elif place == "begun" and begins_to_stretch(line):
            place = "stretching"
        elif place == "stretching" and re.search(r"write\(\d+, \"ok", line):
            # The answer: a process that stops there cannot be told to end.
            break
        if place == "stretching":
            found.append((match[1], counts[match[1]]))
    expect(len(found) > 30, "the trace is too short:", len(found))
    return found


def begins_to_stretch(line):
    # libsodium alone has the kernel fill a mapping at once.
    return "MAP_POPULATE" in line


def chosen(world, every):
    """Chooses calls during the stretching of the passcode, just before and just after keys are
    published, and some that change something."""
    changing = [call for call in every[1:] if call[0] in CHANGING + KEYRING]
    if world.is_thorough:
        return [every[0], *spread(changing, 250)]
    made = [index for index, call in enumerate(every) if call[0] == "add_key"]
    near = [] if not made else [
        *spread(every[made[0] - 24:made[0]], 3), *spread(every[made[0] + 1:made[-1] + 30], 2)]
    return list(dict.fromkeys([every[0], *near, *spread(changing, 2 if near else 5)]))


@scenario(script=CRASH_TEST)
def rotating(world):
    """A lock during a rotation of shared keys holds."""
    lock_inside(world, "rotating")


# Promise: 8.9
@scenario(users=(ORDINARY,))
def rotating_without_room(world):
    """A lock during a rotation without room for kernel keys holds."""
    need_quota(world)
    lock_inside(world, "rotating_without_room")


@scenario(script=CRASH_TEST)
def rotating_alone(world):
    """A lock during a rotation by a process that unlocked for itself holds."""
    lock_inside(world, "rotating_alone")


@scenario(script=CRASH_TEST)
def changing(world):
    """A lock during a change of passcode that would unlock a shared keychain holds."""
    lock_inside(world, "changing")


@scenario(script=CRASH_TEST)
def changing_alone(world):
    """A lock during a change of passcode by a process that unlocked for itself holds."""
    lock_inside(world, "changing_alone")


@scenario(script=CRASH_TEST)
def recovering_alone(world):
    """A lock during a recovery by a process with keys of its own holds."""
    lock_inside(world, "recovering_alone")


# Promise: 8.9
@scenario(script=CRASH_TEST)
def renewing(world):
    """A lock while an idle time is renewed holds."""
    need_root()
    opened.keychain(world)
    case = opened.KILLS["renewing"]
    every = opened.trace(world, case, opened.CALLS)
    tried = every if world.is_thorough else spread(every, 3) + every[-3:]
    count = 0
    for call in tried:
        opened.prepare(world, case)
        process = world.start(
            [*case.prefix, "strace", "-f", "-o", "/dev/null", "-e", f"trace={call[0]}", "-e",
             f"inject={call[0]}:signal=STOP:when={call[1]}", COMMAND, *case.words], SHARED,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        has_stopped = stops(process.pid, lambda: process.poll() is not None, call)
        if has_stopped:
            outcome = world.run("lock", env=SHARED)
            # A process that is stopped while it opens the database keeps others from doing so.
            expect(outcome.code == 0 or "opened keys were removed nevertheless" in outcome.err,
                   f"stopped at {call}:", outcome)
            go_on(process.pid)
        process.wait(60)
        world.started.remove(process)
        count += has_stopped
        for prefix in ((), case.prefix):
            state = opened.status(world, prefix)["state"]
            expect(state == "locked" or not has_stopped, f"stopped at {call}:", state)
        opened.do(world, *opened.LOCK_ALL)
    expect(count > len(tried) * 0.7, f"only {count} of {len(tried)} were stopped")
    print(f"{count} locks inside, of {len(every)} calls")
