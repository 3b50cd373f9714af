# SPDX-License-Identifier: Apache-2.0
"""Programs that close every descriptor from 3 on, as daemons do: the keychain says so, and files that
take the numbers are left alone."""

import os
import time

from support import AGENT_ITEMS, expect, scenario

# Long enough for a busy machine, and shorter than any deadline.
LIMIT = 4
WORDS = "this program has closed descriptors of its keychain"
# For so long a read may use what was open.
MOMENT = 0.15


def used(world, verbs):
    agent = world.agent()
    for verb in verbs:
        agent.do({"set": "set key value", "get": "get key"}[verb])
    return agent


def refuses(agent, *lines):
    """Checks that each call fails in words, without a delay, and says what to do."""
    for line in lines:
        begin = time.monotonic()
        answer = agent.ask(line)
        seconds = time.monotonic() - begin
        expect(answer.startswith("error inputOutput") and WORDS in answer, line, "answered", answer)
        expect(seconds < LIMIT, f"{line} took {seconds:.1f} s")
    hint = agent.do("app hint")
    expect("after becoming a daemon" in hint, "hint:", hint)


# Promise: 17.6
@scenario
def closed(world):
    """A program that has closed all its descriptors is told so by every call."""
    world.set("key", "value", *AGENT_ITEMS)
    for verbs in (["get"], ["set"], ["set", "get"], ["get", "set", "get"]):
        agent = used(world, verbs)
        for turn in range(2):
            count = int(agent.do("closefrom 3"))
            expect(count > 2 or turn, "nothing was open:", count)
            time.sleep(MOMENT)
            refuses(agent, "get key", "set key other", "keys", "remove key", "get key")
        agent.end()
        expect(world.get("key", *AGENT_ITEMS) == "value", "changed by", verbs)
    world.doctor()


# Promise: 17.6
@scenario
def closed_before(world):
    """A program that closes all its descriptors before it uses the keychain can use it."""
    world.set("key", "value", *AGENT_ITEMS)
    agent = world.agent()
    agent.do("bundle")
    agent.do("closefrom 3")
    expect(agent.do("get key") == "value", "reading")
    agent.do("set first x")
    expect(world.get("first", *AGENT_ITEMS) == "x", "written first")
    agent.end()
    world.doctor()


# Promise: 2.7
@scenario
def closed_before_a_write(world):
    """A write right after its program has closed all descriptors writes nothing, nowhere."""
    world.set("key", "value", *AGENT_ITEMS)
    for verbs in (["get"], ["set", "get"]):
        agent = used(world, verbs)
        agent.do("closefrom 3")
        refuses(agent, "set key other")
        agent.end()
        expect(world.get("key", *AGENT_ITEMS) == "value", "changed by", verbs)
    world.doctor()


# Promise: 2.5
@scenario
def without_streams(world):
    """No file of the keychain becomes a standard stream of a program that has none."""
    for streams in (">&-", "2>&-", ">&- 2>&-"):
        world.set("key", "value", *AGENT_ITEMS)
        agent = world.agent(prefix=("sh", "-c", f'exec "$0" "$@" {streams}'))
        agent.do("bundle")
        numbers = [number for number in (1, 2)
                   if not os.path.lexists(f"/proc/{agent.pid}/fd/{number}")]
        expect(numbers, "nothing is closed")
        for line in ("get key", "set key value", "keys", "app keywatch ak", "threads t 8",
                     "close", "get key", "remove key"):
            agent.do(line)
            for number in numbers:
                path = f"/proc/{agent.pid}/fd/{number}"
                # SQLite opens /dev/null there, and its own files above.
                taken = os.path.lexists(path) and os.readlink(path)
                expect(taken in (False, "/dev/null"), line, f"took {number} for {taken}")
        agent.end()
    for streams in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        outcome = world.run("set", "other", *AGENT_ITEMS, input=b"x",
                            prefix=("sh", "-c", f'exec "$0" "$@" {streams}'))
        expect(outcome.code >= 0, outcome)
    world.doctor()


# Promise: 17.6
@scenario
def closed_in_part(world):
    """A program that closes some of its descriptors is told so, or goes on with the keychain."""
    world.set("key", "value", *AGENT_ITEMS)
    agent = used(world, ["get", "set", "get"])
    numbers = sorted(int(name) for name in os.listdir(f"/proc/{agent.pid}/fd"))
    agent.end()
    refused = 0
    for first in numbers:
        if first < 3:
            continue
        agent = used(world, ["get", "set", "get"])
        agent.do(f"closefrom {first}")
        time.sleep(MOMENT)
        answer = agent.ask(f"set from-{first} x")
        if answer.startswith("ok"):
            expect(world.get(f"from-{first}", *AGENT_ITEMS) == "x", "not written", first)
            expect(agent.do("get key") == "value", "read after", first)
        else:
            refused += 1
            expect(answer.startswith("error inputOutput") and WORDS in answer, first, answer)
            refuses(agent, "get key", "set key other", "keys")
        agent.end()
        expect(world.get("key", *AGENT_ITEMS) == "value", "changed after", first)
        world.doctor()
    expect(refused >= 3, "refused only", refused)


# Promise: 2.7
@scenario
def taken(world):
    """Files that take the numbers of closed descriptors are neither written nor closed."""
    world.set("key", "value", *AGENT_ITEMS)
    for number, verbs in enumerate((["get"], ["get", "set", "get"])):
        agent = used(world, verbs)
        folder = f"{world.folder}/taken-{number}"
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        count = int(agent.do(f"take 3 {folder}"))
        expect(count > 2, "nothing was open:", count)
        # A read may use what was open for a moment; a write may not.
        if number == 0:
            time.sleep(MOMENT)
        refuses(agent, "set other x", "get key", "keys")
        agent.ask("close")
        refuses(agent, "get key", "set other x")
        expect(agent.do("lost") == "0", "closed what was not its own:", agent.do("lost"))
        for name in os.listdir(folder):
            contents = open(f"{folder}/{name}", "rb").read()
            expect(contents == b"x" * 8192, "written into another's file:", name)
        expect(len(locked_files(agent.pid, folder)) == count, "unlocked another's file")
        agent.end()
        expect(world.get("key", *AGENT_ITEMS) == "value", "changed by", verbs)
    world.doctor()


def locked_files(pid, folder):
    inodes = {str(os.stat(f"{folder}/{name}").st_ino) for name in os.listdir(folder)}
    found = set()
    for line in open("/proc/locks"):
        words = line.split()
        if "->" not in words and words[4] == str(pid):
            found |= {words[5].split(":")[2]} & inodes
    return found


# Promise: 17.6
@scenario
def watching(world):
    """A watcher of keys ends in words after its program has closed all descriptors."""
    watcher, writer = world.agent(), world.agent()
    watcher.do("app keywatch ak")
    writer.do("app setas ak first 1")
    watcher.do("app keyseen +first")
    watcher.do("closefrom 3")
    writer.do("app setas ak second 1")
    seen = watcher.do("app keyseen inputOutput").split()
    expect("inputOutput" in seen, "told:", seen)
    time.sleep(0.5)
    spent = processor_time(watcher.pid)
    time.sleep(1)
    spent = processor_time(watcher.pid) - spent
    expect(spent < 0.5, f"{spent:.2f} s of processor time while nothing happens")
    watcher.end()
    writer.end()


def processor_time(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# Promise: 17.6
@scenario
def forked(world):
    """A child of a program that closed all descriptors is told so, like its parent."""
    agent = world.agent()
    agent.do("set parent before")
    agent.do("keys")
    agent.do("closefrom 3")
    agent.tell("fork child")
    answers = [agent.answer() for _ in range(3)]
    expect(any(WORDS in answer for answer in answers), answers)
    while not any(answer.startswith("child 1") for answer in answers):
        answers.append(agent.answer())
    refuses(agent, "get parent", "set parent after")
    agent.end()
    expect(world.get("parent", *AGENT_ITEMS) == "before", "changed")
    world.doctor()
