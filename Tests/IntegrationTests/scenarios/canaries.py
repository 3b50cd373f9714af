# SPDX-License-Identifier: Apache-2.0
"""Keys that files and the memory of locked processes must not contain.

The scenarios read all memory of a process, also the parts that a core dump leaves out. A process
counts as locked once it has made a call after the lock: a sleeping process cannot know."""

import keybags
from leaks import memory, pattern
from support import LEAK_TEST, ORDINARY, Agent, expect, scenario

# The dynamic linker saves all registers on the stack when it binds a function late, and with them
# what was copied last: the passcode that the agent, unlike a prompt, copies from its own memory.
VARIABLES = {"VALET_LOCK_STATE": "kernel", "LD_BIND_NOW": "1"}
STAYING = ("ck", "cku", "dk", "dku", "sync f")


# Promise: 7.12
@scenario(users=(ORDINARY,), script=LEAK_TEST)
def after_locking(world):
    """No key of a locked keychain is in the memory of a process or in a file.

    The passcode, the root key and the class keys never stay; derived keys go with the lock."""
    keeper, agent, looker = (Agent(world, VARIABLES) for _ in range(3))
    everyone = keeper, agent, looker
    keeper.do("passcode set ~7")
    keeper.do("circle ~7")
    for line in ("unlock ~7", "classes", "readable"):
        agent.do(line)
    looker.do("readable")
    backup(world)
    # The process that changed the keys opens them only at its next call.
    keeper.do("readable")
    bag, = keybags.stored(world.path("keychain.db")).values()
    device_secret = keybags.device_secret(world.path("device/device.key"))
    keys = bag.keys(device_secret, pattern(7))
    expect(len(keys) == 9, "the passcode opens only", list(keys))
    sync = bag.sync_secrets(device_secret, keys["root"])
    expect(len(sync) == 2 and None not in sync.values(), "the sync secrets are", list(sync))
    never = {name: key for name, key in keys.items() if name != "index"}
    never |= {"passcode": pattern(7)[:32], "end of the passcode": pattern(7)[32:]}
    sub = keybags.subkeys(keys) | sync
    first = {name: key for name, key in sub.items() if name.split("/")[0] in STAYING}
    first["index"] = keys["index"]
    unlocked = {name: key for name, key in sub.items() if name not in first}
    files = {"keychain.db": bag.chain, "the backup": bag.chain}
    check_files(world, never | sub | {"index": keys["index"]}, files)
    for one in everyone:
        check(one, unlocked | first, never, "unlocked")
    keeper.do("lock")
    expect(looker.do("lockstate") == "locked", "the state")
    check(looker, {}, never | unlocked, "locked, and asked for its state only")
    for one in (keeper, agent):
        one.do("readable")
        check(one, first, never | unlocked, "locked")
    keeper.do("lock all")
    expect(looker.do("lockstate") == "beforeFirstUnlock", "the state")
    for one in (keeper, agent):
        one.ask("get x")
    for one in everyone:
        check(one, {}, never | unlocked | first, "before the first unlock")
        one.end()


# Promise: 7.12
@scenario(script=LEAK_TEST)
def after_changing(world):
    """No key of a replaced epoch is in the memory of a process or in a file."""
    keeper, agent = Agent(world, VARIABLES), Agent(world, VARIABLES)
    keeper.do("classes")
    agent.do("readable")
    old = []
    for line in ("passcode set ~7", "passcode change ~7 ~8", "passcode remove ~8"):
        bag, = keybags.stored(world.path("keychain.db")).values()
        secret = keybags.device_secret(world.path("device/device.key"))
        old.append((bag, secret))
        keeper.do(line)
        agent.do("readable")
    gone = {}
    for (bag, secret), passcode in zip(old, (None, pattern(7), pattern(8))):
        keys = bag.keys(secret, passcode)
        expect(len(keys) >= 8, "old keys do not open with the old secrets:", list(keys))
        gone |= {f"epoch {bag.epoch} {name}": key
                 for name, key in (keys | keybags.subkeys(keys)).items()}
        gone[f"device secret of epoch {bag.epoch}"] = secret
    bag, = keybags.stored(world.path("keychain.db")).values()
    now = keybags.subkeys(bag.keys(keybags.device_secret(world.path("device/device.key"))))
    for one in (keeper, agent):
        one.do("readable")
        check(one, now, gone, "after the changes")
        one.end()
    check_files(world, gone)


def check(agent, present, absent, when):
    places = list(memory(agent.pid))
    regions = [data for _, data in places]
    missing = [name for name, key in present.items() if not any(key in data for data in regions)]
    expect(not missing, when, "the search does not find what is in use:", missing)
    halves = {name: (key[:16], key[16:]) for name, key in absent.items()}
    left = [f"{name} at {place}" for name, parts in halves.items()
            for place, data in places if any(part in data for part in parts)]
    expect(not left, when, "in memory there still is:", "; ".join(left))


def backup(world):
    """Creates a backup beside the keychain."""
    outcome = world.run("backup", "create", f"{world.folder}/backup", "--passphrase-fd", "0",
                        input=b"of the backup\n", env=VARIABLES)
    expect(outcome.code == 0, outcome)


def check_files(world, secrets, present=None):
    """Searches all files. `present` has for each file the bytes that the search must find, or
    else it proves nothing."""
    files = world.contents("keychain.db", "keychain.db-wal", "keychain.db-shm")
    if present:
        files["the backup"] = open(f"{world.folder}/backup", "rb").read()
    for file, data in files.items():
        found = [name for name, key in secrets.items()
                 if key[:16] in (data or b"") or key[16:] in (data or b"")]
        expect(not found, file, "holds", found)
    for file, canary in (present or {}).items():
        expect(canary in files[file], "the search finds nothing in", file)
