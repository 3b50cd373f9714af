# SPDX-License-Identifier: Apache-2.0
"""Completion in real shells at a terminal, and the manual pages."""

import os
import subprocess
import time

from seats import Seat
from support import expect, need, scenario

# A name for each way in which shells quote, and one that must never be run.
NAMES = ["my name", "svc:one", "it's", 'say "hi"', "tick$(touch pwned)", "back\\slash", "plain"]
SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
READY = {
    "bash": 'source <(valet completions bash); bind "set bell-style none"; PS1="ready> "',
    "zsh": 'autoload -U compinit; compinit -D; source <(valet completions zsh); PS1="ready> "',
    "fish": "valet completions fish | source; function fish_prompt; echo 'ready> '; end",
}


class Shell:
    """A shell at a terminal of its own, with valet in its PATH."""

    def __init__(self, world, name):
        self.folder = f"{world.folder}/{name}"
        os.makedirs(f"{self.folder}/bin")
        command = os.environ["VALET_TEST_COMMAND"]
        for program in ("valet", "valet-sync"):
            os.symlink(f"{os.path.dirname(command)}/{program}", f"{self.folder}/bin/{program}")
        program, *words = SHELLS[name]
        # A name that is run makes a file in the folder.
        self.seat = Seat(
            world, *words, command=program, prefix=("env", f"--chdir={self.folder}"),
            env={"PATH": f"{self.folder}/bin:/usr/bin:/bin", "TERM": "dumb",
                 "HOME": self.folder, "COLUMNS": "200", "LC_ALL": "C.UTF-8"})
        self.type(READY[name] + "\r")
        self.until("ready> ")

    def type(self, text):
        self.seat.type(text.encode())

    def until(self, text):
        self.seat.see(text.encode())

    def end(self):
        self.type("\x15exit\r")
        self.seat.finish()


def completes(world, name):
    need(name)
    for number, key in enumerate(NAMES):
        world.set(key, f"value {number} of it")
    shell = Shell(world, name)
    for number, key in enumerate(NAMES):
        # Two letters are enough for each.
        shell.type(f"valet get {key[:2]}")
        shell.type("\t")
        time.sleep(0.3)
        shell.type("\r")
        shell.until(f"value {number} of it")
    shell.type("valet con")
    shell.type("\t")
    time.sleep(0.3)
    shell.type("plain && echo it is there\r")
    shell.until("it is there\r")
    expect(not os.path.exists(f"{shell.folder}/pwned"), name, "has run a name")
    shell.end()


# Promise: 18.6
@scenario
def bash(world):
    """Names of secrets complete in bash, whatever is in them, and none is run."""
    completes(world, "bash")


# Promise: 18.6
@scenario
def zsh(world):
    """Names of secrets complete in zsh, whatever is in them, and none is run."""
    completes(world, "zsh")


# Promise: 18.6
@scenario
def fish(world):
    """Names of secrets complete in fish, whatever is in them, and none is run."""
    completes(world, "fish")


# Promise: 18.6
@scenario
def candidates(world):
    """Completion offers what fits the place, and nothing of a locked keychain."""
    world.set("here", "value")
    world.set("there", "value", "--id", "other")

    def offered(*words):
        outcome = world.run("completions", "next", "zsh", *words)
        expect(outcome.code == 0 and outcome.err == "", words, outcome)
        kind, *rest = outcome.out.decode().rstrip("\n").split("\n")
        return kind, [line.split("\t")[0] for line in rest]

    expect(offered("get", "") == ("words", ["here"]), offered("get", ""))
    expect(offered("get", "--id", "other", "") == ("words", ["there"]), "of another valet")
    expect(offered("get", "--id=other", "t") == ("words", ["there"]), "after an equals sign")
    expect(offered("undo", "h") == ("words", ["here"]), "of a rare verb")
    expect("--cloud" in offered("set", "--")[1], "options")
    expect("--cloud" not in offered("set", "--cloud", "--")[1], "an option twice")
    expect(offered("set", "--accessibility=when-p")[1]
           == ["--accessibility=when-passcode-set-this-device-only"], "a choice")
    expect(offered("passcode", "c") == ("words", ["change"]), "a verb of a group")
    expect(offered("run", "--env", "A=here", "--", "") == ("programs", []), "a program")
    expect(offered("run", "--", "env", "") == ("files", []), "its arguments")
    expect("devices" in offered("sync", "")[1], "a verb of the other program")
    expect(offered("no-such-verb", "") == ("words", []), "an unknown verb")
    passcode = b"correct horse\n"
    expect(world.run("passcode", "set", "--passcode-fd", "0", input=passcode * 2).code
           == 0, "passcode set")
    expect(world.run("lock", "--all").code in (0, 1), "lock")
    expect(offered("get", "") == ("words", []), "of a locked keychain")
    # Nor does it take the answer that is meant for the finished command line.
    words = ("completions", "next", "zsh", "get", "")
    outcome = world.run(*words, env={"VALET_PASSCODE_FD": "0"}, input=passcode)
    expect(outcome.code == 0 and outcome.out == b"words\n", outcome)


@scenario
def manual(world):
    """Each verb has a manual page, which groff formats without a warning."""
    need("groff")
    os.makedirs(f"{world.folder}/man")
    for command in ("valet", "valet-sync"):
        program = os.path.join(os.path.dirname(os.environ["VALET_TEST_COMMAND"]), command)
        subprocess.run([program, "manual", f"{world.folder}/man"], check=True,
                       env=world.environment(), stdin=subprocess.DEVNULL, timeout=60)
    pages = sorted(os.listdir(f"{world.folder}/man"))
    for page in ("valet.1", "valet-get.1", "valet-backup-create.1", "valet-sync-devices.1"):
        expect(page in pages, page, "is not among", pages)
    for page in pages:
        path = f"{world.folder}/man/{page}"
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-z", path], capture_output=True, text=True,
            timeout=60, check=False)
        expect(done.returncode == 0 and done.stderr == "", page, done.stderr)
