# SPDX-License-Identifier: Apache-2.0
"""Looks at the sources of a target: what they use, and what has no counterpart on Linux."""

import os
import re

_IMPORT = r"^[ \t]*(?:@\w+(?:\([^)]*\))?[ \t]+)*(?:(?:public|package|internal|private)[ \t]+)?" \
    r"import[ \t]+(?:(?:class|struct|enum|func|var|typealias)[ \t]+)?"
_SECURITY = re.compile(_IMPORT + r"Security\b", re.M)
_AUTHENTICATION = re.compile(_IMPORT + r"LocalAuthentication\b", re.M)
_NAME = re.compile(r"\b(?:kSec[A-Z]|errSec[A-Z]|Sec(?=[A-Z][a-z])|LA(?=[A-Z][a-z])|kLA[A-Z])\w+")
_DECLARED = re.compile(r"\b(?:class|struct|enum|protocol|actor|func|let|var|case|typealias) (\w+)")
_PUBLIC = re.compile(
    r"\b(?:open|public) (?:final )?(?:class|struct|enum|func|let|var|typealias) (\w+)")
_LEFT = [
    (re.compile(_IMPORT + r"(?:UIKit|AppKit|WatchKit|SwiftUI|Combine|CryptoKit|CommonCrypto|os)\b",
                re.M), "a module that Linux lacks"),
    (re.compile(r"@objc\b|#selector\b"), "Objective-C"),
    (re.compile(r"\bBundle\.main\.bundleIdentifier\b|\bkCFBundleIdentifierKey\b"),
     "nil without an Info.plist: see `valet entitlements init`"),
    (re.compile(r"^[ \t]*#(?:else)?if .*\bos\((?:macOS|iOS)\)", re.M),
     "false on Linux: look at the other branch"),
]


def offered_names(here):
    """The names that our modules have for Apple's."""
    names = set()
    for module in ("SecItem", "CoreFoundationNames"):
        for path in _swift_files(os.path.join(here, "Sources", module)):
            names.update(_PUBLIC.findall(_read(path)))
    return names


def importing(path):
    """The text of a file with `import Security` above its first import, or below its header."""
    text = _read(path)
    header = re.match(r"(?:[ \t]*(?://[^\n]*|/\*.*?\*/)?[ \t]*\n)*", text, re.S).end()
    return f"{text[:header]}import Security\n{text[header:]}"


class Target:
    """A target, its files that use SecItem and the products that it needs."""

    def __init__(self, package, description, offered):
        self.name, self.package = description["name"], package
        self.files = {path: _read(path) for path in self._paths(description)}
        code = {path: _code(text) for path, text in self.files.items()}
        self._declared = {name for text in code.values() for name in _DECLARED.findall(text)}
        self._offered, self._code = offered, code
        uses = [path for path in code if any(
            not name.startswith(("LA", "kLA")) for name in self._names(code[path]))]
        self.without_import = [path for path in uses if not _SECURITY.search(code[path])]
        self.needs_security = bool(uses) or any(map(_SECURITY.search, code.values()))
        self.imports_authentication = any(map(_AUTHENTICATION.search, code.values()))
        self.products = ["Security"] * self.needs_security
        self.products += ["LocalAuthentication"] * self.imports_authentication

    def left_over(self):
        """What nobody but a person can decide, as (place, message)."""
        if not (self.needs_security or self.imports_authentication):
            return
        for path, text in sorted(self._code.items()):
            place = os.path.relpath(path, self.package)
            for pattern, message in _LEFT:
                for match in pattern.finditer(text):
                    yield f"{place}:{_line(text, match)}", f"`{match[0].strip()}`: {message}"
            for match in _NAME.finditer(text):
                if match[0] not in self._offered | self._declared:
                    yield f"{place}:{_line(text, match)}", f"`{match[0]}` is not offered"

    def _names(self, text):
        return set(_NAME.findall(text)) & self._offered - self._declared

    def _paths(self, description):
        test = description["type"] == "test"
        folders = ["Tests", "Sources"] if test else ["Sources", "Source", "src", "srcs"]
        options = [os.path.join(folder, self.name) for folder in folders] + folders[:1]
        options = [description["path"]] if description.get("path") else options
        for option in options:
            folder = os.path.realpath(os.path.join(self.package, option))
            inside = os.path.commonpath([folder, self.package]) == self.package
            if inside and os.path.isdir(folder):
                excluded = [os.path.join(folder, path) for path in description.get("exclude", [])]
                return [path for path in _swift_files(folder)
                        if not any(path == e or path.startswith(e + os.sep) for e in excluded)]
        return []


def _swift_files(folder):
    for where, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            path = os.path.join(where, name)
            if name.endswith(".swift") and name != "Package.swift" and not os.path.islink(path):
                yield path


def _code(text):
    """The text without comments and literals; each line stays where it is."""
    pattern = r'//[^\n]*|/\*.*?\*/|"""(?:\\.|.)*?"""|"(?:\\.|[^"\\\n])*"'
    return re.sub(pattern, lambda match: "\n" * match[0].count("\n"), text, flags=re.S)


def _line(text, match):
    start = match.start() + len(match[0]) - len(match[0].lstrip())
    return text.count("\n", 0, start) + 1


def _read(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()
