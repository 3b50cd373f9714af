# SPDX-License-Identifier: Apache-2.0
"""Rules about what Swift code says. Each yields (line, rule, message)."""

import re

from . import imports

_DECLARATION = (r"^[ \t]*(?:@\w+(?:\([^)\n]*\))?[ \t]+)*(?:\w+(?:\(\w+\))?[ \t]+)*?"
                r"(?:public|package|open)\b(?!\()[ \t]+(?!import\b)(?:\w+(?:\(\w+\))?[ \t]+)*?"
                r"(?:struct|class|enum|actor|protocol|func|init|var|let|subscript|typealias)\b")
# What Hashable and Comparable ask for says the same everywhere; swift-format sees the public ones.
_SELF_EVIDENT = re.compile(r"[ \t]*package static func (?:==|<) |[ \t]*package func hash\(into ")
_TYPE = r"(?:struct|class|enum|actor|protocol)[ \t]+\w"
_PUBLIC_TYPE = (r"^(?:@\w+(?:\([^)\n]*\))?\s+)*(?:\w+[ \t]+)*?(?:public|open)[ \t]+"
                r"(?:\w+[ \t]+)*?" + _TYPE)
# What may stand between a declaration and its documentation: an Objective-C name.
_OBJECTIVE_C = ("#if canImport(ObjectiveC)", "#endif")
_RELEASES = ("sqlite3_finalize", "sqlite3_close(?:_v2)?", "sodium_free", "Esys_FlushContext",
             "library.unref", "library.closeUnref")
# One file each: the calls that write through a pointer, the system's calls on macOS, and the
# kernel's on keys.
_UNSAFE_FILES = ("Sources/CoreFoundationNames/CFAccessors.swift",
                 "Sources/CoreFoundationNames/CFDictionaryCalls.swift",
                 "Sources/CoreFoundationNames/SecItemCalls.swift",
                 "Sources/LockState/KernelKeyring.swift",
                 "Sources/SecItem/AccessControl/SecAccessControlCreate.swift",
                 "Sources/SecItem/LocalAuthentication/LAContext.swift",
                 "Sources/SecItem/SecItem.swift", "Sources/SecItem/SecretValue+Data.swift",
                 "Sources/SecItemRequests/Platform.swift", "Sources/Valet/Platform.swift",
                 "Sources/ValetCLI/Terminal.swift")
# The system's calls of asking: a file each for descriptors, signals, terminals and programs.
_UNSAFE_FOLDERS = ("Sources/UserPresence/System/",)
# CFDictionaryCreate has six parameters.
_APPLES_PARAMETERS = "Sources/CoreFoundationNames/CFDictionaryCalls.swift"
# Apple declares these as optional in name only, and code that says so has to build.
_IMPLICIT = {
    "Sources/CoreFoundationNames/CoreFoundationNames.swift": r"CF(Boolean|String)!",
    "Sources/CoreFoundationNames/CFDictionaryCalls.swift": r"CF(Mutable)?Dictionary!",
    "Sources/CoreFoundationNames/CFErrorAccessors.swift": r"CF(String|Dictionary)!",
}
# The modules of which a package trait builds more than what says that it is not built
# (docs/decisions/0021-traits.md).
_TRAITS = {"TPM": "TPM", "KeychainServices": "Fingerprint"}
_PLATFORM = r"Sources/(Valet|KeychainSwift|SecItemRequests)/Platform.swift"
_SQL = re.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE|PRAGMA)\b")
_SQL_LINE = re.compile(r"(?:SELECT|INSERT|UPDATE|DELETE|PRAGMA)\s")


def check(file):
    yield from _sizes(file)
    yield from _concurrency(file)
    yield from imports.check(file)
    if file.top == "Sources":
        yield from _traps(file)
        yield from _conditions(file)
        yield from _unsafe(file)
        yield from _documentation(file)
        yield from _sql(file)
        yield from _injection(file)
        if file.module not in imports.ALLOWED:
            yield 1, "module", f"scripts/style/imports.py does not know the module {file.module}"


def check_together(files):
    """Rules that need every file of Sources at once."""
    sources = [file for file in files if file.top == "Sources"]
    for name in _RELEASES:
        calls = [(file, line) for file in sources
                 for line, _ in file.matches(rf"(?<!\w){name}(?!\w)")]
        for file, line in calls[1:]:
            where = f"{calls[0][0].path}:{calls[0][1]}"
            yield file.path, line, "release", f"{name.split('(')[0]} is called at {where} already"
    # A second file for what the first has no room for: libsodium's secretstream.
    audited = [file for file in sources if file.module == "Sealing" and _unsafe_lines(file)
               and file.name != "Sodium+Stream.swift"]
    for file in audited[1:]:
        yield (file.path, _unsafe_lines(file)[0], "unsafe",
               f"in Sealing `unsafe` stands in one file, {audited[0].name}")


def _sizes(file):
    # Written as the authors of other libraries write.
    if file.path.startswith("Tests/Fixtures/TenWrappers/"):
        return
    stop = 600
    if len(file.lines) > stop:
        yield stop + 1, "file-length", f"{len(file.lines)} lines, the stop is {stop}"
    for function in file.functions():
        if function.line_count > 40:
            yield (function.line, "function-length",
                   f"a function of {function.line_count} lines, the stop is 40")
        if function.parameter_count > 5 and file.path != _APPLES_PARAMETERS:
            yield (function.line, "parameters",
                   f"{function.parameter_count} parameters, the stop is 5: make a struct")
    types = [line for line, _ in file.matches(_PUBLIC_TYPE)]
    for line in types[1:]:
        yield line, "public-types", "a second public type: give it a file"


def _traps(file):
    is_implicit = re.compile(_IMPLICIT.get(file.path, r"(?!)"))
    for line, match in file.matches(r"\b(try!|as!|fatalError\b)|[\w)\]}?>\"](!)(?!=)"):
        start = file.code.rfind(" ", 0, match.start()) + 1
        if is_implicit.match(file.code, start):
            continue
        yield line, "trap", f"`{match.group(1) or 'postfix !'}` in Sources"


def _conditions(file):
    is_allowed = (re.fullmatch(_PLATFORM, file.path)
                  or file.path == "Sources/ValetCLI/Terminal.swift"
                  or file.name.endswith("+ObjectiveC.swift"))
    if is_allowed or _is_behind_trait(file):
        return
    for line, _ in file.matches(r"^[ \t]*(#(?:if|elseif))\b"):
        yield (line, "condition", "`#if` belongs into Platform.swift or …+ObjectiveC.swift,"
               " or around a whole file of a trait's module")


def _is_behind_trait(file):
    """Whether all of the file is there with its module's trait only, or without it only."""
    trait = _TRAITS.get(file.module)
    lines = [line for line in file.code_lines if line.strip()]
    conditions = [line for line in lines if line.lstrip().startswith("#")]
    return bool(trait and conditions and lines[0] in (f"#if {trait}", f"#if !{trait}")
                and lines[-1] == "#endif" and conditions == [lines[0], lines[-1]])


def _unsafe_lines(file):
    return [line for line, _ in file.matches(r"(?<![\w(])(unsafe)\b(?![\w)])")]


def _unsafe(file):
    if file.module in ("SecretMemory", "Database", "SystemBus", "TPM", "Sealing"):
        return
    if file.path not in _UNSAFE_FILES and not file.path.startswith(_UNSAFE_FOLDERS):
        for line in _unsafe_lines(file):
            yield line, "unsafe", f"`unsafe` in {file.module}"


def _concurrency(file):
    for line, _ in file.matches(r"(nonisolated\(unsafe\))"):
        # Constants of CoreFoundation's types: immutable objects of a class that is not Sendable.
        is_constant = file.code_lines[line - 1].startswith("@safe nonisolated(unsafe) public let k")
        if not (is_constant and file.module == "CoreFoundationNames"):
            yield line, "nonisolated", "nonisolated(unsafe)"
    for line, _ in file.matches(r"(@unchecked)\s+Sendable"):
        if not any(text.startswith("// Sendable because") for text in _above(file, line)):
            yield line, "unchecked", "@unchecked Sendable without `// Sendable because …` above"


def _above(file, line, more=()):
    """The comment and attribute lines directly above a line, nearest first."""
    for text in reversed(file.lines[: line - 1]):
        text = text.strip()
        if not text.startswith(("//", "@", *more)):
            return
        yield text


def _injection(file):
    """Another keychain in place of the user's is for tests alone (docs/THREAT-MODEL.md)."""
    if file.module not in ("KeychainServices", "ValetTesting"):
        for line, _ in file.matches(r"\b(SessionOverride|CallScript|script:)"):
            yield line, "injection", "only ValetTesting puts a session in another's place"


def _documentation(file):
    for match in re.finditer(_DECLARATION, file.code, re.MULTILINE):
        line = file.line_at(match.end())
        text = file.code_lines[line - 1]
        # The overload that the compiler prefers has the documentation.
        is_overload = re.match("@_disfavoredOverload (?:public|package) let ", text)
        if _SELF_EVIDENT.match(text) or is_overload:
            continue
        if not any(text.startswith("///") for text in _above(file, line, _OBJECTIVE_C)):
            yield line, "documentation", "a public or package declaration without `///`"


def _sql(file):
    for literal in file.literals:
        find = _SQL.search if literal.is_multiline else _SQL_LINE.match
        if not literal.is_interpolated or not (keyword := find(literal.text)):
            continue
        reasons = [text for text in _above(file, literal.line) if "PRAGMA" in text]
        if not (keyword.group().startswith("PRAGMA") and reasons):
            yield (literal.line, "sql", "SQL with an interpolation: bind a parameter"
                   " (for a PRAGMA, which takes none, say so in a comment above)")
