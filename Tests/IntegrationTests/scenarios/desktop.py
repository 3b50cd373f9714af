# SPDX-License-Identifier: Apache-2.0
"""valet serve: programs that ask for the Secret Service, over a bus of their own."""

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import threading
import time
from collections import Counter

from kills import CHANGING, chosen
from support import (COMMAND, CRASH_TEST, EVERY_USER, Skip, expect, is_listening, mount, need,
                     private_mounts, scenario, wait_for)

PASSCODE = b"correct horse\n"
SHARED = {"VALET_LOCK_STATE": "kernel"}
LOGIN = "/org/freedesktop/secrets/collection/login"
SERVICE = "org.freedesktop.Secret.Service"


class Desktop:
    """A session bus, with the service on it."""

    def __init__(self, world, *words, **env):
        for program in ("dbus-daemon", "dbus-send", "secret-tool"):
            need(program)
        self.world = world
        runtime = os.path.join(world.folder, "run")
        os.mkdir(runtime, 0o700)
        self.socket = f"{runtime}/bus"
        address = f"unix:path={self.socket}"
        self.env = dict(SHARED, DBUS_SESSION_BUS_ADDRESS=address, XDG_RUNTIME_DIR=runtime,
                        LC_ALL="C.UTF-8", **env)
        self.configuration = os.path.join(world.folder, "bus.conf")
        with open(self.configuration, "w", encoding="utf-8") as file:
            # No other Secret Service can be started on this bus.
            file.write(f"""<busconfig><type>session</type><listen>{address}</listen>
                <servicedir>{world.folder}/.local/share/dbus-1/services</servicedir>
                <policy context="default"><allow send_destination="*" eavesdrop="true"/>
                <allow eavesdrop="true"/><allow own="*"/></policy></busconfig>""")
        self.silence = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.start_bus()
        self.words = words
        self.service = None
        self.log = os.path.join(world.folder, "serve.log")

    def start_bus(self):
        """Starts the bus, at first or after its end."""
        if os.path.exists(self.socket):
            os.unlink(self.socket)
        self.bus = self.world.start(
            ["dbus-daemon", f"--config-file={self.configuration}", "--nofork"], self.env,
            **self.silence)
        wait_for(lambda: is_listening(self.socket), "the bus")

    def serve(self, *words, stdin=subprocess.DEVNULL):
        with open(self.log, "ab") as log:
            self.service = self.world.start([COMMAND, "serve", *self.words, *words], self.env,
                                            stdin=stdin, stdout=log, stderr=log)
        wait_for(self.is_there, "the service")

    def logged(self):
        """What the service has written so far."""
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def is_there(self):
        return b"boolean true" in self.send(
            "/", "org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets",
            to="org.freedesktop.DBus").out

    def send(self, path, member, *words, to="org.freedesktop.secrets"):
        return self.world.run("--session", "--print-reply", f"--dest={to}", path, member, *words,
                              env=self.env, command="dbus-send")

    def get(self, path, interface, name):
        return self.send(path, "org.freedesktop.DBus.Properties.Get", f"string:{interface}",
                         f"string:{name}")

    def tool(self, *words, input=b"", code=0):
        outcome = self.world.run(*words, input=input, env=self.env, command="secret-tool")
        expect(outcome.code == code, *words, outcome)
        return outcome.out

    def store(self, secret, *attributes, label="a label"):
        self.tool("store", "--label", label, *attributes, input=secret)

    def lookup(self, *attributes, code=0):
        return self.tool("lookup", *attributes, code=code)

    def lock(self):
        # secret-tool of Debian 12 crashes after it has locked a keyring.
        self.world.run("lock", env=self.env, command="secret-tool")
        state = self.get(LOGIN, "org.freedesktop.Secret.Collection", "Locked")
        expect(b"boolean true" in state.out, state)

    def kill(self):
        self.service.kill()
        self.service.wait(20)
        wait_for(lambda: not self.is_there(), "the end of the service")


def asker(world, case):
    """A pinentry, as the path of a script with a case of its own. It answers yes; $NO declines."""
    path = os.path.join(world.folder, "pinentry")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""#!/bin/sh
NO="ERR 83886179 cancelled"
echo OK
while read -r verb rest; do
    case $verb in
    {case}
    BYE) echo OK; exit ;;
    *) echo OK ;;
    esac
done
""")
    os.chmod(path, 0o700)
    return path


@scenario(users=EVERY_USER)
def secret_tool(world):
    """secret-tool stores, finds, replaces and removes; the secrets outlive the service."""
    desktop = Desktop(world)
    desktop.serve()
    desktop.store(b"pass 1", "service", "mail", "user", "anna")
    desktop.store(b"pass 2", "service", "mail", "user", "ben")
    expect(desktop.lookup("service", "mail", "user", "anna") == b"pass 1", "the first")
    expect(desktop.lookup("user", "ben") == b"pass 2", "by a part of the attributes")
    desktop.lookup("service", "mail", "user", "carl", code=1)
    desktop.lookup("service", "other", code=1)
    desktop.store(b"pass 3", "service", "mail", "user", "anna", label="new")
    expect(desktop.lookup("service", "mail", "user", "anna") == b"pass 3", "replaced")
    desktop.kill()
    desktop.serve()
    expect(desktop.lookup("service", "mail", "user", "anna") == b"pass 3", "after a restart")
    found = desktop.tool("search", "--all", "service", "mail")
    expect(found.count(b"secret = ") == 2 and b"label = new" in found, found)
    desktop.tool("clear", "service", "mail", "user", "anna")
    desktop.lookup("service", "mail", "user", "anna", code=1)
    expect(desktop.lookup("service", "mail") == b"pass 2", "the other one")


@scenario(users=EVERY_USER)
def exact_attributes(world):
    """An item takes the place of one with the same attributes, and of no other."""
    desktop = Desktop(world)
    desktop.serve()
    desktop.store(b"one", "service", "mail")
    desktop.store(b"two", "service", "mail", "user", "anna")
    expect(desktop.lookup("user", "anna") == b"two", "the larger one")
    found = desktop.tool("search", "--all", "service", "mail")
    expect(found.count(b"secret = ") == 2, found)


# Promise: 20.3
@scenario(users=EVERY_USER)
def locked(world):
    """What is locked is found but not read; a question of pinentry unlocks it."""
    outcome = world.run("passcode", "set", "--passcode-fd", "0", input=PASSCODE, env=SHARED)
    expect(outcome.code == 0, outcome)
    answers = os.path.join(world.folder, "answer")
    pinentry = asker(world, f"""GETPIN) [ -s {answers} ] || {{ echo "$NO"; continue; }}
        printf 'D %s\\nOK\\n' "$(cat {answers})" ;;""")
    desktop = Desktop(world, VALET_PINENTRY=pinentry)
    desktop.serve()
    desktop.store(b"pass 1", "service", "mail")
    desktop.lock()
    # Nothing in it is named.
    expect(world.run("unlock", "--passcode-fd", "0", input=PASSCODE, env=SHARED).code == 0, "unlock")
    for path in ("", "/org/freedesktop/secrets/collection/session", "/org/freedesktop/secrets"):
        desktop.send("/org/freedesktop/secrets", SERVICE + ".Lock", f"array:objpath:{path}")
    state = desktop.get(LOGIN, "org.freedesktop.Secret.Collection", "Locked")
    expect(b"boolean false" in state.out, state)
    desktop.lock()
    # Dismissed.
    open(answers, "w", encoding="utf-8").close()
    desktop.lookup("service", "mail", code=1)
    with open(answers, "wb") as file:
        file.write(PASSCODE.strip())
    expect(desktop.lookup("service", "mail") == b"pass 1", "after the question")
    state = desktop.get(LOGIN, "org.freedesktop.Secret.Collection", "Locked")
    expect(b"boolean false" in state.out, state)
    # By another program.
    desktop.lock()
    expect(world.run("unlock", "--passcode-fd", "0", input=PASSCODE, env=SHARED).code == 0, "unlock")
    os.remove(answers)
    expect(desktop.lookup("service", "mail") == b"pass 1", "after valet unlock")


# Promise: 20.3
@scenario(users=EVERY_USER)
def before_first_unlock(world):
    """After a restart the service looks locked, not empty, and its question brings the secret;
    with keys that are shared and with keys of its own."""
    outcome = world.run("passcode", "set", "--passcode-fd", "0", input=PASSCODE, env=SHARED)
    expect(outcome.code == 0, outcome)
    asked = os.path.join(world.folder, "asked")
    pinentry = asker(world, f"""GETPIN) echo asked >>{asked}
        printf 'D {PASSCODE.decode().strip()}\nOK\n' ;;""")
    desktop = Desktop(world, VALET_PINENTRY=pinentry)
    desktop.serve()
    desktop.store(b"pass 1", "service", "mail")
    desktop.kill()
    for state in ("kernel", "process"):
        desktop.env["VALET_LOCK_STATE"] = state
        expect(world.run("lock", "--all", env=SHARED).code == 0, "lock --all")
        open(asked, "w", encoding="utf-8").close()
        desktop.serve()
        # By the alias, as Python's SecretStorage and Go's programs go.
        found = desktop.send("/org/freedesktop/secrets", SERVICE + ".ReadAlias", "string:default")
        expect(LOGIN.encode() in found.out, found)
        for path in (LOGIN, "/org/freedesktop/secrets/aliases/default"):
            for name, value in (("Locked", b"boolean true"), ("Label", b'string "login"'),
                                ("Items", b"array [\n      ]")):
                found = desktop.get(path, "org.freedesktop.Secret.Collection", name)
                expect(value in found.out, path, found)
        expect(desktop.lookup("service", "none", code=1) == b"", "what is not there")
        expect(desktop.lookup("service", "mail") == b"pass 1", "after the question")
        expect(desktop.lookup("service", "mail") == b"pass 1", "without a question")
        with open(asked, encoding="utf-8") as file:
            expect(file.read().count("asked") == 1, state, "asked more than once")
        desktop.kill()


# Promise: 20.3
@scenario(users=EVERY_USER)
def passcode_of_a_descriptor(world):
    """A service without a display reads a line of its descriptor for each unlock."""
    outcome = world.run("passcode", "set", "--passcode-fd", "0", input=PASSCODE, env=SHARED)
    expect(outcome.code == 0, outcome)
    desktop = Desktop(world)
    desktop.serve()
    desktop.store(b"pass 1", "service", "mail")
    desktop.kill()
    desktop.env |= {"VALET_PASSCODE_FD": "0", "VALET_LOCK_STATE": "process"}
    lines = os.path.join(world.folder, "lines")
    with open(lines, "wb") as file:
        file.write(PASSCODE * 2)
    with open(lines, "rb") as file:
        desktop.serve(stdin=file)
    for _ in range(2):
        expect(desktop.lookup("service", "mail") == b"pass 1", "after the prompt")
        desktop.lock()
    # There is no further line.
    desktop.lookup("service", "mail", code=1)
    expect("not unlocked" in desktop.logged(), desktop.logged())


# Promise: 20.3
@scenario(users=EVERY_USER)
def nobody_to_ask(world):
    """A program whose wish nobody can be asked for is told why."""
    outcome = world.run("passcode", "set", "--passcode-fd", "0", input=PASSCODE, env=SHARED)
    expect(outcome.code == 0, outcome)
    desktop = Desktop(world, VALET_INTERACTION="never")
    desktop.serve()
    desktop.store(b"pass 1", "service", "mail")
    desktop.lock()
    outcome = world.run("lookup", "service", "mail", env=desktop.env, command="secret-tool")
    expect(outcome.code == 1 and "VALET_INTERACTION" in outcome.err, outcome)


# Promise: 20.3
@scenario(users=EVERY_USER)
def one_question(world):
    """Programs that wait while a question is open get its answer, be it yes or no. A question
    that its program withdraws is asked for the next one."""
    outcome = world.run("passcode", "set", "--passcode-fd", "0", input=PASSCODE, env=SHARED)
    expect(outcome.code == 0, outcome)
    asked, answer = (os.path.join(world.folder, name) for name in ("asked", "answer"))
    pinentry = asker(world, f"""GETPIN) echo asked >>{asked}
        until [ -e {answer} ]; do sleep 0.05; done
        [ -s {answer} ] || {{ echo "$NO"; continue; }}
        printf 'D %s\nOK\n' "$(cat {answer})" ;;""")
    desktop = Desktop(world, VALET_PINENTRY=pinentry)
    desktop.serve()
    for number in range(5):
        desktop.store(str(number).encode(), "n", str(number))

    def ask(number):
        return world.start(["secret-tool", "lookup", "n", str(number)], desktop.env,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL)

    def count():
        with open(asked, encoding="utf-8") as file:
            return len(file.readlines())

    def ask_all(reply):
        """Asks from all, and answers once the last one waits."""
        open(asked, "w", encoding="utf-8").close()
        programs = [ask(number) for number in range(5)]
        wait_for(lambda: count() == 1, "the question")
        time.sleep(1)
        with open(answer, "wb") as file:
            file.write(reply)
        found = [program.communicate(timeout=30)[0] for program in programs]
        os.remove(answer)
        expect(count() == 1, "questions:", count())
        return found

    desktop.lock()
    expect(ask_all(b"") == [b""] * 5, "after a no")
    expect(ask_all(PASSCODE.strip()) == [b"0", b"1", b"2", b"3", b"4"], "after a yes")
    # The first one goes.
    desktop.lock()
    open(asked, "w", encoding="utf-8").close()
    first = ask(0)
    wait_for(lambda: count() == 1, "the first question")
    second = ask(1)
    time.sleep(1)
    first.kill()
    first.communicate(timeout=30)
    wait_for(lambda: count() == 2, "the second question")
    # Unlocked in another way: the question ends.
    unlocked = world.run("unlock", "--passcode-fd", "0", input=PASSCODE, env=SHARED)
    expect(unlocked.code == 0, unlocked)
    expect(second.communicate(timeout=30)[0] == b"1", "after valet unlock")


# Promise: 2.4
@scenario
def lost_changes(world):
    """If another program deletes what only the service has, the service or the client is told."""
    desktop = Desktop(world)
    desktop.serve()
    for name in ("one", "two"):
        desktop.store(name.encode(), "name", name)
    time.sleep(1)
    os.kill(desktop.service.pid, signal.SIGSTOP)
    for suffix in ("-wal", "-shm"):
        os.remove(world.path("keychain.db" + suffix))
    os.kill(desktop.service.pid, signal.SIGCONT)
    outcome = world.run("store", "--label=L", "name", "three", input=b"three", env=desktop.env,
                        command="secret-tool")
    wait_for(lambda: "are lost" in desktop.logged() + outcome.err, "a word of the loss")
    desktop.store(b"four", "name", "four")
    expect(desktop.lookup("name", "four") == b"four", "four")


# Promise: 20.5
@scenario
def killed(world):
    """Nothing that a program was told is stored is lost when the service is killed."""
    desktop = Desktop(world)
    for turn in range(8):
        desktop.serve()
        stored = []

        def store(first):
            for number in range(first, first + 200):
                outcome = world.run("store", "--label", "x", "number", str(number),
                                    input=str(number).encode(), env=desktop.env,
                                    command="secret-tool")
                if outcome.code != 0:
                    return
                stored.append(number)
        thread = threading.Thread(target=store, args=(turn * 1000,))
        thread.start()
        wait_for(lambda: len(stored) > turn, "the first secrets")
        desktop.kill()
        thread.join()
        desktop.serve()
        for number in stored:
            found = desktop.lookup("number", str(number))
            expect(found == str(number).encode(), number, found)
        desktop.kill()


# Promise: 20.5
@scenario(script=CRASH_TEST)
def killed_inside(world):
    """A kill at each call of the kernel in a write of the service leaves the old secret or the new."""
    need("strace")
    desktop = Desktop(world)
    trace = os.path.join(world.folder, "trace")

    def traced(value, *options, code=None):
        """Stores under strace, and returns whether the program was told that it is stored."""
        strace = world.start(["strace", "-f", "-o", trace, "-p", str(desktop.service.pid), *options],
                             stdin=subprocess.DEVNULL, **desktop.silence)
        # One of its threads may come to the call at once.
        wait_for(lambda: desktop.service.poll() is not None or "TracerPid:\t0\n" not in open(
            f"/proc/{desktop.service.pid}/status", encoding="utf-8").read(), "strace")
        outcome = world.run("store", "--label", "x", "n", "1", input=value, env=desktop.env,
                            command="secret-tool")
        # Told to end, it may wait for a process that is dead.
        strace.kill()
        strace.wait(20)
        return outcome.code == 0
    desktop.serve()
    desktop.store(b"value 0", "n", "1")
    names = (*CHANGING, "sendmsg", "fcntl", "pread64", "fstat", "newfstatat")
    expect(traced(b"value 0", "-e", "trace=" + ",".join(names)), "under strace")
    found = []
    with open(trace, encoding="utf-8", errors="replace") as file:
        counts = Counter()
        for line in file:
            match = re.match(r"(\d+) +(\w+)\(", line)
            if match:
                counts[match[1], match[2]] += 1
                found.append((match[2], counts[match[1], match[2]]))
    found = sorted(set(found))
    expect(len(found) > 5 and ("pwrite64", 1) in found, found)
    old, kill_count = b"value 0", 0
    for number, (call, count) in enumerate(chosen(world, found, 16)):
        new = b"value %d" % (number + 1)
        is_told = traced(new, "-e", f"trace={call}", "-e",
                         f"inject={call}:signal=KILL:when={count}")
        found_now = world.run("lookup", "n", "1", env=desktop.env, command="secret-tool")
        was_killed = found_now.code != 0
        if was_killed:
            # A thread that looks for changes may have come to the call after the answer.
            desktop.service.wait(20)
            wait_for(lambda: not desktop.is_there(), "the end of the service")
            desktop.serve()
        kill_count += was_killed
        expect(is_told or was_killed, call, count, "is no kill, and nothing is stored")
        value = desktop.lookup("n", "1") if was_killed else found_now.out
        expect(value in (old, new), f"killed at {call} {count}: {value!r}")
        expect(not is_told or value == new, f"{call} {count}: {new!r} was acknowledged, and is lost")
        old = value
    expect(kill_count > 5, "few kills:", kill_count, found)


@scenario(users=EVERY_USER)
def errors(world):
    """Calls that cannot be carried out get the errors that clients tell apart."""
    desktop = Desktop(world)
    desktop.serve()
    secret = "org.freedesktop.Secret.Error."
    bus = "org.freedesktop.DBus.Error."
    item = LOGIN + "/00000000000000000000000000000000"
    root = "/org/freedesktop/secrets"
    for error, *call in (
            (secret + "NoSuchObject", item, "org.freedesktop.Secret.Item.Delete"),
            (secret + "NoSession", item, "org.freedesktop.Secret.Item.GetSecret",
             f"objpath:{root}/session/7"),
            (secret + "NoSession", f"{root}/session/7", "org.freedesktop.Secret.Session.Close"),
            (secret + "NoSuchObject", f"{root}/prompt/7", "org.freedesktop.Secret.Prompt.Dismiss"),
            (secret + "NoSuchObject", f"{root}/collection/none",
             "org.freedesktop.Secret.Collection.Delete"),
            (bus + "UnknownObject", "/org/freedesktop/other", SERVICE + ".ReadAlias", "string:x"),
            (bus + "UnknownMethod", root, SERVICE + ".Nothing"),
            (bus + "UnknownInterface", root, "org.freedesktop.Other.Method"),
            (bus + "InvalidArgs", root, SERVICE + ".ReadAlias"),
            (bus + "NotSupported", root, SERVICE + ".OpenSession", "string:rot13",
             "variant:string:x"),
            (bus + "UnknownProperty", root, "org.freedesktop.DBus.Properties.Get",
             f"string:{SERVICE}", "string:Nothing"),
            (bus + "PropertyReadOnly", LOGIN, "org.freedesktop.DBus.Properties.Set",
             "string:org.freedesktop.Secret.Collection", "string:Locked", "variant:boolean:true")):
        outcome = desktop.send(*call)
        expect(outcome.code == 1 and error in outcome.err, call, outcome)


@scenario
def replaced(world):
    """A service gives way to one that replaces it, and --idle-exit ends that one."""
    desktop = Desktop(world)
    desktop.serve()
    first = desktop.service
    outcome = world.run("serve", env=desktop.env)
    expect(outcome.code == 73 and "--replace" in outcome.err, outcome)
    desktop.store(b"pass 1", "service", "mail")
    desktop.serve("--replace", "--idle-exit", "2s")
    expect(first.wait(20) == 0, "the first service")
    expect(desktop.lookup("service", "mail") == b"pass 1", "by the second")
    expect(desktop.service.wait(20) == 0, "the second service")


# Promise: 20.5
@scenario
def idle_with_items(world):
    """A service does not end for idleness while the collection in memory has items."""
    need_bindings()
    desktop = Desktop(world, "--idle-exit", "1s")
    desktop.serve()
    outcome = world.run("-c", CLIENT + TASKS + CALL, "idle", env=desktop.env,
                        command="/usr/bin/python3")
    expect(outcome.code == 0, outcome)
    time.sleep(3)
    expect(desktop.service.poll() is None, "it has ended")


@scenario
def idle_threads(world):
    """No thread of an idle service wakes up, while a client has a connection."""
    desktop = Desktop(world)
    desktop.serve()
    desktop.store(b"pass 1", "service", "mail")
    client = world.start(["dbus-monitor", "--session"], desktop.env, **desktop.silence)

    def wakes():
        folder, found = f"/proc/{desktop.service.pid}/task", {}
        for task in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):
                text = open(f"{folder}/{task}/status").read()
                found[task] = re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.M)[1]
        return found

    def rests():
        before = wakes()
        time.sleep(3)
        return wakes() == before
    wait_for(rests, "the end of what the store began")
    before = wakes()
    # Longer than any pause between looks that a service needs elsewhere.
    time.sleep(32)
    expect(wakes() == before, "threads woke up:", before, wakes())
    client.kill()
    client.wait(20)
    world.started.remove(client)


# Promise: 20.5
@scenario
def descriptors(world):
    """A call that brings a descriptor, whose closing may take for ever, is not delivered."""
    by_hand(world, "bring_descriptors")


# Promise: 20.2
@scenario
def forged_signals(world):
    """Signals that a client sends in the name of the bus end neither the service nor a session."""
    by_hand(world, "forge")


@scenario(users=EVERY_USER)
def git_helper(world):
    """git's own helper for libsecret stores, finds and erases a password."""
    for program in ("gcc", "pkg-config"):
        need(program)
    source = "/usr/share/doc/git/contrib/credential/libsecret/git-credential-libsecret.c"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libsecret-1"], check=False,
                           capture_output=True, text=True)
    if flags.returncode != 0 or not os.path.exists(source):
        raise Skip("needs libsecret-1-dev, and the source of git's helper")
    helper = os.path.join(world.folder, "git-credential-libsecret")
    subprocess.run(["gcc", source, "-o", helper, *flags.stdout.split()], check=True)
    desktop = Desktop(world)
    desktop.serve()

    def git(operation, *lines):
        outcome = world.run(operation, input="".join(f"{line}\n" for line in lines).encode(),
                            env=desktop.env, command=helper)
        expect(outcome.code == 0, operation, outcome)
        return outcome.out
    place = ("protocol=https", "host=example.com")
    git("store", *place, "username=anna", "password=pass 1")
    expect(git("get", *place) == b"username=anna\npassword=pass 1\n", "get")
    git("store", *place, "username=anna", "password=pass 2")
    expect(git("get", *place, "username=anna").endswith(b"password=pass 2\n"), "replaced")
    git("erase", *place, "username=anna")
    expect(git("get", *place) == b"", "erased")


# Promise: 20.11
@scenario
def portal(world):
    """Each Flatpak gets a secret of its own, and always the same, through a descriptor."""
    by_hand(world, "portal")


def gnome_keyring(world, desktop):
    """GNOME Keyring in place of the service, unlocked."""
    need("gnome-keyring-daemon")
    keyring = world.start(
        ["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"], desktop.env,
        stdin=subprocess.PIPE, **desktop.silence)
    keyring.stdin.write(b"keyring's password")
    keyring.stdin.close()
    wait_for(desktop.is_there, "the keyring")
    wait_for(lambda: b"boolean false" in desktop.get(
        LOGIN, "org.freedesktop.Secret.Collection", "Locked").out, "the open keyring")
    return keyring


@scenario(users=EVERY_USER)
def moved_in(world):
    """What programs kept in GNOME Keyring they find again after an import for the desktop."""
    desktop = Desktop(world)
    keyring = gnome_keyring(world, desktop)
    kept = {("service", "mail", "user", "anna"): b"pass 1", ("application", "chrome"): b"key 1",
            ("application", "chromium"): b"key \xff\n", ("n", "\u00e9"): b""}
    for attributes, secret in kept.items():
        desktop.store(secret, *attributes, label="a label")
    # As keytar does, and others.
    general = ("account", "anna", "xdg:schema", "org.freedesktop.Secret.Generic")
    kept[general] = b"pass 9"
    desktop.store(b"pass 9", *general)

    def move_in(*words, code=0):
        outcome = world.run("import", "--from", "secret-service", "--for-desktop", "--json", *words,
                            env=desktop.env)
        expect(outcome.code == code, outcome)
        return json.loads(outcome.out)
    expect(move_in("--dry-run")["added"] == 5, "dry run")
    expect(move_in()["added"] == 5, "the first import")
    expect(move_in()["same"] == 5, "the second import")
    desktop.store(b"pass 2", "service", "mail", "user", "anna")
    expect(move_in(code=73)["conflicts"] == 1, "another value")
    expect(move_in("--replace")["replaced"] == 1, "replaced")
    kept["service", "mail", "user", "anna"] = b"pass 2"
    keyring.kill()
    wait_for(lambda: not desktop.is_there(), "the end of the keyring")
    desktop.serve()
    for attributes, secret in kept.items():
        expect(desktop.lookup(*attributes) == secret, attributes)
    # Items without a schema, for which GNOME Keyring reports the general one at times, or with it.
    desktop.store(b"key 2", "application", "chrome", label="a label")
    desktop.store(b"pass 10", "account", "anna", label="a label")
    schema = ("xdg:schema", "org.freedesktop.Secret.Generic")
    for attributes in (("application", "chrome"), ("account", "anna")):
        for words in (attributes, attributes + schema):
            found = desktop.tool("search", "--all", *words)
            expect(b"label = a label" in found and found.count(b"secret = ") == 1, words, found)
    # Not from itself.
    outcome = world.run("import", "--from", "secret-service", "--for-desktop", env=desktop.env)
    expect(outcome.code == 1 and "valet serve" in outcome.err, outcome)


@scenario(users=EVERY_USER)
def moved_out(world):
    """What programs kept here they find again in GNOME Keyring after an export."""
    desktop = Desktop(world)
    desktop.serve()
    kept = {("service", "mail", "user", "anna"): b"pass 1", ("application", "chrome"): b"key 1",
            ("application", "chromium"): b"key \xff\n", ("n", "\u00e9"): b""}
    for attributes, secret in kept.items():
        desktop.store(secret, *attributes, label="a label")
    world.set("native", "not for programs")

    def move_out(*words, code=0):
        outcome = world.run("export", "--to", "secret-service", "--json", *words, env=desktop.env)
        expect(outcome.code == code, outcome)
        return json.loads(outcome.out) if outcome.out else outcome.err
    expect("valet serve" in move_out(code=1), "to itself")
    for words in (("--format", "json"), ("--id", "web"), ("--replace", "--skip-existing")):
        move_out(*words, code=64)
    desktop.kill()
    keyring = gnome_keyring(world, desktop)
    expect(move_out("--dry-run")["added"] == 4, "dry run")
    desktop.lookup("application", "chrome", code=1)
    expect(move_out()["added"] == 4, "the first export")
    for attributes, secret in kept.items():
        expect(desktop.lookup(*attributes) == secret, attributes)
    found = desktop.tool("search", "--all", "application", "chrome")
    expect(b"label = a label" in found and found.count(b"secret = ") == 1, found)
    expect(move_out()["same"] == 4, "the second export")
    desktop.store(b"pass 2", "service", "mail", "user", "anna")
    expect(move_out(code=73)["conflicts"] == 1, "another value")
    expect(move_out("--skip-existing")["kept"] == 1, "kept")
    expect(desktop.lookup("service", "mail") == b"pass 2", "kept")
    expect(move_out("--replace")["replaced"] == 1, "replaced")
    expect(desktop.lookup("service", "mail") == b"pass 1", "replaced")
    desktop.lock()
    expect("is locked" in move_out(code=75), "locked")
    keyring.kill()
    wait_for(lambda: not desktop.is_there(), "the end of the keyring")
    move_out(code=1)
    # Two items with the same attributes, in two collections, stay two.
    desktop.serve()
    by_hand(world, "twin", desktop=desktop)
    desktop.kill()
    keyring = gnome_keyring(world, desktop)
    counts = move_out("--replace")
    expect(counts["added"] == 1 and counts["same"] == 4, counts)
    expect(move_out()["same"] == 5, "twins")
    keyring.kill()
    wait_for(lambda: not desktop.is_there(), "the end of the keyring")
    desktop.serve()
    for attributes, secret in kept.items():
        expect(desktop.lookup(*attributes) == secret, "still here:", attributes)


@scenario(users=EVERY_USER)
def installed(world):
    """The session starts the service by itself once it is installed, and not afterwards."""
    desktop = Desktop(world)
    services = os.path.join(world.folder, ".local/share/dbus-1/services")
    activation = os.path.join(services, "org.freedesktop.secrets.service")
    os.makedirs(services)
    with open(activation, "w", encoding="utf-8") as file:
        file.write("[D-BUS Service]\nName=org.freedesktop.secrets\nExec=/usr/bin/other\n")
    for option, code in (("--install", 73), ("--uninstall", 0)):
        outcome = world.run("serve", option, env=desktop.env)
        expect(outcome.code == code and os.path.exists(activation), "of another program", outcome)
    # One that is not read may start this service.
    with open(activation, "a", encoding="utf-8") as file:
        file.write("#" * 100_000)
    for option in ("--install", "--uninstall"):
        outcome = world.run("serve", option, env=desktop.env)
        expect(outcome.code == 1 and "cannot be read" in outcome.err, outcome)
    os.remove(activation)
    # Where the unit cannot be written, nothing starts it.
    os.makedirs(f"{world.folder}/.config")
    open(f"{world.folder}/.config/systemd", "w").close()
    outcome = world.run("serve", "--install", env=desktop.env)
    expect(outcome.code == 1 and not os.listdir(services), outcome, os.listdir(services))
    os.remove(f"{world.folder}/.config/systemd")
    expect(world.run("serve", "--install", "--idle-exit", "10m", "--share-group", "com.example.app",
                     env=desktop.env).code == 0, "install")
    with open(activation, encoding="utf-8") as file:
        expect("' serve --idle-exit 10m --share-group com.example.app\n" in file.read(), "words")
    unit = os.path.join(world.folder, ".config/systemd/user/valet-secret-service.service")
    expect(os.path.exists(unit), unit)
    desktop.send("/", "org.freedesktop.DBus.ReloadConfig", to="org.freedesktop.DBus")
    # Without systemd the bus starts the program itself.
    desktop.store(b"pass 1", "service", "mail")
    expect(desktop.lookup("service", "mail") == b"pass 1", "lookup")
    second = world.run("serve", env=desktop.env)
    expect(second.code == 73, second)
    outcome = world.run("serve", "--uninstall", env=desktop.env)
    expect(outcome.code == 0 and not os.path.exists(unit), outcome)
    pid = desktop.send("/", "org.freedesktop.DBus.GetConnectionUnixProcessID",
                       "string:org.freedesktop.secrets", to="org.freedesktop.DBus").out
    os.kill(int(pid.split()[-1]), signal.SIGTERM)
    wait_for(lambda: not desktop.is_there(), "the end of the service")


# Promise: 20.5
@scenario
def crowd(world):
    """Fifty clients at once each find what they have stored."""
    desktop = Desktop(world)
    desktop.serve()
    words = ["secret-tool", "store", "--label", "x"]
    clients = [world.start([*words, "client", str(number)], desktop.env, stdin=subprocess.PIPE,
                           **desktop.silence) for number in range(50)]
    for number, client in enumerate(clients):
        client.stdin.write(str(number).encode())
        client.stdin.close()
    expect([client.wait(60) for client in clients] == [0] * 50, "a client failed")
    for number in range(50):
        found = desktop.lookup("client", str(number))
        expect(found == str(number).encode(), number, found)


# Talks to the service by hand.
CLIENT = r"""
import os, random, socket, struct, sys
import gi
from gi.repository import Gio, GLib
bus = Gio.bus_get_sync(Gio.BusType.SESSION)
ROOT = "/org/freedesktop/secrets"
def call(path, method, signature="()", *values, reply=None):
    interface, _, member = method.rpartition(".")
    return bus.call_sync("org.freedesktop.secrets", path, "org.freedesktop." + interface, member,
                         GLib.Variant(signature, values), None, 0, 20000, None).unpack()
def get(path, interface, name):
    return call(path, "DBus.Properties.Get", "(ss)", "org.freedesktop.Secret." + interface, name)[0]
def secret(text):
    return (session, b"", text.encode(), "text/plain")
def create(collection, label, attributes, text, replace=False):
    return call(collection, "Secret.Collection.CreateItem", "(a{sv}(oayays)b)", {
        "org.freedesktop.Secret.Item.Label": GLib.Variant("s", label),
        "org.freedesktop.Secret.Item.Attributes": GLib.Variant("a{ss}", attributes)},
        secret(text), replace)[0]
def read(item):
    return bytes(call(item, "Secret.Item.GetSecret", "(o)", session)[0][2]).decode()
def error(work):
    try:
        work()
    except GLib.Error as failure:
        return Gio.DBusError.get_remote_error(failure).rpartition(".")[2]
    return None
def be_portal():
    bus.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                  "RequestName", GLib.Variant("(su)", ("org.freedesktop.portal.Desktop", 0)), None,
                  0, -1, None)
def wait(condition):
    end = GLib.get_monotonic_time() + 20_000_000
    while not condition():
        assert GLib.get_monotonic_time() < end, "waited in vain"
        # Without this pause it would take a processor from those it waits for.
        GLib.usleep(2_000)
        while GLib.MainContext.default().iteration(False): pass
session = call(ROOT, "Secret.Service.OpenSession", "(sv)", "plain", GLib.Variant("s", ""))[1]
"""

# Argument 1 says what to do.
CALL = "\nglobals()[sys.argv[1]]()\n"
TASKS = r"""
def collections():
    made, prompt = call(ROOT, "Secret.Service.CreateCollection", "(a{sv}s)", {
        "org.freedesktop.Secret.Collection.Label": GLib.Variant("s", "Zwölf & mehr")}, "twelve")
    assert prompt == "/" and made == ROOT + "/collection/Zw_lf___mehr", made
    assert call(ROOT, "Secret.Service.ReadAlias", "(s)", "twelve") == (made,)
    assert get(made, "Collection", "Label") == "Zwölf & mehr"
    item = create(made, "a", {"n": "1"}, "one")
    assert item.startswith(made + "/") and get(made, "Collection", "Items") == [item]
    login = call(ROOT, "Secret.Service.ReadAlias", "(s)", "default")[0]
    assert login == ROOT + "/collection/login"
    assert get(ROOT + "/aliases/default", "Collection", "Label") == "Login"
    other = create(login, "b", {"n": "1"}, "two")
    found = call(ROOT, "Secret.Service.SearchItems", "(a{ss})", {"n": "1"})
    assert sorted(found[0]) == sorted([item, other]) and found[1] == [], found
    assert call(made, "Secret.Collection.SearchItems", "(a{ss})", {"n": "1"}) == ([item],)
    # Two names that only look alike are two.
    two = {"\u00e9": "1", "e\u0301": "2"}
    memory = ROOT + "/collection/session"
    assert create(memory, "a", {"u": "\u00e9"}, "1", True) != create(
        memory, "b", {"u": "e\u0301"}, "2", True)
    for place in (made, memory):
        alike = create(place, "c", two, "three", True)
        assert create(place, "d", two, "four", True) == alike
        search = lambda names: call(place, "Secret.Collection.SearchItems", "(a{ss})", names)[0]
        assert search(two) == search({"e\u0301": "2"}) == [alike] and read(alike) == "four"
        assert search({"\u00e9": "2"}) == [] and get(alike, "Item", "Attributes") == two
        call(alike, "Secret.Item.Delete")
    assert get(made, "Collection", "Items") == [item]
    call(item, "DBus.Properties.Set", "(ssv)", "org.freedesktop.Secret.Item", "Attributes",
         GLib.Variant("a{ss}", {"m": "3"}))
    assert call(made, "Secret.Collection.SearchItems", "(a{ss})", {"n": "1"}) == ([],)
    assert call(made, "Secret.Collection.SearchItems", "(a{ss})", {"m": "3"}) == ([item],)
    assert call(made, "Secret.Collection.Delete") == ("/",)
    assert error(lambda: read(item)) == "NoSuchObject"
    assert call(ROOT, "Secret.Service.ReadAlias", "(s)", "twelve") == ("/",)
    assert read(other) == "two"
    assert get(ROOT, "Service", "Collections") == [login, ROOT + "/collection/session"]

def twin():
    made = call(ROOT, "Secret.Service.CreateCollection", "(a{sv}s)", {
        "org.freedesktop.Secret.Collection.Label": GLib.Variant("s", "work")}, "")[0]
    create(made, "twin", {"application": "chrome", "xdg:schema": "org.freedesktop.Secret.Generic"},
           "another")

def in_memory():
    item = create(ROOT + "/collection/session", "a", {"n": "1"}, "one")
    assert read(item) == "one"
    same = create(ROOT + "/collection/session", "b", {"n": "1"}, "two", True)
    assert same == item and read(item) == "two" and get(item, "Item", "Label") == "b"
    call(item, "Secret.Item.SetSecret", "((oayays))", secret("three"))
    assert read(item) == "three"
    assert call(item, "Secret.Item.Delete") == ("/",)
    assert error(lambda: read(item)) == "NoSuchObject"

def signals():
    heard = []
    bus.signal_subscribe("org.freedesktop.secrets", None, None, None, None, 0,
                         lambda *signal: heard.append((signal[4], signal[5].unpack()[0])
                                                      if signal[4] != "PropertiesChanged" else
                                                      (signal[2], *signal[5].unpack()[:2])))
    login = ROOT + "/collection/login"
    item = create(login, "a", {"n": "1"}, "one")
    wait(lambda: ("ItemCreated", item) in heard)
    wait(lambda: (login, "org.freedesktop.Secret.Collection", {"Items": [item]}) in heard)
    call(item, "Secret.Item.SetSecret", "((oayays))", secret("two"))
    wait(lambda: ("ItemChanged", item) in heard)
    call(item, "DBus.Properties.Set", "(ssv)", "org.freedesktop.Secret.Item", "Label",
         GLib.Variant("s", "b"))
    wait(lambda: any(path == item and rest and rest[0]["Label"] == "b" and
                     rest[0]["Attributes"] == {"n": "1"}
                     for path, _, *rest in heard))
    made = call(ROOT, "Secret.Service.CreateCollection", "(a{sv}s)", {
        "org.freedesktop.Secret.Collection.Label": GLib.Variant("s", "other")}, "")[0]
    names = [login, made, ROOT + "/collection/session"]
    wait(lambda: (ROOT, "org.freedesktop.Secret.Service", {"Collections": names}) in heard)
    # By another program.
    assert os.system(sys.argv[2] + " remove --all --yes --group org.freedesktop.secrets --service collection/login "
                     "--app org.freedesktop.secrets >/dev/null 2>&1") == 0
    wait(lambda: ("ItemDeleted", item) in heard)
    wait(lambda: (login, "org.freedesktop.Secret.Collection", {"Items": []}) in heard)

def seen():
    # What a client has read of items is told to it anew when they are locked and unlocked.
    heard = []
    bus.signal_subscribe("org.freedesktop.secrets", None, None, None, None, 0,
                         lambda *signal: heard.append((signal[4], signal[2],
                                                       signal[5].unpack())))
    def valet(words):
        assert os.system("echo 'correct horse' | " + sys.argv[2] + " " + words
                         + " >/dev/null 2>&1") == 0, words
    def told(item, locked, label):
        return any(name == "PropertiesChanged" and path == item and body[1]["Locked"] == locked
                   and body[1]["Label"] == label for name, path, body in heard)
    login = ROOT + "/collection/login"
    def make(count, label):
        # What the service has told of, it remembers.
        made = [create(login, label % n, {"n": str(n)}, "one") for n in range(count)]
        wait(lambda: {("ItemCreated", (item,)) for item in made} <=
             {(name, body) for name, _, body in heard if name == "ItemCreated"})
        return made
    items = make(3, "label %d")
    for item in items[:2]:
        get(item, "Item", "Locked")
    for _ in range(2):
        heard.clear()
        valet("lock")
        # The label stays in view.
        wait(lambda: told(items[0], True, "label 0") and told(items[1], True, "label 1"))
        wait(lambda: any(name == "ItemChanged" and body[0] == items[0] for name, _, body in heard))
        wait(lambda: any(name == "CollectionChanged" for name, _, body in heard))
        heard.clear()
        valet("unlock --passcode-fd 0")
        wait(lambda: told(items[0], False, "label 0") and told(items[1], False, "label 1"))
        # What it has stored, it has seen.
        wait(lambda: told(items[2], False, "label 2"))
    # More items at once than all programs are told of.
    many = make(100, "%d")
    for item in many: get(item, "Item", "Locked")
    wait(lambda: any(name == "PropertiesChanged" and path == login and
                     len(body[1].get("Items", [])) == 103 for name, path, body in heard))
    heard.clear()
    valet("lock")
    wait(lambda: all(told(item, True, str(n)) for n, item in enumerate(many)))
    # Locked to the last: nothing of it stays readable.
    valet("lock --all")
    wait(lambda: get(items[0], "Item", "Label") == "")
    heard.clear()
    valet("unlock --passcode-fd 0")
    wait(lambda: any(name == "PropertiesChanged" and path == login and
                     len(body[1].get("Items", [])) == 103 for name, path, body in heard))
    wait(lambda: told(items[0], False, "label 0"))

def idle():
    create(ROOT + "/collection/session", "a", {"n": "1"}, "one")

def sessions():
    # Neither another connection nor this one, later, can use what belongs to a connection.
    item = create(ROOT + "/collection/login", "a", {"n": "1"}, "one")
    other = Gio.DBusConnection.new_for_address_sync(
        os.environ["DBUS_SESSION_BUS_ADDRESS"], Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT
        | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION, None, None)
    assert error(lambda: other.call_sync(
        "org.freedesktop.secrets", item, "org.freedesktop.Secret.Item", "GetSecret",
        GLib.Variant("(o)", (session,)), None, 0, 20000, None)) == "NoSession"
    call(session, "Secret.Session.Close")
    assert error(lambda: read(item)) == "NoSession"

def forge():
    name = bus.get_unique_name()
    owner = bus.call_sync("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetNameOwner",
                          GLib.Variant("(s)", ("org.freedesktop.secrets",)), None, 0, -1,
                          None).unpack()[0]
    item = create(ROOT + "/collection/login", "a", {"n": "1"}, "one")
    for member, values in (("NameLost", ("s", "org.freedesktop.secrets")),
                           ("NameOwnerChanged", ("sss", name, name, ""))):
        bus.emit_signal(owner, "/org/freedesktop/DBus", "org.freedesktop.DBus", member,
                        GLib.Variant("(" + values[0] + ")", values[1:]))
    assert read(item) == "one"

def portal():
    def secret_of(application):
        reading, writing = os.pipe()
        response = bus.call_with_unix_fd_list_sync(
            "org.freedesktop.impl.portal.desktop.valet", "/org/freedesktop/portal/desktop",
            "org.freedesktop.impl.portal.Secret", "RetrieveSecret",
            GLib.Variant("(osha{sv})", ("/a", application, 0, {})), None, 0, 20000,
            Gio.UnixFDList.new_from_array([writing]), None)[0].unpack()
        assert response == (0, {}), response
        return os.read(reading, 1000)
    # Another program could name any application.
    assert error(lambda: secret_of("org.example.One")) == "AccessDenied"
    be_portal()
    first, second = secret_of("org.example.One"), secret_of("org.example.Two")
    assert len(first) == len(second) == 64 and first != second
    assert secret_of("org.example.One") == first
    assert error(lambda: secret_of("")) == "InvalidArgs"
    # An application that does not read.
    reading, writing = os.pipe()
    os.close(reading)
    response = bus.call_with_unix_fd_list_sync(
        "org.freedesktop.impl.portal.desktop.valet", "/org/freedesktop/portal/desktop",
        "org.freedesktop.impl.portal.Secret", "RetrieveSecret",
        GLib.Variant("(osha{sv})", ("/a", "org.example.One", 0, {})), None, 0, 20000,
        Gio.UnixFDList.new_from_array([writing]), None)[0].unpack()
    assert response == (2, {}), response
    # A full pipe keeps nobody waiting.
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writing, True)
    begin = GLib.get_monotonic_time()
    response = bus.call_with_unix_fd_list_sync(
        "org.freedesktop.impl.portal.desktop.valet", "/org/freedesktop/portal/desktop",
        "org.freedesktop.impl.portal.Secret", "RetrieveSecret",
        GLib.Variant("(osha{sv})", ("/a", "org.example.One", 0, {})), None, 0, 20000,
        Gio.UnixFDList.new_from_array([writing]), None)[0].unpack()
    assert response == (2, {}), response
    assert GLib.get_monotonic_time() - begin < 4_000_000, "it waits for the reader"
    # Programs that ask the Secret Service do not see them.
    assert get(ROOT + "/collection/login", "Collection", "Items") == []

def bring_descriptors():
    # It lingers when it is closed for the last time.
    listener = socket.create_server(("127.0.0.1", 0))
    sender = socket.create_connection(listener.getsockname())
    accepted, _ = listener.accept()
    sender.setblocking(False)
    try:
        while True:
            sender.send(b"x" * 65536)
    except BlockingIOError:
        pass
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 60))
    bring = lambda: bus.call_with_unix_fd_list_sync(
        "org.freedesktop.secrets", ROOT, "org.freedesktop.Secret.Service", "OpenSession",
        GLib.Variant("(sh)", ("plain", 0)), None, 0, 20000,
        Gio.UnixFDList.new_from_array([os.dup(sender.fileno())]), None)
    assert error(bring) == "NotSupported", error(bring)
    begin = GLib.get_monotonic_time()
    assert call(ROOT, "Secret.Service.ReadAlias", "(s)", "default") != ("/",)
    assert GLib.get_monotonic_time() - begin < 20_000_000, "it waits for the descriptor"
    # Else this program would wait for it, at its end.
    accepted.close()

def greedy():
    # A letter with many accents.
    name = "a" + "\u0301\u0323" * 30000
    pair = {name: "v"}
    begun = GLib.get_monotonic_time()
    for place in ("login", "session"):
        item = create(ROOT + "/collection/" + place, "a", {name: "v", "n": "1"}, "one")
        for wanted in (pair, {"n": "1"}):
            assert item in call(ROOT, "Secret.Service.SearchItems", "(a{ss})", wanted)[0]
        assert get(item, "Item", "Attributes") == {name: "v", "n": "1"} and read(item) == "one"
        # Each path is answered once.
        assert call(ROOT, "Secret.Service.Unlock", "(ao)", [item] * 5000) == ([item], "/")
        assert len(call(ROOT, "Secret.Service.GetSecrets", "(aoo)", [item] * 5000, session)[0]) == 1
    assert error(lambda: create(ROOT + "/collection/session", "a", {"n": "x" * 300000}, "")
        ) == "InvalidArgs"
    large = {"n": "x" * (30 << 20)}
    assert error(lambda: call(ROOT, "Secret.Service.SearchItems", "(a{ss})", large)
        ) == "InvalidArgs"
    results = []
    def take(bus, result):
        try: results.append(bus.call_finish(result) and None)
        except GLib.Error as failure:
            results.append(Gio.DBusError.get_remote_error(failure).rpartition(".")[2])
    # Answers have 64 MiB, and 16 MiB a second.
    much = create(ROOT + "/collection/session", "a", {"n": "2"}, "x" * (2 << 20))
    results.clear()
    for number in range(60):
        bus.call("org.freedesktop.secrets", much, "org.freedesktop.Secret.Item", "GetSecret",
                 GLib.Variant("(o)", (session,)), None, 0, 60000, None, take)
    wait(lambda: len(results) == 60)
    assert results.count(None) >= 32 and set(results) <= {None, "LimitsExceeded"}, results
    wait(lambda: error(lambda: read(item)) is None)
    assert GLib.get_monotonic_time() - begun < 60_000_000

def fuzz():
    seed, count = int(sys.argv[2]), int(sys.argv[3])
    choose = random.Random(seed)
    item = create(ROOT + "/collection/login", "kept", {"kept": "yes"}, "kept")
    paths = [ROOT, ROOT + "/collection/login", ROOT + "/aliases/default", item, session,
             ROOT + "/prompt/1", ROOT + "/collection/session", ROOT + "/collection/login/0", "/",
             ROOT + "/collection/session/1", "/org", ROOT + "/collection/" + "x" * 300]
    methods = {"Secret.Service": {
        "OpenSession": "sv", "CreateCollection": "a{sv}s", "SearchItems": "a{ss}", "Unlock": "ao",
        "GetSecrets": "aoo", "ReadAlias": "s", "SetAlias": "so"},
        "Secret.Collection": {"SearchItems": "a{ss}", "CreateItem": "a{sv}(oayays)b"},
        "Secret.Item": {"GetSecret": "o", "SetSecret": "(oayays)"},
        "Secret.Prompt": {"Prompt": "s", "Dismiss": ""}, "Secret.Session": {"Nothing": ""},
        "DBus.Properties": {"Get": "ss", "GetAll": "s", "Set": "ssv"},
        "DBus.Introspectable": {"Introspect": ""}, "Other": {"Call": "s"}}
    names = ["", "plain", "dh-ietf1024-sha256-aes128-cbc-pkcs7", "default", "Label", "Locked",
             "org.freedesktop.Secret.Item.Label", "org.freedesktop.Secret.Collection.Label",
             "org.freedesktop.Secret.Item", "org.freedesktop.Secret.Collection", "x" * 2000]
    def text():
        return choose.choice(names + ["".join(choose.choice("aé\U0001F511\n%/_") for _ in range(9))])
    def value(types):
        if types == "s":
            return text()
        if types == "o":
            return choose.choice(paths)
        if types == "b":
            return choose.random() < 0.5
        if types == "v":
            inner = choose.choice(["s", "b", "ay", "a{ss}", "ao"])
            return GLib.Variant(inner, value(inner))
        if types == "ay":
            return choose.randbytes(choose.choice([0, 1, 15, 16, 32, 128, 129, 5000]))
        if types == "ao":
            return [value("o") for _ in range(choose.choice([0, 1, 3, 200]))]
        if types == "a{ss}":
            return {text() + str(n): text() for n in range(choose.choice([0, 1, 3, 64, 65, 200]))}
        if types == "a{sv}":
            return {text(): value("v") for _ in range(choose.choice([0, 1, 3]))}
        return (choose.choice([session, value("o")]), value("ay"), value("ay"), text())
    def split(types):
        parts = []
        while types:
            size = len(GLib.VariantType.new("(" + types + ")").first().dup_string())
            parts.append(types[:size])
            types = types[size:]
        return parts
    for _ in range(count):
        interface = choose.choice(list(methods))
        member = choose.choice(list(methods[interface]))
        types = methods[interface][member]
        if choose.random() < 0.1:
            types = choose.choice(["", "s", "ss", "ao", "v", "b", "ay", "a{sv}"])
        parts = split(types)
        error(lambda: call(choose.choice(paths), interface + "." + member, "(" + types + ")",
                           *map(value, parts)))
    # A call may have replaced its secret; the item itself cannot be gone.
    assert get(item, "Item", "Created") > 0
"""


def need_bindings():
    probe = subprocess.run(["/usr/bin/python3", "-c", "from gi.repository import Gio"], check=False,
                           stderr=subprocess.DEVNULL)
    if probe.returncode != 0:
        raise Skip("needs python3-gi")


def by_hand(world, *words, tasks=TASKS, desktop=None, first="", seconds=60, **options):
    """Runs one of the tasks in a program in Python; without `desktop` on one of its own. `first` is
    what the program does before it connects."""
    need_bindings()
    if not desktop:
        desktop = Desktop(world)
        desktop.serve()
    options.setdefault("command", "/usr/bin/python3")
    outcome = world.run("-c", first + CLIENT + tasks + CALL, *words, env=desktop.env,
                        timeout=seconds, **options)
    expect(outcome.code == 0, outcome.err)
    expect(desktop.service.poll() is None, "the service has ended")
    return desktop


@scenario(users=EVERY_USER)
def collections(world):
    """Collections, their aliases and their items come and go as a client asks."""
    by_hand(world, "collections")


@scenario
def in_memory(world):
    """The collection of the session has items as others have, which no file shows."""
    by_hand(world, "in_memory")


@scenario
def signals(world):
    """Clients hear of what they and other programs change."""
    by_hand(world, "signals", COMMAND)


# Promise: 20.3
@scenario(users=EVERY_USER)
def seen(world):
    """Clients hear what becomes of the items that they have looked at."""
    desktop = Desktop(world)
    outcome = world.run("passcode", "set", "--passcode-fd", "0", input=PASSCODE, env=SHARED)
    expect(outcome.code == 0, outcome)
    desktop.serve()
    by_hand(world, "seen", COMMAND, desktop=desktop)


# Promise: 20.2
@scenario
def sessions(world):
    """A session belongs to the connection that opened it, until it closes it."""
    by_hand(world, "sessions")


# Promise: 20.5
@scenario
def greedy(world):
    """A program that asks for much, or asks often, delays no other, and gets an answer."""
    by_hand(world, "greedy")


# Promise: 20.5
@scenario(seconds=1800)
def fuzzed(world):
    """Calls of every form and nonsense neither end the service nor lose a secret."""
    seed = int(os.environ.get("VALET_FUZZ_SEED", "1"))
    count = int(os.environ.get("VALET_FUZZ_COUNT", "1500"))
    desktop = by_hand(world, "fuzz", str(seed), str(count), seconds=1700)
    desktop.store(b"after", "after", "it")
    expect(desktop.lookup("after", "it") == b"after", "a later secret")


# A logind that locks the session, and sleeps once nobody delays it. Argument: its socket's folder.
LOGIND = r"""
import os, sys
from gi.repository import Gio, GLib
NAME = "org.freedesktop.login1"
MANAGER = Gio.DBusNodeInfo.new_for_xml('''<node><interface name="org.freedesktop.login1.Manager">
<method name="GetSession"><arg type="s"/><arg type="o" direction="out"/></method>
<method name="Inhibit"><arg type="s"/><arg type="s"/><arg type="s"/><arg type="s"/>
<arg type="h" direction="out"/></method></interface></node>''').interfaces[0]
loop = GLib.MainLoop()
bus = Gio.bus_get_sync(Gio.BusType.SYSTEM)
delays = []
def say(text):
    print(text, flush=True)
def call(connection, sender, path, interface, method, arguments, invocation):
    if method == "GetSession":
        if arguments.unpack()[0] == "none":
            return invocation.return_dbus_error(NAME + ".NoSuchSession", "no such session")
        return invocation.return_value(GLib.Variant("(o)", ("/org/freedesktop/login1/session/_31",)))
    reading, writing = os.pipe()
    delays.append(reading)
    GLib.io_add_watch(reading, GLib.IO_HUP, lambda *_: say("sleeps") and False)
    descriptors = Gio.UnixFDList.new_from_array([writing])
    invocation.return_value_with_unix_fd_list(GLib.Variant("(h)", (0,)), descriptors)
    say("delayed by " + arguments.unpack()[1])
bus.register_object("/org/freedesktop/login1", MANAGER, call, None, None)
def emit(path, interface, member, value=None):
    bus.emit_signal(None, path, NAME + "." + interface, member, value)
def command(source, condition):
    word = sys.stdin.readline().strip()
    if word == "lock":
        emit("/org/freedesktop/login1/session/_31", "Session", "Lock")
    elif word in ("sleep", "wake"):
        emit("/org/freedesktop/login1", "Manager", "PrepareForSleep",
             GLib.Variant("(b)", (word == "sleep",)))
    else:
        loop.quit()
    return True
GLib.io_add_watch(0, GLib.IO_IN, command)
Gio.bus_own_name_on_connection(bus, NAME, 0, lambda *_: say("ready"), None)
loop.run()
"""


# Promise: 20.12
@scenario
def watched_session(world):
    """The keychain is locked with the screen, and before the machine sleeps."""
    need("dbus-daemon")
    need_bindings()
    folder = os.path.join(world.folder, "bus")
    os.mkdir(folder, 0o755)
    private_mounts()
    os.makedirs("/run/dbus", exist_ok=True)
    mount("--bind", folder, "/run/dbus")
    silence = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with open(f"{world.folder}/system.conf", "w", encoding="utf-8") as file:
        file.write("""<busconfig><type>system</type><listen>unix:path=/run/dbus/system_bus_socket
            </listen><auth>EXTERNAL</auth><policy context="default"><allow own="*"/>
            <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/></policy>
            </busconfig>""".replace("\n            ", ""))
    world.start(["dbus-daemon", f"--config-file={world.folder}/system.conf", "--nofork"],
                SHARED, **silence)
    wait_for(lambda: is_listening("/run/dbus/system_bus_socket"), "the system bus")
    logind = world.start(["/usr/bin/python3", "-c", LOGIND], SHARED, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)

    def told(text):
        line = logind.stdout.readline().decode().strip()
        expect(line == text, f"logind says {line!r} instead of {text!r}")

    def tell(word):
        logind.stdin.write(word.encode() + b"\n")
        logind.stdin.flush()
    told("ready")
    missing = world.run("watch-session", env=dict(SHARED, XDG_SESSION_ID="none"))
    expect(missing.code == 44, missing)
    outcome = world.run("passcode", "set", "--passcode-fd", "0", input=PASSCODE, env=SHARED)
    expect(outcome.code == 0, outcome)
    world.start([COMMAND, "watch-session"], dict(SHARED, XDG_SESSION_ID="1"), **silence)
    told("delayed by Valet")

    def state():
        return json.loads(world.run("status", "--json", env=SHARED).out)["state"]
    expect(state() == "unlocked", state())
    tell("lock")
    wait_for(lambda: state() == "locked", "the lock of the screen")
    expect(world.run("unlock", "--passcode-fd", "0", input=PASSCODE, env=SHARED).code == 0,
           "unlock")
    # The lock of the screen has not ended the delay.
    expect(not select.select([logind.stdout], [], [], 1)[0], "the machine may sleep too early")
    tell("sleep")
    told("sleeps")
    expect(state() == "locked", "asleep, and not locked")
    expect(world.run("unlock", "--passcode-fd", "0", input=PASSCODE, env=SHARED).code == 0,
           "unlock")
    tell("wake")
    told("delayed by Valet")
    tell("sleep")
    told("sleeps")
    expect(state() == "locked", "asleep again, and not locked")
