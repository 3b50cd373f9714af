# SPDX-License-Identifier: Apache-2.0
"""The folder of a keychain: read-only and full disks, missing homes, owners, modes and links;
and machines with few system calls, little memory or a wrong clock."""

import json
import os
import shutil
import stat
import subprocess
import time

from support import (AGENT_ITEMS, CRASH_TEST, EVERY_USER, FILES, ORDINARY, Skip, expect, mount,
                     need, need_root, private_mounts, scenario)


@scenario
def failing_disk(world):
    """A database that the disk does not let open for writing is not called read-only."""
    need("strace")
    # Other users' strace cannot read the paths of a program that hides its memory.
    need_root()
    world.fill("a")
    for words in (("get", "a"), ("set", "b")):
        # SQLite then opens the file for reading alone, which succeeds.
        outcome = world.run(
            *words, input=b"value", prefix=(
                "strace", "-f", "-qq", "-o", "/dev/null", "-P", world.path("keychain.db"),
                "-e", "trace=openat", "-e", "inject=openat:error=EIO:when=1"))
        expect(outcome.code == 1 and "could not read or write" in outcome.err, outcome)
        expect("read-only" not in outcome.err and "writable" not in outcome.err, outcome)
    world.check("a")


@scenario
def read_only(world):
    """A keychain on a read-only mount can be read, and a write says why it fails."""
    private_mounts()
    world.fill("a", "b")
    for state in ("with its log", "settled"):
        if state == "settled":
            world.settle()
        before = world.contents()
        mount("--bind", world.home, world.home)
        mount("-o", "remount,bind,ro", world.home)
        world.check("a", "b")
        expect(world.run("list").code == 0, "list")
        outcome = world.run("set", "c", input=b"new")
        expect(outcome.code == 1 and "read" in outcome.err, state, "set:", outcome)
        expect("hint" in outcome.err, state, "set:", outcome)
        expect(world.run("remove", "a", "--yes").code == 1, "remove")
        expect("the file system is read-only" in world.doctor(), "doctor does not say that it is read-only")
        os.system(f"umount {world.home}")
        expect(world.contents() == before, "a file changed on a read-only mount")
    world.fill("c")
    mount("-t", "tmpfs", "-o", "ro,mode=700", "tmpfs", world.home)
    outcome = world.run("set", "c", input=b"new")
    expect(outcome.code == 1 and "read" in outcome.err, "first set:", outcome)


# Promise: 13.15
@scenario
def full_disk(world):
    """A disk that fills up loses nothing, and writes work again when there is room."""
    private_mounts()
    os.mkdir(world.home)
    mount("-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", world.home)
    world.fill("early")
    stored = 0
    while True:
        outcome = world.run("set", f"k{stored}", input=b"x" * 30_000)
        if outcome.code != 0:
            break
        stored += 1
    expect_full(outcome)
    expect(stored > 3, "full after", stored, "items")
    for index in range(stored):
        expect(world.get(f"k{index}") == "x" * 30_000, f"k{index}")
    world.check("early")
    world.doctor()
    for index in range(stored):
        expect(world.run("get", f"k{index}").code == 0, "get on a full disk")
    mount("-o", "remount,size=4m", world.home)
    world.fill("late")
    world.check("early", "late")
    world.doctor()


# Promise: 13.15
@scenario
def removing_on_full_disk(world):
    """On a full disk items can be removed."""
    private_mounts()
    os.mkdir(world.home)
    mount("-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", world.home)
    keys = [f"key {number}" for number in range(12)]
    for key in keys:
        world.set(key, "x" * 10_000)
    agent = world.agent()
    agent.do("set running value")
    leave_room(world, 0)
    expect_full(world.run("set", "another", input=b"x" * 500_000))
    # A former value would need room.
    for words in keys[:1], keys[:2]:
        outcome = world.run("remove", *words, "--yes")
        expect(outcome.code == 1 and "remove --purge" in outcome.err, "remove on a full disk:",
               outcome)
        expect(world.get(keys[0]) == "x" * 10_000, "what a failed removal left")
    for key in keys:
        outcome = world.run("remove", key, "--yes", "--purge")
        expect(outcome.code == 0, f"remove {key} on a full disk:", outcome)
        expect(world.run("get", key).code == 44, f"{key} is there")
    agent.do("remove running")
    expect(not agent.ask("get running").startswith("ok"), "what the program removed is there")
    agent.end()
    world.doctor()
    os.remove(world.path("ballast"))
    world.fill("late")
    world.check("late")


def small_disk(world, kind, mebibytes):
    """Mounts a small file system of that kind for the keychain."""
    os.mkdir(world.home)
    if kind == "tmpfs":
        mount("-t", "tmpfs", "-o", f"size={mebibytes}m,mode=700", "tmpfs", world.home)
        return
    need("mkfs.ext4")
    image = f"{world.home}.image"
    with open(image, "wb") as file:
        # Its journal takes one MiB at least.
        file.truncate((mebibytes + 2) << 20)
    # No block is kept for root, which the keychain would take in the end.
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
    mount("-o", "loop", image, world.home)
    os.rmdir(f"{world.home}/lost+found")
    os.chmod(world.home, 0o700)


def filled(world, byte_count, write):
    """Stores items until the disk is full, then smaller ones; returns the keys."""
    keys = []
    while byte_count > 0:
        while write(f"key-{len(keys)}", byte_count):
            keys.append(f"key-{len(keys)}")
        byte_count //= 3
    expect(len(keys) > 3, "full after", len(keys), "items")
    return keys


def self_filled(world, byte_counts, mebibytes):
    home = world.home
    for index, byte_count in enumerate(byte_counts):
        kinds = ("tmpfs", "ext4")
        for kind in kinds if world.is_thorough else kinds[index % 2:index % 2 + 1]:
            # Many small items take too long with a program for each.
            for is_running in (False, True) if byte_count > 5_000 else (True,):
                world.home = f"{home}-{kind}-{byte_count}-{is_running}"
                small_disk(world, kind, mebibytes)
                remove_all(world, byte_count, is_running)
                subprocess.run(["umount", "--lazy", world.home], check=True)


def remove_all(world, byte_count, is_running):
    """Fills the disk and removes everything, by a program that runs on or by many."""
    agent = world.agent()

    def by_agent(key, size):
        answer = agent.ask(f"set {key} {'x' * size}")
        expect(answer.startswith(("ok", "error diskFull")), answer[:200])
        return answer.startswith("ok")

    def by_command(key, size):
        outcome = world.run("set", key, *AGENT_ITEMS, input=b"x" * size)
        if outcome.code != 0:
            expect_full(outcome)
        return outcome.code == 0

    where = os.path.basename(world.home)
    keys = filled(world, byte_count, by_agent if is_running else by_command)
    for number, key in enumerate(keys):
        # A program that has just started can do it, too.
        if is_running and number % 20:
            answer = agent.ask(f"remove {key}")
            expect(answer.startswith("ok"), where, f"remove {number} of {len(keys)}:", answer)
        else:
            outcome = world.run("remove", key, "--yes", "--purge", *AGENT_ITEMS)
            expect(outcome.code == 0, where, f"remove {number} of {len(keys)}:", outcome)
    expect(agent.do("keys") == "", "left:", agent.do("keys"))
    agent.do("set late value")
    agent.end()
    expect(world.get("late", *AGENT_ITEMS) == "value", "late")
    world.doctor()


# Promise: 13.15
@scenario(script=CRASH_TEST)
def filled_by_items(world):
    """On a disk that the keychain itself has filled every item can be removed."""
    private_mounts()
    self_filled(world, (300, 6_000, 60_000), 1)


@scenario(script=CRASH_TEST)
def filled_by_items_of_any_size(world):
    """On a disk that items of any size have filled every item can be removed."""
    private_mounts()
    sizes = (1, 1_000, 3_000, 4_000, 9_000, 20_000, 45_000, 85_000)
    self_filled(world, sizes if world.is_thorough else sizes[4:5], 2)


# Promise: 13.15
@scenario(script=CRASH_TEST)
def filled_by_large_items(world):
    """On a disk that items of some hundred kilobytes have filled every item can be removed."""
    private_mounts()
    self_filled(world, (150_000, 400_000), 4)


# Promise: 13.15
@scenario
def no_inode_left(world):
    """A file system without free inodes counts as a full disk."""
    private_mounts()
    os.mkdir(world.home)
    mount("-t", "tmpfs", "-o", "size=8m,nr_inodes=40,mode=700", "tmpfs", world.home)
    world.fill("a")
    world.settle()
    count = 0
    while True:
        try:
            os.close(os.open(world.path(f"ballast {count}"), os.O_WRONLY | os.O_CREAT, 0o600))
        except OSError:
            break
        count += 1
    for words in (("set", "b"), ("get", "a"), ("remove", "a", "--yes")):
        outcome = world.run(*words, input=b"v")
        expect("the disk is full" in outcome.err, words[0], outcome)
        expect_full(outcome)
    for number in range(count):
        os.remove(world.path(f"ballast {number}"))
    world.check("a")
    world.fill("b")
    world.check("a", "b")
    world.doctor()


@scenario
def blank_log_on_read_only(world):
    """A copy without the index of its log can be read on a read-only mount."""
    private_mounts()
    world.fill("a")
    expect(set(world.contents("keychain.db-wal")["keychain.db-wal"]) <= {0}, "a log that is used")
    os.remove(world.path("keychain.db-shm"))
    mount("--bind", world.home, world.home)
    mount("-o", "remount,ro,bind", world.home)
    world.check("a")
    world.doctor()


# System calls that a sandbox or a file system may refuse.
REFUSED = ("renameat2", "linkat", "mknodat")


# Promise: 13.13
@scenario
def refused_calls(world):
    """A keychain and a backup can be created without hard links and exclusive renames."""
    need("strace")
    for error in ("EPERM", "EINVAL", "ENOSYS"):
        for refused in ((REFUSED[0],), (REFUSED[1],), REFUSED):
            shutil.rmtree(world.home, ignore_errors=True)
            prefix = ["strace", "-f", "-o", "/dev/null", "-e", "trace=" + ",".join(refused)]
            for call in refused:
                prefix += ["-e", f"inject={call}:error={error}"]
            outcome = world.run("set", "first", input=b"value of first", prefix=prefix)
            expect(outcome.code == 0, f"set without {refused}, {error}:", outcome)
            world.check("first")
            world.doctor()
            expect(not [name for name in world.names() if "new" in name], world.names())
            file = f"{world.folder}/{error}-{len(refused)}-{refused[0]}.backup"
            for code in (0, 1):
                outcome = world.run(
                    "backup", "create", file, "--passphrase-fd", "0",
                    input=b"correct horse battery\n", prefix=prefix)
                expect(outcome.code == code, f"backup without {refused}, {error}:", outcome)
                before = before if code else open(file, "rb").read()
                expect(open(file, "rb").read() == before, "a file was replaced")
            expect("exists" in outcome.err, outcome)


CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t id, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(id, time);
    const char *text = getenv("TEST_CLOCK");
    const char *uptime = getenv("TEST_UPTIME");
    if (code == 0 && id == CLOCK_REALTIME && text) time->tv_sec = atoll(text);
    if (code == 0 && (id == CLOCK_MONOTONIC || id == CLOCK_BOOTTIME) && uptime)
        time->tv_sec += atoll(uptime);
    return code;
}
"""


def clock_library(world):
    """Makes a library that sets the clocks of the programs that load it."""
    compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    expect(compiler or os.environ.get("REQUIRE_ALL") != "1", "no compiler")
    if compiler is None:
        raise Skip("needs a compiler of C")
    library = f"{world.folder}/clock.so"
    source = f"{world.folder}/clock.c"
    open(source, "w").write(CLOCK)
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


# Promise: 13.14
@scenario
def any_uptime(world):
    """No call crashes however long the machine has run."""
    library = clock_library(world)
    century = 3_155_760_000
    # 64 bits of nanoseconds end after 9,223,372,036 s.
    for seconds in (century, 9_223_300_000, 9_223_372_020, 9_223_372_036, 4 * century, 2**53):
        env = {"LD_PRELOAD": library, "TEST_UPTIME": str(seconds)}
        for words in (("set", "a"), ("set", "a"), ("get", "a"), ("list",), ("status",),
                      ("doctor",), ("remove", "a", "--yes")):
            outcome = world.run(*words, input=b"value of a", env=env)
            expect(outcome.code >= 0, f"{words} after {seconds} s:", outcome)
            expect(outcome.code == 0 or seconds > 9_223_300_000, f"{words}:", outcome)
    world.fill("a")
    world.check("a")
    world.doctor()


# Promise: 13.14
@scenario
def any_clock(world):
    """Every call works at any setting of the clock."""
    library = clock_library(world)
    file = f"{world.folder}/keychain.backup"
    for seconds in (-62_135_596_800, -9_300_000_000, -1, 0, 9_223_372_035, 9_300_000_000,
                    253_402_300_799, 2**62, -(2**62), 2**63 - 1):
        env = {"LD_PRELOAD": library, "TEST_CLOCK": str(seconds)}
        for words in (("set", "a"), ("set", "a"), ("list", "--json"), ("status",), ("doctor",),
                      ("get", "a"), ("rotate",), ("set", "b"), ("remove", "b", "--yes")):
            outcome = world.run(*words, input=b"value of a", env=env)
            expect(outcome.code == 0, f"{words} at {seconds}:", outcome)
        for words in (("create", "--force"), ("list",), ("restore", "--keep-newer")):
            outcome = world.run(
                "backup", *words, file, "--passphrase-fd", "0", env=env,
                input=b"correct horse battery\n")
            expect(outcome.code == 0, f"backup {words} at {seconds}:", outcome)
    world.fill("a")
    world.check("a")
    modified = json.loads(world.run("list", "--json").out)["items"][0]["modified"]
    expect(modified[:4] == time.strftime("%Y", time.gmtime()), "the date stays wrong:", modified)
    world.doctor()


# Promise: 13.14
@scenario
def little_memory(world):
    """A large value that memory cannot hold is an error and not a crash."""
    need("prlimit")
    world.fill("a")
    value = b"v" * (16 << 20)
    world.set("large", value)
    failures, roomy = {"set": 0, "get": 0}, 0
    for mebibytes in range(40, 400, 12):
        # More memory shows nothing new once everything has succeeded twice.
        if roomy == 2 and not world.is_thorough:
            break
        prefix = ("prlimit", f"--as={mebibytes << 20}")
        # With less memory than a small value needs, the program itself cannot start.
        if world.run("get", "a", prefix=prefix).code != 0:
            continue
        roomy += 1
        for words in (("set", "other"), ("get", "large")):
            outcome = world.run(*words, input=value if words[0] == "set" else b"", prefix=prefix)
            if outcome.code != 0:
                expect(outcome.code == 1 and "memory" in outcome.err,
                       f"{words} in {mebibytes} MiB:", outcome)
                failures[words[0]] += 1
                roomy = 0
    world.check("a")
    expect(world.get("large") == value.decode(), "large")
    expect(failures["set"] > 0 and failures["get"] > 0, "never tight:", failures)
    world.doctor()


def expect_full(outcome):
    expect(outcome.code == 1, outcome)
    expect("hint: make room" in outcome.err, "no hint:", outcome)


# Promise: 13.15
@scenario(script=CRASH_TEST)
def full_disk_at_each_write(world):
    """A write with little room on the disk succeeds or changes nothing."""
    private_mounts()
    os.mkdir(world.home)
    mount("-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", world.home)
    world.fill("early")
    old = "value of early"
    for pages in range(0, 24, 1 if world.is_thorough else 3):
        leave_room(world, pages)
        outcome = world.run("set", "early", input=f"value {pages}".encode())
        if outcome.code != 0:
            expect_full(outcome)
        else:
            old = f"value {pages}"
        expect(world.get("early") == old, f"with {pages} pages of room: the value is lost")
        os.remove(world.path("ballast"))
        world.doctor()


@scenario(script=CRASH_TEST)
def full_disk_at_creation(world):
    """A first write with little room on the disk succeeds or can be repeated."""
    private_mounts()
    os.mkdir(world.home)
    for pages in range(0, 60, 1 if world.is_thorough else 5):
        mount("-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", world.home)
        leave_room(world, pages)
        outcome = world.run("set", "first", input=b"value of first")
        if outcome.code != 0:
            expect_full(outcome)
            expect(world.run("get", "first").code in (1, 44), "get before there is a keychain")
        os.remove(world.path("ballast"))
        world.fill("first", "second")
        world.check("first", "second")
        world.doctor()
        os.system(f"umount {world.home}")


def leave_room(world, pages):
    ballast = os.open(world.path("ballast"), os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        while os.write(ballast, b"b" * 4096) > 0:
            pass
    except OSError:
        pass
    os.ftruncate(ballast, max(0, os.fstat(ballast).st_size - pages * 4096))
    os.close(ballast)


# Promise: 2.6
@scenario
def foreign_home(world):
    """Root makes no folders in the home of another user."""
    need_root()
    home = f"{world.folder}/theirs"
    for folders in ("", ".local", ".local/share"):
        os.makedirs(f"{home}/{folders}")
        for folder in (home, f"{home}/.local", f"{home}/.local/share"):
            if os.path.exists(folder):
                os.chown(folder, 12345, 12345)
        for env in ({"HOME": home, "VALET_HOME": None}, {"VALET_HOME": f"{home}/valet"}):
            outcome = world.run("set", "a", input=b"v", env=env)
            expect(outcome.code != 0 and "run as user 12345" in outcome.err, outcome)
        found = [os.path.join(folder, name) for folder, names, files in os.walk(home)
                 for name in names + files]
        expect(all(os.stat(path).st_uid == 12345 for path in found), "made:", found)
        shutil.rmtree(home)
    # A folder of one's own is enough, wherever it is.
    os.makedirs(home)
    os.chown(home, 12345, 12345)
    os.mkdir(f"{home}/valet", 0o700)
    outcome = world.run("set", "a", input=b"v", env={"VALET_HOME": f"{home}/valet"})
    expect(outcome.code == 0, outcome)


# Promise: 2.6
@scenario(users=(ORDINARY,))
def unwritable_files(world):
    """Files that their owner may not write are named with the command that helps."""
    names = ("keychain.db", "keychain.db-wal", "keychain.db-shm")
    for chosen in (names, *((name,) for name in names)):
        world.fill("a")
        for name in chosen:
            os.chmod(world.path(name), 0o400)
        for words in (("get", "a"), ("set", "b")):
            outcome = world.run(*words, input=b"v")
            if outcome.code != 0:
                expect("hint: chmod 600 " in outcome.err, chosen, words, outcome)
                expect(all(world.path(name) in outcome.err for name in chosen), chosen, outcome)
        for name in chosen:
            os.chmod(world.path(name), 0o600)
        world.check("a")


@scenario
def without_proc(world):
    """The command sees its arguments where /proc is not mounted."""
    need_root()
    prefix = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$0" "$@"')
    outcome = world.run("--version", prefix=prefix)
    expect(outcome.code == 0 and outcome.out.startswith(b"valet "), outcome)
    outcome = world.run("get", "a", "--no-such-option", prefix=prefix)
    expect(outcome.code == 64 and "--no-such-option" in outcome.err, outcome)


@scenario
def no_home(world):
    """Without a home every command names the variables that are missing."""
    for verb in (["get", "k"], ["set", "k"], ["list"], ["status"], ["doctor"]):
        outcome = world.run(*verb, input=b"x", env={"HOME": None, "VALET_HOME": None})
        words = outcome.err + outcome.out.decode()
        expect(outcome.code == 1, verb, outcome)
        expect("HOME" in words and "VALET_HOME" in words, verb, outcome)


# Promise: 2.2
@scenario
def relative_home(world):
    """A relative VALET_HOME is refused and nothing is created."""
    real = {"VALET_HOME": None}
    world.set("k", "v", env=real)
    os.mkdir(world.home, 0o700)
    for relative in ("home", "./home", "../home", "~/home"):
        env = {"VALET_HOME": relative}
        for verb in (["set", "k"], ["get", "k"], ["list"], ["status"], ["remove", "--all", "--yes"],
                     ["lock", "--all"], ["passcode", "set"], ["rotate"], ["doctor"]):
            outcome = world.run(*verb, input=b"x", env=env, cwd=world.folder)
            words = outcome.err + outcome.out.decode()
            expect(outcome.code == 1, verb, outcome)
            expect("$VALET_HOME is not an absolute path" in words, verb, outcome, words)
            expect("set VALET_HOME to an absolute path" in words, verb, outcome, words)
        agent = world.agent(env=env)
        answer = agent.ask("set a b")
        expect(not answer.startswith("ok"), "the library:", answer)
        agent.end()
    expect(world.get("k", env=real) == "v", "the real keychain was changed")
    expect(os.listdir(world.home) == [], "something was made")
    # An empty variable counts as not set, like those of XDG and VALET_DEVICE_KEY_FILE.
    expect(world.get("k", env={"VALET_HOME": ""}) == "v", "another keychain")


@scenario
def relative_base(world):
    """Relative XDG folders are ignored."""
    env = {"VALET_HOME": None, "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "./state"}
    world.set("k", "v", env=env, cwd=world.folder)
    expect(world.get("k", env=env, cwd="/") == "v", "another keychain")
    expect(os.path.exists(f"{world.folder}/.local/share/valet/keychain.db"), "no keychain at home")
    expect(os.path.exists(f"{world.folder}/.local/state/valet/device.key"), "no device key")


# Promise: 2.1
@scenario(users=EVERY_USER)
def new_folder(world):
    """An empty folder for a keychain is closed to other users by the first write."""
    os.mkdir(world.home)
    os.chmod(world.home, 0o755)
    expect(world.run("get", "a").code == 44, "get")
    expect(world.run("list").code == 0, "list")
    world.doctor()
    expect(stat.S_IMODE(os.stat(world.home).st_mode) == 0o755, "reading changed the mode")
    world.fill("a")
    expect(stat.S_IMODE(os.stat(world.home).st_mode) == 0o700, "the folder is open to others")
    world.check("a")
    other = f"{world.folder}/other"
    os.makedirs(f"{other}/of somebody")
    os.chmod(other, 0o755)
    for verb in (["set", "a"], ["get", "a"], ["list"]):
        outcome = world.run(*verb, input=b"v", env={"VALET_HOME": other})
        expect(outcome.code == 77, outcome)
        expect("the group or others have permissions" in outcome.err, outcome)
        expect(f"hint: chmod 700 {other}" in outcome.err, outcome)
    expect(stat.S_IMODE(os.stat(other).st_mode) == 0o755, "the mode changed")
    expect(os.listdir(other) == ["of somebody"], "something was made")
    agent = world.agent(env={"VALET_HOME": other})
    answer = agent.ask("set a b")
    expect("permissions" in answer and other in answer, "the library:", answer)
    agent.end()


@scenario(users=EVERY_USER)
def several_wrong_modes(world):
    """valet doctor names every path with wrong permissions and how to correct it."""
    world.fill("a")
    wrong = {"": 0o755, "device": 0o750, "keychain.db": 0o644, "keychain.lock": 0o640,
             "device/device.key": 0o444}
    for name, mode in wrong.items():
        os.chmod(os.path.join(world.home, name).rstrip("/"), mode)
    outcome = world.run("doctor")
    text = outcome.out.decode()
    expect(outcome.code == 1, outcome)
    for name in wrong:
        path = os.path.join(world.home, name).rstrip("/")
        mode = 600 if os.path.isfile(path) else 700
        expect(text.count(f"-> chmod {mode} {path}\n") == 1, name, text)
    for line in text.splitlines():
        if "-> chmod" in line:
            expect(os.system(line.split("->")[1]) == 0, line)
    world.doctor()
    world.check("a")


@scenario
def home_that_is_no_text(world):
    """A home whose path is not UTF-8 is refused."""
    for name in ("VALET_HOME", "HOME", "XDG_DATA_HOME"):
        env = {"VALET_HOME": None, name: f"{world.folder}/\udcff"}
        outcome = world.run("set", "k", input=b"v", env=env)
        expect(outcome.code == 1 and f"{name} is not UTF-8" in outcome.err, name, outcome)
    left = [entry for entry in os.listdir(os.fsencode(world.folder)) if not entry.isascii()]
    expect(not left, "made:", left)


@scenario(users=EVERY_USER)
def read_only_home(world):
    """A home where nothing can be created is an error and not a hang."""
    os.makedirs(f"{world.folder}/dead", mode=0o500)
    env = {"VALET_HOME": f"{world.folder}/dead/valet"}
    expect(world.run("get", "k", env=env).code == 44, "get")
    outcome = world.run("set", "k", input=b"v", env=env)
    if os.geteuid() != 0:
        expect(outcome.code == 77 and "dead" in outcome.err, "set:", outcome)
    env = {"VALET_HOME": "/proc/valet"}
    outcome = world.run("set", "k", input=b"v", env=env)
    expect(outcome.code in (1, 77), "set in /proc:", outcome)
    expect("hint: " in outcome.err and "VALET_HOME" in outcome.err, "set in /proc:", outcome)


@scenario(users=(ORDINARY,))
def denied(world):
    """What the system denies is reported once, with exit code 77 and a hint."""
    if os.geteuid() == 0:
        raise Skip("needs a user who is not root")
    world.fill("a")
    for name in ("", "device", "device/device.key", "keychain.db", "keychain.lock"):
        path = os.path.join(world.home, name).rstrip("/")
        mode = stat.S_IMODE(os.stat(path).st_mode)
        os.chmod(path, 0)
        # A reader does not need the lock.
        verbs = [["set", "a"], ["remove", "a", "--yes"]]
        if "lock" not in name:
            verbs.append(["get", "a"])
        for verb in verbs:
            expect_denied(world.run(*verb, input=b"new"), name or "folder", verb)
        os.chmod(path, mode)
    world.check("a")
    os.mkdir(f"{world.folder}/closed", mode=0)
    os.mkdir(f"{world.folder}/full", mode=0o500)
    for env in ({"VALET_HOME": f"{world.folder}/closed/x"},
                {"VALET_HOME": f"{world.folder}/full/x"},
                {"VALET_HOME": None, "HOME": f"{world.folder}/full/x"},
                {"VALET_HOME": None, "HOME": "/dev/null"}):
        outcome = world.run("set", "a", input=b"v", env=env)
        expect_denied(outcome, env)
        expect("set VALET_HOME to a folder of yours" in outcome.err, env, outcome)


def expect_denied(outcome, *words):
    expect(outcome.code == 77, *words, outcome)
    lines = outcome.err.strip().split("\n")
    expect(len(lines) == 2 and "hint: " in lines[1], *words, outcome)
    expect("Permission denied" in lines[0] or "not a folder" in lines[0], *words, outcome)
    # Exactly one operation: "could not create the keychain: create a folder: …" names two.
    what = lines[0].split(" (")[0]
    expect(what.count(": ") == 3, *words, "more than one operation:", lines[0])


# Promise: 2.2
@scenario
def relative_device_key(world):
    """A relative VALET_DEVICE_KEY_FILE is refused."""
    for relative in ("key", "./key"):
        env = {"VALET_DEVICE_KEY_FILE": relative}
        for verb in (["set", "k"], ["get", "k"], ["list"], ["status"]):
            outcome = world.run(*verb, input=b"v", env=env, cwd=world.folder)
            expect(outcome.code == 1, verb, outcome)
            expect("$VALET_DEVICE_KEY_FILE is not an absolute path" in outcome.err, verb, outcome)
            expect("hint: set VALET_DEVICE_KEY_FILE to" in outcome.err, verb, outcome)
    expect(not os.path.exists(world.home), "a keychain was made")
    world.set("k", "v", env={"VALET_DEVICE_KEY_FILE": ""})


ENTRIES = ("", "device") + FILES


# Promise: 2.1
@scenario(users=EVERY_USER)
def wrong_mode(world):
    """A keychain that its group or others can access is refused, with a hint."""
    world.fill("a")
    for name in ENTRIES:
        path = os.path.join(world.home, name).rstrip("/")
        right = stat.S_IMODE(os.stat(path).st_mode)
        for wrong in (right | 0o040, right | 0o004, right | 0o020):
            os.chmod(path, wrong)
            refused(world, name, f"chmod {right:o} {path}")
            os.chmod(path, right)
    world.check("a")


# Promise: 2.1
@scenario
def wrong_owner(world):
    """A keychain that another user owns is refused."""
    need_root()
    world.fill("a")
    for name in ENTRIES:
        path = os.path.join(world.home, name).rstrip("/")
        os.chown(path, 12345, -1)
        refused(world, name, "run as user 12345")
        os.chown(path, 0, -1)
    world.check("a")


def refused(world, name, *hints):
    before = world.contents()
    verbs = [["set", "a"], ["set", "b"], ["remove", "a", "--yes"], ["doctor"]]
    # A reader does not need the lock.
    verbs += [["get", "a"], ["list"]] if name != "keychain.lock" else []
    for verb in verbs:
        outcome = world.run(*verb, input=b"new")
        words = outcome.err + outcome.out.decode()
        code = 1 if verb == ["doctor"] else 77
        expect(outcome.code == code, f"{name or 'folder'}: {verb}:", outcome, words)
        expect(any(hint in words for hint in hints), f"{name}: {verb}: no {hints}:", words)
        expect("chown" not in words, f"{name}: {verb}:", words)
    expect(world.contents() == before, f"{name}: something was written")


# Promise: 2.8
@scenario(users=EVERY_USER)
def links(world):
    """A symbolic link in place of a keychain's file or folder is refused."""
    world.fill("a")
    for name in ENTRIES:
        path = os.path.join(world.home, name).rstrip("/")
        os.rename(path, f"{world.folder}/elsewhere")
        os.symlink(f"{world.folder}/elsewhere", path)
        refused(world, name, "put the file itself", "set VALET_HOME to the folder")
        os.remove(path)
        os.rename(f"{world.folder}/elsewhere", path)
    world.check("a")


# Promise: 2.8
@scenario(users=EVERY_USER)
def other_kinds(world):
    """A pipe, a folder or a second hard link in place of a keychain's file is refused."""
    world.fill("a")
    for name in FILES:
        path = world.path(name)
        if name not in ("keychain.db-wal", "keychain.db-shm"):
            os.link(path, f"{world.folder}/second")
            refused(world, name, "remove the other hard links")
            os.remove(f"{world.folder}/second")
        os.rename(path, f"{world.folder}/elsewhere")
        for make, remove in ((os.mkfifo, os.remove), (os.mkdir, os.rmdir)):
            make(path, 0o600)
            refused(world, name, f"move {path} away")
            remove(path)
        shutil.move(f"{world.folder}/elsewhere", path)
    world.check("a")
