# SPDX-License-Identifier: Apache-2.0
"""What a passcode, the user's presence and a TPM cost, and how soon a locked keychain answers."""

import os
import statistics
import subprocess
import tempfile

from .suite import ROOT, table


def measure(suite):
    """Prints tables; returns what exceeds its limit."""
    with tempfile.TemporaryDirectory(dir=suite.folder) as work:
        # The user: a pinentry that always answers.
        pinentry = os.path.join(work, "pinentry")
        os.symlink(os.path.join(ROOT, "Tests/Platform/UserPresenceTests/fake-pinentry"), pinentry)
        with open(os.path.join(work, "answers"), "w", encoding="utf-8") as file:
            file.write("PIN benchmark\n")
        # As in a login session: an unlock opens the keychain for all programs.
        os.environ.update(VALET_PINENTRY=pinentry, VALET_LOCK_STATE="kernel")
        failures = _reads(suite, work)
        if "SWTPM_SOCKET" in os.environ:
            os.environ.update(VALET_LOCK_STATE="process",
                              VALET_TEST_TPM=os.environ["SWTPM_SOCKET"])
            _tpm(suite, work)
        return failures


def _tell(suite, home, *commands):
    """The answers of another program that is told to change or time the keychain at `home`."""
    done = subprocess.run([suite.agent, "1"], input="\n".join([*commands, ""]), text=True,
                          stdout=subprocess.PIPE, check=True,
                          env=dict(os.environ, VALET_HOME=home))
    for answer in done.stdout.splitlines():
        if not answer.startswith("ok"):
            raise SystemExit(f"benchmark: error: {commands}: {answer}")
    return [answer.removeprefix("ok ") for answer in done.stdout.splitlines()]


def _reads(suite, work):
    """Reads in turns: without a passcode and unlocked; of plain items, of items that any proof
    opens (gated), and of items that are bound to the passcode."""
    folders = [os.path.join(work, name) for name in ("open", "unlocked")]
    for folder in folders:
        os.mkdir(folder)
        suite.run("populate", 1000, folder)
    home = os.path.join(folders[1], "keychain")
    _tell(suite, home, "passcode set benchmark")
    try:
        turns = [[float(suite.run("get", 1000, folder)[0]) for folder in folders]
                 for _ in range(5)]
        plain, unlocked = map(statistics.median, zip(*turns))
        found = [["get, unlocked", plain, unlocked, unlocked / plain]]
        for kind in ("gated", "bound"):
            words = suite.run(kind, 20000, folders[1])[0].split()
            found.append([f"get, {kind}", *map(float, words)])
        _tell(suite, home, "lock")
        answer, slowest = map(float, suite.run("locked", 1, folders[1])[0].split())
    finally:
        # Leave no keys in the kernel.
        _tell(suite, home, "lock all")
    print(table([["measure", "plain, µs", "protected, µs", "ratio"], *found]))
    print(table([["measure", "median, µs", "slowest, µs"], ["locked answer", answer, slowest]]))
    failures = [f"{name} costs over {limit} plain ones"
                for (name, *_, ratio), limit in zip(found, (1.3, 2, 2)) if ratio > limit]
    return failures + ["a locked answer takes more than 5 ms"] * (answer > 5000)


def _tpm(suite, work):
    """Medians of five keychains each, with and without a TPM. A passcode is stretched at its full
    cost, as for a person."""
    columns = []
    for way in ("rotate", "bind"):
        times = []
        for number in range(5):
            home = os.path.join(work, f"{way}-{number}")
            _tell(suite, home, "classes")
            change, = _tell(suite, home, f"time {way} -")
            read, = _tell(suite, home, "time read")
            passcode, _, unlock = _tell(suite, home, "time passcode benchmark", "lock all",
                                        "time unlock benchmark")
            times.append(map(float, (change, read, passcode, unlock)))
        columns.append(map(statistics.median, zip(*times)))
    names = ("rotate, bind --tpm", "get, new process", "passcode set", "unlock")
    print(table([["measure", "no TPM, ms", "swtpm, ms"], *zip(names, *columns)]))
