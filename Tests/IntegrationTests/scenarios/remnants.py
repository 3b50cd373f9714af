# SPDX-License-Identifier: Apache-2.0
"""What old keys leave on the disk: spec/keys-and-states.md §8, cases 3 and 4."""

import os
import shutil
import sqlite3
import subprocess

import keybags
from support import Agent, expect, mount, need, private_mounts, scenario

VARIABLES = {"VALET_LOCK_STATE": "process"}


def small_disk(world):
    """Mounts an ext4 file system from a file, so that all of its blocks can be read."""
    private_mounts()
    need("mkfs.ext4")
    image = f"{world.folder}/image"
    with open(image, "wb") as file:
        file.truncate(48 << 20)
    # Without lazy initialisation the free blocks are zero at the beginning.
    subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", image],
                   check=True)
    os.mkdir(world.home)
    mount("-o", "loop", image, world.home)
    os.chmod(world.home, 0o700)
    return image


# Promise: 8.1, 8.2
@scenario
def on_disk(world):
    """Old keys leave nothing on the disk that opens a key in use."""
    image = small_disk(world)
    agent = Agent(world, VARIABLES)
    agent.do("classes")
    agent.do("fill 200")
    secrets, bags = [device_secret(world)], [seen(world)]
    for line in ("passcode set one", "classes", "passcode change one two", "rotate two",
                 "rotate two"):
        agent.do(line)
        if line != "classes":
            secrets.append(device_secret(world))
            bags.append(seen(world))
    expect("erase=false" in agent.do("state"), agent.do("state"))
    newest = bags.pop()
    current = newest.keys(secrets[-1], b"two")
    expect(len(current) == 9, "the current keys do not open:", len(current))
    for name in ("keychain.db", "keychain.db-wal", "keychain.db-shm"):
        old = keybags.carve(world.contents(name)[name] or b"", newest.chain)
        expect(all(bag.epoch == 5 for bag in old), name, [bag.epoch for bag in old])
    agent.do("close")
    agent.end()
    subprocess.run(["sync", "-f", world.home], check=True)
    os.system(f"umount {world.home}")
    check_image(open(image, "rb").read(), secrets, bags, newest, set(current.values()))


def check_image(data, secrets, bags, newest, current):
    expect(secrets[-1] in data, "the search finds not even the device secret in use")
    expect(not any(secret in data for secret in secrets[:-1]), "an old device secret is left")
    remnants = keybags.carve(data, newest.chain)
    expect(any(bag.epoch == 5 for bag in remnants), "the search finds not even the keybag in use")
    old, opened = [bag for bag in remnants if bag.epoch < 5] + bags, {}
    for bag in old:
        for passcode in (b"one", b"two"):
            for key in bag.keys(secrets[-1], passcode).values():
                opened[key] = bag.epoch
    expect(not current & set(opened), "an old keybag opens a key in use")
    expect(not opened, "keybags open of epochs", set(opened.values()))
    print(f"{len(remnants)} keybags on the disk, of epochs {sorted(b.epoch for b in remnants)}")


def device_secret(world):
    return keybags.device_secret(world.path("device/device.key"))


def seen(world):
    """Returns the only keybag in the database."""
    bag, = keybags.stored(world.path("keychain.db")).values()
    return bag


# Promise: 8.1
@scenario
def idle_reader(world):
    """Old keys are erased when the last reader of older rows has gone."""
    agent = Agent(world, VARIABLES)
    agent.do("classes")
    reader = sqlite3.connect(world.path("keychain.db"), isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM item").fetchone()
    agent.do("rotate")
    state = agent.do("state")
    expect("epoch=2 erase=true" in state, "with a reader:", state)
    expect(os.path.exists(world.path("erase.pending")), "no marker")
    expect(len(os.listdir(world.path("device"))) == 2, "the old device key is gone too early")
    reader.execute("COMMIT")
    reader.close()
    agent.do("set a later")
    expect("erase=false" in agent.do("state"), "after the reader has gone:", agent.do("state"))
    expect(os.listdir(world.path("device")) == ["device.key"], os.listdir(world.path("device")))
    agent.end()
    world.doctor()


# Promise: 8.5
@scenario
def removed_passcode(world):
    """After a passcode is removed, old copies open nothing that needed it."""
    agent = Agent(world, VARIABLES)
    agent.do("passcode set one")
    agent.do("classes")
    copies = f"{world.folder}/copies"
    shutil.copytree(world.home, copies)
    agent.do("passcode remove one")
    agent.do("close")
    agent.end()
    old, = keybags.stored(f"{copies}/keychain.db").values()
    new = seen(world)
    secrets = [keybags.device_secret(f"{copies}/device/device.key"), device_secret(world)]
    expect(secrets[0] != secrets[1], "the device key is the old one")
    expect("akpu" in old.keys(secrets[0], b"one"), "not even the old passcode opens the old copy")
    for secret in secrets:
        for passcode in (None, b"", b"other"):
            expect(old.keys(secret, passcode) == {}, "the copy opens without the old passcode")
    opened = new.keys(secrets[1])
    expect(set(opened) == {"root", "index", "ak", "ck", "dk", "aku", "cku", "dku"}, set(opened))
    data = open(world.path("keychain.db"), "rb").read()
    expect(old.records[0x0207][1:17] not in data, "a row still names the key that is gone")


@scenario
def idle_program(world):
    """An idle program does not keep old keys on the disk."""
    idle = Agent(world, VARIABLES)
    idle.do("classes")
    idle.do("readable")
    agent = Agent(world, VARIABLES)
    agent.do("rotate")
    expect("erase=false" in agent.do("state"), agent.do("state"))
    expect(len(idle.do("readable").split()) == 6, "the program beside it does not read on")
    for one in (idle, agent):
        one.end()
