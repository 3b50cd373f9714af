# SPDX-License-Identifier: Apache-2.0
"""Imports follow Package.swift: a module imports what its target depends on, and system modules as
listed here. Each check yields (line, rule, message)."""

import re

# Modules of the system, beside Glibc and Synchronization, which every module may import.
SYSTEM = {
    "Foundation": "SecItem CoreFoundationNames SecItemRequests Valet KeychainSwift ValetTesting"
                  " LocalAuthentication",
    "Dispatch": "KeychainServices", "Testing": "ValetTesting",
}
# Apple's own modules, in the files that are about Apple's systems.
APPLE = r".*/(?:Platform|\w+\+ObjectiveC)\.swift (?:Security|LocalAuthentication|Darwin|ObjectiveC)"
# Tests that see into another module: those of attacks forge messages, those of sessions inspect the
# store, those of SecItem make items and answer questions, those of the store damage rows and keys.
TESTABLE = {
    ("SyncAgentTests", "Sync"), ("KeychainServicesTests", "KeychainStore"),
    ("SecItemTests", "KeychainStore"), ("SecItemTests", "KeychainServices"),
    ("KeychainStoreTests", "KeychainKeys"), ("KeychainStoreTests", "KeychainRows"),
    ("KeychainStoreTests", "Keybag"), ("CommandTestSupport", "ValetCLI"),
}
_IMPORT = (r"^ *((?:@\w+(?:\([^)]*\))? )*)"
           r"(?:\w+ )?import (?:(?:struct|class|enum|protocol|typealias|func|var|let)\s+)?(\w+)")
_TARGET = (r'(?:library\(\s*"(\w+)"|executableTarget\(\s*name: "(\w+)")'
           r'(?:,\s*(?:dependencies: )?(?:dependencies\()?\[([^\]]*)\])?'
           r'(?:\)?,\s*optional: \[([^\]]*)\])?')


class Modules:
    """What each folder of Sources may import, as the manifest has it."""

    def __init__(self, manifest):
        self.folders = set(re.findall(r'(?:library|system)\(\s*"(\w+)"', manifest))
        self.folders |= set(re.findall(r'path: "Sources/(\w+)"', manifest))
        self._allowed = {}
        for match in re.finditer(_TARGET, manifest):
            names = re.findall(r'"(\w+)"', (match[3] or "") + (match[4] or ""))
            name = self.folder(match[1] or match[2])
            self._allowed.setdefault(name, set()).update(map(self.folder, names))

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
        is_testable = file.module == name + "Tests" or (file.module, name) in TESTABLE
        if "@testable" in attributes and not is_testable:
            yield line, "testable", f"@testable {imported} belongs into Tests/{name}Tests"
        if file.top == "Sources" and not modules.may_import(file, name):
            yield line, "import", f"the target of {file.module} does not depend on {name}"
