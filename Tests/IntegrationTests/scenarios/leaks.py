# SPDX-License-Identifier: Apache-2.0
"""What is left in a process's memory after it has handled a secret."""

import os
import re

from support import Skip, expect


def pattern(seed):
    """64 bytes that are written down nowhere; the agent makes the same."""
    state, found = seed, bytearray()
    for _ in range(64):
        state = (state * 1_664_525 + 1_013_904_223) & 0xFFFF_FFFF
        found.append(state >> 24)
    return bytes(found)


def after_use(world):
    """Stored, read, removed: no part of the secret is left, and a canary is found."""
    search(world, "leak")


def after_unlocking(world):
    """Set, unlocked with, locked: no part of the passcode is left."""
    search(world, "leakpasscode", {"VALET_LOCK_STATE": "process"})


def search(world, verb, env=None):
    agent = world.agent(env=env)
    agent.do(verb)
    regions = list(memory(agent.pid))
    expect(found(regions, pattern(2)), "the canary is not found: the search is worth nothing")
    places = found(regions, pattern(1))
    expect(not places, "parts of the secret are left at", places)
    agent.end()
    total = sum(len(data) for _, data in regions)
    print(f"{total >> 20} MiB searched")


def found(regions, secret):
    """Where 16 bytes of the secret stand together."""
    parts = [secret[start:start + 16] for start in range(0, 64, 16)]
    return [name for name, data in regions if any(part in data for part in parts)]


def memory(pid):
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as source:
            for line in open(f"/proc/{pid}/maps"):
                match = re.match(r"(\w+)-(\w+) (\S+) \S+ \S+ \S+\s*(.*)", line)
                start, end = int(match[1], 16), int(match[2], 16)
                if match[4] in ("[vvar]", "[vsyscall]", "[vvar_vclock]"):
                    continue
                try:
                    data = os.pread(source.fileno(), end - start, start)
                except OSError:
                    # Guard pages have no memory behind them.
                    continue
                yield f"{match[1]} {match[3]} {match[4]}", data
    except PermissionError as error:
        raise Skip(f"needs to read another process's memory: {error}") from None
