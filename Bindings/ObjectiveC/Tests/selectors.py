# SPDX-License-Identifier: Apache-2.0
"""Prints the Objective-C methods of the Swift sources below a folder, for `test`, a line each: the
class, + or -, and the selector. The GNUstep library has the same ones."""

import re
import sys
from pathlib import Path

# The file-based keychain before macOS 10.15.
APPLES = {"migrateObjectsFromPreCatalinaAndReturnError:"}

CLASS = re.compile(r"@objc\((VAL\w+)\)\s*(?:#endif\s*)?public final class (\w+)")
METHOD = re.compile(r"@objc\(\s*([\w:]+)\s*\)\s*public (class func|\w+)")
# The name alone, or with `#if canImport(ObjectiveC)` around the attribute.
PLAIN = re.compile(r"@objc\s*(?:#endif\s*)?public (class func|let) (\w+)")

for path in sorted(Path(sys.argv[1]).glob("*+ObjectiveC.swift")):
    source = path.read_text(encoding="utf-8")
    classes = [(match.start(), match[1]) for match in CLASS.finditer(source)]
    if not classes:
        continue
    methods = [(m.start(), m[2], m[1]) for m in METHOD.finditer(source) if m[2] != "final"]
    methods += [(m.start(), m[1], m[2]) for m in PLAIN.finditer(source)]
    for position, kind, selector in sorted(methods):
        owner = max(entry for entry in classes if entry[0] <= position)[1]
        if selector not in APPLES:
            print(owner, "+" if kind == "class func" else "-", selector)
