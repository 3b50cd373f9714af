# SPDX-License-Identifier: Apache-2.0
"""Damaged items during a key change, which are not lost without a message."""

import sqlite3

from passcodes import PASSCODE, do, ends, run
from support import expect, scenario


def secret(world, number, new=None):
    """Replaces the sealed value of an item by `new`, and returns it."""
    world.settle()
    connection = sqlite3.connect(world.path("keychain.db"), isolation_level=None)
    old = connection.execute("SELECT secret FROM item WHERE number = ?", (number,)).fetchone()[0]
    connection.close()
    world.doctored("UPDATE item SET secret = ? WHERE number = ?", new or b"\0" * len(old), number)
    return old


# Promise: 14.11
@scenario
def rotation(world):
    """A key change refuses damaged items until their loss is accepted."""
    world.fill("a", "b", "c")
    whole = secret(world, 1)
    before = world.contents("device/device.key")
    for words in (("rotate",), ("device", "bind", "--own-file", "--lower")):
        ends(65, world.run(*words), "1 item is damaged", "--skip-damaged", "valet doctor")
    ends(65, run(world, "passcode", "set", lines=[PASSCODE]), "1 item is damaged")
    expect(world.contents("device/device.key") == before, "the device key changed")
    expect("erase.pending" not in world.names(), "a change was begun")
    ends(65, world.run("get", "a"))
    secret(world, 1, whole)
    world.check("a", "b", "c")

    secret(world, 1)
    secret(world, 2)
    ends(65, world.run("rotate"), "2 items are damaged")
    ends(0, world.run("rotate", "--skip-damaged"), "2 damaged items were set aside",
         "the keychain has new keys")
    for key in ("a", "b"):
        ends(44, world.run("get", key), f"no '{key}'", "2 damaged items were set aside")
    world.check("c")
    expect("new items replaced them, or the keys changed" in world.doctor(), "doctor")
    outcome = world.run("rotate")
    expect(outcome.code == 0 and "set aside" not in outcome.err, outcome)
    world.fill("a")
    world.check("a", "c")


# Promise: 14.11
@scenario
def recovery(world):
    """A recovery reports how many damaged items it has set aside.

    Unlike a rotation, it is not refused."""
    world.fill("a", "b")
    key = do(world, "recovery", "create").out.decode().strip()
    secret(world, 1)
    outcome = do(world, "recovery", "use", "--yes", lines=[key], option="--recovery-key-fd")
    ends(0, outcome, "every item comes back", "1 damaged item was set aside")
    ends(44, world.run("get", "a"), "1 damaged item was set aside")
    world.check("b")
