# SPDX-License-Identifier: Apache-2.0
"""usage: availability.py SWIFTC-OPTION... -- FILE...

Checks the files of one module, for scripts/check-apple: what they use of Swift's and Foundation's
modules has to be there in the oldest versions of Apple's systems that Package.swift names. A file
that uses something newer has to ask for that version, by `#available` or `@available`.

The toolchain for Linux knows since which versions its declarations are there on Apple's systems.
"""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile

SYSTEMS = ("macOS", "iOS", "tvOS", "watchOS")
MODULES = ("Swift", "_Concurrency", "Synchronization", "_StringProcessing",
           "FoundationEssentials", "Foundation", "Dispatch")


def version(text):
    major, _, minor = text.replace("_", ".").partition(".")
    return int(major), int(minor or 0)


def oldest():
    """The versions that the manifest names, by system."""
    manifest = open("Package.swift").read()
    return {system: version(re.search(rf"\.{system}\(\.v([0-9_]+)\)", manifest)[1])
            for system in SYSTEMS}


def introductions(target):
    """Since when declarations are there: by name and system, where that is known."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for module in MODULES:
            subprocess.run(
                ["swift", "symbolgraph-extract", "-module-name", module, "-target", target,
                 "-output-dir", folder, "-minimum-access-level", "public"],
                check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name in os.listdir(folder):
            with open(os.path.join(folder, name)) as file:
                for symbol in json.load(file)["symbols"]:
                    since = {entry["domain"]: (entry["introduced"]["major"],
                                               entry["introduced"].get("minor", 0))
                             for entry in symbol.get("availability", ())
                             if "introduced" in entry and entry["domain"] in SYSTEMS}
                    if since:
                        found[symbol["identifier"]["precise"]] = symbol["names"]["title"], since
    return found


def used(options, files, file):
    """The declarations that a file uses or makes, by the names that the compiler has for them."""
    command = ["swiftc", "-frontend", "-dump-ast", "-dump-ast-format", "json", *options]
    for other in files:
        command += ["-primary-file", other] if other == file else [other]
    dump = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r'"(?:decl_)?usr":"(s:[^"]*)"', dump))


def asked(file):
    """The newest version of each system that a file asks for."""
    newest = collections.defaultdict(lambda: (0, 0))
    for condition in re.findall(r"[#@]available\(([^)]*)\)", open(file).read()):
        for system, text in re.findall(r"(\w+) ([0-9.]+)", condition):
            newest[system] = max(newest[system], version(text))
    return newest


def main(arguments):
    if "--" not in arguments:
        print(__doc__)
        return 64
    split = arguments.index("--")
    options, files = arguments[:split], arguments[split + 1:]
    target = json.loads(subprocess.run(
        ["swiftc", "-print-target-info"], capture_output=True, check=True).stdout)
    known, floor = introductions(target["target"]["unversionedTriple"]), oldest()
    count = 0
    for file in files:
        guarded = asked(file)
        for name in sorted(used(options, files, file) & known.keys()):
            title, since = known[name]
            for system, introduced in since.items():
                if introduced > max(floor[system], guarded[system]):
                    print(f"{file}: error: {title} is there since {system} "
                          f"{introduced[0]}.{introduced[1]}; Package.swift says "
                          f"{floor[system][0]}.{floor[system][1]}", file=sys.stderr)
                    count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
