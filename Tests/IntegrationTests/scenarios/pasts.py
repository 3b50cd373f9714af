# SPDX-License-Identifier: Apache-2.0
"""Former values: what kills leave of them, and who leaves none."""

from kills import calls, chosen, killed
from support import CRASH_TEST, expect, scenario

VALUES = ["one", "two", "three", "four"]


def former(world, key):
    """The former values of a secret, the last one first."""
    found = []
    for number in range(1, 11):
        outcome = world.run("get", key, "--version", str(number))
        if outcome.code == 44:
            break
        expect(outcome.code == 0, outcome)
        found.append(outcome.out.decode())
    return found


def state(world, key):
    outcome = world.run("get", key)
    expect(outcome.code in (0, 44), outcome)
    return outcome.out.decode() if outcome.code == 0 else None, former(world, key)


# Promise: 16.6
@scenario(script=CRASH_TEST)
def killed_changes(world):
    """A kill during a change leaves the secret and its former values of before or of after."""
    for number, (words, value) in enumerate((
            (("set", "k"), b"five"), (("undo", "k"), b""), (("rename", "k", "new"), b""),
            (("remove", "k", "--yes"), b""), (("remove", "k", "--purge", "--yes"), b""))):
        def prepare(place):
            world.home = f"{world.folder}/{number}-{place}"
            for text in VALUES:
                world.set("k", text)
            return state(world, "k")
        before = prepare("traced")
        expect(before == ("four", ["three", "two", "one"]), before)
        every = calls(world, *words, input=value)
        after = state(world, "k"), state(world, "new")
        kill_count = 0
        for place, call in enumerate(chosen(world, every, 4)):
            prepare(place)
            was_killed = killed(world, call, *words, input=value)
            kill_count += was_killed
            found = state(world, "k"), state(world, "new")
            expected = [after] + [(before, (None, []))] * was_killed
            expect(found in expected, f"{words} killed at {call}:", found)
            world.doctor()
        expect(kill_count > 0, words, "was never killed")


@scenario(script=CRASH_TEST)
def killed_removal(world):
    """A kill during a removal of several secrets leaves all of them or none."""
    keys = ["a", "b", "c"]

    def prepare(place):
        world.home = f"{world.folder}/{place}"
        world.fill(*keys, "other")
    prepare("traced")
    words = ("remove", *keys, "--yes")
    every = calls(world, *words, input=b"")
    kill_count = 0
    for place, call in enumerate(chosen(world, every, 10)):
        prepare(place)
        was_killed = killed(world, call, *words, input=b"")
        kill_count += was_killed
        left = [key for key in keys if world.run("get", key).code == 0]
        expect(left == [] or (was_killed and left == keys), f"killed at {call}:", left)
        world.check("other")
        world.doctor()
    expect(kill_count > 0, "it was never killed")


# Promise: 16.2
@scenario
def of_others(world):
    """What git and docker replace leaves no former value; what git removes or an import replaces does.
    """
    git = "protocol=https\nhost=example.org\nusername=anna\n"
    docker = '{"ServerURL":"https://registry.example.org","Username":"anna","Secret":"%s"}'
    for text in ("first", "second"):
        for words, request in ((("git-credential", "store"), f"{git}password={text}\n"),
                               (("docker-credential", "store"), docker % text)):
            outcome = world.run(*words, input=request.encode())
            expect(outcome.code == 0, words, outcome)
    places = (("--server", "example.org"), ("--server", "registry.example.org"))
    for words in places:
        outcome = world.run("get", "anna", *words)
        expect(outcome.out == b"second", words, outcome)
        outcome = world.run("history", "anna", *words)
        expect(outcome.code == 0 and not outcome.out, words, outcome)
    outcome = world.run("git-credential", "erase", input=git.encode())
    expect(outcome.code == 0, outcome)
    outcome = world.run("undo", "anna", *places[0])
    expect(outcome.code == 0, "git's removal cannot be undone", outcome)
    outcome = world.run("get", "anna", *places[0])
    expect(outcome.out == b"second", outcome)
    table = f"{world.folder}/logins.csv"
    for text in ("third", "fourth"):
        with open(table, "w", encoding="utf-8") as file:
            file.write(f"name,url,username,password\nm,https://mail.example.org,anna,{text}\n")
        outcome = world.run("import", "--from", "csv", "--replace", table)
        expect(outcome.code == 0, outcome)
    words = ("--server", "mail.example.org")
    outcome = world.run("get", "anna", *words, "--version", "1")
    expect(outcome.out == b"third", outcome)
