# SPDX-License-Identifier: Apache-2.0
"""Items whose reading requires the user, and calls that do not."""

import errno
import fcntl
import json
import os
import termios

from leaks import wait_for
from support import COMMAND, EVERY_USER, expect, need, scenario

OWN = {"VALET_LOCK_STATE": "process"}


# Promise: 18.1
@scenario(users=EVERY_USER)
def nobody_needed(world):
    """Storing, checking and removing an item that needs the user asks nobody.

    These calls start no program and reach no service, unlocked and locked.
    spec/keys-and-states.md §8, case 14."""
    need("strace")
    trace = f"{world.folder}/trace"
    asker = Asker(world)
    agent = world.agent(
        env={**OWN, "VALET_PINENTRY": asker.path},
        prefix=("strace", "-f", "-e", "trace=file,network,execve", "-o", trace))
    agent.do("app passcode correct")
    write(agent, "ok")
    agent.do("person set token left")
    agent.do("app lock")
    write(agent, "error locked")
    agent.do("app lockall")
    write(agent, "error locked")
    expect(not asker.was_started, "somebody was asked")
    text = open(trace, errors="replace").read()
    expect(text.count("execve(") == 1, "another program was started")
    # The search for a fingerprint reader begins at this socket.
    expect("/dbus" not in text, "a reader was looked for")
    control(agent, asker)
    agent.end()


def write(agent, outcome):
    """Makes every call that needs no user; storing ends with `outcome`."""
    for verb in ("set token one", "set token two", "contains token", "can", "remove token",
                 "contains token", "set token three", "remove token"):
        answer = agent.ask(f"person {verb}")
        if verb.startswith("set"):
            expect(answer.startswith(outcome), verb, answer)
        elif outcome == "ok":
            expect(answer.startswith("ok"), verb, answer)
        else:
            # Names may be closed as well, but nobody is asked to open them.
            expect(answer.startswith(("ok", outcome)), verb, answer)


def control(agent, asker):
    """Checks that reading starts the program."""
    agent.do("app unlock correct")
    agent.do("person set token value")
    answer = agent.ask("person get token Sign-in")
    expect(answer.startswith("error"), "read without a person:", answer)
    expect(asker.was_started, "reading asked nobody")


# Promise: 11.2
@scenario
def software_refused(world):
    """A program that requires a TPM neither reads nor asks where software guards the items.

    Without a TPM, valets that ask work, and `status` says `software`."""
    asker = Asker(world)
    agent = world.agent(env={**OWN, "VALET_PINENTRY": asker.path})
    agent.do("app passcode correct")
    write(agent, "ok")
    agent.do("person set token value")
    status = json.loads(world.run("status", "--json", env=OWN).out)
    expect(status["people"] == "software", status)
    expect((status["passcodeBound"], status["fingerprintGated"]) == (0, 1), status)
    agent.do("app require tpm+passcode")
    for verb in ("set token other", "get token Sign-in", "contains token", "remove token"):
        answer = agent.ask(f"person {verb}")
        expect(answer.startswith("error insufficientProtection"), verb, answer)
    expect(agent.do("person can") == "false", "a valet can be used")
    expect(not asker.was_started, "somebody was asked")
    agent.do("app lockall")
    agent.end()


# Promise: 9.5
@scenario(users=EVERY_USER)
def application_password(world):
    """An item under an application password opens with that password alone.

    In another process, after a key change, and at a terminal."""
    agent = world.agent(env=OWN)
    expect(agent.do("person seal token secret own") == "0", "not added")
    agent.end()
    agent = world.agent(env=OWN)
    for outcome in ("before", "after"):
        expect(agent.do("person unseal token own") == "secret", outcome, "a key change")
        expect(agent.do("person unseal token other") == "-25293", "another password", outcome)
        expect(agent.do("person find token") == "-25308", "nobody can be asked", outcome)
        changed = world.run("rotate", env=OWN)
        expect(changed.code == 0, "rotate:", changed)
    agent.end()
    expect(at_terminal(world, "own") == (0, b"secret"), "the right password")
    expect(at_terminal(world, "wrong", "own") == (0, b"secret"), "the second try")
    code, shown = at_terminal(world, "a", "b", "c")
    expect(code == 77 and b"secret" not in shown, "three wrong passwords:", code, shown)
    # The item is not overwritten without a password.
    outcome = world.run(
        "set", "token", "--app", "ValetTestAgent", "--id", "integration", input=b"x", env=OWN)
    expect(outcome.code == 77, "overwritten:", outcome)
    expect(at_terminal(world, "own") == (0, b"secret"), "nothing has changed")
    removed = world.run(
        "remove", "token", "--yes", "--app", "ValetTestAgent", "--id", "integration", env=OWN)
    expect(removed.code == 0, "removing takes no password:", removed)


def at_terminal(world, *passwords):
    """Returns the exit code of the command and the last line that it shows when these are typed."""
    terminal, theirs = os.openpty()
    process = world.start(
        [COMMAND, "get", "token", "--app", "ValetTestAgent", "--id", "integration"],
        # There is no pinentry in this folder.
        {**OWN, "PATH": "/nonexistent"}, stdin=theirs, stdout=theirs, stderr=theirs,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(theirs)
    for password in passwords:
        wait_for(terminal, b"Password: ")
        os.write(terminal, password.encode() + b"\n")
    shown = b""
    try:
        while read := os.read(terminal, 65536):
            shown += read
    except OSError as error:
        expect(error.errno == errno.EIO, error)
    os.close(terminal)
    code = process.wait(60)
    world.started.remove(process)
    return code, (shown.split() or [b""])[-1] if code == 0 else shown


class Asker:
    """A pinentry that must not be started."""

    def __init__(self, world):
        folder = os.path.join(world.folder, "asker")
        os.mkdir(folder)
        self.path, self.mark = f"{folder}/pinentry", f"{folder}/started"
        with open(self.path, "w") as program:
            program.write(f"#!/bin/sh\necho started > {self.mark}\nexit 1\n")
        os.chmod(self.path, 0o755)

    @property
    def was_started(self):
        return os.path.exists(self.mark)
