# SPDX-License-Identifier: Apache-2.0
"""Side effects that the library must not have."""

import collections
import os
import re
import time

from support import CRASH_TEST, LEAK_TEST, expect, need, scenario


# Promise: 18.1
@scenario
def through_errors(world):
    """The library prints nothing and asks nothing whatever fails."""
    need("strace")
    trace = f"{world.folder}/trace"
    agent = world.agent(prefix=("strace", "-f", "-e", "trace=openat,open,execve", "-o", trace))
    agent.do("set a value")
    agent.do("misuse")
    agent.ask("toolarge")
    os.chmod(world.path("keychain.db"), 0o644)
    # A reader looks ten times a second.
    time.sleep(0.2)
    for verb in ("get a", "set a value", "keys", "remove a"):
        answer = agent.ask(verb)
        expect(answer.startswith("error insecureFiles"), verb, answer)
    os.chmod(world.path("keychain.db"), 0o600)
    os.rename(world.path("device"), world.path("elsewhere"))
    fresh = world.agent()
    for verb in ("get a", "set a value", "keys", "remove a"):
        answer = fresh.ask(verb)
        expect(answer.startswith("error incomplete"), verb, answer)
    fresh.end()
    os.rename(world.path("elsewhere"), world.path("device"))
    expect(agent.do("get a") == "value", "afterwards")
    agent.end()
    text = open(trace, errors="replace").read()
    expect("/dev/tty" not in text and "pinentry" not in text, "a prompt")
    expect(text.count("execve(") == 1, "another program was started")


@scenario(script=CRASH_TEST)
def warm_reading(world):
    """A repeated read maps no memory and asks no keyring.

    spec/keys-and-states.md §8, case 18."""
    need("strace")
    trace = f"{world.folder}/trace"
    agent = world.agent(prefix=("strace", "-o", trace))
    agent.do("set a value")
    agent.do("gets 200 a")
    count = 10_000 if world.is_thorough else 3_000
    agent.do(f"gets {count} a", timeout=120)
    agent.end()
    calls = collections.Counter(section(trace, f"gets {count} a"))
    for name in ("mmap", "mprotect", "munmap", "mremap", "keyctl", "request_key", "add_key",
                 "openat", "fdatasync", "pwrite64", "mlock", "madvise"):
        expect(calls[name] == 0, f"{calls[name]} calls of {name} in {count} reads", calls)
    # Memory that grows with the number of reads appears here.
    expect(calls["brk"] <= 3, f"{calls['brk']} calls of brk in {count} reads")
    each = {name: round(number / count, 2) for name, number in calls.items()
            if number > count / 100}
    print("system calls for each read:", each)


def section(trace, command):
    """Yields the system calls between reading a command and answering it."""
    is_inside = False
    for line in open(trace, errors="replace"):
        if line.startswith("read(0,") and command in line:
            is_inside = True
        elif is_inside and line.startswith("write(") and '"ok' in line:
            return
        elif is_inside and (match := re.match(r"(\w+)\(", line)):
            yield match.group(1)


# Promise: 1.1
@scenario(script=LEAK_TEST)
def in_no_file(world):
    """No file contains a name or a value in the clear."""
    words = {"key": "neverInTheClear-key", "value": "neverInTheClear-value",
             "app": "neverInTheClear.app", "id": "neverInTheClear-id"}
    world.set(words["key"], words["value"], "--app", words["app"], "--id", words["id"])
    agent = world.agent()
    agent.do(f"set {words['key']} {words['value']}")
    agent.do(f"label {words['id']} {words['app']}")
    for settle in (False, True):
        if settle:
            agent.end()
            world.settle()
        found = search(world, "neverInTheClear")
        expect(not found, "in the clear:", found)
    with open(world.path("canary"), "wb") as canary:
        canary.write(b"\0\1" * 5000 + words["key"].encode())
    expect(search(world, "neverInTheClear") == ["canary"], "the search finds nothing")


def search(world, word):
    forms = [word.encode(), word.encode("utf-16-le"), word.encode().hex().encode()]
    found = []
    for folder, _, files in os.walk(world.home):
        for file in files:
            data = open(os.path.join(folder, file), "rb").read()
            if any(form.lower() in data.lower() for form in forms):
                found.append(file)
    return found


@scenario
def sizes(world):
    """Keys and values of every size and content are stored or refused with a reason."""
    for words in (["set", ""], ["get", ""], ["contains", ""], ["remove", ""]):
        outcome = world.run(*words, input=b"x")
        expect(outcome.code == 64, words, outcome)
    outcome = world.run("set", "k", input=b"")
    expect(outcome.code == 64 and "empty" in outcome.err, outcome)
    binary = bytes(range(256))
    world.set("binary", binary)
    expect(world.run("get", "binary").out == binary, "binary")
    large = os.urandom(16 << 20)
    world.set("large", large)
    expect(world.run("get", "large").out == large, "16 MiB")
    outcome = world.run("set", "larger", input=large + b"x")
    expect(outcome.code == 64 and "larger than 16 MiB" in outcome.err, outcome)
    agent = world.agent()
    agent.do("large")
    answer = agent.ask("toolarge")
    expect(answer.startswith("error valueTooLarge"), answer)
    answer = agent.do("misuse").split()
    expect(answer == ["KeychainError.emptyKey", "KeychainError.itemNotFound",
                      "KeychainError.itemNotFound", "KeychainError.emptyValue"], answer)
    agent.do("binary")
    expect(agent.ask("get binary").startswith("error itemNotFound"), "not UTF-8")
    key = "k" * (1 << 20)
    agent.do(f"set {key} long")
    expect(agent.do(f"get {key}") == "long", "a key of 1 MB")
    expect(key in agent.do("keys").split(), "a key of 1 MB among all")
    agent.do(f"remove {key}")
    agent.end()
    world.doctor()
