# SPDX-License-Identifier: Apache-2.0
"""Items that move: changes of accessibility in place, and migrations to another application."""

import collections
import re
import shutil

from kills import CHANGING, OTHER, calls, chosen, killed as was_killed_at, report, spread
from setaside import secret
from support import AGENT, CRASH_TEST, expect, need, scenario


# Promise: 13.4
@scenario(script=CRASH_TEST)
def killed(world):
    """A kill during a change of accessibility leaves all items old or all items new."""
    need("strace")
    agent = world.agent()
    agent.do("move fill 5")
    agent.do("close")
    agent.end()
    template = f"{world.home}-template"
    shutil.copytree(world.home, template)
    log = f"{world.folder}/trace"
    every = move(world, template, "-o", log, "-e", f"trace={','.join(CHANGING + OTHER)}", log=log)
    expect(len(every) > 30, "the trace is too short:", len(every))
    kill_count, outcomes = 0, collections.Counter()
    tried = every if world.is_thorough else spread(every, 40)
    for name, number in tried:
        was_killed = move(world, template, "-o", "/dev/null", "-e", f"trace={name}", "-e",
                          f"inject={name}:signal=KILL:when={number}")
        agent = world.agent()
        state = agent.do("move state")
        expect(state == "0 5" or was_killed and state == "5 0",
               f"killed at {name} {number}: {state}")
        agent.end()
        outcomes[state] += 1
        kill_count += was_killed
        if kill_count % 10 == 0:
            world.doctor()
    expect(len(outcomes) == 2, "both outcomes are met:", outcomes)
    report(kill_count, tried, every)


def move(world, template, *options, log=None):
    """Changes the accessibility of all items in a copy of the template, under strace. Returns
    the system calls as (name, number) if there is a log, or else whether the program was
    killed."""
    shutil.rmtree(world.home)
    shutil.copytree(template, world.home)
    outcome = world.run("1", command=AGENT, input=b"mark begin\nmove run\nmark end\n",
                        prefix=("strace", "-f", *options))
    expect(outcome.code in (0, -9, 137), "to change the accessibility:", outcome)
    if not log:
        return outcome.code != 0
    expect(b"error" not in outcome.out, outcome.out)
    counts, found, has_begun = collections.Counter(), [], False
    for line in open(log, errors="replace"):
        match = re.match(r"\d+ +(\w+)\(", line)
        if not match:
            continue
        counts[match[1]] += 1
        has_begun = has_begun or "/mark-begin" in line
        if "/mark-end" in line:
            break
        if has_begun:
            found.append((match[1], counts[match[1]]))
    return found


# Promise: 13.4
@scenario(script=CRASH_TEST)
def damaged(world):
    """A change of accessibility refuses a source with a damaged item."""
    agent = world.agent()
    agent.do("move fill 5")
    agent.do("close")
    whole = secret(world, 2)
    answer = agent.ask("move run")
    expect(answer.startswith("error damaged"), answer)
    agent.do("close")
    secret(world, 2, whole)
    state = agent.do("move state")
    expect(state == "5 0", "after the refusal:", state)
    agent.do("move run")
    state = agent.do("move state")
    expect(state == "0 5", "in the end:", state)
    agent.end()
    world.doctor()


@scenario(script=CRASH_TEST)
def killed_migration(world):
    """A kill during a migration leaves all items with the old application, or all with the new."""
    def fill(name):
        world.home = f"{world.folder}/{name}"
        for key in ("a", "b"):
            world.set(key, f"value {key}", "--app", "old")
            world.set(key, f"shared {key}", "--app", "old", "--id", "cloud", "--cloud")

    def owners():
        found = []
        for key in ("a", "b"):
            for words, value in (((), f"value {key}"), (("--id", "cloud"), f"shared {key}")):
                here = [name for name in ("old", "new") if world.run(
                    "get", key, "--app", name, *words).out == value.encode()]
                expect(len(here) == 1, key, words, "is in", here)
                found += here
        return set(found)

    words = ("migrate", "--app", "old", "--to-app", "new")
    fill("traced")
    every = calls(world, *words, input=b"")
    expect(owners() == {"new"}, owners())
    kill_count, outcomes, tried = 0, set(), chosen(world, every, 10)
    for number, call in enumerate(tried):
        fill(str(number))
        is_killed = was_killed_at(world, call, *words, input=b"")
        state = owners()
        expect(state == {"new"} or (is_killed and state == {"old"}), f"killed at {call}:", state)
        outcomes |= state
        kill_count += is_killed
        world.doctor()
    expect(outcomes == {"old", "new"}, "both outcomes are met:", outcomes)
    report(kill_count, tried, every)
