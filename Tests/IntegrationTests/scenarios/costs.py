# SPDX-License-Identifier: Apache-2.0
"""How many system calls the product makes. Two bounds; the other numbers are reports."""

import time

from support import AGENT_ITEMS, expect, need, scenario

# SQLite alone makes nine: four to lock, two to write a page, one to sync, two to unlock.
WARM_SET_LIMIT = 15
# Of a program that starts, from its first statement on: SQLite makes about 75 to open a database.
# The allocator and the scheduler add a few, more or less on each machine.
COLD_GET_LIMIT = 200
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
    """A set of a program that runs makes at most 15 system calls."""
    need("strace")
    trace = f"{world.folder}/trace"
    agent = world.agent(prefix=("strace", "-f", "-o", trace))
    agent.do("set key value")
    for turn in range(TURNS):
        # Checkpoints come on top, and so does the first write after a pause.
        time.sleep(0.2)
        agent.do(f"set key before-{turn}")
        agent.do(f"set key value-{turn}")
        agent.do("get key")
        agent.do(f"get key again-{turn}")
    agent.do("gets 50000 key")
    agent.do("get key after")
    agent.end()
    sets = [calls(trace, f"set key value-{turn}") for turn in range(TURNS)]
    gets = [calls(trace, f"get key again-{turn}") for turn in range(TURNS)]
    print(f"a set makes {len(min(sets, key=len))} system calls, a get {len(min(gets, key=len))}, "
          f"50,000 gets {len(calls(trace, 'gets 50000 key'))}")
    fewest = min(sets, key=len)
    expect(len(fewest) <= WARM_SET_LIMIT, len(fewest), "system calls:", fewest)
    expect(world.get("key", *AGENT_ITEMS) == f"value-{TURNS - 1}", "the last value")


@scenario
def cold(world):
    """A command that reads a secret makes at most 200 system calls."""
    need("strace")
    world.run("set", "key", input=b"value")
    gets, sets = (min((cold_calls(world, words) for _ in range(TURNS)), key=len)
                  for words in (("get", "key"), ("set", "key")))
    print(f"after its start, a get makes {len(gets)} system calls, a set {len(sets)}")
    expect(len(gets) <= COLD_GET_LIMIT, len(gets), "system calls:", gets)


def cold_calls(world, words):
    """The system calls of one command from its first statement to its end, by name."""
    trace = f"{world.folder}/trace"
    world.run(*words, input=b"value", prefix=("strace", "-f", "-o", trace))
    lines = [line.split(" ", 1)[1].strip() for line in open(trace, errors="replace")]
    begin = next(place for place, line in enumerate(lines) if "PR_SET_DUMPABLE" in line)
    return [line.partition("(")[0] for line in lines[begin:]]
