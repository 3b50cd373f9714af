# SPDX-License-Identifier: Apache-2.0
"""Applications that follow what other processes store."""

from availability import KERNEL, locked
from support import EVERY_USER, expect, scenario


@scenario(users=EVERY_USER)
def told(world):
    """A watcher of keys sees what other processes store and remove."""
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


@scenario(users=EVERY_USER)
def locked_keys(world):
    """A watcher of keys sees an item that was stored while locked once it can be read."""
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
