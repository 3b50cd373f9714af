# SPDX-License-Identifier: Apache-2.0
"""Applications that follow the lock state of the keychain."""

import contextlib
import os
import resource
import shutil
import time

import passcodes
from support import EVERY_USER, expect, mount, private_mounts, scenario

KERNEL = {"VALET_LOCK_STATE": "kernel"}
OWN = {"VALET_LOCK_STATE": "process"}


@contextlib.contextmanager
def locked(world, env):
    """A locked keychain with a passcode; leaves no key in the kernel at the end."""
    agent = world.agent(env=env)
    agent.do("app setas ak a value-a")
    agent.do("app setas ck c value-c")
    agent.do("app passcode correct")
    agent.do("app lockall")
    try:
        yield agent
    finally:
        agent.do("app lockall")
        agent.end()


# Promise: 17.3
@scenario(users=EVERY_USER)
def shared(world):
    """Watchers in every process see each lock and unlock of a shared keychain."""
    with locked(world, KERNEL) as owner:
        watchers = [world.agent(env=KERNEL) for _ in range(3)]
        for watcher in watchers:
            watcher.do("app watch")
            watcher.do("app watch")
            watcher.do("app seen beforeFirstUnlock")
        for verb, state in (("unlock correct", "unlocked"), ("lock", "locked"),
                            ("unlock correct", "unlocked"), ("lockall", "beforeFirstUnlock")):
            owner.do(f"app {verb}")
            for watcher in watchers:
                lists = watcher.do(f"app seen {state}").split()
                expect(len(lists) == 2, "watchers:", lists)
                expect(all(text.endswith(state) for text in lists), verb, lists)
                expect(watcher.do("app state") == state, "state after", verb)
        whole = "beforeFirstUnlock,unlocked,locked,unlocked,beforeFirstUnlock"
        for watcher in watchers:
            lists = watcher.do("app unwatch").split()
            expect(lists == [whole + ",end"] * 2, "told:", lists)
            unwatched(watcher)
            watcher.end()
        mode = os.stat(world.path("keychain.state"))
        expect(mode.st_mode & 0o777 == 0o600 and mode.st_size == 0, "keychain.state:", mode)


def unwatched(agent):
    """Waits until the thread that watches the folder has ended."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if not any("inotify" in file for file in open_files(agent)):
            return
        time.sleep(0.02)
    expect(False, "the watch goes on:", open_files(agent))


def open_files(agent):
    folder = f"/proc/{agent.pid}/fd"
    files = []
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            files.append(os.readlink(f"{folder}/{name}"))
    return files


@scenario(users=EVERY_USER)
def deadline(world):
    """A watcher sees that a timed unlock has ended."""
    with locked(world, KERNEL) as owner:
        watcher = world.agent(env=KERNEL)
        watcher.do("app watch")
        watcher.do("app seen beforeFirstUnlock")
        owner.do("app unlock correct 700")
        expect("unlocked" in watcher.do("app seen locked"), "the end was not told")
        expect(owner.do("app state") == "locked", "the owner does not know")
        watcher.end()


@scenario(users=EVERY_USER)
def auto_lock(world):
    """An unused keychain locks itself, and asking for its lock state is not a use."""
    for env in (KERNEL, OWN):
        with locked(world, env) as owner:
            owner.do("app watch")
            owner.do("app unlock correct - 1000")
            expect("unlocked" in owner.do("app seen locked"), "the end was not told")
            answer = owner.ask("app getas ak a")
            expect(answer.startswith("error locked"), "not locked:", answer)
            expect(owner.do("app getas ck c") == "value-c", "what stays open")
            owner.do("app unlockasync correct")
            expect(owner.do("app getas ak a") == "value-a", "unlocked again")
        shutil.rmtree(world.home)


@scenario(users=EVERY_USER)
def used_by_another(world):
    """Any process that uses a shared keychain keeps it unlocked for all."""
    with locked(world, KERNEL) as owner:
        user = world.agent(env=KERNEL)
        for _ in range(10):
            owner.do("app unlock correct - 3000")
            if used_for(user, 5, 2):
                break
        else:
            expect(False, "this machine is too slow")
        expect(owner.do("app state") == "unlocked", "locked although it was used")
        expect(owner.do("app getas ak a") == "value-a", "not readable")
        owner.do("app watch")
        owner.do("app seen locked")
        answer = user.ask("app getas ak a")
        expect(answer.startswith("error locked"), "not locked:", answer)
        user.end()


def used_for(user, seconds, longest_pause):
    """Uses the keychain for some seconds; returns false if a pause was longer than allowed."""
    begin = last = time.monotonic()
    while last < begin + seconds:
        answer = user.ask("app getas ak a")
        now = time.monotonic()
        if now - last > longest_pause:
            return False
        expect(answer == "ok value-a", "locked although it was used:", answer)
        last = now
        time.sleep(0.1)
    return True


@scenario
def read_only(world):
    """On a read-only folder a process unlocks for itself alone, and a lock reports that.

    No process could take shared keys away where it cannot touch a file."""
    private_mounts()
    with locked(world, KERNEL):
        mount("--bind", world.home, world.home)
        mount("-o", "remount,bind,ro", world.home)
        watcher, other = world.agent(env=KERNEL), world.agent(env=KERNEL)
        watcher.do("app watch")
        watcher.do("app seen beforeFirstUnlock")
        other.do("app unlock correct")
        expect(other.do("app getas ak a") == "value-a", "not readable")
        expect(other.do("app state") == "unlocked", "not unlocked")
        expect(watcher.do("app state") == "beforeFirstUnlock", "unlocked for others")
        answer = other.ask("app lock")
        expect(answer.startswith("error inputOutput") and "cannot be written" in answer, answer)
        expect(other.do("app state") == "locked", "not locked")
        watcher.end()
        other.end()
        os.system(f"umount {world.home}")


@scenario
def creation(world):
    """A watcher follows a keychain from a missing folder to its first passcode."""
    watcher = world.agent(env=KERNEL)
    watcher.do("app watch")
    watcher.do("app seen absent")
    owner = world.agent(env=KERNEL)
    owner.do("app setas ak a value")
    watcher.do("app seen noPasscode")
    expect(watcher.do("app level") == "file", "level without a passcode")
    owner.do("app passcode correct")
    lists = watcher.do("app seen unlocked")
    expect(lists == "absent,noPasscode,unlocked", "told:", lists)
    expect(watcher.do("app level") == "passcode", "level with a passcode")
    owner.do("app lockall")
    watcher.do("app seen beforeFirstUnlock")
    os.rename(world.path("device/device.key"), world.path("device/away"))
    watcher.do("app seen incomplete")
    answer = watcher.ask("app await ak 60000")
    expect(answer.startswith("error incomplete"), "waiting without the device key:", answer)
    os.rename(world.path("device/away"), world.path("device/device.key"))
    watcher.do("app seen beforeFirstUnlock")
    watcher.end()
    owner.end()


@scenario(users=EVERY_USER)
def waiting(world):
    """A waiting call returns as soon as another process unlocks the keychain."""
    with locked(world, KERNEL) as owner:
        waiter = world.agent(env=KERNEL)
        for words in ("ak", "ck", "akpu"):
            answer = waiter.ask(f"app await {words} 50")
            expect(answer.startswith("error locked"), words, answer)
        waiter.tell("app await ak 60000")
        owner.do("app unlock correct")
        expect(waiter.answer() == "ok ", "not told")
        expect(waiter.do("app getas ak a") == "value-a", "not readable")
        owner.do("app lock")
        waiter.do("app await ck 0")
        expect(waiter.do("app getas ck c") == "value-c", "not readable while locked")
        answer = waiter.ask("app await aku 50")
        expect(answer.startswith("error locked"), "aku", answer)
        waiter.end()


@scenario(users=EVERY_USER)
def own(world):
    """A process that unlocks for itself sees only its own lock states."""
    with locked(world, OWN) as owner:
        other = world.agent(env=OWN)
        for agent in (owner, other):
            agent.do("app watch")
            agent.do("app seen beforeFirstUnlock")
        owner.do("app unlockasync correct")
        owner.do("app seen unlocked")
        owner.do("app lock")
        owner.do("app seen locked")
        answer = owner.ask("app unlock wrong")
        expect(answer.startswith("error authenticationFailed"), "wrong passcode:", answer)
        owner.do("app unlock correct 300")
        owner.do("app seen unlocked")
        owner.do("app seen locked")
        expect(other.do("app state") == "beforeFirstUnlock", "the other process was unlocked")
        other.end()


def given(text):
    """Returns the number of a descriptor from which `text` can be read."""
    ours, theirs = os.pipe()
    os.write(theirs, text)
    os.close(theirs)
    return ours


# Promise: 4.17
@scenario(users=EVERY_USER)
def descriptor(world):
    """A passcode from a descriptor unlocks at the first call and is read once."""
    with locked(world, OWN):
        for call in ("app getas ak a", "app await ak 10000"):
            number = given(b"correct\nrest")
            agent = world.agent(
                env={**OWN, "VALET_PASSCODE_FD": str(number)}, descriptors=(number,))
            pipe = os.readlink(f"/proc/self/fd/{number}")
            os.close(number)
            expect(agent.do("app state") == "beforeFirstUnlock", "asking for the state unlocked")
            expect(pipe in open_files(agent), "the descriptor was not inherited, or was read")
            agent.do(call)
            expect(agent.do("app getas ak a") == "value-a", "not readable")
            expect(pipe not in open_files(agent), "the descriptor is open")
            agent.do("app lockall")
            answer = agent.ask("app getas ak a")
            expect(answer.startswith("error locked"), "read twice:", answer)
            agent.end()


@scenario(users=EVERY_USER)
def hindered(world):
    """A passcode from a descriptor unlocks beside a writer, and after a failure that passes."""
    # The passcode costs as much memory as a user's.
    with locked(world, {**OWN, "VALET_TEST_CALIBRATES": "1"}):
        holder = world.agent(env=OWN)
        holder.do(f"hold {world.home}")
        with reader(world, given(b"correct\n")) as agent:
            expect(agent.do("app getas ak a") == "value-a", "not readable beside a writer")
        holder.do("release")
        holder.end()
        with reader(world, given(b"correct\n")) as agent:
            expect(agent.do("app state") == "beforeFirstUnlock", "unlocked")
            before = resource.prlimit(agent.pid, resource.RLIMIT_AS)
            size = int(open(f"/proc/{agent.pid}/statm").read().split()[0]) * resource.getpagesize()
            resource.prlimit(agent.pid, resource.RLIMIT_AS, (size + (24 << 20), before[1]))
            for _ in range(2):
                answer = agent.ask("app getas ak a")
                expect(answer.startswith("error outOfMemory"), "without memory:", answer)
            resource.prlimit(agent.pid, resource.RLIMIT_AS, before)
            expect(agent.do("app getas ak a") == "value-a", "not readable with memory")
        ours, theirs = os.pipe()
        os.write(theirs, b"corr")
        with reader(world, ours) as agent:
            for _ in range(2):
                answer = agent.ask("app getas ak a")
                expect(answer.startswith("error timedOut"), "before it has come:", answer)
            os.write(theirs, b"ect\n")
            expect(agent.do("app getas ak a") == "value-a", "not readable once it has come")
            os.close(theirs)


@contextlib.contextmanager
def reader(world, number):
    """A process that is given a descriptor for its passcode; closes the descriptor here."""
    agent = world.agent(
        env={**OWN, "VALET_PASSCODE_FD": str(number)}, descriptors=(number,))
    os.close(number)
    yield agent
    agent.end()


@scenario
def wrong(world):
    """A wrong passcode from a descriptor is reported once and not tried again.

    The same holds for a descriptor that is empty or closed."""
    with locked(world, OWN):
        for text, code in ((b"wrong\n", "authenticationFailed"), (b"", "authenticationFailed")):
            number = given(text)
            agent = world.agent(
                env={**OWN, "VALET_PASSCODE_FD": str(number)}, descriptors=(number,))
            os.close(number)
            answer = agent.ask("app getas ak a")
            expect(answer.startswith(f"error {code}"), text, answer)
            answer = agent.ask("app getas ak a")
            expect(answer.startswith("error locked"), "again:", answer)
            agent.do("app unlock correct")
            expect(agent.do("app getas ak a") == "value-a", "not unlocked by hand")
            agent.do("app lockall")
            agent.end()
        closed = world.agent(env={**OWN, "VALET_PASSCODE_FD": "937"})
        answer = closed.ask("app getas ak a")
        expect(answer.startswith("error interactionNotAllowed"), "closed:", answer)
        closed.end()


# Promise: 4.17
@scenario
def shared_descriptor(world):
    """A passcode from a descriptor does not unlock what processes share."""
    with locked(world, KERNEL):
        number = given(b"correct\n")
        agent = world.agent(
            env={**KERNEL, "VALET_PASSCODE_FD": str(number)}, descriptors=(number,))
        pipe = os.readlink(f"/proc/self/fd/{number}")
        os.close(number)
        answer = agent.ask("app getas ak a")
        expect(answer.startswith("error locked"), "shared:", answer)
        expect(pipe in open_files(agent), "the descriptor was closed")
        agent.end()


@scenario(users=EVERY_USER)
def changed_keys(world):
    """A key change locks a process that unlocked for itself, and the error says how to go
    on."""
    with locked(world, OWN) as owner:
        owner.do("app unlock correct")
        expect(owner.do("app getas ak a") == "value-a", "not readable")
        passcodes.do(world, "rotate", lines=["correct"], env=OWN)
        for _ in range(2):
            answer = owner.ask("app getas ak a")
            expect(answer.startswith("error locked"), "old keys:", answer)
            expect("keys have changed since it was unlocked" in answer, "not told why:", answer)
            hint = owner.do("app hint")
            for text in ("ValetKeychain.unlock(passcode:)", "$VALET_PASSCODE_FD"):
                expect(text in hint, "not told what helps:", hint)
            expect("`valet unlock`" not in hint, "what does not help:", hint)
        answer = owner.ask("app await ak 50")
        expect(answer.startswith("error locked"), "waiting:", answer)
        expect("$VALET_PASSCODE_FD" in owner.do("app hint"), "waiting:", owner.do("app hint"))
        owner.do("app unlock correct")
        expect(owner.do("app getas ak a") == "value-a", "not readable again")


# Promise: 3.3
@scenario(users=EVERY_USER)
def level(world):
    """Below the protection level that a program requires, no call works and no keychain is
    created."""
    agent = world.agent(env=OWN)
    agent.do("app require passcode")
    agent.do("app require file")
    refusal = "error insufficientProtection"
    answer = agent.ask("set key value")
    expect(answer.startswith(refusal), "a keychain is made:", answer)
    expect("level is file" in answer and "requires passcode" in answer, "not told:", answer)
    expect(not os.path.exists(world.home), "something was made")
    other = world.agent(env=OWN)
    other.do("set key value")
    for words in ("get key", "set key new", "remove key", "keys", "label a b"):
        answer = agent.ask(words)
        expect(answer.startswith(refusal), words, answer)
    expect(agent.do("app find") == "-25291", "SecItemCopyMatching:", agent.do("app find"))
    expect(agent.do("app can ak") == "false", "canAccessKeychain")
    expect(agent.do("app state") == "noPasscode" and agent.do("app level") == "file", "state")
    expect(other.do("get key") == "value", "the other program")
    other.do("app passcode correct")
    agent.do("app unlock correct")
    expect(agent.do("get key") == "value", "at the level")
    # A level can be raised even after the first call.
    agent.do("app require tpm")
    answer = agent.ask("get key")
    expect(answer.startswith(refusal), "raised:", answer)
    for one in (agent, other):
        one.do("app lockall")
        one.end()


@scenario(users=EVERY_USER)
def canary(world):
    """canAccessKeychain is true exactly for the accessibilities that are open."""
    for env in (KERNEL, OWN):
        with locked(world, env) as agent:
            def answers():
                return [agent.do(f"app can {name}") for name in ("ak", "aku", "akpu", "ck", "cku")]

            expect(answers() == ["false"] * 5, "before the first unlock:", answers())
            agent.do("app unlock correct")
            agent.do("app lock")
            expect(answers() == ["false"] * 3 + ["true"] * 2, "locked, none written:", answers())
            agent.do("app unlock correct")
            expect(answers() == ["true"] * 5, "unlocked:", answers())
            agent.do("app lock")
            expect(answers() == ["false"] * 3 + ["true"] * 2, "locked:", answers())
        shutil.rmtree(world.home)
