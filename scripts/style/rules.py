# SPDX-License-Identifier: Apache-2.0
"""Rules about files and about what Swift code says. Each yields (line, rule, message)."""

import os
import re

_LICENCE = "SPDX-License-Identifier: Apache-2.0"
_TODO = re.compile(r"(?://|#).*\b(?:TOD[O](?!\(#\d+\))|FIX[M]E)\b")
_BAD_NAME = re.compile(r"(?:Utils?|Utilities|Helpers?|Common|Managers?)(?![a-z])")
_PLATFORM = (r"Sources/(?:Libraries/\w+/AppleOrLinux\+\w+"
             r"|Command/ValetCLI/Terminal|.*\+ObjectiveC)\.swift")
_PUBLIC_TYPE = (r"^(?:@\w+(?:\([^)]*\))? )*(?:\w+ )*?(?:public|open) (?:\w+ )*?"
                r"(?:struct|class|enum|actor|protocol) \w")
# The releasing call of each C object occurs once, in the file that acquires.
_RELEASES = ("sqlite3_finalize", "sqlite3_close(?:_v2)?", "sodium_free", "Esys_FlushContext",
             "library.unref", "library.closeUnref")
# Modules that wrap C, and single files of others, which call C or are called by it.
_UNSAFE_MODULES = ("System", "Database", "TPM", "Sealing")
_UNSAFE_FILES = re.compile(
    r"Sources/\w+/(?:CInterface/(?:Arguments|Handles|\w+Functions)"
    r"|CoreFoundationNames/(?:CFAccessors|CFDictionaryCalls)"
    r"|SyncStores/Etcd/HTTPConnection|Keys/LockState/KernelKeyring"
    r"|SecItem/SecAccessControl|SecItem/(?:LocalAuthentication/LAContext|SecItem|SecItemResult)"
    r"|\w+/AppleOrLinux\+\w+"
    r"|SyncCommand/QRCode|UserPresence/TerminalDevice"
    r"|ValetCLI/(?:Commands/Running/(?:Masked|Masking|Program)(?:Launch(?:\+Environment)?|Process"
    r"|Stream|Supervisor|Terminal)|Terminal))\.swift")
# CFDictionaryCreate has six parameters, and so has valet_set. A declaration is made from its parts.
_MANY_PARAMETERS = ("Sources/Libraries/CoreFoundationNames/CFDictionaryCalls.swift",
                    "Sources/Libraries/CInterface/ValueFunctions.swift",
                    "Sources/Command/ValetCLI/CommandLine/CommandDeclaration.swift")
# Modules with a package trait. Without it, only a file that reports its absence is built
# (docs/decisions/0021-traits.md).
_TRAITS = {"TPM": "TPM", "KeychainServices": "Fingerprint"}
# rule, where, where not, what, message: what a line of code may not say.
_LINES = [
    ("trap", r"Sources/", r"", r"\bfatalError\(", "`fatalError` in Sources"),
    ("condition", r"Sources/", _PLATFORM, r"^ *#(?:if|elseif)\b(?! (?:SYNC_RULES|LOWEST_COST)$)",
     "`#if` belongs into AppleOrLinux+….swift or …+ObjectiveC.swift, or around a whole file of a"
     " trait's module"),
    ("exported-import", r"Sources/",
     _PLATFORM + r"|Sources/Libraries/(?:Security|LocalAuthentication)/",
     r"@_exported", "only Security, LocalAuthentication and AppleOrLinux+….swift re-export"),
    ("c-import", r"Sources/", r"Sources/Libraries/CInterface/",
     r"(?:public|package) import ValetC[A-Z](?!I\b)",
     "a C module is imported by `internal import`"),
    ("nonisolated", r"", r"Sources/Libraries/(?:CoreFoundationNames|SecItem/Constants)/",
     r"nonisolated\(unsafe\)", "nonisolated(unsafe)"),
    # Another keychain in place of the user's is for tests alone (docs/THREAT-MODEL.md).
    ("injection", r"Sources/", r"Sources/(?:Keychain/KeychainServices|Libraries/ValetTesting)/",
     r"\b(?:SessionOverride|CallScript|script: \w+[,)])",
     "only ValetTesting puts a session in another's place"),
    # Clocks, sizes of files and columns can have any value.
    ("arithmetic", r"Sources/", r"Sources/Platform/System/Clocks\.swift",
     r"(?:(?:Deadline\.now|WallClock\.nanoseconds|\btv_sec|\bst_size|\bf_bavail|\bf_frsize"
     r"|\.byteCount \?\? 0\)?|\bint64\(\w+\)) [-+*] "
     r"|[-+*] (?:(?:Int64|Int)\()?(?:Deadline\.now|WallClock\.nanoseconds|\w+\.int64\("
     r"|\w+(?:\.\w+)?\.tv_sec))",
     "a number from outside in arithmetic that may trap: use a checked operation"),
    # The command opens /dev/null for the streams that it lacks.
    ("stream", r"Sources/", r"Sources/Command/ValetCLI/",
     r"(?<!valet_above_streams\()(?<![\w.])(?:(?:unsafe |Glibc\.)open|eventfd|inotify_init1"
     r"|signalfd|socket(?=\(A))\(",
     "a descriptor that may be 0, 1 or 2: use valet_open, or valet_above_streams"),
    ("sql", r"Sources/", r"",
     r'(?:"|^ *)(?:SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|SET|VALUES) .*\\\(',
     "SQL with an interpolation: bind a parameter"),
]


def check_text(path, text):
    lines = text.splitlines()
    before = "// swift-tools-version:" if path.endswith("Package.swift") else "#!"
    first = 1 if lines and lines[0].startswith(before) else 0
    if len(lines) <= first or _LICENCE not in lines[first]:
        yield first + 1, "licence", f"the first line is not `{_LICENCE}` in a comment"
    for number, line in enumerate(lines, 1):
        if len(line) > 100:
            yield number, "columns", f"{len(line)} columns, the stop is 100"
        if _TODO.search(line):
            yield number, "todo", "name the issue, as in (#12)"
    if _BAD_NAME.search(os.path.basename(path).split(".")[0]):
        yield 1, "name", "a file is named after what is in it"
    # Debian's package manager calls those of packages, with arguments of its own.
    is_called_by_person = text.startswith("#!") and not re.search(r"\.(post|pre)(inst|rm)$", path)
    if is_called_by_person and (len(lines) > 250 or "--help" not in text):
        yield 1, "script", "a script has at most 250 lines and answers --help"


def check(file):
    yield from _sizes(file)
    for rule, place, exception, pattern, message in _LINES:
        if not re.match(place, file.path) or exception and re.match(exception, file.path):
            continue
        for line, _ in file.matches(pattern):
            if not (rule == "condition" and _is_behind_trait(file)):
                yield line, rule, message
    for line, _ in file.matches(r"@unchecked\s+Sendable"):
        if not any(text.startswith("// Sendable because") for text in file.above(line)):
            yield line, "unchecked", "@unchecked Sendable without `// Sendable because …` above"
    is_wrapper = file.module in _UNSAFE_MODULES or _UNSAFE_FILES.fullmatch(file.path)
    if file.top == "Sources" and not is_wrapper:
        for line in _unsafe_lines(file):
            yield line, "unsafe", f"`unsafe` in {file.module}"


def check_together(files):
    """Rules that need every file of Sources at once: (path, line, rule, message)."""
    sources = [file for file in files if file.top == "Sources"]
    for name in _RELEASES:
        calls = [(file, line) for file in sources
                 for line, _ in file.matches(rf"(?<!\w){name}(?!\w)")]
        for file, line in calls[1:]:
            where = f"{calls[0][0].path}:{calls[0][1]}"
            yield file.path, line, "release", f"{name.split('(')[0]} is called at {where} already"


def _sizes(file):
    # These imitate the style of other authors.
    if file.path.startswith("Tests/Fixtures/TenWrappers/"):
        return
    if len(file.lines) > 600:
        yield 601, "file-length", f"{len(file.lines)} lines, the stop is 600"
    for line, line_count, parameter_count in file.functions():
        if line_count > 40:
            yield line, "function-length", f"a function of {line_count} lines, the stop is 40"
        if parameter_count > 5 and file.path not in _MANY_PARAMETERS:
            yield line, "parameters", f"{parameter_count} parameters, the stop is 5: make a struct"
    # Small types may stand beside the one that they belong to: those of 40 lines at most.
    types = [line for line, _ in file.matches(_PUBLIC_TYPE)
             if not file.lines[line - 1].endswith("}") and "}" not in file.lines[line:line + 40]]
    for line in types[1:]:
        yield line, "public-types", "a second public type of more than 40 lines: give it a file"


def _is_behind_trait(file):
    """Whether all of the file is there with its module's trait only, or without it only."""
    lines = [line for line in file.code_lines if line.strip()]
    return (re.fullmatch(f"#if !?{_TRAITS.get(file.module)}", lines[0]) and lines[-1] == "#endif"
            and sum(line.lstrip().startswith("#") for line in lines) == 2)


def _unsafe_lines(file):
    return [line for line, _ in file.matches(r"(?<![\w(])(unsafe)\b(?![\w)])")]
