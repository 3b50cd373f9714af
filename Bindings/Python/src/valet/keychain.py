# SPDX-License-Identifier: Apache-2.0
"""The keychain of this process: its identity and its lock state."""

from __future__ import annotations

import enum
import time
from collections.abc import Iterable
from ctypes import byref, c_int32
from typing import NamedTuple, Optional, Union

from . import _library
from ._library import Buffer, call
from .errors import KeychainLocked


class Accessibility(enum.IntEnum):
    """When values can be read. It is part of a valet's name. The numbers are VALAccessibility's."""

    WHEN_UNLOCKED = 1
    AFTER_FIRST_UNLOCK = 2
    ALWAYS = 3
    """Retired: only a source of migrations."""
    WHEN_PASSCODE_SET_THIS_DEVICE_ONLY = 4
    WHEN_UNLOCKED_THIS_DEVICE_ONLY = 5
    AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY = 6
    ALWAYS_THIS_DEVICE_ONLY = 7
    """Retired: only a source of migrations."""


class LockState(enum.IntEnum):
    """How far the keychain can be used."""

    ABSENT = 0
    """There is no keychain yet. The first item that is stored makes it."""
    UNLOCKED = 1
    LOCKED = 2
    """Items of the accessibilities AFTER_FIRST_UNLOCK… can be read, others cannot."""
    BEFORE_FIRST_UNLOCK = 3
    """Nobody has unlocked the keychain since the machine started."""
    NO_PASSCODE = 4
    """There is no passcode, so everything can be read at all times."""
    KEY_UNAVAILABLE = 5
    """The device key cannot be read, or belongs to another keychain."""
    INCOMPLETE = 6
    """One of the keychain's two files is missing."""


class ProtectionLevel(enum.IntEnum):
    """What a thief of the disk has to overcome."""

    NONE = -1
    """There is no keychain yet."""
    FILE = 1
    CREDENTIAL = 2
    PASSCODE = 3
    TPM = 4
    TPM_AND_PASSCODE = 5


class State(NamedTuple):
    """The keychain at one moment. Numbers that are newer than this package stay plain."""

    lock_state: Union[LockState, int]
    protection_level: Union[ProtectionLevel, int]


def version() -> tuple[int, int, int]:
    """The version of the C library: major, minor, patch."""
    numbers = c_int32(), c_int32(), c_int32()
    call("valet_version", *map(byref, numbers))
    major, minor, patch = (number.value for number in numbers)
    return major, minor, patch


def configure(application: str, groups: Iterable[str] = ()) -> None:
    """Names this program. Call it before anything else uses the keychain.

    `application` is the name under which the program's items are kept, as `com.example.mailer`.
    `groups` are the access groups that it shares with other programs, each with its prefix, as
    `group.com.example`. Items that name no group go to the first of `groups`, or else to the
    application's own group. To keep both, put the application first: `["Mailer", "group.team"]`.

    Raises InvalidArgument if the process uses the keychain under another name already.
    """
    if isinstance(groups, str):
        raise TypeError("groups must be several texts, not one str")
    _library.configure(application, tuple(groups))


def state() -> State:
    """The lock state and the protection level. Creates nothing and asks nobody."""
    _library.require_identity()
    lock_state, level = c_int32(), c_int32()
    call("valet_state", byref(lock_state), byref(level))
    return State(
        _known(LockState, lock_state.value), _known(ProtectionLevel, level.value))


def wait(accessibility: Accessibility, deadline: float) -> None:
    """Waits until values of that accessibility can be read, for at most `deadline` seconds.

    Raises KeychainLocked if they cannot be read by then.
    """
    _library.require_identity()
    number = _library.fitting(accessibility, 32, "the accessibility")
    end = time.monotonic() + _library.milliseconds(deadline, "the deadline") / 1000
    while True:
        left = max(0.0, end - time.monotonic())
        # In short turns: Python runs signal handlers, as that of Ctrl-C, only between calls.
        turn = min(left, 0.25)
        try:
            return call("valet_wait", number, _library.milliseconds(turn, "the deadline"))
        except KeychainLocked:
            if left <= turn:
                raise


def unlock(
    passcode: Union[str, Buffer], duration: Optional[float] = None,
    auto_lock: Optional[float] = None,
) -> None:
    """Unlocks the keychain.

    It locks after `duration` seconds, and when no program has used it for `auto_lock` seconds.
    None is without a limit. Raises AuthenticationFailed if the passcode is wrong.
    """
    _library.require_identity()
    limits = [_limit(duration, "the duration"), _limit(auto_lock, "the automatic lock")]
    given = _library.utf8(passcode, "the passcode") if isinstance(passcode, str) else passcode
    with _library.lent(given) as (bytes_, length):
        call("valet_unlock", bytes_, length, *limits)


def lock(all: bool = False) -> None:
    """Locks the keychain for every program. `all` locks as a restart does."""
    _library.require_identity()
    call("valet_lock", int(all))


def _limit(seconds: Optional[float], what: str) -> int:
    """Milliseconds; 0 is no limit, so a limit is at least 1."""
    return 0 if seconds is None else max(1, _library.milliseconds(seconds, what))


def _known(kind: type[enum.IntEnum], number: int) -> int:
    return kind(number) if number in tuple(kind) else number
