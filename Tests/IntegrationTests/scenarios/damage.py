# SPDX-License-Identifier: Apache-2.0
"""Keychains with changed bytes, cut files, or the format of a later version."""

import os
import random
import shutil
import sqlite3

from support import CRASH_TEST, expect, scenario

KEYS = tuple(f"key{index}" for index in range(12))
# Errors that a call on a damaged keychain may return.
ANSWERS = {"damaged", "keychainDamaged", "incomplete", "newerFormat", "keyUnavailable",
           "inputOutput"}
# Also, if `doctor` finds damage, for somebody who makes checksums fit.
FORGED = ANSWERS | {"itemNotFound"}
# Columns without authentication: a new stamp only makes readers read again, and the others order
# changes.
UNPROTECTED = {"stamp", "change_number", "logical_time"}


def prepare(world):
    """Creates a keychain whose every byte is in the database file, and a copy of it."""
    agent = world.agent()
    for key in KEYS:
        agent.do(f"set {key} value-of-{key}")
    for index in range(4):
        agent.do(f"label labelled{index} label{index}")
    agent.end()
    world.fill("one", "two")
    world.settle()
    shutil.copytree(world.home, world.home + "-whole")


def restore(world):
    shutil.rmtree(world.home)
    shutil.copytree(world.home + "-whole", world.home)


def examine(world, what, answers=ANSWERS):
    """Reads every item: each is right or refused. Returns whether all were right."""
    agent = world.agent()
    is_whole = True
    missing = []
    for key in KEYS:
        answer = agent.ask(f"get {key}")
        if answer == f"ok value-of-{key}":
            continue
        expect(not answer.startswith("ok"), f"{what}: wrong bytes for {key}: {answer}")
        code = answer.split()[1]
        expect(code in answers, f"{what}: get: {answer}")
        is_whole = False
        if code == "itemNotFound":
            missing.append(key)
    answer = agent.ask("keys")
    if answer.startswith("ok"):
        strange = set(answer.split()[1:]) - set(KEYS)
        expect(not strange, f"{what}: keys that nobody stored: {strange}")
        is_whole &= set(answer.split()[1:]) == set(KEYS)
    else:
        expect(answer.split()[1] in ANSWERS - {"itemNotFound"}, f"{what}: keys: {answer}")
        is_whole = False
    agent.end()
    outcome = world.run("doctor")
    expect(outcome.code in (0, 1, 65), f"{what}: doctor: {outcome}")
    expect(is_whole or outcome.code != 0, f"{what}: doctor sees nothing; missing: {missing}")
    return is_whole, outcome


def command_copes(world, what, answers=ANSWERS):
    codes = (0, 1, 44, 65) if answers is FORGED else (0, 1, 65)
    for verb in (["get", "one"], ["list"], ["status"], ["contains", "two"],
                 ["remove", "one", "--yes"], ["set", "one"]):
        outcome = world.run(*verb, input=b"value of one")
        expect(outcome.code in codes, f"{what}: {verb}: {outcome}")
        is_answer = outcome.code == 0 or (verb[0] == "contains" and outcome.code == 44)
        expect(is_answer or outcome.err.startswith("valet: error: "), what, verb, outcome)
        if verb == ["get", "one"] and outcome.code == 0:
            expect(outcome.out == b"value of one", f"{what}: wrong bytes: {outcome}")


def table(path):
    """Returns what plain SQLite reads from a database; None if it finds damage."""
    connection = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    connection.text_factory = bytes
    try:
        found = {}
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'"):
            name = name.decode()
            columns = [row[1].decode() for row in connection.execute(f"PRAGMA table_info({name})")]
            kept = [column for column in columns if column not in UNPROTECTED]
            found[name] = sorted(
                repr(row) for row in connection.execute(f"SELECT {', '.join(kept)} FROM {name}"))
        is_sound = list(connection.execute("PRAGMA integrity_check")) == [(b"ok",)]
        return found if is_sound else None
    except (sqlite3.Error, UnicodeDecodeError):
        return None
    finally:
        connection.close()


# Promise: 14.5
@scenario(script=CRASH_TEST)
def flipped_byte(world):
    """A flipped bit in the database gives right values or errors, and valet doctor finds it."""
    prepare(world)
    whole = table(world.path("keychain.db"))
    expect(whole, "the sample is damaged")
    byte_count = os.path.getsize(world.path("keychain.db"))
    generator = random.Random(os.environ.get("VALET_TEST_SEED", "1"))
    # Of the header, always the schema's format, which SQLite reports as a wrong statement.
    chosen = [*range(0, 100, 1 if world.is_thorough else 19), 44, 47]
    for page in range(1, byte_count // 4096):
        chosen += [4096 * page + offset for offset in (0, 3, 5, 9)]
    chosen += generator.sample(range(byte_count), 3_000 if world.is_thorough else 25)
    seen = 0
    for index, offset in enumerate(chosen):
        restore(world)
        flip(world.path("keychain.db"), offset, 1 << generator.randrange(8))
        is_changed = table(world.path("keychain.db")) != whole
        what = f"byte {offset}"
        _, outcome = examine(world, what)
        expect(not is_changed or outcome.code != 0, f"{what}: doctor sees nothing")
        seen += outcome.code != 0
        if index % 5 == 0:
            command_copes(world, what)
    print(f"{len(chosen)} bytes of {byte_count}; doctor saw {seen}")


def flip(path, offset, mask):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ mask]))


# Promise: 1.6
@scenario
def changed_cell(world):
    """valet doctor finds a changed cell that SQLite takes for valid.

    The checksum of its page fits."""
    prepare(world)
    for name, columns in cells(world.path("keychain.db")):
        for column in columns:
            restore(world)
            what = f"{name}.{column}"
            # The table of search entries has no row number.
            key = "hash" if name == "attribute" else "rowid"
            world.doctored(
                f"UPDATE OR REPLACE {name} SET {column} = CASE typeof({column}) "
                f"WHEN 'integer' THEN {column} + 1 "
                f"WHEN 'blob' THEN zeroblob(length({column})) ELSE x'01' END "
                f"WHERE {key} = (SELECT max({key}) FROM {name})")
            _, outcome = examine(world, what, FORGED)
            expect(outcome.code != 0, f"{what}: doctor sees nothing")
            command_copes(world, what, FORGED)
    restore(world)
    world.doctored("DELETE FROM attribute WHERE hash = (SELECT min(hash) FROM attribute)")
    _, outcome = examine(world, "a search entry deleted", FORGED)
    expect(outcome.code == 65, "a search entry deleted: doctor sees nothing")


def cells(path):
    connection = sqlite3.connect(path)
    found = []
    for name in ("keychain", "keybag", "place", "item", "attribute"):
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
        found.append((name, [column for column in columns if column not in UNPROTECTED]))
    connection.close()
    return found


# Promise: 1.8
@scenario
def plain_sqlite(world):
    """Plain SQLite may read a keychain and checkpoint its log; what it changes is damage."""
    agent = world.agent()
    for key in KEYS:
        agent.do(f"set {key} value-of-{key}")
    agent.process.kill()
    agent.process.wait()
    path = world.path("keychain.db")
    log = open(path + "-wal", "rb").read()
    expect(log[32:36] != b"\0" * 4, "the log is empty")
    connection = sqlite3.connect(path, isolation_level=None)
    (count,), = connection.execute("SELECT count(*) FROM item").fetchall()
    connection.close()
    expect(count >= len(KEYS), count)
    expect(not os.path.exists(path + "-wal"), "it has not checkpointed the log")
    is_whole, outcome = examine(world, "after plain SQLite")
    expect(is_whole and outcome.code == 0, outcome)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE item SET logical_time = logical_time + 1")
    connection.close()
    is_whole, outcome = examine(world, "after a change by plain SQLite")
    expect(not is_whole and outcome.code == 65, outcome)
    # The rows are sound.
    expect(world.run("doctor", "--repair-indexes").code == 0, "repair")
    is_whole, outcome = examine(world, "after a repair")
    expect(is_whole and outcome.code == 0, outcome)


# Promise: 14.5
@scenario(script=CRASH_TEST)
def damaged_device_key(world):
    """A damaged device key is refused, and every item returns with the right one."""
    world.fill("one", "two")
    path = world.path("device/device.key")
    whole = open(path, "rb").read()
    expect(len(whole) == 122, "device.key has", len(whole), "bytes")
    step = 1 if world.is_thorough else 4
    cases = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:] for at in range(0, 122, step)]
    cases += [whole[:length] for length in range(0, 122, 5 * step)] + [whole + b"\0", whole * 2]
    before = world.contents("keychain.db", "keychain.db-wal")
    for number, contents in enumerate(cases):
        with open(path, "r+b") as file:
            file.write(contents)
            file.truncate()
        for verb in (["get", "one"], ["set", "one"]):
            outcome = world.run(*verb, input=b"other")
            expect(outcome.code in (1, 65) and "device key" in outcome.err + outcome.out.decode()
                   or "newer" in outcome.err, number, verb, outcome)
    expect(world.run("doctor").code != 0, "doctor sees nothing")
    expect(world.contents("keychain.db", "keychain.db-wal") == before, "something was written")
    with open(path, "r+b") as file:
        file.write(whole)
        file.truncate()
    world.check("one", "two")
    world.doctor()


# Promise: 14.5
@scenario(script=CRASH_TEST)
def cut_database(world):
    """A database that was cut gives right values or errors, and valet doctor finds it."""
    prepare(world)
    whole = table(world.path("keychain.db"))
    byte_count = os.path.getsize(world.path("keychain.db"))
    lengths = {1, 15, 16, 99, 100, 4095, 4096, 4097, byte_count - 4096, byte_count - 1}
    lengths |= set(range(8192, byte_count, 4096 if world.is_thorough else 16384))
    for length in sorted(lengths):
        restore(world)
        os.truncate(world.path("keychain.db"), length)
        _, outcome = examine(world, f"cut to {length}")
        expect(outcome.code != 0 or table(world.path("keychain.db")) == whole,
               f"cut to {length}: doctor sees nothing")
        command_copes(world, f"cut to {length}")


# Promise: 14.13
@scenario
def newer_format(world):
    """A newer format is refused as newer, or as damaged if the keybag does not confirm it."""
    world.fill("one")
    world.settle()
    shutil.copytree(world.home, world.home + "-whole")
    for change, is_newer in (
            ("format = 2", True), ("min_reader = 2", True), ("features = 1", True),
            ("features = 1 << 31", True), ("format = 2, min_reader = 2, min_writer = 2", True),
            ("min_writer = 2", False), ("features = 1 << 32", False), ("epoch = 2", False),
            ("keychain_id = zeroblob(16)", False), ("format = 0", False), ("epoch = 0", False)):
        restore(world)
        world.doctored(f"UPDATE keychain SET {change}")
        before = world.contents("keychain.db")
        for verb in (["get", "one"], ["list"], ["set", "one"], ["remove", "one", "--yes"]):
            outcome = world.run(*verb, input=b"other")
            if is_newer:
                expect(outcome.code == 1 and "newer" in outcome.err, change, verb, outcome)
                expect("update this program" in outcome.err, change, verb, outcome)
            else:
                expect(outcome.code == 65, change, verb, outcome)
        expect(world.run("doctor").code == (1 if is_newer else 65), change, "doctor")
        expect(world.contents("keychain.db") == before, change, "something was written")
