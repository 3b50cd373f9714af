# SPDX-License-Identifier: Apache-2.0
"""The exceptions of this package. `_library.call` makes them of what the C library reports."""

from __future__ import annotations

import enum
from typing import Optional


class Reason(enum.IntEnum):
    """What a program can do about a failure, beyond its status: VALET_REASON_… of the C library."""

    OTHER = 0
    BUSY = 1
    """Another process kept the keychain busy until the deadline: try again."""
    DAMAGED = 2
    """The item or the keychain is damaged: the command `valet doctor` says more."""
    KEY_UNAVAILABLE = 3
    """The device key is missing, or belongs to another keychain."""
    NEWER_FORMAT = 4
    """A newer version of the library wrote the keychain."""
    NO_PASSCODE = 5
    """The accessibility needs a passcode, and none is set."""
    LOCKED = 6
    """The keychain is locked."""
    FILES = 7
    """Files are missing, unsafe or read-only, or the disk fails."""
    DISK_FULL = 8
    UNPROTECTED = 9
    """The keychain is protected less than the process requires."""
    NO_MEMORY = 10
    NO_ANSWER = 11
    """The function of a migration returned none of its answers."""


class KeychainError(Exception):
    """A call of the keychain failed. Every exception of this package is of this class.

    `str()` of it says what failed and what helps. It never contains a secret.
    """

    status: int
    """The OSStatus of the C library. 0 if this package refused the call itself."""
    message: str
    """What failed, and why."""
    hint: str
    """What to do about it. It may be empty."""
    reason: int = Reason.OTHER
    """A `Reason`, or a number that is newer than this package. A `MigrationError` has its own."""

    def __init__(self, message: str = "", status: int = 0, hint: str = "") -> None:
        super().__init__(message, status, hint)
        self.message, self.status, self.hint = message, status, hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class DamageWarning(UserWarning):
    """A list of keys is incomplete, because items are damaged: `valet doctor` says more.

    `warnings.simplefilter("error", valet.DamageWarning)` turns it into an exception.
    """


class ItemNotFound(KeychainError, KeyError):
    """Nothing is stored under that key."""


class UserCancelled(KeychainError):
    """The user declined."""


class AuthenticationFailed(KeychainError):
    """The user could not authenticate, or the passcode is wrong."""


class MissingEntitlement(KeychainError):
    """The application may not use that access group. `configure` names its groups."""


class KeychainLocked(KeychainError):
    """The keychain is locked, or reading the value needs the user and the call may not ask."""


class NotAvailable(KeychainError):
    """The keychain is damaged, busy, unreadable, or below the required protection level."""


class DuplicateItem(KeychainError):
    """An item with that name exists already."""


class InvalidArgument(KeychainError, ValueError):
    """An argument is wrong: an empty key, an empty value, or a value out of range."""


class NotText(KeychainError, ValueError):
    """The stored value is not text in UTF-8."""


class MigrationReason(enum.IntEnum):
    """Why items were not migrated. The numbers are those of VALMigrationError."""

    INVALID_QUERY = 0
    KEY_INVALID = 1
    VALUE_INVALID = 2
    DUPLICATE_KEY = 3
    KEY_EXISTS_ALREADY = 4
    REMOVAL_FAILED = 5


class MigrationError(KeychainError):
    """Items were not migrated. The keychain is unchanged."""

    reason: Optional[MigrationReason]  # type: ignore[assignment]
    """The reason. None if it is newer than this package."""

    def __init__(
        self, message: str = "", status: int = 0, hint: str = "", code: int = -1
    ) -> None:
        super().__init__(message, status, hint)
        self.args = (message, status, hint, code)
        known = code in tuple(MigrationReason)
        self.reason = MigrationReason(code) if known else None


_CLASSES: dict[int, type[KeychainError]] = {
    -128: UserCancelled,
    -50: InvalidArgument,
    -25291: NotAvailable,
    -25293: AuthenticationFailed,
    -25299: DuplicateItem,
    -25300: ItemNotFound,
    -25308: KeychainLocked,
    -34018: MissingEntitlement,
}
_DOMAIN_MIGRATION = 2


def failure(
    status: int, domain: int, code: int, message: str, hint: str, reason: int = 0
) -> KeychainError:
    """The exception for what `valet_last_error` reported. Unknown statuses get the base class."""
    if domain == _DOMAIN_MIGRATION:
        return MigrationError(message, status, hint, code)
    made = _CLASSES.get(status, KeychainError)(message, status, hint)
    made.reason = Reason(reason) if reason in tuple(Reason) else reason
    return made
