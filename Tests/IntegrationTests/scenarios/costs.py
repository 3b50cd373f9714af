# SPDX-License-Identifier: Apache-2.0
"""How many system calls the product makes."""

import time

from support import AGENT_ITEMS, expect, need, scenario

# SQLite alone makes nine: four to lock, two to write a page, one to sync, two to unlock.
SET_LIMIT = 15
GET_LIMIT = 2
# Of a program that starts, from its first statement on: SQLite makes about 75 to open a database.
# The allocator and the scheduler add a few, more or less on each machine.
COLD_GET_LIMIT = 184
COLD_SET_LIMIT = 284
TURNS = 3


def calls(trace, command):
    """The system calls of an agent from the command that it reads to the next one, by name."""
    lines = [line.split(" ", 1)[1].strip() for line in open(trace, errors="replace")]
    begin = next(place for place, line in enumerate(lines) if command in line) + 1
    end = next(place for place, line in enumerate(lines[begin:], begin) if "read(0" in line)
    # The last one is the agent's answer.
    return [line.partition("(")[0] for line in lines[begin:end - 1]]


@scenario
def warm(world):
    """A set of a program that runs makes at most 15 system calls, three of them looks at files."""
    need("strace")
    trace = f"{world.folder}/trace"
    agent = world.agent(prefix=("strace", "-f", "-o", trace))
    agent.do("set key value")
    agent.do("get key")
    counts = []
    for turn in range(10):
        # Ten times a second a call looks at all files, and the first write after a pause does.
        time.sleep(0.2)
        for number in range(3):
            agent.do(f"set key value-{turn}-{number}")
        agent.do("get key")
        agent.do(f"get key again-{turn}")
    agent.end()
    for turn in range(10):
        counts.append(calls(trace, f"set key value-{turn}-2"))
        reading = calls(trace, f"get key again-{turn}")
        expect(len(reading) <= GET_LIMIT, "a get makes", reading)
    # SQLite's checkpoints come on top, and are rare.
    fewest = min(counts, key=len)
    expect(len(fewest) <= SET_LIMIT, len(fewest), "system calls:", fewest)
    expect(sum(len(one) <= SET_LIMIT for one in counts) >= 8, [len(one) for one in counts])
    looks = fewest.count("statx") + fewest.count("newfstatat")
    expect(looks == 3, "looks at the database, the log and its index:", looks)
    expect(world.get("key", *AGENT_ITEMS) == "value-9-2", "the last value")
    print(f"a set makes {len(fewest)} system calls")


@scenario
def cold(world):
    """A command that reads a secret leaves closing to the kernel, and looks at no file in vain."""
    need("strace")
    world.run("set", "key", input=b"value")
    for words, limit in ((("get", "key"), COLD_GET_LIMIT), (("set", "key"), COLD_SET_LIMIT)):
        fewest = min((cold_calls(world, words) for _ in range(TURNS)), key=len)
        expect(len(fewest) <= limit, words[0], "makes", len(fewest), "system calls:", fewest)
        print(f"a cold {words[0]} makes {len(fewest)} system calls after the start")


def cold_calls(world, words):
    """The system calls of one command from its first statement to its end, by name."""
    trace = f"{world.folder}/trace"
    # Right after a change of names in the folder, a program waits until they are settled.
    time.sleep(0.2)
    world.run(*words, input=b"value", prefix=("strace", "-f", "-o", trace))
    lines = [line.split(" ", 1)[1].strip() for line in open(trace, errors="replace")]
    begin = next(place for place, line in enumerate(lines) if "PR_SET_DUMPABLE" in line)
    return [line.partition("(")[0] for line in lines[begin:]]
