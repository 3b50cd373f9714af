# SPDX-License-Identifier: Apache-2.0
"""Folders that are replaced while programs have the keychain open: the programs go on with the
folder at the path and no other."""

import ctypes
import os
import shutil
import subprocess
import threading
import time

from faults import stops_in_time
from kills import CHANGING, calls, chosen
from stops import go_on
from support import AGENT_ITEMS, COMMAND, EVERY_USER, expect, scenario

# A read may be 100 ms behind; a busy machine needs some time for the next one.
STALE = 0.15


def exchange(one, other):
    """Exchanges two paths in one step."""
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.renameat2(-100, one.encode(), -100, other.encode(), 2)  # RENAME_EXCHANGE
    expect(done == 0, "renameat2:", os.strerror(ctypes.get_errno()))


def backup(world):
    """Returns a copy of the keychain in which `key` is `old`; at the path it is `new` then."""
    world.set("key", "old", *AGENT_ITEMS)
    world.settle()
    copy = f"{world.home}-copy"
    shutil.copytree(world.home, copy)
    world.set("key", "new", *AGENT_ITEMS)
    return copy


def moved_away(world, copy):
    """`mv home home-gone; cp -a copy home`."""
    gone = f"{world.home}-gone"
    os.rename(world.home, gone)
    shutil.copytree(copy, world.home)
    return gone


def bytes_of(folder):
    """Returns the contents of the files in a folder and when they were changed."""
    names = ("keychain.db", "keychain.db-wal", "device/device.key")
    found = {}
    for name in names:
        path = f"{folder}/{name}"
        if os.path.exists(path):
            found[name] = (open(path, "rb").read(), os.stat(path).st_mtime_ns)
    return found


def open_files(agent, folder):
    paths = []
    for number in os.listdir(f"/proc/{agent.pid}/fd"):
        try:
            paths.append(os.readlink(f"/proc/{agent.pid}/fd/{number}"))
        except FileNotFoundError:
            continue
    return [path for path in paths if path == folder or path.startswith(folder + "/")]


# Promise: 2.3
@scenario(users=EVERY_USER)
def writers(world):
    """Running programs write into the folder that replaced their keychain's folder."""
    copy = backup(world)
    agents = [world.agent() for _ in range(2)]
    for index, agent in enumerate(agents):
        agent.do(f"set before-{index} x")
        expect(agent.do("get key") == "new", "before")
    gone = moved_away(world, copy)
    before = bytes_of(gone)
    for number in range(6):
        agent = agents[number % 2]
        agent.do(f"set after-{number} x")
        expect(agent.do(f"get after-{number}") == "x", "its own write")
        expect(world.get(f"after-{number}", *AGENT_ITEMS) == "x", "at the path")
        expect(agent.do("get key") == "old", "what is at the path")
    expect(bytes_of(gone) == before, "something was written where the folder went")
    for agent in agents:
        for number in range(6):
            expect(agent.do(f"get after-{number}") == "x", "another's write")
        expect(open_files(agent, gone) == [], "still open:", open_files(agent, gone))
        agent.end()
    world.doctor()


# Promise: 13.7
@scenario
def readers(world):
    """Running programs read the folder that replaced their keychain's folder."""
    copy = backup(world)
    agent = world.agent()
    expect(agent.do("get key") == "new", "before")
    for folder, value in ((copy, "old"), (f"{world.home}-2", "new")):
        if not os.path.exists(folder):
            shutil.copytree(copy, folder)
            exchange(copy, world.home)
        exchange(folder, world.home)
        time.sleep(STALE)
        found = agent.do("get key")
        now = world.get("key", *AGENT_ITEMS)
        expect(found == now, f"{found!r} is read, and {now!r} is there")
    agent.end()


# Promise: 2.3
@scenario
def other_lock(world):
    """The writers' lock of a replaced folder counts, not the lock of the folder before."""
    copy = backup(world)
    agent, holder = world.agent(), world.agent()
    agent.do("set before x")
    gone = moved_away(world, copy)
    holder.do(f"hold {world.home}")
    before = [bytes_of(folder) for folder in (gone, world.home)]
    answer = agent.ask("set after x")
    expect(answer.startswith("error timedOut"), answer)
    expect([bytes_of(folder) for folder in (gone, world.home)] == before, "written all the same")
    holder.do("release")
    agent.do("set after x")
    expect(world.get("after", *AGENT_ITEMS) == "x", "at the path")
    holder.end()
    agent.end()
    world.doctor()


# Promise: 2.3
@scenario(users=EVERY_USER)
def other_keychain(world):
    """A process never mixes a keychain with the one that replaces it."""
    home = world.home
    world.home = f"{home}-other"
    world.set("key", "other", *AGENT_ITEMS)
    world.set("theirs", "x", *AGENT_ITEMS)
    world.home = home
    world.set("key", "own", *AGENT_ITEMS)
    world.set("ours", "x", *AGENT_ITEMS)
    agent = world.agent()
    agent.do("set key own")
    for key in ("key", "ours"):
        agent.do(f"get {key}")
    for turn in range(4):
        exchange(home, f"{home}-other")
        own, key = (("ours", "own"), ("theirs", "other"))[turn % 2 == 0]
        # In half of the turns a write is the first call after the exchange, and else a read.
        if turn < 2:
            agent.do(f"set turn-{turn} x")
        else:
            time.sleep(STALE)
        expect(agent.do("get key") == key, "turn", turn, agent.do("get key"))
        keys = set(agent.do("keys").split())
        expect(own in keys and len(keys & {"ours", "theirs"}) == 1, keys)
        agent.do(f"set turn-{turn} x")
        agent.do("threads t 20")
        expect(world.get(f"turn-{turn}", *AGENT_ITEMS) == "x", "at the path")
        world.doctor()
    agent.end()


# Promise: 2.3
@scenario
def link_above(world):
    """Switching a symbolic link above the keychain's folder replaces the folder."""
    links = f"{world.folder}/link"
    for name in ("one", "two"):
        os.mkdir(f"{world.folder}/{name}")
        world.home = f"{world.folder}/{name}/home"
        world.set("key", name, *AGENT_ITEMS)
    os.symlink("one", links)
    world.home = f"{links}/home"
    agent, reader = world.agent(), world.agent()
    agent.do("set before x")
    expect(reader.do("get key") == "one", "before")
    os.symlink("two", f"{links}-new")
    os.rename(f"{links}-new", links)
    before = bytes_of(f"{world.folder}/one/home")
    agent.do("set after x")
    expect(agent.do("get key") == "two", "who writes")
    time.sleep(STALE)
    expect(reader.do("get key") == "two", "who reads")
    expect(world.get("after", *AGENT_ITEMS) == "x", "at the path")
    expect(bytes_of(f"{world.folder}/one/home") == before, "written where the link led")
    agent.end()
    reader.end()
    world.doctor()


# Promise: 13.7
@scenario
def vanished(world):
    """A keychain whose folder is gone is created anew by the next write."""
    agent = world.agent()
    agent.do("set key x")
    agent.do("get key")
    shutil.rmtree(world.home)
    time.sleep(STALE)
    expect(agent.ask("get key").startswith("error itemNotFound"), "read after it was gone")
    expect(not os.path.exists(world.home), "made by reading")
    agent.do("set key y")
    expect(world.get("key", *AGENT_ITEMS) == "y", "at the path")
    expect(agent.do("get key") == "y", "its own write")
    agent.end()
    world.doctor()


# Promise: 13.7
@scenario
def under_load(world):
    """Every acknowledged write is in the folder that was in place at that time."""
    copy = backup(world)
    agents = [world.agent() for _ in range(2)]
    turns = 12 if world.is_thorough else 4
    records, stop = [[] for _ in agents], threading.Event()

    def write(agent, record, name):
        index = 0
        while not stop.is_set():
            begin = time.monotonic()
            answer = agent.ask(f"set {name}-{index} x")
            record.append((f"{name}-{index}", begin, time.monotonic(), answer))
            index += 1

    threads = [
        threading.Thread(target=write, args=(agent, record, f"w{number}"))
        for number, (agent, record) in enumerate(zip(agents, records))]
    for thread in threads:
        thread.start()
    # Each exchange falls between two moments.
    before, after = [], []
    for _ in range(turns):
        time.sleep(0.3)
        before.append(time.monotonic())
        exchange(copy, world.home)
        after.append(time.monotonic())
    time.sleep(0.3)
    stop.set()
    for thread in threads:
        thread.join()
    for record in records:
        bad = [entry for entry in record if not entry[3].startswith("ok")]
        expect(not bad, "refused:", bad[:3])
    here = set(world.agent().do("keys").split())
    exchange(copy, world.home)
    there = set(world.agent().do("keys").split())
    exchange(copy, world.home)
    places = [here, there] if turns % 2 == 0 else [there, here]
    lost = []
    for key, begin, end, _ in (entry for record in records for entry in record):
        first = sum(moment <= begin for moment in after)
        last = sum(moment <= end for moment in before)
        if not any(key in places[turn % 2] for turn in range(first, last + 1)):
            lost.append((key, first, last))
    count = sum(map(len, records))
    expect(not lost, f"{len(lost)} of {count} are not where they were acknowledged:", lost[:5])
    expect(count > 20 * turns, "hardly anything was written:", count)
    for agent in agents:
        agent.end()
    world.doctor()
    print(f"{count} writes, {turns} times replaced")


# Promise: 13.7
@scenario
def device_folder(world):
    """The folder of the device key is replaced together with the database's or after it."""
    names = {"VALET_HOME": None, "XDG_DATA_HOME": f"{world.folder}/data",
             "XDG_STATE_HOME": f"{world.folder}/state"}
    for place in ("one", "two"):
        for name in ("data", "state"):
            os.makedirs(f"{world.folder}/{name}")
        outcome = world.run("set", "key", *AGENT_ITEMS, input=place.encode(), env=names)
        expect(outcome.code == 0, outcome)
        for name in ("data", "state"):
            os.rename(f"{world.folder}/{name}", f"{world.folder}/{name}-{place}")
    for name in ("data", "state"):
        os.rename(f"{world.folder}/{name}-one", f"{world.folder}/{name}")
    agent = world.agent(env=names)
    expect(agent.do("get key") == "one", "before")
    agent.do("set key one")
    exchange(f"{world.folder}/data", f"{world.folder}/data-two")
    # The matching device key is not in place yet: nothing is read or written under another one.
    expect(agent.ask("set key x").startswith("error keyUnavailable"), "with another device key")
    exchange(f"{world.folder}/state", f"{world.folder}/state-two")
    expect(agent.do("get key") == "two", "after")
    agent.do("set key three")
    outcome = world.run("get", "key", *AGENT_ITEMS, env=names)
    expect(outcome.out == b"three", outcome)
    agent.end()


def run_moved(world, call, words, input=b"", replace=lambda: None):
    """Runs a command that is stopped after a system call. Then its folder is moved to `gone`, and
    `replace` is called. Returns the outcome, and whether the command was stopped."""
    log, gone, was_stopped = f"{world.folder}/trace", f"{world.home}-gone", False
    open(log, "w").close()
    process = world.start(
        ["strace", "-f", "-o", log, "-e", f"trace={call[0]}", "-e",
         f"inject={call[0]}:signal=STOP:when={call[1]}", COMMAND, *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(input)
    process.stdin.close()
    process.stdin = None
    if stops_in_time(process, log):
        was_stopped = os.path.exists(world.home)
        if was_stopped:
            os.rename(world.home, gone)
            replace()
        go_on(process.pid)
    return world.finish(process, words=words), was_stopped


def at(world, folder, *words, **options):
    return world.run(*words, env={"VALET_HOME": folder}, **options)


# Promise: 2.3, 13.5
@scenario
def key_change(world):
    """A key change whose folder is moved at one of its system calls leaves the folder that was
    moved and the one that took its place with the device key that each needs."""
    copy, gone, template = backup(world), f"{world.home}-gone", f"{world.home}-template"
    shutil.copytree(world.home, template)
    every = [call for call in calls(world, "rotate", input=b"") if call[0] in CHANGING]
    count = 0
    for call in chosen(world, every, 24):
        for folder in (world.home, gone):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(template, world.home)
        outcome, was_stopped = run_moved(
            world, call, ["rotate"], replace=lambda: shutil.copytree(copy, world.home))
        expect(outcome.code == 0, f"moved at {call}:", outcome)
        if not was_stopped:
            continue
        count += 1
        for folder, value in ((world.home, b"old"), (gone, b"new")):
            for words in (("get", "key"), ("rotate",), ("get", "key")):
                outcome = at(world, folder, *words, *(AGENT_ITEMS if words[0] == "get" else ()))
                expect(outcome.code == 0, f"moved at {call}, then {words} in {folder}:", outcome)
                expect(words[0] != "get" or outcome.out == value, folder, outcome)
            expect(not any(name.startswith("device.key.")
                           for name in os.listdir(f"{folder}/device")), folder, call)
    expect(count > 10, "hardly any call was met:", count)


# Promise: 2.3, 13.3
@scenario
def creation(world):
    """A keychain whose folder is moved while it is created is complete there, or can be made."""
    gone, home = f"{world.home}-gone", world.home
    world.home = f"{home}-traced"
    every = calls(world, "set", "key", *AGENT_ITEMS, input=b"x")
    world.home, count = home, 0
    for call in chosen(world, [call for call in every if call[0] in CHANGING], 24):
        for folder in (world.home, gone):
            shutil.rmtree(folder, ignore_errors=True)
        outcome, was_stopped = run_moved(world, call, ["set", "key", *AGENT_ITEMS], input=b"x")
        # The folder may be gone between its making and its opening.
        expect(outcome.code == 0 or outcome.code == 1 and "error" in outcome.err,
               f"moved at {call}:", outcome)
        count += was_stopped
        found = [at(world, folder, "get", "key", *AGENT_ITEMS).code
                 for folder in (world.home, gone) if os.path.exists(folder)]
        expect(outcome.code or 0 in found, f"moved at {call}, and lost:", found)
        expect(set(found) <= {0, 44}, f"moved at {call}:", found)
        for folder in (world.home, gone):
            if os.path.exists(folder):
                outcome = at(world, folder, "set", "later", *AGENT_ITEMS, input=b"y")
                expect(outcome.code == 0, f"moved at {call}, then set in {folder}:", outcome)
    expect(count > 10, "hardly any call was met:", count)


# Promise: 2.3
@scenario
def while_opening(world):
    """A database is never opened with the log of the folder that it replaces."""
    home = world.home
    world.home = f"{home}-other"
    for number in range(3):
        world.set(f"theirs-{number}", "x" * 5000, *AGENT_ITEMS)
    world.home = home
    world.set("key", "own", *AGENT_ITEMS)
    agents = [world.agent() for _ in range(4)]
    begin, turn = time.monotonic(), 0
    seconds = 20 if world.is_thorough else 3
    while time.monotonic() < begin + seconds:
        for agent in agents:
            agent.tell("keys" if turn % 3 else "set mine x")
        for _ in range(5):
            exchange(home, f"{home}-other")
        for agent in agents:
            answer = agent.answer()
            keys = set(answer.split())
            # If the folders are exchanged twice in between, the device key may be the other one,
            # or the call meets another keychain a second time.
            if not (answer.startswith("error keyUnavailable") or "was replaced" in answer):
                expect(answer.startswith("ok"), answer)
            expect(not ("key" in keys and "theirs-0" in keys), "of both:", keys)
            agent.do("close")
        turn += 1
    for agent in agents:
        agent.end()
    for _ in range(2):
        world.doctor()
        exchange(home, f"{home}-other")
    print(f"{turn} rounds")
