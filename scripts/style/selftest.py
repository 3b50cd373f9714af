# SPDX-License-Identifier: Apache-2.0
"""Bad snippets that must fire their rule, and good ones that must fire none."""

import ast
import os
import sys
import tempfile

from . import tree

_SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_MODEL = "Sources/KeychainModel/Sample.swift"
_DATABASE = "Sources/Database/Sample.swift"
_SPEC = ("docs/spec/a.md", "# A\n## 1. One\n### 1.2 Two\n§1 here, and TPM 2.0 part 1, §9.\n")
_THREATS = ("docs/THREAT-MODEL.md", "## Promises\n- Kept,\n  so. [tests]"
            "(THREAT-MODEL-TESTS.md#1-files)\n## Others\n- No.\n")
_BODY = "func f() {\n" + "    g()\n" * 40 + "}\n"

# rule: [(path, text), …]; Swift text gets its licence line unless it is about that.
_BAD = {
    "licence": [("Benchmarks/Package.swift", "raw:// swift-tools-version: 6.3\nf()\n"),
                (_MODEL, "raw:// swift-tools-version: 6.3\n" + _SPDX),
                ("Sources/KeychainModel/A.swift", "raw:let a = 1\n"),
                ("Sources/CSodium/shim.h", "#include <sodium.h>\n"),
                ("scripts/run", "#!/bin/sh\n# --help\n")],
    "columns": [(_MODEL, "let a = " + "1" * 100 + "\n")],
    "name": [("Sources/KeychainModel/KeyUtils.swift", ""),
             ("Tests/KeybagTests/TestHelpers.swift", ""),
             ("Sources/Keybag/LockManager.swift", ""), ("Sources/Keybag/Common.swift", "")],
    "file-length": [(_MODEL, "let a = 1\n" * 600), ("Tests/KeybagTests/T.swift", "\n" * 600)],
    "function-length": [(_MODEL, _BODY), (_MODEL, _BODY.replace("func f()", "init()"))],
    "parameters": [(_MODEL, "func f(a: Int, b: [Int: Int], c: (A, B) -> C, d: D<E, F>, e: E,\n"
                            "    f: Int = g(1, 2)\n) {}\n")],
    "public-types": [(_MODEL, "".join(f"/// A\npublic struct {name} {{\n{'    ' * 2}\n"
                                      + "    let a = 1\n" * 40 + "}\n" for name in "AB"))],
    "trap": [(_MODEL, "fatalError()\n"), (_MODEL, "default: fatalError(\"a\")\n")],
    "condition": [(_MODEL, "#if os(Linux)\n#endif\n"),
                  ("Sources/Valet/Valet.swift", "#if canImport(Security)\n#endif\n"),
                  ("Sources/Keybag/A.swift", "#if TPM\n#endif\n"),
                  ("Sources/TPM/A.swift", "#if TPM\n#endif\nlet a = 1\n"),
                  ("Sources/TPM/A.swift", "#if TPM\n#else\n#endif\n")],
    "unsafe": [(_MODEL, "let a = unsafe b\n"),
               ("Sources/Valet/Valet.swift", "let a = unsafe b\n"),
               ([("Sources/Sealing/A.swift", "let a = unsafe b\n"),
                 ("Sources/Sealing/B.swift", "let a = unsafe b\n")])],
    "nonisolated": [(_MODEL, "nonisolated(unsafe) var a = 1\n")],
    "unchecked": [(_MODEL, "final class A: @unchecked Sendable {}\n"),
                  (_MODEL, "// Fine.\nfinal class A: @unchecked Sendable {}\n")],
    "documentation": [(_MODEL, "package struct A {}\n"), (_MODEL, "@safe\npackage init() {}\n"),
                      (_MODEL, "/// A\npackage struct A {\n    package var b: Int\n}\n")],
    "sql": [(_DATABASE, 'let a = """\n    SELECT \\(b) FROM c\n    """\n'),
            (_DATABASE, 'let a = "PRAGMA user_version = \\(b)"\n')],
    "injection": [("Sources/Valet/A.swift", "SessionOverride.with(session, body)\n"),
                  ("Sources/ValetCLI/A.swift", "KeychainSession(store, caller, script: a)\n")],
    "release": [(_DATABASE, "sqlite3_close_v2(a)\nsqlite3_close(b)\n"),
                (_DATABASE, "sqlite3_finalize(a)\nsqlite3_finalize(b)\n"),
                ("Sources/SecretMemory/A.swift", "sodium_free(a)\nsodium_free(b)\n")],
    "import": [(_MODEL, "import Foundation\n"),
               ("Sources/Keybag/A.swift", "import ValetDatabase\n"),
               ("Sources/Valet/Valet.swift", "import Security\n"),
               ("Sources/ValetCLI/A.swift", "package import struct Valet.Valet\n"),
               ("Sources/Keybag/B.swift", "internal import ValetCSodium\n")],
    "c-import": [(_DATABASE, "import ValetCSQLite\n"),
                 (_DATABASE, "package import ValetCSQLite\n")],
    "module": [("Sources/Novelty/A.swift", "")],
    "manifest": [("Package.swift", 'library("Keybag", ["KeychainModel", "Database"]),\n')],
    "exported-import": [(_DATABASE, "@_exported import Glibc\n"),
                        ("Sources/KeychainSwift/Platform.swift",
                         "@_exported public import ValetKeychainServices\n"),
                        ("Sources/KeychainSwift/A.swift",
                         "@_exported public import let ValetKeychainServices.noErr\n")],
    "spi": [(_DATABASE, "@_spi(Private) import Glibc\n")],
    "testable": [("Tests/KeybagTests/A.swift", "@testable import ValetDatabase\n"),
                 ("Tests/KeybagTests/A.swift", "@testable import ValetKeychainStore\n")],
    "todo": [(_MODEL, "// TODO: later\n"), (_MODEL, "let a = 1  // FIXME two\n")],
    "dead-code": [(_MODEL, f"// {line}\n") for line in (
        "let a = 1", "package func f() {", "if a == b {", "}", "return f(a, b)", "a.b(c(1), 2)",
        "import Foundation", "try wipe(key)")],
    "script-length": [("scripts/long", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n"
                                       "# --help\n" + "true\n" * 100)],
    "help": [("scripts/mute", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n")],
    "changelog": [("CHANGELOG.md", "# Changelog\n")],
    "citation": [(_MODEL, "// docs/FORMAT.md §1.\n"), (_MODEL, "// §1 says so.\n"),
                 (_MODEL, "// RFC 9106 §4.\n\n// Here: §4.\n"), (_MODEL, "// Decision 12.\n"),
                 [_SPEC, (_MODEL, "// spec/a.md §2, §1.3\n")],
                 [_SPEC, (_MODEL, "// spec/a.md\n//\nlet b = \"§3 c\"\n")],
                 [_SPEC, ("docs/b.md", "c.md is read.\n")], ("docs/b.md", "`A/B.swift`\n"),
                 [_SPEC, ("docs/spec/c.md", "## 1. One\na.md §1, §2\n")]],
    "link": [("README.md", "[a](docs/a.md)\n"), ("docs/b.md", "# B\n[b](#c)\n"),
             [_SPEC, ("README.md", "[a](docs/spec/a.md#three)\n")]],
    "contributing": [("CONTRIBUTING.md", "line\n" * 60)],
    "promise": [("docs/THREAT-MODEL.md", "## Promises\n- Nothing is lost.\n"),
                [_THREATS, ("docs/THREAT-MODEL-TESTS.md", "## 1. Files\n- Kept.\n")],
                [_THREATS, ("docs/THREAT-MODEL-TESTS.md", "## 1. Files\n- Kept. Test: `no`.\n")],
                [_THREATS, ("docs/THREAT-MODEL-TESTS.md", "## 1. Files\n- Kept. Test: `twice`.\n"),
                 ("Tests/KeybagTests/A.swift", "func `twice`() {}\nfunc `twice`() {}\n")],
                [_THREATS, ("docs/THREAT-MODEL-TESTS.md", "## 1. Files\n## 2. Keys\n")]],
}

_GOOD = [
    (_MODEL, 'let a = "b"  // Is unsafe: fatalError().\n'),
    (_MODEL, "// TODO(#12): read fsync(2).\n// fsync(2)\n// Wipes the key (again).\n"
             "// returns what it read\n// let it be\n// import only what is needed\n"),
    (_MODEL, "func f(a: (A, B) -> C, b: [D: E], c: F<G, H>, d: I = j(1, 2), e: K) {}\n"),
    (_MODEL, "/// P\npackage protocol P {\n    func f(a: Int)\n    var b: Int { get }\n}\n"
             "let a = 1\n"),
    (_MODEL, "guard let open = f() else { return }\nextension A {\n"
             "    package static func == (a: A, b: A) -> Bool { c }\n"
             "    package func hash(into d: inout Hasher) {}\n}\n"),
    (_MODEL, "/// A\npublic struct A {\n    /// B\n    public struct B {}\n}\n"),
    (_MODEL, "// Sendable because the lock guards it, whatever\n// the thread.\n@safe\n"
             "final class A: @unchecked Sendable {}\n"),
    (_MODEL, 'let a = """\n    could not UPDATE\n    """\nlet b = "cannot open \\(c)"\n'),
    ("Sources/Sealing/A.swift", "internal import ValetCSodium\nlet a = unsafe b\n"
                                "// sodium_free(a) is elsewhere.\n"),
    (_DATABASE, '// A PRAGMA takes no parameter.\nlet a = "PRAGMA b = \\(c)"\n'),
    ("Sources/Database/B.swift", "import Glibc\n// sqlite3_finalize(a) is called below.\n"
                                 'let a = """\n    SELECT b FROM c\n    """\n'
                                 "sqlite3_finalize(d)\n"),
    ("Sources/SecItemRequests/Platform.swift",
     "#if os(Linux)\n#else\n    import Security\n#endif\nlet a = unsafe b\n"),
    ("Sources/KeychainSwift/Platform.swift",
     "@_exported public import let ValetKeychainServices.noErr\n"),
    ("Sources/CoreFoundationNames/CoreFoundationNames.swift",
     "/// A\n@safe nonisolated(unsafe) public let kCFNull: CFString = b\n"),
    ("Sources/TPM/A.swift", "// A\n\n#if TPM\n    internal import ValetCTPM2\n#endif\n"),
    ("Sources/Keybag/B.swift", "let a = 1\n"),
    ("Sources/TPM/B.swift", "#if !TPM\nlet a = 1\n#endif\n"),
    ("Benchmarks/Package.swift", "raw:// swift-tools-version: 6.3\n" + _SPDX),
    ("Tests/KeychainStoreTests/A.swift", "@testable import ValetKeybag\n"),
    ("Sources/Valet/Valet+ObjectiveC.swift", "#if canImport(ObjectiveC)\n#endif\n"),
    ("Sources/Security/Security.swift", "@_exported public import ValetKeychainServices\n"),
    ("Tests/KeybagTests/A.swift", "@testable import ValetKeybag\n"
                                  "@Suite struct `A keybag` { @Test func `opens`() {} }\n"),
    _THREATS,
    ("docs/THREAT-MODEL-TESTS.md", "## 1. Files\n- Kept, even\n  so. Test: `opens`, `scripts/run`\n"
                                   "- Kept. Test: `A keybag`, `A kill loses nothing`.\n"),
    ("Tests/IntegrationTests/scenarios/kills.py",
     '@scenario(script=A)\ndef f(world):\n    """A kill loses\n    nothing.\n\n    B"""\n'),
    ("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n"),
    ("README.md", "# A B: c?\n[a](docs/spec/a.md#12-two) [b](https://c.d/e.md) [c](#a-b-c)\n"),
    _SPEC, ("docs/decisions/0002-b.md", "# 2. B\nspec/a.md, §1: `Keybag/B.swift`.\n"),
    (_MODEL, "// docs/spec/a.md §1, §1.2.\n\n// §1, as RFC 9106\n// §4 has it; decision 2.\n"),
    ("scripts/run", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n# --help\n"),
]


def run():
    failures = [failure for rule, samples in _BAD.items() for sample in samples
                for failure in _missing(rule, sample if isinstance(sample, list) else [sample])]
    failures += [f"good snippets fire: {finding}" for finding in _findings(_GOOD)]
    failures += [f"no bad snippet for the rule {rule}" for rule in _rules() - set(_BAD)]
    for failure in failures:
        print(f"check-style: {failure}", file=sys.stderr)
    if not failures:
        print(f"check-style: {len(_BAD)} rules fire on what is bad and stay silent on what is good")
    return 1 if failures else 0


def _missing(rule, sample):
    found = _findings(sample)
    if rule not in [finding[2] for finding in found]:
        yield f"{rule} does not fire on {sample}, but {found}"


def _findings(sample):
    with tempfile.TemporaryDirectory() as root:
        for path, body in sample:
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            if body.startswith("raw:"):
                body = body[4:]
            elif path.endswith(".swift") and path != "Package.swift":
                body = _SPDX + body
            with open(full, "a", encoding="utf-8") as file:
                file.write(body)
        return tree.findings(root)


def _rules():
    """The names of all rules: the first plain string in whatever a check yields."""
    rules = set()
    for name in ("citations.py", "code.py", "documents.py", "imports.py", "text.py"):
        with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
            nodes = ast.walk(ast.parse(file.read()))
        for node in nodes:
            if isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple):
                names = [part.value for part in node.value.elts
                         if isinstance(part, ast.Constant) and isinstance(part.value, str)]
                rules.update(names[:1])
    return rules
