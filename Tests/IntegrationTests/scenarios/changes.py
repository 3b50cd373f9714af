# SPDX-License-Identifier: Apache-2.0
"""Applications that follow what others store."""

from availability import KERNEL, locked
from support import expect


def told(world):
    """What other processes store and remove is told, by key."""
    watcher = world.agent()
    writer = world.agent()
    watcher.do("app keywatch ak")
    writer.do("app setas ak first 1")
    watcher.do("app keyseen +first")
    for number in range(20):
        writer.do(f"app setas ak key{number} 1")
    writer.do("app setas ck other 1")
    writer.do("app setas ak last 1")
    seen = watcher.do("app keyseen +last").split()
    keys = {"+first", "+last"} | {f"+key{number}" for number in range(20)}
    expect(set(seen) == keys and len(seen) == len(keys), "told:", seen)
    writer.end()
    watcher.end()


def locked_keys(world):
    """What is written while a process cannot read it is told when it can."""
    with locked(world, KERNEL) as owner:
        owner.do("app unlock correct")
        watcher = world.agent(env=KERNEL)
        watcher.do("app keywatch ak")
        owner.do("app setas ak b 1")
        owner.do("app lock")
        owner.do("app unlock correct")
        seen = watcher.do("app keyseen +b")
        expect(seen == "+b", "told:", seen)
        watcher.end()
