# SPDX-License-Identifier: Apache-2.0
"""Keychains whose database or device key is missing, empty or foreign; and how both are created."""

import collections
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import time

from support import COMMAND, CRASH_TEST, EVERY_USER, expect, need, scenario


def refused(world, code, *verbs, among=None):
    before, names = world.contents(), world.names()
    verbs = verbs or (
        ["get", "a"], ["set", "a"], ["set", "new"], ["remove", "a", "--yes"], ["list"])
    for verb in verbs:
        outcome = world.run(*verb, input=b"other")
        expect(outcome.code == code, verb, outcome)
        expect("hint:" in outcome.err, verb, "without a hint:", outcome)
    expect(world.contents() == before, "something was written")
    expect(world.names() == names, "new files:", world.names() - names)


# Promise: 14.7
@scenario
def no_device_key(world):
    """Without its device key a keychain is incomplete, and complete once it is back."""
    world.fill("a", "b")
    key = world.path("device/device.key")
    os.rename(key, f"{world.folder}/kept")
    refused(world, 1)
    expect("incomplete" in world.run("status").out.decode(), "status")
    os.rmdir(world.path("device"))
    refused(world, 1)
    os.mkdir(world.path("device"), 0o700)
    os.rename(f"{world.folder}/kept", key)
    world.check("a", "b")
    world.doctor()


# Promise: 14.7
@scenario(users=EVERY_USER)
def other_device_key(world):
    """Under the device key of another keychain nothing is read or written.

    spec/keys-and-states.md §8, case 9."""
    keys = ("a", "b", "c")
    world.fill(*keys)
    other = {"VALET_HOME": f"{world.folder}/other"}
    world.set("a", "other", env=other)
    key = world.path("device/device.key")
    shutil.copy(key, f"{world.folder}/kept")
    shutil.copy(f"{world.folder}/other/device/device.key", key)
    refused(world, 1, *[[verb, name] for verb in ("set", "get") for name in keys],
            *[["remove", name, "--yes"] for name in keys],
            ["remove", "--all", "--yes"], ["list"], ["set", "new"])
    expect("keyUnavailable" in world.run("status").out.decode(), "status")
    world.doctor(1)
    shutil.copy(f"{world.folder}/kept", key)
    world.check(*keys)
    world.doctor()


# Promise: 14.7
@scenario(users=EVERY_USER)
def lone_files(world):
    """A missing database or device key is not created anew.

    Twenty processes try at once. spec/keys-and-states.md §8, case 10."""
    world.fill("a")
    for missing in ("keychain.db", "device/device.key"):
        for log_too in (False, True):
            home = world.home
            world.home = f"{home}-{missing.replace('/', '-')}-{log_too}"
            shutil.copytree(home, world.home)
            os.remove(world.path(missing))
            if log_too:
                for suffix in ("-wal", "-shm"):
                    os.remove(world.path(f"keychain.db{suffix}"))
            crowd_refused(world)
            world.home = home


def crowd_refused(world):
    names, before = world.names(), world.contents("keychain.db", "device/device.key")
    crowd = [
        world.start([COMMAND, *(["get", "a"] if index % 2 else ["set", f"k{index}"])],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for index in range(20)]
    for process in crowd:
        outcome = world.finish(process, b"new", words=("get or set",))
        expect(outcome.code == 1, world.home, outcome)
    expect(world.names() == names, "new files:", world.names() - names)
    expect(world.contents("keychain.db", "device/device.key") == before, "a file was written")


@scenario
def empty_database(world):
    """An empty database beside a device key is an incomplete keychain."""
    world.fill("a")
    kept = world.contents("keychain.db")["keychain.db"]
    open(world.path("keychain.db"), "wb").close()
    refused(world, 1)
    expect("incomplete" in world.run("status").out.decode(), "status")
    with open(world.path("keychain.db"), "wb") as file:
        file.write(kept)
    world.check("a")


@scenario(users=EVERY_USER)
def bound_to_credential(world):
    """A keychain that is bound to a service credential opens with that credential alone."""
    folder = os.path.join(world.folder, "credentials")
    credential(folder, "valet.device-key")
    service = {"CREDENTIALS_DIRECTORY": folder}
    world.fill("a")
    before = world.contents()
    outcome = world.run("device", "bind", "--credential")
    expect(outcome.code == 1 and "credential valet.device-key" in outcome.err, outcome)
    expect(world.contents() == before, "something was written")
    world.check("a")
    outcome = world.run("device", "bind", "--credential", env=service)
    expect(outcome.code == 0 and "comes from credential" in outcome.err, outcome)
    expect(not world.contents("device/device.key")["device/device.key"], "the old key is left")
    check_level(world, service, "noPasscode", "credential", "credential")
    expect(world.get("a", env=service) == "value of a", "bound")
    world.set("b", "value of b", env=service)

    # The service starts again without the credential, or with another one.
    other = os.path.join(world.folder, "others")
    credential(other, "valet.device-key")
    for variables in ({}, {"CREDENTIALS_DIRECTORY": other}):
        for verb in (("get", "a"), ("set", "c"), ("rotate",),
                     ("device", "bind", "--own-file", "--lower")):
            outcome = world.run(*verb, input=b"value", env=variables)
            expect(outcome.code == 1, verb, outcome)
            expect(variables or "the service that has the credential" in outcome.err, outcome)
        check_level(world, variables, "keyUnavailable", "credential", "credential")
        expect("device/device.key" not in world.names(), "a key was made")
    expect(world.get("b", env=service) == "value of b", "with the credential again")

    # The keychain returns to its own file, but only on request.
    outcome = world.run("device", "bind", "--own-file", env=service)
    expect(outcome.code == 64 and "--lower" in outcome.err, outcome)
    check_level(world, service, "noPasscode", "credential", "credential")
    outcome = world.run("device", "bind", "--own-file", "--lower", env=service)
    expect(outcome.code == 0, outcome)
    for variables in ({}, service):
        check_level(world, variables, "noPasscode", "file", "own-file")
    world.check("a", "b")
    world.doctor()


def credential(folder, name):
    os.mkdir(folder, 0o700)
    with open(os.path.join(folder, name), "wb") as file:
        os.fchmod(file.fileno(), 0o400)
        file.write(os.urandom(32))


def check_level(world, variables, state, level, source):
    """Checks what `status` and `device status` say about the source of the key."""
    status = json.loads(world.run("status", "--json", env=variables).out)
    expect((status["state"], status["level"]) == (state, level), status)
    place = json.loads(world.run("device", "status", "--json", env=variables).out)
    expect((place["source"], place["level"]) == (source, level), place)
    expect(place["isAvailable"] == (state != "keyUnavailable"), place)


@scenario
def leftover_log(world):
    """Nothing is made beside the log of a keychain whose database is away."""
    world.fill("a", "b")
    os.remove(world.path("keychain.db"))
    os.remove(world.path("device/device.key"))
    for words in (["get", "a"], ["set", "c"]):
        outcome = world.run(*words, input=b"c")
        expect(outcome.code == 1 and "keychain.db-wal" in outcome.err, outcome)
    expect(not os.path.exists(world.path("keychain.db")), "a keychain was made")
    for suffix in ("-wal", "-shm"):
        os.remove(world.path("keychain.db" + suffix))
    expect(world.run("get", "a").code == 44, "there is no keychain")
    world.fill("c")
    world.check("c")
    expect(world.run("get", "a").code == 44, "an item of the earlier keychain")
    world.doctor()


# Promise: 13.8
@scenario(users=EVERY_USER, script=CRASH_TEST)
def creation_race(world):
    """Fifty first writes at once create one keychain.

    spec/keys-and-states.md §8, case 11."""
    for umask in (0o000, 0o077):
        world.home = f"{world.folder}/home-{umask:o}"
        begin = time.monotonic()
        crowd = [
            world.start([COMMAND, "set", f"k{index}"], stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, umask=umask)
            for index in range(50)]
        outcomes = [
            world.finish(process, f"value of k{index}".encode(), words=("set",))
            for index, process in enumerate(crowd)]
        seconds = time.monotonic() - begin
        failures = [str(outcome) for outcome in outcomes if outcome.code != 0]
        expect(not failures, f"{len(failures)} of 50 failed:", failures[:3])
        world.check(*[f"k{index}" for index in range(50)])
        check_modes(world)
        expect(len(os.listdir(world.path("device"))) == 1, os.listdir(world.path("device")))
        expect(world.names() == {"keychain.db", "keychain.lock", "device/device.key"},
               world.names())
        world.doctor()
        print(f"50 first sets under umask {umask:03o} in {seconds:.1f} s")


# Promise: 13.8
@scenario
def created_meanwhile(world):
    """A call goes on with the keychain that another process creates at the same time."""
    need("strace")
    template = world.home
    for verb, codes in (("set", {0}), ("get", {44}), ("list", {0})):
        world.home = f"{template}-{verb}"
        tried = calls_before_lock(world, verb)
        expect(len(tried) >= 3, verb, tried)
        if verb != "set" and not world.is_thorough:
            # By then the call has seen that there is no keychain.
            tried = tried[:3]
        for number, call in enumerate(tried):
            world.home = f"{template}-{verb}-{number}"
            process, log = stopped_after(world, call, verb)
            world.fill("second")
            os.kill(int(open(log).read().split()[0]), signal.SIGCONT)
            outcome = world.finish(process, words=(verb,))
            expect(outcome.code in codes, f"{verb}, stopped after {call}:", outcome)
            world.check("second", *(["first"] if verb == "set" else []))
            check_modes(world)
            world.doctor()
        print(f"{verb}: made by another process after {len(tried)} calls")


LOOKING = ("openat", "mkdirat", "fchmodat", "fsync", "newfstatat", "fcntl")


def calls_before_lock(world, verb):
    """Returns the system calls on the keychain's files before the writers' lock, as (name,
    number)."""
    log = f"{world.folder}/trace"
    traced = ("strace", "-f", "-o", log, "-e", f"trace={','.join(LOOKING)}")
    outcome = world.run(*arguments(verb), input=b"value of first", prefix=traced)
    expect(outcome.code in (0, 44), "under strace:", outcome)
    counts, found = collections.Counter(), []
    for line in open(log, errors="replace"):
        match = re.match(r"\d+ +(\w+)\(", line)
        if match:
            counts[match[1]] += 1
            if "F_OFD_SETLK" in line:
                break
            # The first opened folder; without root its path is not visible.
            if found or "O_PATH|O_DIRECTORY" in line:
                found.append((match[1], counts[match[1]]))
    return found


def stopped_after(world, call, verb):
    """Starts a command that the kernel stops after that system call; returns process and trace."""
    log = f"{world.home}-trace"
    process = world.start(
        ["strace", "-f", "-o", log, "-e", f"trace={call[0]}", "-e",
         f"inject={call[0]}:signal=STOP:when={call[1]}", COMMAND, *arguments(verb)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(b"value of first")
    process.stdin.close()
    process.stdin = None
    end = time.monotonic() + 30
    while not os.path.exists(log) or "--- stopped by SIGSTOP ---" not in open(log).read():
        expect(time.monotonic() < end and process.poll() is None, "not stopped after", call)
        time.sleep(0.005)
    return process, log


def arguments(verb):
    return (verb,) if verb == "list" else (verb, "first")


def check_modes(world):
    for folder, _, files in os.walk(world.home):
        expect(stat.S_IMODE(os.stat(folder).st_mode) == 0o700, "mode of", folder)
        for file in files:
            mode = stat.S_IMODE(os.stat(os.path.join(folder, file)).st_mode)
            expect(mode == 0o600, f"mode {mode:o} of", file)
