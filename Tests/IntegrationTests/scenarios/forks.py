# SPDX-License-Identifier: Apache-2.0
"""Children that are forked and never call `exec`."""

import os
import signal
import time

from support import CRASH_TEST, expect, scenario


@scenario
def after_use(world):
    """A forked child and its parent both go on with the keychain."""
    agent = world.agent()
    agent.do("set parent before")
    agent.do("keys")
    agent.tell("fork child")
    expect({agent.answer(), agent.answer()} == {"ok ", "child started"}, "no child")
    ended, index = None, 0
    while index < 40 or ended is None:
        agent.tell(f"set parent-{index} x")
        answer = agent.answer()
        while answer.startswith("child"):
            ended = answer
            answer = agent.answer()
        expect(answer == "ok ", "the parent:", answer)
        index += 1
    expect(ended == "child 0", ended)
    keys = set(agent.do("keys").split())
    expected = {f"child-{number}" for number in range(10)} | {"parent"}
    expected |= {f"parent-{number}" for number in range(index)}
    expect(keys == expected, "missing:", expected - keys)
    agent.end()
    world.doctor()


# Promise: 13.16
@scenario
def on_many_threads(world):
    """Threads of a forked child use the keychain together, as their parent has done."""
    agent = world.agent()
    agent.do("set parent before")
    agent.do("get parent")
    agent.do("keys")
    for index in range(10):
        agent.tell(f"forkthreads child{index}")
        answers = [agent.answer() for _ in range(3)]
        expect(sorted(answers) == ["child 0", "child started", "ok "], answers)
    expect(len(agent.do("keys").split()) == 1 + 10 * 4 * 10, "not all were stored")
    agent.end()
    world.doctor()


# Promise: 13.16
@scenario
def idle_child(world):
    """A child that never uses the keychain does not keep the lock of a parent that was killed."""
    world.fill("a")
    agent = world.agent()
    agent.do(f"hold {world.home}")
    agent.tell("forkidle")
    answers = {agent.answer(), agent.answer()}
    child = next(int(answer.split()[1]) for answer in answers if answer.startswith("child"))
    try:
        agent.process.kill()
        agent.process.wait()
        world.fill("b")
    finally:
        os.kill(child, signal.SIGKILL)
    world.check("a", "b")
    world.doctor()


# Promise: 13.16
@scenario
def in_the_middle(world):
    """A child that is forked during another thread's call is refused and does not hang."""
    agent = world.agent()
    agent.do("set parent before")
    holder = world.agent()
    holder.do(f"hold {world.home}")
    agent.do("background busy")
    time.sleep(0.5)
    agent.tell("fork child")
    answers = [agent.answer() for _ in range(3)]
    expect("child 2" in answers, "no refusal:", answers)
    holder.do("release")
    holder.end()
    expect(agent.do("get parent") == "before", "the parent")
    agent.process.kill()
    agent.process.wait()
    world.doctor()


# Promise: 13.16
@scenario(script=CRASH_TEST)
def at_any_moment(world):
    """A fork at any moment of another thread's writes damages nothing."""
    agent = world.agent()
    agent.do("set parent before")
    agent.do("background busy")
    statuses = []
    for index in range(500 if world.is_thorough else 25):
        agent.tell(f"fork child{index}")
        answers = [agent.answer() for _ in range(3)]
        statuses += [answer for answer in answers if answer not in ("ok ", "child started")]
    strange = [status for status in statuses if status not in ("child 0", "child 2")]
    expect(not strange, f"{len(strange)} of {len(statuses)}:", strange[:5])
    expect(len(set(statuses)) == 2 or not world.is_thorough, "all were:", statuses[:3])
    agent.process.kill()
    agent.process.wait()
    world.doctor()
    print(f"{statuses.count('child 0')} worked, {statuses.count('child 2')} were refused")
