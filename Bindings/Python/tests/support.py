# SPDX-License-Identifier: Apache-2.0
"""What several tests call: programs in processes of their own, and what a machine may lack."""

import contextlib
import importlib.util
import os
import pathlib
import sqlite3
import subprocess
import sys

import pytest

APPLICATION = "com.example.python-tests"
TEAM = "group.com.example.team"
PASSCODE = "open sesame"


def require(condition, reason):
    """Skips the test unless `condition` holds. In CI, and with REQUIRE_ALL=1, the test fails."""
    if not condition:
        if os.environ.get("CI") or os.environ.get("REQUIRE_ALL") == "1":
            pytest.fail(reason)
        pytest.skip(reason)


def valet_command(*arguments, data=b"", home=None, descriptor=None, **variables):
    """Runs the command `valet` with `data` as its standard input. Returns its standard output."""
    path = os.environ.get("VALET_TEST_COMMAND", "")
    require(path, "VALET_TEST_COMMAND does not name the command valet")
    return run([path, *arguments], data, home, descriptor, variables)


def python(code, *arguments, home=None, **variables):
    """Runs a Python program. Returns its standard output without white space at its ends."""
    program = [sys.executable, "-X", "faulthandler", "-W", "error", "-c", code, *arguments]
    return run(program, b"", home, None, variables).decode().strip()


def run(program, data=b"", home=None, descriptor=None, variables=None):
    """Runs a program for at most a minute. Fails the test unless it exits with 0."""
    environment = {**os.environ, **(variables or {})}
    if home is not None:
        environment["VALET_HOME"] = str(home)
    done = subprocess.run(
        program, input=data, env=environment, timeout=60, capture_output=True,
        pass_fds=() if descriptor is None else (descriptor,))
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


def set_passcode(home):
    """Protects the keychain in `home` with `PASSCODE`. Each process has to unlock it then."""
    reading, writing = os.pipe()
    try:
        os.write(writing, PASSCODE.encode())
        os.close(writing)
        valet_command(
            "passcode", "set", "--passcode-fd", str(reading), home=home, descriptor=reading)
    finally:
        os.close(reading)


def damage_first_item(home):
    """Damages the item that was stored first, in a keychain that no process uses."""
    path = home / "keychain.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(
            "UPDATE item SET salt = salt + 1 WHERE number = (SELECT min(number) FROM item)")
    # The changed pages get checksums that fit.
    root = pathlib.Path(__file__).resolve().parents[3]
    source = root / "Tests/IntegrationTests/scenarios/pages.py"
    specification = importlib.util.spec_from_file_location("pages", source)
    pages = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(pages)
    pages.sum_anew(path)
