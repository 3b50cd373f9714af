# SPDX-License-Identifier: Apache-2.0
"""Keychains with a passcode, whose lock state processes share or have each for itself."""

import contextlib
import fcntl
import json
import os
import struct
import subprocess
import termios
import time

import keybags
from kills import created
from support import COMMAND, CRASH_TEST, EVERY_USER, ORDINARY, expect, need, need_quota, scenario

PASSCODE = "correct horse"
OTHER = "battery staple"
SHARED = {"VALET_LOCK_STATE": "kernel"}
ALONE = {"VALET_LOCK_STATE": "process"}


class Lines:
    """A descriptor from which lines can be read, and then its end."""

    def __init__(self, *lines):
        self.number, write = os.pipe()
        os.write(write, "".join(line + "\n" for line in lines).encode())
        os.close(write)

    def __enter__(self):
        return self.number

    def __exit__(self, *_):
        os.close(self.number)


def run(world, *words, lines=(), option="--passcode-fd", env=SHARED, variable=False, prefix=()):
    """Runs the command with a descriptor that an option or the variable names."""
    with Lines(*lines) as number:
        if variable:
            env = {**env, "VALET_PASSCODE_FD": str(number)}
        elif lines:
            words = (*words, option, str(number))
        return world.run(*words, env=env, prefix=prefix, pass_fds=(number,))


def do(world, *words, **options):
    outcome = run(world, *words, **options)
    expect(outcome.code == 0, " ".join(words), outcome)
    expect(PASSCODE not in outcome.err + outcome.out.decode(), "the passcode is shown")
    return outcome


def ends(code, outcome, *texts):
    expect(outcome.code == code, f"not {code}:", outcome)
    for text in texts:
        expect(text in outcome.err, f"{text!r} is missing:", outcome)


@contextlib.contextmanager
def keychain(world, env=SHARED):
    """A keychain with a passcode and two items; leaves no key in the kernel at the end."""
    world.set("a", "value of a")
    world.set("f", "value of f", "--accessibility", "after-first-unlock")
    try:
        do(world, "passcode", "set", lines=[PASSCODE], env=env)
        yield
    finally:
        world.run("lock", "--all", env=SHARED)


def value(world, key, *words, **options):
    outcome = run(world, "get", key, *words, **options)
    return outcome.out.decode() if outcome.code == 0 else outcome.code


def state(world):
    return json.loads(do(world, "status", "--json").out)["state"]


AFTER = ("--accessibility", "after-first-unlock")


@scenario(users=EVERY_USER)
def shared_state(world):
    """One process locks and unlocks a shared keychain for all."""
    with keychain(world):
        expect(state(world) == "unlocked", "not unlocked by setting")
        expect(value(world, "a") == "value of a", "unlocked")
        do(world, "lock", "--wait")
        expect(state(world) == "locked", "not locked")
        ends(75, run(world, "get", "a"), "run `valet unlock`")
        expect(value(world, "f", *AFTER) == "value of f", "after the first unlock")
        do(world, "lock", "--all")
        expect(state(world) == "beforeFirstUnlock", "not locked as after a start")
        expect(value(world, "f", *AFTER) == 75, "before the first unlock")
        ends(77, run(world, "unlock", lines=["wrong"]), "wrong passcode")
        ends(77, run(world, "unlock", lines=["wrong", PASSCODE]), "wrong passcode")
        expect(state(world) == "beforeFirstUnlock", "unlocked by a wrong one")
        do(world, "unlock", lines=[PASSCODE])
        expect(value(world, "a") == "value of a", "unlocked again")
        do(world, "lock")
        do(world, "unlock", lines=[PASSCODE], variable=True)
        expect(state(world) == "unlocked", "not unlocked by the variable")


@scenario(users=EVERY_USER)
def lock_waits(world):
    """A lock takes effect at once, and waits for a write only on request."""
    with keychain(world):
        holder = world.agent()
        holder.do(f"hold {world.home}")
        do(world, "lock")
        expect(state(world) == "locked", "not locked while somebody writes")
        ends(75, run(world, "lock", "--wait"), "the keychain is locked")
        holder.do("release")
        do(world, "lock", "--wait")
        expect(state(world) == "locked", "not locked")


@scenario
def calibrated(world):
    """A new passcode costs what this machine can spare."""
    with keychain(world, env={**SHARED, "VALET_TEST_CALIBRATES": "1"}):
        bag, = keybags.stored(world.path("keychain.db")).values()
        memory, passes, lanes = struct.unpack(">IIB", bag.records[keybags.ARGON2][16:])
        expect(lanes == 1 and passes >= 3 and 64 << 10 <= memory <= 256 << 10, memory, passes)


@scenario(script=CRASH_TEST)
def killed_first_setting(world):
    """A kill while a keychain is created with a passcode leaves it usable."""
    words = ("passcode", "set", "--passcode-fd", "0")
    for call, was_killed in created(world, 6, *words, input=f"{PASSCODE}\n".encode(), env=ALONE):
        is_set = json.loads(run(world, "status", "--json", env=ALONE).out)["people"] is not None
        expect(was_killed or is_set, f"{call}: acknowledged, and lost")
        if not is_set:
            do(world, "passcode", "set", lines=[PASSCODE], env=ALONE)
        do(world, "passcode", "change", lines=[PASSCODE, OTHER], env=ALONE)
        ends(77, run(world, "unlock", "--for", "1m", lines=[PASSCODE], env=SHARED), "wrong")
        do(world, "passcode", "remove", "--yes", lines=[OTHER], env=ALONE)
        world.fill("a")
        world.check("a")
        world.doctor()


@scenario(users=EVERY_USER)
def refused_keyrings(world):
    """Where the kernel refuses keyrings, each process unlocks for itself."""
    need("strace")
    with keychain(world):
        do(world, "lock", "--all")
        for error in ("EPERM", "ENOSYS"):
            refused = ("strace", "-f", "-o", "/dev/null", "-e", "trace=add_key,keyctl", "-e",
                       f"inject=add_key,keyctl:error={error}")
            report = json.loads(do(world, "status", "--json", prefix=refused).out)
            expect(report["lockState"] == "process" and report["lockStateReason"], report)
            found = run(world, "doctor", lines=[PASSCODE], variable=True, prefix=refused)
            expect(b"opened keys are in the process: " in found.out, found, found.out)
            outcome = run(world, "get", "a", lines=[PASSCODE], variable=True, prefix=refused)
            expect(outcome.out == b"value of a", error, outcome)
            expect(state(world) == "beforeFirstUnlock", "keys were left in the kernel")


def next_pipe():
    """Returns the number of the descriptor on which the next agent answers."""
    ends_of_pipe = os.pipe()
    for end in ends_of_pipe:
        os.close(end)
    return ends_of_pipe[1]


# Promise: 4.18
@scenario
def descriptors_not_given(world):
    """A descriptor that the caller did not open is not read for a passcode."""
    world.fill("a")
    for number in range(3, 10):
        outcome = world.run("passcode", "set", "--passcode-fd", str(number), env=SHARED)
        ends(1, outcome, f"file descriptor {number} was not inherited")
    expect(state(world) == "noPasscode", "a passcode was set")
    do(world, "passcode", "set", lines=[PASSCODE], env=ALONE)
    for number in range(3, 10):
        env = {**ALONE, "VALET_PASSCODE_FD": str(number)}
        ends(77, world.run("get", "a", env=env), "VALET_PASSCODE_FD")
        if number == next_pipe():
            continue
        agent = world.agent(env=env)
        answer = agent.ask("set b other")
        expect("error interactionNotAllowed" in answer, f"with descriptor {number}:", answer)
        agent.end()
    expect(run(world, "get", "a", lines=[PASSCODE], variable=True, env=ALONE).out == b"value of a",
           "the keychain was touched")
    world.doctor()


@scenario(users=EVERY_USER)
def deadline(world):
    """A keychain that was unlocked for a time locks itself."""
    with keychain(world):
        do(world, "unlock", "--for", "1s", lines=[PASSCODE])
        time.sleep(1.2)
        expect(state(world) == "locked", "not locked")
        do(world, "unlock", "--for=1h", lines=[PASSCODE])
        expect(value(world, "a") == "value of a", "unlocked again")


@scenario(users=EVERY_USER)
def auto_lock(world):
    """A keychain that was unlocked with an idle time locks itself when nobody uses it."""
    with keychain(world):
        outcome = do(world, "unlock", "--auto-lock", "1s", lines=[PASSCODE])
        ends(0, outcome, "unlocked, and locks after 1s without use")
        end = time.monotonic() + 60
        while state(world) == "unlocked":
            expect(time.monotonic() < end, "not locked though nobody used it")
        ends(75, run(world, "get", "a"), "run `valet unlock`")
        outcome = do(world, "unlock", "--for", "2h", "--auto-lock=30m", lines=[PASSCODE])
        ends(0, outcome, "unlocked for 2h, and locks after 30m without use")
        facts = json.loads(do(world, "status", "--json").out)
        expect(facts["autoLock"] == "30m", "auto-lock:", facts)
        expect(facts["locksIn"].startswith(("2h", "1h59m")), "end:", facts)
        text = do(world, "status").out.decode()
        expect("30m (without use)" in text, "status:", text)
        expect(value(world, "a") == "value of a", "unlocked again")
        do(world, "unlock", lines=[PASSCODE])
        facts = json.loads(do(world, "status", "--json").out)
        expect(facts["autoLock"] is None and facts["locksIn"] is None, "no limits:", facts)
        ends(64, run(world, "unlock", "--auto-lock", "0s", lines=[PASSCODE]), "'--auto-lock'")


def given_key(world):
    """Creates a device key outside of the keychain; returns its path and the variables that name
    it."""
    path = os.path.join(world.folder, "given.key")
    with open(path, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(os.urandom(32))
    return path, {**SHARED, "VALET_DEVICE_KEY_FILE": path}


# Promise: 8.9
@scenario(users=EVERY_USER)
def new_keys_while_locked(world):
    """New keys do not unlock a locked keychain."""
    with keychain(world):
        do(world, "recovery", "create", lines=[PASSCODE])
        path, there = given_key(world)
        changes = (("rotate",), SHARED), (("recovery", "revoke", "--yes"), SHARED), (
            ("device", "bind", "--key-file", path), there)
        for count, (words, after) in enumerate(changes):
            do(world, "unlock", "--for", "1h", "--auto-lock", "30m", lines=[PASSCODE])
            do(world, "lock")
            do(world, *words, lines=[PASSCODE])
            facts = json.loads(do(world, "status", "--json", env=after).out)
            expect(facts["state"] == "locked" and facts["epoch"] == 3 + count, words, facts)
            expect(facts["locksIn"] is None and facts["autoLock"] is None, words, facts)
            ends(75, run(world, "get", "a", env=after), "run `valet unlock`")
            expect(value(world, "f", *AFTER, env=after) == "value of f", words)
        do(world, "lock", "--all", env=there)
        do(world, "rotate", lines=[PASSCODE], env=there)
        facts = json.loads(do(world, "status", "--json", env=there).out)
        expect(facts["state"] == "beforeFirstUnlock", facts)
        do(world, "unlock", lines=[PASSCODE], env=there)
        expect(value(world, "a", env=there) == "value of a", "unlocked")


# Promise: 7.15
@scenario(users=EVERY_USER)
def unreadable(world):
    """A keychain whose files cannot be read can be locked."""
    text = "its opened keys were removed nevertheless"
    with keychain(world):
        database = world.path("keychain.db")
        os.chmod(database, 0o644)
        ends(77, run(world, "lock"), text)
        os.chmod(database, 0o600)
        expect(state(world) == "locked", "not locked with another mode")
        expect(value(world, "f", *AFTER) == "value of f", "more was taken away than asked")
        do(world, "unlock", lines=[PASSCODE])
        os.rename(database, database + ".away")
        ends(1, run(world, "lock", "--all"), text)
        os.rename(database + ".away", database)
        expect(state(world) == "beforeFirstUnlock", "not locked without the database")
        do(world, "unlock", lines=[PASSCODE])
        world.settle()
        good = open(database, "rb").read()
        with open(database, "r+b") as file:
            file.write(b"nothing" * 1000)
        outcome = run(world, "lock")
        expect(outcome.code not in (0, 44) and text in outcome.err, "damaged:", outcome)
        with open(database, "wb") as file:
            file.write(good)
        expect(state(world) == "locked", "not locked with a damaged database")


# Promise: 7.15
@scenario(users=(ORDINARY,))
def unreadable_and_unknown(world):
    """If nothing tells which keychain to lock, all of the user's are locked."""
    need_quota(world)
    other = {**SHARED, "VALET_HOME": f"{world.folder}/other"}
    with keychain(world):
        do(world, "passcode", "set", lines=[PASSCODE], env=other)
        path, there = given_key(world)
        do(world, "device", "bind", "--key-file", path, lines=[PASSCODE])
        database = world.path("keychain.db")
        os.chmod(database, 0o644)
        ends(77, run(world, "lock", "--all", env=there),
             "the opened keys of all keychains of this user were removed")
        # What cannot be looked for is not said to be removed.
        failing = ("strace", "-f", "-o", "/dev/null", "-e", "trace=keyctl", "-e",
                   "inject=keyctl:error=ENOMEM")
        ends(77, run(world, "lock", "--all", env=there, prefix=failing),
             "its opened keys could not be removed")
        os.chmod(database, 0o600)
        for variables in (there, other):
            facts = json.loads(do(world, "status", "--json", env=variables).out)
            expect(facts["state"] == "beforeFirstUnlock", facts)


# Promise: 18.4
@scenario(users=EVERY_USER)
def without_asking(world):
    """Without a terminal or pinentry, a locked keychain fails at once."""
    with keychain(world):
        do(world, "lock", "--all")
        ends(64, run(world, "unlock"), "there is no terminal and no pinentry")
        ends(64, run(world, "unlock", env={**SHARED, "VALET_INTERACTION": "never"}),
             "questions are turned off")
        ends(75, run(world, "get", "a", lines=[PASSCODE], variable=True))
        ends(64, run(world, "passcode", "remove", lines=[PASSCODE]), "--yes")
        ends(64, run(world, "passcode", "remove", "--yes"), "there is no terminal")
        ends(64, run(world, "passcode", "change"), "there is no terminal")
    ends(64, run(world, "passcode", "set", env={"VALET_HOME": world.path("other")}),
         "there is no terminal and no pinentry")


# Promise: 18.10
@scenario
def settings(world):
    """A variable with an invalid value is an error for the library and the command."""
    world.fill("a")
    cases = (("VALET_INTERACTION", "nver"), ("VALET_INTERACTION", "Never"),
             ("VALET_INTERACTION", "\udcff"), ("VALET_PASSCODE_FD", "abc"),
             ("VALET_PASSCODE_FD", "-1"), ("VALET_PASSCODE_FD", "1"), ("VALET_PASSCODE_FD", "03"))
    for name, text in cases:
        for verb in (["get", "a"], ["set", "b"], ["list"], ["status"], ["doctor"],
                     ["remove", "--all", "--yes"], ["passcode", "set"], ["backup", "list", "f"]):
            outcome = world.run(*verb, input=b"v", env={name: text})
            ends(1, outcome, f"could not read {name}: its value is invalid",
                 f"hint: set {name} to ")
        expect(world.run("lock", "--all", env={name: text}).code == 0, "lock", name)
        agent = world.agent(env={name: text})
        for line in ("get a", "set b v"):
            answer = agent.ask(line)
            expect(answer.startswith("error invalidRequest") and name in answer, line, answer)
        agent.end()
    expect(world.run("--help", env={"VALET_INTERACTION": "nver"}).code == 0, "help")
    for name in ("VALET_INTERACTION", "VALET_PASSCODE_FD"):
        world.check("a")
        expect(world.get("a", env={name: ""}) == "value of a", "empty is not set", name)
    expect(world.get("a", env={"VALET_INTERACTION": "never"}) == "value of a", "never")


# Promise: 18.4
@scenario(users=EVERY_USER)
def own_state(world):
    """Where each process unlocks for itself, the command unlocks for itself alone."""
    with keychain(world):
        do(world, "lock", "--all")
        for lines in ([], [PASSCODE]):
            ends(1, run(world, "unlock", lines=lines, env=ALONE),
                 "each program unlocks the keychain for itself here", "$VALET_PASSCODE_FD")
        ends(0, run(world, "lock", env=ALONE), "the keychain is locked")
        ends(75, run(world, "get", "a", env=ALONE), "$VALET_PASSCODE_FD")
        got = value(world, "a", lines=[PASSCODE], variable=True, env=ALONE)
        expect(got == "value of a", "with the variable:", got)
        ends(77, run(world, "get", "a", lines=["wrong"], variable=True, env=ALONE),
             "wrong passcode")
        do(world, "passcode", "change", lines=[PASSCODE, OTHER], env=ALONE)
        got = value(world, "a", lines=[OTHER], variable=True, env=ALONE)
        expect(got == "value of a", "with the new one:", got)
        expect(state(world) == "beforeFirstUnlock", "others were unlocked, too")


# Promise: 14.12
@scenario(users=EVERY_USER)
def recovery(world):
    """A recovery key restores what may leave the device."""
    with keychain(world):
        world.set("d", "v", "--accessibility", "when-unlocked-this-device-only", env=SHARED)
        key = do(world, "recovery", "create", lines=[PASSCODE]).out.decode().strip()
        do(world, "lock", "--all")
        os.remove(world.path("device/device.key"))
        ends(1, run(world, "unlock", lines=[PASSCODE]), "run `valet recovery use`")
        words = ("recovery", "use", "--yes", "--set-passcode")
        mistyped = key[:-1] + ("0" if key[-1] != "0" else "1")
        ends(77, run(world, *words, lines=[mistyped, "x"], option="--recovery-key-fd"),
             "the check characters are wrong")
        outcome = do(world, *words, lines=[key, OTHER], option="--recovery-key-fd")
        ends(0, outcome, "1 item cannot come back", "the keychain is recovered")
        expect(value(world, "a") == "value of a", "what may migrate")
        ends(44, run(world, "get", "d", "--accessibility", "when-unlocked-this-device-only"))
        do(world, "lock")
        do(world, "unlock", lines=[OTHER])
        world.run("doctor", env=SHARED)


# Promise: 16.1
@scenario
def recovery_keys_at_once(world):
    """Two programs that create a recovery key at once create one."""
    with keychain(world):
        read, write = os.pipe()
        slow = world.start(
            [COMMAND, "recovery", "create", "--passcode-fd", str(read)], SHARED,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            pass_fds=(read,))
        os.write(write, PASSCODE[:-1].encode())
        # It has looked for a recovery key once it reads the passcode.
        await_empty(read)
        os.close(read)
        key = do(world, "recovery", "create", lines=[PASSCODE]).out.decode().strip()
        os.write(write, PASSCODE[-1:].encode() + b"\n")
        os.close(write)
        outcome = world.finish(slow, None)
        ends(73, outcome, "another program has just made one, which stays valid")
        expect(outcome.out == b"", "a key that opens nothing is shown")
        words = ("recovery", "use", "--yes", "--set-passcode")
        do(world, *words, lines=[key, OTHER], option="--recovery-key-fd")


def await_empty(pipe):
    """Waits until a program has read all that a pipe holds."""
    end = time.monotonic() + 30
    while struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0] > 0:
        expect(time.monotonic() < end, "nobody reads the pipe")
        time.sleep(0.01)


@scenario(users=EVERY_USER)
def key_file(world):
    """A keychain that is bound to a key file opens only with that file."""
    with keychain(world):
        path, there = given_key(world)
        outcome = do(world, "device", "bind", "--key-file", path, lines=[PASSCODE])
        ends(0, outcome, f"VALET_DEVICE_KEY_FILE={path}")
        expect(not os.path.exists(world.path("device/device.key")), "the old key is left")
        do(world, "lock", "--all")
        ends(1, run(world, "unlock", lines=[PASSCODE]), "VALET_DEVICE_KEY_FILE")
        do(world, "unlock", lines=[PASSCODE], env=there)
        expect(value(world, "a", env=there) == "value of a", "unlocked")
        ends(64, run(world, "device", "bind", "--own-file", lines=[PASSCODE], env=there),
             "'--lower' accepts this")
