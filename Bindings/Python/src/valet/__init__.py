# SPDX-License-Identifier: Apache-2.0
"""Valet's encrypted keychain for Linux, in Python.

    import valet

    valet.configure("com.example.mailer")
    mailer = valet.Valet("Mailer", accessibility=valet.Accessibility.AFTER_FIRST_UNLOCK)
    mailer.set_text("mail-password", "correct horse battery staple")
    with mailer.secret("mail-password") as password:    # a memoryview, wiped at the end
        ...

The names mean what they mean in Swift, and both read the same items. Calls are synchronous and
safe from every thread. They need the library libvalet.so.0, which the first call loads.
`valet.keyring` is a backend for the package `keyring`.
"""

from .errors import (
    AuthenticationFailed,
    DamageWarning,
    DuplicateItem,
    InvalidArgument,
    ItemNotFound,
    KeychainError,
    KeychainLocked,
    MigrationError,
    MigrationReason,
    MissingEntitlement,
    NotAvailable,
    NotText,
    Reason,
    UserCancelled,
)
from .keychain import (
    Accessibility,
    LockState,
    ProtectionLevel,
    State,
    configure,
    lock,
    state,
    unlock,
    version,
    wait,
)
from .migration import Pair
from .secret import Secret
from .valets import AccessControl, SecureEnclaveValet, SinglePromptSecureEnclaveValet, Valet

__all__ = [
    "AccessControl",
    "Accessibility",
    "AuthenticationFailed",
    "DamageWarning",
    "DuplicateItem",
    "InvalidArgument",
    "ItemNotFound",
    "KeychainError",
    "KeychainLocked",
    "LockState",
    "MigrationError",
    "MigrationReason",
    "MissingEntitlement",
    "NotAvailable",
    "NotText",
    "Pair",
    "ProtectionLevel",
    "Reason",
    "Secret",
    "SecureEnclaveValet",
    "SinglePromptSecureEnclaveValet",
    "State",
    "UserCancelled",
    "Valet",
    "configure",
    "lock",
    "state",
    "unlock",
    "version",
    "wait",
]
