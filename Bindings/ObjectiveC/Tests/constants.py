# SPDX-License-Identifier: Apache-2.0
"""Prints the constants that the Objective-C header HEADER declares, a line each, for `test`: the
name, and its text in the Swift sources below the folder SOURCES. The GNUstep library has the same
texts."""

import re
import sys
from pathlib import Path

header = Path(sys.argv[1]).read_text(encoding="utf-8")
sources = Path(sys.argv[2])

swift = (sources / "Libraries/SecItem/Constants/SecItemConstants.swift").read_text(encoding="utf-8")
texts = dict(re.findall(r'let (kSec\w+) =\s+"([^"]+)"', swift))

# The accessibilities are named after the protection classes, which have their texts.
classes = (sources / "Keychain/KeychainModel/ProtectionClass.swift").read_text(encoding="utf-8")
codes = dict(re.findall(r'case \.(\w+): "([a-z]+)"', classes))
for name, protection in re.findall(r"let (kSec\w+) =\s+ProtectionClass\.(\w+)\.code", swift):
    texts[name] = codes[protection]

for name in re.findall(r"extern NSString \*const (\w+);", header):
    print(name, texts[name])
