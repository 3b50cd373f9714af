# SPDX-License-Identifier: Apache-2.0
"""A child that was forked and never calls `exec`."""

import time

from support import expect


def after_use(world):
    """The child works, the parent goes on, and both see everything."""
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


def in_the_middle(world):
    """While another thread is in a call: the child is refused, and does not hang."""
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


def at_any_moment(world):
    """While another thread writes: it works or is refused, and nothing is damaged."""
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
