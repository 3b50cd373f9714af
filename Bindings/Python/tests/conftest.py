# SPDX-License-Identifier: Apache-2.0
"""Gives the tests a keychain of their own, before the library looks for one."""

import itertools
import os
import shutil
import tempfile

import pytest

import support
import valet

_folder = tempfile.mkdtemp(prefix="keychain.")
os.environ["VALET_HOME"] = _folder
# Opened keys stay in their process, so that no test meets those of another.
os.environ["VALET_LOCK_STATE"] = "process"
_numbers = itertools.count()


def pytest_sessionstart(session):
    from valet.keyring import GROUP

    valet.configure(support.APPLICATION, groups=[support.APPLICATION, support.TEAM, GROUP])


def pytest_sessionfinish(session):
    shutil.rmtree(_folder)


@pytest.fixture
def identifier():
    """An identifier that no other test uses."""
    return f"sandbox {next(_numbers)}"


@pytest.fixture
def mailer(identifier):
    """An empty valet."""
    return valet.Valet(identifier)


@pytest.fixture
def home(tmp_path):
    """A folder for the keychain of other processes."""
    path = tmp_path / "home"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture(scope="session")
def protected_keychain(tmp_path_factory):
    """A keychain that has a passcode, which takes long to make."""
    path = tmp_path_factory.mktemp("protected") / "home"
    path.mkdir(mode=0o700)
    support.set_passcode(path)
    return path


@pytest.fixture
def protected_home(home, protected_keychain):
    """A folder with a keychain that has a passcode."""
    shutil.copytree(protected_keychain, home, dirs_exist_ok=True)
    return home
