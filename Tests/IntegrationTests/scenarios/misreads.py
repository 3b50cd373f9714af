# SPDX-License-Identifier: Apache-2.0
# Promise: 14.10
"""Files that cannot be opened or read once, at any step of a key change: whatever the error,
every item is there afterwards, and the next write erases what is left of the old keys."""

import collections
import os
import re
import shutil

import keychanges
from kills import spread
from support import CRASH_TEST, expect, need, need_root, scenario

# The error of each call on a machine without free descriptors or with a failing disk.
ERRORS = {"openat": "EMFILE", "pread64": "EIO", "getdents64": "EIO", "statx": "EIO",
          "pwrite64": "EIO", "fsync": "EIO", "fdatasync": "EIO", "ftruncate": "EIO",
          "renameat2": "EIO", "unlinkat": "EIO", "linkat": "EIO"}
DEVICE_KEY = "device/device.key"


def calls(world, *words, **options):
    """Returns the system calls of a run as (name, number), and those that concern device keys."""
    need("strace")
    # Only root can see which files a command has open that forbids tracing.
    need_root()
    log = f"{world.folder}/trace"
    outcome = world.run(*words, prefix=(
        "strace", "-f", "-y", "-o", log, "-e", f"trace={','.join(ERRORS)},prctl"), **options)
    expect(outcome.code == 0, "under strace:", outcome)
    counts, found, about, has_begun = collections.Counter(), [], [], False
    for line in open(log, errors="replace"):
        match = re.match(r"\d+ +(\w+)\(", line)
        if not match:
            continue
        counts[match[1]] += 1
        has_begun = has_begun or "PR_SET_DUMPABLE" in line
        call = (match[1], counts[match[1]])
        if has_begun and match[1] in ERRORS:
            found.append(call)
            if "/device" in line or "device.key" in line:
                about.append(call)
    expect(len(about) > 5 and len(found) > 50, "the trace is too short")
    return found, about


def chosen(world, found, about):
    """Chooses all calls; in a test run those that find device keys, and some of the others."""
    if world.is_thorough:
        return found
    looking = [call for call in about if call[0] in ("openat", "pread64", "getdents64", "statx")]
    other = [call for call in found if call not in looking]
    return looking + spread(other, 8)


def misread_each(world, keys, *words, **options):
    """Runs the command in a copy of the keychain, once for each call that fails."""
    template = f"{world.home}-template"
    os.rename(world.home, template)
    shutil.copytree(template, world.home)
    found, about = calls(world, *words, **options)
    outcomes = collections.Counter()
    tried = chosen(world, found, about)
    for call in tried:
        shutil.rmtree(world.home)
        shutil.copytree(template, world.home)
        outcome = world.run(*words, prefix=(
            "strace", "-f", "-o", "/dev/null", "-e", f"trace={call[0]}", "-e",
            f"inject={call[0]}:error={ERRORS[call[0]]}:when={call[1]}"), **options)
        outcomes[outcome.code] += 1
        try:
            check(world, keys)
        except Exception:
            print(f"{ERRORS[call[0]]} at {call}: {outcome}")
            raise
    expect(outcomes[0] and len(outcomes) > 1, "nothing went wrong:", dict(outcomes))
    print(f"{len(tried)} of {len(found)} calls: {dict(outcomes)}")


def check(world, keys):
    """Checks that every item is there, also after the next write, which completes the change."""
    world.check(*keys)
    world.fill("later")
    world.check(*keys, "later")
    names = {name for name in world.names() if name.startswith(("device/", "erase"))}
    expect(names == {DEVICE_KEY}, "left over:", names)
    world.doctor()


@scenario(script=CRASH_TEST)
def rotation(world):
    """A file that cannot be read once during valet rotate costs no item."""
    keys = [f"early-{index}" for index in range(3)]
    world.fill(*keys)
    misread_each(world, keys, "rotate")


@scenario(script=CRASH_TEST)
def tidying(world):
    """A file that cannot be read once while old keys are erased costs no item."""
    keys = [f"early-{index}" for index in range(3)]
    world.fill(*keys)
    path = world.path(DEVICE_KEY)
    old = open(path, "rb").read()
    expect(world.run("rotate").code == 0, "rotate")
    new = open(path, "rb").read()
    os.rename(path, f"{path}.{new[26:42].hex()}")
    for name, contents in ((DEVICE_KEY, old), (f"{DEVICE_KEY}.{'0' * 32}", old),
                           ("erase.pending", b"")):
        with open(world.path(name), "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(contents)
    misread_each(world, keys, "set", "early-0", input=b"value of early-0")


def attempt_each(world, change):
    """Does the same to a program that changes keys, with the old and the new passcode."""
    keychanges.prepare(world, change)
    every = [call for call in keychanges.steps(world, change) if call[0] in ("openat", "pread64")]
    tried = every if world.is_thorough else spread(every, 8)
    outcomes = collections.Counter()
    for call in tried:
        outcome = keychanges.attempt(
            world, change, "-o", "/dev/null", "-e", f"trace={call[0]}", "-e",
            f"inject={call[0]}:error={ERRORS[call[0]]}:when={call[1]}")
        expect(outcome.code == 0, "the agent died:", outcome)
        try:
            outcomes[keychanges.verify(world, change)] += 1
        except Exception:
            print(f"{ERRORS[call[0]]} at {call}: {outcome.out.decode()}")
            raise
    print(f"{len(tried)} of {len(every)} calls: {dict(outcomes)}")


@scenario(script=CRASH_TEST)
def changing(world):
    """A file that cannot be read once while a passcode changes costs no item."""
    attempt_each(world, keychanges.CHANGES["changing"])


@scenario(script=CRASH_TEST)
def recovering(world):
    """A file that cannot be read once during a recovery costs no item."""
    attempt_each(world, keychanges.CHANGES["recovering"])


@scenario(script=CRASH_TEST)
def unbinding(world):
    """A file that cannot be read once while the device key moves costs no item."""
    attempt_each(world, keychanges.CHANGES["unbinding"])
