# SPDX-License-Identifier: Apache-2.0
"""Processes of the same user that see the kernel's keyrings without the keychain's folders, or
the folders from another user namespace: docs/FORMAT.md §10."""

import ctypes
import json
import os
import time

import passcodes
from passcodes import ALONE, PASSCODE, SHARED, do, ends
from support import EVERY_USER, Skip, expect, scenario

SYS_ADD_KEY, SYS_KEYCTL = 248, 250
UPDATE, SETPERM, LINK, READ, TIMEOUT = 2, 5, 8, 11, 15
THREAD_KEYRING = -1
NEWNS, NEWUSER = 0x20000, 0x10000000
LIBC = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(), what)
    return result


class Keys:
    """What any process of the user can do with the kernel's keys."""

    @staticmethod
    def of(keychain):
        """Returns serial and scope of the keys with the names of a keychain's keys."""
        found = []
        for line in open("/proc/keys"):
            words = line.split()
            name = words[8] if len(words) > 8 else ""
            # The kernel lists ended keys until it has collected them.
            if words[7] == "user" and keychain in name and not set("RDi") & set(words[1]):
                found.append((int(words[0], 16), name.split(":")[3]))
        return found

    @staticmethod
    def read(serial):
        room = ctypes.create_string_buffer(1024)
        count = check(LIBC.syscall(SYS_KEYCTL, READ, serial, room, 1024), "read")
        return room.raw[:count].hex()

    @staticmethod
    def update(serial, payload):
        payload = bytes.fromhex(payload)
        check(LIBC.syscall(SYS_KEYCTL, UPDATE, serial, payload, len(payload)), "update")

    @staticmethod
    def permit(serial, permissions):
        check(LIBC.syscall(SYS_KEYCTL, SETPERM, serial, permissions), "setperm")

    @staticmethod
    def forget_time(serial):
        check(LIBC.syscall(SYS_KEYCTL, TIMEOUT, serial, 0), "timeout")

    @staticmethod
    def plant(name, payload):
        payload = bytes.fromhex(payload)
        serial = check(LIBC.syscall(SYS_ADD_KEY, b"user", name.encode(), payload, len(payload),
                                    THREAD_KEYRING), "add")
        Keys.permit(serial, 0x3F2F0000)
        # The user keyring of a user namespace is another one; the user's own is listed all the
        # same, and open to every process of the user.
        keyrings = [int(line.split()[0], 16) for line in open("/proc/keys")
                    if line.split()[7] == "keyring" and line.split()[8].startswith("_uid.")]
        linked = [LIBC.syscall(SYS_KEYCTL, LINK, serial, keyring) for keyring in keyrings]
        expect(0 in linked, "there is no user keyring to plant in", keyrings)
        return serial

    @staticmethod
    def sees(path):
        return os.path.exists(path)


class Sandbox:
    """A child with a user namespace and mounts of its own, in which a folder is empty."""

    def __init__(self, hidden):
        ours, theirs = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(ours[1])
            os.close(theirs[0])
            self.serve(hidden, os.fdopen(ours[0]), os.fdopen(theirs[1], "w"))
        os.close(ours[0])
        os.close(theirs[1])
        self.requests, self.answers = os.fdopen(ours[1], "w"), os.fdopen(theirs[0])
        answer = json.loads(self.answers.readline())
        if answer != "ready":
            self.end()
            raise Skip(f"needs user namespaces: {answer}")

    @staticmethod
    def serve(hidden, requests, answers):
        def answer(value):
            answers.write(json.dumps(value) + "\n")
            answers.flush()
        try:
            user = os.geteuid()
            # A process that gave up root may not write its own map otherwise: PR_SET_DUMPABLE.
            check(LIBC.prctl(4, 1, 0, 0, 0), "dumpable")
            check(LIBC.unshare(NEWUSER | NEWNS), "unshare")
            open("/proc/self/uid_map", "w").write(f"0 {user} 1")
            check(LIBC.mount(b"none", b"/", None, 0x4000 | 0x40000, None), "private mounts")
            check(LIBC.mount(b"none", hidden.encode(), b"tmpfs", 0, None), "tmpfs")
            answer("ready")
            for line in requests:
                verb, *words = json.loads(line)
                try:
                    answer(getattr(Keys, verb)(*words))
                except OSError as error:
                    answer({"errno": error.errno, "what": str(error)})
        except OSError as error:
            answer(str(error))
        os._exit(0)

    def __call__(self, *words):
        self.requests.write(json.dumps(words) + "\n")
        self.requests.flush()
        answer = json.loads(self.answers.readline())
        expect(not isinstance(answer, dict), f"{words[0]}:", answer)
        return answer

    def end(self):
        self.requests.close()
        os.waitpid(self.pid, 0)


def status(world):
    return json.loads(do(world, "status", "--json").out)


# Promise: 7.5, 7.6
@scenario(users=EVERY_USER)
def kernel_alone(world):
    """A sandbox that sees only kernel keyrings can neither read, forge nor extend an unlock.

    It can lock, and nothing that was acknowledged is damaged."""
    sandbox = Sandbox(world.folder)
    try:
        with passcodes.keychain(world):
            attack(world, sandbox)
    finally:
        sandbox.end()


def attack(world, sandbox):
    keychain = status(world)["keychainID"]
    expect(not sandbox("sees", world.path("keychain.db")), "the sandbox sees the keychain")

    def unlock(*words):
        do(world, "unlock", *words, lines=[PASSCODE])

    def keys():
        # /proc/keys may leave out a key while other users' keys come and go.
        for _ in range(100):
            found = {scope: serial for serial, scope in sandbox("of", keychain)}
            if set(found) == {"u", "f"}:
                return found
            time.sleep(0.02)
        return expect(False, "the keys of an unlocked keychain are", found)

    def expect_locked(*texts):
        before = world.contents("keychain.db-wal")
        ends(75, passcodes.run(world, "get", "a"))
        ends(75, world.run("set", "a", input=b"forged", env=SHARED))
        expect(world.contents("keychain.db-wal") == before, "something was written")
        said = status(world)["lockStateWarning"] or ""
        for text in texts:
            expect(text in said, f"{text!r} is missing: {said!r}")

    def expect_whole():
        unlock()
        expect(world.get("a", env=SHARED) == "value of a", "a is another one")
        expect(status(world)["lockStateWarning"] is None, status(world)["lockStateWarning"])
        world.run("doctor", env=SHARED)

    # The sandbox replaces a payload by its own bytes, by the other scope's, by a changed one, by
    # one byte.
    for forge in (lambda u, f: os.urandom(409).hex(), lambda u, f: f, lambda u, f: u[:-2] + "00",
                  lambda u, f: "00"):
        unlock()
        found = keys()
        expect(set(found) == {"u", "f"}, found)
        unlocked, first = sandbox("read", found["u"]), sandbox("read", found["f"])
        sandbox("update", found["u"], forge(unlocked, first))
        expect_locked("another program changed them")
        expect_whole()

    # It tries to extend a deadline: it clears the timeout, and plants an earlier copy.
    unlock()
    endless = sandbox("read", keys()["u"])
    unlock("--for", "2s")
    found = keys()
    end = time.monotonic() + 2.1
    sandbox("forget_time", found["u"])
    time.sleep(max(0, end - time.monotonic()))
    ends(75, passcodes.run(world, "get", "a"))
    unlock("--for", "2s")
    sandbox("update", keys()["u"], endless)
    expect_locked("another program changed them")
    expect_whole()

    # It removes every permission: unlock and lock still work.
    for verb in (("lock",), ("lock", "--all"), ("unlock",)):
        unlock()
        for serial in keys().values():
            sandbox("permit", serial, 0)
        ends(75, passcodes.run(world, "get", "a"))
        do(world, *verb, lines=[PASSCODE] if verb == ("unlock",) else ())
        expect_whole()

    # It plants copies from before a lock under any name, and copies from before new keys.
    for change in (("lock",), ("lock", "--all"), ("rotate",)):
        unlock()
        copies = {scope: sandbox("read", serial) for scope, serial in keys().items()}
        do(world, *change, lines=[PASSCODE] if change == ("rotate",) else ())
        if change == ("rotate",):
            for scope, serial in keys().items():
                sandbox("update", serial, copies[scope])
            expect_locked("another program changed them")
        else:
            for scope, copy in copies.items():
                sandbox("plant", f"valet:2:{keychain}:{scope}:0123456789abcdef", copy)
            expect_locked("unused keys in the kernel")
            told = passcodes.run(world, "doctor").out.decode()
            expect("unused keys in the kernel" in told, told)
        expect_whole()
        left = sandbox("of", keychain)
        expect(len(left) == 2, "an unlock leaves", left)
    do(world, "lock", "--all")
    expect(sandbox("of", keychain) == [], "a lock leaves", sandbox("of", keychain))


# Promise: 7.9
@scenario(users=EVERY_USER)
def locked_from_a_namespace(world):
    """A lock from another user namespace ends every unlock."""
    own, other = world.agent(env=ALONE), world.agent(env=ALONE)
    own.do("passcode set word")
    own.do("set key value")
    shared = world.agent(env=SHARED)
    shared.do("unlock word")
    for words, before in ((("lock",), "locked"), (("lock", "--all"), "beforeFirstUnlock")):
        for agent in (own, other, shared):
            agent.do("unlock word")
            expect(agent.do("get key") == "value", "not unlocked")
        done = world.run(*words, env=SHARED, prefix=("unshare", "--user", "--map-root-user"))
        if "unshare:" in done.err:
            raise Skip(done.err)
        ends(0, done)
        for agent in (own, other, shared):
            answer = agent.ask("get key")
            expect(answer.startswith("error locked"), words, answer)
            state = agent.do("state")
            expect(state.startswith(before + " "), words, state)
    shared.ask("lock all")
    for agent in (own, other, shared):
        agent.end()
