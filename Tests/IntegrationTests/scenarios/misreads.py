# SPDX-License-Identifier: Apache-2.0
"""A file that cannot be opened or read for a moment, at any step of a change of keys: whatever is
said then, every item is there afterwards, and what was put off comes to its end."""

import collections
import os
import re
import shutil

import epochs
from kills import spread
from support import expect, need, need_root

# What each call can be told by a machine that has run out of something, or a disk that fails.
ERRORS = {"openat": "EMFILE", "pread64": "EIO", "getdents64": "EIO", "newfstatat": "EIO",
          "pwrite64": "EIO", "fsync": "EIO", "fdatasync": "EIO", "ftruncate": "EIO",
          "renameat2": "EIO", "unlinkat": "EIO", "linkat": "EIO"}
DEVICE_KEY = "device/device.key"


def calls(world, *words, **options):
    """The calls of a run, as (name, which of them), and those that are about device keys."""
    need("strace")
    # Nobody else learns which files a command has open that is not to be traced.
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
    """All calls; or those that say which file is a device key, and some of the others."""
    if world.is_thorough:
        return found
    looking = [call for call in about if call[0] in ("openat", "pread64", "getdents64")]
    other = [call for call in found if call not in looking]
    return looking + spread(other, 8)


def misread_each(world, keys, *words, **options):
    """Runs the command in a copy of the keychain, once for each call that goes wrong."""
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
    """Every item is there; so it is after the next write, which brings everything to its end."""
    world.check(*keys)
    world.fill("later")
    world.check(*keys, "later")
    names = {name for name in world.names() if name.startswith(("device/", "erase"))}
    expect(names == {DEVICE_KEY}, "left over:", names)
    world.doctor()


def rotation(world):
    """`valet rotate`, which erases the old device key."""
    keys = [f"early-{index}" for index in range(3)]
    world.fill(*keys)
    misread_each(world, keys, "rotate")


def tidying(world):
    """A `set` that finds what an earlier change of keys left to be erased."""
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
    """The same in a program that makes any change of keys, with the old and the new passcode."""
    epochs.prepare(world, change)
    every = [call for call in epochs.steps(world, change) if call[0] in ("openat", "pread64")]
    tried = every if world.is_thorough else spread(every, 8)
    outcomes = collections.Counter()
    for call in tried:
        outcome = epochs.attempt(
            world, change, "-o", "/dev/null", "-e", f"trace={call[0]}", "-e",
            f"inject={call[0]}:error={ERRORS[call[0]]}:when={call[1]}")
        expect(outcome.code == 0, "the agent died:", outcome)
        try:
            outcomes[epochs.verify(world, change)] += 1
        except Exception:
            print(f"{ERRORS[call[0]]} at {call}: {outcome.out.decode()}")
            raise
    print(f"{len(tried)} of {len(every)} calls: {dict(outcomes)}")


def changing(world):
    attempt_each(world, epochs.CHANGES["changing"])


def recovering(world):
    attempt_each(world, epochs.CHANGES["recovering"])


def unbinding(world):
    attempt_each(world, epochs.CHANGES["unbinding"])
