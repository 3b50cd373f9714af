# SPDX-License-Identifier: Apache-2.0
"""Prints the constants that the Objective-C header HEADER declares, a line each, for `test`: the
name, and its text in the Swift sources below the folder SOURCES. The GNUstep library has the same
texts."""

import re
import sys
from pathlib import Path

header = Path(sys.argv[1]).read_text(encoding="utf-8")
sources = Path(sys.argv[2])


def read(path):
    return (sources / path).read_text(encoding="utf-8")


# A text stands beside a constant, or belongs to a name of the model.
known = {"": dict(re.findall(r'\b(?:case|static let) `?(\w+)`? = "([^"]+)"',
                             read("Keychain/KeychainModel/Attribute.swift")))}
known["SecItemKey"] = known[""]
for kind in "ItemClass", "ProtectionClass":
    known[kind] = dict(re.findall(r'case \.(\w+): "([a-z]+)"',
                                  read(f"Keychain/KeychainModel/{kind}.swift")))
texts = {}
for page in "SecItemKeys.swift", "SecItemValues.swift":
    for name, text, kind, key in re.findall(
            r'let (kSec\w+) =\s+constant\((?:"([^"]+)"|(\w*)\.(\w+)(?:\.code)?)\)',
            read(f"Libraries/SecItem/Constants/{page}")):
        texts[name] = text or known[kind][key]

for name in re.findall(r"extern NSString \*const (\w+);", header):
    print(name, texts[name])
