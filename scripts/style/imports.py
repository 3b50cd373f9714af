# SPDX-License-Identifier: Apache-2.0
"""Imports follow Package.swift: a module imports what its target depends on, and system modules as
listed here. Each check yields (line, rule, message)."""

import re

# Modules of the system, beside Glibc and Synchronization, which every module may import.
SYSTEM = {
    "Foundation": "SecItem CoreFoundationNames AppleKeychainRequests Valet KeychainSwift"
                  " ValetTesting LocalAuthentication",
    "Dispatch": "KeychainServices", "Testing": "ValetTesting",
}
# Apple's own modules, in the files that are about Apple's systems.
APPLE = (r".*/(?:AppleOrLinux\+\w+|\w+\+ObjectiveC)\.swift "
         r"(?:Security|LocalAuthentication|Darwin|ObjectiveC)")
# Tests that see into another module: those of attacks forge messages, those of sessions inspect the
# store, those of SecItem make items and answer questions, those of the store damage rows and keys.
TESTABLE = {
    ("SyncAgentTests", "Sync"), ("KeychainServicesTests", "KeychainStore"),
    ("SecItemTests", "KeychainStore"), ("SecItemTests", "KeychainServices"),
    ("KeychainStoreTests", "KeychainDatabase"), ("KeychainStoreTests", "Keys"),
    ("CommandTestSupport", "ValetCLI"),
}
_IMPORT = (r"^ *((?:@\w+(?:\([^)]*\))? )*)"
           r"(?:\w+ )?import (?:(?:struct|class|enum|protocol|typealias|func|var|let)\s+)?(\w+)")
_TARGET = (r'(?:library|program)\(\s*"(\w+)"(?:,\s*\[([^\]]*)\])?'
           r'(?:,\s*optional: \[([^\]]*)\])?')
_TESTS = r'tests\(\s*"(\w+)", of: "(\w+)"'
_FLOOR = r'"(\w+)": \[([^\]]*)\]'


class Modules:
    """What each folder of Sources may import, as the manifest has it."""

    def __init__(self, manifest):
        floors = manifest.partition("let floors = [")[2].partition("\n]")[0]
        self._floors = {}
        for number, (_, names) in enumerate(re.findall(_FLOOR, floors)):
            self._floors.update(dict.fromkeys(re.findall(r'"(\w+)"', names), number))
        self.folders = set(self._floors)
        self._tested = dict(re.findall(_TESTS, manifest))
        self._allowed = {}
        for match in re.finditer(_TARGET, manifest):
            names = re.findall(r'"(\w+)"', (match[2] or "") + (match[3] or ""))
            self._allowed.setdefault(match[1], set()).update(map(self.folder, names))

    def floor(self, folder):
        """The number of a module's floor, the lowest first; nothing is below a name of others."""
        return self._floors.get(folder, -1)

    def tested(self, file):
        """The module that the tests in a file are for."""
        subject = file.module.removesuffix("Tests")
        return self._tested.get(subject, subject)

    def folder(self, module):
        """The folder of a module, which lacks the prefix that makes the module's name unique."""
        return module[5:] if module.startswith("Valet") and module[5:] in self.folders else module

    def may_import(self, file, name):
        if name in SYSTEM:
            return file.module in SYSTEM[name].split()
        return (name in ("Glibc", "Synchronization")
                or re.fullmatch(APPLE, f"{file.path} {name}")
                or name in self._allowed.get(file.module, ()))


def check(file, modules):
    for line, match in file.matches(_IMPORT):
        attributes, imported = match.groups()
        name = modules.folder(imported)
        is_testable = modules.tested(file) == name or (file.module, name) in TESTABLE
        if "@testable" in attributes and not is_testable:
            yield line, "testable", f"@testable {imported} belongs into Tests/{name}Tests"
        if file.top == "Sources" and not modules.may_import(file, name):
            yield line, "import", f"the target of {file.module} does not depend on {name}"
        if file.top == "Sources" and modules.floor(name) > modules.floor(file.module):
            yield line, "floor", f"{name} is on a floor above that of {file.module}"
