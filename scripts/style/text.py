# SPDX-License-Identifier: Apache-2.0
"""Rules about files, names and comments. Each yields (line, rule, message)."""

import os
import re

_LICENCE = "SPDX-License-Identifier: Apache-2.0"
_BAD_NAME = re.compile(r"(?:Utils?|Utilities|Helpers?|Common|Managers?)(?![a-z])")
_CALL = r"(?:return |try |await |_ = )*[\w.]+\((?!\d*\))[^()]*(?:\([^()]*\)[^()]*)*\)"
_CODE = re.compile(
    r"(?:\w+ )*(?:let|var) \w+\s*(?::\s*[A-Z\[(].*|=\s.*)"
    r"|(?:\w+ )*func \w+.*[({].*"
    r"|(?:if|guard|for|while|switch|do|else|struct|class|enum|extension|defer)\b.*\{"
    r"|\}(?: else.*)?|import [A-Z]\w+|(?:return|throw) [\w.]+;?|" + _CALL)


def check(path, text):
    """What holds for every source file and script."""
    lines = text.splitlines()
    is_manifest = os.path.basename(path) == "Package.swift"
    before = "// swift-tools-version:" if is_manifest else "#!"
    first = 1 if lines and lines[0].startswith(before) else 0
    if len(lines) <= first or _LICENCE not in lines[first]:
        yield first + 1, "licence", f"the first line is not `{_LICENCE}` in a comment"
    for number, line in enumerate(lines, 1):
        if len(line) > 100:
            yield number, "columns", f"{len(line)} columns, the stop is 100"
    if _BAD_NAME.search(os.path.basename(path).split(".")[0]):
        yield 1, "name", "a file is named after what is in it"


def check_script(path, text):
    """What holds for every script that people call."""
    count = len(text.splitlines())
    if count > 100:
        yield 101, "script-length", f"{count} lines, a script has at most 100"
    if "--help" not in text:
        yield 1, "help", "a script answers --help"


def check_comments(file):
    for number, text in file.comments():
        for match in re.finditer(r"\b(?:TODO|FIXME|XXX)\b", text):
            if not re.match(r"TODO\(#\d+\)", text[match.start():]):
                yield number, "todo", "a TODO names its issue: TODO(#12)"
        if re.match(r"//(?!/)", text) and _CODE.fullmatch(text[2:].strip()):
            yield number, "dead-code", "code commented out"
