# SPDX-License-Identifier: Apache-2.0
# Promise: 13.17, 14.10
"""The truth table: each verb, with each of its system calls failing, or with files that come and go
beside the keychain at that call. Other processes judge: the verb exits with 0 if and only if its
effect is there, and everything else is as before."""

import collections
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import threading
import time

import pages
import truthtable
from damage import flip
from faults import ERRORS, INDEX, faults, remove, stops_in_time
from sandboxes import LIBC, Keys
from stops import go_on
from support import COMMAND, CRASH_TEST, ORDINARY, Failure, expect, need, scenario
from truthtable import APPLICATIONS, BASES, ONE, TWO

# The exits of a verb that fails without having had its effect.
FAILED = (1, 75)
# What the state of a keychain has from its files; the rest names places.
STATUS = ("state", "level", "epoch", "items", "quarantinedRows", "isReadOnly", "lockState",
          "lockStateWarning", "locksIn", "autoLock", "recoveryKey", "needsRecovery",
          "isErasePending", "passcodeBound", "fingerprintGated")
# How many verbs a scenario tries in a test run, and for how long.
VERBS, SECONDS = 2, 5
# The names of the verbs to try; none for all.
CHOSEN = os.environ.get("VALET_TEST_VERBS", "").split()


class Row:
    """A verb, its keychain, and how this is before and after it."""

    def __init__(self, world, name, verb):
        self.world, self.name, self.verb = world, name, verb
        self.folder, self.template = f"{world.folder}/case", f"{world.folder}/template"
        self.home, self.paper = f"{self.folder}/home", ""
        # How many attempts have changed a file.
        self.count = 0
        self.prepare()
        self.begin()
        self.before = self.found = self.snapshot("")
        self.begin()
        self.answer = self.run_verb()
        expect(self.answer.code == verb.code, name, self.answer)
        self.after = self.snapshot(self.answer.out.decode(errors="replace"))
        if verb.reads:
            expect(self.before == self.after, name, "writes:", self.difference(self.before))
        else:
            expect(self.before != self.after, name, "has no effect")

    # The keychain.

    def prepare(self):
        """Makes the keychain of the verb, and what lies beside it."""
        shutil.rmtree(self.template, ignore_errors=True)
        base = f"{self.world.folder}/base-{self.verb.base}"
        if not os.path.exists(base):
            self.make_base()
            os.rename(self.folder, base)
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(base, self.folder)
        if self.verb.base == "guarded":
            with open(f"{self.folder}/paper", encoding="utf-8") as file:
                self.paper = file.read()
            self.unlock()
        for words, input, *lines in self.verb.before:
            outcome = self.run(words, input, lines)
            expect(outcome.code == 0, self.name, "before it:", words, outcome)
        if self.verb.damages_index:
            self.damage_index()
        if self.verb.follows_key_change:
            self.interrupt_key_change()
        if os.path.isdir(self.home):
            open(f"{self.home}/passing", "w").close()
        self.set_lock_state()
        status = self.status()
        self.identifier, self.first_epoch = status.get("keychainID"), status.get("epoch")
        self.held = Kernel.held(self.identifier)
        shutil.copytree(self.folder, self.template)

    def make_base(self):
        """Makes a keychain that several verbs begin with."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(f"{self.folder}/store")
        with open(f"{self.folder}/given.key", "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(b"k" * 32)
        with open(f"{self.folder}/editor", "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o700)
            file.write('#!/bin/sh\nprintf edited >"$1"\n')
        for words, input, *lines in BASES[self.verb.base]:
            outcome = self.run(words, input, lines)
            expect(outcome.code == 0, self.verb.base, words, outcome)
            if words.startswith("recovery create"):
                with open(f"{self.folder}/paper", "wb") as file:
                    file.write(outcome.out.strip())

    def damage_index(self):
        """Takes the entry of an item out of an index; the pages keep checksums that fit."""
        path = f"{self.home}/keychain.db"
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA writable_schema = ON")
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'item_by_place'").fetchone()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        flip(path, (root - 1) * pages.SIZE + 3, 0x5A)
        pages.sum_anew(path)

    def interrupt_key_change(self):
        """Leaves the files of a key change that ended before it had erased the old keys."""
        path = f"{self.home}/device/device.key"
        old = open(path, "rb").read()
        expect(self.run("rotate").code == 0, "rotate")
        new = open(path, "rb").read()
        os.rename(path, f"{path}.{new[26:42].hex()}")
        for name, contents in ((path, old), (f"{path}.{'0' * 32}", old),
                               (f"{self.home}/erase.pending", b"")):
            with open(name, "wb") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(contents)

    def set_lock_state(self):
        """Unlocks the keychain, and locks it if the verb begins so."""
        if self.verb.base == "guarded":
            self.unlock()
            expect(not self.verb.is_locked or self.run("lock").code == 0, "lock")

    def unlock(self):
        outcome = self.run("unlock --passcode-fd {fd}", lines=(ONE,))
        expect(outcome.code == 0, "unlock:", outcome)

    def begin(self):
        """Puts everything back to where the verb begins."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.template, self.folder)
        # The user's quota of keys is small.
        Kernel.forget("", but=(self.identifier, self.world.other))
        if Kernel.held(self.identifier) != self.held:
            # Keys that were replaced fit no copy of the files.
            Kernel.forget(self.identifier)
            self.set_lock_state()
            self.held = Kernel.held(self.identifier)
            shutil.rmtree(self.template)
            shutil.copytree(self.folder, self.template)
        self.key_names, self.files = self.keys(), self.contents()

    def contents(self):
        """Returns the bytes of all files; those that SQLite and locks are made of say nothing."""
        found = {}
        for folder, _, files in os.walk(self.folder):
            for file in files:
                if not file.endswith(("-shm", ".lock")):
                    with open(f"{folder}/{file}", "rb") as opened:
                        found[os.path.relpath(f"{folder}/{file}", self.folder)] = opened.read()
        return found

    def keys(self):
        return Kernel.held(self.identifier), Kernel.held(self.world.other)

    # Commands.

    def run(self, words, input=b"", lines=(), prefix=(), env=None, home=None, watch=None,
            at_terminal=False):
        """Runs a command; `watch` gets the process once it runs."""
        places = {"folder": self.folder, "store": f"{self.folder}/store", "paper": self.paper,
                  "key": f"{self.folder}/given.key", "editor": f"{self.folder}/editor"}
        path = f"{self.world.folder}/lines"
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(line.format(**places) + "\n" for line in lines)
        given = os.open(path, os.O_RDONLY)
        env = {name: value.format(**places) for name, value in (env or {}).items()}
        master, terminal = os.openpty() if at_terminal else (None, None)
        process = self.world.start(
            [*prefix, COMMAND, *(word.format(fd=given, **places) for word in words.split())],
            {"VALET_HOME": home or self.home, "VALET_LOCK_STATE": "kernel",
             "HOME": self.folder, **env},
            stdin=terminal or subprocess.PIPE, stdout=terminal or subprocess.PIPE,
            stderr=subprocess.PIPE, pass_fds=(given,))
        for descriptor in filter(None, (given, terminal)):
            os.close(descriptor)
        if watch:
            watch(process)
        answers = threading.Thread(target=decline, args=[process, master], daemon=True)
        if at_terminal:
            answers.start()
        try:
            outcome = self.world.finish(process, None if at_terminal else input, 60,
                                        words=words.split())
            outcome.out = outcome.out or b""
            return outcome
        finally:
            if at_terminal:
                answers.join()
                os.close(master)

    def run_verb(self, prefix=(), watch=None):
        verb = self.verb
        return self.run(verb.words, verb.input, verb.lines, prefix, verb.env, watch=watch,
                        at_terminal=verb.is_at_terminal)

    def json(self, words, **options):
        outcome = self.run(words, env=self.verb.env, **options)
        try:
            return json.loads(outcome.out)
        except ValueError:
            return {"code": outcome.code}

    def status(self, **options):
        return self.json("status --json", **options)

    # What other processes find.

    def snapshot(self, text, is_whole=True):
        """Returns what other processes find; `text` is what the verb wrote. A whole snapshot looks
        at everything. Each unlocks at the end, and a whole one writes."""
        found = self.looks(APPLICATIONS if is_whole else APPLICATIONS[:1])
        if is_whole:
            found.update(self.looks_beside())
        if self.verb.base == "guarded" or self.verb.changes_keys:
            for passcode in (ONE, TWO):
                outcome = self.run("unlock --passcode-fd {fd}", lines=(passcode,),
                                   env=self.verb.env)
                found[f"unlock with {passcode}"] = (
                    outcome.code if found["state"] != "absent" else None)
            found.update((f"unlocked {key}", value) for key, value in
                         self.items(APPLICATIONS[:1]).items())
        if is_whole:
            found.update(self.looks_while_writing())
        papers = {"given": self.paper, "shown": text.strip()}
        if self.verb.changes_keys and (is_whole or "recovery" in self.verb.words):
            found.update((f"the {name} recovery key", self.opens(paper))
                         for name, paper in papers.items() if re.fullmatch("[V0-9A-Z-]+", paper))
        return found

    def looks(self, applications):
        """What others find without a change."""
        status = self.status()
        found = {name: status.get(name) for name in STATUS}
        if found["epoch"] is not None and self.first_epoch is not None:
            found["epoch"] -= self.first_epoch
        if found["state"] == "noPasscode" and found["items"] == 0 and self.verb.base == "none":
            # An empty keychain is as good as none.
            found = {name: None for name in STATUS} | {"state": "absent", "isReadOnly": False}
        found.update(self.items(applications))
        for name in self.verb.names:
            found[f"history of {name}"] = self.versions(name)
        for field in self.verb.fields:
            key, name = field.split()
            answer = self.run(f"get {key} --field {name}")
            found[f"field {field}"] = answer.code, answer.out
        if self.verb.file:
            found["file"] = self.backup(f"{self.folder}/{self.verb.file}")
        if self.verb.base == "circle" or self.name.startswith("sync"):
            circle = self.json("sync status --json")
            found["circle"] = {name: circle.get(name) for name in
                               ("state", "pending", "unsent", "conflicts", "findings", "code")}
            devices = self.run("sync devices list").out.decode()
            found["devices"] = re.sub("[0-9a-f]{8}", "DEVICE", devices)
        found["other keychain"] = self.status(home=self.world.other_home).get("state")
        return found

    def looks_beside(self):
        removed = self.json("history --json").get("removed", ())
        other = self.run("get mine", home=self.world.other_home)
        return {"removed": sorted((one["name"], one["owner"]) for one in removed),
                "settings": self.json("settings --json"), "other value": (other.code, other.out)}

    def looks_while_writing(self):
        """A write brings to an end what was put off; then nothing is broken."""
        found = {"write": self.run("set later", b"later", env=self.verb.env).code}
        found["erasing after a write"] = self.status().get("isErasePending")
        found["files"] = sorted(
            name for name in self.contents()
            if name.startswith(("home/device/", "home/erase")) and "sharing" not in name)
        doctor = self.json("doctor --json").get("findings", ())
        found["doctor"] = sorted(
            {one["message"] for one in doctor if one["severity"] in ("broken", "damage")})
        return found

    def items(self, applications):
        """The list of all items, and their values by application."""
        listed = self.json("list --all --json")
        self.valued = tuple(f"value {application} " for application in applications)
        found = {"list": sorted(
            tuple(str(one[name]) for name in ("group", "kind", "owner", "name", "accessibility",
                                              "cloud", "byteCount"))
            for one in listed.get("items", ())), "list's code": listed.get("code")}
        for application in applications:
            exported = self.json(f"export --format json --yes --app {application}")
            for one in exported.get("items", ()):
                name = one.get("account"), one.get("service") or one.get("server")
                value = one.get("value", one)
                found[f"value {application} {name}"] = (
                    "any" if name[0] in self.verb.random else value)
        return found

    def versions(self, name):
        found = []
        for one in self.json(f"history {name} --json").get("versions", ()):
            value = self.run(f"get {name} --version {one['version']}", env=self.verb.env)
            found.append((one["reason"], one["byteCount"], value.code, value.out))
        return found

    def backup(self, path):
        if not os.path.exists(path):
            return None
        listed = self.json(f"backup list {path} --passphrase-fd {{fd}} --json",
                           lines=(truthtable.PAPER,))
        return sorted(one["name"] for one in listed.get("items", ())), listed.get("code")

    def opens(self, paper):
        """Whether a recovery key opens a copy of the keychain."""
        tried = f"{self.world.folder}/tried"
        shutil.rmtree(tried, ignore_errors=True)
        shutil.copytree(self.home, tried)
        return self.run("recovery use --recovery-key-fd {fd} --set-passcode --yes --weak",
                        lines=(paper, "x"), home=tried, env=self.verb.env).code

    def difference(self, expected):
        """Returns what is otherwise than expected, as (found, expected)."""
        # What a snapshot has looked at, and values that are missing in it.
        looked = {*self.found, *(key for key in expected if key.startswith(self.valued))}
        return {key: (self.found.get(key), expected.get(key)) for key in sorted(looked)
                if self.found.get(key) != expected.get(key)}

    # Attempts.

    def faults(self):
        """Returns everything that can go wrong at the calls of the verb's own code."""
        self.begin()
        log = f"{self.world.folder}/trace"
        self.run_verb(("strace", "-f", "-o", log, "-e", f"trace={','.join(ERRORS)},prctl,execve"))
        counts, found, first, has_begun = collections.Counter(), [], None, False
        for line in open(log, errors="replace"):
            match = re.match(r"(\d+) +(\w+)\(", line)
            if not match or match[1] != (first := first or match[1]):
                continue
            counts[match[2]] += 1
            # The loader's calls are not the verb's own.
            has_begun = match[2] != "execve" and (has_begun or "PR_SET_DUMPABLE" in line)
            if has_begun and match[2] in ERRORS:
                found += faults(line.strip(), match[2], counts[match[2]])
        expect(len(found) > 20, self.name, "the trace is too short")
        return found

    def attempt(self, fault):
        """Runs the verb with a fault; returns how it ended, and what is untrue about that."""
        self.begin()
        log = f"{self.world.folder}/trace"
        open(log, "w").close()
        outcome = self.run_verb(
            (*fault.options, log),
            (lambda process: self.disturb(process, fault, log)) if fault.stops else None)
        return outcome, list(self.judge(fault, outcome))

    def disturb(self, process, fault, log):
        """Changes names in the keychain's folder once the verb has stopped."""
        # It may wait for its input before.
        if process.stdin:
            process.stdin.write(self.verb.input)
            process.stdin.close()
            process.stdin = None
        if not stops_in_time(process, log):
            return
        if fault.what == INDEX:
            remove(f"{self.home}/keychain.db-shm")
        elif os.path.isdir(self.home):
            open(f"{self.home}/made", "w").close()
            remove(f"{self.home}/passing")
        go_on(process.pid)

    def judge(self, fault, outcome):
        succeeded = outcome.code == self.verb.code
        if not succeeded and outcome.code not in FAILED:
            # 127: an editor cannot be found. 65: what a repair finds is damaged.
            is_fair = {127: self.verb.is_at_terminal, 65: self.verb.damages_index}
            if not is_fair.get(outcome.code):
                yield f"exit {outcome.code}"
        if not succeeded and fault.writes_to(2):
            yield "fails because nobody can read what it says"
        if "closed descriptors" in outcome.err:
            yield "says that other code has closed its descriptors"
        # A helper of docker writes its errors to standard output.
        if not succeeded and not ("error" in outcome.err or outcome.out):
            yield "fails without a word"
        if succeeded and self.verb.code == 0 and not self.is_right(outcome):
            start = max(0, len(os.path.commonprefix((outcome.out, self.answer.out))) - 40)
            yield (f"says {outcome.out[start:start + 200]!r} for "
                   f"{self.answer.out[start:start + 200]!r}")
        # The effect is there, and what cannot be shown is told by the exit.
        is_there = succeeded or fault.writes_to(1) or (
            self.verb.done and self.verb.done in outcome.err)
        expected = self.after if is_there else self.before
        self.found = self.before
        if (self.keys(), self.contents()) != (self.key_names, self.files):
            self.count += 1
            self.found = self.snapshot(outcome.out.decode(errors="replace"), self.count % 6 == 1)
        difference = self.difference(expected)
        if self.verb.may_be_done and not succeeded and not self.difference(self.after):
            difference = {}
        for key in self.told(succeeded, outcome):
            difference.pop(key, None)
        if difference:
            yield f"exit {outcome.code}, and (found, expected): {difference}"

    def told(self, succeeded, outcome):
        """Returns what may be otherwise than expected, because the verb says so."""
        if self.verb.follows_key_change:
            # Told before it, and still to be done.
            return ("isErasePending",)
        if not succeeded:
            # What a key change has begun is erased by the next write.
            begins = self.verb.changes_keys or self.verb.begins_key_change
            return ("isErasePending",) if begins else ()
        if "warning: nothing was sent yet" in outcome.err:
            return ("circle",)
        if "locked for other programs" in outcome.err or "for itself" in outcome.err:
            # All of it has to be there once it is unlocked.
            return [key for key in {*self.found, *self.after}
                    if not key.startswith(("unlock", "epoch", "the ", "other", "erasing"))]
        return ("isErasePending",) if "warning" in outcome.err else ()

    def is_right(self, outcome):
        """Whether a verb that reads has given the right answer."""
        # `status` and `doctor` may warn of what they could not read.
        warnings = (rb'"lockStateWarning":("[^"]*"|null)|'
                    rb'{"severity":"warning","message":"the user.s keyring cannot be used[^}]*},')
        texts = [re.sub(warnings, b"", one.out) for one in (outcome, self.answer)]
        return not self.verb.reads or texts[0] == texts[1]


def decline(process, terminal):
    """Answers no to every question of a command at its terminal."""
    while process.poll() is None:
        os.write(terminal, b"n\n")
        time.sleep(0.1)


class Kernel:
    """The opened keys of keychains in the kernel."""

    @staticmethod
    def held(identifier):
        """Returns the payloads of a keychain's keys by name."""
        found = {}
        for serial, name in Kernel.named(identifier) if identifier else ():
            try:
                found[name] = Keys.read(serial)
            except OSError:
                # It ended since it was listed.
                continue
        return found

    @staticmethod
    def named(identifier):
        """Returns serial and name of each key whose name has the identifier in it."""
        for line in open("/proc/keys"):
            words = line.split()
            if words[7] == "user" and words[8].startswith("valet:") and (
                    identifier in words[8]) and not set("RDi") & set(words[1]):
                yield int(words[0], 16), words[8].removesuffix(":")

    @staticmethod
    def forget(identifier, but=()):
        for serial, name in list(Kernel.named(identifier)):
            if not any(other and other in name for other in but):
                LIBC.syscall(250, 21, serial)  # KEYCTL_INVALIDATE


class Table:
    """Some rows of the table, and what was found untrue."""

    def __init__(self, world, verbs):
        need("strace")
        self.world, self.verbs, self.untrue = world, verbs, []
        world.other_home = f"{world.folder}/other"
        self.seed = int(os.environ.get("VALET_TEST_SEED", "1"))
        self.random = random.Random(self.seed)

    def make_other_keychain(self):
        """Makes a second keychain, which is unlocked and has to stay so."""
        for words in ("set mine", "passcode set --passcode-fd 0"):
            self.run_other(words)
        self.world.other = json.loads(self.run_other("status --json").out)["keychainID"]
        self.unlock_other_keychain()

    def unlock_other_keychain(self):
        self.run_other("unlock --passcode-fd 0")
        self.held = Kernel.held(self.world.other)
        expect(self.held, "the other keychain is locked")

    def run_other(self, words):
        outcome = self.world.run(*words.split(), input=(ONE + "\n").encode(), env={
            "VALET_HOME": self.world.other_home, "VALET_LOCK_STATE": "kernel"})
        expect(outcome.code == 0, "the other keychain:", words, outcome)
        return outcome

    def fill(self):
        self.make_other_keychain()
        names = [name for name in self.verbs if name in CHOSEN or not CHOSEN]
        if not self.world.is_thorough:
            names = self.random.sample(names, min(VERBS, len(names)))
        for name in names:
            row = Row(self.world, name, self.verbs[name])
            found = row.faults()
            end = None if self.world.is_thorough else time.monotonic() + SECONDS / VERBS
            if end:
                self.random.shuffle(found)
            self.fill_row(row, found, end)
        expect(not self.untrue, f"seed {self.seed}:", *("\n" + line for line in self.untrue))

    def fill_row(self, row, found, end):
        outcomes, tried = collections.Counter(), 0
        for fault in found:
            if end and time.monotonic() > end:
                break
            try:
                outcome, untruths = row.attempt(fault)
            except Failure as failure:
                raise Failure(f"{row.name}: {fault}\n  {failure}") from failure
            tried += 1
            outcomes[outcome.code] += 1
            for untruth in untruths:
                self.untrue.append(f"{row.name}: {fault}\n  {untruth}\n  {outcome}")
                print(self.untrue[-1], flush=True)
            if Kernel.held(self.world.other) != self.held:
                self.unlock_other_keychain()
        print(f"{row.name}: {tried} of {len(found)}: {dict(sorted(outcomes.items()))}", flush=True)


# As a user whose kernel keys no other scenario sweeps.
@scenario(users=(ORDINARY,), script=CRASH_TEST)
def reading(world):
    """A verb that reads gives the right answer or fails, whatever system call fails."""
    Table(world, truthtable.READING).fill()


@scenario(users=(ORDINARY,), script=CRASH_TEST)
def items(world):
    """A verb that changes items succeeds if and only if they are changed, whatever call fails."""
    Table(world, truthtable.CHANGING_ITEMS).fill()


@scenario(users=(ORDINARY,), script=CRASH_TEST)
def wholes(world):
    """A verb that changes the keychain as a whole succeeds if and only if it is changed."""
    Table(world, truthtable.CHANGING_ALL).fill()


@scenario(users=(ORDINARY,), script=CRASH_TEST)
def keys(world):
    """A verb that changes keys succeeds if and only if they are changed, whatever call fails."""
    Table(world, truthtable.CHANGING_KEYS).fill()
