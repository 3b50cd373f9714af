# SPDX-License-Identifier: Apache-2.0
"""Names of the command: one name is one secret, whatever its accessibility, shared or not."""

import json
import subprocess

from support import COMMAND, expect, scenario

# Places of a secret, and what chooses them.
PLACES = [
    (), ("--cloud",), ("--local",), ("--accessibility", "after-first-unlock"),
    ("--accessibility", "when-unlocked-this-device-only"),
    ("--cloud", "--accessibility", "after-first-unlock"),
]


@scenario
def one_secret(world):
    """Programs that set one name at once, each at another place, leave one secret of that name."""
    for turn in range(10 if world.is_thorough else 3):
        key = f"k{turn}"
        if turn % 2:
            world.set(key, "before")
        processes = [
            world.start([COMMAND, "set", key, *words], stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE) for words in PLACES * 2]
        # All processes wait for their input and get it at the same time.
        for number, process in enumerate(processes):
            process.stdin.write(b"value %d" % number)
        for process in processes:
            process.stdin.close()
            process.stdin = None
        while any(process.poll() is None for process in processes):
            # A secret that moves is found, and is one.
            outcome = world.run("get", key)
            expect(outcome.code == 0 or not turn % 2 and outcome.code == 44, outcome)
        for outcome in [world.finish(process) for process in processes]:
            expect(outcome.code == 0, outcome)
        listed = json.loads(world.run("list", key, "--json").out)["items"]
        expect(len(listed) == 1, listed)
        value = world.get(key)
        expect(value.startswith("value "), value)
    expect("the database is sound" in world.doctor(), "doctor is not content")


@scenario
def moved_in_one_step(world):
    """A secret that is set at another place keeps its dates and is never at two places."""
    world.set("k", "one", "--accessibility", "after-first-unlock-this-device-only")
    created = json.loads(world.run("show", "k", "--json").out)["created"]
    late, early = "after-first-unlock", "when-unlocked-this-device-only"
    for words in (("--cloud",), ("--local",), ("--accessibility", "when-unlocked"),
                  ("--accessibility", early), ("--cloud", "--accessibility", late),
                  ("--accessibility", early)):
        outcome = world.run("set", "k", *words, input=b"two")
        expect(outcome.code == 0 and "moved 'k'" in outcome.err, words, outcome)
        shown = json.loads(world.run("show", "k", "--json").out)
        expect(shown["created"] == created, shown)
        expect(shown["cloud"] == ("--cloud" in words), words, shown)
        # Without an option it stays.
        outcome = world.run("set", "k", input=b"three")
        expect(outcome.code == 0 and not outcome.err, outcome)
        expect(json.loads(world.run("show", "k", "--json").out)["accessibility"]
               == shown["accessibility"], "moved")
        expect(world.get("k") == "three", words)
