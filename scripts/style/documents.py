# SPDX-License-Identifier: Apache-2.0
"""Rules about the documents: what they promise is there. Each yields (line, rule, message)."""

import os
import re

_PROMISES = re.compile(r"#+\s.*\bpromises?\b", re.IGNORECASE)
_NOT_PROMISES = re.compile(r"#+\s.*\b(?:non-promises?|not)\b", re.IGNORECASE)
_NAMED = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def check_changelog(text):
    if not re.search(r"^## \[?Unreleased\b", text, re.MULTILINE):
        yield 1, "changelog", "there is no section `## Unreleased`"


def check_contributing(text):
    count = len(text.splitlines())
    if count >= 60:
        yield 60, "contributing", f"{count} lines, the stop is 60"


def check_links(path, text, root):
    """Every link to a file leads to one, and every anchor to a heading of it."""
    for line, content in enumerate(text.splitlines(), 1):
        for target in _LINK.findall(content):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = os.path.join(root, os.path.dirname(path), name) if name else \
                os.path.join(root, path)
            if not os.path.exists(file):
                yield line, "link", f"there is no {name}"
            elif anchor and anchor not in _anchors(file):
                yield line, "link", f"{name or path} has no heading #{anchor}"


def _anchors(file):
    """The anchors of a Markdown file's headings, as forges make them."""
    with open(file, encoding="utf-8") as opened:
        headings = _HEADING.findall(opened.read())
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_threat_model(text, tests, root):
    """Every promise says `Test:`, and what stands in backticks after it is a test or a script."""
    for line, block in _promises(text):
        if "Test:" not in block and "Tests:" not in block:
            yield line, "promise", "a promise without `Test:`"
    for number, line in enumerate(text.splitlines(), 1):
        for name in _tests_named(line):
            if not _exists(name, tests, root):
                yield number, "promise", f"there is no test `{name}`"


def _promises(text):
    """The list items and table rows under headings about promises, each with its first line."""
    blocks, is_promise = [], False
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            is_promise = bool(_PROMISES.match(line)) and not _NOT_PROMISES.match(line)
        elif not is_promise:
            continue
        elif re.match(r"\s*(?:[-*]|\d+\.)\s", line) or _is_row(lines, number - 1):
            blocks.append([number, line])
        elif blocks and line.startswith(" "):
            blocks[-1][1] += "\n" + line
    return blocks


def _is_row(lines, i):
    def is_rule(k):
        return k < len(lines) and re.fullmatch(r"\s*\|[\s:|-]+\|\s*", lines[k])

    return lines[i].lstrip().startswith("|") and not is_rule(i) and not is_rule(i + 1)


def _tests_named(line):
    parts = re.split(r"\bTests?:", line)
    return [name for part in parts[1:] for name in _NAMED.findall(part)]


def _exists(name, tests, root):
    if "/" in name and os.path.exists(os.path.join(root, name)):
        return True
    plain = rf"\b(?:func|struct|class|enum)\s+{re.escape(name)}\b" if name.isidentifier() else None
    return any(f"`{name}`" in text or (plain and re.search(plain, text)) for text in tests)
