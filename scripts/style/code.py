# SPDX-License-Identifier: Apache-2.0
"""Rules about what Swift code says. Each yields (line, rule, message)."""

import re

from . import imports

# Declarations that only this package sees; swift-format checks the documentation of public ones.
_DECLARATION = (r"^ *(?:@\w+(?:\([^)]*\))? )*package (?:\w+(?:\(\w+\))? )*?"
                r"(?:struct|class|enum|actor|protocol|func|init|var|let|subscript|typealias)\b")
# The requirements of Hashable and Comparable need no documentation: they are the same everywhere.
_SELF_EVIDENT = re.compile(r" *package static func (?:==|<) | *package func hash\(into "
                           # Documented at the overload that the compiler prefers.
                           r"|@_disfavoredOverload package let ")
_PUBLIC_TYPE = (r"^(?:@\w+(?:\([^)]*\))? )*(?:\w+ )*?(?:public|open) (?:\w+ )*?"
                r"(?:struct|class|enum|actor|protocol) \w")
_RELEASES = ("sqlite3_finalize", "sqlite3_close(?:_v2)?", "sodium_free", "Esys_FlushContext",
             "library.unref", "library.closeUnref")
# One file each: the calls that write through a pointer, the system's calls on macOS, and the
# kernel's on keys.
_UNSAFE_FILES = ("Sources/CInterface/Arguments.swift", "Sources/CInterface/Handles.swift",
                 "Sources/CInterface/LibraryFunctions.swift",
                 "Sources/CInterface/MigrationFunctions.swift",
                 "Sources/CInterface/ValueFunctions.swift",
                 "Sources/CoreFoundationNames/CFAccessors.swift",
                 "Sources/CoreFoundationNames/CFDictionaryCalls.swift",
                 "Sources/CoreFoundationNames/SecItemCalls.swift",
                 "Sources/EtcdStore/CurlLibrary.swift", "Sources/EtcdStore/HTTPConnection.swift",
                 "Sources/LockState/KernelKeyring.swift",
                 "Sources/SecItem/SecAccessControl.swift",
                 "Sources/SecItem/LocalAuthentication/LAContext.swift",
                 "Sources/SecItem/SecItem.swift", "Sources/SecItem/SecItemResult.swift",
                 "Sources/SecItemRequests/Platform.swift", "Sources/Valet/Platform.swift",
                 "Sources/ClientsCommand/Import/SessionBus.swift",
                 "Sources/SyncCommand/QRCode.swift",
                 "Sources/UserPresence/TerminalDevice.swift",
                 # Programs that get secrets, and the terminal of one whose output is masked.
                 "Sources/ValetCLI/Commands/Running/ProgramLaunch.swift",
                 "Sources/ValetCLI/Commands/Running/MaskingSupervisor.swift",
                 "Sources/ValetCLI/Terminal.swift")
# CFDictionaryCreate has six parameters, and so has valet_set.
_PARAMETERS_OF_C = ("Sources/CoreFoundationNames/CFDictionaryCalls.swift",
                    "Sources/CInterface/ValueFunctions.swift")
# Modules with a package trait. Without it, only a file that reports its absence is built
# (docs/decisions/0021-traits.md).
_TRAITS = {"TPM": "TPM", "KeychainServices": "Fingerprint"}
_PLATFORM = r"Sources/(Valet|KeychainSwift|SecItemRequests)/Platform.swift"
_SQL = re.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE|PRAGMA)\b")


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
    audited = [file for file in sources if file.module == "Sealing" and _unsafe_lines(file)]
    for file in audited[1:]:
        yield (file.path, _unsafe_lines(file)[0], "unsafe",
               f"in Sealing `unsafe` stands in one file, {audited[0].name}")


def _sizes(file):
    # These imitate the style of other authors.
    if file.path.startswith("Tests/Fixtures/TenWrappers/"):
        return
    stop = 600
    if len(file.lines) > stop:
        yield stop + 1, "file-length", f"{len(file.lines)} lines, the stop is {stop}"
    for function in file.functions():
        if function.line_count > 40:
            yield (function.line, "function-length",
                   f"a function of {function.line_count} lines, the stop is 40")
        if function.parameter_count > 5 and file.path not in _PARAMETERS_OF_C:
            yield (function.line, "parameters",
                   f"{function.parameter_count} parameters, the stop is 5: make a struct")
    # Small types may stand beside the one that they belong to.
    types = [line for line, _ in file.matches(_PUBLIC_TYPE) if _is_large(file, line)]
    for line in types[1:]:
        yield line, "public-types", "a second public type of more than 40 lines: give it a file"


def _is_large(file, line):
    """Whether the type that begins at `line` has more than 40 lines."""
    return not file.lines[line - 1].endswith("}") and "}" not in file.lines[line:line + 40]


def _traps(file):
    for line, _ in file.matches(r"\b(fatalError)\("):
        yield line, "trap", "`fatalError` in Sources"


def _conditions(file):
    is_allowed = (re.fullmatch(_PLATFORM, file.path)
                  or file.path == "Sources/ValetCLI/Terminal.swift"
                  or file.name.endswith("+ObjectiveC.swift"))
    if is_allowed or _is_behind_trait(file):
        return
    for line, _ in file.matches(r"^ *#(?:if|elseif)\b"):
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
    if file.module in ("SecretMemory", "System", "Database", "Fingerprint", "TPM", "Sealing"):
        return
    if file.path not in _UNSAFE_FILES:
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


def _above(file, line):
    """The comment and attribute lines directly above a line, nearest first."""
    for text in reversed(file.lines[: line - 1]):
        text = text.strip()
        if not text.startswith(("//", "@")):
            return
        yield text


def _injection(file):
    """Another keychain in place of the user's is for tests alone (docs/THREAT-MODEL.md)."""
    if file.module not in ("KeychainServices", "ValetTesting"):
        for line, _ in file.matches(r"\b(?:SessionOverride|CallScript|script: \w+[,)])"):
            yield line, "injection", "only ValetTesting puts a session in another's place"


def _documentation(file):
    for line, _ in file.matches(_DECLARATION):
        if _SELF_EVIDENT.match(file.lines[line - 1]):
            continue
        if not any(text.startswith("///") for text in _above(file, line)):
            yield line, "documentation", "a package declaration without `///`"


def _sql(file):
    for line, text in _literals_with_interpolations(file):
        reasons = [reason for reason in _above(file, line) if "PRAGMA" in reason]
        keyword = _SQL.search(text)
        if keyword and not (keyword.group() == "PRAGMA" and reasons):
            yield (line, "sql", "SQL with an interpolation: bind a parameter"
                   " (for a PRAGMA, which takes none, say so in a comment above)")


def _literals_with_interpolations(file):
    """The literals, of one or more lines, that have an interpolation, each with its first line."""
    first, text = 0, ""
    for number, line in enumerate(file.code_lines, 1):
        is_border = line.count('"""') % 2 == 1
        if first:
            text += line + "\n"
        elif is_border:
            first, text = number, line + "\n"
        elif "\\(" in line:
            # Messages begin with other words, in lower case.
            yield number, "".join(re.findall(r'"(?:[A-Z]+ .*)', line))
        if first and is_border and number > first:
            if "\\(" in text:
                yield first, text
            first, text = 0, ""
