# SPDX-License-Identifier: Apache-2.0
"""usage: availability.py SWIFTC-OPTION... -- FILE... [+ SWIFTC-OPTION... -- FILE...]...

Checks modules, each given by its options and files, for scripts/check-apple. The declarations that
they use of Swift's and Foundation's modules must exist in the oldest versions of Apple's systems
that Package.swift names. A file that uses a newer one has to ask for its version, by `#available`
or `@available`. The toolchain for Linux knows in which version each declaration was introduced.
"""

import collections
import concurrent.futures
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
    """The versions that introduced declarations: by name and system, where known."""
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
    """The declarations that a file uses or makes, by the compiler's names for them."""
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


def check(options, files, known, floor):
    """Prints what is too new in one module; returns how much that is."""
    count = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        uses = pool.map(lambda file: used(options, files, file), files)
        for file, names in zip(files, uses):
            guarded = asked(file)
            for name in sorted(names & known.keys()):
                title, since = known[name]
                for system, introduced in since.items():
                    if introduced > max(floor[system], guarded[system]):
                        print(f"{file}: error: {title} exists since {system} "
                              f"{introduced[0]}.{introduced[1]}; Package.swift says "
                              f"{floor[system][0]}.{floor[system][1]}", file=sys.stderr)
                        count += 1
    return count


def main(arguments):
    groups = [[]]
    for argument in arguments:
        if argument == "+":
            groups.append([])
        else:
            groups[-1].append(argument)
    if any("--" not in group for group in groups):
        print(__doc__)
        return 64
    target = json.loads(subprocess.run(
        ["swiftc", "-print-target-info"], capture_output=True, check=True).stdout)
    known, floor = introductions(target["target"]["unversionedTriple"]), oldest()
    count = sum(check(group[:group.index("--")], group[group.index("--") + 1:], known, floor)
                for group in groups)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
