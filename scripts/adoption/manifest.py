# SPDX-License-Identifier: Apache-2.0
"""Reads a manifest, and writes what a package needs at its end."""

import json
import os
import re
import subprocess

_BEGIN = "// Valet on Linux, added by its scripts/adopt:"
_END = "// End of what scripts/adopt added."
_FLAG = """let importingSecurity: [SwiftSetting] = [
    .unsafeFlags(["-Xfrontend", "-import-module", "-Xfrontend", "Security"])
]"""


class Unreadable(Exception):
    """A manifest that the package manager does not understand."""


def targets(package):
    """The targets of `package` as the package manager describes them."""
    outcome = subprocess.run(
        ["swift", "package", "--package-path", package, "dump-package"],
        capture_output=True, text=True, check=False)
    if outcome.returncode:
        raise Unreadable(f"swift package dump-package: {outcome.stderr.strip()}")
    return json.loads(outcome.stdout)["targets"]


def dependency(url, here, package, text):
    """The expression of the dependency, and the name that products refer to it by.

    What there is to write depends on the version of the manifest in `text`.
    """
    version = re.match(r"//\s*swift-tools-version:\s*(\d+)\.(\d+)", text, re.I)
    version = tuple(map(int, version.groups())) if version else (3, 1)
    if url:
        branch = 'branch: "main"' if version >= (5, 5) else '.branch("main")'
        name = re.sub(r"\.git$", "", url.rstrip("/").rsplit("/", 1)[-1])
        return f".package(url: {_text(url)}, {branch})", name
    name = 'name: "Valet", ' if version >= (5, 2) else ""
    return f".package({name}path: {_text(os.path.relpath(here, package))})", "Valet"


def adopted(before, dependency, targets):
    """The text of a manifest with what `targets` need; None if it cannot be added.

    Only the end of the file changes: the package is an object, to which statements add.
    """
    text = re.sub(f"\n*{re.escape(_BEGIN)}.*?{re.escape(_END)}\n", "\n", before, flags=re.S)
    if not targets:
        return text
    variable = re.search(r"^(?:let|var) (\w+)(?:: Package)? = Package\(", text, re.M)
    if not variable:
        return None
    expression, package = dependency
    lines = [_BEGIN, "#if os(Linux)", f"{variable[1]}.dependencies.append({expression})"]
    lines += [_FLAG] * any(has_flag for _, has_flag in targets)
    for target, has_flag in targets:
        lines.append(f"for target in {variable[1]}.targets where target.name == "
                     f"{_text(target.name)} {{")
        for product in target.products:
            lines.append(f"    target.dependencies.append("
                         f".product(name: {_text(product)}, package: {_text(package)}))")
        if has_flag:
            lines.append(
                "    target.swiftSettings = (target.swiftSettings ?? []) + importingSecurity")
        lines.append("}")
    return text.rstrip("\n") + "\n\n" + "\n".join([*lines, "#endif", _END]) + "\n"


def _text(value):
    return json.dumps(value, ensure_ascii=False)
