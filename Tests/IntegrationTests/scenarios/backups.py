# SPDX-License-Identifier: Apache-2.0
"""Backups that are created and restored, also under kills and without room on the disk."""

import json
import os
import shutil
import signal
import subprocess
import time

import support
from kills import calls, chosen, created, killed, report, spread
from passcodes import AFTER, ALONE, PASSCODE, SHARED, Lines, do, ends, keychain
from places import expect_full
from support import (CRASH_TEST, EVERY_USER, expect, mount, need, need_root, private_mounts,
                     scenario)

PASSPHRASE = b"correct horse battery staple\n"
FROM_INPUT = ("--passphrase-fd", "0")
OTHERS = ("--app", "com.example.other")


def backup(world, verb, file, *words, input=PASSPHRASE, code=0, **options):
    outcome = world.run("backup", verb, file, *words, *FROM_INPUT, input=input, **options)
    expect(outcome.code == code, f"backup {verb} {' '.join(words)}:", outcome)
    return outcome


def names(world, file):
    """Returns the names of the items in a valid backup."""
    found = json.loads(backup(world, "list", file, "--json").out)["items"]
    return sorted(item["name"] for item in found)


def counts(outcome):
    return {name: count for name, count in json.loads(outcome.out).items() if count}


def some(world, every, count):
    """Chooses fewer calls in thorough runs, too: most calls of a long run write one page each."""
    return spread(every, 200) if world.is_thorough else chosen(world, every, count)


@scenario
def into_a_folder_that_keeps_every_name(world):
    """A folder from which no name can be removed takes a backup."""
    need_root()
    need("chattr")
    folder = f"{world.folder}/kept"
    os.mkdir(folder)
    world.fill("a", "b")
    if subprocess.run(["chattr", "+a", folder], capture_output=True, check=False).returncode != 0:
        raise support.Skip("the file system knows no folders that are append-only")
    try:
        outcome = backup(world, "create", f"{folder}/keychain.backup")
        expect("wrote 2 items" in outcome.err, outcome)
        expect(names(world, f"{folder}/keychain.backup") == ["a", "b"], os.listdir(folder))
        before = open(f"{folder}/keychain.backup", "rb").read()
        backup(world, "create", f"{folder}/keychain.backup", code=1)
        expect(open(f"{folder}/keychain.backup", "rb").read() == before, "it was replaced")
    finally:
        subprocess.run(["chattr", "-a", folder], check=True)


@scenario(users=EVERY_USER)
def story(world):
    """A backup restores every item after the keychain and its device key are lost."""
    file = f"{world.folder}/keychain.backup"
    world.fill("a", "b")
    world.set("theirs", "value of theirs", *OTHERS)
    world.set("stays", "here", "--accessibility", "when-unlocked-this-device-only")
    outcome = backup(world, "create", file)
    expect("wrote 3 items" in outcome.err and "left out: 1 for this device only" in outcome.err,
           outcome)
    expect(os.stat(file).st_mode & 0o777 == 0o600, "others may read the backup")
    before = open(file, "rb").read()
    for secret in (b"value of", b"theirs", b"com.example", b"default", PASSPHRASE.strip()):
        expect(secret not in before, f"{secret} is in the backup")
    expect(backup(world, "create", file, code=1).err.count("--force") == 1, "no hint")
    expect(open(file, "rb").read() == before, "the backup was changed")
    expect(names(world, file) == ["a", "b", "theirs"], names(world, file))
    outcome = backup(world, "list", file, input=b"correct horse battery stable\n", code=77)
    expect("wrong passphrase" in outcome.err and outcome.out == b"", outcome)

    shutil.rmtree(world.home)
    outcome = backup(world, "restore", file, "--keep-newer", "--dry-run", "--json")
    expect(counts(outcome) == {"added": 3, "dryRun": True}, outcome)
    expect(not os.path.exists(world.home), "a dry run made a keychain")
    outcome = backup(world, "restore", file, "--keep-newer", "--json")
    expect(counts(outcome) == {"added": 3}, outcome)
    world.check("a", "b")
    expect(world.get("theirs", *OTHERS) == "value of theirs", "theirs")
    expect(world.run("get", "stays", "--accessibility",
                     "when-unlocked-this-device-only").code == 44, "it left the device")

    world.set("a", "newer")
    expect(counts(backup(world, "restore", file, "--keep-newer", "--json")) == {"kept": 3}, "")
    expect(world.get("a") == "newer", "an older item took the place of a newer one")
    world.fill("later")
    expect(counts(backup(world, "restore", file, "--replace", "--json")) == {"replaced": 3}, "")
    world.check("a", "b", "later")
    world.doctor()


@scenario(users=EVERY_USER)
def piped(world):
    """A backup goes to standard output, comes from a pipe, and fills an empty keychain."""
    def through(verb, *words, input=b"", code=0):
        read, write = os.pipe()
        os.write(write, PASSPHRASE)
        os.close(write)
        try:
            outcome = world.run("backup", verb, "-", *words, f"--passphrase-fd={read}",
                                input=input, pass_fds=(read,))
        finally:
            os.close(read)
        expect(outcome.code == code, verb, *words, outcome)
        return outcome
    world.fill("a", "b")
    world.set("large", b"x" * (1 << 20))
    made = through("create")
    expect("wrote 3 items" in made.err and b"value of" not in made.out, made)
    expect(through("create", "--json", code=64).out == b"", "a backup and a report")
    for verb in ("verify", "list"):
        through(verb, input=made.out)
        # Garbage is refused at its start, and a part at its end.
        expect(through(verb, input=b"x" * (1 << 20), code=65).seconds < 30, verb)
        through(verb, input=made.out[:-1], code=65)
        through(verb, code=65)
    endless = world.start(
        ["sh", "-c", f"cat /dev/zero | {support.COMMAND} backup verify - --passphrase-fd 3"
         " 3</dev/null"], stderr=subprocess.PIPE)
    expect(world.finish(endless).code == 65, "endless garbage is read to no end")

    shutil.rmtree(world.home)
    expect(counts(through("restore", "--json", input=made.out)) == {"added": 3}, "restore")
    world.check("a", "b")
    # Now an option has to decide, even if a single item is there.
    for key in ("a", "large"):
        world.run("remove", key, "--yes")
    refused = through("restore", input=made.out, code=64)
    expect("--skip-existing" in refused.err and world.run("get", "a").code == 44, refused)
    through("restore", "--skip-existing", input=made.out)
    world.check("a", "b")
    # A reader that has gone gets nothing, and no failure is silent.
    gone = world.start(
        ["sh", "-c", f"{support.COMMAND} backup create - --passphrase-fd 3 3<<E >/dev/full\n"
         f"{PASSPHRASE.decode()}E\n"], stderr=subprocess.PIPE)
    expect(world.finish(gone).code == 1, "a full disk is no failure")


# Promise: 10.3
@scenario
def passphrases(world):
    """A backup takes its passphrase only from the descriptor that is named for it."""
    file = f"{world.folder}/keychain.backup"
    world.fill("a")
    for env in ({}, {"VALET_PASSCODE_FD": "0"}, {"VALET_INTERACTION": "never"}):
        outcome = world.run("backup", "create", file, input=PASSPHRASE, env=env)
        expect(outcome.code == 64 and "--passphrase-fd" in outcome.err, env, outcome)
        expect(not os.path.exists(file), env)
    backup(world, "create", file, input=b"short\n", code=64)
    expect(not os.path.exists(file), "under a short passphrase")
    backup(world, "create", file, "--weak", input=b"short\n")
    expect(names_under(world, file, b"short\n") == ["a"], "weak")


@scenario(users=EVERY_USER)
def locked(world):
    """A backup of a locked keychain takes the passcode only where each process unlocks for
    itself."""
    file = f"{world.folder}/keychain.backup"
    create = ("create", "--force", file)
    restore = ("restore", "--replace", file)
    with keychain(world):
        do(world, "lock")
        never = {"VALET_INTERACTION": "never"}
        for verb in (create, restore):
            ends(75, under(world, verb, env=ALONE | never), "locked", "$VALET_PASSCODE_FD")
            for variable in (True, False):
                ends(77, under(world, verb, "wrong", variable, env=ALONE), "wrong passcode")
                expect(verb != create or not os.path.exists(file), "half a backup")
            for variable in (True, False):
                ends(0, under(world, verb, PASSCODE, variable, env=ALONE))
            # A backup command does not unlock a shared keychain: that would unlock it for every
            # program.
            ends(75, under(world, verb, PASSCODE, env=SHARED), "run `valet unlock`")
        expect(names(world, file) == ["a", "f"], names(world, file))
        ends(75, world.run("get", "a", env=SHARED))
        ends(0, world.run("get", "f", *AFTER, env=SHARED))


def under(world, verb, passcode=None, variable=False, env=None):
    """Runs a verb with the passphrase on one descriptor and the passcode on another."""
    with Lines(*([passcode] if passcode else [])) as number:
        words = ("backup", *verb, *FROM_INPUT)
        if variable:
            env = env | {"VALET_PASSCODE_FD": str(number)}
        elif passcode:
            words += ("--passcode-fd", str(number))
        return world.run(*words, input=PASSPHRASE, env=env, pass_fds=(number,))


def names_under(world, file, passphrase):
    found = json.loads(backup(world, "list", file, "--json", input=passphrase).out)["items"]
    return [item["name"] for item in found]


def grow(world, count=120):
    """Writes some 12 MB; returns the largest size of the log."""
    longest = 0
    for number in range(count):
        world.set("often", os.urandom(100_000))
        longest = max(longest, os.stat(world.path("keychain.db-wal")).st_size)
    return longest


# Promise: 10.7
@scenario
def stopped(world):
    """A stopped backup does not keep the log from being checkpointed."""
    need("strace")
    file = f"{world.folder}/keychain.backup"
    world.fill("a", "b")
    # The fsync of the backup is its last step.
    process = world.start(
        ["strace", "-f", "-o", "/dev/null", "-e", "trace=fsync", "-e",
         "inject=fsync:signal=STOP:when=1", support.COMMAND, "backup", "create", file,
         *FROM_INPUT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(PASSPHRASE)
    process.stdin.close()
    process.stdin = None
    reader = wait_for_stop(process)
    longest = grow(world)
    expect(longest < 6 << 20, f"the log got {longest} bytes long")
    expect(str(reader) not in world.doctor(), "doctor blames the backup")
    os.kill(reader, signal.SIGCONT)
    outcome = world.finish(process)
    expect(outcome.code == 0, outcome)
    # The backup has the items of the moment when it began.
    expect(names(world, file) == ["a", "b"], names(world, file))


@scenario
def named_but_not_synced(world):
    """A backup that has its name is made, even if its folder cannot be synced."""
    need("strace")
    file = f"{world.folder}/keychain.backup"
    world.fill("a", "b")
    # The second fsync is that of the folder.
    outcome = world.run(
        "backup", "create", file, *FROM_INPUT, input=PASSPHRASE, prefix=(
            "strace", "-f", "-o", "/dev/null", "-e", "trace=fsync", "-e",
            "inject=fsync:error=EIO:when=2"))
    expect(outcome.code == 0 and "may not survive a power cut" in outcome.err, outcome)
    expect(names(world, file) == ["a", "b"], names(world, file))


@scenario
def streamed_once(world):
    """A keychain whose files are replaced while its backup goes out gives one backup."""
    world.fill("a", "b")
    world.set("large", b"x" * (1 << 20))
    made = world.start(
        [support.COMMAND, "backup", "create", "-", *FROM_INPUT], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    made.stdin.write(PASSPHRASE)
    made.stdin.close()
    made.stdin = None
    first = os.read(made.stdout.fileno(), 1)
    # The pipe is full now.
    os.remove(world.path("keychain.db-shm"))
    time.sleep(1.5)
    out, err = made.communicate(timeout=60)
    expect(made.returncode == 0, made.returncode, err)
    path = f"{world.folder}/streamed"
    with open(path, "wb") as file:
        file.write(first + out)
    expect(names(world, path) == ["a", "b", "large"], err)


def wait_for_stop(parent):
    """Waits until a child of the process has stopped, and returns its number."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with open(f"/proc/{parent.pid}/task/{parent.pid}/children") as children:
            for child in children.read().split():
                if run_state(child) in "Tt" and is_stopped_by_signal(child):
                    return int(child)
        time.sleep(0.05)
    raise support.Failure("nothing stopped")


def is_stopped_by_signal(child):
    """Returns whether a child stays stopped; its tracer stops it for a moment at each call."""
    for _ in range(10):
        time.sleep(0.05)
        if run_state(child) not in "Tt":
            return False
    return True


def run_state(process):
    """Returns the kernel's letter for the state of a process; X for one that has ended."""
    try:
        return open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return "X"


@scenario
def spooled(world):
    """A backup of 48 MiB is complete and leaves no temporary file."""
    file = f"{world.folder}/folder/keychain.backup"
    os.mkdir(os.path.dirname(file))
    values = {f"k{number}": os.urandom(4 << 20) for number in range(12)}
    for key, value in values.items():
        world.set(key, value)
    world.set("last", b"small")
    before = world.names()
    backup(world, "create", file)
    expect(os.listdir(os.path.dirname(file)) == ["keychain.backup"], "something is left")
    expect(world.names() == before, "something is left in the keychain's folder")
    shutil.rmtree(world.home)
    backup(world, "restore", file, "--replace")
    for key, value in values.items():
        expect(world.run("get", key).out == value, key)
    expect(world.get("last") == "small", "last")


# Promise: 10.7
@scenario
def named_reader(world):
    """valet doctor names the process whose reading keeps the log from being checkpointed."""
    world.fill("a")
    agent = world.agent()
    agent.do("keys")
    script = ("import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); "
              "c.execute('BEGIN'); c.execute('SELECT count(*) FROM item').fetchone(); "
              "print('reading', flush=True); sys.stdin.read()")
    reader = world.start(
        ["python3", "-c", script, world.path("keychain.db")], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE)
    expect(reader.stdout.readline() == b"reading\n", "it does not read")
    expect(str(reader.pid) not in world.doctor(), "named at once")
    support.stop(reader)
    found = world.doctor()
    expect(f"process {reader.pid} (python3) is stopped while it reads" in found, found)
    expect(f"kill -CONT {reader.pid}" in found and str(agent.pid) not in found, found)
    os.kill(reader.pid, signal.SIGCONT)
    expect(grow(world) > 8 << 20, "nobody was in the way")
    found = world.doctor()
    expect(f"process {reader.pid} (python3) is reading: the log" in found, found)
    reader.stdin.close()
    reader.wait(30)
    expect("is reading" not in world.doctor(), "it is named when it has gone")
    world.set("often", b"once more")
    expect(os.stat(world.path("keychain.db-wal")).st_size < 1 << 20, "the log stays long")
    agent.end()


# Promise: 10.8
@scenario(script=CRASH_TEST)
def killed_creation(world):
    """A kill of backup create leaves no file, the old file or a complete new one.

    With --force the old file stays until the new one is complete."""
    file = f"{world.folder}/folder/keychain.backup"
    os.mkdir(os.path.dirname(file))
    keys = [f"key {index}" for index in range(4)]
    world.fill(*keys[:3])
    words = ("backup", "create", file, "--force", *FROM_INPUT)
    every = calls(world, *words, input=PASSPHRASE)
    world.fill(keys[3])
    kill_count, tried = 0, some(world, every, 12)
    for number, call in enumerate(tried):
        if number % 2:
            os.remove(file)
        was_killed = killed(world, call, *words, input=PASSPHRASE)
        # A file that replaces another has a name of its own at first.
        left = [name for name in os.listdir(os.path.dirname(file)) if ".new-" not in name]
        expect(left in ([], ["keychain.backup"]), f"killed at {call}: {left}")
        expect(left or (number % 2 and was_killed), f"killed at {call}: no file")
        if left:
            found = names(world, file)
            expect(found == keys or (number == 0 and found == keys[:3]), f"at {call}: {found}")
        else:
            backup(world, "create", file)
        kill_count += was_killed
    world.check(*keys)
    world.doctor()
    report(kill_count, tried, every)


# Promise: 10.6
@scenario(script=CRASH_TEST)
def killed_restore(world):
    """A kill of backup restore leaves everything restored or nothing."""
    file = f"{world.folder}/keychain.backup"
    keys = [f"key {index}" for index in range(4)]
    world.fill(*keys)
    world.set("large", b"x" * (2 << 20))
    backup(world, "create", file)
    for key in (*keys[2:], "large"):
        expect(world.run("remove", key, "--yes").code == 0, "remove", key)
    for key in keys[:2]:
        world.set(key, f"later value of {key}")
    template = f"{world.home}-template"
    shutil.copytree(world.home, template)
    words = ("backup", "restore", file, "--replace", *FROM_INPUT)
    every = calls(world, *words, input=PASSPHRASE)
    kill_count, tried = 0, some(world, every, 10)
    for call in tried:
        shutil.rmtree(world.home)
        shutil.copytree(template, world.home)
        was_killed = killed(world, call, *words, input=PASSPHRASE)
        found = {item["name"] for item in json.loads(world.run("list", "--json").out)["items"]}
        is_new = "large" in found
        expect(is_new or was_killed, f"{call}: acknowledged, and lost")
        if is_new:
            expect(found == {*keys, "large"}, f"killed at {call}: {sorted(found)}")
            world.check(*keys)
        else:
            expect(found == set(keys[:2]), f"killed at {call}: {sorted(found)}")
            for key in keys[:2]:
                expect(world.get(key) == f"later value of {key}", f"killed at {call}: {key}")
        backup(world, "restore", file, "--replace")
        world.check(*keys)
        world.doctor()
        kill_count += was_killed
    report(kill_count, tried, every)


@scenario(script=CRASH_TEST)
def killed_first_restore(world):
    """A kill of a restore that creates the keychain leaves everything restored or nothing."""
    file = f"{world.folder}/keychain.backup"
    keys = [f"key {index}" for index in range(4)]
    world.fill(*keys)
    backup(world, "create", file)
    words = ("backup", "restore", file, "--keep-newer", *FROM_INPUT)
    for call, was_killed in created(world, 8, *words, input=PASSPHRASE):
        found = {item["name"] for item in json.loads(world.run("list", "--json").out)["items"]}
        expect(found in (set(), set(keys)), f"killed at {call}: {sorted(found)}")
        expect(was_killed or found, f"{call}: acknowledged, and lost")
        backup(world, "restore", file, "--keep-newer")
        world.check(*keys)
        world.doctor()


# Promise: 10.6
@scenario
def full_disk(world):
    """A backup or restore without room on the disk fails and changes nothing."""
    private_mounts()
    file = f"{world.folder}/keychain.backup"
    keys = [f"key {index}" for index in range(4)]
    for key in keys:
        world.set(key, b"x" * 100_000)
    backup(world, "create", file)
    small = f"{world.folder}/small"
    os.mkdir(small)
    mount("-t", "tmpfs", "-o", "size=300k,mode=700", "tmpfs", small)
    expect_full(backup(world, "create", f"{small}/b", code=1))
    expect(os.listdir(small) == [], "something is left of the backup")
    os.system(f"umount {small}")

    world.home = f"{world.folder}/other"
    os.mkdir(world.home)
    mount("-t", "tmpfs", "-o", "size=300k,mode=700", "tmpfs", world.home)
    world.fill("early")
    expect_full(backup(world, "restore", file, "--replace", code=1))
    world.check("early")
    expect(world.run("get", "key 0").code == 44, "a part was restored")
    world.doctor()
    mount("-o", "remount,size=4m", world.home)
    backup(world, "restore", file, "--replace")
    expect(len(world.get("key 3")) == 100_000, "key 3")
    world.check("early")
    world.doctor()


@scenario
def readers_and_writers(world):
    """A long restore lets others read, and loses no write that waited for it."""
    file = f"{world.folder}/keychain.backup"
    world.set("large", b"x" * (12 << 20))
    world.fill("a")
    backup(world, "create", file)
    world.set("a", "newer")
    process = world.start(
        [support.COMMAND, "backup", "restore", file, "--replace", *FROM_INPUT],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(PASSPHRASE)
    process.stdin.flush()
    seen = set()
    while process.poll() is None:
        seen.add(world.get("a"))
        world.set("meanwhile", "written")
    outcome = world.finish(process)
    expect(outcome.code == 0, "restore:", outcome)
    expect(seen <= {"newer", "value of a"}, seen)
    expect(world.get("meanwhile") == "written", "a write was lost")
    world.check("a")
    world.doctor()
