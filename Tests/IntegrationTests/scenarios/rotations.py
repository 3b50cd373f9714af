# SPDX-License-Identifier: Apache-2.0
"""A change of all keys beside other processes: spec/keys-and-states.md §8, cases 5, 7, 16."""

import os
import signal
import time

from support import CRASH_TEST, Agent, expect, scenario, stop

VARIABLES = {"VALET_LOCK_STATE": "process"}


# Promise: 13.6
@scenario(script=CRASH_TEST)
def beside_others(world):
    """A rotation of keys delays no call beyond its deadline."""
    count = 100_000 if world.is_thorough else 3_000
    changer = Agent(world, VARIABLES)
    begin = time.monotonic()
    changer.do(f"fill {count}", timeout=600)
    print(f"{count} items added in {time.monotonic() - begin:.1f} s")
    changer.do("classes")
    writer, reader = Agent(world, VARIABLES), Agent(world, VARIABLES)
    for agent in (writer, reader):
        agent.do("set between before")
    end = f"{world.folder}/end"
    writer.tell(f"writes until-rotated {end}")
    reader.tell(f"reads between {end}")
    begin = time.monotonic()
    changer.do("rotate", timeout=1200)
    seconds = time.monotonic() - begin
    open(end, "w").close()
    slowest = {name: agent.answer(60) for name, agent in (("writer", writer), ("reader", reader))}
    # A change is one write: readers go on meanwhile, and writers wait for it or hear of it.
    for name, least in (("writer", 1), ("reader", 4)):
        answer = slowest[name]
        if name == "writer" and seconds > 5 and answer.startswith("error timedOut"):
            expect("changing the keychain's keys" in answer, answer)
            continue
        expect(answer.startswith("ok"), name, answer)
        expect(int(answer.split()[2]) < 5_000, name, answer)
        expect(int(answer.split()[1]) >= least, name, "did next to nothing:", answer)
    state = changer.do("state")
    expect("quarantined=0" in state, state)
    writer.do("set later value")
    expect("erase=false" in changer.do("state"), changer.do("state"))
    for agent in (changer, writer, reader):
        expect(len(agent.do("readable").split()) == 6, "items are lost")
        agent.end()
    world.doctor()
    print(f"{count} rows in {seconds:.1f} s; calls and the slowest in ms: {slowest}")


# Promise: 13.6
@scenario(script=CRASH_TEST)
def stopped_writer(world):
    """A writer that is stopped throughout a rotation loses nothing."""
    changer, writer = Agent(world, VARIABLES), Agent(world, VARIABLES)
    changer.do("classes")
    writer.do("set early value")
    for attempt in range(10 if world.is_thorough else 2):
        end = f"{world.folder}/end-{attempt}"
        writer.tell(f"writes until-rotated {end}")
        time.sleep(0.1 + 0.013 * attempt)
        stop(writer)
        # If it is stopped inside a write it holds the lock, and the change has to wait.
        answer = changer.ask("rotate")
        expect(answer.startswith(("ok", "error timedOut")), answer)
        os.kill(writer.pid, signal.SIGCONT)
        open(end, "w").close()
        answer = writer.answer(60)
        expect(answer.startswith("ok"), answer)
        for agent in (changer, writer):
            last = agent.do("get until-rotated")
            expect(last.startswith("value "), last)
            expect(len(agent.do("readable").split()) == 6, "items are lost")
    changer.end()
    writer.end()
    world.doctor()


# Promise: 13.6
@scenario
def running_reader(world):
    """A running program reads on through every key change."""
    changer, reader = Agent(world, VARIABLES), Agent(world, VARIABLES)
    changer.do("classes")
    for line, other in (("rotate", None), ("passcode set one", "unlock one"),
                        ("passcode change one two", "unlock two"), ("passcode remove two", None)):
        expect(len(reader.do("readable").split()) == 6, "before", line)
        changer.do(line)
        if other:
            answer = reader.ask("get x")
            expect(answer.startswith("error locked"), line, answer)
            reader.do(other)
        expect(len(reader.do("readable").split()) == 6, "after", line)
        reader.do("set k value")
        expect(changer.do("get k") == "value", "after", line)
    changer.end()
    reader.end()
    world.doctor()
