# SPDX-License-Identifier: Apache-2.0
"""The backend for the package `keyring`, which finds it by its entry point.

A password is an item of the access group `group.keyring`, in a valet whose identifier is the
service, under the username. So every program that uses keyring sees it, and so does the command:
`valet list --group group.keyring`, `valet get --group group.keyring --id SERVICE USERNAME`.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Optional

from keyring import credentials, errors
from keyring.backend import KeyringBackend

from . import _library
from .errors import ItemNotFound, KeychainError, KeychainLocked, Reason
from .valets import Valet

GROUP = "group.keyring"


class _Priority:
    """A property of the class, as keyring wants it: raises RuntimeError if it cannot be used."""

    def __get__(self, instance: object, owner: type) -> float:
        try:
            _library.library()
        except OSError as error:
            _log(_without_library(error))
            raise RuntimeError(_without_library(error)) from error
        # Below the desktop's keyrings (KWallet, libsecret, Secret Service: 4.8 to 5.1), which keep
        # what they have. Above plain files (at most 1) and what keyring calls unusable (0).
        return 4


class Keyring(KeyringBackend):
    """Passwords in Valet's keychain: without a desktop, a session bus, or set-up."""

    name = "Valet"
    priority: Any = _Priority()

    def get_password(self, service: str, username: str) -> Optional[str]:
        with _reported(errors.InitError):
            return _password(_valet(service), _stored(username))

    def set_password(self, service: str, username: str, password: str) -> None:
        with _reported(errors.PasswordSetError):
            _valet(service).set_text(_stored(username), _stored(password))

    def delete_password(self, service: str, username: str) -> None:
        with _reported(errors.PasswordDeleteError):
            valet, key = _valet(service), _stored(username)
            if not valet.contains(key):
                raise errors.PasswordDeleteError("no such password")
            valet.remove(key)

    def get_credential(
        self, service: str, username: Optional[str]
    ) -> Optional[credentials.Credential]:
        """The credential of `username`. For None that of the service's first user, by name: an
        error if a damaged item may be it."""
        with _reported(errors.InitError):
            valet = _valet(service)
            keys = valet._all_keys() if username is None else [_stored(username)]
            for key in keys:
                password = _password(valet, key)
                if password is not None:
                    return credentials.SimpleCredential(_given(key), password)
            return None


def _valet(service: str) -> Valet:
    groups = _library.configured_groups()
    if groups is None:
        _library.configure("keyring", ("keyring", GROUP), for_keyring=True)
    elif GROUP not in groups:
        raise errors.InitError(
            f"this program has no access to {GROUP}; "
            f"call valet.configure(NAME, groups=[NAME, '{GROUP}']) to use keyring in it")
    return Valet(_stored(service), group=GROUP)


def _password(valet: Valet, key: str) -> Optional[str]:
    try:
        return _given(valet.get_text(key))
    except ItemNotFound:
        return None


def _stored(text: str) -> str:
    """`text` as the keychain takes it, which refuses the empty one. No two texts become one."""
    return "\0" + text if text[:1] in ("", "\0") else text


def _given(text: str) -> str:
    """The text that `_stored` made `text` of."""
    return text[1:] if text.startswith("\0") else text


def _without_library(error: OSError) -> str:
    return (
        f"Valet's keychain is not available: {_library.SONAME} cannot be loaded ({error}); "
        "install libvalet, or name its folder in LD_LIBRARY_PATH")


@functools.lru_cache(maxsize=None)
def _log(reason: str) -> None:
    """Logs, once, why this backend is not available. keyring drops the exception that says so, and
    tells its user only that there is no backend."""
    logging.getLogger(__name__).warning("%s", reason)


def _told(error: KeychainLocked) -> str:
    """What is locked, and what a program's user can do, who cannot change the program's calls."""
    if error.reason != Reason.LOCKED or "`valet unlock`" in error.hint:
        return str(error)
    return (
        f"{error.message}; set $VALET_PASSCODE_FD to a descriptor that supplies the passcode, "
        "because each process unlocks for itself here, and `valet unlock` for none")


@contextmanager
def _reported(kind: type[errors.KeyringError]) -> Iterator[None]:
    """Turns failures of the keychain into those of keyring: KeyringLocked, or else `kind`."""
    try:
        yield
    except KeychainLocked as error:
        raise errors.KeyringLocked(_told(error)) from error
    except KeychainError as error:
        raise kind(str(error)) from error
    except OSError as error:
        raise kind(_without_library(error)) from error
