# SPDX-License-Identifier: Apache-2.0
"""Which module may import which: the arrows of docs/ARCHITECTURE.md."""

import re

ALLOWED = {
    "KeychainModel": "",
    "SecretMemory": "CSodium CLinux",
    "Sealing": "CSodium SecretMemory",
    "System": "CLinux",
    "Database": "CSQLite System",
    "UserPresence": "CLinux SecretMemory System",
    "Fingerprint": "Sealing System",
    "TPM": "CTPM2 CLinux SecretMemory Sealing System",
    "Keybag": "KeychainModel SecretMemory Sealing System",
    "LockState": "CLinux KeychainModel Keybag SecretMemory Sealing System",
    "Backup": "KeychainModel SecretMemory Sealing System",
    "Sync": "KeychainModel Keybag SecretMemory Sealing",
    "SyncStores": "KeychainModel Sealing Sync System",
    "EtcdStore": "CCurl KeychainModel SecretMemory Sync SyncStores System FoundationEssentials",
    "KeychainRows": "Database KeychainModel Keybag SecretMemory Sealing System",
    "KeychainKeys": "Backup Database KeychainModel KeychainRows Keybag LockState SecretMemory"
                    " Sealing System TPM",
    "KeychainStore": "Backup Database KeychainKeys KeychainModel KeychainRows Keybag LockState"
                     " SecretMemory Sealing System TPM",
    "KeychainSync": "Database KeychainKeys KeychainModel KeychainRows KeychainStore Keybag"
                    " SecretMemory Sealing Sync System",
    "SyncAgent": "Keybag KeychainKeys KeychainModel KeychainRows KeychainStore KeychainSync"
                 " Sealing Sync SyncStores System",
    "KeychainServices": "Dispatch Fingerprint KeychainKeys KeychainModel KeychainRows"
                        " KeychainStore SecretMemory System UserPresence",
    "SecItem": "KeychainModel KeychainRows KeychainServices KeychainStore SecretMemory System"
               " Foundation",
    "CoreFoundationNames": "KeychainModel KeychainServices SecItem Foundation",
    "SecItemRequests": "CoreFoundationNames KeychainModel SecItem Foundation",
    "Valet": "KeychainModel KeychainServices KeychainStore SecItem SecItemRequests SecretMemory"
             " Foundation",
    "KeychainSwift": "KeychainModel KeychainServices KeychainStore SecItem SecItemRequests"
                     " SecretMemory Foundation",
    "ValetTesting": "KeychainKeys KeychainModel KeychainRows KeychainServices KeychainStore"
                    " Foundation Testing",
    "LocalAuthentication": "CoreFoundationNames KeychainModel KeychainServices SecItem"
                           " Foundation",
    "Security": "CoreFoundationNames KeychainModel KeychainServices SecItem",
    "ValetCLI": "CLinux KeychainKeys KeychainModel KeychainServices KeychainStore SecretMemory"
                " UserPresence",
    "CInterface": "CInterfaceHeader KeychainModel KeychainServices KeychainStore SecretMemory"
                  " System UserPresence",
    "ValetCommand": "ValetCLI",
    "ClientsCommand": "Database KeychainModel KeychainServices KeychainStore SecretMemory System"
                      " UserPresence ValetCLI",
    "SyncCommand": "EtcdStore Keybag KeychainKeys KeychainModel KeychainServices KeychainStore"
                   " KeychainSync SecretMemory Sync SyncAgent SyncStores System UserPresence"
                   " ValetCLI",
}
# The folders in Sources.
FOLDERS = set(ALLOWED).union(*(names.split() for names in ALLOWED.values())) - {"Testing"}
# The names that code for Apple's systems imports.
RE_EXPORTS = ("LocalAuthentication", "Security")
ANYWHERE = {"Glibc", "Synchronization"}
# `@testable import` of a module by another module's tests, and why.
TESTABLE = {
    # Tests of attacks forge messages that no device builds.
    ("SyncAgentTests", "Sync"),
    # Tests of sessions inspect the session's store.
    ("KeychainServicesTests", "KeychainStore"),
    # Makes items like those that the store returns, which only the store can make.
    ("SecItemTests", "KeychainStore"),
    # Replaces the questions to the user, and the states of keychains, below dictionaries and
    # contexts.
    ("SecItemTests", "KeychainServices"),
    # Tests of the store damage the rows of a keychain, and delay its keys.
    ("KeychainStoreTests", "KeychainKeys"),
    ("KeychainStoreTests", "KeychainRows"),
    # Changes a keybag and makes its MAC valid, as a later version may.
    ("KeychainStoreTests", "Keybag"),
}
# Headers whose functions a module implements: their types are in its declarations.
IMPLEMENTED = {("CInterface", "CInterfaceHeader")}
# Apple's own modules, in the files that are about Apple's systems.
APPLE = {
    "Sources/SecItemRequests/Platform.swift": {"Security"},
    "Sources/Valet/Platform.swift": {"LocalAuthentication", "Darwin"},
    "+ObjectiveC.swift": {"ObjectiveC"},
}

# Names that are re-exported: those that Apple's systems have everywhere and that users of the
# module compare with, and types of lower modules that a product shows, so that users see their
# members.
EXPORTED = {("Sources/KeychainSwift/Platform.swift", "KeychainServices", "noErr"),
            ("Sources/KeychainSwift/Platform.swift", "KeychainServices", "OSStatus"),
            ("Sources/KeychainSwift/Platform.swift", "KeychainModel", "KeychainFailure"),
            ("Sources/Valet/Platform.swift", "KeychainModel", "KeychainFailure"),
            ("Sources/Valet/Platform.swift", "KeychainServices", "ValetKeychain")}

_KINDS = r"(?:(?:struct|class|enum|protocol|typealias|func|var|let|actor)\s+)?"
_IMPORT = (r"^ *((?:@\w+(?:\([^)]*\))? )*)"
           r"(?:(public|package|internal|fileprivate|private) )?import " + _KINDS
           + r"(\w+)(?:\.(\w+))?")
_TARGET = r'library\(\s*"(\w+)"\s*,\s*\[([^\]]*)\]'


def folder(module):
    """The folder of a module, which lacks the prefix that makes the module's name unique."""
    return module[5:] if module.startswith("Valet") and module[5:] in FOLDERS else module


def check(file):
    for line, match in file.matches(_IMPORT):
        attributes, access, imported, member = match.groups()
        name = folder(imported)
        is_exported = file.module in RE_EXPORTS or (file.path, name, member) in EXPORTED
        if "@_exported" in attributes and not is_exported:
            yield line, "exported-import", f"only {' and '.join(RE_EXPORTS)} re-export"
        if "@_spi" in attributes:
            yield line, "spi", "@_spi is not used"
        is_testable = file.module == name + "Tests" or (file.module, name) in TESTABLE
        if "@testable" in attributes and not is_testable:
            yield line, "testable", f"@testable {imported} belongs into Tests/{name}Tests"
        if file.top != "Sources":
            continue
        if not _is_allowed(file, name):
            yield line, "import", f"{file.module} may not import {name}"
        elif (re.match(r"C[A-Z]", name) and access != "internal"
              and (file.module, name) not in IMPLEMENTED):
            yield line, "c-import", f"a C module is imported by `internal import {imported}`"


def check_manifest(text):
    """Package.swift may not give a module more than the table does."""
    for match in re.finditer(_TARGET, text):
        module, names = match.group(1), re.findall(r'"(\w+)"', match.group(2))
        for name in names:
            if module in ALLOWED and name not in ALLOWED[module].split():
                yield (text.count("\n", 0, match.start()) + 1, "manifest",
                       f"{module} may not depend on {name}")


def _is_allowed(file, name):
    for ending, names in APPLE.items():
        if file.path.endswith(ending) and name in names:
            return True
    if file.module not in ALLOWED:
        return True  # reported once, by the rule `module`
    return name in ANYWHERE or name in ALLOWED[file.module].split()
