# SPDX-License-Identifier: Apache-2.0
# Promise: 8.3, 11.10, 13.5
"""`kill -9` and refused calls at each step of new keys: spec/keys-and-states.md §8, case 6."""

import collections
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

from kills import CHANGING, OTHER, spread
from sandboxes import Keys
from support import AGENT, CRASH_TEST, EVERY_USER, Agent, Skip, expect, need, scenario

KEYRING = ("add_key", "keyctl")
CALLS = CHANGING + OTHER + KEYRING
DEVICE_ONLY = {"whenUnlockedThisDeviceOnly", "afterFirstUnlockThisDeviceOnly",
               "alwaysThisDeviceOnly"}
MIGRATABLE = {"whenUnlocked", "afterFirstUnlock", "always"}
CLASSES = MIGRATABLE | DEVICE_ONLY
PASSCODE_CLASS = "whenPasscodeSetThisDeviceOnly"
# Items that need the user: one sealed to the key pair of the passcode, one to the other pair.
BOUND, GATED = "bound", "gated"


class Change:
    """One key change: the commands before it, the command itself, and the allowed results."""

    @property
    def needs_tpm(self):
        return any("bind tpm" in line for line in (*self.before, self.line))

    def __init__(self, before, line, old, new, readable=None, loses_key=False):
        self.before, self.line, self.old, self.new = before, line, old, new
        # Whether the device key is missing when the change begins.
        self.loses_key = loses_key
        self.readable = readable or [ALL if old != "-" else CLASSES]


WITH = ("classes", "passcode set one", "classes", "guarded")
WITHOUT = ("classes",)
ALL = CLASSES | {PASSCODE_CLASS, BOUND, GATED}
CHANGES = {
    "setting": Change(WITHOUT, "passcode set two", "-", "two"),
    "changing": Change(WITH, "passcode change one two", "one", "two"),
    "removing": Change(WITH, "passcode remove one", "one", "-", [ALL, CLASSES]),
    "rotating": Change(WITHOUT, "rotate", "-", "-"),
    "rotating_with_passcode": Change(WITH, "rotate one", "one", "one"),
    "creating_recovery_key": Change(WITH, "recovery create one", "one", "one"),
    "recovering": Change(WITH + ("recovery create one",), "recovery use {text} two", "one", "two",
                      [ALL, CLASSES | {GATED}]),
    "recovering_a_lost_key": Change(
        WITH + ("recovery create one",), "recovery use {text} two", "one", "two", [MIGRATABLE],
        loses_key=True),
    "revoking": Change(WITH + ("recovery create one",), "recovery revoke one", "one", "one"),
    "binding": Change(WITHOUT, "bind path", "-", "-"),
    "unbinding": Change(("classes", "bind path"), "bind file", "-", "-"),
    "binding_to_tpm": Change(WITHOUT, "bind tpm", "-", "-"),
    "binding_passcode_to_tpm": Change(WITH, "bind tpm one", "one", "one"),
    "changing_passcode_in_tpm": Change(WITH + ("bind tpm one",), "passcode change one two", "one",
                                       "two"),
    "rotating_in_tpm": Change(("classes", "bind tpm"), "rotate", "-", "-"),
    "unbinding_from_tpm": Change(("classes", "bind tpm"), "bind file", "-", "-"),
}


def prepare(world, change):
    """Creates the keychain before the change, which each attempt copies."""
    need("strace")
    world.changed_again = set()
    key = f"{world.folder}/given.key"
    with open(key, "wb") as file:
        file.write(os.urandom(32))
    os.chmod(key, 0o600)
    # The variable is set only now: a new keychain would take its key from the file.
    world.variables = {"VALET_LOCK_STATE": "kernel"}
    if change.needs_tpm:
        world.variables["VALET_TEST_TPM"] = start_tpm(world)
    agent, text = Agent(world, world.variables), None
    for line in change.before:
        if "bind path" in line:
            agent.end()
            agent = Agent(world, world.variables | {"VALET_DEVICE_KEY_FILE": key})
        answer = agent.do(line)
        text = answer if line.startswith("recovery create") else text
    world.first_epoch = epoch(agent)
    close(agent, change.old)
    if change.loses_key:
        os.remove(world.path("device/device.key"))
    world.variables["VALET_DEVICE_KEY_FILE"] = key
    world.line = change.line.format(text=text)
    world.template = f"{world.home}-template"
    shutil.rmtree(world.template, ignore_errors=True)
    shutil.copytree(world.home, world.template)


def start_tpm(world):
    """Starts a TPM for this scenario; returns the path of its socket."""
    need("swtpm")
    folder = tempfile.mkdtemp(prefix="tpm-", dir=world.folder)
    state, path = f"{folder}/state", f"{folder}/socket"
    os.mkdir(state)
    world.start(
        ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={state}",
         "--server", f"type=unixio,path={path}", "--ctrl", f"type=unixio,path={path}.ctrl",
         "--flags", "not-need-init,startup-clear", "--log", f"file={path}.log"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 20
    while not os.path.exists(path):
        expect(time.monotonic() < end, "swtpm does not start")
        time.sleep(0.01)
    agent = Agent(world, {"VALET_LOCK_STATE": "kernel", "VALET_TEST_TPM": path,
                          "VALET_HOME": f"{world.folder}/tried"})
    agent.do("classes")
    answer = agent.ask("bind tpm")
    agent.ask("lock all")
    agent.end()
    if "without support for TPMs" in answer:
        raise Skip("needs the trait TPM")
    expect(answer.startswith("ok"), answer)
    return path


def close(agent, passcode):
    """Takes the keys out of the kernel and ends the agent."""
    if passcode != "-":
        agent.do("lock all")
    agent.do("close")
    agent.end()


def attempt(world, change, *options):
    """Makes the change in an unlocked process of its own, under strace."""
    shutil.rmtree(world.home)
    shutil.copytree(world.template, world.home)
    opens = change.old != "-" and not change.loses_key
    unlock = f"unlock {change.old}\n" if opens else ""
    lines = f"{unlock}mark begin\n{world.line}\nmark end\nreadable\nstate\n"
    outcome = world.run("1", command=AGENT, input=lines.encode(), env=world.variables,
                        prefix=("strace", "-f", *options))
    expect(outcome.err == "", "the library printed:", outcome)
    return outcome


def steps(world, change):
    """Returns the system calls of a change after it has the lock, as (name, number)."""
    log = f"{world.folder}/trace"
    outcome = attempt(world, change, "-o", log, "-e", f"trace={','.join(CALLS)}")
    expect(b"error" not in outcome.out, world.line, outcome.out)
    counts, found, place = collections.Counter(), [], "before"
    for line in open(log, errors="replace"):
        match = re.match(r"\d+ +(\w+)\(", line)
        if not match:
            continue
        counts[match[1]] += 1
        if "/mark-begin" in line:
            place = "preparing"
        elif place == "preparing" and "F_OFD_SETLK, {l_type=F_WRLCK" in line:
            place = "changing"
        elif "/mark-end" in line:
            break
        if place == "changing":
            found.append((match[1], counts[match[1]]))
    expect(len(found) > 30, "the trace is too short:", len(found))
    forget(world, change)
    return found


def forget(world, change):
    """Takes the keys of an attempt out of the kernel."""
    agent = Agent(world, world.variables)
    agent.ask("lock all")
    agent.end()


def kill_at_each(world, change):
    prepare(world, change)
    every = steps(world, change)
    tried = chosen(world, every)
    kill_count, outcomes = 0, collections.Counter()
    for call in tried:
        outcome = attempt(
            world, change, "-o", "/dev/null", "-e", f"trace={call[0]}", "-e",
            f"inject={call[0]}:signal=KILL:when={call[1]}")
        expect(outcome.code in (0, -9, 137), f"to be killed at {call}:", outcome)
        was_killed = outcome.code != 0
        try:
            outcomes[verify(world, change, None if was_killed else "new")] += 1
        except Exception:
            print(f"killed at {call}")
            raise
        kill_count += was_killed
    expect(kill_count > len(tried) * 0.8, f"only {kill_count} of {len(tried)} were killed")
    expect(not world.is_thorough or len(outcomes) == 2, "killed too early or too late:", outcomes)
    print(f"killed at {kill_count} of {len(every)} calls: {dict(outcomes)}")


def chosen(world, every):
    """Chooses all calls that change something and some of the others, or fewer in a test run. A
    kill at one of the others leaves the same as a kill at the next call that changes
    something."""
    changing = [call for call in every if call[0] in CHANGING + KEYRING]
    other = [call for call in every if call not in changing]
    if world.is_thorough:
        return changing + spread(other, 30)
    return spread(changing, 4) + spread(other, 1)


def verify(world, change, expected=None):
    """Checks that all items are there, that the old or the new passcode opens them, and that the
    change left nothing behind. Returns "old" or "new"."""
    agent = Agent(world, world.variables)
    which, passcode = open_with(world, agent, change)
    expect(expected in (None, which), "it is the", which, "state")
    readable = set(agent.do(f"readable {passcode}").split())
    allowed = change.readable[0 if which == "old" else -1]
    if passcode != "-":
        expect(readable == allowed, which, "readable:", readable)
    else:
        expect(readable - {PASSCODE_CLASS} == CLASSES, which, "readable:", readable)
        agent.do("set written later")
    expect(tidy(agent.do("state")), which, agent.do("state"))
    check_files(world, change, which)
    if passcode == "-" and not change.needs_tpm:
        expect(not Keys.of(identifier(world)), which, "keys in the kernel without a passcode")
    passcode = change_again(world, agent, passcode, which, allowed)
    if change.needs_tpm:
        # The command uses only the TPM of the machine.
        agent.ask("lock all")
        agent.do("close")
        expect(agent.do("diagnose") == "", which, "broken:", agent.do("diagnose"))
    close(agent, passcode)
    if change.needs_tpm:
        forget(world, change)
        return which
    world.doctor_with = world.run("doctor", env=world.variables)
    expect(world.doctor_with.code == 0, world.doctor_with, world.doctor_with.out.decode())
    return which


def change_again(world, agent, passcode, which, allowed):
    """Makes a second change, which opens every item; in a test run once for each outcome. Returns
    the passcode."""
    if which in world.changed_again and not world.is_thorough:
        return passcode
    world.changed_again.add(which)
    agent.do("passcode change " + f"{passcode} three" if passcode != "-" else "rotate")
    readable = set(agent.do("readable three" if passcode != "-" else "readable").split())
    expect(readable == allowed, which, "after a second change:", readable)
    return "three" if passcode != "-" else "-"


def identifier(world):
    """Returns the id of the keychain, in the digits of the names of its keys."""
    return json.loads(world.run("status", "--json", env=world.variables).out)["keychainID"]


def epoch(agent):
    """Returns the number of the epoch under which the keychain is written."""
    return int(re.search(r"epoch=(\d+)", agent.do("state"))[1])


def open_with(world, agent, change):
    """Opens the keychain; returns its state, "old" or "new", and its passcode."""
    if change.loses_key:
        if agent.ask(f"unlock {change.new}").startswith("ok"):
            return "new", change.new
        # The old state: the recovery key is still needed, and nothing has changed.
        agent.do(world.line)
        return "old", change.new
    if "-" in (change.old, change.new):
        has_passcode = not agent.do("state").startswith("noPasscode")
        which = "old" if has_passcode == (change.old != "-") else "new"
        passcode = change.old if which == "old" else change.new
        if passcode != "-":
            agent.do(f"unlock {passcode}")
        if change.old == change.new:
            which = "new" if has_changed(world, agent, change) else "old"
        return which, passcode
    if change.old == change.new:
        agent.do(f"unlock {change.new}")
        return ("new" if has_changed(world, agent, change) else "old"), change.new
    # A TPM accepts few wrong passcodes.
    is_new = (has_changed(world, agent, change) if change.needs_tpm
              else agent.ask(f"unlock {change.new}").startswith("ok"))
    which, passcode = ("new", change.new) if is_new else ("old", change.old)
    agent.do(f"unlock {passcode}")
    return which, passcode


def has_changed(world, agent, change):
    """Returns whether the change was made; a new recovery key does not begin an epoch."""
    if change.line.startswith("recovery create"):
        return json.loads(world.run("status", "--json", env=world.variables).out)["recoveryKey"]
    return epoch(agent) != world.first_epoch


def tidy(state):
    return "erase=false" in state


def check_files(world, change, which):
    """Checks that there is no other device key and no marker."""
    names = {name for name in world.names() if name.startswith(("device/", "erase"))}
    expect(names <= {"device/device.key"}, "left over:", names)
    if "bind" not in change.line and not change.needs_tpm:
        expect(names == {"device/device.key"}, "no device key")


@scenario(users=EVERY_USER, script=CRASH_TEST)
def setting(world):
    """A kill while a passcode is set leaves the old keys or the new ones."""
    kill_at_each(world, CHANGES["setting"])


@scenario(users=EVERY_USER, script=CRASH_TEST)
def changing(world):
    """A kill while a passcode is changed leaves the old keys or the new ones."""
    kill_at_each(world, CHANGES["changing"])


@scenario(script=CRASH_TEST)
def removing(world):
    """A kill while a passcode is removed leaves the old keys or the new ones."""
    kill_at_each(world, CHANGES["removing"])


@scenario(script=CRASH_TEST)
def rotating(world):
    """A kill while keys rotate leaves the old keys or the new ones."""
    kill_at_each(world, CHANGES["rotating"])


@scenario(script=CRASH_TEST)
def rotating_with_passcode(world):
    """A kill while keys under a passcode rotate leaves the old keys or the new ones."""
    kill_at_each(world, CHANGES["rotating_with_passcode"])


@scenario(script=CRASH_TEST)
def creating_recovery_key(world):
    """A kill while a recovery key is created leaves the keychain with it or without it."""
    kill_at_each(world, CHANGES["creating_recovery_key"])


@scenario(script=CRASH_TEST)
def recovering(world):
    """A kill of a recovery leaves the old keys or the new ones."""
    kill_at_each(world, CHANGES["recovering"])


@scenario(script=CRASH_TEST)
def recovering_a_lost_key(world):
    """A kill of a recovery without the device key leaves the old keys or the new ones."""
    kill_at_each(world, CHANGES["recovering_a_lost_key"])


@scenario(users=EVERY_USER)
def changes_while_locked(world):
    """A recovery key or new keys for a locked keychain put no unlocking key into the kernel.

    The trace shows every key that was made, even for a moment."""
    need("strace")
    variables = {"VALET_LOCK_STATE": "kernel"}
    agent = Agent(world, variables)
    for line in ("passcode set one", "classes", "lock"):
        agent.do(line)
    log = f"{world.folder}/trace"
    lines = b"recovery create one\nrotate one\nstate\nreadable\n"
    outcome = world.run("1", command=AGENT, input=lines, env=variables, prefix=(
        "strace", "-f", "-s", "200", "-o", log, "-e", "trace=add_key,keyctl"))
    answers = outcome.out.decode().splitlines()
    expect(len(answers) == 4 and answers[0].startswith("ok V1"), outcome)
    expect(answers[1].startswith("ok") and answers[2].startswith("ok locked"), outcome)
    open_classes = {"afterFirstUnlock", "always", "afterFirstUnlockThisDeviceOnly",
                    "alwaysThisDeviceOnly"}
    expect(set(answers[3].split()[1:]) == open_classes, answers[3])
    calls = open(log).read()
    made = re.findall(r'add_key\("user", "valet:2:[0-9a-f]+:(\w):', calls)
    # Keys are added once for the recovery key and once for the new keys.
    expect(made == ["f", "f"], "keys that were made:", made)
    close(agent, "one")


# Promise: 8.3
@scenario(users=EVERY_USER)
def unpublished(world):
    """A kill between the commit of new keys and their publication leaves the keychain locked, and
    one unlock repairs it."""
    change = CHANGES["rotating_with_passcode"]
    prepare(world, change)
    first = next(call for call in steps(world, change) if call[0] == "add_key")
    outcome = attempt(world, change, "-o", "/dev/null", "-e", "trace=add_key", "-e",
                      f"inject=add_key:signal=KILL:when={first[1]}")
    expect(outcome.code != 0, "it was not killed:", outcome)
    agent = Agent(world, world.variables)
    state = agent.do("state")
    expect(state.startswith(f"beforeFirstUnlock epoch={world.first_epoch + 1} "), state)
    agent.do("unlock one")
    expect(set(agent.do("readable one").split()) == ALL, "not readable")
    expect(len(Keys.of(identifier(world))) == 2, "keys in the kernel:", Keys.of(identifier(world)))
    expect(tidy(agent.do("state")), agent.do("state"))
    close(agent, "one")


@scenario(script=CRASH_TEST)
def revoking(world):
    """A kill while a recovery key is revoked leaves the old keys or the new ones."""
    kill_at_each(world, CHANGES["revoking"])


@scenario(script=CRASH_TEST)
def binding(world):
    """A kill while the keychain moves to a key file leaves the old keys or the new ones."""
    kill_at_each(world, CHANGES["binding"])


@scenario(script=CRASH_TEST)
def unbinding(world):
    """A kill while the keychain moves back from a key file leaves the old keys or the new ones."""
    kill_at_each(world, CHANGES["unbinding"])


@scenario(script=CRASH_TEST)
def binding_to_tpm(world):
    """A kill while the keychain moves to a TPM leaves the old keys or the new ones."""
    kill_at_each(world, CHANGES["binding_to_tpm"])


@scenario(script=CRASH_TEST)
def binding_passcode_to_tpm(world):
    """A kill while a passcode moves to a TPM leaves the old keys or the new ones."""
    kill_at_each(world, CHANGES["binding_passcode_to_tpm"])


@scenario(script=CRASH_TEST)
def changing_passcode_in_tpm(world):
    """A kill while a passcode in a TPM is changed leaves the old keys or the new ones."""
    kill_at_each(world, CHANGES["changing_passcode_in_tpm"])


@scenario(script=CRASH_TEST)
def rotating_in_tpm(world):
    """A kill while keys in a TPM rotate leaves the old keys or the new ones."""
    kill_at_each(world, CHANGES["rotating_in_tpm"])


@scenario(script=CRASH_TEST)
def unbinding_from_tpm(world):
    """A kill while the keychain moves back from a TPM leaves the old keys or the new ones."""
    kill_at_each(world, CHANGES["unbinding_from_tpm"])
